//! The file that selects the upstream of TLS connections by server name, for hosts with TLS
//! passthrough.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use crate::model::{HostName, Passthrough, Refused, ServerName, expression};
use crate::nginx::{Inside, Plan, Preread};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Number, Word, Words};
use crate::render::view;

/// The longest host that fits into nginx's `map` table by default: 64 bytes hold two pointers, the
/// length and the name.
const LONGEST_HOST: usize = 46;
/// A bucket size that holds the longest possible host.
const BUCKET: u64 = 512;

/// The file, when some host has TLS passthrough.
pub fn passthrough(plan: &Plan, engine: &Engine) -> Option<(FilePath, File)> {
    let preread = plan.decisions.preread.as_ref()?;
    // Names and addresses are valid words by construction.
    let view = view(plan, preread).ok();
    let text = view.and_then(|view| engine.fill("passthrough", &view).ok()).map(Part::Filled);
    let upstreams = plan.model.passthroughs.hosts.iter().filter_map(|host| host.upstream.as_ref());
    let requires: BTreeSet<_> = upstreams.map(names::stream_upstream_file).collect();
    Some((names::passthrough_file(preread.port), File::plain(text, Owners::default(), requires)))
}

fn view(plan: &Plan, preread: &Preread) -> Result<view::Passthrough, Refused> {
    let (model, policy) = (&plan.model, &plan.model.passthroughs.policy);
    let hosts = &model.passthroughs.hosts;
    let at = |address| Word::address(SocketAddr::new(address, preread.port));
    let believes = model.forwarded.trusts_proxies();
    let sorted = || view::Sorted {
        clients: at(Inside::HTTPS),
        proxies: model
            .forwarded
            .trusted
            .iter()
            .map(|network| view::SortedNetwork { network: Word::network(network), inside: at(Inside::TRUSTED) })
            .collect(),
    };
    let inside = || if believes { Word::fixed("$ingressd\u{2}_inside") } else { at(Inside::HTTPS) };
    let host = |name: &HostName, passed: &Passthrough| {
        Ok(view::PassedHost {
            name: key(name, preread)?,
            passed: at(Inside::PASSED),
            upstream: match &passed.upstream {
                Some(id) => Word::own(&names::stream_upstream(id))?,
                None => Word::own(names::NOBODY)?,
            },
        })
    };
    let (mut wildcards, mut exact) = (Vec::new(), Vec::new());
    for passed in hosts {
        match &passed.name {
            ServerName::Exact(name) => exact.push(host(name, passed)?),
            ServerName::Wildcard(name) => wildcards.push(host(name, passed)?),
            ServerName::CatchAll | ServerName::Expression(_) => {}
        }
    }
    let opened = opened(plan).map(|name| Ok(view::OpenedHost { name: key(name, preread)?, passed: inside() }));
    let opened = opened.collect::<Result<Vec<_>, Refused>>()?;
    let most = 2 * (exact.len() + opened.len()).max(wildcards.len());
    let max_size = u64::try_from(most.next_power_of_two()).unwrap_or(u64::MAX).max(2048);
    let sizes = view::NamesHash { max_size: Number(max_size), bucket_size: Number(BUCKET) };
    let listen = |address: &SocketAddr| {
        let parameters = preread.proxy_protocol.then(|| Word::fixed("proxy_protocol"));
        // Keepalive detects clients that vanished, for which nginx would otherwise wait as long as
        // for silent ones.
        Words::join([Word::address(*address)].into_iter().chain(parameters).chain([Word::fixed("so_keepalive=on")]))
    };
    Ok(view::Passthrough {
        sizes: preread.sizes_tables.then_some(sizes).into_iter().collect(),
        sorted: believes.then(sorted).into_iter().collect(),
        inside: inside(),
        wildcards,
        opened,
        hosts: exact,
        nobody: Word::own(names::NOBODY)?,
        listens: preread.listens.iter().map(listen).collect(),
        trusted: plan.decisions.proxies.iter().map(Word::network).collect(),
        header_timeout: policy.header_timeout(preread.proxy_protocol).map(Word::time).into_iter().collect(),
        within: Words::join([at(Inside::PASSED), Word::fixed("proxy_protocol")]),
        timeout: Word::time(policy.timeout),
        next_upstream: policy.next_upstream,
        next_upstream_timeout: Word::time(policy.next_upstream_timeout),
        next_upstream_tries: Number(policy.next_upstream_tries.into()),
    })
}

/// Hosts with terminated TLS within a wildcard with passthrough: exact names go before wildcards.
fn opened(plan: &Plan) -> impl Iterator<Item = &HostName> {
    let hosts = &plan.model.passthroughs.hosts;
    let passed: BTreeSet<_> = hosts.iter().map(|host| &host.name).collect();
    plan.model.servers.iter().filter_map(move |server| {
        let ServerName::Exact(name) = &server.name else { return None };
        let parent = name.as_str().split_once('.').and_then(|(_, parent)| HostName::new(parent).ok())?;
        let is_within = passed.contains(&ServerName::Wildcard(parent)) && !passed.contains(&server.name);
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
