//! An effective value, with the place where it was written and the values that it overrides.

use std::fmt;
use std::sync::Arc;

use super::{ObjectId, Origin};

/// The place where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenAt {
    BuiltIn,
    /// The settings: `FILE:LINE`, an environment variable, or the command line.
    Settings(Arc<str>),
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

/// A value as written, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub value: Arc<str>,
    /// Its place.
    pub at: WrittenAt,
}

impl Written {
    /// Whether this object says it.
    pub fn is_of(&self, id: &ObjectId) -> bool {
        matches!(&self.at, WrittenAt::Object(origin) if *origin.object == *id)
    }
}

/// The effective value of several layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// The effective value.
    pub counts: Written,
    /// The values that it overrides, the lowest layer first.
    pub overridden: Vec<Written>,
}

impl Effective {
    /// A value without anything below it.
    pub fn only(value: &str, at: WrittenAt) -> Self {
        Effective { counts: Written { value: value.into(), at }, overridden: Vec::new() }
    }

    /// The effective value of these layers, given from the lowest; `None` when there are none.
    pub fn of(layers: impl IntoIterator<Item = Written>) -> Option<Self> {
        let mut overridden: Vec<_> = layers.into_iter().collect();
        let counts = overridden.pop()?;
        Some(Effective { counts, overridden })
    }
}
