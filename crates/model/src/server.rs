//! A server: a host name with its routes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::catalogue::Module;
use super::{
    Action, CertificateId, ClientCertificates, Directive, Field, Handler, HostExpression, HostName, Kind, ObjectId,
    Origin, PathMatch, Route, UpstreamId, UrlPath,
};

/// The number of routes of an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteCount {
    /// Those that are served.
    pub open: u32,
    /// Those that answer 503 because a fault of the object closes them.
    pub closed: u32,
}

/// The hosts that a server matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerName {
    /// Hosts that no other server matches.
    CatchAll,
    /// Exactly this host.
    Exact(HostName),
    /// Hosts with exactly one more label in front of this name: `*.example.com` is stored as
    /// `example.com`.
    Wildcard(HostName),
    /// Hosts that match this expression and no server of another kind.
    Expression(HostExpression),
}

/// How a server terminates TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsTermination {
    /// No certificate is requested for the host: the default one is used, and plain requests are
    /// not redirected.
    Default,
    /// The host is listed under `spec.tls` but has no usable certificate: the default one is used,
    /// and plain requests are redirected.
    DefaultDeclared,
    /// The host has a certificate of its own.
    Own(CertificateId),
}

/// Which headers backends get where no route says otherwise. It is the same for a whole host,
/// because nginx keeps headers as one list that a differing location would have to repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum HeaderSet {
    /// The usual headers of proxies, and nginx's default buffers.
    #[default]
    Usual,
    /// Also the headers that backends expect from ingress-nginx; responses are passed on
    /// unbuffered.
    Detailed,
}

/// One host with its routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The hosts that it matches.
    pub name: ServerName,
    /// When several expressions match a host, the one with the lowest number wins; 0 for other
    /// names.
    pub order: u64,
    /// Hosts that are reserved and not served now: the catch-all server lists them, so that no
    /// expression matches them.
    pub reserved: Vec<ServerName>,
    /// The oldest object that defines this host; the comments of the rendered file name it.
    pub origin: Origin,
    /// How TLS is terminated.
    pub tls: TlsTermination,
    /// What it requires of client certificates.
    pub client_certificates: Option<Arc<ClientCertificates>>,
    /// Directives of objects for the whole host, which override those of every server; sorted by
    /// name, without duplicates.
    pub directives: Vec<Directive>,
    /// The HSTS policy, sent in responses by TLS; `None` sends none.
    pub hsts: Option<Hsts>,
    /// Which headers the backends of its routes get.
    pub header_set: HeaderSet,
    /// Routes in order of precedence: exact paths, then regular expressions and prefixes in the
    /// order in which they are tried; prefixes among themselves from the longest to the shortest.
    pub routes: Vec<Route>,
    /// The route for all other requests.
    pub fallback: Route,
}

/// An HSTS policy, RFC 6797.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hsts {
    /// `max-age` in seconds.
    pub max_age: u64,
    /// `includeSubDomains`.
    pub include_subdomains: bool,
    pub preload: bool,
}

/// For which routes of a server paths are refused that nginx and a backend may read differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StrictPaths<'a> {
    /// For none.
    Nowhere,
    /// For all.
    Global,
    /// For the routes of these namespaces.
    Of(BTreeSet<&'a str>),
}

impl StrictPaths<'_> {
    /// Whether paths have to be checked where this handles requests, because not all routes do.
    pub fn concern(&self, handler: &Handler) -> bool {
        matches!(self, StrictPaths::Of(namespaces) if namespaces_of(handler).any(|name| namespaces.contains(name)))
    }
}

/// The namespace of a handler and that of its backend: they differ when the administrator's
/// default backend is used.
fn namespaces_of(handler: &Handler) -> impl Iterator<Item = &str> {
    let own: &str = &handler.origin.object.namespace;
    let other = handler.action.upstream().map(|upstream| &*upstream.namespace).filter(|other| *other != own);
    [own].into_iter().chain(other)
}

