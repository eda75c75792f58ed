//! Estimates the cost of a whole model by namespace, including what several namespaces share.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::{
    BACKEND_TLS, CERTIFICATE, CERTIFICATE_MEMORY, CONDITION, Cost, HASHED, LONGEST_CHAIN, NAMED, NAMED_ENDPOINT,
    NOTHING, PASSTHROUGH, SESSION, SPLIT, STREAM, bytes, target_length,
};
use crate::catalogue::Module;
use crate::{
    Action, Behaviour, ClientCertificates, CorsPart, Handler, ListMark, Model, PathMatch, RewritePattern, Server,
    ServerName, SessionCookie, Split, Tables, TlsTermination, UpstreamId, Variables,
};

/// The cost of each namespace, sorted by name. The cost of what belongs to no namespace, such as
/// the settings, has an empty name. What several namespaces share is counted for the first.
pub fn by_namespace(model: &Model, tables: &Tables) -> Vec<(Arc<str>, Cost)> {
    let mut costs = Costs::default();
    for server in &model.servers {
        costs.add_server(server, tables);
    }
    for (upstream, endpoints) in tables.rows(&model.upstreams) {
        let namespace = &upstream.id.namespace;
        let files = u64::from(endpoints.is_empty());
        costs.add(namespace, Cost { files, ..NOTHING });
        costs.add(namespace, Cost::of_upstream(endpoints.len()));
        if let Some(balance) = &upstream.id.balance {
            costs.named.entry(Arc::clone(namespace)).or_default().of_balance(balance);
            let weights = endpoints.iter().map(|endpoint| u64::from(endpoint.weight));
            costs.add(namespace, HASHED * weights.sum::<u64>());
        }
        if upstream.id.naming_cookie().is_some() {
            costs.add(namespace, NAMED);
            costs.add(namespace, NAMED_ENDPOINT * bytes(endpoints.len()));
        }
    }
    for stream in &model.streams {
        costs.add(&stream.origin.object.namespace, STREAM);
    }
    for passthrough in &model.passthroughs.hosts {
        costs.add(&passthrough.origin.object.namespace, PASSTHROUGH);
    }
    for (upstream, endpoints) in tables.rows(&model.stream_upstreams) {
        costs.add(&upstream.id.namespace, Cost::of_upstream(endpoints.len()));
    }
    for certificate in &model.certificates {
        let namespace = &certificate.origin.object.namespace;
        costs.add(namespace, CERTIFICATE);
    }
    for authority in &model.authorities {
        let files = 1 + u64::from(authority.revoked.is_some());
        costs.add(&authority.origin.object.namespace, Cost { files, ..NOTHING });
    }
    for file in &model.password_files {
        costs.add(&file.origin.object.namespace, Cost { files: 1, ..NOTHING });
    }
    for (namespace, named) in std::mem::take(&mut costs.named) {
        costs.add(&namespace, Cost::of_variables(named.names().count()));
    }
    let sum = costs.all.values().fold(NOTHING, |mut sum, cost| {
        sum += *cost;
        sum
    });
    for (namespace, cost) in &mut costs.all {
        *cost = Cost { zone_bytes: cost.zones * model.zone_size(namespace).0, ..cost.among(&sum) };
    }
    costs.all.into_iter().collect()
}

/// The costs while they are summed up.
#[derive(Debug, Default)]
struct Costs<'m> {
    all: BTreeMap<Arc<str>, Cost>,
    /// Limits that are counted already, by their address in memory, because all routes of an
    /// object share them; lists and variables of CORS, which may be equal in any objects.
    limits: HashSet<usize>,
    lists: HashSet<ListMark>,
    cors: HashSet<CorsPart>,
    /// Where a cookie names endpoints, each upstream has one of its own.
    sessions: HashSet<(&'m SessionCookie, Option<&'m UpstreamId>)>,
    splits: HashSet<(&'m Split, &'m UpstreamId)>,
    /// The variables in the texts of each namespace.
    named: BTreeMap<Arc<str>, Variables>,
}

impl<'m> Costs<'m> {
    fn add(&mut self, namespace: &Arc<str>, cost: Cost) {
        match self.all.get_mut(namespace) {
            Some(sum) => *sum += cost,
            None => {
                self.all.insert(Arc::clone(namespace), cost);
            }
        }
    }

