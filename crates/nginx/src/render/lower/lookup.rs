//! `map` tables at `http` level that snippets use. It must not know who uses them.

use crate::Plan;
use crate::render::names;
use crate::render::token::{Literal, SnippetSurroundings, Text, Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::{LookupKey, LookupRows, LookupTable, Refused, SnippetText};

use super::server::fill;
use super::shared::has_request_ids;
use super::tables::{Files, matching};
use super::writer::Writer;

/// Texts that are keywords as keys of nginx's `map`.
const SPECIAL: [&str; 4] = ["default", "hostnames", "include", "volatile"];

/// The file that servers require whose snippets use a table.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let tables = &plan.model.lookup_tables;
    if tables.is_empty() {
        return;
    }
    let surroundings = SnippetSurroundings {
        known: &|_| None,
        trusts: !plan.trusted().is_empty(),
        has_request_ids: has_request_ids(plan),
    };
    let mut writer = Writer::default();
    for table in tables.iter() {
        let mut own = Tables::default();
        match say(table, &surroundings, &mut own).and_then(|()| fill(files.engine, "tables", &own)) {
            Ok(text) => writer.add(text, &table.origin),
            // nginx refuses the snippets that use the missing table, which is reported.
            Err(_) => writer.leave_out(&table.origin),
        }
    }
    let geo = plan.decisions.geo.is_asked().then(names::geo_file);
    files.put(names::lookup_file(), writer.file([names::shared_file()].into_iter().chain(geo)));
}

fn say(table: &LookupTable, surroundings: &SnippetSurroundings<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let text = |text: &SnippetText| Text::of_snippet(text, surroundings);
    let variable = Word::own_variable(&table.variable);
    let default = text(&table.default)?;
    let block = match &table.rows {
        LookupRows::Texts(source, rows) => {
            rows.iter().try_fold(Block::map(text(source)?, variable).row("default", default), |map, (key, value)| {
                Ok::<_, Refused>(map.row(key_of(key)?, text(value)?))
            })?
        }
        LookupRows::Addresses(source, rows) => {
            let source =
                Word::of_snippet(source, surroundings).ok_or(Refused::because("a table looks no variable up"))?;
            rows.iter().try_fold(Block::geo(source, variable).row("default", default), |geo, (network, value)| {
                Ok::<_, Refused>(geo.row(Word::network(network), Literal::new(value)?))
            })?
        }
    };
    tables.block(block);
    Ok(())
}

fn key_of(key: &LookupKey) -> Result<Words, Refused> {
    let written = match key {
        LookupKey::Is(text) => match SPECIAL.contains(&&**text) || text.starts_with(['~', '\\']) {
            true => Literal::new(&format!("\\{text}")),
            false => Literal::new(text),
        },
        LookupKey::Matches { pattern, any_case } => matching(pattern, !any_case),
    };
    written.map(Words::from)
}
