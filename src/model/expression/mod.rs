//! What a regular expression may cost: judged before nginx sees it.
//!
//! Two things hold each other up. An expression is refused when ordinary requests could take too long, by a count of the
//! ways in which its parts can share a subject. And whatever is accepted carries [`LIMITS`], by which PCRE itself gives up
//! after a number of steps that is a matter of milliseconds: the longest subject that somebody makes up, and a mistake in
//! the count, cost no more than that.

mod bytes;
mod effort;
mod parse;
mod size;
#[cfg(test)]
mod tests;
mod tree;

use std::borrow::Cow;

use super::Refused;

/// What an expression begins with where nginx reads it: the most steps that PCRE takes for a request, and the most that
/// wait for each other. Beyond them nginx answers 500. Both libraries, PCRE and PCRE2, know these; each step that waits takes
/// stack of a worker in the one, which crashes at twice as many, and memory that stays with the worker in the other.
pub const LIMITS: &str = "(*LIMIT_MATCH=200000)(*LIMIT_RECURSION=10000)";

/// The steps of [`LIMITS`]: some 5 ms.
const MOST_STEPS: f64 = 200_000.0;
/// Length of a path that never reaches them, whatever it consists of.
const SHORT: f64 = 32.0;
/// The longest path that nginx reads by its defaults.
const LONG: f64 = 8192.0;
/// Steps for each byte of a path up to which an expression counts as looking through it once. They are a few times those
/// that PCRE counts.
const FACTOR: f64 = 64.0;
/// Steps up to which an expression may begin at each byte of a text by PCRE's own search.
const FEW_STEPS: f64 = 16.0;
/// The weight of an expression that may reach the limit.
const WEIGHT_OF_LIMIT: f64 = 25.0;
/// The weight of looking through the longest path once more at each of its bytes, which PCRE need not count: some 20 ms.
const WEIGHT_OF_SQUARE: f64 = 100.0;
/// The most that one expression may weigh.
pub const HEAVIEST: u32 = 250;
/// Largest size in bytes in PCRE: that of the longest literal path.
const LARGEST: u64 = 8 << 10;
/// Parts that are looked at while judging; a few hundred for what people write.
const PATIENCE: u32 = 50_000;

/// Whether a character of a text needs a backslash to stand for itself in an expression. Others get none: then what people write as
/// an expression and as text is the same where it means the same.
pub fn is_special(character: char) -> bool {
    "\\.+*?()|[]{}^$".contains(character)
}

/// An expression that matches this text and nothing else.
pub fn literal(text: &str) -> Cow<'_, str> {
    if !text.contains(is_special) {
        return text.into();
    }
    let escape = |character| is_special(character).then_some('\\').into_iter().chain([character]);
    text.chars().flat_map(escape).collect::<String>().into()
}

/// With what everything begins that an expression matches at the start of a path, in small letters: as much of it as is certain. `None`
/// when it is refused.
pub fn beginning(text: &str) -> Option<String> {
    let node = parse::parse(text).ok()?;
    let certain = node.beginning(text.len()).into_iter().map_while(|set| {
        let mut letters = set.iter().map(|byte| byte.to_ascii_lowercase());
        let first = letters.next()?;
        letters.all(|letter| letter == first).then_some(first)
    });
    let bytes: Vec<u8> = certain.collect();
    Some(String::from_utf8_lossy(&bytes).trim_end_matches('\u{fffd}').to_owned())
}

/// What an expression may cost a request, in units of some 0.2 ms: 1 when it looks through the longest path once, from 25
/// to 250 when it does so again and again.
pub fn weight(text: &str) -> Result<u32, Refused> {
    weight_of_matching(text, LONG)
}

/// What it may cost where something that may be this long is searched with it, see [`anywhere`]. What looks through that again and again
/// takes as long as the square of its length.
pub fn weight_anywhere(text: &str, longest: u32) -> Result<u32, Refused> {
    let longest = LONG.max(longest.into());
    let Some(steps) = few_steps(text).filter(|_| !is_held(text)) else {
        return weight_of_matching(&anywhere(text), longest);
    };
    weight(text)?;
    // Between 1 and some hundreds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small whole number")]
    let weight = (steps / FACTOR * WEIGHT_OF_LIMIT * longest / LONG).ceil() as u32;
    Ok(weight)
}

/// The expression as it is written where it may match anywhere in a text. PCRE counts the steps of [`LIMITS`] anew for each place at which
/// it begins. So one that may take many begins at the start alone, and looks for its place by itself.
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

/// Whether PCRE begins with it at the start alone.
fn is_held(text: &str) -> bool {
    let behind = text.strip_prefix("(?i)").unwrap_or(text);
    let is_repeated = |rest: &str| rest.starts_with(['*', '+', '?', '{']);
    let begins = ["^", "\\A", ".*"].iter().any(|start| behind.starts_with(start))
        || behind.strip_prefix("(.*)").is_some_and(|rest| !is_repeated(rest));
    begins && !is_choice(text)
}

/// How many steps it takes at each place, however long a text is, if that is few.
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
        // Between 1 and 250.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a small whole number")]
        weight if weight <= f64::from(HEAVIEST) => Ok(weight as u32),
        _ => Err(Refused::because(
            "it looks through a path again and again, which would keep nginx busy; let what is repeated differ from \
             what follows, such as [^/]+ instead of .*",
        )),
    }
}
