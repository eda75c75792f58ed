//! Builds a server with its routes from the paths of a host.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::authentication;
use super::branches::{self, Conditional};
use super::built::{Built, More};
use super::client_certificates;
use super::mirror;
use super::own_routes::{health, root, settings};
use super::passthrough;
use super::snippets;
use super::tls::{self, Tls};
use crate::admit::admitted::Admitted;
use crate::admit::canary::Canaries;
use crate::claim::claimed::{self, Claim, ClaimedHost, Root};
use crate::read::path::{self, Matching, Text};
use crate::read::port::PortReference;
use crate::read::rule::Backend;
use crate::resolve::backend::{BackendReference, Backends};
use crate::resolve::reached::{UpstreamRole, UpstreamUse};
use crate::value::excerpt;
use crate::{CommonPolicy, Dialect, EndpointMode, Options, Policy};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{
    Action, Argument, Behaviour, ClientCertificates, Directive, Field, Handler, Hsts, HttpsRedirect, Origin,
    Passthrough, PathMatch, Protocol, RefusedVersion, Route, Server, ServerName, Upstream, UpstreamId, UrlPath,
    catalogue,
};

/// The response where nothing is configured.
const NOT_FOUND: Action = Action::Respond { status: 404 };
/// The response where the Service or its port does not exist.
pub const UNAVAILABLE: Action = Action::Respond { status: 503 };

/// Keeps a route from redirecting to https, because the certificate belongs to another namespace.
fn keep_plain(route: &mut Route) {
    if route.behaviour.https_redirect.is_some_and(|redirect| !redirect.forced) {
        Arc::make_mut(&mut route.behaviour).https_redirect = None;
    }
}

/// Inserts a route that closes a path prefix before the first route that would match part of it.
/// Longer prefixes are not affected, and routes with the same prefix go before it, unless that
/// would open what should be protected.
fn insert_closed(routes: &mut Vec<Route>, closed: Route, is_protected: bool) {
    let beginning = |route: &Route| match &route.path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => {
            claimed::beginning(Matching::Prefix, path.as_str())
        }
        PathMatch::Regex(pattern) => claimed::beginning(Matching::Regex, pattern.as_str()),
    };
    let own = beginning(&closed);
    let place = routes.iter().position(|route| {
        let other = beginning(route);
        let is_ours = is_protected && route.origin.object.namespace == closed.origin.object.namespace;
        own.starts_with(&*other) && (other.len() < own.len() || is_ours)
    });
    routes.insert(place.unwrap_or(routes.len()), closed);
}

/// A route, with its conditions as long as it has all its requests.
type Conditioned = (Route, Option<Conditional>);

/// Builds servers.
#[derive(Debug)]
pub struct Servers<'a> {
    /// The administrator's settings.
    pub options: &'a Options,
    /// Upstreams.
    pub backends: Backends<'a>,
    /// Objects that take a share of the requests for the paths of others.
    pub canaries: &'a Canaries<'a, 'a>,
    /// Client certificate rules of objects that are not served.
    pub unserved_rules: &'a client_certificates::Unserved,
    /// The dialect and behaviour of routes that no object defines.
    pub common: &'a CommonPolicy,
    /// The fields of canaries with a main path.
    pub taken: BTreeSet<Origin>,
    /// Those of them whose backend is not there, so that the main path takes all requests.
    pub idle: BTreeSet<Origin>,
    /// Certificates.
    pub tls: Tls<'a>,
    /// Hosts with TLS passthrough.
    pub passed: Vec<Passthrough>,
    /// What is wrong, whatever endpoints there are.
    pub findings: Vec<Finding>,
    /// Which fields lead to upstreams.
    pub uses: Vec<UpstreamUse>,
    /// The upstreams whose lack of endpoints is in a server, and whether they lacked some.
    pub asked: Vec<(UpstreamId, bool)>,
    /// Object versions with a path that cannot be served as written: an earlier version is better,
    /// if there is one.
    pub refused: Vec<RefusedVersion>,
}

