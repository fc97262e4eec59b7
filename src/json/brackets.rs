//! The brackets around a place in a JSON text.

/// The brackets that are open.
#[derive(Default)]
pub struct Open {
    /// The innermost ones, one bit for each, the last one in the lowest; a set bit is an object.
    inner: u64,
    depth: usize,
    /// Those around them, so many in each as there are bits.
    outer: Vec<u64>,
}

impl Open {
    const BITS: usize = u64::BITS as usize;

    pub fn push(&mut self, bracket: u8) {
        if self.depth > 0 && self.depth.is_multiple_of(Open::BITS) {
            self.outer.push(self.inner);
        }
        self.inner = self.inner << 1 | u64::from(bracket == b'{');
        self.depth += 1;
    }

    pub fn pop(&mut self) {
        self.inner >>= 1;
        self.depth -= 1;
        if self.depth > 0 && self.depth.is_multiple_of(Open::BITS) {
            self.inner = self.outer.pop().unwrap_or_default();
        }
    }

    /// The innermost one.
    pub fn last(&self) -> Option<u8> {
        (self.depth > 0).then_some(if self.inner & 1 == 1 { b'{' } else { b'[' })
    }
}
