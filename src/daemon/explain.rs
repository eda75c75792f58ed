//! Why a request is answered as it is: what takes it, and each option that counts there with the
//! place where it was written.

mod address;
mod answer;
mod expression;
mod listing;
mod location;
mod taken;

pub use address::Address;
use expression::matches;
pub use expression::matches_host;
pub use listing::Listed;

use std::sync::Arc;

use address::Taker;
use answer::Answer;
use location::Location;
pub use location::location;
use serde_json::{Value, json};

use ingressd_config::{Settings, rows};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{
    Action, Directive, Effective, Endpoint, Field, Handler, Model, ObjectId, Origin, Passthrough, Route, Server,
    ServerName, StrictPaths, Tables, UpstreamId, Written, WrittenAt,
};
use ingressd_nginx::render::{has_own_tls, to_https};
use ingressd_nginx::{Listen, SiteTaking, SitesBeside};
use ingressd_objects::Snapshot;
use ingressd_translate::annotation::argument_words;
use ingressd_translate::{self, ANNOTATIONS, Readers, Scope, effective_annotations};

/// What happens to a path that is refused where paths are strict.
const STRICT: &str = "is answered 400, because nginx and a backend may read the path differently (access.strict-paths)";

/// What happens to a path that could end a line in which it would be written.
const LINES: &str =
    "is answered 400, because nginx would write the control characters of the path into a header, a redirect or a log";

/// What nginx was given last, and what that was made of.
#[derive(Debug)]
pub struct InForce {
    /// The settings under the ConfigMap that they name.
    pub settings: Arc<Settings>,
    /// The options of the translation.
    pub options: ingressd_translate::Options,
    /// How it reads objects.
    pub readers: Readers,
    /// The objects, where a last good version counts that one.
    pub snapshot: Snapshot,
    /// What traffic does.
    pub model: Arc<Model>,
    /// The endpoints of its upstreams; empty where an earlier run left what is in force.
    pub tables: Arc<Tables>,
    /// The upstreams that have no endpoints.
    pub without_endpoints: Vec<UpstreamId>,
    /// The other sites of this nginx on the same sockets.
    pub sites_beside: SitesBeside,
}

/// An option with the value that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// Its key: that of an annotation with the prefix, that of a setting, or the name of a
    /// directive.
    name: String,
    /// What it is about.
    scope: Scope,
    /// What counts, and what it took the place of.
    effective: Effective,
}

impl Reported {
    /// Its key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value that counts.
    pub fn value(&self) -> &str {
        &self.effective.counts.value
    }

    /// Whether it is written: in the settings, the ConfigMap or an object.
    pub fn is_written(&self) -> bool {
        self.effective.counts.at != WrittenAt::BuiltIn
    }

    /// Names of members are a contract. `file` tells where in a file a field of an object is.
    pub fn json(&self, file: &dyn Fn(&Origin) -> Option<String>) -> Value {
        let written = |written: &Written| {
            let file = match &written.at {
                WrittenAt::Object(origin) => file(origin),
                WrittenAt::BuiltIn | WrittenAt::Settings(_) => None,
            };
            json!({ "value": &*written.value, "from": written.at.to_string(), "file": file })
        };
        let Effective { counts, overridden } = &self.effective;
        json!({
            "option": self.name,
            "about": self.scope.about(),
            "counts": written(counts),
            "instead_of": overridden.iter().rev().map(written).collect::<Vec<_>>(),
            "is_built_in": !self.is_written(),
        })
    }
}