impl<'a> Servers<'a> {
    /// Builds a host.
    pub fn build(&mut self, name: &ServerName, claimed: &ClaimedHost<'_, 'a>) -> Built {
        let server = self.server(name, claimed);
        self.backends.dependencies.extend(tls::dependencies(&claimed.objects, self.options));
        self.take(server)
    }

    fn server(&mut self, name: &ServerName, claimed: &ClaimedHost<'_, 'a>) -> Option<Server> {
        let oldest = *claimed.objects.first()?;
        let (tls, decided_by) = self.tls.of_host(name, &claimed.objects);
        let literal =
            claimed.claims.iter().filter(|claim| matches!(claim.matching, Matching::Exact | Matching::Prefix));
        let mut taken: Vec<_> = literal.map(|claim| claim.path.as_str()).collect();
        taken.sort_unstable();
        let (mut routes, mut closed) = (Vec::with_capacity(claimed.claims.len()), Vec::new());
        let mut conditional = Vec::new();
        for claim in &claimed.claims {
            match self.route(name, claim, &taken) {
                Ok((route, _)) if path::is_never_matched(&route.path) => {}
                Ok((route, asked)) => {
                    routes.push(route);
                    conditional.extend(asked);
                }
                Err(route) => closed.push((route, claim.object.is_protected)),
            }
        }
        closed.into_iter().for_each(|(route, is_protected)| insert_closed(&mut routes, *route, is_protected));
        let is_free = |path: &str| claimed.claims.iter().all(|claim| claim.path.as_str() != path);
        if *name == ServerName::CatchAll && oldest.attached.class.dialect.health.is_some_and(is_free) {
            // Expressions take precedence over it, as in ingress-nginx.
            let is_before = |route: &Route| !matches!(route.path, PathMatch::Prefix { .. });
            let place = routes.iter().position(|route| !is_before(route)).unwrap_or(routes.len());
            routes.splice(place..place, health(oldest.attached.class.dialect));
        }
        self.app_root(name, claimed, &mut routes);
        let mut fallback = self.fallback(name, claimed)?;
        if let Some((host, origin)) = &claimed.redirect {
            let action = Action::ToHost { status: self.options.redirect_status, host: host.clone() };
            // A browser keeps what Strict-Transport-Security says only when it hears it by https.
            let asking = claimed.objects.iter().find(|object| *object.id() == origin.object);
            let https_redirect = asking.and_then(|object| object.policy.behaviour.https_redirect);
            // Without TLS of its own, the host that is redirected to may have it.
            let https_redirect = https_redirect.map(|redirect| HttpsRedirect { forced: false, ..redirect });
            let behaviour = Arc::new(Behaviour { https_redirect, ..Behaviour::default() });
            let handler = Handler { origin: origin.clone(), action, behaviour, errors: fallback.errors.clone() };
            fallback = Route::new(fallback.path, handler);
        }
        self.keep_challenges(claimed, oldest.attached.class.dialect, &mut routes);
        // The list stays in memory as long as the host.
        routes.shrink_to_fit();
        let mut server = Server {
            order: claimed.order,
            origin: Origin::object(oldest.id()),
            tls,
            directives: claimed::directives(name, claimed, &mut self.findings),
            hsts: self.hsts(oldest.attached.class.dialect),
            header_set: oldest.attached.class.dialect.header_set,
            routes,
            ..Server::usual(name.clone(), fallback)
        };
        client_certificates::apply(&mut server, claimed, self.unserved_rules, &mut self.findings);
        // Where client certificates are required, plain requests are redirected to https, also
        // where the certificate of the host is of another namespace.
        let chooses = server.client_certificates.as_deref().is_some_and(ClientCertificates::chooses);
        if let Some(namespace) = decided_by.filter(|_| !chooses) {
            let all = server.routes.iter_mut().chain([&mut server.fallback]);
            all.filter(|route| *route.origin.object.namespace != *namespace).for_each(keep_plain);
        }
        passthrough::settle(&mut server, claimed, &mut self.findings);
        if let Some(claim) = claimed.passing() {
            self.pass(&server.name, claim);
        }
        authentication::exempt(&mut server, self.options);
        authentication::apply(self, &mut server, claimed, &conditional);
        snippets::apply(&mut server, claimed, &self.options.limits, &mut self.findings);
        branches::complete(&mut server, &conditional, &mut self.findings);
        mirror::apply(self, &mut server, claimed);
        Some(server)
    }

