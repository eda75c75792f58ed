//! How a location names the upstream that takes its requests.

use crate::render::names;
use crate::render::token::Word;
use ingressd_model::catalogue::Module;
use ingressd_model::{Action, Handler, Origin, Refused, Server, UpstreamId};

/// How the locations of a server refer to upstreams.
#[derive(Debug, Clone, Copy)]
pub enum Backends<'a> {
    Named,
    /// By variables whose values depend on the host.
    Variables {
        /// The prefix of the variables' names.
        prefix: &'a str,
        /// The slots, whose index is part of a variable's name.
        slots: &'a [Slot<'a>],
    },
}

/// An upstream of a server, with the object that refers to it.
#[derive(Debug, Clone, Copy)]
pub struct Slot<'a> {
    pub upstream: &'a UpstreamId,
    /// The first field that refers to it.
    pub origin: &'a Origin,
}

/// The upstreams of a server that speak HTTP/1.1, in the order of its routes. Two objects that use
/// one upstream have a slot each, so that each of them owns a line.
pub fn slots(server: &Server) -> Vec<Slot<'_>> {
    let mut slots: Vec<Slot<'_>> = Vec::new();
    for handler in server.handlers() {
        if let Action::Proxy { upstream, .. } = &handler.action
            && upstream.protocol.module() == Module::Proxy
            && position(&slots, upstream, handler).is_none()
        {
            slots.push(Slot { upstream, origin: &handler.origin });
        }
    }
    slots
}

fn position(slots: &[Slot<'_>], upstream: &UpstreamId, handler: &Handler) -> Option<usize> {
    let is_same = |slot: &UpstreamId| std::ptr::eq(slot, upstream) || slot == upstream;
    slots.iter().position(|slot| slot.origin.object == handler.origin.object && is_same(slot.upstream))
}

/// The name of a slot's variable.
pub fn variable(prefix: &str, slot: usize) -> Result<Word, Refused> {
    Word::variable(&[prefix, "_", &slot.to_string()].concat())
}

impl Backends<'_> {
    /// The argument of a route's `proxy_pass` behind the scheme.
    pub fn word(&self, upstream: &UpstreamId, handler: &Handler) -> Result<Word, Refused> {
        match self.slot(upstream, handler) {
            Some((prefix, slot)) => variable(prefix, slot),
            None => Word::own(&names::upstream(upstream)),
        }
    }

    /// The prefix and the slot of the variable by which a route refers to its upstream; `None`
    /// where it does so by name.
    pub fn slot(&self, upstream: &UpstreamId, handler: &Handler) -> Option<(&str, usize)> {
        match self {
            Backends::Named => None,
            Backends::Variables { prefix, slots } => position(slots, upstream, handler).map(|slot| (*prefix, slot)),
        }
    }
}
