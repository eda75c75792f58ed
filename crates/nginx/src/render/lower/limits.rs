//! Rate and connection limits per client: the zones of an object, and the directives of a
//! location. Beside them the limit for all requests of a namespace.

use std::collections::BTreeSet;

use crate::render::names;
use crate::render::token::{Text, Word, Words};
use crate::render::view::{Block, Comparison, Tables};
use crate::{Decisions, Plan};
use ingressd_model::{ByteSize, ClientLimits, Handler, LimitRate, Refused, Server};

use super::location::Scene;
use super::server::Facts;
use super::shared::behaviours;
use super::slots::{Slot, Slots};
use super::tables::Files;

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let decisions = scene.facts.decisions;
    let global = &decisions.global;
    let counts = is_counted(scene.handler, decisions);
    if counts {
        count(&scene.handler.origin.object.namespace, scene.facts, slots)?;
    }
    let Some(limits) = scene.handler.behaviour.limits.as_deref() else { return Ok(()) };
    let name = names::limits(limits);
    for (rate, burst) in &limits.rates {
        let zone = Word::setting("zone", &Word::own(&names::rate_zone(&name, *rate))?);
        let burst = Word::setting("burst", &Word::number(u64::from(*burst)));
        slots.say(Slot::Limits, "limit_req", Words::join([zone, burst, Word::fixed("nodelay")]));
    }
    if !limits.rates.is_empty() {
        slots.say(Slot::Limits, "limit_req_status", Word::number(u64::from(global.rate_status)));
    }
    if let Some(connections) = limits.connections {
        let zone = Word::own(&names::connection_zone(&name, scene.facts.recounts))?;
        slots.say(Slot::Limits, "limit_conn", Words::join([zone, Word::number(u64::from(connections))]));
        if !counts {
            slots.say(Slot::Limits, "limit_conn_status", status(decisions));
        }
    }
    Ok(())
}

/// Writes that requests count for a namespace.
fn count(namespace: &str, facts: &Facts<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Facts { decisions, recounts, .. } = *facts;
    let name = Words::from(Word::variable(names::COUNTED)?);
    slots.say(Slot::Variables, "set", Words::join([name, Text::new(namespace)?.into()]));
    let zone = Word::own(&names::requests_zone(recounts))?;
    let most = Word::number(u64::from(decisions.requests_of_namespace));
    slots.say(Slot::Limits, "limit_conn", Words::join([zone, most]));
    slots.say(Slot::Limits, "limit_conn_status", status(decisions));
    Ok(())
}

/// The status of a refused request.
fn status(decisions: &Decisions) -> Word {
    Word::number(u64::from(decisions.global.connections_status))
}

/// Writes into the location of an error page, whose backend is one of this namespace, that its
/// requests count, also those that nginx answered before it counted them. A request that was
/// refused gets no page: it is not counted any more, and would take a connection.
pub fn of_error_page(namespace: &str, facts: &Facts<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let decisions = facts.decisions;
    if decisions.requests_of_namespace == 0 {
        return Ok(());
    }
    count(namespace, facts, slots)?;
    let (variable, value) = (Word::fixed("$limit_conn_status"), Word::fixed("REJECTED").into());
    let arguments = status(decisions).into();
    let (operator, name) = (Word::fixed("="), Word::fixed("return"));
    slots.say_compared(Slot::Variables, Comparison { variable, operator, value, name, arguments });
    Ok(())
}

/// Whether the requests of a route count for its namespace.
pub fn is_counted(handler: &Handler, decisions: &Decisions) -> bool {
    let is_of_tenant = handler.origin.object.kind.asks_for_routes() && handler.action.upstream().is_some();
    decisions.requests_of_namespace > 0 && is_of_tenant
}

/// Whether what is written of a server depends on how often connections were counted anew.
pub fn counts(server: &Server, decisions: &Decisions) -> bool {
    decisions.requests_of_namespace > 0 || server.handlers().any(|handler| handler.behaviour.limits.is_some())
}

/// One file for each object with limits, and one for all namespaces.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    if plan.decisions.requests_of_namespace > 0 {
        let recounts = plan.recounts;
        files.add(names::requests_file(recounts), None, [], |tables| {
            let zone = Word::own(&names::requests_zone(recounts))?;
            let zone = Word::concat([Word::setting("zone", &zone), Word::fixed(":4m")]);
            let counted = Word::variable(names::COUNTED)?;
            // Locations set it, if there are any.
            tables.block(Block::map("1", counted.clone()).row("default", r#""""#));
            tables.line(Words::line("limit_conn_zone", Words::join([counted, zone])));
            Ok(())
        });
    }
    for (behaviour, _) in behaviours(plan) {
        let Some(limits) = behaviour.limits.as_deref() else { continue };
        let name = names::limits(limits);
        let size = plan.model.zone_size(&limits.origin.object.namespace);
        let recounts = plan.recounts;
        files.add(names::limits_file(&name, recounts), Some(&limits.origin), [], |tables| {
            zones(limits, &name, recounts, size, tables)
        });
    }
}

fn zones(limits: &ClientLimits, name: &str, recounts: u32, size: ByteSize, tables: &mut Tables) -> Result<(), Refused> {
    let (client, exempt) = (Word::variable(name)?, Word::variable(&names::exempt(name))?);
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
