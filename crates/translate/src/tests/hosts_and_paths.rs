//! Hosts, paths, rewrites and conflicts in both dialects.

use super::{findings, ingress, options, path, routes, shared, translate};

#[test]
fn paths() {
    const SPECIFICATION: &str = "ingressd";
    const NGINX: &str = "nginx";
    type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);
    let rows: &[Row] = &[
        (
            SPECIFICATION,
            "",
            &[("/", "Prefix"), ("/a", "Prefix"), ("/a", "Exact"), ("/abc", "ImplementationSpecific")],
            &["= /a", "/abc", "/a", "/"],
        ),
        (SPECIFICATION, "", &[("/a", "Prefix"), ("/a/", "Prefix")], &["/a/", "/a"]),
        (NGINX, "", &[("/a", "Prefix"), ("/a/", "Prefix")], &["/a/", "/a"]),
        (SPECIFICATION, "", &[("/p/", "Prefix"), ("/q/", "Exact")], &["= /q/", "/p/"]),
        (NGINX, "", &[("/p/", "Prefix"), ("/q/", "Exact")], &["= /q/ 301", "/p/ 301"]),
        (NGINX, "", &[("", "ImplementationSpecific")], &["/"]),
        (
            SPECIFICATION,
            "use-regex: 'true'",
            &[
                ("/x/[0-9]", "ImplementationSpecific"),
                ("/y", "Exact"),
                ("/z", "Prefix"),
                ("/long/.*/x", "ImplementationSpecific"),
            ],
            &["= /y", "~ /long/.*/x", "~ /x/[0-9]", "/z"],
        ),
        // The longest path first, an expression by what it begins with.
        (
            SPECIFICATION,
            "use-regex: 'true'",
            &[
                ("/(.*)", "ImplementationSpecific"),
                ("/admin", "Prefix"),
                ("/a", "Prefix"),
                ("/a(/|$)(.*)", "ImplementationSpecific"),
                ("/admin/[0-9]+/.*", "ImplementationSpecific"),
                ("/", "Prefix"),
                ("/b", "Exact"),
            ],
            &["= /b", "~ /admin/[0-9]+/.*", "/admin", "~ /a(/|$)(.*)", "/a", "~ /(.*)", "/"],
        ),
        (
            NGINX,
            "use-regex: 'true'",
            &[("/b", "Prefix"), ("/a", "Exact"), ("/long/", "Prefix")],
            &["~ /long/", "~ /b", "~ /a"],
        ),
        (NGINX, "rewrite-target: /new", &[("/old", "Prefix")], &["~ /old rewrite /old"]),
        (NGINX, "rewrite-target: /old", &[("/old", "Prefix")], &["~ /old rewrite /old"]),
        (NGINX, "rewrite-target: /old", &[("/old", "Exact")], &["~ /old"]),
        (NGINX, "rewrite-target: /", &[("/", "Prefix")], &["/"]),
        (NGINX, "rewrite-target: /$nothing", &[("/old", "Prefix")], &["/old"]),
        (SPECIFICATION, "rewrite-target: /new", &[("/old", "Prefix")], &["/old rewrite all"]),
        (
            SPECIFICATION,
            "rewrite-target: /$1, use-regex: 'true'",
            &[("/o(.*)", "ImplementationSpecific")],
            &["~ /o(.*) rewrite ^/o(.*)"],
        ),
    ];
    for (class, annotations, paths, expected) in rows {
        let paths: Vec<_> = paths.iter().map(|(text, kind)| path(text, kind, "web")).collect();
        let translation = translate(&ingress("i", class, "a.example", annotations, &paths), options());
        let routes = routes(&translation);
        let shown: Vec<_> =
            routes[1..routes.len() - 1].iter().map(|line| line.trim().replace(" -> web Http", "")).collect();
        assert_eq!(shown, *expected, "{class} {annotations} {paths:?}");
    }
}

#[test]
fn all_mistakes_of_a_refused_object_are_reported_at_once() {
    let paths = [path("/a/*", "Prefix", "web"), path("/b", "Prefix", "absent"), path("/c", "Suffix", "absent")];
    let wrong = "canary: maybe, default-backend: nobody";
    let translation = translate(&ingress("i", "ingressd", "a.example", wrong, &paths), options());
    let reported = ["InvalidPath", "LiteralPath", "MissingService", "MissingService", "RefusedValue"];
    let mut found = findings(&translation);
    found.sort();
    assert_eq!(found, reported.map(|reason| format!("i {reason}")));
    assert!(translation.model.servers.is_empty() && translation.model.upstreams.is_empty());
}