impl Server {
    /// The default catch-all server: it answers 404, and 200 for `/healthz`, which load balancers
    /// in front of ingress-nginx request.
    pub fn of_unknown_hosts() -> Option<Self> {
        let object = Arc::new(ObjectId::new(Kind::SETTINGS, "", "unknown-hosts"));
        let origin = Origin { object, field: Field::Object };
        let answer = |path, status| Route::plain(origin.clone(), path, Action::Respond { status });
        let root = PathMatch::Prefix { path: UrlPath::new("/").ok()?, redirect_to_slash: false };
        let health = PathMatch::Exact { path: UrlPath::new("/healthz").ok()?, redirect_to_slash: false };
        let server = Server::usual(ServerName::CatchAll, answer(root, 404));
        Some(Server { routes: vec![answer(health, 200)], ..server })
    }

    /// A host that one route answers, without options of its own. It belongs to the object of the
    /// route.
    pub fn usual(name: ServerName, fallback: Route) -> Self {
        Server {
            name,
            order: 0,
            reserved: Vec::new(),
            origin: fallback.origin.clone(),
            tls: TlsTermination::Default,
            client_certificates: None,
            directives: Vec::new(),
            hsts: None,
            header_set: HeaderSet::Usual,
            routes: Vec::new(),
            fallback,
        }
    }

    /// Whether its TLS handshakes differ from those of other hosts. nginx only respects that for a
    /// server that names a certificate.
    pub fn has_own_handshake(&self) -> bool {
        let is_tls = |directive: &Directive| directive.row.module == Some(Module::Ssl);
        self.client_certificates.is_some() || self.directives.iter().any(is_tls)
    }

    /// The routes in order, and the fallback.
    pub fn all_routes(&self) -> impl Iterator<Item = &Route> + Clone {
        self.routes.iter().chain([&self.fallback])
    }

    /// What handles requests, perhaps one several times.
    pub fn handlers(&self) -> impl Iterator<Item = &Handler> + Clone {
        self.all_routes().flat_map(Route::handlers)
    }

    /// Puts other handlers in the place of some: routes that share one share the other, too.
    pub fn exchange(&mut self, mut other: impl FnMut(&Handler) -> Option<Handler>) {
        // Addresses tell handlers apart as long as all of them stay in memory.
        let mut known = HashMap::<*const Handler, (Arc<Handler>, Option<Arc<Handler>>)>::new();
        for handler in self.routes.iter_mut().chain([&mut self.fallback]).flat_map(Route::handlers_mut) {
            let (_, new) = known
                .entry(Arc::as_ptr(handler))
                .or_insert_with(|| (Arc::clone(handler), other(handler).map(Arc::new)));
            if let Some(new) = new {
                *handler = Arc::clone(new);
            }
        }
    }

