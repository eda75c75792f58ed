//! Makes the files of a TCP or UDP service.

use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Path, Text, Word, Words};
use crate::render::view;
use crate::{Decisions, Plan};
use ingressd_model::{Cidr, Directive, Endpoint, Refused, Stream, StreamPolicy, Transport, Upstream};

use super::access_log::buffering;
use super::location::argument;
use super::server::fill;
use super::tables::Files;
use super::upstream::{BY_CHANCE, NOBODY, endpoint};

/// The file of a service.
pub fn stream(stream: &Stream, decisions: &Decisions, trusted: &[Cidr], engine: &Engine) -> File {
    // Names and addresses are valid words by construction.
    let text = service(stream, decisions, trusted, engine).ok();
    let owners = owners(stream, text.as_ref());
    let log = decisions.stream_log.as_ref().map(|_| names::stream_log_file());
    let requires = [names::stream_upstream_file(&stream.upstream)].into_iter().chain(log);
    File::plain(text.map(Part::Filled), owners, requires)
}

/// The owners of its lines: what a snippet says is not the fault of the service. No other feature
/// of a service has the directives that a snippet may have.
fn owners(stream: &Stream, text: Option<&Filled>) -> Owners {
    let asked = &stream.policy.directives;
    let text: String = text.filter(|_| !asked.is_empty()).into_iter().flat_map(Filled::pieces).collect();
    let owner = |line: &str| {
        let name = line.split_whitespace().next();
        asked.iter().find(|one| Some(one.row.name) == name).map_or(&stream.origin, |one| &one.origin)
    };
    let owners = [&stream.origin].into_iter().chain(text.lines().skip(1).map(owner));
    let lines: Vec<_> = (1..).zip(owners).collect();
    let runs = lines.chunk_by(|(_, one), (_, other)| one == other);
    Owners(runs.map(|run| (run[0].0, run[0].1.clone())).collect())
}

/// The name of the line in which connections are logged.
const FORMAT: &str = "ingressd_stream_line";

/// The file with that line, which services require.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    if let Some(log) = &plan.decisions.stream_log {
        files.add(names::stream_log_file(), None, [], |tables| {
            let escape = if log.json { "escape=json" } else { "escape=default" };
            let format = [Word::own(FORMAT)?.into(), escape.into(), Text::log_line(&log.line)?.into()];
            tables.line(Words::line("log_format", Words::join::<Words>(format)));
            Ok(())
        });
    }
}

/// The file with the endpoints of a service.
pub fn stream_upstream(upstream: &Upstream, endpoints: &[Endpoint], decisions: &Decisions, engine: &Engine) -> File {
    let text = group(upstream, endpoints, decisions, engine).ok().map(Part::Filled);
    File::plain(text, Owners(vec![(1, upstream.origin.clone())]), [])
}

/// Writes into the server of a service what one feature of it needs.
type Feature = fn(&Stream, &Surroundings<'_>, &mut Vec<Words>);

/// All features of a service, in the order of their directives.
const FEATURES: &[Feature] = &[clients, timeout, other_endpoints, responses, proxy_protocol, access_log, asked];

/// What services share.
struct Surroundings<'a> {
    decisions: &'a Decisions,
    /// The networks of proxies that are trusted to name their clients.
    trusted: &'a [Cidr],
}

fn is_udp(stream: &Stream) -> bool {
    stream.listener.port.transport == Transport::Udp
}

fn clients(stream: &Stream, surroundings: &Surroundings<'_>, lines: &mut Vec<Words>) {
    let has_header = stream.listener.proxy_protocol;
    let trusted = surroundings.trusted.iter().filter(|_| has_header && surroundings.decisions.stream_real_ip);
    of_clients(trusted, &stream.policy, has_header).for_each(|line| lines.push(line));
}

fn timeout(stream: &Stream, _: &Surroundings<'_>, lines: &mut Vec<Words>) {
    lines.push(Words::line("proxy_timeout", Word::time(stream.policy.timeout)));
}

fn other_endpoints(stream: &Stream, _: &Surroundings<'_>, lines: &mut Vec<Words>) {
    lines.extend(of_other_endpoints(&stream.policy));
}

fn responses(stream: &Stream, _: &Surroundings<'_>, lines: &mut Vec<Words>) {
    if is_udp(stream) {
        lines.push(Words::line("proxy_responses", Word::number(stream.policy.responses.into())));
    }
}

