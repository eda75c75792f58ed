//! Reads lookup tables (`map` and `geo`) in a snippet for all hosts; everything else in it is
//! refused. It must not know who may write one.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::condition::pattern;
use super::directives;
use super::forms::COUNT;
use super::reader::mistake;
use super::refused;
use super::statements::{may_be_set, own_name};
use super::text::{Captures, TextPlace, Variables, is_decoded_part};
use crate::value::{address_list, excerpt};
use ingressd_model::expression;
use ingressd_model::language::syntax::{self, Directive};
use ingressd_model::{
    Cidr, LookupKey, LookupRows, LookupTable, Origin, OwnVariable, Refused, SnippetPart, SnippetText,
};

/// The longest text, and the most rows of all tables together.
const LONGEST: usize = 64 << 10;
const MOST_ROWS: usize = 1000;
/// The greatest total weight of all expressions: a request is matched with all of a table when
/// none matches.
const MOST_WEIGHT: u32 = 100;
/// The most mistakes that are reported at once.
const MOST_MISTAKES: usize = 5;
/// The longest word that fits into nginx's table by default: 64 bytes hold two pointers, the
/// length and the word.
const LONGEST_KEY: usize = 46;

/// Reads the tables of a text.
pub fn tables(text: &str, origin: &Origin) -> Result<Vec<LookupTable>, Refused> {
    if text.len() > LONGEST {
        return Err(Refused(format!("it is longer than {LONGEST} bytes").into()));
    }
    let tree = syntax::parse(text.as_bytes()).map_err(|error| Refused(error.to_string().into()))?;
    if tree.iter().map(|directive| directive.children().len()).sum::<usize>() > MOST_ROWS {
        return Err(Refused(format!("its tables have more than {MOST_ROWS} rows together").into()));
    }
    let own = tree.iter().filter_map(|directive| directive.arguments.last()?.strip_prefix('$'));
    let own: BTreeSet<_> = own.filter(|name| may_be_set(name)).map(str::to_ascii_lowercase).collect();
    let mark = OwnVariable::OF_TABLES.to_owned();
    let mut variables = Variables { mark, own, ..Variables::default() };
    let (mut tables, mut mistakes) = (Vec::new(), Vec::new());
    for directive in &tree {
        match table(directive, &variables, origin) {
            Ok(table) if variables.sizes.contains_key(&table.variable) => {
                mistakes.push(mistake(text, directive, &Refused::because("another table sets the same variable")));
            }
            Ok(table) => {
                variables.sizes.insert(table.variable.clone(), table.longest);
                tables.push(table);
            }
            Err(refused) => mistakes.push(mistake(text, directive, &refused)),
        }
    }
    if mistakes.len() > MOST_MISTAKES {
        let more = mistakes.len() - MOST_MISTAKES;
        mistakes.truncate(MOST_MISTAKES);
        mistakes.push(format!("and {more} more"));
    }
    match tables.iter().map(|table| weight(table, &variables)).sum::<u32>() > MOST_WEIGHT {
        _ if !mistakes.is_empty() => Err(Refused(mistakes.join("; ").into())),
        true => Err(Refused(
            format!(
                "its regular expressions have a weight of more than {MOST_WEIGHT} together, which takes nginx too \
                long"
            )
            .into(),
        )),
        false => Ok(tables),
    }
}

fn weight(table: &LookupTable, variables: &Variables) -> u32 {
    let LookupRows::Texts(of, rows) = &table.rows else { return 0 };
    let longest = variables.size(of, Captures::Unknown);
    let weight = |key: &LookupKey| match key {
        LookupKey::Is(_) => 0,
        LookupKey::Matches { pattern, .. } => {
            expression::weight_anywhere(pattern.as_str(), longest).unwrap_or(expression::HEAVIEST)
        }
    };
    rows.iter().map(|(key, _)| weight(key)).sum()
}

fn table(directive: &Directive, variables: &Variables, origin: &Origin) -> Result<LookupTable, Refused> {
    let (read, least): (fn(Option<&str>, &Directive, &Variables) -> _, _) = match directive.name.as_str() {
        "map" => (texts, 2),
        "geo" => (addresses, 1),
        name => return Err(elsewhere(name)),
    };
    let words = &directive.arguments;
    let (Some(name), true, true) = (words.last(), (least..=2).contains(&words.len()), directive.block.is_some()) else {
        return Err(Refused::because("write what is looked up, a variable and a block"));
    };
    let variable = OwnVariable::new(OwnVariable::OF_TABLES, &own_name(name)?)?;
    let of = (words.len() == 2).then(|| words[0].as_str());
    let (rows, default) = read(of, directive, variables)?;
    let sizes = match &rows {
        LookupRows::Texts(of, rows) => {
            let captures = Captures::Plain(variables.size(of, Captures::Unknown));
            rows.iter().map(|(_, value)| variables.size(value, captures)).max()
        }
        LookupRows::Addresses(_, rows) => rows.iter().filter_map(|(_, value)| u32::try_from(value.len()).ok()).max(),
    };
    let longest = sizes.unwrap_or_default().max(variables.size(&default, Captures::Unknown));
    Ok(LookupTable { origin: origin.clone(), variable, default, rows, longest })
}

