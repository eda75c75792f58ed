//! Sets of bytes, which are the characters of an expression without UTF mode.

/// A set of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes([u64; 4]);

impl Bytes {
    /// Every byte.
    pub const ALL: Bytes = Bytes([u64::MAX; 4]);
    /// No byte.
    pub const NONE: Bytes = Bytes([0; 4]);

    /// The set of one byte.
    pub fn one(byte: u8) -> Self {
        let mut set = Bytes::NONE;
        set.insert(byte);
        set
    }

    /// The set of the bytes for which the condition holds.
    pub fn that(fits: impl Fn(u8) -> bool) -> Self {
        let mut set = Bytes::NONE;
        (0..=u8::MAX).filter(|byte| fits(*byte)).for_each(|byte| set.insert(byte));
        set
    }

    /// Adds a byte.
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// The union of both sets.
    #[must_use]
    pub fn or(&self, other: &Bytes) -> Self {
        Bytes(std::array::from_fn(|index| self.0[index] | other.0[index]))
    }

    /// The complement of the set.
    #[must_use]
    pub fn inverted(&self) -> Self {
        Bytes(self.0.map(|bits| !bits))
    }

    /// Whether the sets have a byte in common.
    pub fn meets(&self, other: &Bytes) -> bool {
        (0..4).any(|index| self.0[index] & other.0[index] != 0)
    }

    /// The set with the other case of each letter.
    #[must_use]
    pub fn in_any_case(&self) -> Self {
        const UPPER: u64 = 0x07FF_FFFE;
        let [low, letters, ..] = self.0;
        let both = (letters & UPPER) | ((letters >> 32) & UPPER);
        Bytes([low, letters | both | (both << 32), self.0[2], self.0[3]])
    }

    /// The one letter of the set, in lower case; `None` when there are others.
    pub fn letter(&self) -> Option<u8> {
        let mut letters = self.iter().map(|byte| byte.to_ascii_lowercase());
        let first = letters.next()?;
        letters.all(|letter| letter == first).then_some(first)
    }

    /// The bytes of the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().zip(0_u8..).flat_map(|(bits, word)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = u8::try_from(left.trailing_zeros()).ok().filter(|bit| *bit < 64)?;
                left &= left - 1;
                Some(word * 64 + bit)
            })
        })
    }
}