    /// Passes TLS of a host through to the backend of a claim. If its object is closed, so is the
    /// host.
    fn pass(&mut self, name: &ServerName, claim: &Claim<'_, 'a>) {
        let is_closed = claim.closed || claim.object.policy.reading.closed;
        let reference = self.reference(claim.object, Some(claim.backend), &claim.origin).ok();
        let action = reference.filter(|_| !is_closed).map(|reference| {
            let (protocol, balance, tls, reuse) = (Some(Protocol::Tcp), None, None, None);
            self.proxy(&BackendReference { protocol, balance, tls, reuse, ..reference }, &claim.origin)
        });
        let upstream = action.as_ref().and_then(Action::upstream).cloned();
        self.passed.push(Passthrough { name: name.clone(), origin: claim.origin.clone(), upstream });
    }

    /// Redirects requests for `/`, when that is asked for and no other namespace had that path
    /// before.
    fn app_root(&mut self, name: &ServerName, claimed: &ClaimedHost<'_, 'a>, routes: &mut Vec<Route>) {
        // All requests are redirected, and those for `/` again from the target.
        let (None, Some(oldest), Ok(path)) = (&claimed.redirect, claimed.objects.first(), UrlPath::new("/")) else {
            return;
        };
        let path = PathMatch::Exact { path, redirect_to_slash: false };
        if claimed.root == Root::Nobody {
            let (origin, action) = (Origin::object(oldest.id()), self.daemon_backend(oldest.attached.class.dialect));
            routes.insert(0, Route::plain(origin, path, action));
            self.report_of_older_redirect(claimed, None);
            return;
        }
        let Some(root) = claimed::settle(name, claimed, |host| host.app_root.as_ref(), &mut self.findings) else {
            return;
        };
        if claimed.root == Root::Other {
            let note = "another namespace has the path / of the host, and its requests are not redirected; remove \
                        this key";
            self.findings.push(Finding::new(Reason::HostRuleConflict, root.origin.clone(), note));
            return;
        }
        let action = Action::Redirect { status: 302, location: (&root.target).into() };
        let row = &catalogue::ABSOLUTE_REDIRECT;
        // A relative redirect stays on the same host, whatever is in front of nginx.
        let relative = Directive { row, arguments: vec![Argument::Switch(false)], origin: root.origin.clone() };
        let behaviour = Arc::new(Behaviour { directives: vec![relative], ..Behaviour::default() });
        let handler = Handler { origin: root.origin.clone(), action, behaviour, errors: None };
        routes.insert(0, Route::new(path, handler));
        self.report_of_older_redirect(claimed, Some(&root.origin.object.namespace));
    }

    /// Tells other namespaces that have the path `/` that they get no requests for `/` itself.
    fn report_of_older_redirect(&mut self, claimed: &ClaimedHost<'_, 'a>, owner: Option<&str>) {
        let is_root = |claim: &&Claim<'_, '_>| claimed::beginning(claim.matching, claim.path.as_str()).is_empty();
        let others = claimed.claims.iter().filter(is_root);
        let others = others.filter(|claim| owner.is_none_or(|owner| *claim.origin.object.namespace != *owner));
        let findings = others.map(|claim| {
            let (reason, gets) = match claim.matching {
                Matching::Exact => (Reason::PathConflict, "none; use another path or host"),
                _ => (Reason::SharedHost, "the others; use another host if that is not intended"),
            };
            let note = format!(
                "another namespace asked first to redirect requests for / itself (`app-root`), and this path gets {gets}"
            );
            Finding::new(reason, claim.origin.clone(), note)
        });
        self.findings.extend(findings);
    }

