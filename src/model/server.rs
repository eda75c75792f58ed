//! A host name and what is served under it; it must not know how nginx selects servers.

use std::collections::HashMap;

use super::{Action, CertificateId, Field, HostName, ObjectId, Origin, Route};

/// How many routes an object has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteCount {
    /// Those that are served.
    pub open: u32,
    /// Those that answer 503 because something of the object closes them.
    pub closed: u32,
}

/// The requests that a server takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerName {
    /// Hosts that no other server takes.
    CatchAll,
    /// This host alone.
    Exact(HostName),
    /// Hosts with exactly one more label in front of this name: `*.example.com` holds `example.com`.
    Wildcard(HostName),
}

/// How a server terminates TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsTermination {
    /// The host asked for no certificate: it is served with the default one, and nobody is sent there.
    Default,
    /// The host is listed under `spec.tls` but has no usable certificate: the default one, and redirects apply.
    DefaultDeclared,
    /// The host has its own certificate.
    Own(CertificateId),
}

/// One host with its routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Which requests it takes.
    pub name: ServerName,
    /// The oldest object that defines this host, named in the file that is rendered for it.
    pub origin: Origin,
    /// Its certificate.
    pub tls: TlsTermination,
    /// Value of `Strict-Transport-Security` on answers over TLS, for example `max-age=31536000; includeSubDomains`
    /// as seconds, include-subdomains, preload; `None` sends none.
    pub hsts: Option<Hsts>,
    /// Routes in the order in which they win: exact paths, then regular expressions in their order of trial, then
    /// prefixes from the longest to the shortest.
    pub routes: Vec<Route>,
    /// What happens to requests that no route takes.
    pub fallback: Route,
}

/// The policy of RFC 6797.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hsts {
    /// `max-age` in seconds.
    pub max_age: u64,
    /// `includeSubDomains`.
    pub include_subdomains: bool,
    /// `preload`.
    pub preload: bool,
}

impl Server {
    /// Whether a path that means one thing to nginx and another to a backend could pass by what protects a route: some
    /// route asks for it, and another one, which goes to a backend, is not protected in the same way.
    pub fn needs_strict_paths(&self) -> bool {
        let all = || self.routes.iter().chain([&self.fallback]);
        let strict = || all().filter(|route| route.behaviour.strict_paths);
        let proxied = || all().filter(|route| matches!(route.action, Action::Proxy { .. }));
        // Whoever differs from any of them differs from the first one, or the first one does from another.
        let Some(first) = strict().next() else { return false };
        let differs = |route: &Route| !first.behaviour.protects_like(&route.behaviour);
        proxied().any(differs) || (strict().any(differs) && proxied().next().is_some())
    }

    /// How many routes are each object's own. A fallback is when the object says so.
    pub fn routes_by_object<'a>(
        servers: impl Iterator<Item = &'a Server> + Clone,
    ) -> HashMap<&'a ObjectId, RouteCount> {
        let own = |server: &&Server| server.fallback.origin.field == Field::DefaultBackend;
        let fallbacks = servers.clone().filter(own).map(|server| &server.fallback);
        let mut routes = HashMap::<_, RouteCount>::new();
        for route in servers.flat_map(|server| &server.routes).chain(fallbacks) {
            let count = routes.entry(&*route.origin.object).or_default();
            match route.action {
                Action::Closed => count.closed += 1,
                Action::Proxy { .. } | Action::Redirect { .. } | Action::Respond { .. } => count.open += 1,
            }
        }
        routes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{AccessList, Behaviour, Kind, PathMatch, Protocol, UpstreamId, UrlPath};

    fn route(protection: &str, is_proxied: bool) -> Route {
        let upstream = UpstreamId {
            namespace: "a".into(),
            service: "b".into(),
            port: "80".into(),
            mode: "",
            protocol: Protocol::Http,
        };
        let networks = |text: &str| text.split(',').filter_map(|network| network.parse().ok()).collect();
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::Ingress, "a", "b")));
        let list = |text: &str| Arc::new(AccessList::new(origin.clone(), Vec::new(), networks(text)));
        let strict_paths = protection.starts_with("strict ") || protection == "closed";
        let access = protection.split(' ').nth(1).map(list);
        let action = match is_proxied {
            true => Action::Proxy { upstream },
            false => Action::Respond { status: 503 },
        };
        let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
        let behaviour = Arc::new(Behaviour { access, strict_paths, ..Behaviour::default() });
        Route { origin: Origin::object(&Arc::new(ObjectId::new(Kind::Ingress, "a", "b"))), path, action, behaviour }
    }

    #[test]
    fn paths_have_to_be_strict_where_protections_differ() {
        const ONE: &str = "strict 10.0.0.0/8";
        const OTHER: &str = "strict 192.0.2.0/24";
        let rows: &[(&[(&str, bool)], bool)] = &[
            (&[], false),
            (&[("open", true)], false),
            (&[(ONE, true)], false),
            (&[(ONE, true), (ONE, true)], false),
            (&[(ONE, true), ("open", false)], false),
            (&[(ONE, true), ("open", true)], true),
            (&[("open", true), (ONE, true)], true),
            (&[(ONE, true), (OTHER, true)], true),
            (&[(ONE, false), (OTHER, true)], true),
            (&[(ONE, true), (OTHER, false)], true),
            (&[(ONE, false), (OTHER, false)], false),
            (&[("closed", false), ("open", true)], true),
            (&[("closed", false)], false),
            // Nobody asks for it.
            (&[("loose 10.0.0.0/8", true), ("open", true)], false),
            (&[("loose 10.0.0.0/8", true), (ONE, true)], true),
        ];
        for (routes, expected) in rows {
            let fallback = route("open", false);
            let routes = routes.iter().map(|(protection, is_proxied)| route(protection, *is_proxied)).collect();
            let (name, origin) = (ServerName::CatchAll, fallback.origin.clone());
            let server = Server { name, origin, tls: TlsTermination::Default, hsts: None, routes, fallback };
            assert_eq!(server.needs_strict_paths(), *expected, "{:?}", server.routes);
        }
    }
}
