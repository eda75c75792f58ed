//! The keys of the section `limits`; it must not know files or layers.

use super::table::Row;
use super::value::{Form, put};

/// Its keys.
pub const ROWS: &[Row] = &[Row {
    key: "limits.paths-of-host",
    form: Form::Number,
    default: "10000",
    doc: "How many paths of one host a namespace may have; those of its oldest objects count first. What is over it is not served, and answers 503 where it would be protected.",
    set: |settings, value| put(&mut settings.translate.limits.paths_of_host, value),
}];