    /// Keeps challenges of certificate authorities, which are the owner's of the host, from the
    /// path of another namespace that would take them.
    fn keep_challenges(&mut self, claimed: &ClaimedHost<'_, 'a>, dialect: &'static Dialect, routes: &mut Vec<Route>) {
        let Some((before, path)) = claimed.challenges.as_ref().zip(claimed::of_challenges()) else { return };
        let path = PathMatch::Prefix { path, redirect_to_slash: false };
        let place = routes.iter().position(|route| route.origin == *before);
        let Some(place) = place.filter(|_| routes.iter().all(|route| route.path != path)) else { return };
        let (origin, action) = (Origin::object(&settings()), self.daemon_backend(dialect));
        routes.insert(place, Route::plain(origin, path, action));
    }

    /// Takes the result of this host, without those before it.
    fn take(&mut self, server: Option<Server>) -> Built {
        let mut findings = std::mem::take(&mut self.findings);
        findings.append(&mut self.tls.findings);
        let mut refused = std::mem::take(&mut self.refused);
        refused.append(&mut self.tls.refused);
        let mut dependencies = std::mem::take(&mut self.backends.dependencies);
        self.asked.dedup();
        dependencies.sort_unstable();
        dependencies.dedup();
        let more = More {
            certificates: self.tls.used(),
            uses: std::mem::take(&mut self.tls.uses),
            passed: std::mem::take(&mut self.passed),
            taken: std::mem::take(&mut self.taken),
            idle: std::mem::take(&mut self.idle),
            asked: std::mem::take(&mut self.asked),
            names: std::mem::take(&mut self.backends.names),
            refused,
        };
        Built {
            server: server.map(Arc::new),
            upstreams: std::mem::take(&mut self.backends.used).into(),
            findings: findings.into(),
            uses: std::mem::take(&mut self.uses).into(),
            dependencies: dependencies.into(),
            resolutions: self.backends.take_resolutions(),
            more: more.boxed(),
        }
    }

    /// The catch-all server, when no Ingress defines it and the settings name a backend.
    pub fn build_catch_all(&mut self) -> Built {
        let server = self.catch_all();
        self.take(server)
    }

    fn catch_all(&mut self) -> Option<Server> {
        self.options.default_backend.as_ref()?;
        let origin = Origin::object(&settings());
        let CommonPolicy { dialect, policy: Policy { reading, behaviour } } = self.common.clone();
        let action = if reading.closed { Action::Closed } else { self.daemon_backend(dialect) };
        let handler = Handler { origin: origin.clone(), action, behaviour, errors: None };
        let mut fallback = Route::new(root()?, handler);
        if let Some(requested) = &reading.authentication {
            authentication::apply_to(self, &mut fallback, requested);
        }
        let (routes, hsts) = (health(dialect).into_iter().collect(), self.hsts(dialect));
        Some(Server { origin, hsts, header_set: dialect.header_set, routes, fallback, ..Server::of_unknown_hosts()? })
    }

