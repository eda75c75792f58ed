//! Cross-origin requests (CORS): the variables with allowed origins and with what these get, and
//! the directives of a location.

use crate::Plan;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::{Cors, CorsPart, OriginPattern, Refused, expression};

use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Header, Slot, Slots};
use super::tables::Files;

const ALLOWED: &str = "Access-Control-Allow-Origin";

/// Writes the directives. Only nginx sends the response headers of CORS: those of a backend are
/// removed. The location says whether the origin is allowed, so that what it gets needs a variable
/// for each text only, whatever origins it is for.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(cors) = scene.handler.behaviour.cors.as_deref() else { return Ok(()) };
    let allowed = Word::variable(names::ORIGIN)?;
    let origin = match cors.allows_any() {
        true => Word::fixed("*"),
        false => Word::variable(&names::cors(&CorsPart::Origins(cors.origins.clone())))?,
    };
    slots.say(Slot::Origin, "set", Words::join([allowed.clone(), origin]));
    slots.say_if(Slot::Preflight, Word::variable(names::PREFLIGHT)?, "return", Word::fixed("204"));
    slots.answer_header(Header::fixed(ALLOWED, allowed));
    slots.hide_header(Word::fixed(ALLOWED));
    for (header, text) in cors.answer_headers() {
        let value = match cors.allows_any() {
            true => Words::from(Text::new(&text)?),
            false => Word::variable(&names::cors(&CorsPart::Text(text.clone())))?.into(),
        };
        if !text.is_empty() {
            slots.answer_header(Header::fixed(header, value));
        }
        slots.hide_header(Word::fixed(header));
    }
    if !cors.allows_any() {
        slots.answer_header(Header::fixed("Vary", Word::fixed("Origin")));
    }
    Ok(())
}

/// The files that a location with CORS requires.
pub fn requires(cors: &Cors) -> impl Iterator<Item = FilePath> {
    [names::cross_origin_file()].into_iter().chain(cors.parts().map(|part| names::cors_file(&names::cors(&part))))
}

/// One file for each variable.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    for (behaviour, origin) in behaviours(plan) {
        let Some(cors) = behaviour.cors.as_deref() else { continue };
        files.add(names::cross_origin_file(), None, [], shared);
        for part in cors.parts() {
            let name = names::cors(&part);
            files.add(names::cors_file(&name), Some(origin), [names::cross_origin_file()], |tables| {
                // If this cannot be written, no origin is allowed, or it gets no such header.
                say(&part, &name, tables).or_else(|_| say(&CorsPart::Origins(Vec::new()), &name, tables))
            });
        }
    }
}

const NOTHING: &str = r#""""#;

/// Writes the variables that all locations share. Locations set the first one, if there are any.
fn shared(tables: &mut Tables) -> Result<(), Refused> {
    let origin = Word::variable(names::ORIGIN)?;
    tables.block(Block::map("1", origin.clone()).row("default", NOTHING));
    let source = Word::concat([Word::fixed("$request_method:"), origin]);
    let preflight = Block::map(source, Word::variable(names::PREFLIGHT)?);
    tables.block(preflight.row("default", NOTHING).row(r#""~^OPTIONS:.""#, "1"));
    Ok(())
}

fn say(part: &CorsPart, name: &str, tables: &mut Tables) -> Result<(), Refused> {
    let own = Word::variable(name)?;
    tables.block(match part {
        CorsPart::Origins(origins) => {
            let origins = origins.iter().filter_map(origin).map(|text| Literal::new(&text));
            let map = Block::map("$http_origin", own).row("default", NOTHING);
            map.rows(origins.collect::<Result<Vec<_>, _>>()?, "$http_origin")
        }
        CorsPart::Text(text) => {
            let map = Block::map(Word::variable(names::ORIGIN)?, own);
            map.row("default", Text::new(text)?).row(NOTHING, NOTHING)
        }
    });
    Ok(())
}

/// A regular expression as a key of `map`: as plain keys, long origins would not fit into nginx's
/// table.
fn origin(origin: &OriginPattern) -> Option<String> {
    match origin {
        OriginPattern::Any => None,
        OriginPattern::Null => Some("~^null$".to_owned()),
        OriginPattern::Exact(url) => Some(format!("~^{}$", expression::literal(url.as_str()))),
        OriginPattern::Wildcard(url) => {
            let (scheme, host) = url.as_str().split_once("://")?;
            Some(format!("~^{}://[^./:]+\\.{}$", expression::literal(scheme), expression::literal(host)))
        }
    }
}
