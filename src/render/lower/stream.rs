//! Makes the files of a TCP or UDP service.

use super::upstream::endpoints;
use crate::model::{Cidr, Refused, Stream, StreamUpstream, Transport};
use crate::nginx::Decisions;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Number, Word, Words};
use crate::render::view;

/// The file of a service.
pub fn stream(stream: &Stream, decisions: &Decisions, trusted: &[Cidr], engine: &Engine) -> File {
    // Names and addresses are valid words by construction.
    let text = service(stream, decisions, trusted, engine).ok().map(Part::Filled);
    File::plain(text, Owners(vec![(1, stream.origin.clone())]), [names::stream_upstream_file(&stream.upstream)])
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