fn proxy_protocol(stream: &Stream, _: &Surroundings<'_>, lines: &mut Vec<Words>) {
    let is_sent = stream.sends_proxy_protocol && !is_udp(stream);
    lines.push(if is_sent { "proxy_protocol on" } else { "proxy_protocol off" }.into());
}

fn access_log(_: &Stream, surroundings: &Surroundings<'_>, lines: &mut Vec<Words>) {
    // The gate has checked the path.
    let log = surroundings.decisions.stream_log.as_ref();
    lines.extend(log.and_then(|log| {
        let place = [Path::new(&log.path).ok()?.into(), Words::from(Word::own(FORMAT).ok()?)];
        let words = Words::join(place.into_iter().chain(buffering(log.buffering).map(Words::from)));
        Some(Words::line("access_log", words))
    }));
}

fn asked(stream: &Stream, _: &Surroundings<'_>, lines: &mut Vec<Words>) {
    let arguments = |directive: &Directive| Words::join(directive.arguments.iter().map(argument));
    lines.extend(stream.policy.directives.iter().map(|one| Words::line(one.row.name, arguments(one))));
}

/// Writes which peers are trusted to name clients, and the timeout for that.
pub fn of_clients<'a>(
    trusted: impl Iterator<Item = &'a Cidr>,
    policy: &StreamPolicy,
    has_header: bool,
) -> impl Iterator<Item = Words> {
    let trusted = trusted.map(|network| Words::line("set_real_ip_from", Word::network(network)));
    let timeout = policy.header_timeout(has_header);
    trusted.chain(timeout.map(|timeout| Words::line("proxy_protocol_timeout", Word::time(timeout))))
}

/// Writes when other endpoints are tried.
pub fn of_other_endpoints(policy: &StreamPolicy) -> Vec<Words> {
    match policy.next_upstream {
        true => vec![
            "proxy_next_upstream on".into(),
            Words::line("proxy_next_upstream_timeout", Word::time(policy.next_upstream_timeout)),
            Words::line("proxy_next_upstream_tries", Word::number(policy.next_upstream_tries.into())),
        ],
        false => vec!["proxy_next_upstream off".into()],
    }
}

fn service(stream: &Stream, decisions: &Decisions, trusted: &[Cidr], engine: &Engine) -> Result<Filled, Refused> {
    let parameters = [(is_udp(stream), "udp"), (stream.listener.proxy_protocol && !is_udp(stream), "proxy_protocol")];
    let listen = |address| {
        let address = Word::address(address);
        let parameters = parameters.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| Word::fixed(word));
        Words::join([address].into_iter().chain(parameters))
    };
    let mut directives = Vec::new();
    let surroundings = Surroundings { decisions, trusted };
    FEATURES.iter().for_each(|feature| feature(stream, &surroundings, &mut directives));
    let listens = stream.listener.sockets().map(listen).collect();
    let upstream = Word::own(&names::stream_upstream(&stream.upstream))?;
    fill(engine, "stream", &view::Stream { listens, directives, upstream })
}

/// The parameter of a server that limits the connections of each worker to it. Connections are
/// counted by each worker, without a zone: what is to be protected are the worker's connections,
/// and a worker that crashes takes its count along.
pub fn ceiling(connections: u32) -> Words {
    Word::setting("max_conns", &Word::number(connections.into())).into()
}

fn group(
    upstream: &Upstream,
    endpoints: &[Endpoint],
    decisions: &Decisions,
    engine: &Engine,
) -> Result<Filled, Refused> {
    let most = upstream.connections_of_endpoint(decisions.stream_connections, endpoints.len());
    let own = |one: &Endpoint| Words::join([endpoint(one), "max_fails=0".into(), ceiling(most)]);
    let endpoints = match endpoints {
        [] => vec![NOBODY.into()],
        endpoints => endpoints.iter().map(own).collect(),
    };
    let name = Word::own(&names::stream_upstream(&upstream.id))?;
    let is_choice = decisions.stream_random && endpoints.len() > 1;
    let balancing = is_choice.then(|| BY_CHANCE.into()).into_iter().collect();
    fill(engine, "stream_upstream", &view::StreamUpstream { name, balancing, endpoints })
}
