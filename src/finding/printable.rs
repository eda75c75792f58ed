//! Texts that others wrote, made fit for logs and terminals.

/// The text with everything escaped that does not stand for itself: what ends a line, steers a terminal, hides or turns round
/// what stands beside it.
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

/// The same on one line: texts of nginx and of settings have several.
pub fn on_one_line(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    printable(&lines.join(" | "))
}

/// Whether a character is shown as what it is. What Unicode calls control and format characters is not: among them are those that
/// turn the direction of what follows (U+202A to U+202E, U+2066 to U+2069).
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
        assert_eq!(on_one_line("first \n\n  second\u{7}\n"), "first | second\\u{7}");
    }
}
