//! Limits on the tags of a template, checked before the template parser sees it.
//!
//! The template parser is recursive, so a text with unlimited nesting could overflow the stack.

/// The longest tag in bytes.
const LONGEST: usize = 128;

/// The deepest nesting of blocks.
const DEEPEST: usize = 16;

/// Checks that a text has no control characters, no tag that is too long, and no nesting that is
/// too deep. The error has the line and the message.
pub fn check(text: &str) -> Result<(), (usize, String)> {
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    let control = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if let Some((offset, character)) = text.char_indices().find(|(_, character)| control(*character)) {
        let words = match character {
            '\r' => "lines end with CR LF: end them with LF alone".to_owned(),
            other => format!("it holds the control character {other:?}"),
        };
        return Err((line(offset), words));
    }
    let mut depth: usize = 0;
    let mut position = 0;
    while let Some(found) = text[position..].find("{{") {
        let start = position + found;
        let tag = &text[start + 2..];
        let end = if tag.starts_with("!--") { tag.find("--}}") } else { tag.find("}}") };
        let inner = &tag[..end.unwrap_or(tag.len())];
        position = start + 2 + inner.len();
        if inner.starts_with('!') {
            continue;
        }
        let words = inner.trim_start_matches('{').trim_start_matches('~').trim_end_matches('~').trim();
        if words.starts_with('#') {
            depth += 1;
        } else if words.starts_with('/') {
            depth = depth.saturating_sub(1);
        }
        let else_with_more =
            words.strip_prefix("else").or_else(|| words.strip_prefix('^')).is_some_and(|rest| !rest.is_empty());
        let wrong = match () {
            () if inner.len() > LONGEST => format!("a tag is longer than {LONGEST} bytes"),
            () if depth > DEEPEST => format!("more than {DEEPEST} blocks stand within each other"),
            () if else_with_more => format!("{{{{{words}}}}} is not allowed: else takes nothing"),
            () => continue,
        };
        return Err((line(start), wrong));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_overwhelm_a_parser_is_refused() {
        let nested = "{{#when a}}\n".repeat(DEEPEST + 1);
        let table: [(&str, usize, &str); 7] = [
            ("a;\nb\r\n", 2, "CR LF"),
            ("a;\n\u{1}0\u{1};\n", 2, "control character"),
            ("a \u{2};\n", 1, "control character"),
            (&nested, DEEPEST + 1, "blocks stand within each other"),
            (&format!("\n{{{{word {}}}}}", "(".repeat(LONGEST + 1)), 2, "longer than"),
            (&format!("{{{{{}", "[".repeat(LONGEST + 1)), 1, "longer than"),
            ("{{#when a}}\n{{else when b}}\n{{/when}}", 2, "else takes nothing"),
        ];
        for (text, line, words) in table {
            let (found, why) = check(text).expect_err(text);
            assert!(found == line && why.contains(words), "{text:?}: {found}: {why}");
        }
        let long = format!("{{{{!-- {} }}}} {{{{#when --}}}}\n{{{{! {} }}}}\n", "a".repeat(200), "b".repeat(200));
        for text in ["", "a {{b}};\n\tc;\n", "{{#when a}}{{~else~}}{{/when}}".repeat(40).as_str(), &long] {
            assert_eq!(check(text), Ok(()), "{text:?}");
        }
    }
}
