//! Aliases of hosts, their counterparts with or without `www.`, and redirects of `/`.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{findings, ingress, options, path, shared, translate, world};
use crate::attach::Attached;
use crate::attach::aliases::expand;
use crate::read::ingress as reader;
use crate::select::seen::Seen;
use crate::value::host::{server_name, written};
use crate::{AllowedHosts, Claims, HostAliases, HostOptions, Options, Policy, Reading, Translation, Translator};
use ingressd_model::{Action, Origin, PathMatch, Server, ServerName};
use ingressd_objects::{Ingress, Stored};

/// An object of a namespace with a creation year and a path of a host.
fn object(namespace: &str, name: &str, year: u16, host: &str, at: &str, annotations: &str) -> String {
    ingress(name, "nginx", host, annotations, &[path(at, "Prefix", "web")])
        .replace("namespace: default", &format!("namespace: {namespace}"))
        .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
}

/// Each host with the objects of its routes.
fn served(translation: &Translation) -> Vec<String> {
    let line = |server: &std::sync::Arc<Server>| {
        let host = written(&server.name);
        let routes = server.routes.iter().map(|route| {
            let path = match &route.path {
                PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.to_string(),
                PathMatch::Regex(pattern) => pattern.to_string(),
            };
            format!(" {path}={}/{}", route.origin.object.namespace, route.origin.object.name)
        });
        let rest = match &server.fallback.action {
            Action::ToRewritten => "302".to_owned(),
            Action::ToHost { status, host } => format!(" {status} to {host}"),
            _ => String::new(),
        };
        let reserved: String = server.reserved.iter().map(|name| format!(" keeps {}", written(name))).collect();
        format!("{host}:{}{rest}{reserved}", routes.collect::<String>())
    };
    translation.model.servers.iter().map(line).collect()
}

/// The objects with another class: with the specification dialect their hosts are exclusive.
fn of_class(class: &str, objects: &[String]) -> String {
    objects.join("\n---\n").replace("ingressClassName: nginx", &format!("ingressClassName: {class}"))
}

/// Objects by namespace, host, path and annotations, the oldest first; what is served, and the
/// findings.
type Row<'r> = (&'r [(&'r str, &'r str, &'r str, &'r str)], &'r [&'r str], &'r [&'r str]);

