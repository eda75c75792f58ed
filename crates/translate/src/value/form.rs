//! The form of a row's values as data, for code that has no parser for them.

use regex::Regex;

use super::{address_list, boolean, byte_size, entries, integer};
use ingressd_model::{ByteSize, Kind, LONGEST};

/// The form of a row's values. The row refuses what the form refuses. The row accepts what the
/// form accepts, except where the form says that it leaves something out.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A boolean of Go.
    Boolean,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words in any case; here they are in lower case.
    AnyCase(&'static [&'static str]),
    /// Several of these words, separated by blanks.
    Words(&'static [&'static str]),
    /// A whole number.
    Integer {
        /// The least value.
        least: u64,
        /// The greatest value.
        most: u64,
    },
    /// Digits and an optional unit.
    Size {
        /// The least value, in bytes.
        least: u64,
        /// The greatest value, in bytes.
        most: u64,
    },
    /// Addresses and networks, separated by commas.
    Addresses,
    /// A text of this shape.
    Text(&'static Shape),
    /// Texts of this shape, separated by commas.
    List(&'static Shape),
    /// Texts separated by commas, of which at least one has this shape.
    Some(&'static Shape),
    /// The form, with a further check that only the parser can do, for this reason.
    Partly(&'static Form, &'static str),
    /// Only the parser can check the value, for this reason.
    NotJudged(&'static str),
}

/// The shape of a text. RE2 and this program read the expressions alike: they have ASCII classes,
/// no look-around, and no class that Unicode extends.
#[derive(Debug)]
pub struct Shape {
    /// Its name, with an article.
    pub name: &'static str,
    /// An expression that matches the whole text.
    pub pattern: &'static str,
    /// An expression that must not match within the text; empty when there is none.
    pub never: &'static str,
    /// The greatest length in characters.
    pub longest: usize,
    /// Whether the text is converted to lower case.
    pub any_case: bool,
    /// Whether surrounding blanks are significant.
    pub verbatim: bool,
    /// The kind of the object that the text names, of kinds that are kept only where something
    /// names one.
    pub refers_to: Option<Kind>,
}

impl Shape {
    /// The defaults of a shape.
    pub const DEFAULT: Shape =
        Shape { name: "", pattern: "", never: "", longest: LONGEST, any_case: false, verbatim: false, refers_to: None };

    fn fits(&self, text: &str) -> bool {
        let text = if self.any_case { text.to_ascii_lowercase() } else { text.to_owned() };
        let matches = |pattern: &str| Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(&text));
        text.chars().count() <= self.longest
            && matches(&format!("^(?:{})$", self.pattern))
            && (self.never.is_empty() || !matches(self.never))
    }
}

/// A list of words for people.
fn listed(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [word] => (*word).to_owned(),
        [words @ .., last] => format!("{} or {last}", words.join(", ")),
    }
}

impl Form {
    /// Whether the value has the form. An empty value counts as missing and is not checked.
    pub fn accepts(&self, value: &str) -> bool {
        let trimmed = value.trim();
        match self {
            Form::Boolean => boolean(value).is_ok(),
            Form::Word(words) => words.contains(&trimmed),
            Form::AnyCase(words) => words.contains(&&*trimmed.to_ascii_lowercase()),
            Form::Words(words) => value.split_whitespace().all(|word| words.contains(&word)),
            Form::Integer { least, most } => integer(value, *least, *most).is_ok(),
            Form::Size { least, most } => byte_size(value, *least, *most).is_ok(),
            Form::Addresses => address_list(value).is_ok(),
            Form::Text(shape) => shape.fits(if shape.verbatim { value } else { trimmed }),
            Form::List(shape) => entries(value).is_ok_and(|all| all.iter().all(|item| shape.fits(item))),
            Form::Some(shape) => entries(value).is_ok_and(|all| all.iter().any(|item| shape.fits(item))),
            Form::Partly(form, _) => form.accepts(value),
            Form::NotJudged(_) => true,
        }
    }

    /// Whether values are lists with commas.
    pub fn is_list(&self) -> bool {
        match self {
            Form::Addresses | Form::List(_) | Form::Some(_) => true,
            Form::Partly(form, _) => form.is_list(),
            _ => false,
        }
    }

    /// The kind of the object that a value names, of kinds that are kept only where something
    /// names one.
    pub fn refers_to(&self) -> Option<Kind> {
        match self {
            Form::Text(shape) => shape.refers_to,
            Form::Partly(form, _) => form.refers_to(),
            _ => None,
        }
    }

    /// The part of the check that only the parser can do.
    pub fn left_out(&self) -> Option<&'static str> {
        match self {
            Form::Partly(_, reason) | Form::NotJudged(reason) => Some(reason),
            _ => None,
        }
    }

    /// A description of the values, after "takes"; `None` when the form is unknown.
    pub fn described(&self) -> Option<String> {
        Some(match self {
            Form::Boolean => "true or false".to_owned(),
            Form::Word(words) => listed(words),
            Form::AnyCase(words) => format!("{}, in any case", listed(words)),
            Form::Words(words) => format!("words of {}, with blanks between", words.join(", ")),
            Form::Integer { least, most: u64::MAX } => format!("a whole number from {least}"),
            Form::Integer { least, most } => format!("a whole number from {least} to {most}"),
            Form::Size { least, most } => {
                let most = if *most == u64::MAX { String::new() } else { format!(" to {}", ByteSize(*most)) };
                format!("a size from {}{most}: digits and perhaps b, k, m or g", ByteSize(*least))
            }
            Form::Addresses => "addresses and networks, with commas between".to_owned(),
            Form::Text(shape) => shape.name.to_owned(),
            Form::List(shape) => format!("{}, or several with commas between", shape.name),
            Form::Some(shape) => format!("{}, or several with commas between", shape.name),
            Form::Partly(form, _) => return form.described(),
            Form::NotJudged(_) => return None,
        })
    }
}