/// Why a directive has no place here, and where it has one.
fn elsewhere(name: &str) -> Refused {
    match directives::find(name) {
        Some(_) => Refused::because(
            "it is refused, because it would affect other sites of the node; instead: \
                              location-snippet",
        ),
        None => refused::why(name),
    }
}

type ParsedRows = (LookupRows, SnippetText);

/// Reads a `map`.
fn texts(of: Option<&str>, directive: &Directive, variables: &Variables) -> Result<ParsedRows, Refused> {
    let of = variables.text(of.unwrap_or_default(), TextPlace::Compared, Captures::Unknown)?;
    let captures = match of.parts().iter().any(is_decoded_part) {
        true => Captures::Decoded,
        false => Captures::Plain(variables.size(&of, Captures::Unknown)),
    };
    let (mut rows, mut seen, mut default) = (Vec::new(), BTreeSet::new(), None);
    for row in directive.children() {
        let at = |refused| at(row, &refused);
        let value = |captures| value(variables, row, captures).map_err(at);
        let key = match row.name.as_str() {
            _ if !seen.insert(row.name.to_ascii_lowercase()) => return Err(at(Refused::because("it is there twice"))),
            "default" => {
                default = Some(value(Captures::Unknown)?);
                continue;
            }
            "hostnames" => {
                return Err(at(Refused::because(
                    "write names of several hosts as expressions, such as ~[.]example[.]com$",
                )));
            }
            "volatile" => return Err(at(Refused::because("it is not allowed here: a request looks up a value once"))),
            "include" => return Err(at(refused::why("include"))),
            name => key(name).map_err(at)?,
        };
        let captures = if matches!(key, LookupKey::Matches { .. }) { captures } else { Captures::Unknown };
        rows.push((key, value(captures)?));
    }
    Ok((LookupRows::Texts(of, rows), default.unwrap_or_default()))
}

fn key(name: &str) -> Result<LookupKey, Refused> {
    if let Some(rest) = name.strip_prefix('~') {
        let (any_case, rest) = rest.strip_prefix('*').map_or((false, rest), |rest| (true, rest));
        return Ok(LookupKey::Matches { pattern: pattern(rest)?, any_case });
    }
    let name = name.strip_prefix('\\').unwrap_or(name);
    if name.len() > LONGEST_KEY {
        return Err(Refused(
            format!(
                "it is longer than the {LONGEST_KEY} bytes that nginx's table takes; write a regular \
                expression"
            )
            .into(),
        ));
    }
    // The check is the same as for texts of snippets.
    SnippetText::new(vec![SnippetPart::Text(name.into())])?;
    Ok(LookupKey::Is(name.into()))
}

/// Reads a `geo`.
fn addresses(of: Option<&str>, directive: &Directive, variables: &Variables) -> Result<ParsedRows, Refused> {
    let name = of.unwrap_or("$remote_addr");
    let name = name.strip_prefix('$').ok_or(Refused::because("write what is looked up as $name"))?;
    let of = variables.named(name, TextPlace::Compared)?;
    let (mut rows, mut default): (Vec<(Cidr, Arc<str>)>, _) = (Vec::new(), None);
    for row in directive.children() {
        let at = |refused| at(row, &refused);
        let value = plain(row).map_err(at)?;
        match row.name.as_str() {
            "default" if default.is_none() => default = Some(value),
            "delete" | "include" | "proxy" | "proxy_recursive" | "ranges" => {
                return Err(at(Refused::because("write a row as default or a network, and a value")));
            }
            name => {
                let networks = address_list(name).map_err(at)?;
                let [network] = networks.as_slice() else {
                    return Err(at(Refused::because("a row has one network")));
                };
                if network.prefix_len() == 0 {
                    return Err(at(Refused::because("write default for all addresses")));
                }
                if rows.iter().any(|(other, _)| *other == network.trunc()) {
                    return Err(at(Refused::because("it is there twice")));
                }
                rows.push((network.trunc(), value.into()));
            }
        }
    }
    let default = default.filter(|text| !text.is_empty()).map(|text| SnippetPart::Text(text.into()));
    Ok((LookupRows::Addresses(of, rows), SnippetText::new(default.into_iter().collect())?))
}

fn at(row: &Directive, Refused(why): &Refused) -> Refused {
    Refused(format!("{} in line {}: {why}", excerpt(&row.name), row.line).into())
}

/// The value of a row, which may have variables.
fn value(variables: &Variables, row: &Directive, captures: Captures) -> Result<SnippetText, Refused> {
    let ([value], None) = (row.arguments.as_slice(), &row.block) else { return Err(COUNT) };
    let text = variables.text(value, TextPlace::Value, captures)?;
    match text.parts().iter().any(|part| matches!(part, SnippetPart::Route(_))) {
        true => Err(Refused::because("a variable of a route cannot be used in a table for all hosts")),
        false => Ok(text),
    }
}

/// The value of a row without variables, which nginx does not expand there.
fn plain(row: &Directive) -> Result<&str, Refused> {
    match (row.arguments.as_slice(), &row.block) {
        ([value], None) if value.contains('$') => Err(Refused::because("nginx reads no variables here; use map")),
        ([value], None) => SnippetText::new(vec![SnippetPart::Text(value.as_str().into())]).map(|_| value.as_str()),
        _ => Err(COUNT),
    }
}
