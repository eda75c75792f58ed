//! The keys of the section `hosts`; it must not know files or layers.

use super::table::Row;

/// Its keys.
pub const ROWS: &[Row] = &[];