#[test]
fn refused_objects_are_left_out() {
    let long = format!("/{}", "a".repeat(4000));
    let cases = [
        (path("x", "Prefix", "web"), "", "InvalidPath"),
        (path(&long, "Prefix", "web"), "", "InvalidPath"),
        (path("/a", "Suffix", "web"), "", "InvalidPath"),
        (path("/a", "Prefix", "web").replace("'/a'", "\"/a\\n\""), "", "InvalidPath"),
        (path("/a", "Prefix", "web").replace("'/a'", "\"/a\\0\""), "", "InvalidPath"),
        (path("/a", "Prefix", "web"), "rewrite-target: /$1", "RefusedValue"),
        (path("/a", "Prefix", "web"), "upstream-vhost: '$1.example'", "RefusedValue"),
        (path("/a", "Prefix", "web"), "canary: maybe", "RefusedValue"),
    ];
    for (path, annotations, reason) in cases {
        let translation =
            translate(&ingress("i", "ingressd", "a.example", annotations, std::slice::from_ref(&path)), options());
        assert_eq!(findings(&translation), [format!("i {reason}")], "{path}");
        assert!(translation.model.servers.is_empty() && translation.accepted().next().is_none(), "{path}");
        assert_eq!(translation.refused.len(), 1, "{path}");
    }
}

#[test]
fn a_path_that_looks_like_an_expression_is_reported_where_it_is_text() {
    let reported = "i LiteralPath";
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("/*", "ImplementationSpecific", "", &[reported]),
        ("/argo(/|$)(.*)", "Prefix", "", &[reported]),
        ("/[0-9]", "Exact", "", &[reported]),
        ("/Foo_(bar)", "Exact", "", &[]),
        ("/argo(/|$)(.*)", "ImplementationSpecific", "rewrite-target: /$2", &[]),
        ("/.*", "ImplementationSpecific", "use-regex: 'true'", &[]),
        // nginx compares paths without these.
        ("/a//", "Prefix", "", &[reported]),
        ("//", "Exact", "", &[reported]),
        ("/a/./b", "Prefix", "", &[reported]),
        ("/a/..", "Exact", "", &[reported]),
        ("/..", "Prefix", "", &[reported]),
        ("/a%20b", "Prefix", "", &[reported]),
        ("/a%2Fb", "Prefix", "use-regex: 'false'", &[reported]),
        ("/a b", "Prefix", "", &[]),
        ("/100%", "Exact", "", &[]),
        ("/..a/.b/", "Prefix", "", &[]),
        ("/a%20b(/|$)", "ImplementationSpecific", "use-regex: 'true'", &[]),
    ];
    for (text, kind, annotations, expected) in cases {
        let paths = [path(text, kind, "web")];
        let translation = translate(&ingress("i", "nginx", "a.example", annotations, &paths), options());
        assert_eq!(findings(&translation), *expected, "{text} {kind}");
    }
}

#[test]
fn a_path_that_nginx_resolves_takes_no_request() {
    let paths = ["//", "/a//", "/a/./", "/a/../b"].map(|text| path(text, "Prefix", "web"));
    for class in ["ingressd", "nginx"] {
        let documents = [
            ingress("a", class, "a.example", "", &paths),
            ingress("b", class, "a.example", "", &[path("/a", "Prefix", "api"), path("/a//", "Exact", "api")]),
        ];
        let translation = translate(&documents.join("\n---\n"), options());
        assert_eq!(routes(&translation)[1..], ["  /a -> api Http", "  else / -> 404"], "{class}");
        let reported = findings(&translation);
        assert!(
            reported.len() == 5 && reported.iter().all(|reported| reported.ends_with(" LiteralPath")),
            "{reported:?}"
        );
        assert_eq!(translation.accepted().map(|(_, one)| one.routes).collect::<Vec<_>>(), [0, 1], "{class}");
    }
}

#[test]
fn hosts() {
    let documents = ["Shop.example.com", "*.example.com", "", "bad..host", "a_b.example"]
        .iter()
        .enumerate()
        .map(|(number, host)| ingress(&format!("i{number}"), "ingressd", host, "", &[]))
        .collect::<Vec<_>>()
        .join("\n---\n");
    let translation = translate(&documents, options());
    let servers: Vec<_> = routes(&translation).into_iter().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(servers, ["*", "a_b.example", "shop.example.com", "*.example.com"]);
    assert_eq!(findings(&translation), ["i3 InvalidHost"]);
    assert_eq!(translation.accepted().count(), 5);
}

#[test]
fn the_oldest_wins() {
    let documents = include_str!("../../../../tests/golden/conflicts.yaml");
    let translation = translate(documents, shared());
    assert_eq!(findings(&translation), ["older SharedHost", "exact PathConflict", "younger PathConflict"]);
    let owners: Vec<_> =
        translation.model.servers[0].routes.iter().map(|route| route.origin.object.to_string()).collect();
    assert_eq!(owners, ["Ingress team-b/younger", "Ingress team-a/older"]);
}

#[test]
fn regex_mode_is_of_the_host_and_dialect() {
    let one = |name: &str, class: &str, annotations: &str, text: &str| {
        ingress(name, class, "a.example", annotations, &[path(text, "Prefix", "web")])
    };
    let documents =
        [one("a", "nginx", "use-regex: 'true'", "/a"), one("b", "nginx", "", "/b"), one("c", "ingressd", "", "/c")];
    let translation = translate(&documents.join("\n---\n"), options());
    assert_eq!(routes(&translation)[1..4], ["  ~ /b -> web Http", "  ~ /a -> web Http", "  /c -> web Http"]);
}

