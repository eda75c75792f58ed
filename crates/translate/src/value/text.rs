//! Lists of values, and quoting of values in notes.

use ingressd_model::{Refused, VariableClass};

/// The entries of a comma-separated list, without blanks around them. Empty ones are left out,
/// such as those behind a last comma.
///
/// # Errors
///
/// When all are empty.
pub fn entries(value: &str) -> Result<Vec<&str>, Refused> {
    let all: Vec<_> = value.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    if all.is_empty() { Err(Refused::because("it is a list without an entry")) } else { Ok(all) }
}

/// The note about a list that has empty entries beside others.
pub fn empty_entry(value: &str) -> Option<String> {
    let is_there = value.split(',').any(|entry| entry.trim().is_empty());
    is_there.then(|| format!("{} has an empty entry, which is left out; remove the comma", excerpt(value)))
}

/// A list without its empty entries, where it has any beside others.
pub fn without_empty(value: &str) -> Option<String> {
    empty_entry(value).and_then(|_| Some(entries(value).ok()?.join(",")))
}

/// Whether nginx has decoded a variable, so that it may end a line.
pub fn is_decoded(name: &str) -> bool {
    VariableClass::of(name) == Some(VariableClass::Decoded)
}

/// Why such a variable has no place in a text that becomes a line.
pub fn decoded(name: &str) -> Refused {
    let instead = if name.ends_with("uri") { "; use $request_uri" } else { "" };
    Refused(format!("${name} is decoded and could contain a line break{instead}").into())
}

/// The longest part of a value in a note.
const LONGEST_EXCERPT: usize = 60;

/// A value for people: shortened, and with everything escaped that could forge a line.
pub fn excerpt(value: &str) -> String {
    let shown: String = value.chars().take(LONGEST_EXCERPT).collect();
    let rest = if shown.len() < value.len() { "..." } else { "" };
    format!("\"{}\"{rest}", shown.escape_debug())
}
