//! Which route takes a path, in both dialects.
use rig::client::get;
use rig::manifests::{Ingress, ingress};

fn paths(class: &str, host: &str, paths: &[(&str, &str, &str)]) -> Ingress {
    let base = ingress(&host.replace('.', "-")).class(class);
    paths.iter().fold(base, |ingress, (path_type, path, service)| ingress.path(host, path_type, path, service))
}

#[test]
fn the_specification_matches_by_element() {
    rig::run(async |rig| {
        rig.serve(&["root", "foo", "bar", "exact", "slash", "plain"]);
        rig.manifests.write(
            "paths.yaml",
            &[
                paths(
                    "ingressd",
                    "p.test",
                    &[
                        ("Prefix", "/", "root"),
                        ("Prefix", "/foo", "foo"),
                        ("Prefix", "/foo/bar", "bar"),
                        ("Exact", "/foo/exact", "exact"),
                    ],
                )
                .build(),
                paths("ingressd", "slash.test", &[("Prefix", "/aaa/bbb/", "slash")]).build(),
                paths("ingressd", "both.test", &[("Prefix", "/a", "plain"), ("Prefix", "/a/", "slash")]).build(),
                paths("ingressd", "same.test", &[("Prefix", "/s", "plain"), ("Exact", "/s", "exact")]).build(),
                paths("ingressd", "exact.test", &[("Exact", "/foo/", "slash"), ("Exact", "/bar", "bar")]).build(),
                paths("ingressd", "odd.test", &[("Exact", "/a b", "foo"), ("Prefix", "/ä$\"{;}", "bar")]).build(),
            ],
        );
        rig.start().await;
        rig.expect([
            (get("http://p.test/"), "root"),
            (get("http://p.test/foo"), "foo"),
            (get("http://p.test/foo/"), "foo"),
            (get("http://p.test/foo?x=/foo/bar"), "foo"),
            (get("http://p.test/foobar"), "root"),
            (get("http://p.test/FOO"), "root"),
            (get("http://p.test/foo/bar/x"), "bar"),
            (get("http://p.test/foo/barx"), "foo"),
            (get("http://p.test/foo/exact"), "exact"),
            (get("http://p.test/foo/exact/"), "foo"),
            (get("http://p.test/%66oo/bar"), "bar"),
            (get("http://slash.test/aaa/bbb"), "slash"),
            (get("http://slash.test/aaa/bbb/"), "slash"),
            (get("http://slash.test/aaa/bbb/ccc"), "slash"),
            (get("http://slash.test/aaa/bbbx"), "404"),
            (get("http://slash.test/"), "404"),
            (get("http://both.test/a"), "plain"),
            (get("http://both.test/a/x"), "slash"),
            (get("http://both.test/ab"), "404"),
            (get("http://same.test/s"), "exact"),
            (get("http://same.test/s/x"), "plain"),
            (get("http://exact.test/foo"), "404"),
            (get("http://exact.test/foo/"), "slash"),
            (get("http://exact.test/bar/"), "404"),
            (get("http://odd.test/a%20b"), "foo"),
            (get("http://odd.test/%C3%A4$%22%7B;%7D/x"), "bar"),
        ])
        .await;
    });
}

#[test]
fn ingress_nginx_redirects_to_the_slash_and_takes_implementation_specific_as_prefix() {
    rig::run(async |rig| {
        rig.serve(&["slash", "prefix", "exact"]);
        let host = "n.test";
        rig.manifests.write(
            "paths.yaml",
            &[paths(
                "nginx",
                host,
                &[
                    ("Prefix", "/slash/", "slash"),
                    ("ImplementationSpecific", "/prefix", "prefix"),
                    ("Exact", "/prefix", "exact"),
                ],
            )
            .build()],
        );
        rig.start().await;
        rig.expect([
            (get("http://n.test/slash"), "301"),
            (get("http://n.test/slash/x"), "slash"),
            (get("http://n.test/prefix"), "exact"),
            (get("http://n.test/prefix/x"), "prefix"),
            (get("http://n.test/prefixes"), "404"),
        ])
        .await;
        let redirect = get("http://n.test/slash?q=1").send().await;
        assert_eq!(redirect.header("location"), Some("http://n.test/slash/?q=1"));
    });
}

#[test]
fn one_regular_expression_turns_the_whole_host() {
    rig::run(async |rig| {
        rig.serve(&["regex", "prefix", "exact"]);
        rig.manifests.write(
            "paths.yaml",
            &[
                paths("nginx", "r.test", &[("ImplementationSpecific", "/item/[0-9]+$", "regex")])
                    .annotation("use-regex", "true")
                    .build(),
                ingress("aside")
                    .class("nginx")
                    .path("r.test", "Prefix", "/plain", "prefix")
                    .path("r.test", "Exact", "/exact", "exact")
                    .build(),
                paths("nginx", "plain.test", &[("Prefix", "/plain", "prefix")]).build(),
            ],
        );
        rig.start().await;
        rig.expect([
            (get("http://r.test/item/42"), "regex"),
            (get("http://r.test/ITEM/42"), "regex"),
            (get("http://r.test/item/42x"), "404"),
            (get("http://r.test/x/item/42"), "404"),
            // Exact and Prefix lose their meaning.
            (get("http://r.test/PLAINtext"), "prefix"),
            (get("http://r.test/exact/not"), "exact"),
            (get("http://plain.test/PLAINtext"), "404"),
        ])
        .await;
    });
}
