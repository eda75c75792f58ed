//! Makes the file of an upstream with its endpoints.

use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Text, Word, Words};
use crate::render::view;
use crate::{Decisions, KEEPALIVE_TIME, KEEPALIVE_TIMEOUT, Plan};
use ingressd_model::{Balance, Endpoint, Protocol, Refused, Share, Upstream, UpstreamId};

use super::named_endpoint;
use super::server::fill;
use super::split::{EACH_REQUEST, shares};
use super::tables::{self, Files};

/// The file of an upstream.
pub fn upstream(upstream: &Upstream, endpoints: &[Endpoint], decisions: &Decisions, engine: &Engine) -> File {
    // Names and addresses are valid words by construction; with an empty file, nginx's test names
    // the users of the upstream.
    let text = written(upstream, endpoints, decisions, engine).ok().map(Part::Filled);
    let tables = upstream
        .id
        .naming_cookie()
        .and_then(|cookie| tables::text(engine, |tables| named_endpoint::tables(upstream, endpoints, cookie, tables)));
    let parts = text.into_iter().chain(tables);
    File::plain(parts, Owners(vec![(1, upstream.origin.clone())]), variables_of(&upstream.id))
}

/// The files with the variables that select an endpoint of the upstream, where those are ours.
pub fn variables_of(upstream: &UpstreamId) -> Vec<FilePath> {
    match upstream.balance.as_deref() {
        Some(Balance::Session(cookie)) => vec![names::variable_file(&names::session(cookie))],
        Some(Balance::Named(cookie)) => vec![names::variable_file(&names::session(cookie)), names::answered_file()],
        Some(Balance::SharedKey(_, endpoints)) => vec![names::turn_file(*endpoints)],
        Some(Balance::Key(_) | Balance::TwoByChance) | None => Vec::new(),
    }
}

/// Variables with a random number below the number of endpoints that share a hash key, one file
/// for each such number.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    for upstream in &plan.model.upstreams {
        let Some(Balance::SharedKey(_, endpoints)) = balance(upstream, &plan.decisions) else { continue };
        files.add(names::turn_file(*endpoints), Some(&upstream.origin), [], |tables| {
            let number = |number: u8| Word::number(number.into());
            let parts = (1..*endpoints).map(|other| (number(other), Share::of(1, (*endpoints).into())));
            let variable = Word::variable(&names::turn(*endpoints))?;
            tables.block(shares(Word::fixed(EACH_REQUEST), variable, parts, number(0)));
            Ok(())
        });
    }
}

/// The line of an endpoint.
pub fn endpoint(endpoint: &Endpoint) -> Words {
    let weight = (endpoint.weight > 1).then(|| Word::setting("weight", &Word::number(u64::from(endpoint.weight))));
    Words::join([Word::address(endpoint.address)].into_iter().chain(weight))
}

/// The server of an upstream without endpoints: nginx refuses an upstream without a server.
pub const NOBODY: &str = "unix:/nobody down";

/// How many idle connections are kept, where nginx can. None are kept where some endpoints use TLS
/// and others do not, because nginx distinguishes connections by address only.
fn kept(id: &UpstreamId, decisions: &Decisions) -> Option<u32> {
    let global = decisions.upstream_keepalive?;
    let connections = id.reuse.as_deref().map_or(global, |own| own.connections);
    let connections =
        decisions.kept_of_namespaces.get(&id.namespace).map_or(connections, |most| connections.min(*most));
    let connections = if id.protocol == Protocol::AutoHttp { 0 } else { connections };
    // nginx versions that keep no connections by default do not accept 0.
    (connections > 0 || decisions.keeps_connections).then_some(connections)
}

/// Writes how many idle connections are kept, and for how long, without nginx's defaults.
fn keepalive(upstream: &Upstream, decisions: &Decisions, slots: &mut view::Upstream) -> Result<(), Refused> {
    let Some(connections) = kept(&upstream.id, decisions) else { return Ok(()) };
    let mut say = |name, word: Word| slots.connections.push(Words::line(name, word));
    say("keepalive", Word::number(u64::from(connections)));
    if connections > 0 {
        let global = &decisions.global;
        let own = upstream.id.reuse.as_deref();
        let requests = own.map_or(global.keepalive_requests, |own| own.requests);
        let (time, timeout) = (global.keepalive_time, own.map_or(global.keepalive_timeout, |own| own.timeout));
        say("keepalive_requests", Word::number(u64::from(requests)));
        if decisions.keepalive_time && time != KEEPALIVE_TIME {
            say("keepalive_time", Word::time(time));
        }
        if timeout != KEEPALIVE_TIMEOUT {
            say("keepalive_timeout", Word::time(timeout));
        }
    }
    Ok(())
}

/// The endpoint with fewer connections of two by chance. In turn, or by the fewest connections,
/// each worker would begin with the first endpoint after each reload, which then gets most of a
/// few requests: the start has to differ without files of others being written.
pub const BY_CHANCE: &str = "random two least_conn";

/// The load balancing directive, where this nginx has it.
fn balance<'a>(upstream: &'a Upstream, decisions: &Decisions) -> Option<&'a Balance> {
    upstream.id.balance.as_deref().filter(|balance| match balance {
        Balance::Session(_) | Balance::Named(_) | Balance::Key(_) => decisions.upstream_hash,
        Balance::SharedKey(..) => decisions.upstream_hash && decisions.split_clients,
        Balance::TwoByChance => decisions.upstream_random,
    })
}

fn balancing(upstream: &Upstream, decisions: &Decisions, slots: &mut view::Upstream) -> Result<(), Refused> {
    let hash = |key: Words| Words::join(["hash".into(), key, "consistent".into()]);
    let by_chance = decisions.upstream_random.then(|| BY_CHANCE.into());
    slots.balancing.extend(match balance(upstream, decisions) {
        Some(Balance::Session(cookie)) => Some(hash(Word::variable(&names::session(cookie))?.into())),
        Some(Balance::Named(_)) => Some(hash(Word::variable(&names::endpoint_key(&upstream.id))?.into())),
        Some(Balance::Key(key)) => Some(hash(Text::replacement(key)?.into())),
        Some(Balance::SharedKey(key, endpoints)) => {
            Some(hash(Text::replacement_with(key, &Word::variable(&names::turn(*endpoints))?)?.into()))
        }
        Some(Balance::TwoByChance) => by_chance,
        None => by_chance.filter(|_| slots.endpoints.len() > 1),
    });
    Ok(())
}

/// Writes into an upstream what one feature of it needs.
type Feature = fn(&Upstream, &Decisions, &mut view::Upstream) -> Result<(), Refused>;

/// All features of an upstream.
const FEATURES: &[Feature] = &[balancing, keepalive];

/// The template switches passive health checks off (`max_fails`), because Kubernetes decides which
/// endpoints are ready. They would move all requests to the other endpoints after one slow
/// response, and refuse everything after all of them were slow once.
fn written(
    upstream: &Upstream,
    endpoints: &[Endpoint],
    decisions: &Decisions,
    engine: &Engine,
) -> Result<Filled, Refused> {
    let mut view = view::Upstream {
        name: Word::own(&names::upstream(&upstream.id))?,
        balancing: Vec::new(),
        endpoints: match endpoints {
            [] => vec![NOBODY.into()],
            endpoints => endpoints.iter().map(endpoint).collect(),
        },
        connections: Vec::new(),
    };
    FEATURES.iter().try_for_each(|feature| feature(upstream, decisions, &mut view))?;
    fill(engine, "upstream", &view)
}
