//! Limits the cost of regular expressions before nginx gets them.
//!
//! There are two safeguards. First, an expression is refused when ordinary requests could take too
//! long, by an estimate of the ways to divide a subject among its parts. Second, every accepted
//! expression gets [`LIMITS`], which make PCRE give up after some milliseconds: neither a
//! malicious subject nor an error of the estimate can cost more.

mod bytes;
mod effort;
mod parse;
mod size;
#[cfg(test)]
mod tests;
mod tree;

use std::borrow::Cow;

use self::bytes::Bytes;
use super::Refused;

/// The prefix of every expression for nginx: the most steps that PCRE takes for a request, and the
/// most nested ones. Beyond them nginx answers 500. Both PCRE and PCRE2 support them. A nested
/// step takes stack of a worker in PCRE, which crashes at twice as many, and memory that the
/// worker keeps in PCRE2.
pub const LIMITS: &str = "(*LIMIT_MATCH=200000)(*LIMIT_RECURSION=10000)";

/// The step limit of [`LIMITS`]: some 5 ms.
const MOST_STEPS: f64 = 200_000.0;
/// The length of a path that never reaches the limit, whatever its content.
const SHORT: f64 = 32.0;
/// The longest path that nginx accepts by default.
const LONG: f64 = 8192.0;
/// The steps per byte of a path up to which an expression counts as scanning the path once. They
/// are a few times those that PCRE counts.
const FACTOR: f64 = 64.0;
/// The steps up to which PCRE's own search may start an expression at each byte of a text.
const FEW_STEPS: f64 = 16.0;
/// The weight of an expression that may reach the step limit.
const WEIGHT_OF_LIMIT: f64 = 25.0;
/// The weight of scanning the rest of the longest path from each of its bytes, which PCRE may not
/// count: some 20 ms.
const WEIGHT_OF_SQUARE: f64 = 100.0;
/// The greatest weight of one expression.
pub const HEAVIEST: u32 = 250;
/// The largest compiled size in bytes: that of the longest literal path.
const LARGEST: u64 = 8 << 10;
/// The most parts that the estimate examines; usual expressions need a few hundred.
const PATIENCE: u32 = 50_000;

/// Whether a character needs a backslash to be literal in an expression. No other character gets
/// one, so that text and expression are the same where they mean the same.
pub fn is_special(character: char) -> bool {
    "\\.+*?()|[]{}^$".contains(character)
}

/// An expression that matches exactly this text.
pub fn literal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_special) {
        return text.into();
    }
    let escape = |character| is_special(character).then_some('\\').into_iter().chain([character]);
    text.chars().flat_map(escape).collect::<String>().into()
}

/// The literal prefix, in lower case, of everything that the expression matches at the start of a
/// path. `None` when the expression is refused.
pub fn beginning(text: &str) -> Option<String> {
    let node = parse::parse(text).ok()?;
    let bytes: Vec<u8> = node.beginning(text.len()).iter().map_while(Bytes::letter).collect();
    Some(String::from_utf8_lossy(&bytes).trim_end_matches('\u{fffd}').to_owned())
}

/// Whether only a slash or the end can follow the literal prefix of what the expression matches.
/// When in doubt, something else can.
pub fn begins_with_elements(text: &str) -> bool {
    parse::parse(text).is_ok_and(|node| node.begins_with_elements(text.len()))
}

/// The estimated size in bytes of the compiled expression; that of the text when it is refused.
pub fn size(text: &str) -> u64 {
    let long = u64::try_from(text.len()).unwrap_or(u64::MAX);
    parse::parse(text).map_or(long, |node| size::size(&node).min(LARGEST))
}

/// Whether two groups of an expression may capture the same part of a text.
pub fn captures_twice(text: &str) -> bool {
    parse::parse(text).is_ok_and(|node| node.captures_twice())
}

/// The weight of an expression for a request, in units of some 0.2 ms: 1 when it scans the longest
/// path once, and from 25 to 250 when it does so repeatedly.
pub fn weight(text: &str) -> Result<u32, Refused> {
    weight_of_matching(text, LONG)
}

