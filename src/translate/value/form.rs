//! What the values of a row look like, as data: whatever judges or describes values without the parser.

use regex::Regex;

use super::{address_list, boolean, byte_size, integer};
use crate::model::{ByteSize, LONGEST};

/// What the values of a row look like. What it refuses the row refuses as well; what it accepts the row accepts, but for what it says
/// that it leaves out.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// A boolean of Go.
    Boolean,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, in any case; they are in lower case here.
    AnyCase(&'static [&'static str]),
    /// Some of these words, with blanks between.
    Words(&'static [&'static str]),
    /// A whole number.
    Integer {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// Digits and perhaps a unit.
    Size {
        /// The smallest, in bytes.
        least: u64,
        /// The largest, in bytes.
        most: u64,
    },
    /// Addresses and networks, with commas between.
    Addresses,
    /// A text of this shape.
    Text(&'static Shape),
    /// Texts of this shape, with commas between.
    List(&'static Shape),
    /// This word, or texts of this shape with commas between.
    WordOrList(&'static str, &'static Shape),
    /// Texts with commas between, of which at least one is of this shape.
    Some(&'static Shape),
    /// The form, and what else the parser looks at, for this reason out of reach of anybody else.
    Partly(&'static Form, &'static str),
    /// Nobody but the parser judges the value, for this reason.
    NotJudged(&'static str),
}

/// What a text looks like. The expressions are those that RE2 and this program read alike: classes of ASCII, no look-around, and no
/// class that Unicode makes larger.
#[derive(Debug)]
pub struct Shape {
    /// What it is, with its article.
    pub name: &'static str,
    /// Matches it as a whole.
    pub pattern: &'static str,
    /// Matches nothing in it; empty where nothing else is to be kept out.
    pub never: &'static str,
    /// Longest, in characters.
    pub longest: usize,
    /// Whether it is read in lower case.
    pub any_case: bool,
    /// Whether blanks around it count.
    pub verbatim: bool,
}

impl Shape {
    /// What most have in common.
    pub const DEFAULT: Shape =
        Shape { name: "", pattern: "", never: "", longest: LONGEST, any_case: false, verbatim: false };

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
    /// Whether the value is of the form. Nobody asks about an empty one: it is the same as none.
    pub fn accepts(&self, value: &str) -> bool {
        let trimmed = value.trim();
        let mut items = value.split(',').map(str::trim);
        match self {
            Form::Boolean => boolean(value).is_ok(),
            Form::Word(words) => words.contains(&trimmed),
            Form::AnyCase(words) => words.contains(&&*trimmed.to_ascii_lowercase()),
            Form::Words(words) => value.split_whitespace().all(|word| words.contains(&word)),
            Form::Integer { least, most } => integer(value, *least, *most).is_ok(),
            Form::Size { least, most } => byte_size(value, *least, *most).is_ok(),
            Form::Addresses => address_list(value).is_ok(),
            Form::Text(shape) => shape.fits(if shape.verbatim { value } else { trimmed }),
            Form::List(shape) => items.all(|item| shape.fits(item)),
            Form::WordOrList(word, shape) => trimmed == *word || items.all(|item| shape.fits(item)),
            Form::Some(shape) => items.any(|item| shape.fits(item)),
            Form::Partly(form, _) => form.accepts(value),
            Form::NotJudged(_) => true,
        }
    }

    /// What it leaves to the parser, and why.
    pub fn left_out(&self) -> Option<&'static str> {
        match self {
            Form::Partly(_, reason) | Form::NotJudged(reason) => Some(reason),
            _ => None,
        }
    }

    /// What values are, after "takes"; `None` where nothing is known of them.
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
            Form::WordOrList(word, shape) => format!("{word}, or {}, or several with commas between", shape.name),
            Form::Some(shape) => format!("{}, or several with commas between", shape.name),
            Form::Partly(form, _) => return form.described(),
            Form::NotJudged(_) => return None,
        })
    }
}
