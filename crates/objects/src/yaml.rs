//! Reads and writes YAML of several documents. It must not know what they say.

use serde::Serialize;
use serde_json::Value;

pub use ingressd_yaml::{Content, LARGEST_FILE, Spanned, line, parse, read, text};

use super::document::split;

/// The values of the documents in a text; invalid documents are skipped.
pub fn values(text: &str) -> impl Iterator<Item = Value> {
    split(text).into_iter().filter_map(|document| parse(document.text).ok())
}

/// The same as one of several documents.
pub fn document(object: &impl Serialize) -> String {
    format!("---\n{}", text(object))
}
