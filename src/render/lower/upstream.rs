//! From a group of endpoints to its file.

use crate::model::{Balance, Endpoint, Refused, Upstream, UpstreamId};
use crate::nginx::{Decisions, KEEPALIVE_TIME, KEEPALIVE_TIMEOUT};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Number, Text, Word};
use crate::render::view;

/// The file of an upstream.
pub fn upstream(upstream: &Upstream, decisions: &Decisions, engine: &Engine) -> File {
    // Names and addresses are words by construction; an empty file makes nginx name its users instead.
    let text = written(upstream, decisions, engine).ok().map(Part::Filled);
    File::plain(text, Owners(vec![(1, upstream.origin.clone())]), session_of(&upstream.id))
}

/// The file with the session by which an endpoint of the upstream is chosen.
pub fn session_of(upstream: &UpstreamId) -> Option<FilePath> {
    match upstream.balance.as_deref() {
        Some(Balance::Session(cookie)) => Some(names::session_file(&names::session(cookie))),
        Some(Balance::Key(_) | Balance::LeastConnections) | None => None,
    }
}

/// Kubernetes judges readiness; nginx's own judgement (`max_fails`) would send everything to the others after one slow answer, and
/// nothing to anybody when all of them were slow once.
pub fn endpoints(endpoints: &[Endpoint]) -> Vec<view::Endpoint> {
    let endpoint = |endpoint: &Endpoint| view::Endpoint {
        address: Word::address(endpoint.address),
        weight: (endpoint.weight > 1).then_some(Number(u64::from(endpoint.weight))).into_iter().collect(),
    };
    endpoints.iter().map(endpoint).collect()
}

/// How long idle connections are used. What nginx does by itself is not said.
fn reuse(decisions: &Decisions) -> Vec<view::Directive> {
    if decisions.upstream_keepalive.is_none_or(|connections| connections == 0) {
        return Vec::new();
    }
    let everywhere = &decisions.everywhere;
    let (time, timeout) = (everywhere.keepalive_time, everywhere.keepalive_timeout);
    let lines = [
        ("keepalive_requests", Some(Word::number(u64::from(everywhere.keepalive_requests)))),
        ("keepalive_time", (decisions.keepalive_time && time != KEEPALIVE_TIME).then(|| Word::time(time))),
        ("keepalive_timeout", (timeout != KEEPALIVE_TIMEOUT).then(|| Word::time(timeout))),
    ];
    let line = |(name, word): (&'static str, Option<Word>)| {
        Some(view::Directive { name: Word::fixed(name), arguments: word?.into() })
    };
    lines.into_iter().filter_map(line).collect()
}

/// How an endpoint is chosen, where this nginx can.
fn balance<'a>(upstream: &'a Upstream, decisions: &Decisions) -> Option<&'a Balance> {
    upstream.id.balance.as_deref().filter(|balance| match balance {
        Balance::Session(_) | Balance::Key(_) => decisions.upstream_hash,
        Balance::LeastConnections => decisions.upstream_least_conn,
    })
}

fn written(upstream: &Upstream, decisions: &Decisions, engine: &Engine) -> Result<Filled, Refused> {
    let filled = engine.fill(
        "upstream",
        &view::Upstream {
            name: Word::own(&names::upstream(&upstream.id))?,
            session: match balance(upstream, decisions) {
                Some(Balance::Session(cookie)) => vec![Word::variable(&names::session(cookie))?],
                Some(Balance::Key(_) | Balance::LeastConnections) | None => Vec::new(),
            },
            key: match balance(upstream, decisions) {
                Some(Balance::Key(key)) => vec![Text::replacement(key)?],
                Some(Balance::Session(_) | Balance::LeastConnections) | None => Vec::new(),
            },
            least_connections: matches!(balance(upstream, decisions), Some(Balance::LeastConnections)),
            endpoints: endpoints(&upstream.endpoints),
            keepalive: decisions
                .upstream_keepalive
                .filter(|connections| *connections > 0)
                .map(|connections| Number(u64::from(connections)))
                .into_iter()
                .collect(),
            reuse: reuse(decisions),
        },
    );
    filled.map_err(|error| Refused(error.to_string().into()))
}
