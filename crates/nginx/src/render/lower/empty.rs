//! Upstreams without endpoints: their routes answer 503 while no other file changes.
//!
//! A location includes a file by a pattern that matches nothing while there are endpoints. Hosts
//! that share a server share its locations: what these include asks a variable, whose table is
//! included in the same way. While all have endpoints, no request is asked for anything, and nginx
//! makes no table.

use std::collections::HashSet;
use std::sync::Arc;

use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Path, Word, Words};
use crate::render::view::{Block, Tables};
use crate::{Decisions, Plan};
use ingressd_model::{Action, Handler, Refused, Server, ServerName, UpstreamId};

use super::backend::{Slot as Backend, slots as backends};
use super::error_pages;
use super::location::Scene;
use super::shared::handlers;
use super::slots::{Slot, Slots};
use super::tables::{self, Files};

/// The upstreams of a plan without endpoints.
pub fn empty(plan: &Plan) -> HashSet<&UpstreamId> {
    plan.tables.without_endpoints(&plan.model).map(|upstream| &upstream.id).collect()
}

/// Writes the answer of a route whose upstream has no endpoints, or the service that says who may
/// pass. It has no text, which would keep error pages away.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if let Some(service) = scene.handler.decider().filter(|_| scene.handler.action != Action::Closed) {
        answer(service, scene.facts.decisions, slots)?;
    }
    let Some(upstream) = scene.handler.action.upstream() else { return Ok(()) };
    let file = match scene.surroundings.backends.slot(upstream, scene.handler) {
        Some((prefix, slot)) => names::empty_question_file(prefix, slot),
        None if scene.handler.has_stand_in() => names::stand_in_file(upstream),
        None => names::empty_file(upstream),
    };
    slots.say(Slot::Answer, "include", pattern(scene.facts.decisions, &file)?);
    Ok(())
}

/// Writes the answer in the place of an upstream that has no endpoints.
pub fn answer(upstream: &UpstreamId, decisions: &Decisions, slots: &mut Slots) -> Result<(), Refused> {
    slots.say(Slot::Answer, "include", pattern(decisions, &names::empty_file(upstream))?);
    Ok(())
}

/// The files that locations of upstreams without endpoints include.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    for upstream in plan.tables.without_endpoints(&plan.model) {
        files.add(names::empty_file(&upstream.id), Some(&upstream.origin), [], |tables| {
            tables.line(Words::line("return", Word::number(503)));
            Ok(())
        });
    }
    let empty = empty(plan);
    if empty.is_empty() {
        return;
    }
    for handler in handlers(plan).filter(|handler| handler.has_stand_in()) {
        if let Some(id) = handler.action.upstream().filter(|id| empty.contains(id)) {
            files.add(names::stand_in_file(id), Some(&handler.origin), [], |tables| {
                error_pages::take_over(tables);
                Ok(())
            });
        }
    }
}

/// The line beside a shared server by which it has the table of its hosts that have an upstream
/// without endpoints in a slot.
pub fn table(variables: &str, slot: usize, decisions: &Decisions) -> Result<Tables, Refused> {
    let mut tables = Tables::default();
    let table = pattern(decisions, &names::empty_hosts_file(variables, slot))?;
    tables.line(Words::line("include", table));
    Ok(tables)
}

/// The files with these tables and with what asks for them, for the hosts of one shared server.
pub fn hosts(
    servers: &[&Server],
    variables: &str,
    empty: &HashSet<&UpstreamId>,
    engine: &Engine,
) -> Vec<(FilePath, Arc<File>)> {
    let is_empty = |handler: &Handler| handler.action.upstream().is_some_and(|upstream| empty.contains(upstream));
    let concerned = servers.iter().filter(|server| server.handlers().any(is_empty));
    let concerned: Vec<_> = concerned.map(|server| (&server.name, backends(server))).collect();
    let slots = concerned.iter().map(|(_, backends)| backends.len()).max().unwrap_or_default();
    let of_slot = |slot: usize| {
        let here = concerned.iter().filter_map(|(name, backends)| Some((*name, backends.get(slot)?)));
        let rows: Vec<(&ServerName, &Backend<'_>)> = here.filter(|(_, one)| empty.contains(one.upstream)).collect();
        let first = (1, rows.first()?.1.origin.clone());
        // The first line opens the table.
        let of_rows = rows.iter().zip(2..).map(|((_, one), line)| (line, one.origin.clone()));
        let owners: Vec<_> = [first.clone()].into_iter().chain(of_rows).collect();
        let table = tables::text(engine, |tables| written(&rows, variables, slot, tables));
        let asked = tables::text(engine, |tables| question(variables, slot, tables));
        let files = [
            (names::empty_hosts_file(variables, slot), File::plain(table, Owners(owners), [])),
            (names::empty_question_file(variables, slot), File::plain(asked, Owners(vec![first]), [])),
        ];
        Some(files.map(|(path, file)| (path, Arc::new(file))))
    };
    (0..slots).filter_map(of_slot).flatten().collect()
}

fn question(variables: &str, slot: usize, tables: &mut Tables) -> Result<(), Refused> {
    let is_empty = Word::variable(&names::empty_hosts(variables, slot))?;
    let opening = [Word::fixed("if"), Word::concat([Word::fixed("("), is_empty, Word::fixed(")")])];
    tables.block(Block::new(Words::join(opening)).line(Words::line("return", Word::number(503))));
    Ok(())
}

fn written(
    rows: &[(&ServerName, &Backend<'_>)],
    variables: &str,
    slot: usize,
    tables: &mut Tables,
) -> Result<(), Refused> {
    let host = |(name, _): &(&ServerName, &Backend<'_>)| {
        let ServerName::Exact(host) = name else { return Err(Refused::because("it is not one host")) };
        Literal::new(host.as_str())
    };
    let hosts = rows.iter().map(host).collect::<Result<Vec<_>, _>>()?;
    let map = Block::map("$host", Word::variable(&names::empty_hosts(variables, slot))?);
    tables.block(map.rows(hosts, "1"));
    Ok(())
}

/// The argument of an `include` for a file that need not be there. nginx complains about a missing
/// file unless its path is a pattern. This one makes nginx read the folder of the generation, and
/// not the folder of the file, which may have many.
fn pattern(decisions: &Decisions, path: &str) -> Result<Path, Refused> {
    let name = path.trim_start_matches(names::EMPTY);
    Path::new(&decisions.current.join("[e]mpty").join(name))
}
