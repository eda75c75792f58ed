//! With what the paths begin that a claim takes.

use crate::model::{UrlPath, expression};
use std::borrow::Cow;

use crate::translate::path::Matching;

/// What a path is known by among those of several namespaces, and where it stands: with what all requests begin that it takes, in
/// small letters and without slashes at its end; empty for all paths. `/a`, `/a/`, both types of them and `/a(/|$)(.*)` take the same requests
/// or some of them.
pub fn beginning(matching: Matching, path: &str) -> Box<str> {
    let known = match matching {
        Matching::Regex => expression::beginning(path),
        Matching::Exact | Matching::Prefix | Matching::Caseless => None,
    };
    let fixed: Cow<'_, str> = match (known, matching) {
        (Some(known), _) => known.into(),
        // What cannot be an expression is text that closes what begins like it.
        (None, Matching::Regex) => fixed(path),
        (None, _) => path.into(),
    };
    fixed.trim_end_matches('/').to_ascii_lowercase().into()
}

/// Text with which everything begins that an expression would match; `/` where that may be everything.
pub fn above(expression: &UrlPath) -> UrlPath {
    UrlPath::new(&beginning(Matching::Regex, expression.as_str())).unwrap_or_else(|_| expression.root())
}

/// The text with which everything begins that an expression matches, held to the start; less than there is where that is not
/// seen at once, never more.
fn fixed(pattern: &str) -> Cow<'_, str> {
    if has_alternatives(pattern) {
        return "".into();
    }
    let mut text = String::new();
    let mut rest = pattern.trim_start_matches('^').chars();
    while let Some(character) = rest.next() {
        let mut ahead = rest.clone();
        let literal = match character {
            '\\' => match ahead.next() {
                Some(escaped) if !escaped.is_alphanumeric() => escaped,
                _ => break,
            },
            special if expression::is_special(special) => break,
            plain => plain,
        };
        // What may be missing begins nothing.
        if ahead.clone().next().is_some_and(|next| matches!(next, '?' | '*' | '{')) {
            break;
        }
        text.push(literal);
        rest = ahead;
    }
    text.into()
}

/// Whether the expression has alternatives that are not within a group; what cannot be told has.
fn has_alternatives(pattern: &str) -> bool {
    let (mut depth, mut in_class) = (0_usize, false);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next().is_none_or(|next| matches!(next, 'Q' | 'E')) => return true,
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => depth += 1,
            ')' if !in_class => depth = depth.saturating_sub(1),
            '|' if !in_class && depth == 0 => return true,
            _ => {}
        }
    }
    // A class whose first character is a bracket, or that holds one of its own, may have misled the count.
    pattern.contains('|') && (pattern.contains("[]") || pattern.contains("[^]") || pattern.contains("[["))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginnings_of_expressions() {
        let cases = [
            ("/", ""),
            ("/(.*)", ""),
            ("/.*", ""),
            (".*", ""),
            ("/a(/|$)(.*)", "/a"),
            ("/A/(.*)", "/a"),
            ("/a/b.*", "/a/b"),
            ("/a/b*", "/a"),
            ("/a/b?c", "/a"),
            ("/a/b{0,3}", "/a"),
            ("/a/b+", "/a/b"),
            ("^/a", "/a"),
            ("/a\\.b/", "/a.b"),
            ("/a\\/b", "/a/b"),
            ("/a\\d", "/a"),
            ("/a\\", ""),
            ("/a|/b", ""),
            ("/a(|/b)", "/a"),
            ("/a[|]b", "/a|b"),
            ("/a[]|]b|/c", ""),
            ("/a[x[:alpha:](]|/", ""),
            ("/a[[:alpha:]|]", "/a"),
            ("/a(b|b)", "/a"),
            ("/v[1]/x", "/v1/x"),
            ("/a\\Q|\\E", ""),
            ("/a\\|b", "/a|b"),
            ("(?i)/a", "/a"),
            ("/a(?i)/b", "/a/b"),
            ("/ä*", ""),
        ];
        for (pattern, expected) in cases {
            assert_eq!(&*beginning(Matching::Regex, pattern), expected, "{pattern}");
        }
    }
}
