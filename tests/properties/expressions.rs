//! Expressions: what is judged has a weight within its bounds, and what is said about an
//! expression holds for texts that match it.

use ingressd_model::expression;
use ingressd_model::{LONGEST_FOR_REQUEST, LONGEST_LINE};
use regex::bytes::{Regex, RegexBuilder};

/// Where nginx's library and the one that judges here mean different things: possessive
/// repetitions, and sets, escapes and words that only one of them has.
const READ_DIFFERENTLY: [&str; 12] = ["++", "*+", "?+", "}+", "&&", "--", "~~", "\\v", "\\V", "\\<", "\\>", "\\b{"];

/// An expression, and behind a newline texts to match it with, one a line.
pub fn check(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == b'\n');
    let Some(Ok(text)) = parts.next().map(str::from_utf8) else { return };
    literal(text);
    let weight = expression::weight(text);
    for weight in std::iter::once(weight.clone())
        .chain([LONGEST_LINE, LONGEST_FOR_REQUEST].map(|longest| expression::weight_anywhere(text, longest)))
    {
        match weight {
            Ok(weight) => assert!((1..=expression::HEAVIEST).contains(&weight), "{weight}: {text}"),
            Err(refused) => assert!(refused.to_string().len() < 300, "{refused}: {text}"),
        }
    }
    let beginning = expression::beginning(text);
    let _ = expression::captures_twice(text);
    if weight.is_ok() {
        let beginning = beginning.unwrap_or_else(|| panic!("{text} has a weight, and is refused"));
        matches(text, &beginning, parts);
    }
}

/// A text as an expression matches this text and no longer one.
fn literal(text: &str) {
    let expression = expression::literal(text);
    let exact = Regex::new(&format!("\\A{expression}\\z")).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    assert!(exact.is_match(text.as_bytes()), "{expression:?} does not match {text:?}");
    assert!(!exact.is_match(format!("{text}.").as_bytes()), "{expression:?} matches more than {text:?}");
}

/// What is matched at the start begins as it was said, and the form that starts once matches the
/// same texts.
fn matches<'d>(text: &str, beginning: &str, subjects: impl Iterator<Item = &'d [u8]>) {
    // A bracket in a set is a set of its own for one of them.
    let sets = text.matches('[').count();
    if !text.is_ascii() || sets > 1 || READ_DIFFERENTLY.iter().any(|odd| text.contains(odd)) {
        return;
    }
    let compile = |text: &str| RegexBuilder::new(text).unicode(false).case_insensitive(true).build().ok();
    let Some(plain) = compile(text) else { return };
    let Some(at_start) = compile(&format!("\\A(?:{text})")) else { return };
    let once = expression::anywhere(text);
    let once = compile(&once).unwrap_or_else(|| panic!("{once} is written for {text}"));
    for subject in subjects {
        assert_eq!(plain.is_match(subject), once.is_match(subject), "{text} with {subject:?}");
        let begins = subject.to_ascii_lowercase().starts_with(beginning.as_bytes());
        assert!(begins || !at_start.is_match(subject), "{text} begins with {beginning:?}, and matches {subject:?}");
    }
}
