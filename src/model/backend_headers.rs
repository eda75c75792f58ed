//! What the backends of a route are told otherwise than all others.

use super::RewriteTarget;

/// Headers of requests to a backend in the place of those that every backend gets. The default changes none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct BackendHeaders {
    /// `Host`: text, variables of requests, and those of [`RouteVariable`].
    pub host: Option<RewriteTarget>,
    /// `X-Forwarded-Prefix`, where the path is rewritten: text, variables, and captures of the rewritten path.
    pub prefix: Option<RewriteTarget>,
    /// `Connection`.
    pub connection: Option<Connection>,
}

/// The value of a fixed `Connection` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connection {
    /// `close`.
    Close,
    /// `keep-alive`.
    KeepAlive,
}

impl Connection {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Connection::Close => "close",
            Connection::KeepAlive => "keep-alive",
        }
    }
}

/// What is known of a route without any request: it stands for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteVariable {
    /// The namespace of the object that asked for the route.
    Namespace,
    /// Its name.
    IngressName,
    /// The Service that requests go to.
    ServiceName,
    /// Its port.
    ServicePort,
}

impl RouteVariable {
    /// All of them, by the names that ingress-nginx gives them.
    pub const ALL: [(&'static str, RouteVariable); 4] = [
        ("ingress_name", RouteVariable::IngressName),
        ("namespace", RouteVariable::Namespace),
        ("service_name", RouteVariable::ServiceName),
        ("service_port", RouteVariable::ServicePort),
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<RouteVariable> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, variable)| variable)
    }
}