    fn add_server(&mut self, server: &'m Server, tables: &Tables) {
        let namespace = &server.origin.object.namespace;
        self.add(namespace, Cost::of_host());
        if let ServerName::Expression(name) = &server.name {
            self.add(namespace, Cost::of_expression(name.as_str()));
        }
        if let TlsTermination::Own(id) = &server.tls {
            let length = tables.certificates.get(id).map_or(0, |certificate| certificate.chain.len());
            self.add(namespace, Cost::of_tls_host(LONGEST_CHAIN));
            self.add(namespace, Cost { memory: CERTIFICATE_MEMORY * bytes(length), ..NOTHING });
        }
        let asked = server.client_certificates.as_deref();
        if let Some(asked) = asked {
            self.add(&asked.origin.object.namespace, Cost::of_client_certificates(asked));
        }
        self.add(namespace, Cost::of_host_directives(&server.directives));
        let guarded = server.handlers();
        let guarded = guarded.filter_map(|handler| Some((&handler.origin, handler.behaviour.firewall.as_deref()?)));
        if let Some((origin, firewall)) = guarded.max_by_key(|(_, firewall)| firewall.core_rules) {
            self.add(&origin.object.namespace, Cost::of_firewall(firewall));
        }
        let has_tls = asked.is_some_and(ClientCertificates::chooses) || server.tls != TlsTermination::Default;
        let strict = server.strict_paths();
        for route in server.all_routes() {
            if !route.branches.is_empty() {
                let conditions = route.branches.iter().map(|branch| branch.all.len()).sum::<usize>();
                self.add(&route.origin.object.namespace, SPLIT * bytes(conditions));
            }
            for handler in route.handlers() {
                self.add_handler(&route.path, handler, has_tls);
                let namespace = &handler.origin.object.namespace;
                let locations = locations(handler);
                if handler.action.module() == Some(Module::FastCgi) {
                    self.add(namespace, Cost::of_fastcgi(handler.behaviour.fastcgi.as_deref()));
                }
                if let Some(asked) = asked {
                    self.add(namespace, Cost::of_guarded_path(asked) * locations);
                }
                if strict.concern(handler) {
                    self.add(namespace, Cost::of_strict_path() * locations);
                }
                if handler.writes_decoded_path() {
                    self.add(namespace, CONDITION * locations);
                }
            }
        }
        self.add_subrequests(server);
    }

    /// Adds the requests that nginx makes to authentication services and mirrors. Routes with the
    /// same ones share the internal locations.
    fn add_subrequests(&mut self, server: &'m Server) {
        let (mut questions, mut copies) = (HashSet::new(), HashSet::new());
        for handler in server.handlers() {
            let namespace = &handler.origin.object.namespace;
            let named = self.named.entry(Arc::clone(namespace)).or_default();
            named.of_behaviour(&handler.behaviour);
            if let Action::Redirect { location, .. } = &handler.action {
                named.of_target(location);
            }
            let external = handler.behaviour.external_authentication.as_deref();
            let mirror = handler.behaviour.mirror.as_deref();
            mirror.iter().for_each(|mirror| named.of_copy(&mirror.policy));
            if let Some(external) = external {
                named.of_question(&external.policy);
                self.add(namespace, Cost::of_asking(&external.policy) * locations(handler));
                if questions.insert((&external.service, &external.policy)) {
                    self.add(&external.origin.object.namespace, Cost::of_question(&external.policy));
                }
            }
            if let Some(mirror) = mirror {
                self.add(namespace, Cost::of_copying() * locations(handler));
                let reported = external.map_or(&[][..], |external| &external.policy.response_headers[..]);
                if copies.insert((&mirror.service, &mirror.policy, reported)) {
                    self.add(&mirror.origin.object.namespace, Cost::of_copy(&mirror.policy, reported.len()));
                }
            }
        }
    }

    fn add_handler(&mut self, path: &'m PathMatch, handler: &'m Handler, has_tls: bool) {
        let namespace = &handler.origin.object.namespace;
        let behaviour: &'m Behaviour = &handler.behaviour;
        let (path, mut texts, expression) = match path {
            PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => (path.as_str().len(), 0, None),
            PathMatch::Regex(pattern) => (pattern.as_str().len(), 0, Some(pattern)),
        };
        if let Action::Redirect { location, .. } = &handler.action {
            texts += target_length(location.parts());
        }
        if let Some(rewrite) = &behaviour.rewrite {
            texts += target_length(rewrite.target.parts());
            texts += match &rewrite.pattern {
                RewritePattern::Unanchored(pattern) | RewritePattern::Anchored(pattern) => pattern.as_str().len(),
                RewritePattern::Whole => 0,
            };
        }
        let mut cost = Cost::of_route(path, texts, behaviour, has_tls);
        cost = Cost { routes: cost.routes, ..cost * locations(handler) };
        cost += Cost::of_stand_in() * u64::from(handler.has_stand_in());
        if let Some(pattern) = expression {
            cost += Cost::of_expression(pattern.as_str());
        }
        if handler.action.upstream().is_some_and(|upstream| upstream.tls.is_some()) {
            cost += BACKEND_TLS;
        }
        if let Some(list) = behaviour.access.as_deref()
            && let Some(mark) = behaviour.referred_list()
            && self.lists.insert(mark)
        {
            cost += Cost::of_list(list);
        }
        for part in behaviour.cors.iter().flat_map(|cors| cors.parts()) {
            let price = Cost::of_cors(&part);
            if self.cors.insert(part) {
                cost += price;
            }
        }
        if let Some(session) = &behaviour.session {
            let named = handler.action.upstream().filter(|upstream| upstream.naming_cookie().is_some());
            let others = named.and(handler.action.split()).into_iter().flat_map(Split::upstreams).map(Some);
            for upstream in [named].into_iter().chain(others) {
                if self.sessions.insert((&session.cookie, upstream)) {
                    cost += SESSION;
                }
            }
        }
        if let Some(limits) = &behaviour.limits
            && self.limits.insert(Arc::as_ptr(limits).addr())
        {
            cost += Cost::of_limits(limits);
        }
        if let Action::Proxy { upstream, split: Some(split) } = &handler.action
            && self.splits.insert((split, upstream))
        {
            self.add(&split.origin.object.namespace, SPLIT);
        }
        self.add(namespace, cost);
    }
}

/// How many locations a handler has: one more for another backend that stands in.
fn locations(handler: &Handler) -> u64 {
    1 + u64::from(handler.has_stand_in())
}
