//! The content of a file, kept as templates and the words that fill them.

use std::fmt;
use std::sync::Arc;

use super::shape::Filled;

/// The content of a file. Secret files are created with mode 0600 and never printed.
///
/// Most of a file is the text of a template, which thousands of files share. Only the words that
/// differ are kept, and the bytes are assembled on demand.
///
/// nginx's workers read password files (`auth/...`) themselves, at each request and as their own
/// user, unlike keys, which the master reads. The code that stores them makes them readable for
/// the workers' group only.
#[derive(Clone)]
pub struct Content {
    parts: Box<[Part]>,
    /// Whether the file holds a key or password hashes.
    pub secret: bool,
}

/// A piece of a file.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// A filled template.
    Filled(Filled),
    /// Text of the program itself.
    Fixed(&'static str),
    /// Bytes that are kept elsewhere too.
    Bytes(Arc<[u8]>),
}

impl Content {
    /// A configuration file made of these parts.
    pub fn plain(parts: impl IntoIterator<Item = Part>) -> Self {
        Content { parts: parts.into_iter().collect(), secret: false }
    }

    /// A file with keys or password hashes, made of these parts.
    pub fn secret(parts: impl IntoIterator<Item = Part>) -> Self {
        Content { parts: parts.into_iter().collect(), secret: true }
    }

    /// The bytes, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().flat_map(Part::pieces)
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// All bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.pieces().map(<[u8]>::len).sum());
        self.pieces().for_each(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// The bytes as text, for configuration files.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

impl Part {
    /// The bytes, piece by piece.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let (filled, rest) = match self {
            Part::Filled(filled) => (Some(filled), None),
            Part::Fixed(text) => (None, Some(text.as_bytes())),
            Part::Bytes(bytes) => (None, Some(&**bytes)),
        };
        filled.into_iter().flat_map(Filled::pieces).map(str::as_bytes).chain(rest)
    }
}

impl From<Filled> for Part {
    fn from(filled: Filled) -> Self {
        Part::Filled(filled)
    }
}

/// Contents are equal when their bytes are, however they are kept.
impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        self.secret == other.secret && self.bytes() == other.bytes()
    }
}

impl Eq for Content {}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.secret {
            true => write!(formatter, "Content(secret, {} bytes)", self.bytes().len()),
            false => formatter.write_str(&self.text()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Part};

    #[test]
    fn contents_are_equal_by_their_bytes_and_secrets_are_never_printed() {
        let whole = Content::plain([Part::Fixed("server {\n}\n")]);
        let parts = Content::plain([Part::Fixed("server {\n"), Part::Bytes(b"}\n".as_slice().into())]);
        assert_eq!(whole, parts);
        assert_eq!(format!("{parts:?}"), "server {\n}\n");
        let secret = Content::secret([Part::Fixed("server {\n}\n")]);
        assert_ne!(whole, secret);
        assert_eq!(format!("{secret:?}"), "Content(secret, 11 bytes)");
        assert_ne!(whole, Content::plain([Part::Fixed("server {\n}")]));
    }
}
