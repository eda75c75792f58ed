//! SHA-256 digests, for comparing contents and for making names.

use std::fmt;
use std::io;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// The digest of these pieces, concatenated.
    pub fn of_all<T: AsRef<[u8]>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let mut digester = Digester::default();
        pieces.into_iter().for_each(|piece| digester.0.update(piece));
        digester.finish()
    }

    /// The first bytes as hexadecimal digits. The names of all files and upstreams are made of
    /// them.
    pub fn hexadecimal(&self, bytes: usize) -> String {
        hexadecimal(&self.0[..bytes])
    }

    /// The first bytes, at most 32.
    pub fn first<const N: usize>(&self) -> [u8; N] {
        std::array::from_fn(|index| self.0[index])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Digest({self})")
    }
}

/// Two digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
        text.push(char::from(DIGITS[usize::from(digit)]));
    }
    text
}

/// A writer that computes a digest and stores nothing.
#[derive(Debug, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// The digest of everything that was written.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl io::Write for Digester {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn all_ways_lead_to_one_digest() {
        // FIPS 180-4 has this one as its example.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let mut digester = Digester::default();
        digester.write_all(b"a").unwrap();
        digester.write_all(b"bc").unwrap();
        for digest in [Digest::of(b"abc"), Digest::of_all(["ab", "", "c"]), digester.finish()] {
            assert_eq!(digest.to_string(), expected);
            assert_eq!((digest.hexadecimal(2), digest.first()), ("ba78".to_owned(), [0xba, 0x78]));
        }
    }
}
