//! Hosts and paths of Ingresses: which Ingress a request belongs to, and the host of log lines
//! without one. It must not know what is served.

use std::collections::{BTreeMap, BTreeSet};

use regex::bytes::{Regex, RegexBuilder};

use super::format::Logged;
use crate::controller::is_true;
use ingressd_objects::{Snapshot, StringMap};
use ingressd_translate::value::entries;
use ingressd_translate::{Asked, AskedRoute, asked};

/// The example label below a wildcard, and of unknown hosts.
const EXAMPLE: &str = "compare";
const NOBODY: &str = "compare.invalid";

/// The spelling of a missing host.
const EVERY_HOST: &str = "*";

/// The memory limit of a path's expression.
const LARGEST_EXPRESSION: usize = 1 << 18;

/// The hosts of some Ingresses.
#[derive(Debug, Default)]
pub struct IngressHosts {
    by_name: BTreeMap<String, IngressHost>,
    /// Ingresses that take hosts which no object names, in the order of the objects.
    expressions: Vec<(Regex, IngressHost)>,
}

/// What Ingresses say about one host.
#[derive(Debug, Clone, Default)]
pub struct IngressHost {
    /// The Ingresses with this host, as namespace/name.
    pub ingresses: Vec<String>,
    pub has_tls: bool,
    routes: Vec<Route>,
    by_expression: bool,
    /// Whether it is an alias of a host.
    is_alias: bool,
}

/// A path of a host.
#[derive(Debug, Clone)]
pub struct Route {
    /// The Ingress, as namespace/name.
    pub ingress: String,
    /// The path as written.
    pub path: String,
    /// An allowed CORS origin, if the object names one.
    pub origin: Option<String>,
    is_exact: bool,
    /// ingress-nginx's name of the backend.
    upstream: Option<String>,
    expression: Option<Regex>,
}

/// An Ingress that is being read.
struct WrittenIngress<'a> {
    name: String,
    namespace: &'a str,
    asked: Asked<'a>,
    annotations: &'a StringMap,
    prefix: &'a str,
}

impl WrittenIngress<'_> {
    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(&format!("{}{key}", self.prefix)).map(str::trim)
    }

    /// The entries of a list.
    fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        entries(self.annotation(key).unwrap_or_default()).into_iter().flatten()
    }

    fn is_on(&self, key: &str) -> bool {
        self.annotation(key).is_some_and(is_true)
    }

    /// The hosts of its rules; with a default backend and no rules the catch-all.
    fn hosts(&self) -> BTreeSet<String> {
        let hosts: BTreeSet<_> = self.asked.rules.iter().map(|host| host.to_ascii_lowercase()).collect();
        match hosts.is_empty() && !self.asked.routes.is_empty() {
            true => BTreeSet::from([EVERY_HOST.to_owned()]),
            false => hosts,
        }
    }

    fn has_tls(&self, host: &str) -> bool {
        let lists = |hosts: &[&str]| match hosts.is_empty() {
            true => host != EVERY_HOST,
            false => hosts.iter().any(|listed| covers(listed, host)),
        };
        self.asked.tls.iter().any(|entry| lists(&entry.hosts))
    }

    /// Whether the paths of its hosts are regular expressions.
    fn has_expressions(&self) -> bool {
        let rewrites = |target: &str| target != "/" || self.asked.routes.iter().any(|route| route.path != "/");
        self.is_on("use-regex") || self.annotation("rewrite-target").is_some_and(rewrites)
    }

    /// Its paths on a host, including its default backend.
    fn routes(&self, host: &str) -> impl Iterator<Item = Route> {
        let is_of = |route: &&AskedRoute<'_>| route.rule.is_none() || route.host.eq_ignore_ascii_case(host);
        // A canary has no path of its own.
        let routes = self.asked.routes.iter().filter(|_| !self.is_on("canary")).filter(is_of);
        routes.map(move |route| {
            let service = route.service.zip(route.port.as_deref());
            Route {
                ingress: self.name.clone(),
                path: if route.path.is_empty() { "/" } else { route.path }.to_owned(),
                origin: self.is_on("enable-cors").then(|| self.origin(host)),
                is_exact: route.path_type == "Exact",
                upstream: service.map(|(service, port)| format!("{}-{service}-{port}", self.namespace)),
                expression: None,
            }
        })
    }

    /// The first allowed origin; when all are allowed, the host itself.
    fn origin(&self, host: &str) -> String {
        let mut origins = self.list("cors-allow-origin");
        let first = origins.find(|origin| *origin != EVERY_HOST);
        first.map_or_else(|| format!("https://{}", example(host)), |origin| origin.replace('*', EXAMPLE))
    }

    /// Further names of its hosts: aliases, and with or without `www.` when one redirects to the
    /// other.
    fn other_names(&self) -> Vec<(String, String)> {
        let hosts = self.hosts();
        let aliases =
            self.list("server-alias").flat_map(|alias| hosts.iter().map(|host| (alias.to_owned(), host.clone())));
        let redirected = hosts.iter().filter(|host| self.is_on("from-to-www-redirect") && !host.contains('*'));
        let redirected = redirected.map(|host| {
            let other = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
            (other, host.clone())
        });
        aliases.chain(redirected).collect()
    }
}

