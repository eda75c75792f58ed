//! Lookup tables (`map`, `geo`) at `http` level, from a property of a request to a text. They must
//! not know who uses them.

use std::sync::Arc;

use super::{Cidr, Origin, OwnVariable, Pattern, SnippetPart, SnippetText};

/// A table with its variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupTable {
    /// The field that defines it.
    pub origin: Origin,
    pub variable: OwnVariable,
    /// The value when no row matches.
    pub default: SnippetText,
    pub rows: LookupRows,
    /// The longest value of the variable for a request, in bytes.
    pub longest: u32,
}

/// The key of a table, and its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupRows {
    /// A text: the row with this text wins, ignoring case, or else the first expression that
    /// matches.
    Texts(SnippetText, Vec<(LookupKey, SnippetText)>),
    /// An address: the row with the smallest network that contains it wins.
    Addresses(SnippetPart, Vec<(Cidr, Arc<str>)>),
}

/// The key of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupKey {
    /// This text, ignoring case.
    Is(Arc<str>),
    /// An expression.
    Matches {
        /// The expression.
        pattern: Pattern,
        /// Whether case is ignored.
        any_case: bool,
    },
}