/// An expression of ingress-nginx takes no requests of a longer path of the specification.
#[test]
fn paths_of_both_dialects_on_one_host_go_by_their_length() {
    let one = |name: &str, class: &str, annotations: &str, paths: &[(&str, &str)]| {
        let paths: Vec<_> = paths.iter().map(|(text, kind)| path(text, kind, "web")).collect();
        ingress(name, class, "a.example", annotations, &paths)
    };
    let theirs = [("/a/.*", "ImplementationSpecific"), ("/.*/long/.*", "Prefix"), ("/b/c/d", "Exact")];
    let own = [("/admin", "Prefix"), ("/a", "Prefix"), ("/b", "Exact")];
    let documents = [one("a", "nginx", "use-regex: 'true'", &theirs), one("b", "ingressd", "", &own)];
    let translation = translate(&documents.join("\n---\n"), options());
    let routes = routes(&translation);
    let shown: Vec<_> =
        routes[1..routes.len() - 1].iter().map(|line| line.trim().replace(" -> web Http", "")).collect();
    assert_eq!(shown, ["= /b", "/admin", "/a", "~ /.*/long/.*", "~ /b/c/d", "~ /a/.*"]);
}

#[test]
fn selection() {
    let documents = include_str!("../../../../tests/golden/selection.yaml");
    let translation = translate(documents, options());
    assert_eq!(findings(&translation), ["none ForeignClass", "theirs ForeignClass", "unknown ForeignClass"]);
    let mut all = options();
    all.classes[0].without_class = true;
    assert_eq!(translate(documents, all).accepted().count(), 3);
}

#[test]
fn default_backends() {
    let documents = include_str!("../../../../tests/golden/default-backend.yaml");
    let expected = ["*", "  else / -> api Http", "rules.example.com", "  /api -> api Http", "  else / -> web Http"];
    assert_eq!(routes(&translate(documents, options())), expected);
    let daemon = crate::Options { default_backend: Some(("default".into(), "web".into())), ..options() };
    let only = ingress("i", "nginx", "a.example", "", &[path("/a", "Prefix", "api")]);
    let expected = ["*", "  else / -> web Http", "a.example", "  /a -> api Http", "  else / -> web Http"];
    assert_eq!(routes(&translate(&only, daemon)), expected);
    // With ingress-nginx the annotation would have no effect here (docs/ingress-nginx.md).
    let moved = ingress("i", "nginx", "", "permanent-redirect: 'https://b.example/'", &[]);
    let backend = "defaultBackend: {service: {name: web, port: {number: 80}}}}\n";
    let moved = format!("{}{backend}", moved.split("rules:").next().unwrap());
    assert_eq!(
        routes(&translate(&moved, options())),
        ["*", "  = /healthz -> 200", "  else / -> 301 https://b.example/"]
    );
}

#[test]
fn closed_objects_answer_503_for_all_paths() {
    let closed = ingress("i", "nginx", "a.example", "allowlist-source-range: nonsense", &[path("/a", "Prefix", "web")]);
    let translation = translate(&closed, options());
    assert_eq!(routes(&translation), ["a.example", "  /a -> 503", "  else / -> 503"]);
    assert_eq!(findings(&translation), ["i ClosedRoute", "i InvalidSecurityValue"]);
}

#[test]
fn each_host_of_an_object_is_named_once_however_many_it_has() {
    let rules = |count: usize| {
        let hosts = (0..count).chain(0..count).map(|number| format!("{{host: h{number}.example}}"));
        hosts.collect::<Vec<_>>().join(", ")
    };
    for count in [1, 15, 16, 17, 100] {
        let document = ingress("i", "nginx", "gone.example", "", &[]);
        let head = document.split("spec:").next().unwrap();
        let translation =
            translate(&format!("{head}spec: {{ingressClassName: nginx, rules: [{}]}}\n", rules(count)), options());
        let expected: Vec<_> = (0..count).map(|number| format!("h{number}.example")).collect();
        let hosts = translation.accepted().flat_map(|(_, served)| &served.hosts).map(|host| &**host);
        assert!(hosts.eq(expected.iter().map(String::as_str)), "{count}");
    }
}

#[test]
fn a_host_has_a_bounded_number_of_paths_and_the_youngest_goes_without() {
    let many = |name: &str, count: usize| {
        let paths: Vec<_> = (0..count).map(|number| path(&format!("/{name}/{number}"), "Exact", "web")).collect();
        ingress(name, "nginx", "a.example", "", &paths)
    };
    // Objects of the same age are ordered by name.
    let documents = [many("a", 6000), many("b", 4001), many("c", 2).replace("a.example", "b.example")];
    let mut options = options();
    options.limits.object.paths = 10_000;
    let translation = translate(&documents.join("\n---\n"), options);
    let paths: Vec<_> = translation.model.servers.iter().map(|server| server.routes.len()).collect();
    assert_eq!((paths, findings(&translation)), (vec![10_000, 2], vec!["b TooManyPaths".to_owned()]));
}
