//! What the model says of Ingresses that is no mistake of theirs, and so is in no finding: where
//! it differs from what ingress-nginx makes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::item::{Equivalence, Item};
use ingressd_model::{Field, Kind, ObjectId, PathMatch, Protocol, Route, Server, StrictPaths};
use ingressd_objects::{Snapshot, StringMap};
use ingressd_translate::annotation::Table;
use ingressd_translate::asked;

/// The keys whose values may have nginx write what it has decoded of a path.
const TELLING: &[&str] = &[
    "enable-rewrite-log",
    "permanent-redirect",
    "rewrite-target",
    "temporal-redirect",
    "upstream-vhost",
    "x-forwarded-prefix",
];

const LINES: &str = "Paths with control characters, such as %0A, are answered with 400.";
const STRICT: &str =
    "Paths that nginx and a backend may understand differently, such as those with %2F or //, are answered with 400.";
const TEXT: &str = "The path is compared as text; in ingress-nginx all paths of a host with use-regex or rewrite-target are expressions.";
const PROTOCOL: &str = "The appProtocol of the Service sets the protocol towards the backend.";

/// Where certificate authorities look: such a path is text in both programs for all that matters.
const CHALLENGES: &str = "/.well-known/";

/// What becomes of Ingresses.
#[derive(Debug, Default)]
pub struct Served<'a> {
    /// Those that refuse paths with control characters.
    lines: BTreeSet<&'a ObjectId>,
    /// Fields and Services where something differs, by Ingress.
    items: BTreeMap<&'a ObjectId, Vec<Item>>,
    prefix: &'a str,
}

impl<'a> Served<'a> {
    /// Looks at the routes of all hosts.
    pub fn of(servers: &'a [Arc<Server>], snapshot: &Snapshot, table: &'a Table) -> Self {
        let mut served = Served { prefix: table.prefix, ..Served::default() };
        for server in servers {
            let has_expressions = server.routes.iter().any(|route| matches!(route.path, PathMatch::Regex(_)));
            let strict = server.strict_paths();
            for route in server.routes.iter().filter(|route| route.origin.object.kind == Kind::INGRESS) {
                served.look_at(route, has_expressions, snapshot);
                if strict == StrictPaths::Global || strict.concern(route) {
                    served.note(&route.origin.object, [stricter(STRICT, "set access.strict-paths to dialect or off")]);
                }
            }
        }
        served
    }

    fn look_at(&mut self, route: &'a Route, has_expressions: bool, snapshot: &Snapshot) {
        let id = &*route.origin.object;
        if route.writes_decoded_path() {
            self.lines.insert(id);
        }
        let mut items = Vec::new();
        if let Some(path) = written(route, snapshot).filter(|_| has_expressions) {
            items.extend(beside_expressions(route, &path));
        }
        let annotations = snapshot.ingresses.find(&id.namespace, &id.name).map(|stored| &stored.object.annotations);
        let says_protocol = ["backend-protocol", "grpc-backend", "secure-backends"]
            .iter()
            .any(|key| annotations.is_some_and(|annotations| annotations.has(&format!("{}{key}", self.prefix))));
        if let Some(upstream) =
            route.action.upstream().filter(|upstream| upstream.protocol != Protocol::Http && !says_protocol)
        {
            let name = format!("Service {}/{}", upstream.namespace, upstream.service);
            items.push(differs(&name, "", PROTOCOL, "set backend-protocol: HTTP, or remove appProtocol"));
        }
        self.note(id, items);
    }

    fn note(&mut self, id: &'a ObjectId, items: impl IntoIterator<Item = Item>) {
        for item in items {
            let known = self.items.entry(id).or_default();
            if !known.contains(&item) {
                known.push(item);
            }
        }
    }

    /// Adds what differs of an Ingress to its items.
    pub fn add(&self, id: &ObjectId, annotations: &StringMap, items: &mut Vec<Item>) {
        items.extend(self.items.get(id).into_iter().flatten().cloned());
        if !self.lines.contains(id) {
            return;
        }
        let is_about_route = |item: &&mut Item| {
            let says = item.value.contains('$') || item.value == "true";
            TELLING.contains(&item.name.as_str()) && says && annotations.has(&format!("{}{}", self.prefix, item.name))
        };
        let mut is_reported = false;
        for item in items.iter_mut().filter(is_about_route) {
            is_reported = true;
            if item.verdict == Equivalence::Equal {
                (item.verdict, item.why) = (Equivalence::Stricter, LINES.to_owned());
            }
        }
        if !is_reported {
            items.push(stricter(LINES, ""));
        }
    }
}

/// What is refused of the paths of requests.
fn stricter(why: &str, remedy: &str) -> Item {
    Item { verdict: Equivalence::Stricter, ..differs("paths", "", why, remedy) }
}

fn differs(name: &str, value: &str, why: &str, remedy: &str) -> Item {
    let (name, value, why, remedy) = (name.to_owned(), value.to_owned(), why.to_owned(), remedy.to_owned());
    Item { name, value, verdict: Equivalence::Different, why, remedy, ..Item::default() }
}

/// The path of a route as its object has it.
fn written(route: &Route, snapshot: &Snapshot) -> Option<String> {
    let Field::Path(rule, number, _) = route.origin.field else { return None };
    let asked = asked(snapshot, &route.origin.object)?;
    let of_rule = asked.routes.iter().filter(|path| path.rule == Some(usize::from(rule)));
    { of_rule }.nth(usize::from(number)).map(|path| path.path.to_owned())
}

/// The item of a path that is compared as text on a host with expressions, where ingress-nginx
/// takes it for one.
fn beside_expressions(route: &Route, path: &str) -> Option<Item> {
    const REMEDY: &str = "leave out the characters that mean something in expressions, or write the path into an object of the namespace \
                          whose paths are expressions";
    let verdict = match &route.path {
        PathMatch::Regex(pattern) if pattern.as_str() == path => return None,
        // A dot is any character in an expression: only more requests could match.
        PathMatch::Regex(pattern) if pattern.as_str().replace("\\.", ".") == path => Equivalence::Stricter,
        PathMatch::Exact { .. } | PathMatch::Prefix { .. } if path == "/" || path.starts_with(CHALLENGES) => {
            return None;
        }
        PathMatch::Regex(_) | PathMatch::Exact { .. } | PathMatch::Prefix { .. } => Equivalence::Different,
    };
    let remedy = if verdict == Equivalence::Different { REMEDY } else { "" };
    Some(Item { verdict, ..differs(&route.origin.field.to_string(), path, TEXT, remedy) })
}
