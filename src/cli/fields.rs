//! Fields of the daemon's answers, as people read them.

use serde_json::Value;

use ingressd_model::finding::printable;

/// A value as a word.
pub fn text(value: &Value) -> String {
    match value {
        Value::String(text) => printable(text),
        Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

/// The values of a list; none where there is no list.
pub fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Words separated by commas, and how many more there are.
pub fn list(value: &Value, most: usize) -> String {
    let words = rows(value);
    let named = words.iter().take(most).map(text).collect::<Vec<_>>().join(",");
    match words.len().saturating_sub(most) {
        0 if named.is_empty() => "-".to_owned(),
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
