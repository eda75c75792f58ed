//! What is served of namespaces that ask for too much.

mod certificates;

use std::sync::Arc;

use crate::tests::manifests::snapshot;
use crate::tests::{findings, ingress, options, path, routes, translate, world};
use crate::{AllowedSnippets, Limits, NodeLimits, Options, SnippetKind, Translation, Translator};
use ingressd_model::cost::Cost;
use ingressd_model::finding::Reason;
use ingressd_model::{Behaviour, Kind, ObjectId};
use ingressd_objects::{IngressTls, Version};

fn with(limits: impl FnOnce(&mut Limits)) -> Options {
    let mut options = options();
    let (namespaces, items) = (vec!["*".into()], SnippetKind::ALL.to_vec());
    options.snippets = vec![AllowedSnippets { namespaces, items, ..AllowedSnippets::default() }];
    limits(&mut options.limits);
    options
}

/// An Ingress with one path of a host of its own.
fn simple(name: &str, annotations: &str) -> String {
    ingress(name, "ingressd", &format!("{name}.example.com"), annotations, &[path("/", "Prefix", "web")])
}

fn with_tls(name: &str, secret: &str) -> String {
    simple(name, "").replace("rules:", &format!("tls: [{{hosts: [{name}.example.com], secretName: {secret}}}], rules:"))
}