impl IngressHosts {
    /// The hosts of these Ingresses (namespace/name), with this prefix of annotations.
    pub fn of(snapshot: &Snapshot, names: &BTreeSet<String>, prefix: &str) -> Self {
        let mut all = IngressHosts::default();
        let mut other_names = Vec::new();
        for stored in &snapshot.ingresses {
            let name = format!("{}/{}", stored.id.namespace, stored.id.name);
            let Some(asked) = asked(snapshot, &stored.id).filter(|_| names.contains(&name)) else { continue };
            let annotations = &stored.object.annotations;
            let written = WrittenIngress { name, namespace: &stored.id.namespace, asked, annotations, prefix };
            all.add(&written);
            other_names.extend(written.other_names());
        }
        for (other, host) in other_names {
            let Some(known) = all.by_name.get(&host).cloned() else { continue };
            let known = IngressHost { is_alias: true, ..known };
            match other.strip_prefix('~') {
                Some(written) => {
                    all.expressions.extend(expression(written).map(|expression| (expression, known)));
                }
                None => drop(all.by_name.entry(other.to_ascii_lowercase()).or_insert(known)),
            }
        }
        let of_expressions = all.expressions.iter_mut().map(|(_, known)| known);
        all.by_name.values_mut().chain(of_expressions).for_each(IngressHost::settle);
        all
    }

    fn add(&mut self, written: &WrittenIngress<'_>) {
        for host in written.hosts() {
            let known = self.by_name.entry(host.clone()).or_default();
            known.has_tls |= written.has_tls(&host);
            known.by_expression |= written.has_expressions();
            known.ingresses.push(written.name.clone());
            known.routes.extend(written.routes(&host));
        }
    }

    /// Each host that can be requested; an example for a pattern.
    pub fn hosts(&self) -> impl Iterator<Item = (String, &IngressHost)> {
        self.by_name.iter().map(|(host, known)| (example(host), known))
    }

    /// What there is for a host: itself, the wildcard that it lies within, an expression, or the
    /// catch-all.
    pub fn host(&self, host: &str) -> Option<&IngressHost> {
        let within = host.split_once('.').map(|(_, parent)| format!("*.{parent}"));
        let named = self.by_name.get(host).or_else(|| self.by_name.get(&within?));
        let takes = |(expression, _): &&(Regex, IngressHost)| expression.is_match(host.as_bytes());
        let named = named.or_else(|| self.expressions.iter().find(takes).map(|(_, known)| known));
        named.or_else(|| self.by_name.get(EVERY_HOST))
    }

    /// The possible hosts of a line without one: those whose path leads to the backend of the
    /// line, each by its first name.
    pub fn hosts_of(&self, line: &Logged, path: &str) -> Vec<String> {
        let Logged { upstream, ingress, .. } = line;
        let is_meant = |route: &Route| match (ingress, upstream) {
            (Some(ingress), _) => route.ingress == *ingress,
            (None, Some(_)) => route.upstream == *upstream,
            (None, None) => false,
        };
        let hosts = self.by_name.iter().filter(|(_, known)| !known.is_alias && known.route(path).is_some_and(is_meant));
        hosts.map(|(host, _)| example(host)).collect()
    }
}

impl IngressHost {
    /// The route of a path.
    pub fn route(&self, path: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.takes(path))
    }

    /// Its paths in order of precedence.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Sorts the paths by precedence.
    fn settle(&mut self) {
        if self.by_expression {
            for route in &mut self.routes {
                route.expression = expression(&format!("^(?:{})", route.path));
                route.is_exact = false;
            }
        }
        self.routes.sort_by(|one, other| {
            let key = |route: &Route| (!route.is_exact, std::cmp::Reverse(route.path.len()));
            key(one).cmp(&key(other))
        });
    }
}

impl Route {
    fn takes(&self, path: &str) -> bool {
        if let Some(expression) = &self.expression {
            return expression.is_match(path.as_bytes());
        }
        let whole = self.path.trim_end_matches('/');
        match path.strip_prefix(whole) {
            Some(rest) if self.is_exact => rest.is_empty() || rest == "/",
            Some(rest) => rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }

    /// Example paths: its literal beginning, with and without a slash at the end.
    pub fn examples(&self) -> Vec<String> {
        let is_plain = |character: &char| {
            !"\\^$.|?*+()[]{} ".contains(*character) || (self.expression.is_none() && *character != ' ')
        };
        let literal: String = self.path.chars().take_while(is_plain).collect();
        let bare = literal.trim_end_matches('/');
        match bare.is_empty() {
            true => vec!["/".to_owned()],
            false => vec![bare.to_owned(), format!("{bare}/")],
        }
    }
}

/// An expression as nginx reads it; `None` for one that only nginx can read.
fn expression(text: &str) -> Option<Regex> {
    RegexBuilder::new(text).case_insensitive(true).unicode(false).size_limit(LARGEST_EXPRESSION).build().ok()
}

/// A name below a wildcard, or an unknown host.
fn example(host: &str) -> String {
    match host.strip_prefix("*.") {
        Some(parent) => format!("{EXAMPLE}.{parent}"),
        None if host == EVERY_HOST => NOBODY.to_owned(),
        None => host.to_owned(),
    }
}

/// Whether an entry of `spec.tls` covers a host of a rule.
fn covers(listed: &str, host: &str) -> bool {
    let within = listed.strip_prefix("*.").zip(host.split_once('.'));
    listed.eq_ignore_ascii_case(host) || within.is_some_and(|(parent, (_, rest))| parent.eq_ignore_ascii_case(rest))
}
