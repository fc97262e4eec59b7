//! What crashes, disks and editors do to session files.

use proptest::prelude::*;
use proptest::sample::Index;

#[derive(Debug, Clone)]
pub enum Damage {
    /// A line was cut, its end and its line break are lost: it is one line with the next.
    Torn(Index, Index),
    /// The line break is lost: two whole entries in one line.
    Fused(Index),
    /// A block of the disk was never written.
    NulRun(Index, usize),
    /// Any byte is another one.
    Flipped(Index, u8),
    /// A line stands twice.
    Doubled(Index),
    /// The file ends here.
    CutOff(Index),
    Crlf,
    ByteOrderMark,
    EmptyLine(Index),
    Garbage(Index, Vec<u8>),
}

pub fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<Index>;
    prop_oneof![
        (index(), index()).prop_map(|(line, at)| Damage::Torn(line, at)),
        index().prop_map(Damage::Fused),
        (index(), 1..5000usize).prop_map(|(at, len)| Damage::NulRun(at, len)),
        (index(), any::<u8>()).prop_map(|(at, byte)| Damage::Flipped(at, byte)),
        index().prop_map(Damage::Doubled),
        index().prop_map(Damage::CutOff),
        Just(Damage::Crlf),
        Just(Damage::ByteOrderMark),
        index().prop_map(Damage::EmptyLine),
        (index(), prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(line, bytes)| Damage::Garbage(line, bytes)),
    ]
}

impl Damage {
    /// The file after it. The header line stays whole: without it a file is no session at all.
    pub fn apply(&self, file: &[u8]) -> Vec<u8> {
        let header = file.iter().position(|b| *b == b'\n').map_or(file.len(), |at| at + 1);
        if header == file.len() {
            return file.to_vec();
        }
        let (head, body) = file.split_at(header);
        let mut lines: Vec<Vec<u8>> =
            body.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let count = lines.len();
        match self {
            Damage::Torn(line, at) => {
                let line = &mut lines[line.index(count)];
                line.truncate(at.index(line.len()));
            }
            Damage::Fused(line) => {
                let line = &mut lines[line.index(count)];
                line.pop();
            }
            Damage::NulRun(at, len) => {
                let mut body = body.to_vec();
                let at = at.index(body.len());
                let end = body.len().min(at + len);
                body[at..end].fill(0);
                lines = vec![body];
            }
            Damage::Flipped(at, byte) => {
                let mut body = body.to_vec();
                let at = at.index(body.len());
                body[at] = *byte;
                lines = vec![body];
            }
            Damage::Doubled(line) => {
                let line = line.index(count);
                lines.insert(line, lines[line].clone());
            }
            Damage::CutOff(at) => lines = vec![body[..at.index(body.len())].to_vec()],
            Damage::Crlf => lines.iter_mut().for_each(|line| {
                if line.pop().is_some() {
                    line.extend_from_slice(b"\r\n");
                }
            }),
            Damage::ByteOrderMark if file.starts_with(b"\xEF\xBB\xBF") => {}
            Damage::ByteOrderMark => return [b"\xEF\xBB\xBF".as_slice(), file].concat(),
            Damage::EmptyLine(line) => lines.insert(line.index(count), b"  \n".to_vec()),
            Damage::Garbage(line, bytes) => {
                let mut bytes = bytes.clone();
                bytes.push(b'\n');
                lines.insert(line.index(count), bytes);
            }
        }
        [head, &lines.concat()].concat()
    }
}