    /// The routes for which an ambiguous path could bypass access control: a route of a namespace
    /// is protected, and another one that leads to its backends is not protected in the same way.
    /// Routes of other namespaces do not matter, because they do not lead to its backends.
    pub fn strict_paths(&self) -> StrictPaths<'_> {
        if !self.handlers().any(|handler| handler.behaviour.strict_paths) {
            return StrictPaths::Nowhere;
        }
        let mut handlers: BTreeMap<&str, Vec<&Handler>> = BTreeMap::new();
        for handler in self.handlers() {
            namespaces_of(handler).for_each(|namespace| handlers.entry(namespace).or_default().push(handler));
        }
        handlers.retain(|namespace, handlers| are_protected_differently(namespace, handlers));
        let strict = StrictPaths::Of(handlers.into_keys().collect());
        match self.all_routes().filter(|route| route.handlers().any(|one| strict.concern(one))).count() {
            0 => StrictPaths::Nowhere,
            count if count > self.routes.len() => StrictPaths::Global,
            _ => strict,
        }
    }

    /// The object of each route that answers 503 without a fault that closes it: its Service, its
    /// port or its endpoints are missing, or those of the service that says who may pass. And the
    /// canary of each such route, and of each whose share the main object takes because of that.
    pub fn unanswered(&self, is_empty: impl Fn(&UpstreamId) -> bool) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.routes.iter().chain(self.own_fallback()).flat_map(move |route| {
            let is_missing = |handler: &Handler| handler.action == Action::Respond { status: 503 };
            let own = route.own().any(|handler| is_missing(handler) || handler.lacks_endpoints(&is_empty));
            let mut splits = route.own().filter_map(|handler| Some((handler, handler.action.split()?)));
            let canary = splits.find(|(handler, split)| {
                let mut others = split.upstreams().filter(|other| Some(*other) != handler.action.upstream());
                split.origin.object != route.origin.object && (own || others.next().is_some_and(&is_empty))
            });
            own.then_some(&route.origin.object).into_iter().chain(canary.map(|(_, split)| &split.origin.object))
        })
    }

    /// The fallback, where an object defines it.
    fn own_fallback(&self) -> Option<&Route> {
        Some(&self.fallback).filter(|fallback| fallback.origin.field == Field::DefaultBackend)
    }

    /// The number of routes that each object owns. A fallback counts when the object defines it.
    pub fn routes_by_object<'a>(
        servers: impl ExactSizeIterator<Item = &'a Server>,
    ) -> HashMap<&'a ObjectId, RouteCount> {
        let mut routes = HashMap::<_, RouteCount>::with_capacity(servers.len());
        for server in servers {
            server.count_routes(|id, count| {
                let all = routes.entry(&**id).or_default();
                all.closed += count.closed;
                all.open += count.open;
            });
        }
        routes
    }

    /// Tells how many routes here objects own; one that has some in several places is told again.
    pub fn count_routes<'a>(&'a self, mut report: impl FnMut(&'a Arc<ObjectId>, RouteCount)) {
        // Routes of one object are mostly adjacent.
        let of_objects = self.routes.chunk_by(|one, other| Arc::ptr_eq(&one.origin.object, &other.origin.object));
        for of_object in of_objects.chain(self.own_fallback().map(std::slice::from_ref)) {
            let is_closed = |route: &&Route| route.own().any(|handler| handler.action == Action::Closed);
            let closed = of_object.iter().filter(is_closed).count();
            let count = RouteCount { closed: number(closed), open: number(of_object.len() - closed) };
            report(&of_object[0].origin.object, count);
        }
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Whether a handler of a namespace asks for strict paths, and another one that leads to a backend
/// of it is not protected in the same way, or a service decides by the path.
fn are_protected_differently(namespace: &str, handlers: &[&Handler]) -> bool {
    let asks = |one: &&&Handler| one.behaviour.strict_paths && *one.origin.object.namespace == *namespace;
    let mut strict = handlers.iter().filter(asks);
    let mut proxied = handlers.iter().filter(|one| matches!(one.action, Action::Proxy { .. })).peekable();
    // It is enough to compare all of them with the first one.
    let Some(first) = strict.next() else { return false };
    let differs = |one: &&Handler| !first.behaviour.protects_like(&one.behaviour);
    let is_decided = handlers.iter().filter(asks).any(|one| one.behaviour.external_authentication.is_some());
    proxied.peek().is_some() && (is_decided || strict.any(differs) || proxied.any(differs))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        AccessList, AuthenticationPolicy, Behaviour, Branch, Choice, ExternalAuthentication, HeaderName, Kind,
        PathMatch, Share, Split, Template, UpstreamId, UrlPath,
    };

    /// A route of a namespace that leads to a backend of a namespace, or to none.
    fn route(namespace: &str, protection: &str, backend: &str) -> Route {
        let upstream = UpstreamId::usual(backend, "b", "80");
        let networks = |text: &str| text.split(',').filter_map(|network| network.parse().ok()).collect();
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::INGRESS, namespace, "b")));
        let list = |text: &str| Arc::new(AccessList::new(origin.clone(), Vec::new(), networks(text)));
        let strict_paths = protection.starts_with("strict ") || protection == "closed";
        let access = protection.split(' ').nth(1).map(list);
        let action = match backend {
            "" => Action::Respond { status: 503 },
            _ => Action::Proxy { upstream, split: None },
        };
        let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
        let behaviour = Arc::new(Behaviour { access, strict_paths, ..Behaviour::default() });
        Route::new(path, Handler { origin, action, behaviour, errors: None })
    }

    fn server(routes: Vec<Route>, fallback: Route) -> Server {
        Server { routes, ..Server::usual(ServerName::CatchAll, fallback) }
    }

    const ONE: &str = "strict 10.0.0.0/8";
    const OTHER: &str = "strict 192.0.2.0/24";

    #[test]
    fn paths_have_to_be_strict_where_protections_differ() {
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
            // No route asks for it.
            (&[("loose 10.0.0.0/8", true), ("open", true)], false),
            (&[("loose 10.0.0.0/8", true), (ONE, true)], true),
        ];
        for (routes, expected) in rows {
            let backend = |is_proxied: &bool| if *is_proxied { "a" } else { "" };
            let routes = routes.iter().map(|(protection, is_proxied)| route("a", protection, backend(is_proxied)));
            let server = server(routes.collect(), route("a", "open", ""));
            let expected = if *expected { StrictPaths::Global } else { StrictPaths::Nowhere };
            assert_eq!(server.strict_paths(), expected, "{:?}", server.routes);
        }
    }

    #[test]
    fn paths_are_strict_where_a_service_judges_them() {
        let text = |text: &str| Template::text(text).unwrap();
        let policy = Arc::new(AuthenticationPolicy {
            host: text("auth.example"),
            target: text("/"),
            method: HeaderName::new("GET").unwrap(),
            sign_in: None,
            response_headers: Vec::new(),
            request_headers: Vec::new(),
            request_redirect: None,
            memory: None,
            always_sets_cookie: false,
        });
        let asks = |strict_paths, backend: &str| {
            let one = route("a", "open", backend);
            let service = UpstreamId::usual("a", "auth", "80");
            let asked = ExternalAuthentication { origin: one.origin.clone(), service, policy: Arc::clone(&policy) };
            let external_authentication = Some(Arc::new(asked));
            let behaviour = Behaviour { strict_paths, external_authentication, ..Behaviour::default() };
            Route::new(one.path.clone(), Handler { behaviour: Arc::new(behaviour), ..Handler::clone(&one) })
        };
        for (routes, expected) in [
            (vec![asks(true, "a")], StrictPaths::Global),
            (vec![asks(true, "a"), asks(true, "a")], StrictPaths::Global),
            (vec![asks(false, "a")], StrictPaths::Nowhere),
            (vec![asks(true, "")], StrictPaths::Nowhere),
        ] {
            assert_eq!(server(routes, route("a", "open", "")).strict_paths(), expected);
        }
    }

    #[test]
    fn routes_are_unanswered_once_and_for_the_objects_that_define_them() {
        let one = |backend: &str| route("a", "open", backend);
        let server = server(vec![one("own")], one("other"));
        for (empty, expected) in [("own", 1), ("other", 0)] {
            assert_eq!(server.unanswered(|upstream| *upstream.namespace == *empty).count(), expected, "{empty}");
        }
        let mut defined = server.clone();
        let origin = Origin::field(&server.fallback.origin.object, Field::DefaultBackend);
        defined.fallback.origin = origin.clone();
        defined.fallback.otherwise = Arc::new(Handler { origin, ..Handler::clone(&server.fallback) });
        assert_eq!(defined.unanswered(|upstream| *upstream.namespace == *"other").count(), 1);
        // A canary gets no requests either, where its own Service has endpoints.
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::INGRESS, "a", "canary")));
        let shares = vec![(Choice::Forward(UpstreamId::usual("canary", "b", "80")), Share::of(1, 2))];
        let split = Arc::new(Split { origin, branches: Vec::new(), session: None, shares });
        let mut with_canary = one("own");
        with_canary.action = Action::Proxy { upstream: UpstreamId::usual("own", "b", "80"), split: Some(split) };
        let with_canary = Server { routes: vec![with_canary], ..server.clone() };
        for (empty, expected) in [("own", &["b", "canary"][..]), ("canary", &["canary"]), ("other", &[])] {
            let unanswered = with_canary.unanswered(|upstream| *upstream.namespace == *empty);
            assert_eq!(unanswered.map(|id| &*id.name).collect::<Vec<_>>(), expected, "{empty}");
        }
        // A route counts once, however many handlers it has.
        let mut several = one("own");
        several.branches = vec![Branch { all: Vec::new(), then: Arc::clone(&several.otherwise) }];
        let several = Server { routes: vec![several], ..server };
        assert_eq!(several.unanswered(|upstream| *upstream.namespace == *"own").count(), 1);
    }

    #[test]
    fn paths_of_other_namespaces_have_not_to_be_strict() {
        // Routes with their namespace, protection and the namespace of their backend, the fallback
        // last; and the indices of those that have to be strict.
        type Row<'r> = (&'r [(&'r str, &'r str, &'r str)], &'r [usize]);
        let rows: &[Row<'_>] = &[
            (&[("a", ONE, "a"), ("a", "open", "a"), ("b", "open", "b"), ("b", "open", "")], &[0, 1]),
            (&[("a", ONE, "a"), ("a", "open", "a"), ("b", "open", "b"), ("a", "open", "")], &[0, 1, 3]),
            (&[("a", ONE, "a"), ("b", "open", "b"), ("b", "open", "")], &[]),
            (&[("a", ONE, "a"), ("b", OTHER, "b"), ("b", "open", "")], &[]),
            (&[("a", "closed", ""), ("b", "open", "b"), ("b", "open", "")], &[]),
            (&[("a", "closed", ""), ("a", "open", "a"), ("b", "open", "b"), ("b", "open", "")], &[0, 1]),
            (
                &[("a", ONE, "a"), ("a", "open", "a"), ("b", ONE, "b"), ("b", "open", "b"), ("b", "open", "")],
                &[0, 1, 2, 3, 4],
            ),
            (&[("a", ONE, "a"), ("a", "open", "a"), ("b", ONE, "b"), ("c", "open", "")], &[0, 1]),
            // Other namespaces do not ask for it.
            (&[("a", ONE, "a"), ("b", "loose 10.0.0.0/8", "b"), ("b", "open", "b"), ("b", "open", "")], &[]),
            // The administrator's default backend gets the requests that no path matches, in hosts
            // of all namespaces.
            (&[("d", ONE, "d"), ("b", "open", "b"), ("b", "open", "d")], &[0, 2]),
            (&[("d", "open", "d"), ("b", "open", "b"), ("b", ONE, "d")], &[1, 2]),
            (&[("d", "open", "d"), ("b", ONE, "d")], &[]),
        ];
        for (routes, expected) in rows {
            let mut routes: Vec<_> =
                routes.iter().map(|(namespace, protection, backend)| route(namespace, protection, backend)).collect();
            let fallback = routes.pop().unwrap();
            let server = server(routes, fallback);
            let all: Vec<_> = server.all_routes().collect();
            let strict: Vec<_> = match server.strict_paths() {
                StrictPaths::Nowhere => Vec::new(),
                StrictPaths::Global => (0..all.len()).collect(),
                strict @ StrictPaths::Of(_) => (0..all.len()).filter(|index| strict.concern(all[*index])).collect(),
            };
            assert_eq!(strict, *expected, "{all:?}");
        }
    }
}