    /// The route of a claim; if that cannot be written, a route that closes its prefix.
    fn route(&mut self, name: &ServerName, claim: &Claim<'_, 'a>, taken: &[&str]) -> Result<Conditioned, Box<Route>> {
        let offer = self.canaries.of_path(&claim.object.id().namespace, name, &claim.path, claim.kind);
        self.taken.extend(offer.map(|offer| offer.origin.clone()));
        let (reading, dialect) = (&claim.object.policy.reading, claim.object.attached.class.dialect);
        let bare_is_taken =
            claim.path.as_str().strip_suffix('/').is_some_and(|bare| taken.binary_search(&bare).is_ok());
        let (shared, kind) = (&claim.object.policy.behaviour, claim.kind);
        let matched = path::path_match(claim.matching, dialect, &claim.path, bare_is_taken);
        let behaviour = path::behaviour(reading, shared, dialect, kind, claim.matching, &claim.path);
        match (matched, behaviour) {
            (Ok(path), Ok(behaviour)) => {
                if claim.stays_text.is_some() || path::is_like_an_expression(claim.matching, &claim.path) {
                    self.report_of_literal_path(&claim.path, claim.stays_text.as_deref(), &claim.origin);
                }
                if let Some(instead) = path::is_unmatched(claim.matching, &claim.path) {
                    self.report_of_unmatched_path(&claim.path, instead, &claim.origin);
                }
                let to_url = behaviour.rewrite.as_ref().is_some_and(|rewrite| rewrite.target.is_url());
                let ((action, errors), conditional) = self.answers(claim, to_url);
                let action = self.with_canary(action, claim.object, offer);
                let handler = Handler { origin: claim.origin.clone(), action, behaviour, errors };
                Ok((Route::new(path, handler), conditional))
            }
            (Err(refused), _) | (_, Err(refused)) => {
                // Without a route its requests would reach another one, which may not be
                // protected.
                let note = format!("it cannot be used: {refused}; paths that begin like it answer 503");
                self.findings.push(Finding::new(Reason::InvalidPath, claim.origin.clone(), note));
                self.refused.push(claim.object.attached.intent.of.refused(Reason::InvalidPath));
                let above = claimed::above(&claim.path);
                let path = path::path_match(Matching::Caseless, dialect, &above, true);
                let path = path.unwrap_or(PathMatch::Prefix { path: above, redirect_to_slash: false });
                let behaviour = Arc::clone(shared);
                let (origin, action) = (claim.origin.clone(), Action::Closed);
                Err(Box::new(Route::new(path, Handler { origin, action, behaviour, errors: None })))
            }
        }
    }

    /// The route for requests of a host that no path matches: the default backend of an object of
    /// the host, that of the daemon, or 404. Rewrites belong to paths and have no effect here.
    fn fallback(&mut self, name: &ServerName, claimed: &ClaimedHost<'_, 'a>) -> Option<Route> {
        let oldest = *claimed.objects.first()?;
        let dialect = oldest.attached.class.dialect;
        // In ingress-nginx the automatic location belongs to the oldest object whether or not it
        // has a backend for it.
        let has_one = |object: &&Admitted<'a>| object.default_backend().is_some();
        let is_of_oldest = dialect.rest_is_of_oldest && *name != ServerName::CatchAll;
        let owner = match is_of_oldest {
            _ if claimed.is_without_owner => None,
            true => Some(oldest).filter(has_one),
            // The namespace that claimed the host first decides about requests that no path
            // matches.
            false => {
                let home =
                    claimed.objects.iter().copied().take_while(|object| object.id().namespace == oldest.id().namespace);
                let mut home = home.filter(has_one);
                home.find(|object| {
                    *name != ServerName::CatchAll || self.options.may_be_catch_all(&object.id().namespace)
                })
            }
        };
        let object = owner.unwrap_or(oldest);
        let origin = match owner {
            Some(owner) => Origin::field(owner.id(), Field::DefaultBackend),
            None => Origin::object(oldest.id()),
        };
        for loser in
            claimed.objects.iter().filter(|loser| loser.default_backend().is_some() && loser.id() != object.id())
        {
            self.findings.push(claimed::conflict(&Origin::field(loser.id(), Field::DefaultBackend), &origin));
        }
        let action = match owner {
            Some(owner) => self.action(owner, owner.default_backend(), &origin),
            None if claimed.is_without_owner => self.daemon_backend(dialect),
            None if object.policy.reading.closed => Action::Closed,
            None => match &object.policy.reading.redirect {
                Some((status, location)) if is_of_oldest => {
                    Action::Redirect { status: *status, location: location.clone() }
                }
                _ => self.daemon_backend(dialect),
            },
        };
        let backend = owner.and_then(Admitted::default_backend);
        let (action, errors) = self.with_errors(action, object, backend);
        let behaviour = Arc::clone(&object.policy.behaviour);
        Some(Route::new(root()?, Handler { origin, action, behaviour, errors }))
    }