/// The weight when the expression is searched in a text of up to this length, see [`anywhere`].
/// Repeated scanning takes as long as the square of the length.
pub fn weight_anywhere(text: &str, longest: u32) -> Result<u32, Refused> {
    let longest = LONG.max(longest.into());
    let Some(steps) = few_steps(text).filter(|_| !is_held(text)) else {
        return weight_of_matching(&anywhere(text), longest);
    };
    weight(text)?;
    // The value is between 1 and some hundreds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small whole number")]
    let weight = (steps / FACTOR * WEIGHT_OF_LIMIT * longest / LONG).ceil().max(1.0) as u32;
    Ok(weight)
}

/// The expression as it is written where it may match anywhere in a text. PCRE counts the steps of
/// [`LIMITS`] again for each place at which it starts. So an expression that may take many steps
/// is anchored at the start, and searches for its place by itself.
pub fn anywhere(text: &str) -> Cow<'_, str> {
    match (is_held(text) || few_steps(text).is_some(), is_choice(text)) {
        (true, _) => text.into(),
        (false, true) => format!("\\A(?s:.*?)(?:{text})").into(),
        (false, false) => format!("\\A(?s:.*?){text}").into(),
    }
}

fn is_choice(text: &str) -> bool {
    parse::parse(text).is_ok_and(|node| matches!(node, tree::Node::Choice(_)))
}

/// Whether PCRE starts it at the beginning only.
fn is_held(text: &str) -> bool {
    let behind = text.strip_prefix("(?i)").unwrap_or(text);
    let is_repeated = |rest: &str| rest.starts_with(['*', '+', '?', '{']);
    let begins = ["^", "\\A", ".*"].iter().any(|start| behind.starts_with(start))
        || behind.strip_prefix("(.*)").is_some_and(|rest| !is_repeated(rest));
    begins && !is_choice(text)
}

/// The most steps at each place for texts of any length, if there are few.
fn few_steps(text: &str) -> Option<f64> {
    let node = parse::parse(text).ok()?;
    let effort = effort::effort(&node, LONG, MOST_STEPS, PATIENCE).ok()?;
    (effort.steps <= FEW_STEPS && effort.unseen <= FEW_STEPS).then_some(effort.steps)
}

fn weight_of_matching(text: &str, longest: f64) -> Result<u32, Refused> {
    let node = parse::parse(text)?;
    let size = size::size(&node);
    if size > LARGEST {
        let note = format!(
            "it takes nginx {} KB of memory, at most {} are allowed; let it repeat less, or split it into several paths",
            size.div_ceil(1 << 10),
            LARGEST >> 10
        );
        return Err(Refused(note.into()));
    }
    let effort = |length| {
        let entangled =
            |_| Refused::because("its repetitions are nested too deep to be judged; write it without some of them");
        effort::effort(&node, length, MOST_STEPS, PATIENCE).map_err(entangled)
    };
    let long = effort(longest)?;
    let is_once = long.steps <= FACTOR * longest;
    if !is_once && effort(SHORT)?.steps > MOST_STEPS {
        return Err(Refused::because(
            "its repetitions can take the same characters in too many ways, which would keep nginx busy; let what is \
             repeated differ from what follows, such as [^/]+ instead of .* and (a|b)* instead of (a*|b)*",
        ));
    }
    let of_steps = if is_once { (longest / LONG).ceil() } else { WEIGHT_OF_LIMIT };
    let of_runs = (long.unseen * WEIGHT_OF_SQUARE / (LONG * LONG)).ceil();
    match of_steps.max(of_runs) {
        // The value is between 1 and 250.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small whole number")]
        weight if weight <= f64::from(HEAVIEST) => Ok(weight as u32),
        _ => Err(Refused::because(
            "it looks through a path again and again, which would keep nginx busy; let what is repeated differ from \
             what follows, such as [^/]+ instead of .*",
        )),
    }
}
