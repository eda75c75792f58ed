//! Makes texts that others wrote safe for logs and terminals.

/// Escapes every character that could end a line, control a terminal, or hide or reverse the text
/// beside it.
pub fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match is_harmless(character) {
            true => shown.push(character),
            false => shown.extend(character.escape_debug()),
        }
    }
    shown
}

/// The same on one line: messages of nginx and of the settings have several lines.
pub fn on_one_line(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    printable(&lines.join(" | "))
}

/// The same JSON with every unsafe character written as a JSON escape, so that it cannot control a
/// terminal. Programs read the same text out of it.
pub fn printable_json(json: &str) -> String {
    use std::fmt::Write as _;

    let mut shown = String::with_capacity(json.len());
    for character in json.chars() {
        // ASCII white space stands between values; within a string it is escaped already.
        if is_harmless(character) || matches!(character, '\n' | '\r' | '\t') {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    shown
}

/// Whether a character is shown unescaped. Unicode control and format characters are not: some of
/// them reverse the direction of the text that follows (U+202A to U+202E, U+2066 to U+2069).
fn is_harmless(character: char) -> bool {
    matches!(character, '"' | '\'' | '\\') || character.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal_or_turns_a_line_round() {
        for (text, expected) in [
            ("plain \"text\" with 'quotes' and \\", "plain \"text\" with 'quotes' and \\"),
            ("größer → 大", "größer → 大"),
            ("\u{1b}[2J\n\r\u{7f}", "\\u{1b}[2J\\n\\r\\u{7f}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("a\u{202e}b\u{202a}c\u{202c}", "a\\u{202e}b\\u{202a}c\\u{202c}"),
            ("a\u{2066}b\u{2069}\u{200f}", "a\\u{2066}b\\u{2069}\\u{200f}"),
            ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
            ("line\u{2028}paragraph\u{2029}", "line\\u{2028}paragraph\\u{2029}"),
        ] {
            assert_eq!(printable(text), expected);
        }
        let hostile = "\u{1b}[2J\u{7f}\u{85}\u{9b}2J\u{202e}\u{e0001}\n \"größe\" \\ 大";
        let json = printable_json(&format!("{:#}", serde_json::json!({ "a": hostile })));
        let shown = r#""\u001b[2J\u007f\u0085\u009b2J\u202e\udb40\udc01\n \"größe\" \\ 大""#;
        assert_eq!(json, format!("{{\n  \"a\": {shown}\n}}"));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["a"], hostile, "nothing is lost");
        assert_eq!(on_one_line("first \n\n  second\u{7}\n"), "first | second\\u{7}");
    }
}