impl InForce {
    /// What is answered to a request, and why. Names of members are a contract.
    pub fn explain(&self, address: &Address, findings: &[Finding], file: &dyn Fn(&Origin) -> Option<String>) -> Value {
        let taken = address.server(self.servers());
        // Where no Ingress takes unknown hosts, the server that does so is in no model.
        let unknown = Server::of_unknown_hosts().filter(|_| taken.is_none());
        let Some(server) = taken.map(|taken| taken.server).or(unknown.as_ref()) else { return Value::Null };
        let name = taken.map_or(&ServerName::CatchAll, |taken| taken.name);
        let passed = self.model.passthroughs.hosts.iter().find(|passed| passed.name == *name);
        let sites_beside = self.sites_beside.taking(address.host(), name);
        let is_elsewhere = |listen: &&Listen| {
            let takes = |site: &SiteTaking| !site.is_unclear && site.sockets.contains(&listen.address);
            (passed.is_some() && listen.ssl) || sites_beside.iter().any(takes)
        };
        let has_sockets = self.sites_beside.sockets().next().is_some();
        let is_ours = !has_sockets || !self.sites_beside.sockets().all(|listen| is_elsewhere(&listen));
        let host_is = match taken {
            _ if !is_ours && passed.is_none() => "of_other_site",
            None => "unknown",
            Some(Taker { is_reserved: true, .. }) => "reserved",
            Some(_) => "served",
        };
        let (route, options) = match address.path() {
            _ if !is_ours => (Value::Null, Vec::new()),
            Some(path) => self.route((address, path), (server, taken), findings, file),
            None => (refused(), Vec::new()),
        };
        let tls = self.sites_beside.sockets().filter(|listen| listen.ssl).map(|listen| listen.address.to_string());
        json!({
            "kind": "Request",
            "host": address.host(),
            "host_is": host_is,
            "path": address.path().unwrap_or(address.sent()),
            "sockets": self.sites_beside.sockets().map(socket).collect::<Vec<_>>(),
            "other_sites": sites_beside.iter().map(taking_site).collect::<Vec<_>>(),
            "passthrough": passed.map(|passed| json!({
                "on": tls.collect::<Vec<_>>(),
                "from": passed.origin.to_string(),
                "file": file(&passed.origin),
                "does": passes(passed),
            })),
            "route": route,
            "options": options.iter().map(|reported| reported.json(file)).collect::<Vec<_>>(),
        })
    }

