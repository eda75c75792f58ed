//! Makes the file of an upstream.

use std::collections::BTreeMap;

use crate::model::{Balance, Endpoint, Protocol, Refused, Share, Upstream, UpstreamId};
use crate::nginx::{Decisions, KEEPALIVE_TIME, KEEPALIVE_TIMEOUT, Plan};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Number, Text, Word};
use crate::render::view;

use super::split::EACH_REQUEST;

/// The file of an upstream.
pub fn upstream(upstream: &Upstream, decisions: &Decisions, engine: &Engine) -> File {
    // Names and addresses are valid words by construction; with an empty file, nginx's test names
    // the users of the upstream.
    let text = written(upstream, decisions, engine).ok().map(Part::Filled);
    File::plain(text, Owners(vec![(1, upstream.origin.clone())]), variable_of(&upstream.id))
}

/// The file with the variable that selects an endpoint of the upstream, where that variable is one
/// of ours.
pub fn variable_of(upstream: &UpstreamId) -> Option<FilePath> {
    match upstream.balance.as_deref() {
        Some(Balance::Session(cookie)) => Some(names::session_file(&names::session(cookie))),
        Some(Balance::SharedKey(_, endpoints)) => Some(names::turn_file(*endpoints)),
        Some(Balance::Key(_) | Balance::LeastConnections | Balance::TwoByChance) | None => None,
    }
}

/// Variables with a random number below the number of endpoints that share a hash key, one file
/// for each such number.
pub fn turns(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    for upstream in &plan.model.upstreams {
        let Some(Balance::SharedKey(_, endpoints)) = balance(upstream, &plan.decisions) else { continue };
        files.entry(names::turn_file(*endpoints)).or_insert_with(|| {
            let filled = turn(*endpoints).ok().and_then(|view| engine.fill("split", &view).ok());
            File::plain(filled.map(Part::Filled), Owners(vec![(1, upstream.origin.clone())]), [])
        });
    }
    files
}

fn turn(endpoints: u8) -> Result<view::Split, Refused> {
    let number = |number: u8| Word::number(number.into());
    let percent = Share::of(1, endpoints.into());
    let parts =
        (1..endpoints).map(|other| view::SplitPart { percent: Word::percent(percent), upstream: number(other) });
    let shares = view::Shares {
        key: Word::fixed(EACH_REQUEST),
        variable: Word::variable(&names::turn(endpoints))?,
        parts: parts.collect(),
        rest: number(0),
    };
    Ok(view::Split { shares: vec![shares], tests: Vec::new() })
}

/// The endpoints without passive health checks: Kubernetes decides which are ready. nginx's
/// `max_fails` would move all requests to the other endpoints after one slow response, and refuse
/// everything after all of them were slow once.
pub fn endpoints(endpoints: &[Endpoint]) -> Vec<view::Endpoint> {
    let endpoint = |endpoint: &Endpoint| view::Endpoint {
        address: Word::address(endpoint.address),
        weight: (endpoint.weight > 1).then_some(Number(u64::from(endpoint.weight))).into_iter().collect(),
    };
    endpoints.iter().map(endpoint).collect()
}

/// How many idle connections are kept, where nginx can. None are kept where some endpoints use TLS
/// and others do not, because nginx distinguishes connections by address only.
fn keepalive(id: &UpstreamId, decisions: &Decisions) -> Option<Number> {
    let everywhere = decisions.upstream_keepalive?;
    let connections = id.reuse.as_deref().map_or(everywhere, |own| own.connections);
    let connections = if id.protocol == Protocol::AutoHttp { 0 } else { connections };
    // nginx versions that keep no connections by default do not accept 0.
    (connections > 0 || decisions.keeps_connections).then(|| Number(u64::from(connections)))
}

/// The directives about the reuse of connections, without nginx's defaults.
fn reuse(id: &UpstreamId, decisions: &Decisions) -> Vec<view::Directive> {
    if keepalive(id, decisions).is_none_or(|Number(connections)| connections == 0) {
        return Vec::new();
    }
    let everywhere = &decisions.everywhere;
    let own = id.reuse.as_deref();
    let requests = own.map_or(everywhere.keepalive_requests, |own| own.requests);
    let (time, timeout) = (everywhere.keepalive_time, own.map_or(everywhere.keepalive_timeout, |own| own.timeout));
    let lines = [
        ("keepalive_requests", Some(Word::number(u64::from(requests)))),
        ("keepalive_time", (decisions.keepalive_time && time != KEEPALIVE_TIME).then(|| Word::time(time))),
        ("keepalive_timeout", (timeout != KEEPALIVE_TIMEOUT).then(|| Word::time(timeout))),
    ];
    let line = |(name, word): (&'static str, Option<Word>)| {
        Some(view::Directive { name: Word::fixed(name), arguments: word?.into() })
    };
    lines.into_iter().filter_map(line).collect()
}

/// The load balancing directive, where this nginx has it.
fn balance<'a>(upstream: &'a Upstream, decisions: &Decisions) -> Option<&'a Balance> {
    upstream.id.balance.as_deref().filter(|balance| match balance {
        Balance::Session(_) | Balance::Key(_) => decisions.upstream_hash,
        Balance::SharedKey(..) => decisions.upstream_hash && decisions.split_clients,
        Balance::TwoByChance => decisions.upstream_random,
        Balance::LeastConnections => decisions.upstream_least_conn,
    })
}

fn written(upstream: &Upstream, decisions: &Decisions, engine: &Engine) -> Result<Filled, Refused> {
    let balance = balance(upstream, decisions);
    let filled = engine.fill(
        "upstream",
        &view::Upstream {
            name: Word::own(&names::upstream(&upstream.id))?,
            session: match balance {
                Some(Balance::Session(cookie)) => vec![Word::variable(&names::session(cookie))?],
                _ => Vec::new(),
            },
            key: match balance {
                Some(Balance::Key(key)) => vec![Text::replacement(key)?],
                Some(Balance::SharedKey(key, endpoints)) => {
                    vec![Text::replacement_with(key, &Word::variable(&names::turn(*endpoints))?)?]
                }
                _ => Vec::new(),
            },
            least_connections: matches!(balance, Some(Balance::LeastConnections)),
            two_by_chance: matches!(balance, Some(Balance::TwoByChance)),
            endpoints: endpoints(&upstream.endpoints),
            keepalive: keepalive(&upstream.id, decisions).into_iter().collect(),
            reuse: reuse(&upstream.id, decisions),
        },
    );
    filled.map_err(|error| Refused(error.to_string().into()))
}
