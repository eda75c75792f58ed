//! Hosts that are served alike, in one `server` block.
//!
//! Each `server` and each `location` costs nginx memory and time in every reload, whatever stands in it. Hosts whose
//! servers would differ in nothing but their names and their upstreams share one, with a table from host to upstream.

use crate::model::{Behaviour, Directive, HostName, Origin, PathMatch, Refused, Route, Server, ServerName};
use crate::render::engine::Engine;
use crate::render::file_set::{Digest, File};
use crate::render::names;
use crate::render::token::{Literal, Word};
use crate::render::view;

use super::backend::{self, Backends, Slot, slots};
use super::server::{Facts, fill, requires, write};
use super::writer::Writer;
use super::{external_authentication, mirror};

/// Longest host that nginx's table for `map` takes by default: 64 bytes hold two pointers, the length and the name.
const LONGEST_HOST: usize = 46;

/// How a host could share a `server` block with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// What the block would say, names and upstreams left out; equal for hosts that are served alike.
    pub digest: Box<str>,
    /// A number that spreads hosts evenly and never changes.
    pub spread: u32,
}

/// What a server is like; `None` when it needs a block of its own.
pub fn likeness(server: &Server, facts: &Facts<'_>, engine: &Engine) -> Option<Likeness> {
    let host = shareable(server).filter(|_| facts.decisions.shared_servers)?;
    let slots = slots(server);
    let mut writer = Writer::default();
    write(server, [], &Backends::Variables { prefix: "", slots: &slots }, facts, engine, &mut writer).ok()?;
    let [one, two, three, four, ..] = Digest::of(host.as_str().as_bytes()).0;
    Some(Likeness {
        digest: names::likeness(writer.digest()).into(),
        spread: u32::from_be_bytes([one, two, three, four]),
    })
}

/// The host of a server that holds nothing which only nginx itself can judge: a complaint about what hosts share would
/// not say whose fault it is.
fn shareable(server: &Server) -> Option<&HostName> {
    let ServerName::Exact(host) = &server.name else { return None };
    if server.client_certificates.is_some() || !server.directives.is_empty() {
        return None;
    }
    let judged = |route: &Route| {
        let contradicts = |directive: &Directive| !directive.row.contradicts.is_empty();
        let Behaviour { rewrite, directives, .. } = &*route.behaviour;
        matches!(route.path, PathMatch::Regex(_))
            || route.action.upstream().is_some_and(|upstream| upstream.tls.is_some())
            || rewrite.is_some()
            || !route.behaviour.snippets.is_empty()
            || route.action.split().is_some()
            || route.behaviour.session.is_some()
            || directives.iter().any(contradicts)
    };
    // Names without a dot may be words of `map`, such as `default`.
    let fits = host.as_str().len() <= LONGEST_HOST && host.as_str().contains('.');
    let mut routes = server.routes.iter().chain([&server.fallback]);
    let objects = slots(server);
    // Every object owns a line: of a name or of a table.
    let owns = |route: &Route| {
        let object = &route.origin.object;
        *object == server.origin.object || objects.iter().any(|slot| slot.origin.object == *object)
    };
    (fits && routes.all(|route| !judged(route) && owns(route))).then_some(host)
}

/// The file of servers that are alike, at least one, in the order of their names.
pub fn block(servers: &[&Server], variables: &str, facts: &Facts<'_>, engine: &Engine) -> Result<File, Refused> {
    let first = servers.first().ok_or(Refused::because("nobody is in it"))?;
    let members: Vec<_> = servers.iter().map(|server| (*server, slots(server))).collect();
    let first_slots = slots(first);
    let mut writer = Writer::default();
    for slot in 0..first_slots.len() {
        table(&members, slot, variables, engine, &mut writer)?;
    }
    let names = servers.iter().map(|server| (&server.name, &server.origin));
    let backends = Backends::Variables { prefix: variables, slots: &first_slots };
    write(first, names, &backends, facts, engine, &mut writer)?;
    if !writer.is_complete() {
        return Err(Refused::because("not every route can be written"));
    }
    // Upstreams are found by name at each request: nginx reads the block without them.
    let upstreams: Vec<_> = first_slots.iter().map(|slot| names::upstream_file(slot.upstream, facts.crowds)).collect();
    let asked = external_authentication::of_server(first).into_values().map(|external| &external.service);
    let copied = mirror::of_server(first).into_values().map(|(mirror, _)| &mirror.service);
    let services: Vec<_> = asked.chain(copied).map(|service| names::upstream_file(service, facts.crowds)).collect();
    let requires = requires(first, facts).into_iter();
    let requires = requires.filter(|path| !upstreams.contains(path) || services.contains(path));
    Ok(writer.file(requires))
}

/// The table from hosts to what they have in one slot.
fn table(
    members: &[(&Server, Vec<Slot<'_>>)],
    slot: usize,
    variables: &str,
    engine: &Engine,
    writer: &mut Writer,
) -> Result<(), Refused> {
    let head = fill(engine, "backends", &view::Backends { variable: backend::variable(variables, slot)? })?;
    let line = |server: &Server, slot: &Slot<'_>| {
        let ServerName::Exact(host) = &server.name else { return Err(Refused::because("it is not one host")) };
        let upstream = Word::own(&names::upstream(slot.upstream))?;
        fill(engine, "backend", &view::Backend { host: Literal::new(host.as_str())?, upstream })
    };
    let lines: Vec<(_, &Origin)> = members
        .iter()
        .filter_map(|(server, slots)| slots.get(slot).map(|slot| Ok((line(server, slot)?, slot.origin))))
        .collect::<Result<_, Refused>>()?;
    let Some((_, first)) = lines.first() else { return Ok(()) };
    writer.add(head, first);
    for (line, origin) in lines {
        writer.add(line, origin);
    }
    writer.add_line("}\n");
    Ok(())
}
