//! Sixty-four bytes looked at together, one bit of the answer for each.

use wide::u8x16;

pub const BLOCK: usize = 64;
/// Bytes in one instruction.
const LANES: usize = 16;

/// The bytes that meet a condition, the first one in the lowest bit. It is given in lanes: all bits
/// of a byte that meets it.
pub fn bits(block: &[u8; BLOCK], condition: impl Fn(u8x16) -> u8x16) -> u64 {
    let (lanes, _) = block.as_chunks::<LANES>();
    let bits = lanes.iter().map(|lane| u64::from(condition(u8x16::new(*lane)).to_bitmask()));
    bits.enumerate().fold(0, |all, (at, bits)| all | bits << (at * LANES))
}

/// The places of these bits, lowest first.
pub fn places(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(place)
    })
}

/// The bytes that are this one.
pub fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    bits(block, |lane| lane.simd_eq(u8x16::splat(byte)))
}

/// The same, where bits of both may differ that `fold` has.
pub fn equal_folded(block: &[u8; BLOCK], byte: u8, fold: u8) -> u64 {
    let (byte, fold) = (u8x16::splat(byte | fold), u8x16::splat(fold));
    bits(block, |lane| (lane | fold).simd_eq(byte))
}

/// The control characters of ASCII, but DEL.
pub fn controls(block: &[u8; BLOCK]) -> u64 {
    bits(block, |lane| lane.min(u8x16::splat(b' ' - 1)).simd_eq(lane))
}

/// The bytes that are this one or greater.
pub fn at_least(block: &[u8; BLOCK], byte: u8) -> u64 {
    bits(block, |lane| lane.max(u8x16::splat(byte)).simd_eq(lane))
}

/// The beginning of some bytes; behind their end zeros.
pub fn padded(bytes: &[u8]) -> [u8; BLOCK] {
    match bytes.first_chunk() {
        Some(block) => *block,
        None => {
            let mut block = [0; BLOCK];
            block[..bytes.len()].copy_from_slice(bytes);
            block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_byte_has_its_bit(bytes in prop::collection::vec(any::<u8>(), 0..80), byte in any::<u8>()) {
            let block = padded(&bytes);
            let at_byte: Vec<usize> = (0..BLOCK).filter(|at| block[*at] == byte).collect();
            prop_assert_eq!(places(equal(&block, byte)).collect::<Vec<_>>(), at_byte);
            for (at, here) in block.iter().enumerate() {
                prop_assert_eq!(*here, bytes.get(at).copied().unwrap_or(0));
                let bit = |bits: u64| bits >> at & 1 == 1;
                prop_assert_eq!(bit(equal(&block, byte)), *here == byte);
                prop_assert_eq!(bit(equal_folded(&block, byte, 0x20)), *here | 0x20 == byte | 0x20);
                prop_assert_eq!(bit(controls(&block)), *here < b' ');
                prop_assert_eq!(bit(at_least(&block, byte)), *here >= byte);
            }
        }
    }
}
