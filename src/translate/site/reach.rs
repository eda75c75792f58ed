//! Computes the literal prefix of the paths that a claim matches.

use ingressd_model::{UrlPath, expression};
use std::borrow::Cow;

use crate::translate::path::Matching;

/// The key and place of a path among those of several namespaces: the common prefix of all
/// requests that it matches, in lower case and without trailing slashes; empty for all paths.
/// `/a`, `/a/`, both types of them and `/a(/|$)(.*)` match the same requests or some of them.
pub fn beginning(matching: Matching, path: &str) -> Box<str> {
    let known = match matching {
        Matching::Regex => expression::beginning(path),
        Matching::Exact | Matching::Prefix | Matching::Caseless => None,
    };
    let fixed: Cow<'_, str> = match (known, matching) {
        (Some(known), _) => known.into(),
        // A text that is not a valid expression closes its prefix.
        (None, Matching::Regex) => fixed(path),
        (None, _) => path.into(),
    };
    fixed.trim_end_matches('/').to_ascii_lowercase().into()
}

/// The literal prefix of everything that an expression would match; `/` when there is none.
pub fn above(expression: &UrlPath) -> UrlPath {
    UrlPath::new(&beginning(Matching::Regex, expression.as_str())).unwrap_or_else(|_| expression.root())
}

/// The literal prefix of everything that an anchored expression matches. It may be shorter than
/// possible, but never longer.
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
        // An optional character is not part of the prefix.
        if ahead.clone().next().is_some_and(|next| matches!(next, '?' | '*' | '{')) {
            break;
        }
        text.push(literal);
        rest = ahead;
    }
    text.into()
}

/// Whether the expression has alternatives outside of groups; when in doubt it has.
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
    // Brackets within a class may have confused the count.
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
