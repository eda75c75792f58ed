//! JSON cut to a depth that can be read: API servers take objects that are nested deeper.

use serde::de::DeserializeOwned;

/// Deepest nesting that is kept. The library refuses what is nested twice as deep; whatever of an object is read is nested
/// far less, also in a list or in an event. Only its managed fields may be written as deep as anybody likes.
const DEEPEST: usize = 64;

/// Reads JSON of any depth, without what is nested too deep.
///
/// # Errors
///
/// When it is none, or nothing that was expected.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let whole = serde_json::from_str(text);
    match whole.is_err().then(|| cut(text)).flatten() {
        Some(text) => serde_json::from_str(&text),
        None => whole,
    }
}

/// The text with `null` in the place of whatever is nested too deep; `None` when nothing is.
pub fn cut(text: &str) -> Option<String> {
    let mut kept: Option<String> = None;
    let (mut depth, mut from) = (0_usize, 0);
    let (mut is_string, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            _ if is_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth == DEEPEST + 1 {
                    let kept = kept.get_or_insert_default();
                    kept.push_str(text.get(from..at).unwrap_or_default());
                    kept.push_str("null");
                    from = text.len();
                }
            }
            b'}' | b']' => {
                if depth == DEEPEST + 1 {
                    from = at + 1;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
    }
    kept.map(|kept| kept + text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// So many lists in each other.
    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn only_what_is_nested_too_deep_is_cut() {
        assert_eq!(cut(&nested(DEEPEST)), None);
        let expected = format!("{}null{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert_eq!(cut(&nested(DEEPEST + 1)), Some(expected.clone()));
        assert_eq!(cut(&nested(100_000)), Some(expected), "at no cost to the stack");
        // Brackets and quotes in text are text.
        let text = r#"{"a": "[\"[\\", "deep": DEEP, "z": ["ü]", DEEP]}"#;
        let read: Value = read(&text.replace("DEEP", &nested(500))).unwrap();
        assert_eq!((&read["a"], &read["z"][0]), (&json!("[\"[\\"), &json!("ü]")));
        assert!(read["deep"].is_array() && read["z"][1].is_array());
    }

    #[test]
    fn what_is_no_json_stays_none() {
        let unclosed = "[".repeat(500);
        for text in ["", "{", "]]", &unclosed] {
            assert!(read::<Value>(text).is_err(), "{text}");
        }
        assert!(read::<Value>(&unclosed).unwrap_err().is_eof());
    }
}
