//! Cross-origin requests (CORS): the variables of a set of origins, and the directives of a
//! location.

use std::collections::BTreeMap;

use crate::model::{Cors, HeaderName, OriginPattern, Refused, expression};
use crate::nginx::Plan;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Text, Word};
use crate::render::view;

use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Header, Slot, Slots};

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
pub fn cors(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    for (behaviour, origin) in behaviours(plan) {
        let Some(cors) = behaviour.cors.as_deref() else { continue };
        let name = names::cors(cors);
        files.entry(names::cors_file(&name)).or_insert_with(|| {
            // If this cannot be written, no origin is allowed.
            let view = cors_view(cors, &name).or_else(|_| cors_view(&Cors { origins: Vec::new(), ..bare() }, &name));
            let text = view.ok().and_then(|view| engine.fill("cors", &view).ok()).map(Part::Filled);
            File::plain(text, Owners(vec![(1, origin.clone())]), [])
        });
    }
    files
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

fn cors_view(cors: &Cors, name: &str) -> Result<view::Cors, Refused> {
    let variable = |suffix: &str| Word::variable(&format!("{name}{suffix}"));
    let header = |suffix: &str, value: &str| {
        Ok(view::CorsHeader { origin: variable("")?, variable: variable(suffix)?, value: Text::new(value)? })
    };
    let join = |names: &[HeaderName], by| names.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(by);
    let list = |names: &[HeaderName]| join(names, ", ");
    Ok(view::Cors {
        any: cors.origins.contains(&OriginPattern::Any),
        origin: variable("")?,
        origins: cors.origins.iter().filter_map(origin).map(|text| Literal::new(&text)).collect::<Result<_, _>>()?,
        headers: vec![
            header("_credentials", if cors.credentials { "true" } else { "" })?,
            header("_methods", &list(&cors.methods))?,
            header("_headers", &join(&cors.headers, if cors.has_default_headers { "," } else { ", " }))?,
            header("_expose", &list(&cors.expose))?,
            header("_max_age", &cors.max_age.to_string())?,
        ],
        preflight: variable("_preflight")?,
    })
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