fn check(rows: &[Row<'_>], class: &str, options: impl Fn() -> Options) {
    for (objects, expected, reported) in rows {
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
        assert_eq!(all, *reported, "{objects:?}");
    }
}

#[test]
fn what_a_namespace_has_of_a_host_it_has_of_its_aliases() {
    const ALIAS: &str = "server-alias: b.example";
    check(
        &[
            (&[("default", "a.example", "/", ALIAS)], &["a.example: /=default/o0", "b.example: /=default/o0"], &[]),
            // A name for which the namespace has a rule is not an alias.
            (
                &[("default", "a.example", "/", ALIAS), ("default", "b.example", "/", "")],
                &["a.example: /=default/o0", "b.example: /=default/o1"],
                &["o0 HostRuleConflict"],
            ),
            // A solver of cert-manager has its path and no other.
            (
                &[("default", "a.example", "/", ALIAS), ("default", "b.example", SOLVED, "")],
                &["a.example: /=default/o0", "b.example: /.well-known/acme-challenge/tok=default/o1 /=default/o0"],
                &[],
            ),
            // All objects of a namespace share the host, whichever of them names the alias.
            (
                &[("default", "a.example", "/", ""), ("default", "a.example", "/api", ALIAS)],
                &["a.example: /api=default/o1 /=default/o0", "b.example: /api=default/o1 /=default/o0"],
                &[],
            ),
            // The oldest object with aliases decides.
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
            // A host of another namespace cannot be an alias, and an alias has an owner.
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
    let owned = translation
        .findings
        .iter()
        .find(|finding| finding.reason == ingressd_model::finding::Reason::HostOwned)
        .unwrap();
    assert!(owned.origin.to_string().contains("server-alias"), "{}", owned.origin);
}

#[test]
fn the_name_of_a_host_with_or_without_www_leads_to_it_unless_somebody_has_a_rule_for_it() {
    const COUNTERPART: &str = "from-to-www-redirect: 'true'";
    check(
        &[
            (
                &[("default", "a.example", "/", COUNTERPART)],
                &["a.example: /=default/o0", "www.a.example: 308 to a.example"],
                &[],
            ),
            (
                &[("default", "www.a.example", "/", COUNTERPART)],
                &["a.example: 308 to www.a.example", "www.a.example: /=default/o0"],
                &[],
            ),
            (
                &[("default", "a.example", "/", "from-to-www-redirect: 'true', server-alias: b.example")],
                &["a.example: /=default/o0", "b.example: /=default/o0", "www.a.example: 308 to a.example"],
                &[],
            ),
            (
                &[("default", "a.example", "/", COUNTERPART), ("team-a", "www.a.example", "/", "")],
                &["a.example: /=default/o0", "www.a.example: /=team-a/o1"],
                &["o0 HostRuleConflict"],
            ),
            (
                &[("default", "a.example", "/", COUNTERPART), ("default", "www.a.example", "/x", "")],
                &["a.example: /=default/o0", "www.a.example: /x=default/o1"],
                &["o0 HostRuleConflict"],
            ),
            // A solver of cert-manager has its path and no other, also one that is older.
            (
                &[("default", "a.example", "/", COUNTERPART), ("default", "www.a.example", SOLVED, "")],
                &[
                    "a.example: /=default/o0",
                    "www.a.example: /.well-known/acme-challenge/tok=default/o1 308 to a.example",
                ],
                &[],
            ),
            (
                &[("default", "www.a.example", SOLVED, ""), ("default", "a.example", "/", COUNTERPART)],
                &[
                    "a.example: /=default/o1",
                    "www.a.example: /.well-known/acme-challenge/tok=default/o0 308 to a.example",
                ],
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
            // A path of another namespace that is younger takes all others.
            (
                &[("default", "a.example", "/x", ROOT), ("team-a", "a.example", "/", "")],
                &["a.example: /=default/o0 /x=default/o0 /.well-known/acme-challenge=/default-backend /=team-a/o1"],
                &[],
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

/// The path of a solver.
const SOLVED: &str = "/.well-known/acme-challenge/tok";

const SHOPS: &str = "server-alias: ~^shop-.+$";

#[test]
fn an_expression_takes_hosts_that_nobody_has() {
    const ALL: &[&str] = &["a.example: /=default/o0", "~^shop-.+$: /=default/o0"];
    check(
        &[
            (&[("default", "a.example", "/", SHOPS)], ALL, &[]),
            // All objects of a namespace share the host there too.
            (
                &[("default", "a.example", "/", SHOPS), ("default", "a.example", "/api", "")],
                &["a.example: /api=default/o1 /=default/o0", "~^shop-.+$: /api=default/o1 /=default/o0"],
                &[],
            ),
            // A host of another namespace stays its own; an equal expression is shared like a
            // host.
            (
                &[("default", "a.example", "/", SHOPS), ("team-a", "b.example", "/", SHOPS)],
                &["a.example: /=default/o0", "b.example: /=team-a/o1", "~^shop-.+$: /=default/o0"],
                &["o1 PathConflict"],
            ),
            // The namespace that claimed unknown hosts first loses none of them.
            (
                &[("team-a", "", "/", ""), ("default", "a.example", "/", SHOPS)],
                &["*: /healthz=/default-backend /=team-a/o0", "a.example: /=default/o1"],
                &["o1 HostOwned"],
            ),
            (
                &[("default", "a.example", "/", SHOPS), ("team-a", "", "/", "")],
                &["*: /healthz=/default-backend /=team-a/o1", ALL[0], ALL[1]],
                &[],
            ),
            (
                &[("default", "", "/", ""), ("default", "a.example", "/", SHOPS)],
                &["*: /healthz=/default-backend /=default/o0", "a.example: /=default/o1", "~^shop-.+$: /=default/o1"],
                &[],
            ),
            // It has no counterpart.
            (
                &[("default", "a.example", "/", "server-alias: ~^shop-.+$, from-to-www-redirect: 'true'")],
                &["a.example: /=default/o0", "www.a.example: 308 to a.example", "~^shop-.+$: /=default/o0"],
                &[],
            ),
        ],
        "nginx",
        shared,
    );
    let alone: &[Row<'_>] =
        &[(&[("default", "a.example", "/", SHOPS)], &["a.example: /=default/o0"], &["o0 HostNotAllowed"])];
    let allowed = |namespace: &str, hosts: &str| AllowedHosts {
        namespaces: vec![namespace.into()],
        items: vec![hosts.parse().unwrap()],
        ..AllowedHosts::default()
    };
    let with = |allowed_hosts: Vec<AllowedHosts>| move || Options { allowed_hosts: allowed_hosts.clone(), ..options() };
    // Where hosts are exclusive the administrator has to allow it.
    check(alone, "ingressd", options);
    check(alone, "nginx", with(vec![allowed("default", "a.example")]));
    let served: &[Row<'_>] = &[(&[("default", "a.example", "/", SHOPS)], ALL, &[])];
    check(served, "ingressd", with(vec![allowed("default", "*")]));
    // The administrator's setting for unknown hosts takes precedence.
    let by_default = || Options { default_backend: Some(("default".into(), "web".into())), ..shared() };
    let kept: &[Row<'_>] =
        &[(&[("default", "a.example", "/", SHOPS)], &["*:", "a.example: /=default/o0"], &["o0 HostOwned"])];
    check(kept, "nginx", by_default);
    let named: &[Row<'_>] = &[(&[("default", "a.example", "/", SHOPS)], &["*:", ALL[0], ALL[1]], &[])];
    check(named, "nginx", || Options { catch_all: vec!["default".into()], ..by_default() });
}

#[test]
fn an_expression_takes_no_host_that_is_claimed_and_not_served() {
    let broken = "auth-url: nonsense, server-alias: 'a b'";
    check(
        &[
            (
                &[("default", "a.example", "/", SHOPS), ("team-a", "shop-b.example", "/", broken)],
                &[
                    "*: /healthz=/unknown-hosts keeps shop-b.example",
                    "a.example: /=default/o0",
                    "~^shop-.+$: /=default/o0",
                ],
                &[],
            ),
            // Without expressions no host has to be reserved.
            (
                &[("default", "a.example", "/", ""), ("team-a", "shop-b.example", "/", broken)],
                &["a.example: /=default/o0"],
                &[],
            ),
        ],
        "nginx",
        shared,
    );
}

#[test]
fn a_younger_wildcard_of_another_namespace_takes_no_host_that_is_claimed_and_not_served() {
    let broken = "server-alias: 'a b'";
    let wildcard = |namespace| (namespace, "*.b.example", "/", "");
    let reserved: &[&str] = &["*: /healthz=/unknown-hosts keeps a.b.example", "*.b.example: /=default/o1"];
    check(
        &[
            (&[("team-a", "a.b.example", "/", broken), wildcard("default")], reserved, &[]),
            // The owner of the wildcard had the host first.
            (&[wildcard("default"), ("team-a", "a.b.example", "/", broken)], &["*.b.example: /=default/o0"], &[]),
            (&[("default", "a.b.example", "/", broken), wildcard("default")], &reserved[1..], &[]),
        ],
        "nginx",
        shared,
    );
}

#[test]
fn expressions_are_tried_in_the_order_in_which_they_were_asked_for() {
    let one = object("team-a", "one", 2021, "a.example", "/", "server-alias: ~^z");
    let other = object("team-b", "other", 2020, "b.example", "/", "");
    let late = object("team-b", "other", 2020, "b.example", "/", "server-alias: ~^a");
    let mut translator = Translator::new(shared());
    let mut claims = std::sync::Arc::<Claims>::default();
    let mut orders = Vec::new();
    for objects in [[&one, &other], [&one, &late]] {
        let documents = objects.map(String::as_str).join("\n---\n");
        let translation = translator.translate(&snapshot(&documents), &world(), &claims);
        claims = std::sync::Arc::clone(&translation.claims);
        let order = |server: &std::sync::Arc<Server>| {
            matches!(server.name, ServerName::Expression(_)).then_some((server.order, written(&server.name)))
        };
        let mut all: Vec<_> = translation.model.servers.iter().filter_map(order).collect();
        all.sort();
        orders.push(all.into_iter().map(|(_, name)| name).collect::<Vec<_>>());
    }
    // The object is older, its claim is younger.
    assert_eq!(orders, [vec!["~^z"], vec!["~^z", "~^a"]]);
    // The stored claims have the same effect.
    let kept = Claims::read(claims.write());
    assert_eq!(kept, *claims);
}

#[test]
fn what_looks_like_an_expression_in_a_rule_is_none() {
    let rule = |object: String| object.replace("host: 'a.example'", "host: '~^shop-.+$'");
    let objects = [rule(object("default", "o", 2020, "a.example", "/", ""))];
    for class in ["nginx", "ingressd"] {
        let translation = translate(&of_class(class, &objects), shared());
        assert_eq!(served(&translation), Vec::<String>::new());
        assert_eq!(findings(&translation), ["o InvalidHost"], "{class}");
    }
}

#[test]
fn expressions_of_a_namespace_have_a_bound() {
    let objects: Vec<_> = (0..3u16)
        .map(|number| {
            let host = format!("a{number}.example");
            object("default", &format!("o{number}"), 2020 + number, &host, "/", &format!("server-alias: ~^{number}$"))
        })
        .collect();
    let mut options = shared();
    options.limits.expressions_of_host = 2;
    let translation = translate(&objects.join("\n---\n"), options);
    let names: Vec<_> = served(&translation).into_iter().filter(|line| line.starts_with('~')).collect();
    assert_eq!(names, ["~^0$: /=default/o0", "~^1$: /=default/o1"]);
    let reported: Vec<_> = translation.findings.iter().filter(|finding| finding.note.contains("expressions")).collect();
    assert_eq!(reported.len(), 1);
    assert!(reported[0].origin.to_string().contains("o2"), "{}", reported[0]);
}

#[test]
fn what_is_written_down_once_more_has_a_bound_before_any_budget_is_asked() {
    let many = |name: &str, year: u16, host: &str, count: usize| {
        let paths: Vec<_> = (0..count).map(|number| path(&format!("/{number}"), "Prefix", "web")).collect();
        ingress(name, "nginx", host, "", &paths)
            .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
    };
    let mut options = shared();
    (options.limits.object.paths, options.limits.namespace.routes) = (50, 100);
    let rows: &[(&[usize], &[usize], usize)] = &[
        // Own paths of each object, all of them with thirty aliases, and how many rules it has
        // then.
        (&[1], &[31], 0),
        // What is refused for its paths is not written down much more than it is.
        (&[20], &[3], 0),
        (&[60], &[1], 0),
        // The oldest of a namespace go first.
        (&[1, 1, 1, 1, 1], &[31, 31, 31, 11, 1], 2),
    ];
    for (own, expected, reported) in rows {
        let documents: Vec<_> = (0u16..)
            .zip(*own)
            .map(|(number, count)| many(&format!("o{number}"), 2020 + number, &format!("a{number}.example"), *count))
            .collect();
        let snapshot = snapshot(&documents.join("\n---\n"));
        let class = options.classes[1].clone();
        let attached = |stored: &Stored<Ingress>| {
            let names = (0..30).map(|number| server_name(&format!("{}-{number}.example", stored.id.name)).unwrap());
            let aliases = HostAliases { names: names.collect(), weight: 0, origin: Origin::object(&stored.id) };
            let host = HostOptions { aliases: Some(aliases), ..HostOptions::default() };
            let reading = Arc::new(Reading { host, ..Reading::default() });
            let intent = Arc::new(reader::read(Seen::of(stored).unwrap(), Default::default()));
            Attached::new(intent, &class, Policy { reading, behaviour: Arc::default() })
        };
        let mut attached: Vec<_> = snapshot.ingresses.iter().map(attached).collect();
        let mut findings = Vec::new();
        expand(&mut attached, &options.limits, &mut findings);
        let rules = attached.iter().map(|object| object.rules.len());
        assert_eq!(rules.collect::<Vec<_>>(), *expected, "{own:?}");
        let reported_of = findings.iter().filter(|finding| finding.note.contains("limits.namespace-routes"));
        assert_eq!(reported_of.count(), *reported, "{findings:?}");
    }
}
