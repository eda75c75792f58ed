//! Budgets of objects and namespaces, and what happens when they are exceeded.

use std::fs;

use rig::client::get;
use rig::manifests::{Ingress, in_namespace, ingress, secret, service_at};
use rig::status::reports;
use rig::{ECHO, Rig};

/// The configuration that nginx runs, all of it.
fn configuration(rig: &Rig) -> String {
    let folder = rig.daemon.root().join("current/http");
    let files = fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    files.collect()
}

/// An object with this many paths on a host of its own.
fn with_paths(name: &str, paths: usize) -> Ingress {
    let host = format!("{name}.test");
    (0..paths).fold(ingress(name), |object, number| object.path(&host, "Prefix", &format!("/p{number}"), "web"))
}

#[test]
fn a_long_list_chooses_as_a_short_one_and_is_written_once() {
    const PATHS: usize = 60;
    // No client of this test is in these networks.
    let others: Vec<_> = (0..3000).map(|number| format!("172.{}.{}.0/24", 16 + number / 256, number % 256)).collect();
    let others = others.join(",");
    // Each row has a name, a list of admitted clients, and a list of denied ones.
    let lists = [
        ("allow", "10.244.5.0/24", ""),
        ("deny", "", "10.244.5.0/24"),
        ("both", "10.244.0.0/16", "10.244.5.7/32"),
        ("within", "10.244.5.7/32,10.244.6.0/24", "10.244.5.0/24"),
    ];
    let object = |name: &str, allow: &str, deny: &str, paths| {
        let keys = [("allowlist-source-range", allow), ("denylist-source-range", deny)];
        let object = with_paths(name, paths).annotation("auth-type", "basic").annotation("auth-secret", "users");
        keys.into_iter()
            .filter(|(_, list)| !list.is_empty())
            .fold(object, |object, (key, list)| object.annotation(key, list))
    };
    let longer = |list: &str| format!("{list},{others}");
    let mut objects = vec![secret("users", "Opaque", &[("auth", "ann:$apr1$ingressd$yUwEQ6DErlP6TQvhuj7Mm0\n")])];
    for (name, allow, deny) in lists {
        objects.push(object(name, allow, deny, 1).build());
        let (allow, deny) = match allow {
            "" => (String::new(), longer(deny)),
            allow => (longer(allow), deny.to_owned()),
        };
        objects.push(object(&format!("long-{name}"), &allow, &deny, PATHS).build());
    }
    // A list that others have, too, is written only once.
    objects.push(object("same", &longer("10.244.5.0/24"), "", PATHS).build());
    rig::run(async move |rig| {
        rig.manifests.write("lists.yaml", &objects);
        rig.start().await;
        for (name, ..) in lists {
            for from in ["10.244.5.7", "10.244.5.8", "10.244.6.7", "127.0.0.1"] {
                let mut replies = Vec::new();
                for host in [name.to_owned(), format!("long-{name}")] {
                    for header in ["Basic YW5uOnNlY3JldA==", "Basic YW5uOndyb25n"] {
                        let request = get(&format!("http://{host}.test/p0/x")).from(from);
                        let reply = request.header("Authorization", header).send().await;
                        replies.push((reply.status, reply.header("www-authenticate").is_some()));
                    }
                }
                assert_eq!(replies[..2], replies[2..], "{name} from {from}");
                // A denied client is not asked for a password.
                let is_denied = replies[0].0 == 403;
                assert_eq!(replies[1].0, if is_denied { 403 } else { 401 }, "{name} from {from}");
            }
        }
        // Every path refers to it: the last one as well.
        let last = format!("http://long-deny.test/p{}/x", PATHS - 1);
        assert_eq!(get(&last).from("10.244.5.7").send().await.status, 403);
        assert_eq!(get(&last).from("10.244.6.7").send().await.status, 401);
        let text = configuration(rig);
        let lines = text.lines().filter(|line| line.trim_start().starts_with("172.")).count();
        assert_eq!(lines, 4 * 3000);
        assert!(text.len() < 2_000_000, "{} bytes", text.len());
    });
}

#[test]
fn a_list_that_is_too_long_closes_what_it_protects() {
    let long = (0..40).map(|number| format!("10.0.{number}.0/24")).collect::<Vec<_>>().join(",");
    rig::run(async move |rig| {
        rig.daemon.set("limits.object-list-entries", "39");
        rig.manifests.write(
            "lists.yaml",
            &[
                with_paths("long", 1).annotation("denylist-source-range", &long).build(),
                with_paths("short", 1).annotation("denylist-source-range", "10.0.0.0/24").build(),
            ],
        );
        rig.start().await;
        assert_eq!(get("http://long.test/p0").send().await.status, 503);
        assert_eq!(get("http://short.test/p0").send().await.status, 200);
        let status = rig.daemon.status().await.unwrap();
        assert!(reports(&status, "Ingress long", "InvalidSecurityValue"), "{status}");
        // A closed route is not counted as served.
        let ingresses = status["ingresses"].as_array().unwrap().iter();
        let counts: Vec<_> =
            ingresses.map(|one| [&one["routes"], &one["closed"]].map(serde_json::Value::as_u64)).collect();
        assert_eq!(counts, [[Some(0), Some(1)], [Some(1), Some(0)]], "{status}");
        assert_eq!(
            [&status["hosts"], &status["routes"]].map(serde_json::Value::as_u64),
            [Some(1), Some(1)],
            "{status}"
        );
        assert!(status["ingresses"][0]["served_seconds"].is_null(), "{status}");
    });
}