    /// What the server does with a path, and the options that count there.
    fn route(
        &self,
        (address, path): (&Address, &str),
        (server, taken): (&Server, Option<Taker<'_>>),
        findings: &[Finding],
        file: &dyn Fn(&Origin) -> Option<String>,
    ) -> (Value, Vec<Reported>) {
        let Location { route, adds_slash, unless, next } = location(server, path);
        let is_strict = match server.strict_paths() {
            StrictPaths::Nowhere => false,
            StrictPaths::Global => true,
            strict @ StrictPaths::Of(_) => strict.concern(route),
        };
        let global = &self.settings.gate.global;
        let is_reported = route.writes_decoded_path() || global.writes_decoded_path();
        let refused = match is_strict && address.is_ambiguous() {
            true => Some(STRICT),
            false => (is_reported && path.contains(|character: char| character.is_ascii_control())).then_some(LINES),
        };
        let (does, answer) = match (refused, adds_slash) {
            (Some(refused), _) => (refused.to_owned(), Answer::of_status(400)),
            (None, true) => {
                ("is answered 301, to the same path with a slash behind it".to_owned(), Answer::of_status(301))
            }
            (None, false) => (self.does(route), self.answer(server, route)),
        };
        let own_tls = has_own_tls(server, self.sites_beside.sockets());
        let redirect =
            to_https(route, route, own_tls, &global.plain_paths).filter(|_| refused.is_none() && !adds_slash);
        let reported = json!({
            "is_of_object": is_of_object(server, route),
            "from": route.origin.to_string(),
            "file": file(&route.origin),
            "path": self.path_of(server, route),
            "before": next.and_then(|next| self.passed_over(server, next, file)),
            "does": does,
            "answer": answer.json(Some(route), redirect.map(|redirect| redirect.status)),
            "over_plain_http": redirect.map(|redirect| {
                format!("is answered {}, to the same address by https", redirect.status)
            }),
            "because": self.why((server, path), route, findings),
            // An expression that is not understood here may take the request before this route
            // does.
            "unless": taken.and_then(|taken| taken.unless).or(unless),
        });
        let options = taken.map(|taken| self.options_of(taken.server, route, findings)).unwrap_or_default();
        (reported, options)
    }

    /// A route that would take the request if the one that does were not there; nothing where it
    /// takes all that nothing else takes.
    fn passed_over(&self, server: &Server, next: &Route, file: &dyn Fn(&Origin) -> Option<String>) -> Option<Value> {
        let path = self.path_of(server, next);
        let reported = json!({ "from": next.origin.to_string(), "file": file(&next.origin), "path": path });
        path["text"].as_str().is_some_and(|text| text != "/").then_some(reported)
    }

    /// The options of an Ingress that are written, whether anything is served of it or not.
    pub fn written_for(&self, id: &ObjectId, findings: &[Finding]) -> Vec<Reported> {
        let says = |Effective { counts, overridden }: &Effective| {
            // Above it may be a ceiling.
            [counts].into_iter().chain(overridden.last()).any(|written| written.is_of(id))
        };
        let reported = self.annotations(id).into_iter().filter(|reported| says(&reported.effective));
        reported.filter(|reported| is_counting(&reported.effective, findings)).collect()
    }

    /// Every setting that is written, with the value that counts under the ConfigMap.
    pub fn written_settings(&self) -> Vec<Reported> {
        let settings = rows().filter_map(|row| self.setting(row.key, row.scope));
        settings.chain(self.defaults()).filter(Reported::is_written).collect()
    }

    fn options_of(&self, server: &Server, route: &Route, findings: &[Finding]) -> Vec<Reported> {
        let object = &route.origin.object;
        let mut reported = self.annotations(object);
        let has_options = !reported.is_empty();
        for of_host in reported.iter_mut().filter(|reported| reported.scope == Scope::Server) {
            self.decide(of_host, server, findings);
        }
        reported.retain(|reported| is_counting(&reported.effective, findings));
        let is_layer = |key: &str| has_options && ANNOTATIONS.rows().any(|row| row.setting == key);
        let settings = rows().filter(|row| row.scope != Scope::Node && !is_layer(row.key));
        reported.extend(settings.filter_map(|row| self.setting(row.key, row.scope)));
        let is_decided = |of_all: &&Directive| server.directives.iter().any(|own| own.row == of_all.row);
        let global = self.options.server_directives.iter().filter(|of_all| !is_decided(of_all));
        reported.extend(global.map(|directive| Reported {
            name: directive.row.name.to_owned(),
            scope: Scope::Server,
            effective: Effective::only(&argument_words(directive), WrittenAt::Object(directive.origin.clone())),
        }));
        // Without a backend nothing counts of the way to one.
        let has_backend = route.action.upstream().is_some() || route.errors.is_some();
        reported.retain(|reported| has_backend || reported.scope != Scope::Upstream);
        reported
    }

    /// What counts of the options of an object; nothing where it is none of ours.
    fn annotations(&self, id: &ObjectId) -> Vec<Reported> {
        let settings = |key: &str| self.settings.effective(key);
        let found = effective_annotations(id, &self.snapshot, (self.readers, &self.options), &settings);
        let reported =
            |(table, row, effective): (&ingressd_translate::Table, &ingressd_translate::annotation::Row, Effective)| {
                Reported { name: format!("{}{}", table.prefix, row.key), scope: row.scope, effective }
            };
        found.into_iter().map(reported).collect()
    }

    /// One object decides about an option of a whole host; the others have a finding.
    fn decide(&self, reported: &mut Reported, server: &Server, findings: &[Finding]) {
        let is_said_by = |reported: &Reported, id: &ObjectId| reported.effective.counts.is_of(id);
        let mut objects: Vec<_> = server.routes.iter().map(|route| &*route.origin.object).collect();
        objects.dedup();
        let said = objects.into_iter().flat_map(|id| {
            let own = self.annotations(id).into_iter().find(|own| own.name == reported.name);
            own.filter(|own| is_said_by(own, id) && is_counting(&own.effective, findings))
        });
        if let Some(decided) = { said }.next() {
            reported.effective = decided.effective;
        }
    }

    fn setting(&self, key: &str, scope: Scope) -> Option<Reported> {
        let effective = self.settings.effective(key).filter(|effective| {
            // What says nothing is not worth a line.
            effective.counts.at != WrittenAt::BuiltIn || !effective.counts.value.is_empty()
        });
        effective.map(|effective| Reported { name: key.to_owned(), scope, effective })
    }

    /// Whether a path of the server that stays text would take a request as an expression.
    fn would_take(&self, server: &Server, path: &str, origin: &Origin) -> bool {
        let Field::Path(rule, number, _) = origin.field else { return false };
        let stored = self.snapshot.ingresses.iter().find(|stored| *stored.id == *origin.object);
        let written = stored.and_then(|stored| {
            let rule = stored.object.rules.get(usize::from(rule))?;
            rule.paths.get(usize::from(number))?.path.as_deref()
        });
        server.routes.iter().any(|route| route.origin == *origin)
            && written.is_some_and(|written| matches(&format!("^(?:{written})"), path, false) == Some(true))
    }

    /// Why nginx answers in place of a backend, or another path takes the request than one might
    /// expect, by what was found.
    fn why(&self, (server, path): (&Server, &str), route: &Route, findings: &[Finding]) -> Vec<Value> {
        let Origin { object, .. } = &route.origin;
        let is_unanswered = route.action.upstream().is_none_or(|upstream| self.lacks_endpoints(upstream));
        let is_undecided = route.decider().is_some_and(|service| self.lacks_endpoints(service));
        let is_why = |finding: &&Finding| match &route.action {
            _ if finding.reason == Reason::LiteralPath && self.would_take(server, path, &finding.origin) => true,
            _ if is_undecided || route.action == Action::Closed => {
                finding.severity == Severity::Error && finding.origin.object == *object
            }
            Action::Respond { .. } | Action::Proxy { .. } if is_unanswered => {
                finding.severity != Severity::Info && finding.origin == route.origin
            }
            _ => false,
        };
        let mut found: Vec<_> = findings.iter().filter(is_why).collect();
        // That the whole object is closed follows from the others.
        if found.len() > 1 {
            found.retain(|finding| finding.origin.field != Field::Object || finding.reason != Reason::ClosedRoute);
        }
        let reported = |finding: &Finding| {
            json!({
                "field": match finding.origin.object == *object {
                    true => finding.origin.place(),
                    false => finding.origin.to_string(),
                },
                "reason": finding.reason.to_string(),
                "note": &*finding.note,
            })
        };
        found.into_iter().map(reported).collect()
    }

    /// Whether nothing was found for an upstream that could answer.
    pub fn lacks_endpoints(&self, id: &UpstreamId) -> bool {
        self.without_endpoints.contains(id)
    }

    /// The endpoints of an upstream; `None` where they are not known.
    pub fn endpoints(&self, id: &UpstreamId) -> Option<&[Endpoint]> {
        self.tables.endpoints.get(id).map(|endpoints| &**endpoints)
    }

    /// One server for each host.
    pub fn servers(&self) -> &[Arc<Server>] {
        &self.model.servers
    }

    /// What happens to requests, in words that complete "it".
    pub fn does(&self, route: &Route) -> String {
        let branches = route.branches.iter().map(|branch| {
            format!("; where it meets conditions of {}, it {}", branch.then.origin.object, self.handles(&branch.then))
        });
        [self.handles(&route.otherwise)].into_iter().chain(branches).collect()
    }

    fn handles(&self, handler: &Handler) -> String {
        let place = |upstream: &UpstreamId| {
            format!("Service {}/{}, port {}", upstream.namespace, upstream.service, upstream.port)
        };
        let unavailable = |because: &str, instead: Option<&UpstreamId>| match instead.or_else(|| handler.page(503)) {
            Some(other) => format!("goes to {}, because {because}", place(other)),
            None => format!("is answered 503, because {because}"),
        };
        match &handler.action {
            Action::Closed => "is answered 503, because something that protects it cannot be set up".to_owned(),
            _ if handler.decider().is_some_and(|one| self.lacks_endpoints(one)) => {
                let service = handler.decider().map(place).unwrap_or_default();
                unavailable(&format!("{service}, which says who may pass, has no endpoints"), None)
            }
            Action::Proxy { upstream, .. } if self.lacks_endpoints(upstream) => {
                let other = handler.errors.as_deref().filter(|_| handler.has_stand_in());
                let because = format!("{}, has no endpoints", place(upstream));
                unavailable(&because, other.map(|pages| &pages.upstream))
            }
            Action::Proxy { upstream, split } => {
                let split = split.as_deref().filter(|split| split.upstreams().next().is_some()).map(|split| {
                    let mut places: Vec<_> = split.upstreams().map(place).collect();
                    places.dedup();
                    format!("; {} takes a part of the requests to {}", split.origin.object, places.join(" and "))
                });
                format!("goes to {}{}", place(upstream), split.unwrap_or_default())
            }
            Action::Redirect { status, location } => format!("is answered {status}, to {location}"),
            Action::ToRewritten => "is answered 302, to the URL that its path becomes".to_owned(),
            Action::ToHost { status, host } => format!("is answered {status}, to the same path of {host}"),
            Action::Respond { status } => format!("is answered {status}"),
        }
    }

    /// What the ConfigMap says for annotations.
    fn defaults(&self) -> impl Iterator<Item = Reported> {
        self.options.defaults.iter().map(|default| Reported {
            name: format!("{}{}", ANNOTATIONS.prefix, default.row.key),
            scope: default.row.scope,
            effective: Effective::only(&default.value, WrittenAt::Object(default.at.clone())),
        })
    }
}

/// Whether an object asks for the route: what no path of a host takes, a default backend of an
/// object does.
fn is_of_object(server: &Server, route: &Route) -> bool {
    let is_asked_for = !std::ptr::eq(route, &server.fallback) || route.origin.field == Field::DefaultBackend;
    route.origin.object.kind.asks_for_routes() && is_asked_for
}

/// Whether no finding says that this is without effect.
fn is_counting(effective: &Effective, findings: &[Finding]) -> bool {
    let WrittenAt::Object(origin) = &effective.counts.at else { return true };
    let is_lost = |finding: &Finding| {
        let is_without_effect = matches!(
            finding.reason,
            Reason::HostRuleConflict
                | Reason::NoEffectAlone
                | Reason::UnsupportedAnnotation
                | Reason::MissingCapability
        );
        is_without_effect && finding.origin == *origin
    };
    !(matches!(origin.field, Field::Annotation(_)) && findings.iter().any(is_lost))
}

/// What nginx does with a request whose path it cannot read.
fn refused() -> Value {
    json!({
        "is_of_object": false,
        "from": null,
        "file": null,
        "path": null,
        "before": null,
        "does": "is answered 400, because the path leads above / or has an escape that is none",
        "answer": Answer::of_status(400).json(None, None),
        "over_plain_http": null,
        "because": [],
        "unless": null,
    })
}

/// A socket of ours for clients.
fn socket(listen: &Listen) -> Value {
    json!({ "address": listen.address.to_string(), "tls": listen.ssl, "proxy_protocol": listen.proxy_protocol })
}

/// Another site that takes the request on some sockets.
fn taking_site(site: &SiteTaking) -> Value {
    let on: Vec<_> = site.sockets.iter().map(ToString::to_string).collect();
    json!({ "on": on, "from": site.place, "name": site.name, "is_unclear": site.is_unclear })
}

/// What happens to connections whose TLS is not read.
fn passes(passed: &Passthrough) -> String {
    match &passed.upstream {
        Some(id) => format!("goes to Service {}/{}, port {}", id.namespace, id.service, id.port),
        None => "is closed at once, because its Service or the port of it is not there".to_owned(),
    }
}