fn accepted(translation: &Translation) -> String {
    let names = translation.accepted().map(|(id, _)| id.name.to_string());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_newest_objects_of_a_namespace_are_left_out_and_reported() {
    let three = ["a", "b", "c"].map(|name| simple(name, "")).join("\n---\n");
    let limited = ["a", "b", "c"].map(|name| simple(name, "limit-rps: '10'")).join("\n---\n");
    let one_service = three.clone();
    let large = [
        simple("a", ""),
        ingress("b", "ingressd", "b.example.com", "", &["/x", "/y"].map(|text| path(text, "Exact", "web"))),
        simple("c", ""),
    ];
    let services = [
        simple("a", ""),
        ingress("b", "ingressd", "b.example.com", "", &[path("/", "Prefix", "other")]),
        simple("c", ""),
    ];
    let certificates = [with_tls("a", "one"), with_tls("b", "two"), with_tls("c", "one")];
    let long = format!("permanent-redirect: 'https://example.org/{}'", "r".repeat(3000));
    let long = ["a", "b", "c"].map(|name| simple(name, &long)).join("\n---\n");
    type Row<'a> = (&'a str, String, fn(&mut Limits), &'a str, &'a str);
    let sticky = [simple("a", ""), simple("b", "affinity: cookie"), simple("c", "")].join("\n---\n");
    let core = ["a", "b", "c"].map(|name| simple(name, "enable-owasp-core-rules: 'true'")).join("\n---\n");
    let named = ["a", "b", "c"].map(|name| simple(name, &format!("upstream-hash-by: '$arg_{name}$http_x'")));
    let same = ["a", "b", "c"].map(|name| simple(name, "auth-url: http://10.0.0.9/, auth-response-headers: 'X-A,X-B'"));
    // A snippet about a host is written for each path that other objects of the namespace have
    // there.
    let wide = |name: &str| {
        let paths: Vec<_> = (0..20).map(|number| path(&format!("/{name}{number}"), "Prefix", "web")).collect();
        ingress(name, "ingressd", "a.example.com", "", &paths)
    };
    let said = format!("server-snippet: 'add_header X-A {};'", "r".repeat(3000));
    let scribed = [simple("a", &said), wide("b"), wide("c")].join("\n---\n");
    let removed =
        format!("enable-modsecurity: 'true', modsecurity-snippet: 'SecRuleRemoveById {}1'", "942100 ".repeat(500));
    let removed = ["a", "b", "c"].map(|name| simple(name, &removed)).join("\n---\n");
    let persistent = |name: &str| simple(name, "affinity: cookie, affinity-mode: persistent");
    let at_endpoints = ["a", "b", "c"].map(persistent).join("\n---\n");
    let canary = ingress("b", "ingressd", "a.example.com", "canary: 'true'", &[path("/", "Prefix", "web")]);
    let of_canary = [persistent("a"), canary, persistent("c")].join("\n---\n");
    let heavy = ["a", "b", "c"].map(|name| {
        let annotations = "rewrite-target: /x, use-regex: 'true'";
        let paths = [path("/(?:[abc]d){150}", "ImplementationSpecific", "web")];
        ingress(name, "ingressd", &format!("{name}.example.com"), annotations, &paths)
    });
    let aliases = ["a", "b", "c"].map(|name| simple(name, &format!("server-alias: '~^{name}(?:[abc]d){{100}}$'")));
    let rows: [Row<'_>; 20] = [
        (
            "hosts",
            three.clone(),
            |limits| limits.namespace.hosts = 2,
            "a b",
            "needs 3 hosts, and limits.namespace-hosts allows 2",
        ),
        ("paths", three.clone(), |limits| limits.namespace.routes = 1, "a", "needs 2 paths"),
        // An object after one that is too large is served if it fits.
        ("the largest", large.join("\n---\n"), |limits| limits.namespace.routes = 2, "a c", "needs 3 paths"),
        // A Service and a Secret that several objects refer to count once.
        (
            "Services",
            services.join("\n---\n"),
            |limits| limits.namespace.upstreams = 1,
            "a c",
            "needs 2 ports of Services",
        ),
        // Each way to its endpoints is an upstream of its own.
        (
            "ways to one Service",
            sticky.clone(),
            |limits| limits.namespace.upstreams = 1,
            "a c",
            "needs 2 ports of Services",
        ),
        ("files of sessions", sticky, |limits| limits.namespace.files = 4, "a c", "needs 6 files"),
        // Each has a table of the Service's endpoints.
        ("names of endpoints", at_endpoints, |limits| limits.namespace.test = 35_000, "a b", "seconds"),
        ("names of a canary's endpoints", of_canary, |limits| limits.namespace.test = 35_000, "a c", "seconds"),
        ("one Service", one_service, |limits| limits.namespace.upstreams = 2, "a b c", ""),
        (
            "Secrets",
            certificates.join("\n---\n"),
            |limits| limits.namespace.certificates = 1,
            "a c",
            "needs 2 Secrets with certificates",
        ),
        ("files", three, |limits| limits.namespace.files = 3, "a b", "needs 4 files"),
        ("zones", limited, |limits| limits.namespace.zones = 200 << 10, "a b", "MiB of shared memory"),
        // Each host loads the rules for itself.
        ("rules of a firewall", core, |limits| limits.namespace.memory = 60 << 20, "a b", "MiB of nginx's memory"),
        // nginx compares all variables for each reference in a text, and each request reserves
        // memory for all.
        ("names of variables", named.join("\n---\n"), |limits| limits.namespace.test = 13_000, "a b", "seconds"),
        ("the same names", same.join("\n---\n"), |limits| limits.namespace.test = 13_000, "a b c", ""),
        (
            "what is said of a host",
            scribed,
            |limits| limits.namespace.configuration = 210_000,
            "a b",
            "MiB of configuration",
        ),
        (
            "settings of a firewall",
            removed,
            |limits| limits.namespace.configuration = 25_000,
            "a b",
            "MiB of configuration",
        ),
        // nginx compiles a rewritten path in three places.
        ("expressions", heavy.join("\n---\n"), |limits| limits.namespace.memory = 500_000, "a b", "MiB of nginx's"),
        ("aliases", aliases.join("\n---\n"), |limits| limits.namespace.memory = 340_000, "a b", "MiB of nginx's"),
        ("configuration", long, |limits| limits.namespace.configuration = 20_000, "a b", "MiB of configuration"),
    ];
    for (what, documents, limits, expected, reported) in rows {
        let translation = translate(&documents, with(limits));
        assert_eq!(accepted(&translation), expected, "{what}");
        let over: Vec<_> = translation.findings.iter().filter(|finding| finding.reason == Reason::OverBudget).collect();
        match reported {
            "" => assert!(over.is_empty(), "{what}: {over:?}"),
            reported => {
                assert!(
                    !over.is_empty() && over.iter().all(|finding| finding.note.contains("limits.namespace-")),
                    "{what}"
                );
                assert!(over[0].note.contains(reported), "{what}: {over:?}");
            }
        }
        assert!(translation.refused.is_empty(), "{what}");
    }
}

