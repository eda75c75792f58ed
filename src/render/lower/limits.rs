//! Rate and connection limits per client: the zones of an object, and the directives of a
//! location.

use std::collections::BTreeSet;

use crate::model::{ByteSize, ClientLimits, LimitRate, Refused};
use crate::nginx::Plan;
use crate::render::names;
use crate::render::token::{Word, Words};
use crate::render::view::{Block, Tables};

use super::location::Scene;
use super::shared::behaviours;
use super::slots::{Slot, Slots};
use super::tables::Files;

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
        let zone = Word::own(&names::connection_zone(&name, scene.facts.decisions.recounts))?;
        slots.say(Slot::Limits, "limit_conn", Words::join([zone, Word::number(u64::from(connections))]));
        slots.say(Slot::Limits, "limit_conn_status", Word::number(u64::from(everywhere.connections_status)));
    }
    Ok(())
}

/// One file for each object with limits.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    for (behaviour, _) in behaviours(plan) {
        let Some(limits) = behaviour.limits.as_deref() else { continue };
        let name = names::limits(limits);
        let size = plan.model.zone_size(&limits.origin.object.namespace);
        let recounts = plan.decisions.recounts;
        files.add(names::limits_file(&name, recounts), Some(&limits.origin), [], |tables| {
            zones(limits, &name, recounts, size, tables)
        });
    }
}

fn zones(limits: &ClientLimits, name: &str, recounts: u32, size: ByteSize, tables: &mut Tables) -> Result<(), Refused> {
    let (client, exempt) = (Word::variable(name)?, Word::variable(&format!("{name}_exempt"))?);
    let networks = limits.exempt.iter().map(Word::network);
    tables.block(Block::new(Words::line("geo", exempt.clone())).row("default", "0").rows(networks, "1"));
    tables.block(Block::map(exempt, client.clone()).row("default", "$binary_remote_addr").row("1", r#""""#));
    let zone = |name: &str| {
        let zone = [Word::setting("zone", &Word::own(name)?), Word::fixed(":"), Word::size(size)];
        Ok(Words::join([client.clone(), Word::concat(zone)]))
    };
    let rates: BTreeSet<LimitRate> = limits.rates.iter().map(|(rate, _)| *rate).collect();
    for rate in rates {
        let (number, unit) = match rate {
            LimitRate::PerSecond(number) => (number, "r/s"),
            LimitRate::PerMinute(number) => (number, "r/m"),
        };
        let number = Word::setting("rate", &Word::number(u64::from(number.max(1))));
        let zone = Words::line("limit_req_zone", zone(&names::rate_zone(name, rate))?);
        tables.line(Words::join([zone, Word::concat([number, Word::fixed(unit)]).into()]));
    }
    if limits.connections.is_some() {
        tables.line(Words::line("limit_conn_zone", zone(&names::connection_zone(name, recounts))?));
    }
    Ok(())
}
