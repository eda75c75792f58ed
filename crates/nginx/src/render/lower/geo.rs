//! Renders the variables of GeoIP2 databases that the configuration uses. It must not know which
//! feature uses them.

use crate::render::names;
use crate::render::token::{Path, Word, Words};
use crate::render::view::{Block, Tables};
use crate::{Geo, Plan};
use ingressd_model::Refused;

use super::tables::Files;

/// The file that servers require where one of the variables is used.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let geo = &plan.decisions.geo;
    if geo.is_asked() {
        files.add(names::geo_file(), None, [], |tables| say(geo, tables));
    }
}

fn say(geo: &Geo, tables: &mut Tables) -> Result<(), Refused> {
    for (path, values) in &geo.files {
        let mut database = Block::new(Words::line("geoip2", Path::new(path)?));
        if let Some(time) = geo.reload {
            database = database.line(Words::line("auto_reload", Word::time(time)));
        }
        for (variable, way) in values {
            let way = Words::join([Word::fixed("source=$remote_addr"), Word::fixed(way)]);
            database = database.row(Word::variable(variable.as_str())?, way);
        }
        tables.block(database);
    }
    for variable in &geo.unknown {
        let empty = Block::new(Words::line("geo", Word::variable(variable.as_str())?));
        tables.block(empty.row("default", r#""""#));
    }
    Ok(())
}
