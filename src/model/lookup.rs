//! Tables that nginx keeps for all hosts, from what a request has to a text; they must not know who reads them.

use std::sync::Arc;

use super::{Cidr, Origin, OwnVariable, Pattern, SnippetPart, SnippetText};

/// A table, and the variable by which it is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupTable {
    /// The field that has it.
    pub origin: Origin,
    /// The variable.
    pub variable: OwnVariable,
    /// What it is where no row fits.
    pub default: SnippetText,
    /// The rows.
    pub rows: LookupRows,
    /// How many bytes the variable may have for a request.
    pub longest: u32,
}

/// What is looked up, and the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupRows {
    /// A text: the row with it, in any case, or else the first expression that fits.
    Texts(SnippetText, Vec<(LookupKey, SnippetText)>),
    /// An address: the row with the smallest network around it.
    Addresses(SnippetPart, Vec<(Cidr, Arc<str>)>),
}

/// Which texts a row is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupKey {
    /// This one, in any case.
    Is(Arc<str>),
    /// Those that match.
    Matches {
        /// The expression.
        pattern: Pattern,
        /// In any case.
        any_case: bool,
    },
}
