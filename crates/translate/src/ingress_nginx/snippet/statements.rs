//! Reads the directives of nginx's rewrite module in snippets: conditions, variables, responses
//! and rewrites. It must not know other directives.

use std::collections::BTreeSet;

use super::condition::{self, pattern};
use super::directives::find;
use super::forms::{COUNT, none};
use super::headers::{answer_header, header_arguments};
use super::reader::Reader;
use super::refused;
use super::text::{Captures, FAMILIES, READABLE, TextPlace, is_readable, matches_again};
use crate::value::excerpt;
use ingressd_model::expression::captures_twice;
use ingressd_model::language::syntax::Directive;
use ingressd_model::{
    LONGEST_LINE, OwnVariable, Refused, RewriteFlag, RouteVariable, SnippetPart, SnippetStatement, SnippetText,
};

/// Whether a snippet may set a variable of this name, because nginx has none with that name.
pub fn may_be_set(name: &str) -> bool {
    let is_nginx = |name: &str| READABLE.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
    let lower = name.to_ascii_lowercase();
    !is_nginx(&lower)
        && !is_readable(&lower)
        && RouteVariable::named(&lower).is_none()
        && OwnVariable::new("", &lower).is_ok()
        && !lower.starts_with(|first: char| first.is_ascii_digit())
}

/// The name of a variable that a snippet sets, written as `$name`, in lower case.
pub(super) fn own_name(word: &str) -> Result<String, Refused> {
    let name = word.strip_prefix('$').ok_or(Refused::because("write the variable to set as $name"))?;
    match may_be_set(name) {
        true => Ok(name.to_ascii_lowercase()),
        false => Err(Refused(
            format!(
                "${} is a variable of nginx, or its name does not consist of up to 20 letters, digits and _",
                excerpt(name)
            )
            .into(),
        )),
    }
}

pub(super) fn set(
    reader: &mut Reader<'_>,
    words: &[String],
    captures: Captures,
    in_condition: bool,
) -> Result<SnippetStatement, Refused> {
    let [name, value] = words else { return Err(COUNT) };
    let name = own_name(name)?;
    let value = reader.variables.text(value, TextPlace::Value, captures)?;
    let longest = reader.variables.size(&value, captures);
    reader.set(&name, (value, longest), in_condition)
}

/// Statuses for which nginx sends a `Location`.
pub(super) const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// Reads `return`, with what is known about captures.
pub fn answer(reader: &Reader<'_>, words: &[String], captures: Captures) -> Result<SnippetStatement, Refused> {
    let text = |text: &str| reader.variables.text(text, TextPlace::Value, captures);
    let is_url = |text: &str| ["http://", "https://", "$scheme"].iter().any(|start| text.starts_with(start));
    let (status, value) = match words {
        [url] if is_url(url) => (302, Some(url)),
        [status] => (parse_status(status)?, None),
        [status, value] => (parse_status(status)?, Some(value)),
        _ => return Err(COUNT),
    };
    if let (true, Some(value)) = (REDIRECTS.contains(&status), value)
        && !is_url(value)
        && !value.starts_with(['/', '$'])
    {
        return Err(Refused::because("a redirect goes to a URL or a path"));
    }
    Ok(SnippetStatement::Return(status, value.map(|value| text(value)).transpose()?))
}

pub(super) fn parse_status(word: &str) -> Result<u16, Refused> {
    match word.parse() {
        Ok(status @ 200..=599) => Ok(status),
        _ => Err(Refused(format!("{} is not a status from 200 to 599, or a URL", excerpt(word)).into())),
    }
}

