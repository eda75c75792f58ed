//! Cuts JSON to a depth that can be parsed: API servers accept objects with deeper nesting.

use serde::de::DeserializeOwned;

/// The deepest nesting that is kept. The parser refuses JSON that is nested twice as deep. The
/// fields that are read are nested far less, even in a list or an event; only managed fields may
/// have any depth.
const DEEPEST: usize = 64;

/// Parses JSON of any depth, without values that are nested too deep.
///
/// # Errors
///
/// When the text is not JSON, or not of the expected type.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let whole = serde_json::from_str(text);
    match whole.is_err().then(|| cut(text)).flatten() {
        Some(text) => serde_json::from_str(&text),
        None => whole,
    }
}

/// The text with `null` in the place of values that are nested too deep; `None` when there are
/// none.
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

    /// This many nested lists.
    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn only_what_is_nested_too_deep_is_cut() {
        assert_eq!(cut(&nested(DEEPEST)), None);
        let expected = format!("{}null{}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        assert_eq!(cut(&nested(DEEPEST + 1)), Some(expected.clone()));
        assert_eq!(cut(&nested(100_000)), Some(expected), "at no cost to the stack");
        // Brackets and quotes within strings do not count.
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
