//! Computes the literal prefix of the paths that a claim matches.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use ingressd_model::{UrlPath, expression};

use crate::read::path::CHALLENGES;
use crate::read::path::Matching;

/// The key and place of a path among those of several namespaces: the common prefix of all
/// requests that it matches, in lower case and without trailing slashes; empty for all paths.
/// `/a`, `/a/`, both types of them and `/a(/|$)(.*)` match the same requests or some of them.
pub fn beginning(matching: Matching, path: &str) -> Box<str> {
    literal(matching, path).trim_end_matches('/').to_ascii_lowercase().into()
}

/// The elements that all requests have in common which a path matches. `/a.*`, or `/a` by
/// characters, also takes requests for `/ab`, and so for elements below `/`.
pub fn elements(matching: Matching, path: &str) -> Box<str> {
    let literal = literal(matching, path);
    let is_whole = match matching {
        Matching::Exact | Matching::Prefix => true,
        Matching::Regex => expression::begins_with_elements(path),
        Matching::Caseless => false,
    };
    let end = if is_whole { literal.len() } else { literal.rfind('/').unwrap_or_default() };
    literal[..end].trim_end_matches('/').to_ascii_lowercase().into()
}

/// Whether it is certain that a path matches everything below what all of its requests have in
/// common.
pub fn takes_all_below(matching: Matching, path: &str) -> bool {
    let is_text = |text: &str| !text.contains(expression::is_special);
    match matching {
        Matching::Exact => false,
        Matching::Prefix | Matching::Caseless => true,
        Matching::Regex => {
            let is_whole = |end: &str| path.strip_suffix(end).is_some_and(is_text);
            // A second slash is never in a path.
            let is_element =
                |end: &str| path.strip_suffix(end).is_some_and(|text| is_text(text) && !text.ends_with('/'));
            ["/?(.*)", "(.*)", ".*", ""].into_iter().any(is_whole) || ["(/|$)(.*)", "(/|$)"].into_iter().any(is_element)
        }
    }
}

/// Whether a path that regex mode compares by characters is plain text.
pub fn is_plain(matching: Matching, path: &str) -> bool {
    match matching {
        Matching::Caseless => true,
        Matching::Regex => path.starts_with('/') && !path.contains(expression::is_special),
        Matching::Exact | Matching::Prefix => false,
    }
}

/// How a path concerns the challenges of certificate authorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Challenges {
    /// It takes no requests for them.
    None,
    /// It may take them, among other requests.
    Among,
    /// It takes only requests for them.
    Alone,
}

/// How a path with this beginning concerns challenges.
pub fn challenges(matching: Matching, beginning: &str) -> Challenges {
    let below =
        |above: &str, path: &str| path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    match matching {
        _ if below(CHALLENGES, beginning) => Challenges::Alone,
        Matching::Prefix if below(beginning, CHALLENGES) => Challenges::Among,
        Matching::Regex | Matching::Caseless if CHALLENGES.starts_with(beginning) => Challenges::Among,
        _ => Challenges::None,
    }
}

/// The path of all challenges.
pub fn of_challenges() -> Option<UrlPath> {
    UrlPath::new(CHALLENGES).ok()
}

/// The literal prefix of everything that an expression would match; `/` when there is none.
pub fn above(expression: &UrlPath) -> UrlPath {
    UrlPath::new(&beginning(Matching::Regex, expression.as_str())).unwrap_or_else(|_| expression.root())
}

/// The longest of these prefixes of a text. Each step looks up a shorter text than the one before.
pub fn longest_head<'s, T>(heads: &'s BTreeMap<String, T>, text: &str) -> Option<(&'s str, &'s T)> {
    let mut text = text;
    loop {
        let (candidate, value) = heads.range::<str, _>((Bound::Unbounded, Bound::Included(text))).next_back()?;
        if text.starts_with(&**candidate) {
            return Some((candidate, value));
        }
        let common = candidate.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
        let common = (0..=common).rev().find(|length| text.is_char_boundary(*length))?;
        text = text.get(..common)?;
    }
}

