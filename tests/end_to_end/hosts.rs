//! Which object answers for a host.

use serde_json::Value;

use rig::ECHO;
use rig::client::get;
use rig::manifests::{classes, in_namespace, ingress, service_at};
use rig::status::{reports, serving};

#[test]
fn hosts_are_exact_then_wildcard_then_everybody_elses() {
    rig::run(async |rig| {
        rig.serve(&["exact", "wildcard", "deep", "other"]);
        rig.manifests.write(
            "hosts.yaml",
            &[
                ingress("exact").host("a.example.com", "exact").build(),
                ingress("wildcard").host("*.example.com", "wildcard").host("*.deep.example.com", "deep").build(),
                ingress("other").host("other.test", "other").build(),
            ],
        );
        rig.start().await;
        rig.expect([
            (get("http://a.example.com/"), "exact"),
            (get("http://A.Example.COM/"), "exact"),
            (get("http://a.example.com/").header("host", "a.example.com:80"), "exact"),
            (get("http://a.example.com/").header("host", "a.example.com."), "exact"),
            (get("http://b.example.com/"), "wildcard"),
            // A wildcard stands for one label, no less and no more.
            (get("http://example.com/"), "404"),
            (get("http://x.deep.example.com/"), "deep"),
            (get("http://x.y.example.com/"), "404"),
            (get("http://other.test/"), "other"),
            (get("http://unknown.test/"), "404"),
            (get("http://other.test.evil.test/"), "404"),
        ])
        .await;
    });
}

#[test]
fn a_rule_without_host_and_a_default_backend_take_what_is_left() {
    rig::run(async |rig| {
        rig.serve(&["named", "everybody", "rest"]);
        rig.manifests.write(
            "hosts.yaml",
            &[
                ingress("named").path("named.test", "Prefix", "/here", "named").build(),
                ingress("everybody").path("", "Prefix", "/all", "everybody").default_backend("rest").build(),
            ],
        );
        rig.start().await;
        rig.expect([
            (get("http://named.test/here"), "named"),
            (get("http://unknown.test/all"), "everybody"),
            (get("http://unknown.test/other"), "rest"),
        ])
        .await;
    });
}

#[test]
fn objects_share_a_host_and_the_oldest_wins_a_conflict() {
    rig::run(async |rig| {
        rig.serve(&["old", "new", "aside"]);
        rig.manifests.write(
            "hosts.yaml",
            &[
                ingress("a-new").created("2026-02-01T00:00:00Z").host("shared.test", "new").build(),
                ingress("z-old").created("2026-01-01T00:00:00Z").host("shared.test", "old").build(),
                ingress("aside").path("shared.test", "Prefix", "/aside", "aside").build(),
            ],
        );
        rig.start().await;
        rig.expect([(get("http://shared.test/"), "old"), (get("http://shared.test/aside"), "aside")]).await;
        let status = rig.daemon.status().await.unwrap();
        let loser = status["findings"].as_array().unwrap().iter().find(|finding| finding["reason"] == "PathConflict");
        assert_eq!(loser.unwrap()["name"], "a-new");

        // The winner is deleted, and the loser takes its place.
        rig.manifests.write("hosts.yaml", &[ingress("a-new").host("shared.test", "new").build()]);
        get("http://shared.test/").send_until("the newer object", |reply| rig.who(reply) == "new").await;
    });
}

#[test]
fn only_objects_of_our_classes_are_served() {
    rig::run(async |rig| {
        rig.manifests.write(
            "classes.yaml",
            &[
                classes(),
                vec![serde_json::json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "foreign"},
            "spec": {"controller": "example.com/other"}})],
            ]
            .concat(),
        );
        let mut classless = ingress("classless").host("classless.test", "web").build();
        classless["spec"].as_object_mut().unwrap().remove("ingressClassName");
        rig.manifests.write(
            "hosts.yaml",
            &[
                ingress("ours").host("ours.test", "web").build(),
                ingress("theirs").class("foreign").host("theirs.test", "web").build(),
                ingress("nobodys").class("missing").host("nobodys.test", "web").build(),
                classless,
            ],
        );
        rig.start().await;
        rig.expect([
            (get("http://ours.test/"), "10.244.0.1:8080"),
            (get("http://theirs.test/"), "404"),
            (get("http://nobodys.test/"), "404"),
            (get("http://classless.test/"), "404"),
        ])
        .await;
    });
}