#[test]
fn a_namespace_that_asks_for_too_much_goes_without_its_newest_and_nobody_else_does() {
    let aged = |object: Ingress, hour: usize| object.created(&format!("2026-01-01T{hour:02}:00:00Z"));
    rig::run(async move |rig| {
        rig.daemon.set("limits.namespace-routes", "3");
        let first = aged(with_paths("first", 1).path("first.test", "Prefix", "/", "web"), 1);
        // The second is too much; what is newer and fits is served.
        let second = aged(with_paths("second", 2), 2);
        let third = aged(with_paths("third", 1), 3);
        let fourth = aged(ingress("fourth").path("first.test", "Prefix", "/private", "web"), 4)
            .annotation("allowlist-source-range", "10.244.5.0/24");
        let victim = in_namespace("victim", aged(ingress("victim").host("victim.test", "web"), 5).build());
        rig.manifests.write("objects.yaml", &[first.build(), second.build(), third.build(), fourth.build(), victim]);
        rig.manifests
            .write("victim.yaml", &service_at("web", &["10.244.0.1"], ECHO).map(|one| in_namespace("victim", one)));
        rig.start().await;
        let status = |url: &'static str| async move { get(url).from("10.244.5.7").send().await.status };
        assert_eq!(status("http://first.test/p0").await, 200);
        assert_eq!(status("http://third.test/p0").await, 200);
        assert_eq!(status("http://second.test/p0").await, 404);
        // It was to be protected, so its requests must not go to `/`.
        assert_eq!(status("http://first.test/private").await, 503);
        assert_eq!(status("http://first.test/other").await, 200);
        assert_eq!(status("http://victim.test/").await, 200);
        let reported = rig.daemon.status().await.unwrap();
        for name in ["second", "fourth"] {
            assert!(reports(&reported, &format!("Ingress {name}"), "OverBudget"), "{reported}");
        }
        assert!(!reports(&reported, "Ingress victim", "OverBudget"), "{reported}");
        assert!(reports(&reported, "Settings limits.namespace-routes", "NearBudget"), "{reported}");
        // The cost of served objects is estimated, by namespace.
        let namespaces = reported["estimate"]["namespaces"].as_array().unwrap();
        let routes = |name: &str| {
            let of = namespaces.iter().find(|namespace| namespace["namespace"] == name).unwrap();
            of["memory_bytes"].as_u64().unwrap()
        };
        assert!(routes("default") > routes("victim") && routes("victim") > 0, "{reported}");
        assert!(rig.daemon.metric("ingressd_estimated_memory_bytes{namespace=\"victim\"}").await > 0.0);
        let output = rig.daemon.command("status").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\nestimate    ") && text.contains("most by default "), "{text}");

        // With more room all are served.
        let fewer = aged(with_paths("first", 1), 1).path("first.test", "Prefix", "/", "web");
        rig.manifests.write(
            "objects.yaml",
            &[
                fewer.build(),
                aged(ingress("fourth").path("first.test", "Prefix", "/private", "web"), 4)
                    .annotation("allowlist-source-range", "10.244.5.0/24")
                    .build(),
            ],
        );
        get("http://first.test/private")
            .from("10.244.5.7")
            .send_until("the object fits", |reply| reply.status == 200)
            .await;
        assert_eq!(get("http://first.test/private").from("10.244.6.7").send().await.status, 403);
    });
}

#[test]
fn zones_of_many_limits_share_what_their_namespace_has_and_go_on_counting() {
    let limited =
        |name: &str| with_paths(name, 1).annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "1");
    rig::run(async move |rig| {
        rig.daemon.set("limits.namespace-zones-mib", "6");
        rig.manifests.write("one.yaml", &[limited("one").build()]);
        rig.start().await;
        assert!(configuration(rig).contains(":5m rate=1r/m;"));
        let statuses = async |host: &str| {
            let mut statuses = Vec::new();
            for _ in 0..3 {
                statuses.push(get(&format!("http://{host}.test/p0")).from("10.244.5.7").send().await.status);
            }
            statuses
        };
        assert_eq!(statuses("one").await, [200, 200, 503]);
        rig.manifests.write("two.yaml", &[limited("two").build(), limited("three").build()]);
        rig.daemon.confirmed("two").await;
        // nginx accepts zones that are smaller than before, and starts to count from zero.
        assert_eq!(configuration(rig).matches(":1280k rate=1r/m;").count(), 3);
        assert_eq!(statuses("one").await, [200, 200, 503]);
        assert_eq!(statuses("two").await, [200, 200, 503]);
    });
}
