//! Rate and connection limits per client: the zones of an object, and the directives of a
//! location.

use std::collections::BTreeMap;

use crate::model::{ByteSize, ClientLimits, LimitRate, Refused};
use crate::nginx::Plan;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Number, Word, Words};
use crate::render::view;

use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Slot, Slots};

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(limits) = scene.route.behaviour.limits.as_deref() else { return Ok(()) };
    let everywhere = &scene.facts.decisions.everywhere;
    let name = names::limits(limits);
    for (rate, burst) in &limits.rates {
        let zone = Word::setting("zone", &Word::own(&names::rate_zone(&name, *rate))?);
        let burst = Word::setting("burst", &Word::number(u64::from(*burst)));
        slots.say(Slot::Limits, "limit_req", Words::join([zone, burst, Word::fixed("nodelay")]));
    }
    if !limits.rates.is_empty() {
        slots.say(Slot::Limits, "limit_req_status", Word::number(u64::from(everywhere.rate_status)));
    }
    if let Some(connections) = limits.connections {
        let zone = Word::own(&names::connection_zone(&name))?;
        slots.say(Slot::Limits, "limit_conn", Words::join([zone, Word::number(u64::from(connections))]));
        slots.say(Slot::Limits, "limit_conn_status", Word::number(u64::from(everywhere.connections_status)));
    }
    Ok(())
}

/// One file for each object with limits.
pub fn limits(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    for (behaviour, _) in behaviours(plan) {
        let Some(limits) = behaviour.limits.as_deref() else { continue };
        let name = names::limits(limits);
        files.entry(names::limits_file(&name)).or_insert_with(|| {
            let size = plan.model.zone_size(&limits.origin.object.namespace);
            let view = limits_view(limits, &name, size);
            let text = view.ok().and_then(|view| engine.fill("limits", &view).ok()).map(Part::Filled);
            File::plain(text, Owners(vec![(1, limits.origin.clone())]), [])
        });
    }
    files
}

fn limits_view(limits: &ClientLimits, name: &str, size: ByteSize) -> Result<view::Limits, Refused> {
    let mut rates: Vec<LimitRate> = limits.rates.iter().map(|(rate, _)| *rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let zone = |rate: &LimitRate| {
        let (number, unit) = match rate {
            LimitRate::PerSecond(number) => (*number, "r/s"),
            LimitRate::PerMinute(number) => (*number, "r/m"),
        };
        Ok(view::RateZone {
            client: Word::variable(name)?,
            zone: Word::own(&names::rate_zone(name, *rate))?,
            size: Word::size(size),
            number: Number(u64::from(number.max(1))),
            unit: Word::fixed(unit),
        })
    };
    Ok(view::Limits {
        exempt: Word::variable(&format!("{name}_exempt"))?,
        networks: limits.exempt.iter().map(Word::network).collect(),
        client: Word::variable(name)?,
        rates: rates.iter().map(zone).collect::<Result<_, _>>()?,
        connections: limits
            .connections
            .map(|_| {
                let zone = Word::own(&names::connection_zone(name))?;
                Ok(view::ConnectionZone { client: Word::variable(name)?, zone, size: Word::size(size) })
            })
            .transpose()?
            .into_iter()
            .collect(),
    })
}
