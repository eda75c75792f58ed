//! What may be claimed: ports, hosts and paths of hosts, each of one frontend.

use std::fmt;
use std::sync::Arc;

use crate::value::host;
use ingressd_model::{Port, ServerName};

/// Addresses that have one table of ports and hosts. There is one, the node's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frontend(u16);

impl Frontend {
    /// The addresses of the node.
    pub const NODE: Frontend = Frontend(0);
}

/// What may be claimed. A name in a TLS handshake is a host: who has the host decides about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A port, with its protocol.
    Port(Frontend, Port),
    /// A host as a whole, or the requests for it that begin so: the conditions of a route are no
    /// part of its key, or a header would take the requests of another namespace.
    Host(Frontend, ServerName, Option<Arc<str>>),
}

impl Key {
    /// A port of the node.
    pub const fn port(port: Port) -> Self {
        Key::Port(Frontend::NODE, port)
    }

    /// A host of the node.
    pub fn host(name: &ServerName) -> Self {
        Key::Host(Frontend::NODE, name.clone(), None)
    }

    /// What begins so on a host of the node.
    pub fn path(name: &ServerName, beginning: impl Into<Arc<str>>) -> Self {
        Key::Host(Frontend::NODE, name.clone(), Some(beginning.into()))
    }

    /// The port or the host that text stands for, which [`fmt::Display`] writes.
    pub fn read(text: &str) -> Option<Self> {
        // No host is written like a port.
        Port::parse(text).map(Key::port).or_else(|| Some(Key::host(&host::of_rule(Some(text)).ok()?)))
    }

    /// The host, where it is one or a path of one.
    pub const fn name(&self) -> Option<&ServerName> {
        match self {
            Key::Port(..) => None,
            Key::Host(_, name, _) => Some(name),
        }
    }

    /// The path, where it is one.
    pub const fn beginning(&self) -> Option<&Arc<str>> {
        match self {
            Key::Host(.., Some(beginning)) => Some(beginning),
            Key::Port(..) | Key::Host(.., None) => None,
        }
    }
}

/// Writes the port or the host.
impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Port(_, port) => port.fmt(formatter),
            Key::Host(_, name, _) => formatter.write_str(&host::written(name)),
        }
    }
}