pub(super) fn rewrite(reader: &Reader<'_>, words: &[String]) -> Result<SnippetStatement, Refused> {
    let [expression, target, flag] = words else {
        return Err(Refused::because(
            "without a flag another location would take the request; add break, redirect or permanent",
        ));
    };
    let mut flag = match flag.as_str() {
        "break" => RewriteFlag::Break,
        "redirect" => RewriteFlag::Redirect,
        "permanent" => RewriteFlag::Permanent,
        "last" => {
            return Err(Refused::because(
                "with last another location would take the request; use break, redirect or permanent",
            ));
        }
        _ => return Err(Refused(format!("{} is no flag", excerpt(flag)).into())),
    };
    if ["http://", "https://", "$scheme"].iter().any(|start| target.starts_with(start)) && flag == RewriteFlag::Break {
        flag = RewriteFlag::Redirect;
    }
    let place = if flag == RewriteFlag::Break { TextPlace::Path } else { TextPlace::Value };
    if place == TextPlace::Path && !target.starts_with(['/', '$']) {
        return Err(Refused::because("a path begins with /"));
    }
    // nginx encodes captures of the path in redirects and queries, but not variables.
    let text = |text: &str, place| reader.variables.text(text, place, Captures::Plain(LONGEST_LINE));
    let is_encoded = place == TextPlace::Value || target.contains('?');
    let target = match target.split_once('?') {
        Some((path, query)) if place == TextPlace::Path => {
            let (path, query) = (text(path, TextPlace::Path)?, text(query, TextPlace::Value)?);
            let mark = [SnippetPart::Text("?".into())];
            SnippetText::new(path.parts().iter().cloned().chain(mark).chain(query.parts().iter().cloned()).collect())?
        }
        _ => text(target, place)?,
    };
    let pattern = pattern(expression)?;
    // nginx before 1.30.2 reserves too little memory for them (CVE-2026-9256).
    let capture = |part: &SnippetPart| if let SnippetPart::Capture(number) = part { Some(*number) } else { None };
    let captures: BTreeSet<_> = target.parts().iter().filter_map(capture).collect();
    if is_encoded && captures.len() > 1 && captures_twice(pattern.as_str()) {
        return Err(Refused::because(
            "in a redirect or a query, use only one of several groups that may capture the same part of the path",
        ));
    }
    reader.variables.weigh(&pattern, LONGEST_LINE);
    Ok(SnippetStatement::Rewrite(pattern, target, flag))
}

/// Reads a block of `if`.
pub(super) fn conditional(reader: &mut Reader<'_>, directive: &Directive) -> Result<(), Refused> {
    let (condition, mut captures) = condition::read(&directive.arguments, &reader.variables)?;
    let mut then = Vec::new();
    for (number, inner) in directive.children().iter().enumerate() {
        let at =
            |refused: Refused| Refused(format!("{} in line {}: {refused}", excerpt(&inner.name), inner.line).into());
        if inner.block.is_some() {
            return Err(at(Refused::because("a block must not contain another one")));
        }
        let words = &inner.arguments;
        let statement = match inner.name.as_str() {
            "break" => none(words).map(|()| SnippetStatement::Break),
            "return" => answer(reader, words, captures),
            "set" => set(reader, words, captures, true),
            "rewrite" => {
                let statement = rewrite(reader, words);
                captures = Captures::Decoded;
                statement
            }
            "add_header" => conditional_header(reader, inner, captures, number),
            name => Err(match find(name) {
                Some(_) => Refused::because(
                    "an if block may contain only add_header, break, return, rewrite and set; set a variable in it, \
                        and use the variable outside",
                ),
                None => refused::why(name),
            }),
        };
        let statement = statement.map_err(at)?;
        if matches!(&statement, SnippetStatement::Set(_, text) if text.parts().iter().any(matches_again)) {
            captures = Captures::Unknown;
        }
        then.push(statement);
    }
    if then.is_empty() {
        return Err(Refused::because("its block is empty"));
    }
    reader.snippet.statements.push(SnippetStatement::If(condition, then));
    Ok(())
}

/// A header in a block would replace all others of the location. So the block sets a variable,
/// which is empty elsewhere, and nginx sends no empty header.
pub(super) fn conditional_header(
    reader: &mut Reader<'_>,
    directive: &Directive,
    captures: Captures,
    number: usize,
) -> Result<SnippetStatement, Refused> {
    let (name, value, always) = header_arguments(directive)?;
    let value = reader.variables.text(value, TextPlace::Value, captures)?;
    // Names that users choose begin with a letter or an underscore.
    let variable = format!("{}_{number}", reader.snippet.statements.len());
    let longest = reader.variables.size(&value, captures);
    let statement = reader.set(&variable, (value, longest), true)?;
    let SnippetStatement::Set(own, _) = &statement else { return Ok(statement) };
    let value = SnippetText::new(vec![SnippetPart::Own(own.clone())])?;
    answer_header(reader, name, value, always)?;
    Ok(statement)
}
