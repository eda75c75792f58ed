//! The file that selects the upstream of TLS connections by server name, for hosts with TLS
//! passthrough.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::render::names;
use crate::render::token::{Literal, Word, Words};
use crate::render::view::{Block, Tables};
use crate::{Inside, Plan, Preread};
use ingressd_model::{HostName, Passthrough, Refused, ServerName, expression};

use super::stream::{ceiling, of_clients, of_other_endpoints};
use super::tables::Files;
use super::upstream::NOBODY;

/// The longest host that fits into nginx's `map` table by default: 64 bytes hold two pointers, the
/// length and the name.
const LONGEST_HOST: usize = 46;
/// A bucket size that holds the longest possible host.
const BUCKET: u64 = 512;

/// The file, when some host has TLS passthrough.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let Some(preread) = &plan.decisions.preread else { return };
    let upstreams = plan.model.passthroughs.hosts.iter().filter_map(|host| host.upstream.as_ref());
    let requires: BTreeSet<_> = upstreams.map(names::stream_upstream_file).collect();
    // Names and addresses are valid words by construction.
    files.add(names::passthrough_file(preread.port), None, requires, |tables| say(plan, preread, tables));
}

fn say(plan: &Plan, preread: &Preread, tables: &mut Tables) -> Result<(), Refused> {
    let (mut wildcards, mut exact, mut namespaces) = (Vec::new(), Vec::new(), BTreeSet::new());
    for passed in &plan.model.passthroughs.hosts {
        let way = names::passed(&passed.origin.object.namespace);
        let row = |name| Ok((key(name, preread)?, Word::own(&way)?, upstream(passed)?));
        match &passed.name {
            ServerName::Exact(name) => exact.push(row(name)?),
            ServerName::Wildcard(name) => wildcards.push(row(name)?),
            ServerName::CatchAll | ServerName::Expression(_) => {}
        }
        namespaces.insert(way);
    }
    let opened = opened(plan).map(|name| key(name, preread)).collect::<Result<Vec<_>, _>>()?;
    let at = |address| Word::address(SocketAddr::new(address, preread.port));
    if preread.sizes_tables {
        let most = 2 * (exact.len() + opened.len()).max(wildcards.len());
        let max_size = u64::try_from(most.next_power_of_two()).unwrap_or(u64::MAX).max(2048);
        tables.line(Words::line("map_hash_max_size", Word::number(max_size)));
        tables.line(Words::line("map_hash_bucket_size", Word::number(BUCKET)));
    }
    let forwarded = &plan.model.forwarded;
    let inside = match forwarded.trusted.is_empty() {
        false => {
            let geo = Block::geo("$remote_addr", "$ingressd_inside").row("default", at(Inside::HTTPS));
            let proxies = forwarded.trusted.iter().map(Word::network);
            tables.block(proxies.fold(geo, |geo, network| geo.row(network, at(Inside::TRUSTED))));
            Words::from("$ingressd_inside")
        }
        true => at(Inside::HTTPS).into(),
    };
    let parent = Block::map("$ssl_preread_server_name", "$ingressd_parent").row("default", r#""""#);
    tables.block(parent.row(r#""~^[^.]+\.(?<ingressd_rest>.+?)\.?$""#, "$ingressd_rest"));

    let way_within = Block::map("$ingressd_parent", "$ingressd_way_within").row("default", inside.clone());
    tables.block(wildcards.iter().fold(way_within, |map, (name, way, _)| map.row(name.clone(), way.clone())));
    let way = Block::map("$ssl_preread_server_name", "$ingressd_way").line("hostnames");
    let way =
        opened.into_iter().fold(way.row("default", "$ingressd_way_within"), |map, name| map.row(name, inside.clone()));
    tables.block(exact.iter().fold(way, |map, (name, way, _)| map.row(name.clone(), way.clone())));

    let nobody = Word::own(names::NOBODY)?;
    let backend_within = Block::map("$ingressd_parent", "$ingressd_backend_within").row("default", nobody.clone());
    let row = |map: Block, (name, _, upstream): (Literal, Word, Word)| map.row(name, upstream);
    tables.block(wildcards.into_iter().fold(backend_within, row));
    let backend = Block::map("$ssl_preread_server_name", "$ingressd_backend").line("hostnames");
    tables.block(exact.into_iter().fold(backend.row("default", "$ingressd_backend_within"), row));
    tables.block(Block::new(Words::line("upstream", nobody)).line(Words::line("server", NOBODY)));
    // All hosts of a namespace go one way to their backends, on which their connections are
    // counted together.
    let most = ceiling(Passthrough::connections(plan.decisions.stream_connections));
    for way in &namespaces {
        let server = Words::join([at(Inside::PASSED).into(), "max_fails=0".into(), most.clone()]);
        tables.block(Block::new(Words::line("upstream", Word::own(way)?)).line(Words::line("server", server)));
    }
    servers(plan, preread, tables);
    Ok(())
}

/// Writes the server for clients, and the one to which connections with passthrough come a second
/// time.
fn servers(plan: &Plan, preread: &Preread, tables: &mut Tables) {
    let policy = &plan.model.passthroughs.policy;
    let has_header = preread.proxy_protocol;
    let listen = |address: &SocketAddr| {
        let parameters = has_header.then(|| Word::fixed("proxy_protocol"));
        // Keepalive detects clients that vanished, for which nginx would otherwise wait as long as
        // for silent ones.
        let parameters = parameters.into_iter().chain([Word::fixed("so_keepalive=on")]);
        Words::line("listen", Words::join([Word::address(*address)].into_iter().chain(parameters)))
    };
    let outer = preread.listens.iter().map(listen).chain(of_clients(plan.decisions.proxies.iter(), policy, has_header));
    let rest = ["ssl_preread on", "proxy_timeout 24h", "proxy_protocol on", "proxy_pass $ingressd_way"];
    tables.block(outer.chain(rest.map(Words::from)).fold(Block::new("server"), Block::line));
    let within = Word::address(SocketAddr::new(Inside::PASSED, preread.port));
    let within = [
        Words::line("listen", Words::join([within, Word::fixed("proxy_protocol")])),
        "ssl_preread on".into(),
        Words::line("proxy_timeout", Word::time(policy.timeout)),
    ];
    let rest = ["proxy_protocol off", "proxy_pass $ingressd_backend"].map(Words::from);
    let inner = within.into_iter().chain(of_other_endpoints(policy)).chain(rest);
    tables.block(inner.fold(Block::new("server"), Block::line));
}

/// The name of the upstream of a host.
fn upstream(passed: &Passthrough) -> Result<Word, Refused> {
    match &passed.upstream {
        Some(id) => Word::own(&names::stream_upstream(id)),
        None => Word::own(names::NOBODY),
    }
}

/// Hosts with terminated TLS within a wildcard with passthrough: exact names go before wildcards.
/// So do names that are reserved for another namespace than that of the wildcard.
fn opened(plan: &Plan) -> impl Iterator<Item = &HostName> {
    let hosts = &plan.model.passthroughs.hosts;
    let passed: BTreeSet<_> = hosts.iter().map(|host| &host.name).collect();
    let reserved = plan.model.servers.iter().flat_map(|server| &server.reserved);
    let names = plan.model.servers.iter().map(|server| &server.name).chain(reserved);
    names.filter_map(move |own| {
        let ServerName::Exact(name) = own else { return None };
        let parent = name.as_str().split_once('.').and_then(|(_, parent)| HostName::new(parent).ok())?;
        let is_within = passed.contains(&ServerName::Wildcard(parent)) && !passed.contains(own);
        is_within.then_some(name)
    })
}

/// A host as a key of `map`, which ignores case and, with `hostnames`, a trailing dot. A host that
/// does not fit into the table is written as a regular expression.
fn key(name: &HostName, preread: &Preread) -> Result<Literal, Refused> {
    let name = name.as_str();
    if name.len() > LONGEST_HOST && !preread.sizes_tables {
        return Literal::new(&format!("~*^{}\\.?$", expression::literal(name)));
    }
    // Names without a dot may be keywords of `map`, such as `default`.
    let mark = if name.contains('.') { "" } else { "\\" };
    Literal::new(&format!("{mark}{name}"))
}
