//! One `server` block for several hosts that are served alike.
//!
//! Each `server` and each `location` costs nginx memory and time in every reload, whatever its
//! content. Hosts whose servers differ only in their names and upstreams share a block, with a
//! `map` from host to upstream.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{Digest, File};
use crate::render::names;
use crate::render::token::{Literal, Word};
use crate::render::view;
use ingressd_model::{Behaviour, Directive, HostName, Origin, PathMatch, Refused, Route, Server, ServerName};

use super::backend::{self, Backends, Slot, slots};
use super::server::{Facts, fill, requires, write};
use super::writer::Writer;
use super::{empty, external_authentication, mirror};

/// The longest host that fits into nginx's `map` table by default: 64 bytes hold two pointers, the
/// length and the name.
const LONGEST_HOST: usize = 46;

/// The key by which hosts share a `server` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likeness {
    /// A digest of the block's content without names and upstreams; equal for hosts that are
    /// served alike.
    pub digest: Box<str>,
    /// A hash of the host that distributes hosts evenly among blocks and never changes.
    pub spread: u32,
}

/// The digests of texts, most of which many servers have. It saves time and changes no digest.
#[derive(Default)]
pub struct Digests(Mutex<HashMap<Vec<Part>, Box<str>>>);

impl Digests {
    fn of(&self, text: Vec<Part>) -> Box<str> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known.get(&text) {
            return digest.clone();
        }
        let digest: Box<str> = names::likeness(Digest::of_all(text.iter().flat_map(Part::pieces))).into();
        known.insert(text, digest.clone());
        digest
    }
}

/// The likeness of a server; `None` when it needs a block of its own.
pub fn likeness(server: &Server, facts: &Facts<'_>, engine: &Engine, digests: &Digests) -> Option<Likeness> {
    let slots = slots(server);
    let host = shareable(server, &slots).filter(|_| facts.decisions.shared_servers)?;
    let mut writer = Writer::without_owners();
    write(server, [], &Backends::Variables { prefix: "", slots: &slots }, facts, engine, &mut writer).ok()?;
    let [one, two, three, four, ..] = Digest::of(host.as_str().as_bytes()).0;
    Some(Likeness { digest: digests.of(writer.into_parts()), spread: u32::from_be_bytes([one, two, three, four]) })
}

/// The host of a server that may be shared. Servers with values that only nginx can judge may not:
/// an error in a shared block could not be traced to an object.
fn shareable<'a>(server: &'a Server, slots: &[Slot<'_>]) -> Option<&'a HostName> {
    let ServerName::Exact(host) = &server.name else { return None };
    if server.client_certificates.is_some() || !server.directives.is_empty() {
        return None;
    }
    let judged = |route: &Route| {
        let contradicts = |directive: &Directive| !directive.row.contradicts.is_empty();
        let Behaviour { rewrite, directives, .. } = &*route.behaviour;
        matches!(route.path, PathMatch::Regex(_))
            || !route.branches.is_empty()
            || route.action.upstream().is_some_and(|upstream| upstream.tls.is_some())
            || rewrite.is_some()
            || !route.behaviour.snippets.is_empty()
            || route.action.split().is_some()
            || route.behaviour.session.is_some()
            || directives.iter().any(contradicts)
    };
    // Names without a dot may be keywords of `map`, such as `default`.
    let fits = host.as_str().len() <= LONGEST_HOST && host.as_str().contains('.');
    let mut routes = server.all_routes();
    // Every object must own a line: that of a name or of a table.
    let owns = |route: &Route| {
        let object = &route.origin.object;
        *object == server.origin.object || slots.iter().any(|slot| slot.origin.object == *object)
    };
    (fits && routes.all(|route| !judged(route) && owns(route))).then_some(host)
}

/// The file of servers that are alike (at least one), sorted by their names.
pub fn block(servers: &[&Server], variables: &str, facts: &Facts<'_>, engine: &Engine) -> Result<File, Refused> {
    let first = servers.first().ok_or(Refused::because("the block has no server"))?;
    let members: Vec<_> = servers.iter().map(|server| (*server, slots(server))).collect();
    let first_slots = slots(first);
    let mut writer = Writer::default();
    for slot in 0..first_slots.len() {
        table(&members, slot, variables, facts, engine, &mut writer)?;
    }
    let names = servers.iter().map(|server| (&server.name, &server.origin));
    let backends = Backends::Variables { prefix: variables, slots: &first_slots };
    write(first, names, &backends, facts, engine, &mut writer)?;
    if !writer.is_complete() {
        return Err(Refused::because("not every route can be written"));
    }
    // Upstreams are found by name at each request, so the block itself does not require their
    // files.
    let upstreams: Vec<_> =
        first_slots.iter().map(|slot| names::upstream_file(slot.upstream, facts.search_order)).collect();
    let asked = external_authentication::of_handlers(first.handlers()).into_values().map(|external| &external.service);
    let copied = mirror::of_handlers(first.handlers()).into_values().map(|(mirror, _)| &mirror.service);
    let services: Vec<_> =
        asked.chain(copied).map(|service| names::upstream_file(service, facts.search_order)).collect();
    let requires = requires(first, facts).into_iter();
    let requires = requires.filter(|path| !upstreams.contains(path) || services.contains(path));
    Ok(writer.file(requires))
}

/// The `map` from hosts to their upstreams for one slot.
fn table(
    members: &[(&Server, Vec<Slot<'_>>)],
    slot: usize,
    variables: &str,
    facts: &Facts<'_>,
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
    let Some(&(_, first)) = lines.first() else { return Ok(()) };
    writer.add(head, first);
    for (line, origin) in lines {
        writer.add(line, origin);
    }
    writer.add_line("}\n");
    writer.add(fill(engine, "tables", &empty::table(variables, slot, facts.decisions)?)?, first);
    Ok(())
}