#[test]
fn one_protected_path_makes_all_paths_of_its_host_dearer() {
    let one = |name: &str, annotations: &str, paths: &[&str]| {
        let paths: Vec<_> = paths.iter().map(|text| path(text, "Exact", "web")).collect();
        ingress(name, "ingressd", "a.example.com", annotations, &paths)
    };
    let (plain, protected) = (one("a", "", &["/a", "/b"]), one("b", "allowlist-source-range: 10.0.0.0/8", &["/c"]));
    let elsewhere = simple("c", "");
    let documents = [plain, protected, elsewhere].join("\n---\n");
    // The least memory with which everything is served.
    let least = |are_strict| {
        let is_enough = |memory: &u64| {
            let mut options = with(|limits| limits.namespace.memory = *memory);
            options.strict_paths = Some(are_strict);
            accepted(&translate(&documents, options)) == "a b c"
        };
        let (mut short, mut enough) = (0, 1 << 20);
        while enough - short > 1 {
            let middle = (short + enough) / 2;
            *(if is_enough(&middle) { &mut enough } else { &mut short }) = middle;
        }
        enough
    };
    assert_eq!(least(true) - least(false), (Cost::of_strict_path() * 3).memory);
}

#[test]
fn other_namespaces_have_budgets_of_their_own() {
    let others = ["x", "y"].map(|name| simple(name, "").replace("namespace: default", "namespace: other"));
    let documents = [simple("a", ""), simple("b", "")].into_iter().chain(others).collect::<Vec<_>>().join("\n---\n");
    let translation = translate(&documents, with(|limits| limits.namespace.hosts = 1));
    assert_eq!(accepted(&translation), "a x");
}

#[test]
fn a_host_that_is_redirected_counts() {
    let redirects = simple("a", "from-to-www-redirect: 'true'");
    for (most, expected) in [(1, ""), (2, "a")] {
        let translation = translate(&redirects, with(|limits| limits.namespace.hosts = most));
        assert_eq!(accepted(&translation), expected, "{most}");
    }
}

