//! Tables for all hosts, by which snippets look something up; it must not know who reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::expression::{LIMITS, anywhere};
use crate::model::{Cidr, LookupKey, LookupRows, LookupTable, Refused, SnippetText};
use crate::nginx::Plan;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath};
use crate::render::names;
use crate::render::token::{Literal, SnippetSurroundings, Text, Word, Words};
use crate::render::view;

use super::server::fill;
use super::shared::has_request_ids;
use super::writer::Writer;

/// What a row of nginx's `map` may not be where it stands for itself.
const SPECIAL: [&str; 4] = ["default", "hostnames", "include", "volatile"];

/// The file that servers require whose snippets read a table.
pub fn lookups(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let tables = &plan.model.lookup_tables;
    if tables.is_empty() {
        return BTreeMap::new();
    }
    let surroundings = SnippetSurroundings {
        known: &|_| None,
        trusts: !plan.trusted().is_empty(),
        has_request_ids: has_request_ids(plan),
    };
    let mut writer = Writer::default();
    for table in tables.iter() {
        match view(table, &surroundings).and_then(|view| fill(engine, template(table), &view)) {
            Ok(text) => writer.add(text, &table.origin),
            // Whoever reads it is refused by nginx, and told.
            Err(_) => writer.leave_out(&table.origin),
        }
    }
    BTreeMap::from([(names::lookup_file(), writer.file([names::shared_file()]))])
}

const fn template(table: &LookupTable) -> &'static str {
    match table.rows {
        LookupRows::Texts(..) => "lookup_map",
        LookupRows::Addresses(..) => "lookup_geo",
    }
}

fn view(table: &LookupTable, surroundings: &SnippetSurroundings<'_>) -> Result<view::Lookup, Refused> {
    let text = |text: &SnippetText| Text::of_snippet(text, surroundings);
    let (source, rows) = match &table.rows {
        LookupRows::Texts(source, rows) => {
            let row = |(key, value): &(LookupKey, SnippetText)| {
                Ok(view::LookupRow { key: key_of(key)?, value: text(value)?.into() })
            };
            (text(source)?.into(), rows.iter().map(row).collect::<Result<_, Refused>>()?)
        }
        LookupRows::Addresses(source, rows) => {
            let source =
                Word::of_snippet(source, surroundings).ok_or(Refused::because("a table looks no variable up"))?;
            let row = |(network, value): &(Cidr, Arc<str>)| {
                Ok(view::LookupRow { key: Word::network(network).into(), value: Literal::new(value)?.into() })
            };
            (Words::from(source), rows.iter().map(row).collect::<Result<_, Refused>>()?)
        }
    };
    Ok(view::Lookup { source, variable: Word::own_variable(&table.variable), default: text(&table.default)?, rows })
}

fn key_of(key: &LookupKey) -> Result<Words, Refused> {
    let written = match key {
        LookupKey::Is(text) => match SPECIAL.contains(&&**text) || text.starts_with(['~', '\\']) {
            true => format!("\\{text}"),
            false => text.to_string(),
        },
        LookupKey::Matches { pattern, any_case } => {
            format!("~{}{LIMITS}{}", if *any_case { "*" } else { "" }, anywhere(pattern.as_str()))
        }
    };
    Literal::new(&written).map(Words::from)
}
