//! Rewritten paths, as backends get them.

use std::fs;

use rig::client::get;
use rig::manifests::ingress;
use rig::status::notes;
use serde_json::json;

#[test]
fn the_backend_sees_the_target() {
    rig::run(async |rig| {
        let rewrite = |class: &str, host: &str, path: &str, target: &str| {
            ingress(&host.replace('.', "-"))
                .class(class)
                .path(host, "ImplementationSpecific", path, "web")
                .annotation("use-regex", "true")
                .annotation("rewrite-target", target)
                .build()
        };
        let mut logged = rewrite("nginx", "middle.test", "/(a|b)/x/(.*)", "/$2/$1");
        logged["metadata"]["annotations"]["nginx.ingress.kubernetes.io/enable-rewrite-log"] = json!("true");
        rig.manifests.write(
            "rewrites.yaml",
            &[
                rewrite("nginx", "group.test", "/v1(/|$)(.*)", "/$2"),
                rewrite("nginx", "fixed.test", "/old", "/new"),
                logged,
                rewrite("ingressd", "spec.test", "/v1(/|$)(.*)", "/$2"),
                rewrite("nginx", "query.test", "/user/(.*)", "/users?id=$1&of=$host"),
                rewrite("nginx", "last.test", "/user/(.*)", "/users?id=$1?"),
            ],
        );
        // nginx writes down what it rewrites at this level.
        let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
        fs::write(rig.nginx.configuration(), configuration.replace("error.log;", "error.log notice;")).unwrap();
        rig.start().await;
        for (url, seen) in [
            ("http://group.test/v1/users?page=2", "/users?page=2"),
            ("http://group.test/v1", "/"),
            ("http://group.test/v1/a%20b", "/a%20b"),
            ("http://fixed.test/old/deep", "/new"),
            ("http://middle.test/b/x/y/z", "/y/z/b"),
            ("http://spec.test/v1/users", "/users"),
            ("http://query.test/user/a%20b%26?x=1", "/users?id=a%20b%26&of=query.test&x=1"),
            ("http://last.test/user/1?x=1", "/users?id=1"),
        ] {
            assert_eq!(get(url).send().await.echo().path, seen, "{url}");
        }
        let log = rig.nginx.error_log();
        assert!(log.contains("rewritten data: \"/y/z/b\""), "{log}");
        assert!(!log.contains("rewritten data: \"/users"), "{log}");
    });
}

#[test]
fn to_a_url_clients_are_redirected() {
    rig::run(async |rig| {
        // The Service is not asked for, and need not be there.
        let moved = |name: &str, path: &str, target: &str| {
            let host = format!("{name}.test");
            let moved = ingress(name).class("nginx").path(&host, "ImplementationSpecific", path, "missing");
            moved.annotation("rewrite-target", target).build()
        };
        let objects = [
            moved("whole", "/", "https://new.test/x"),
            moved("parts", "/old/(.*)", "http://new.test/$1"),
            moved("scheme", "/", "$scheme://new.test$uri"),
            moved("nowhere", "/", "https:///x"),
            // Only paths are rewritten.
            {
                let mut rest = moved("rest", "/old", "https://new.test/x");
                rest["spec"]["defaultBackend"] = json!({"service": {"name": "web", "port": {"number": 80}}});
                rest
            },
        ];
        rig.manifests.write("moved.yaml", &objects);
        rig.start().await;
        for (url, location) in [
            ("http://whole.test/", "https://new.test/x"),
            ("http://whole.test/a?b=1", "https://new.test/x?b=1"),
            ("http://parts.test/old/a%20b/c?d", "http://new.test/a%20b/c?d"),
            ("http://scheme.test/a", "http://new.test/a"),
        ] {
            let reply = get(url).send().await;
            assert_eq!((reply.status, reply.header("location")), (302, Some(location)), "{url}");
        }
        assert_eq!(get("http://parts.test/other").send().await.status, 404);
        assert_eq!(get("http://rest.test/old").send().await.status, 302);
        assert_eq!(get("http://rest.test/other").send().await.echo().path, "/other");
        let status = rig.daemon.status().await.unwrap();
        let note = &notes(&status, "Ingress nowhere", "InvalidValue")[0];
        assert!(
            note.contains("has no host") && notes(&status, "Ingress whole", "MissingService").is_empty(),
            "{status}"
        );
    });
}

#[test]
fn without_a_rewrite_the_target_is_passed_as_it_came() {
    rig::run(async |rig| {
        rig.manifests.write("web-host.yaml", &[ingress("web").host("web.test", "web").build()]);
        rig.start().await;
        for target in ["/a%2Fb/%20?x=%26&y", "/a//b/./c?", "/%C3%A4", "/;a=b?$c={d}"] {
            assert_eq!(get(&format!("http://web.test{target}")).send().await.echo().path, target);
        }
    });
}
