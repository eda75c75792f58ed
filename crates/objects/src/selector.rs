//! Label selectors, as kubectl accepts them with `-l`.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::str::FromStr;
use std::vec::IntoIter;

use ingressd_model::{Refused, is_subdomain};

/// A selector: all of these requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

/// A requirement for the label with one key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    condition: LabelCondition,
}

/// A condition on the value of a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelCondition {
    /// The label exists.
    Present,
    /// The label does not exist.
    Absent,
    /// It is one of these.
    Among(BTreeSet<String>),
    /// It is none of these, or does not exist.
    NotAmong(BTreeSet<String>),
    /// It is a larger number.
    Above(i64),
    /// It is a smaller number.
    Below(i64),
}

impl Selector {
    /// All requirements, by key.
    pub fn requirements(&self) -> impl Iterator<Item = (&str, &LabelCondition)> {
        self.0.iter().map(|requirement| (&*requirement.key, &requirement.condition))
    }

    /// Whether the selector matches these labels.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|Requirement { key, condition }| {
            let label = labels.get(key);
            let number = || label.and_then(|label| label.parse::<i64>().ok());
            match condition {
                LabelCondition::Present => label.is_some(),
                LabelCondition::Absent => label.is_none(),
                LabelCondition::Among(values) => label.is_some_and(|label| values.contains(label)),
                LabelCondition::NotAmong(values) => label.is_none_or(|label| !values.contains(label)),
                LabelCondition::Above(bound) => number().is_some_and(|number| number > *bound),
                LabelCondition::Below(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

impl FromStr for Selector {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        let mut tokens = Tokens(tokens(text).into_iter().peekable());
        let mut requirements = vec![tokens.requirement()?];
        while let Some(token) = tokens.0.next() {
            if token != "," {
                return Err(Refused(format!("there is {token:?} where a comma is needed").into()));
            }
            requirements.push(tokens.requirement()?);
        }
        Ok(Selector(requirements))
    }
}

/// The symbols of the syntax; `==` and `!=` stand before their first characters.
const SYMBOLS: &[&str] = &["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let is_end = |letter: char| letter.is_whitespace() || "=!(),><".contains(letter);
        let length = match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => symbol.len(),
            None => rest.find(is_end).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

struct Tokens<'a>(Peekable<IntoIter<&'a str>>);

impl<'a> Tokens<'a> {
    fn requirement(&mut self) -> Result<Requirement, Refused> {
        if self.0.next_if_eq(&"!").is_some() {
            return Ok(Requirement { key: self.key()?, condition: LabelCondition::Absent });
        }
        let key = self.key()?;
        let condition = match self.0.next_if(|token| *token != ",") {
            None => LabelCondition::Present,
            Some("=" | "==") => LabelCondition::Among(BTreeSet::from([self.value()?])),
            Some("!=") => LabelCondition::NotAmong(BTreeSet::from([self.value()?])),
            Some("in") => LabelCondition::Among(self.values()?),
            Some("notin") => LabelCondition::NotAmong(self.values()?),
            Some(">") => LabelCondition::Above(self.number()?),
            Some("<") => LabelCondition::Below(self.number()?),
            Some(other) => return Err(Refused(format!("{other:?} after {key:?} compares nothing").into())),
        };
        Ok(Requirement { key, condition })
    }

    fn word(&mut self) -> Option<&'a str> {
        self.0.next_if(|token| !SYMBOLS.contains(token))
    }

    fn key(&mut self) -> Result<String, Refused> {
        let key = self.word().ok_or(Refused::because("the key of a label is missing"))?;
        let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
        match prefix.is_none_or(is_subdomain) && !name.is_empty() && is_value(name) {
            true => Ok(key.to_owned()),
            false => Err(Refused(format!("{key:?} is no key of a label").into())),
        }
    }

    /// One value, which may be empty.
    fn value(&mut self) -> Result<String, Refused> {
        let value = self.word().unwrap_or_default();
        match is_value(value) {
            true => Ok(value.to_owned()),
            false => Err(Refused(format!("{value:?} is no value of a label").into())),
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, Refused> {
        let unclosed = || Refused::because("values after in and notin stand in parentheses, separated by commas");
        self.0.next_if_eq(&"(").ok_or_else(unclosed)?;
        if self.0.peek() == Some(&")") {
            return Err(Refused::because("there is no value between the parentheses"));
        }
        let mut values = BTreeSet::from([self.value()?]);
        while self.0.next_if_eq(&",").is_some() {
            values.insert(self.value()?);
        }
        self.0.next_if_eq(&")").ok_or_else(unclosed)?;
        Ok(values)
    }

    fn number(&mut self) -> Result<i64, Refused> {
        let value = self.value()?;
        value.parse().map_err(|_| Refused(format!("{value:?} is not a whole number").into()))
    }
}

/// Whether a label may have this value; names of keys have the same form and are not empty.
fn is_value(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric();
    let ends = [text.bytes().next(), text.bytes().next_back()];
    text.len() <= 63
        && ends.into_iter().flatten().all(is_plain)
        && text.bytes().all(|byte| is_plain(byte) || b"-_.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_selected_as_kubectl_does() {
        let labels = |text: &str| -> BTreeMap<String, String> {
            let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
            pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
        };
        // Each row: a selector, labels that match, and labels that do not.
        let rows: &[(&str, &[&str], &[&str])] = &[
            ("team=a", &["team=a", "team=a x=y"], &["", "team=b", "team=A", "x=a"]),
            (" team == a ", &["team=a"], &["team=b"]),
            ("team=", &["team="], &["", "team=a"]),
            ("team!=a", &["", "team=b"], &["team=a"]),
            ("team", &["team=a", "team="], &["", "x=y"]),
            ("!team", &["", "x=y"], &["team=a", "team="]),
            ("team in (a,b)", &["team=a", "team=b"], &["", "team=c"]),
            ("team in(a, )", &["team=a", "team="], &["", "team=c"]),
            ("team notin ( a , b )", &["", "team=c"], &["team=a", "team=b"]),
            ("team=a,tier in (x,y),!old", &["team=a tier=x"], &["team=a", "tier=x", "team=a tier=x old=1"]),
            ("level>2", &["level=3"], &["", "level=2", "level=x"]),
            ("level < 3,level>1", &["level=2"], &["level=1", "level=3"]),
            ("kubernetes.io/metadata.name=shop", &["kubernetes.io/metadata.name=shop"], &["metadata.name=shop"]),
        ];
        for (text, fit, do_not) in rows {
            let selector: Selector = text.parse().unwrap();
            for row in *fit {
                assert!(selector.selects(&labels(row)), "{text:?} for {row:?}");
            }
            for row in *do_not {
                assert!(!selector.selects(&labels(row)), "{text:?} for {row:?}");
            }
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for (text, words) in [
            ("", "the key of a label is missing"),
            (",", "the key of a label is missing"),
            ("team=a,", "the key of a label is missing"),
            ("=a", "the key of a label is missing"),
            ("!", "the key of a label is missing"),
            ("team=a b", "\"b\" where a comma is needed"),
            ("!team=a", "\"=\" where a comma is needed"),
            ("team is a", "\"is\" after \"team\" compares nothing"),
            ("team in a", "in parentheses"),
            ("team in (a", "in parentheses"),
            ("team in (a b)", "in parentheses"),
            ("team in ()", "no value between"),
            ("team=a=b", "\"=\" where a comma is needed"),
            ("-team=a", "\"-team\" is no key"),
            ("Example.com/team=a", "is no key"),
            ("example.com/=a", "is no key"),
            ("a/b/c", "is no key"),
            ("team=a/b", "\"a/b\" is no value"),
            ("team=a_", "\"a_\" is no value"),
            ("level>-5", "\"-5\" is no value"),
            ("level>many", "\"many\" is not a whole number"),
        ] {
            let refused = text.parse::<Selector>().unwrap_err();
            assert!(refused.to_string().contains(words), "{text:?}: {refused}");
        }
        assert!(format!("team={}", "x".repeat(63)).parse::<Selector>().is_ok());
        assert!(format!("team={}", "x".repeat(64)).parse::<Selector>().is_err());
    }
}