#[test]
fn names_with_dashes_in_two_namespaces_never_meet() {
    rig::run(async |rig| {
        let slices = [("a-b", "c", "10.244.2.1"), ("a", "b-c", "10.244.2.2")];
        let mut objects = Vec::new();
        for (namespace, service, address) in slices {
            let of = service_at(service, &[address], ECHO);
            objects.extend(of.map(|object| in_namespace(namespace, object)));
            objects.push(ingress("x").namespace(namespace).host(&format!("{namespace}.test"), service).build());
        }
        rig.manifests.write("both.yaml", &objects);
        rig.start().await;
        rig.expect([(get("http://a-b.test/"), "10.244.2.1:8080"), (get("http://a.test/"), "10.244.2.2:8080")]).await;
    });
}

#[test]
fn load_balancers_are_answered_for_every_host_that_they_name() {
    rig::run(async |rig| {
        rig.serve(&["web", "own", "rest"]);
        rig.manifests.write("web.yaml", &[ingress("web").class("nginx").host("web.test", "web").build()]);
        rig.start().await;
        let rows = |unknown| {
            [
                (get("http://127.0.0.1/healthz"), "200"),
                (get("http://127.0.0.1/healthz/a"), unknown),
                (get("http://unknown.test/"), unknown),
                (get("http://web.test/healthz"), "web"),
            ]
        };
        rig.expect(rows("404")).await;
        let rest = ingress("rest").class("nginx").path("", "Prefix", "/", "rest");
        rig.manifests.write("rest.yaml", &[rest.clone().build()]);
        get("http://unknown.test/").send_until("the rest", |reply| rig.who(reply) == "rest").await;
        rig.daemon.confirmed("rest").await;
        rig.expect(rows("rest")).await;
        // The object that has the path says what the path means.
        rig.manifests.write("rest.yaml", &[rest.path("", "Exact", "/healthz", "own").build()]);
        get("http://127.0.0.1/healthz").send_until("a path of its own", |reply| rig.who(reply) == "own").await;
    });
}

#[test]
fn a_deleted_class_that_takes_all_hosts_away_is_the_first_thing_that_is_said_or_is_held() {
    rig::run(async |rig| {
        let class = classes().into_iter().find(|class| class["metadata"]["name"] == "nginx").unwrap();
        let named = |name: &str| {
            let mut class = class.clone();
            class["metadata"]["name"] = name.into();
            class
        };
        let object =
            |number: usize| ingress(&format!("i{number}")).class("shop").host(&format!("{number}.test"), "web");
        rig.manifests.write("objects.yaml", &(0..12).map(|number| object(number).build()).collect::<Vec<_>>());
        rig.manifests.write("class.yaml", &[named("shop")]);
        rig.start().await;
        get("http://3.test/").send_until("the host", |reply| reply.status == 200).await;
        let reported = |status: &Value| reports(status, "IngressClass shop", "HostsRemoved");
        rig.manifests.write("class.yaml", &[named("other")]);
        rig.daemon.status_when("the error", reported).await;
        assert_eq!(get("http://3.test/").send().await.status, 404);
        let shown = rig.daemon.command("status").output().unwrap().stdout;
        let shown = String::from_utf8(shown).unwrap();
        let first = "; 12 of 12 hosts are no longer served: IngressClass shop is gone";
        let state = shown.lines().find(|line| line.starts_with("serving ")).unwrap_or_default();
        assert!(state.contains(first), "{shown}");
        rig.manifests.write("class.yaml", &[named("shop")]);
        rig.daemon.status_when("no error", |status| serving(status).is_some() && !reported(status)).await;

        // What went while the daemon was away is not held.
        rig.daemon.kill();
        rig.manifests.write("class.yaml", &[named("other")]);
        rig.daemon.set("hosts.most-removed-at-once", "5");
        rig.daemon.start();
        let reported_later = |status: &Value| reports(status, "Host nginx", "HostsRemoved");
        rig.daemon.status_when("the error of the first cycle", reported_later).await;
        assert_eq!(get("http://3.test/").send().await.status, 404);
        rig.manifests.write("class.yaml", &[named("shop")]);
        rig.daemon.status_when("no error", |status| serving(status).is_some() && !reported_later(status)).await;

        rig.manifests.write("class.yaml", &[named("other")]);
        rig.daemon.status_when("the change that is held", reported).await;
        rig.manifests.write("new.yaml", &[ingress("new").class("other").host("new.test", "web").build()]);
        rig.manifests.write("more.yaml", &[object(12).build()]);
        get("http://12.test/").send_until("another change", |reply| reply.status == 200).await;
        assert_eq!(get("http://3.test/").send().await.status, 200);
        let resumed = rig.daemon.command("resume").output().unwrap();
        assert!(resumed.status.success(), "{resumed:?}");
        get("http://3.test/").send_until("the change", |reply| reply.status == 404).await;
        assert_eq!(get("http://new.test/").send().await.status, 200);
    });
}
