//! Cross-origin requests (CORS): the variables of a set of origins, and the directives of a
//! location.

use crate::Plan;
use crate::render::names;
use crate::render::token::{Literal, Text, Word};
use crate::render::view::{Block, Tables};
use ingressd_model::{Cors, HeaderName, OriginPattern, Refused, expression};

use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Header, Slot, Slots};
use super::tables::Files;

/// The response headers of CORS, with the suffixes of their variables. Only nginx sends them:
/// those of a backend are removed.
const HEADERS: [(&str, &str); 6] = [
    ("Access-Control-Allow-Origin", ""),
    ("Access-Control-Allow-Credentials", "_credentials"),
    ("Access-Control-Allow-Methods", "_methods"),
    ("Access-Control-Allow-Headers", "_headers"),
    ("Access-Control-Expose-Headers", "_expose"),
    ("Access-Control-Max-Age", "_max_age"),
];

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(cors) = scene.route.behaviour.cors.as_deref() else { return Ok(()) };
    let name = names::cors(cors);
    let variable = |suffix: &str| Word::variable(&format!("{name}{suffix}"));
    slots.say_if(Slot::Preflight, variable("_preflight")?, "return", Word::fixed("204"));
    for (header, suffix) in HEADERS {
        slots.answer_header(Header::fixed(header, variable(suffix)?));
        slots.hide_header(Word::fixed(header));
    }
    if !cors.origins.contains(&OriginPattern::Any) {
        slots.answer_header(Header::fixed("Vary", Word::fixed("Origin")));
    }
    Ok(())
}

/// One file for each set of allowed origins.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    for (behaviour, origin) in behaviours(plan) {
        let Some(cors) = behaviour.cors.as_deref() else { continue };
        let name = names::cors(cors);
        files.add(names::cors_file(&name), Some(origin), [], |tables| {
            // If this cannot be written, no origin is allowed.
            say(cors, &name, tables).or_else(|_| say(&Cors { origins: Vec::new(), ..bare() }, &name, tables))
        });
    }
}

fn bare() -> Cors {
    Cors {
        origins: Vec::new(),
        methods: Vec::new(),
        headers: Vec::new(),
        has_default_headers: false,
        expose: Vec::new(),
        credentials: false,
        max_age: 0,
    }
}

fn say(cors: &Cors, name: &str, tables: &mut Tables) -> Result<(), Refused> {
    let variable = |suffix: &str| Word::variable(&format!("{name}{suffix}"));
    let join = |names: &[HeaderName], by| names.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(by);
    let list = |names: &[HeaderName]| join(names, ", ");
    let own = variable("")?;
    let allowed = Block::map("$http_origin", own.clone());
    let mut blocks = vec![match cors.origins.contains(&OriginPattern::Any) {
        true => allowed.row("default", "*"),
        false => {
            let origins = cors.origins.iter().filter_map(origin).map(|text| Literal::new(&text));
            allowed.row("default", r#""""#).rows(origins.collect::<Result<Vec<_>, _>>()?, "$http_origin")
        }
    }];
    for (suffix, value) in [
        ("_credentials", if cors.credentials { "true".to_owned() } else { String::new() }),
        ("_methods", list(&cors.methods)),
        ("_headers", join(&cors.headers, if cors.has_default_headers { "," } else { ", " })),
        ("_expose", list(&cors.expose)),
        ("_max_age", cors.max_age.to_string()),
    ] {
        let map = Block::map(own.clone(), variable(suffix)?);
        blocks.push(map.row("default", Text::new(&value)?).row(r#""""#, r#""""#));
    }
    let preflight = Block::map(Word::concat([Word::fixed("$request_method:"), own]), variable("_preflight")?);
    blocks.push(preflight.row("default", r#""""#).row(r#""~^OPTIONS:.""#, "1"));
    blocks.into_iter().for_each(|block| tables.block(block));
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