    /// Notes that a path that is read as text may be meant as an expression.
    pub fn report_of_literal_path(&mut self, path: &UrlPath, why: Option<&Text>, origin: &Origin) {
        let because = match why {
            None => "because nothing makes it a regular expression".to_owned(),
            Some(Text::NoExpression(refused)) => {
                format!("although the host has regular expressions, because as one it would be refused: {refused}")
            }
            Some(Text::Protection) => {
                "although the host has regular expressions, because as one it would take requests \
                of a protected path; if it is to do that, set use-regex in this object"
                    .to_owned()
            }
        };
        let note = format!("{} is read as text, {because}", excerpt(path.as_str()));
        self.findings.push(Finding::new(Reason::LiteralPath, origin.clone(), note));
    }

    /// Notes that no request has a path like this.
    fn report_of_unmatched_path(&mut self, path: &UrlPath, instead: Option<String>, origin: &Origin) {
        let remedy = instead.map_or_else(|| "remove it".to_owned(), |path| format!("write {}", excerpt(&path)));
        let note = format!(
            "no request has the path {}: nginx decodes escapes such as %20 and resolves //, /./ and /../ before it \
                compares paths; {remedy}",
            excerpt(path.as_str())
        );
        self.findings.push(Finding::new(Reason::LiteralPath, origin.clone(), note));
    }

    /// Where the requests for a path go.
    pub fn action(&mut self, object: &Admitted<'a>, backend: Option<Backend<'a>>, origin: &Origin) -> Action {
        if object.policy.reading.closed {
            self.report_behind_closed(object, backend, origin);
            return Action::Closed;
        }
        if let Some((status, location)) = &object.policy.reading.redirect {
            return Action::Redirect { status: *status, location: location.clone() };
        }
        match self.reference(object, backend, origin) {
            Ok(reference) => {
                let action = self.proxy(&reference, origin);
                self.report_without_tls(object, &action);
                action
            }
            Err(answer) => answer,
        }
    }

    /// Adds the findings about the Service of a closed route, so that its author sees everything
    /// at once. Its upstream is not needed, and DNS is not asked for its name. What a limit has
    /// closed is not looked at.
    fn report_behind_closed(&mut self, object: &Admitted<'a>, backend: Option<Backend<'a>>, origin: &Origin) {
        if object.closed_rules.is_some() {
            return;
        }
        let (used, names, uses) = (self.backends.used.len(), self.backends.names.len(), self.uses.len());
        if let Ok(reference) = self.reference(object, backend, origin) {
            self.proxy(&reference, origin);
        }
        self.backends.used.truncate(used);
        self.backends.names.truncate(names);
        self.uses[uses..].iter_mut().for_each(|one| one.role = UpstreamRole::BehindClosed);
    }

    /// An action for the first port of a Service.
    pub fn first_port(
        &mut self,
        namespace: &'a str,
        service: &'a str,
        mode: EndpointMode,
        dialect: &'static Dialect,
        protocol: Option<Protocol>,
        origin: &Origin,
    ) -> Action {
        let reference = BackendReference {
            namespace,
            service,
            port: PortReference::First,
            dialect,
            mode,
            by_cluster_address: false,
            protocol,
            balance: None,
            tls: None,
            reuse: None,
        };
        self.proxy(&reference, origin)
    }

