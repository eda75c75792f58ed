//! Further names of hosts, their twins with or without `www.`, and where `/` leads.

use super::{findings, ingress, options, path, shared, translate};
use crate::model::{Action, PathMatch, Server, ServerName};
use crate::translate::{Options, Translation};

/// An object of a namespace and year with a path of a host.
fn object(namespace: &str, name: &str, year: u16, host: &str, at: &str, annotations: &str) -> String {
    ingress(name, "nginx", host, annotations, &[path(at, "Prefix", "web")])
        .replace("namespace: default", &format!("namespace: {namespace}"))
        .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
}

/// Each host with the objects of its routes.
fn served(translation: &Translation) -> Vec<String> {
    let line = |server: &std::sync::Arc<Server>| {
        let host = match &server.name {
            ServerName::CatchAll => "*".to_owned(),
            ServerName::Exact(host) => host.to_string(),
            ServerName::Wildcard(parent) => format!("*.{parent}"),
        };
        let routes = server.routes.iter().map(|route| {
            let path = match &route.path {
                PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.to_string(),
                PathMatch::Regex(pattern) => pattern.to_string(),
            };
            format!(" {path}={}/{}", route.origin.object.namespace, route.origin.object.name)
        });
        let rest = match &server.fallback.action {
            Action::ToHost { status, host } => format!(" {status} to {host}"),
            _ => String::new(),
        };
        format!("{host}:{}{rest}", routes.collect::<String>())
    };
    translation.model.servers.iter().map(line).collect()
}

/// The objects with another class: those of the specification have their hosts to themselves.
fn of_class(class: &str, objects: &[String]) -> String {
    objects.join("\n---\n").replace("ingressClassName: nginx", &format!("ingressClassName: {class}"))
}

/// Objects by namespace, host, path and annotations, the oldest first; what is served, and what is told.
type Row<'r> = (&'r [(&'r str, &'r str, &'r str, &'r str)], &'r [&'r str], &'r [&'r str]);

fn check(rows: &[Row<'_>], class: &str, options: impl Fn() -> Options) {
    for (objects, expected, told) in rows {
        let objects: Vec<_> = (0..)
            .zip(*objects)
            .map(|(number, (namespace, host, at, annotations))| {
                object(namespace, &format!("o{number}"), 2020 + number, host, at, annotations)
            })
            .collect();
        let translation = translate(&of_class(class, &objects), options());
        assert_eq!(served(&translation), *expected, "{objects:?}");
        let known = ["HostOwned", "HostRuleConflict", "HostNotAllowed", "PathConflict"];
        let mut all: Vec<_> = findings(&translation)
            .into_iter()
            .filter(|line| known.iter().any(|reason| line.ends_with(reason)))
            .collect();
        all.dedup();
        assert_eq!(all, *told, "{objects:?}");
    }
}

#[test]
fn what_a_namespace_has_of_a_host_it_has_of_its_aliases() {
    const ALIAS: &str = "server-alias: b.example";
    check(
        &[
            (&[("default", "a.example", "/", ALIAS)], &["a.example: /=default/o0", "b.example: /=default/o0"], &[]),
            // Whoever has a rule for a host has no alias of it.
            (
                &[("default", "a.example", "/", ALIAS), ("default", "b.example", "/", "")],
                &["a.example: /=default/o0", "b.example: /=default/o1"],
                &[],
            ),
            // The objects of a namespace are together, whoever of them names the alias.
            (
                &[("default", "a.example", "/", ""), ("default", "a.example", "/api", ALIAS)],
                &["a.example: /api=default/o1 /=default/o0", "b.example: /api=default/o1 /=default/o0"],
                &[],
            ),
            // The oldest that names any decides.
            (
                &[("default", "a.example", "/", ALIAS), ("default", "a.example", "/x", "server-alias: c.example")],
                &["a.example: /x=default/o1 /=default/o0", "b.example: /x=default/o1 /=default/o0"],
                &["o1 HostRuleConflict"],
            ),
        ],
        "nginx",
        shared,
    );
    check(
        &[
            // A host of another namespace is none's alias, and an alias has an owner.
            (
                &[("team-a", "b.example", "/", ""), ("default", "a.example", "/", ALIAS)],
                &["a.example: /=default/o1", "b.example: /=team-a/o0"],
                &["o1 HostOwned"],
            ),
            (
                &[("default", "a.example", "/", ALIAS), ("team-a", "b.example", "/", "")],
                &["a.example: /=default/o0", "b.example: /=default/o0"],
                &["o1 HostOwned"],
            ),
        ],
        "ingressd",
        options,
    );
}

#[test]
fn a_finding_about_an_alias_names_the_annotation() {
    let objects = [
        object("team-a", "owner", 2020, "b.example", "/", ""),
        object("default", "guest", 2021, "a.example", "/", "server-alias: b.example"),
    ];
    let translation = translate(&of_class("ingressd", &objects), options());
    let owned =
        translation.findings.iter().find(|finding| finding.reason == crate::finding::Reason::HostOwned).unwrap();
    assert!(owned.origin.to_string().contains("server-alias"), "{}", owned.origin);
}

#[test]
fn the_twin_of_a_host_leads_to_it_unless_somebody_has_a_rule_for_it() {
    const TWIN: &str = "from-to-www-redirect: 'true'";
    check(
        &[
            (
                &[("default", "a.example", "/", TWIN)],
                &["a.example: /=default/o0", "www.a.example: 308 to a.example"],
                &[],
            ),
            (
                &[("default", "www.a.example", "/", TWIN)],
                &["a.example: 308 to www.a.example", "www.a.example: /=default/o0"],
                &[],
            ),
            (
                &[("default", "a.example", "/", TWIN), ("team-a", "www.a.example", "/", "")],
                &["a.example: /=default/o0", "www.a.example: /=team-a/o1"],
                &[],
            ),
        ],
        "nginx",
        shared,
    );
}

#[test]
fn requests_for_the_root_of_a_host_lead_where_its_owner_says() {
    const ROOT: &str = "app-root: /app";
    check(
        &[
            (
                &[("default", "a.example", "/", ROOT), ("default", "a.example", "/x", "app-root: /other")],
                &["a.example: /=default/o0 /x=default/o1 /=default/o0"],
                &["o1 HostRuleConflict"],
            ),
            // Requests that another namespace has go nowhere else.
            (
                &[("default", "a.example", "/x", ROOT), ("team-a", "a.example", "/", "")],
                &["a.example: /x=default/o0 /=team-a/o1"],
                &["o0 HostRuleConflict"],
            ),
            (
                &[("default", "a.example", "/", ""), ("team-a", "a.example", "/x", ROOT)],
                &["a.example: /x=team-a/o1 /=default/o0"],
                &["o1 HostRuleConflict"],
            ),
        ],
        "nginx",
        shared,
    );
}
