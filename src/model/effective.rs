//! A value that counts, where it was written and what it took the place of.

use std::fmt;
use std::sync::Arc;

use super::{ObjectId, Origin};

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenAt {
    /// Nowhere: it is built in.
    BuiltIn,
    /// In the settings: `FILE:LINE`, an environment variable, or the command line.
    Settings(Arc<str>),
    /// In an object.
    Object(Origin),
}

impl fmt::Display for WrittenAt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WrittenAt::BuiltIn => formatter.write_str("built in"),
            WrittenAt::Settings(place) => formatter.write_str(place),
            WrittenAt::Object(origin) => write!(formatter, "{origin}"),
        }
    }
}

/// A value as it is written, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The value.
    pub value: Arc<str>,
    /// Where it stands.
    pub at: WrittenAt,
}

impl Written {
    /// Whether this object says it.
    pub fn is_of(&self, id: &ObjectId) -> bool {
        matches!(&self.at, WrittenAt::Object(origin) if *origin.object == *id)
    }
}

/// A value that counts, of several layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// What counts.
    pub counts: Written,
    /// What it took the place of, the lowest layer first.
    pub overridden: Vec<Written>,
}

impl Effective {
    /// A value without anything below it.
    pub fn only(value: &str, at: WrittenAt) -> Self {
        Effective { counts: Written { value: value.into(), at }, overridden: Vec::new() }
    }

    /// What counts of these layers, the lowest first; nothing where there is none.
    pub fn of(layers: impl IntoIterator<Item = Written>) -> Option<Self> {
        let mut overridden: Vec<_> = layers.into_iter().collect();
        let counts = overridden.pop()?;
        Some(Effective { counts, overridden })
    }
}