    /// A finding when TLS settings for a backend have no effect, because it does not use TLS.
    fn report_without_tls(&mut self, object: &Admitted<'a>, action: &Action) {
        if let (Some(requested), Some(upstream)) = (&object.policy.reading.backend_tls, action.upstream())
            && upstream.tls.is_none()
        {
            let note = format!(
                "it has no effect on requests to Service {:?}, because nginx does not use TLS there; set \
                    backend-protocol: HTTPS or backend-protocol: GRPCS",
                &*upstream.service
            );
            self.findings.push(Finding::new(Reason::NoEffectAlone, requested.origin.clone(), note));
        }
    }

    /// The upstream of a backend, or the response when there is none.
    pub fn reference(
        &mut self,
        object: &Admitted<'a>,
        backend: Option<Backend<'a>>,
        origin: &Origin,
    ) -> Result<BackendReference<'a>, Action> {
        let Some((service, port)) = backend.and_then(|backend| Some((backend.service?, backend.port))) else {
            let note = "the backend is not a Service; only Services are served";
            self.findings.push(Finding::new(Reason::UnsupportedBackend, origin.clone(), note));
            return Err(UNAVAILABLE);
        };
        let Some(port) = port else {
            let note = "the backend names no port; name one by number or by name";
            self.findings.push(Finding::new(Reason::MissingPort, origin.clone(), note));
            return Err(UNAVAILABLE);
        };
        let (namespace, dialect) = (&*object.id().namespace, object.attached.class.dialect);
        let mode = object.mode(self.options);
        let protocol = object.policy.reading.protocol;
        let tls = object.policy.reading.backend_tls.as_ref().map(|requested| Arc::clone(&requested.tls));
        let (balance, by_cluster_address) =
            (object.policy.reading.balance.clone(), object.policy.reading.by_cluster_address);
        let reuse = None;
        Ok(BackendReference {
            namespace,
            service,
            port,
            dialect,
            mode,
            by_cluster_address,
            protocol,
            balance,
            tls,
            reuse,
        })
    }

    pub fn proxy(&mut self, reference: &BackendReference<'a>, origin: &Origin) -> Action {
        let resolution = self.backends.resolve(reference);
        let findings =
            resolution.notes.iter().map(|(reason, note)| Finding::new(*reason, origin.clone(), note.clone()));
        self.findings.extend(findings);
        let Some(Upstream { id: upstream, .. }) = resolution.target.as_deref() else { return UNAVAILABLE };
        self.lead(upstream, origin, UpstreamRole::Backend);
        Action::Proxy { upstream: upstream.clone(), split: None }
    }

    /// Notes that a field leads to an upstream.
    pub fn lead(&mut self, upstream: &UpstreamId, origin: &Origin, role: UpstreamRole) {
        self.uses.push(UpstreamUse { upstream: upstream.clone(), origin: origin.clone(), role });
    }

    /// Whether an upstream has no endpoints. What asks is built again when that changes.
    pub fn lacks_endpoints(&mut self, upstream: &UpstreamId) -> bool {
        let lacks = self.backends.is_without_endpoints(upstream);
        self.asked.push((upstream.clone(), lacks));
        lacks
    }

    fn daemon_backend(&mut self, dialect: &'static Dialect) -> Action {
        let Some((namespace, service)) = &self.options.default_backend else { return NOT_FOUND };
        self.first_port(namespace, service, self.options.endpoints, dialect, None, &Origin::object(&settings()))
    }

    fn hsts(&self, dialect: &'static Dialect) -> Option<Hsts> {
        let hsts = self.options.hsts;
        let (max_age, include_subdomains, preload) = (hsts.max_age, hsts.include_subdomains, hsts.preload);
        let enabled = hsts.enabled.unwrap_or(dialect.sends_hsts);
        enabled.then_some(Hsts { max_age, include_subdomains, preload })
    }
}
