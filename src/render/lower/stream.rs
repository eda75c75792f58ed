//! From a TCP or UDP service to its files.

use super::access_log::buffering;
use super::upstream::endpoints;
use crate::model::{Cidr, Refused, Stream, StreamUpstream, Transport};
use crate::nginx::{Decisions, Plan, StreamLog};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Number, Path, Text, Word, Words};
use crate::render::view;

/// The name of the line in which connections are logged.
const FORMAT: &str = "ingressd_stream_line";

/// The file of a service.
pub fn stream(stream: &Stream, decisions: &Decisions, trusted: &[Cidr], engine: &Engine) -> File {
    // Names and addresses are words by construction.
    let text = service(stream, decisions, trusted, engine).ok().map(Part::Filled);
    let log = decisions.stream_log.as_ref().map(|_| names::stream_log_file());
    let requires = [names::stream_upstream_file(&stream.upstream)].into_iter().chain(log);
    File::plain(text, Owners(vec![(1, stream.origin.clone())]), requires)
}

/// The file with the line in which connections are logged.
pub fn stream_log(plan: &Plan, engine: &Engine) -> Option<(FilePath, File)> {
    let log = plan.decisions.stream_log.as_ref()?;
    let view = Text::log_line(&log.line).and_then(|line| {
        let escape = Word::fixed(if log.json { "json" } else { "default" });
        Ok(view::LogFormat { name: Word::own(FORMAT)?, escape, line })
    });
    let text = view.ok().and_then(|view| engine.fill("stream_log", &view).ok()).map(Part::Filled);
    Some((names::stream_log_file(), File::plain(text, Owners::default(), [])))
}

/// What a service says of its log.
fn access_log(log: &StreamLog) -> Result<Words, Refused> {
    let place = [Path::new(&log.path)?.into(), Words::from(Word::own(FORMAT)?)];
    Ok(Words::join(place.into_iter().chain(buffering(log.buffering).map(Words::from))))
}

/// The file with the endpoints of a service.
pub fn stream_upstream(upstream: &StreamUpstream, engine: &Engine) -> File {
    let text = group(upstream, engine).ok().map(Part::Filled);
    File::plain(text, Owners(vec![(1, upstream.origin.clone())]), [])
}

fn service(stream: &Stream, decisions: &Decisions, trusted: &[Cidr], engine: &Engine) -> Result<Filled, Refused> {
    let (listener, policy) = (&stream.listener, &stream.policy);
    let is_udp = listener.port.transport == Transport::Udp;
    let parameters = [(is_udp, "udp"), (listener.proxy_protocol && !is_udp, "proxy_protocol")];
    let listen = |address| {
        let address = Word::address(address);
        let parameters = parameters.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| Word::fixed(word));
        Words::join([address].into_iter().chain(parameters))
    };
    let is_believed = listener.proxy_protocol && decisions.stream_real_ip;
    let filled = engine.fill(
        "stream",
        &view::Stream {
            listens: listener.sockets().map(listen).collect(),
            trusted: trusted.iter().filter(|_| is_believed).map(Word::network).collect(),
            header_timeout: policy.header_timeout(listener.proxy_protocol).map(Word::time).into_iter().collect(),
            timeout: Word::time(policy.timeout),
            next_upstream: policy.next_upstream,
            next_upstream_timeout: Word::time(policy.next_upstream_timeout),
            next_upstream_tries: Number(policy.next_upstream_tries.into()),
            responses: is_udp.then_some(Number(policy.responses.into())).into_iter().collect(),
            sends_proxy_protocol: stream.sends_proxy_protocol && !is_udp,
            access_log: decisions.stream_log.as_ref().map(access_log).transpose()?.into_iter().collect(),
            upstream: Word::own(&names::stream_upstream(&stream.upstream))?,
        },
    );
    filled.map_err(|error| Refused(error.to_string().into()))
}

fn group(upstream: &StreamUpstream, engine: &Engine) -> Result<Filled, Refused> {
    let filled = engine.fill(
        "stream_upstream",
        &view::StreamUpstream {
            name: Word::own(&names::stream_upstream(&upstream.id))?,
            endpoints: endpoints(&upstream.endpoints),
            empty: upstream.endpoints.is_empty(),
        },
    );
    filled.map_err(|error| Refused(error.to_string().into()))
}
