//! What databases of GeoIP2 tell of the addresses of clients, for whatever asks for it; it must not know who does.

use std::collections::BTreeMap;

use crate::model::Refused;
use crate::nginx::{Geo, Plan};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Path, Word, Words};
use crate::render::view;

/// The file that servers require where somebody asks.
pub fn geo(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let geo = &plan.decisions.geo;
    if !geo.is_asked() {
        return BTreeMap::new();
    }
    let text = view(geo).ok().and_then(|view| engine.fill("geoip2", &view).ok()).map(Part::Filled);
    BTreeMap::from([(names::geo_file(), File::plain(text, Owners::default(), []))])
}

fn view(geo: &Geo) -> Result<view::GeoIp2, Refused> {
    let reload =
        geo.reload.map(|time| view::Directive { name: Word::fixed("auto_reload"), arguments: Word::time(time).into() });
    let databases = geo.files.iter().map(|(path, values)| {
        let line = |(variable, way): &(crate::model::GeoVariable, &'static str)| {
            let words = [Word::fixed("source=$remote_addr"), Word::fixed(way)];
            Ok(view::Directive { name: Word::variable(variable.as_str())?, arguments: Words::join(words) })
        };
        let lines = reload.iter().cloned().map(Ok).chain(values.iter().map(line));
        Ok(view::GeoDatabase { file: Path::new(path)?, lines: lines.collect::<Result<_, Refused>>()? })
    });
    Ok(view::GeoIp2 {
        databases: databases.collect::<Result<_, Refused>>()?,
        unknown: geo.unknown.iter().map(|variable| Word::variable(variable.as_str())).collect::<Result<_, _>>()?,
    })
}
