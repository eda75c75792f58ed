//! Parses the conditions of `if`, as nginx reads the words between the parentheses. It must not
//! know their consequences.

use super::text::{Captures, TextPlace, Variables, is_decoded_part};
use crate::value::excerpt;
use ingressd_model::{Pattern, Refused, SnippetCondition, SnippetPart, SnippetText};

/// Parses a condition, and returns what its expression captures.
pub fn read(words: &[String], variables: &Variables) -> Result<(SnippetCondition, Captures), Refused> {
    const FORM: Refused =
        Refused::because("write a condition as ($variable), or as ($variable = text) with = != ~ ~* !~ or !~*");
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some(first) = words.first_mut() else { return Err(FORM) };
    *first = first.strip_prefix('(').ok_or(FORM)?;
    let Some(last) = words.last_mut() else { return Err(FORM) };
    *last = last.strip_suffix(')').ok_or(FORM)?;
    words.retain(|word| !word.is_empty());
    match words.as_slice() {
        ["-f" | "!-f" | "-d" | "!-d" | "-e" | "!-e" | "-x" | "!-x", _] => {
            Err(Refused::because("it would test for files of the node"))
        }
        [variable] => Ok((SnippetCondition::IsSet(named(variable, variables)?), Captures::Unknown)),
        // An empty quoted text is not a word here.
        [variable, operator @ ("=" | "!=")] => {
            let (variable, not) = (named(variable, variables)?, *operator == "!=");
            Ok((SnippetCondition::Is { variable, text: SnippetText::default(), not }, Captures::Unknown))
        }
        [variable, operator, value] => compared(variable, operator, value, variables),
        _ => Err(FORM),
    }
}

fn compared(
    variable: &str,
    operator: &str,
    value: &str,
    variables: &Variables,
) -> Result<(SnippetCondition, Captures), Refused> {
    let part = named(variable, variables)?;
    let not = operator.starts_with('!');
    match operator {
        "=" | "!=" => {
            let text = variables.text(value, TextPlace::Compared, Captures::Unknown)?;
            Ok((SnippetCondition::Is { variable: part, text, not }, Captures::Unknown))
        }
        "~" | "~*" | "!~" | "!~*" => {
            let captures = match (not, is_decoded_part(&part)) {
                (true, _) => Captures::Unknown,
                (false, true) => Captures::Decoded,
                (false, false) => Captures::Plain(variables.longest(&part, Captures::Unknown)),
            };
            let (pattern, any_case) = (pattern(value)?, operator.ends_with('*'));
            variables.weigh(&pattern, variables.longest(&part, Captures::Unknown));
            Ok((SnippetCondition::Matches { variable: part, pattern, any_case, not }, captures))
        }
        _ => Err(Refused(format!("{} compares nothing", excerpt(operator)).into())),
    }
}

fn named(word: &str, variables: &Variables) -> Result<SnippetPart, Refused> {
    match word.strip_prefix('$') {
        Some(name) => variables.named(name, TextPlace::Compared),
        None => Err(Refused(format!("{} is no variable", excerpt(word)).into())),
    }
}

/// Parses an expression, with the limits of all expressions.
pub fn pattern(text: &str) -> Result<Pattern, Refused> {
    Pattern::new(text).map_err(|refused| Refused(format!("the expression {}: {refused}", excerpt(text)).into()))
}