fn literal(matching: Matching, path: &str) -> Cow<'_, str> {
    match matching {
        // A text that is not a valid expression closes its prefix.
        Matching::Regex => expression::beginning(path).map_or_else(|| fixed(path), Cow::Owned),
        Matching::Exact | Matching::Prefix | Matching::Caseless => path.into(),
    }
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
    use crate::read::path::is_challenge;

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

    #[test]
    fn expressions_have_whole_elements_in_common() {
        let cases = [
            ("/a.*", ""),
            ("/a", ""),
            ("/a/", "/a"),
            ("/team/.*", "/team"),
            ("/team(/|$)(.*)", "/team"),
            ("/Team($|/)", "/team"),
            ("/team(?:/|$)x", "/team"),
            ("/team$", "/team"),
            ("/team/?$", "/team"),
            ("/team(/.*)?$", "/team"),
            ("/team(/.*)?", ""),
            ("/team/?(.*)", ""),
            ("/team(.*)", ""),
            ("/team(|/x)", ""),
            ("/team(/x)", "/team"),
            ("/a/team(/|$|x)", "/a"),
            ("/a/(b|c)", "/a"),
            ("/a/[b]+", "/a"),
            ("/[a]b/c", "/ab"),
            ("/a\\b/", "/a"),
            ("/a|/b", ""),
            (".*", ""),
            ("/(a+)+x", ""),
        ];
        for (pattern, expected) in cases {
            assert_eq!(&*elements(Matching::Regex, pattern), expected, "{pattern}");
        }
        for (matching, path, expected) in [
            (Matching::Caseless, "/l", ""),
            (Matching::Caseless, "/a.b/C/l", "/a.b/c"),
            (Matching::Caseless, "/l/", "/l"),
            (Matching::Prefix, "/l", "/l"),
            (Matching::Exact, "/l", "/l"),
            (Matching::Prefix, "/", ""),
        ] {
            assert_eq!(&*elements(matching, path), expected, "{path}");
        }
    }

    #[test]
    fn what_takes_all_below() {
        for path in ["/", "/(.*)", "/.*", "/a", "/a(/|$)(.*)", "/a/?(.*)", "/a/(.*)", "/a/.*", "/a/"] {
            assert!(takes_all_below(Matching::Regex, path), "{path}");
        }
        for path in ["/a/(/|$)(.*)", "/[a-z]+", "/a.b", "/a(b|c)(.*)", "/a/(.*)/b"] {
            assert!(!takes_all_below(Matching::Regex, path), "{path}");
        }
        assert!(!takes_all_below(Matching::Exact, "/a") && takes_all_below(Matching::Caseless, "/a"));
    }

    #[test]
    fn what_takes_challenges() {
        for (matching, path, expected) in [
            (Matching::Prefix, "/", Challenges::Among),
            (Matching::Prefix, "/.well-known", Challenges::Among),
            (Matching::Prefix, "/.well", Challenges::None),
            (Matching::Caseless, "/.WELL", Challenges::Among),
            (Matching::Exact, "/.well-known", Challenges::None),
            (Matching::Regex, "/[.]w.*", Challenges::Among),
            (Matching::Regex, "/.*", Challenges::Among),
            (Matching::Regex, "/a.*", Challenges::None),
            (Matching::Prefix, "/.well-known/acme-challenge", Challenges::Alone),
            (Matching::Exact, "/.well-known/acme-challenge/token", Challenges::Alone),
            (Matching::Prefix, "/.well-known/acme-challenges", Challenges::None),
            (Matching::Prefix, "/.well-known/other", Challenges::None),
        ] {
            assert_eq!(challenges(matching, &beginning(matching, path)), expected, "{path}");
        }
        for (path, expected) in [
            ("/.well-known/acme-challenge/a_b-C9", true),
            ("/.well-known/acme-challenge/", false),
            ("/.well-known/acme-challenge/.*", false),
            ("/.well-known/acme-challenge/a/b", false),
            ("/xwell-known/acme-challenge/a", false),
        ] {
            assert_eq!(is_challenge(&UrlPath::new(path).unwrap()), expected, "{path}");
        }
    }
}
