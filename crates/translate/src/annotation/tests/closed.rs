//! A broken value that protects something closes what it was said for, and nothing else: each such
//! row, in each layer, in each scope.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::tests::{cluster::of, manifests, shared, world};
use crate::{Translation, Translator};
use ingressd_model::{Action, Handler, Route, Server};

/// The annotations of an object, without their prefix.
type Annotations<'a> = &'a [(&'a str, &'a str)];

/// What is served of these objects, each a name of `NAMESPACE/HOST/NAME` with its annotations.
fn served(objects: &[(&str, Annotations<'_>)], defaults: &[OptionEntry]) -> Translation {
    let documents = objects.iter().map(|(place, annotations)| {
        let parts: Vec<_> = place.split('/').collect();
        let [namespace, host, name] = parts[..] else { panic!("{place}") };
        let written = annotations.iter().map(|(key, value)| format!("{key}: {value:?}")).collect::<Vec<_>>();
        of(namespace, name, "nginx", host, &written.join(", "), &[&format!("Prefix /{name}")])
    });
    let documents = documents.collect::<Vec<_>>().join("\n---\n");
    let Snapshot { secrets, config_maps, .. } = snapshot();
    let snapshot = Snapshot { secrets, config_maps, ..manifests::snapshot(&documents) };
    let options =
        Options { default_backend: Some(("default".into(), "web".into())), defaults: defaults.into(), ..shared() };
    Translator::new(options).translate(&snapshot, &world(), &Arc::default())
}

/// Routes by their host and the name of their object; `else` for what no path takes.
fn routes(translation: &Translation) -> BTreeMap<String, Route> {
    let all = translation.model.servers.iter().flat_map(|server| {
        let host = crate::written_host(&server.name);
        let fallback = (format!("{host} else"), server.fallback.clone());
        let own = server.routes.iter().filter(|route| route.origin.object.kind == Kind::INGRESS);
        own.map(|route| (format!("{host} {}", route.origin.object.name), route.clone()))
            .chain([fallback])
            .collect::<Vec<_>>()
    });
    all.collect()
}

/// The hosts without their routes.
fn hosts(translation: &Translation) -> Vec<Server> {
    let servers = translation.model.servers.iter().map(|server| Server::clone(server));
    let bare = |mut server: Server| {
        let Handler { action, behaviour, errors, .. } = &mut *server.fallback;
        (*action, *behaviour, *errors) = (Action::Closed, Arc::default(), None);
        Server { routes: Vec::new(), ..server }
    };
    servers.map(bare).collect()
}

/// The routes that are closed now; all others have to be what they are without the broken value.
fn closed(broken: &Translation, without: &Translation, what: &str) -> BTreeSet<String> {
    let (broken_routes, without_routes) = (routes(broken), routes(without));
    assert!(hosts(broken) == hosts(without), "{what}: the hosts are others");
    assert!(broken_routes.keys().eq(without_routes.keys()), "{what}");
    let is_closed = |route: &Route| route.action == Action::Closed;
    for (name, route) in broken_routes.iter().filter(|(_, route)| !is_closed(route)) {
        assert_eq!(*route, without_routes[name], "{what}: {name}");
    }
    let closed = broken_routes.iter().filter(|(name, route)| is_closed(route) && !is_closed(&without_routes[*name]));
    closed.map(|(name, _)| name.clone()).collect()
}

/// Rows that protect something, with each value that they refuse and one that they take.
fn broken() -> impl Iterator<Item = (&'static Row, &'static str, Option<&'static str>)> {
    let rows = ANNOTATIONS.rows().filter(|row| row.on_error == OnError::Close);
    rows.flat_map(|row| {
        let takes = |(value, gives): &(&'static str, Gives)| {
            matches!(gives, Gives::Sets(_) | Gives::Nothing | Gives::Cut(_) | Gives::Near(_)).then_some(*value)
        };
        let good = row.all_tries().iter().find_map(takes);
        let refused = row.all_tries().into_iter().filter(|(_, gives)| matches!(gives, Gives::Refused(_)));
        refused.map(move |(value, _)| (row, value, good))
    })
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn what_an_object_says_closes_its_routes_or_those_of_its_namespace_on_its_hosts() {
    let mut scopes = Vec::new();
    for (row, value, _) in broken() {
        let objects = |own| {
            served(
                &[
                    ("default/a.example/beside", &[]),
                    ("default/a.example/web", own),
                    ("guest/a.example/guest", &[]),
                    ("default/b.example/other", &[]),
                ],
                &[],
            )
        };
        let what = format!("{}: {value:?}", row.key);
        let own = [row.beside, &[(row.key, value)]].concat();
        let closed = closed(&objects(&own), &objects(&[]), &what);
        let expected = match row.scope {
            Scope::Server => names(["a.example beside", "a.example web", "a.example else"]),
            _ => names(["a.example web"]),
        };
        assert_eq!(closed, expected, "{what}");
        scopes.push(row.scope);
    }
    assert!([Scope::Server, Scope::Route, Scope::Upstream].iter().all(|scope| scopes.contains(scope)));
}

#[test]
fn what_is_said_for_all_objects_closes_those_for_which_it_counts() {
    for (row, value, good) in broken() {
        let said =
            |pairs: Annotations<'_>| pairs.iter().map(|(key, value)| said_for_all(key, value)).collect::<Vec<_>>();
        let own = good.map(|good| [row.beside, &[(row.key, good)]].concat()).unwrap_or_default();
        let mut objects: Vec<(&str, Annotations<'_>)> =
            vec![("default/a.example/silent", &[]), ("default/b.example/out", &[("enable-global-auth", "false")])];
        objects.extend(good.map(|_| ("default/c.example/own", &own[..])));
        let what = format!("{}: {value:?}", row.key);
        let broken = served(&objects, &said(&[row.beside, &[(row.key, value)]].concat()));
        let closed = closed(&broken, &served(&objects, &[]), &what);
        let mut expected = names(["a.example silent", "a.example else", "* else"]);
        // The service for all objects is not asked for those that opt out.
        if !row.stands_alone {
            expected.extend(names(["b.example out", "b.example else"]));
        }
        assert_eq!(closed, expected, "{what}");
    }
}