#[test]
fn what_the_node_has_is_shared_fairly() {
    let in_namespace = |namespace: &str, names: &[&str]| {
        let objects =
            names.iter().map(|name| simple(name, "").replace("namespace: default", &format!("namespace: {namespace}")));
        objects.collect::<Vec<_>>().join("\n---\n")
    };
    let bulk = || in_namespace("crowd", &["a", "b", "c"]);
    // The cost of this many objects that refer to this many Services.
    let cost = |objects, services| {
        let mut cost = Cost::of_host();
        cost += Cost::of_route(1, 0, &Behaviour::default(), false);
        let mut cost = cost * objects;
        cost += Cost::of_upstream(0) * services;
        cost
    };
    type Total = (&'static str, fn(&Cost) -> u64, fn(&mut Limits, u64));
    let totals: [Total; 3] = [
        ("limits.node-configuration-mib", |cost| cost.configuration, |limits, most| limits.node.configuration = most),
        ("limits.node-memory-mib", |cost| cost.memory, |limits, most| limits.node.memory = most),
        ("limits.node-test-seconds", |cost| cost.test, |limits, most| limits.node.test = most),
    ];
    for (key, used, set) in totals {
        for (what, documents, total, expected) in [
            ("enough", vec![bulk(), in_namespace("other", &["x"])], cost(4, 2), "a b c x"),
            // A namespace below its share keeps everything.
            ("not enough for one", vec![bulk(), in_namespace("other", &["x"])], cost(3, 2), "a b x"),
            ("not enough for both", vec![bulk(), in_namespace("other", &["x", "y"])], cost(2, 2), "a x"),
            ("nobody else there", vec![bulk()], cost(2, 1), "a b"),
            (
                "three",
                vec![bulk(), in_namespace("other", &["x", "y"]), in_namespace("third", &["z"])],
                cost(5, 3),
                "a b x y z",
            ),
        ] {
            let translation = translate(&documents.join("\n---\n"), with(|limits| set(limits, used(&total))));
            assert_eq!(accepted(&translation), expected, "{what}: {key}");
            let about = |reason: Reason| translation.findings.iter().filter(move |finding| finding.reason == reason);
            let over: Vec<_> = about(Reason::OverBudget).map(|finding| &*finding.note).collect();
            assert_eq!(
                over.len() + expected.split(' ').count(),
                documents.join("").matches("kind: Ingress").count(),
                "{what}: {key}"
            );
            let reports =
                |note: &&str| note.contains("because all namespaces together need more than") && note.contains(key);
            assert!(over.iter().all(reports), "{what}: {over:?}");
            // The administrator gets a finding in any case.
            assert!(about(Reason::NearBudget).any(|finding| *finding.origin.object.name == *key), "{what}: {key}");
        }
    }
}

#[test]
fn what_is_nearly_used_up_is_reported_before_it_is() {
    let of = |names: &[&str]| {
        let documents = names.iter().map(|name| simple(name, "")).collect::<Vec<_>>().join("\n---\n");
        findings(&translate(&documents, with(|limits| limits.namespace.hosts = 5)))
    };
    assert_eq!(of(&["a", "b", "c", "d"]), Vec::<String>::new());
    assert_eq!(of(&["a", "b", "c", "d", "e"]), ["limits.namespace-hosts NearBudget"]);
}

/// Each number is the largest that is allowed, reported and served.
#[test]
fn what_one_object_nearly_has_too_much_of_is_reported_before_it_has() {
    type Row = (&'static str, fn(&mut Limits), String);
    let paths = |count: usize| -> Vec<String> {
        (0..count).map(|number| path(&format!("/{number}"), "Prefix", "web")).collect()
    };
    let annotated = |annotations: &str| ingress("a", "ingressd", "a.example", annotations, &paths(1));
    let expressions: Vec<_> =
        (0..5).map(|number| path(&format!("/{number}/[a-z]+"), "ImplementationSpecific", "web")).collect();
    let list = "allowlist-source-range: \"10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4,10.0.0.5\"";
    let origins =
        "enable-cors: \"true\", cors-allow-origin: \"https://a.b,https://c.d,https://e.f,https://g.h,https://i.j\"";
    let rows: [Row; 6] = [
        ("limits.object-paths", |limits| limits.object.paths = 5, ingress("a", "ingressd", "a.example", "", &paths(5))),
        (
            "limits.paths-of-host",
            |limits| limits.paths_of_host = 5,
            ingress("a", "ingressd", "a.example", "", &paths(5)),
        ),
        (
            "limits.expressions-of-host",
            |limits| limits.expressions_of_host = 5,
            ingress("a", "ingressd", "a.example", "use-regex: \"true\"", &expressions),
        ),
        ("limits.object-list-entries", |limits| limits.object.list_entries = 5, annotated(list)),
        ("limits.object-annotation-bytes", |limits| limits.object.annotation_bytes = 45, annotated(list)),
        ("limits.object-origins", |limits| limits.object.origins = 5, annotated(origins)),
    ];
    for (key, set, document) in rows {
        let near = |translation: &Translation| -> Vec<String> {
            let about = translation.findings.iter().filter(|finding| finding.reason == Reason::NearBudget);
            about.map(ToString::to_string).collect()
        };
        let translation = translate(&document, with(set));
        let reported = near(&translation);
        assert!(
            reported.len() == 1 && reported[0].contains(key) && reported[0].starts_with("Ingress default/a"),
            "{key}: {reported:?}"
        );
        assert_eq!(translation.findings.len(), 1, "{key}: everything is served: {:?}", translation.findings);
        assert_eq!(near(&translate(&document, with(|_| ()))), Vec::<String>::new(), "{key}");
    }
}

#[test]
fn what_is_left_out_leaves_nothing_open_that_it_protected() {
    let protected = |host: &str, text: &str| {
        ingress("b", "ingressd", host, "allowlist-source-range: 10.0.0.0/8", &[path(text, "Prefix", "web")])
    };
    let open = |host: &str, text: &str| ingress("b", "ingressd", host, "", &[path(text, "Prefix", "web")]);
    let first = |host: &str| ingress("a", "ingressd", host, "", &[path("/", "Prefix", "web")]);
    let rows: [(&str, String, String, &[&str]); 6] = [
        (
            "its host",
            first("x.example.com"),
            protected("x.example.com", "/in"),
            &["x.example.com", "  /in -> 503", "  / -> web Http", "  else / -> 404"],
        ),
        (
            "a host of its own",
            first("x.example.com"),
            protected("y.example.com", "/in"),
            &["x.example.com", "  / -> web Http", "  else / -> 404"],
        ),
        (
            "below a wildcard",
            first("*.example.com"),
            protected("y.example.com", "/in"),
            &[
                "y.example.com",
                "  /in -> 503",
                "  else / -> 503",
                "*.example.com",
                "  / -> web Http",
                "  else / -> 404",
            ],
        ),
        (
            "of all hosts",
            first(""),
            protected("y.example.com", "/in"),
            &["*", "  / -> web Http", "  else / -> 404", "y.example.com", "  /in -> 503", "  else / -> 503"],
        ),
        (
            "not protected",
            first("x.example.com"),
            open("x.example.com", "/in"),
            &["x.example.com", "  / -> web Http", "  else / -> 404"],
        ),
        (
            "wrongly protected",
            first("x.example.com"),
            open("x.example.com", "/in").replace(
                "annotations: {",
                "annotations: {nginx.ingress.kubernetes.io/denylist-source-range: everybody",
            ),
            &["x.example.com", "  /in -> 503", "  / -> web Http", "  else / -> 404"],
        ),
    ];
    for (what, first, second, expected) in rows {
        let translation = translate(&[first, second].join("\n---\n"), with(|limits| limits.namespace.routes = 1));
        assert_eq!(routes(&translation), expected, "{what}");
        assert_eq!(accepted(&translation), "a", "{what}");
        assert!(findings(&translation).contains(&"b OverBudget".to_owned()), "{what}");
    }
}

#[test]
fn where_even_closed_paths_are_too_many_the_host_is_closed_for_the_namespace_alone() {
    let many: Vec<_> = ["/1", "/2", "/3"].map(|text| path(text, "Prefix", "web")).into();
    let documents = [
        ingress("a", "nginx", "x.example.com", "", &[path("/", "Prefix", "web")]),
        ingress("b", "nginx", "x.example.com", "denylist-source-range: 10.0.0.0/8", &many),
        ingress(
            "c",
            "nginx",
            "x.example.com",
            "permanent-redirect: 'https://example.org'",
            &[path("/theirs", "Prefix", "web")],
        )
        .replace("namespace: default", "namespace: kube-system"),
        ingress("a2", "nginx", "y.example.com", "", &[path("/", "Prefix", "web")]),
    ];
    let translation = translate(&documents.join("\n---\n"), with(|limits| limits.namespace.routes = 2));
    let shown = routes(&translation);
    assert!(shown.contains(&"  / -> 503".to_owned()) && shown.contains(&"  / -> web Http".to_owned()), "{shown:?}");
    assert!(!shown.iter().any(|line| line.contains("/1")), "{shown:?}");
    // Objects of others do not count in this budget.
    let theirs = translation.model.servers.iter().flat_map(|server| &server.routes);
    let theirs: Vec<_> = theirs.filter(|route| &*route.origin.object.namespace == "kube-system").collect();
    assert_eq!(theirs.len(), 1);
    assert_ne!(theirs[0].action, ingressd_model::Action::Closed);
}

#[test]
fn a_version_with_too_many_paths_gives_way_to_the_one_before() {
    let two = ["/1", "/2"].map(|text| path(text, "Prefix", "web"));
    let document = ingress("a", "ingressd", "x.example.com", "", &two);
    for (most, expected) in [(2, 0), (1, 1)] {
        let translation = translate(&document, with(|limits| limits.object.paths = most));
        assert_eq!(translation.refused.len(), expected);
        let over = translation.findings.iter().filter(|finding| finding.reason == Reason::OverBudget);
        assert_eq!(over.count(), expected);
    }
}

#[test]
fn lists_and_values_of_an_object_have_bounds() {
    let networks = |count: usize| (0..count).map(|number| format!("10.0.0.{number}")).collect::<Vec<_>>().join(",");
    let object = |annotations: &[(&str, String)]| {
        let document = simple("a", "");
        let keys = annotations.iter().map(|(key, value)| format!("nginx.ingress.kubernetes.io/{key}: \"{value}\""));
        document.replace("annotations: {", &format!("annotations: {{{}", keys.collect::<Vec<_>>().join(", ")))
    };
    let limits = |limits: &mut Limits| {
        (limits.object.list_entries, limits.object.annotation_bytes, limits.object.origins) = (10, 200, 2);
    };
    let allow = |count| ("allowlist-source-range", networks(count));
    let deny = |count| ("denylist-source-range", networks(count));
    let exempt = |count| ("limit-whitelist", networks(count));
    let origins = |count: usize| {
        let origins = (0..count).map(|number| format!("https://{number}.example.com")).collect::<Vec<_>>();
        ("cors-allow-origin", origins.join(","))
    };
    type Row = (Vec<(&'static str, String)>, &'static str);
    let rows: Vec<Row> = vec![
        (vec![allow(10)], ""),
        (
            vec![allow(11)],
            "a InvalidSecurityValue 11 elements in the lists of the object are more than the 10 that limits.object-list-entries",
        ),
        // They count together.
        (vec![allow(5), deny(5)], ""),
        (vec![allow(5), deny(6)], "a InvalidSecurityValue 11 elements"),
        (vec![allow(10), exempt(2), ("limit-rps", "1".to_owned())], "a RefusedValue 12 elements"),
        (
            vec![("auth-realm", "r".repeat(201))],
            "a InvalidValue 201 bytes are more than the 200 that limits.object-annotation-bytes",
        ),
        (vec![("enable-cors", "true".to_owned()), origins(2)], ""),
        (
            vec![("enable-cors", "true".to_owned()), origins(3)],
            "a InvalidValue 3 origins are more than the 2 that limits.object-origins",
        ),
    ];
    for (annotations, expected) in rows {
        let translation = translate(&object(&annotations), with(limits));
        let besides = [Reason::ClosedRoute, Reason::NearBudget];
        let reported =
            translation.findings.iter().filter(|finding| !besides.contains(&finding.reason)).map(|finding| {
                format!(
                    "{} {} {}",
                    finding.origin.object.name,
                    finding.reason,
                    finding.note.split_once("refused: ").map_or(&*finding.note, |(_, clause)| clause)
                )
            });
        let reported = reported.collect::<Vec<_>>();
        match expected {
            "" => assert_eq!(reported, Vec::<String>::new(), "{annotations:?}"),
            expected => {
                assert!(reported.len() == 1 && reported[0].starts_with(expected), "{annotations:?}: {reported:?}");
                let is_closed = routes(&translation).iter().any(|line| line == "  / -> 503");
                assert_eq!(is_closed, expected.contains("Security"), "{annotations:?}");
                let cors = translation.model.servers.iter().flat_map(|server| &server.routes);
                assert!(cors.into_iter().all(|route| route.behaviour.cors.is_none()), "{annotations:?}");
            }
        }
    }
}

/// A large, ordinary cluster of one tenant: each object has a host, a certificate, two paths, two
/// Services and a few annotations.
#[test]
fn five_thousand_ordinary_objects_of_one_namespace_are_served() {
    const ANNOTATIONS: &str = "proxy-body-size: 8m, proxy-read-timeout: '120', limit-rps: '50', enable-cors: 'true', \
                               allowlist-source-range: 10.0.0.0/8";
    let template = snapshot(&ingress(
        "app",
        "ingressd",
        "app.example.com",
        ANNOTATIONS,
        &[path("/", "Prefix", "web"), path("/api", "Prefix", "web")],
    ));
    let mut many = template.clone();
    let ingresses = many.ingresses.edit();
    let one = ingresses.pop().expect("the object");
    for number in 0..5000 {
        let mut other = one.clone();
        let name = format!("app-{number}");
        let object = Arc::make_mut(&mut other.object);
        let host = format!("{name}.example.com");
        let rule = &mut object.rules[0];
        rule.host = Some(host.as_str().into());
        for (index, entry) in rule.paths.iter_mut().enumerate() {
            entry.backend.service = Some(format!("service-{number}-{index}").into());
        }
        let secret_name = Some(format!("certificate-{number}").into());
        object.tls = [IngressTls { hosts: [host.into()].into(), secret_name }].into();
        other.id = Arc::new(ObjectId::new(Kind::INGRESS, "default", &name));
        other.version = Version(name.into());
        ingresses.push(other);
    }
    ingresses.sort_by(|left, right| left.id.cmp(&right.id));
    let secrets = many.secrets.edit();
    let own = certificates::secret_with(3);
    secrets.extend((0..5000).map(|number| {
        let mut other = own.clone();
        other.id = Arc::new(ObjectId::new(Kind::SECRET, "default", &format!("certificate-{number}")));
        other
    }));
    secrets.sort_by(|left, right| left.id.cmp(&right.id));
    // Three such namespaces do not use up what the node has either.
    let options = with(|limits| {
        let NodeLimits { configuration, memory, test } = &mut limits.node;
        [configuration, memory, test].into_iter().for_each(|most| *most /= 3);
    });
    let translation = Translator::new(options).translate(&many, &world(), &Arc::default());
    let about_budgets = |reason| matches!(reason, Reason::OverBudget | Reason::TooManyEndpoints);
    let reported: Vec<_> = translation.findings.iter().filter(|finding| about_budgets(finding.reason)).collect();
    assert!(reported.is_empty(), "{:?}", reported.first());
    assert_eq!(translation.accepted().count(), 5000);
    // Their 5000 zones share the namespace's limit.
    assert_eq!(translation.model.zone_size("default").to_string(), "80k");
}
