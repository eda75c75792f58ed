//! Request headers that differ for the backends of a route.

use super::RewriteTarget;

/// Request headers for a backend, in the place of the usual ones. The default changes none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct BackendHeaders {
    /// `Host`: text, variables of requests, and those of [`RouteVariable`].
    pub host: Option<RewriteTarget>,
    /// `X-Forwarded-Prefix`, where the path is rewritten: text, variables, and captures of the
    /// rewritten path.
    pub prefix: Option<RewriteTarget>,
    pub connection: Option<Connection>,
}

/// The value of a fixed `Connection` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Connection {
    Close,
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

/// A property of a route that is known without a request, and is replaced by a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteVariable {
    /// The namespace of the object that defines the route.
    Namespace,
    IngressName,
    /// The Service of the backend.
    ServiceName,
    ServicePort,
}

impl RouteVariable {
    /// All of them, by the names of ingress-nginx's variables.
    pub const ALL: [(&'static str, RouteVariable); 4] = [
        ("ingress_name", RouteVariable::IngressName),
        ("namespace", RouteVariable::Namespace),
        ("service_name", RouteVariable::ServiceName),
        ("service_port", RouteVariable::ServicePort),
    ];

    /// The property with this name.
    pub fn named(name: &str) -> Option<RouteVariable> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, variable)| variable)
    }
}
