//! Rights that are missing, revoked and granted while the daemon runs.

use ingressd_echo::Echo;
use serde_json::{Value, json};

use rig::client::{Reply, get};
use rig::cluster::objects::ADDRESS;
use rig::cluster::proxy::Action;
use rig::cluster::{self, Cluster, rights};
use rig::manifests::{Ingress, ingress, tls_secret};
use rig::status::{notes, reports, watch};
use rig::wait;

async fn serve_shop(cluster: &Cluster) {
    cluster.objects.serve("web", &["10.244.0.1"]).await;
    cluster.objects.apply(tls_secret("pair", &["shop.example"])).await;
    let shop = ingress("shop").host("shop.example", "web").tls(&["shop.example"], "pair");
    cluster.objects.apply(shop.annotation("ssl-redirect", "false")).await;
}

#[test]
fn nodes_are_done_without() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("nodes")).await;
        cluster.start().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        cluster.daemon.status_when("the refusal", |status| watch(status, "Node") == "refused").await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.status_when("the watch", |status| watch(status, "Node") == "current").await;
    });
}

#[test]
fn nodes_are_needed_where_they_are_the_way_to_pods() {
    cluster::run(async |cluster| {
        // The API server gives the first ones only to who asks for them. The one after it is
        // another test's.
        let port = 30_001;
        cluster
            .objects
            .apply_all([
                json!({
                    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
                    "spec": {"type": "NodePort", "ports": [{"name": "http", "port": 80, "nodePort": port}]}
                }),
                ingress("shop").host("shop.example", "web").build(),
            ])
            .await;
        cluster.daemon.set("upstreams.endpoints", "nodeport");
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("nodes")).await;
        cluster.nginx.start();
        cluster.daemon.start();
        let reported = |status: &Value| is_missed(status, "Node") && watch(status, "Secret") == "current";
        cluster.daemon.status_when("the refusal", reported).await;
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 503);
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.ready().await;

        // A node joins, becomes ready, and leaves.
        let name = format!("worker-{}", cluster.objects.namespace());
        let by_node = |reply: &Reply| {
            reply.try_echo().is_some_and(|answer| answer.address.to_string() == format!("192.0.2.7:{port}"))
        };
        cluster.backends.serve(port, Echo::plain("node")).await;
        cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})).await;
        let addresses = json!([{"type": "InternalIP", "address": "192.0.2.7"}]);
        let ready = json!([{"type": "Ready", "status": "True"}]);
        cluster.objects.set_status("Node", &name, json!({"addresses": addresses, "conditions": ready})).await;
        get("http://shop.example/").send_until("the node that came", by_node).await;
        cluster.objects.delete("Node", &name).await;
        get("http://shop.example/").send_until("the end of the node", |reply| reply.status == 503).await;
    });
}

#[test]
fn labels_that_may_not_be_seen_are_reported_and_the_rest_is_served() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        let mark = cluster.objects.namespace().to_owned();
        let by_name = format!(r#"{{namespaces = [{mark:?}], hosts = ["shop.example"]}}"#);
        let by_label = format!(r#"{{selector = "team={mark}", hosts = ["*.{mark}.example"]}}"#);
        cluster.daemon.set("hosts.allowed", &format!("[{by_name}, {by_label}]"));
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("namespaces")).await;
        cluster.start().await;
        assert_eq!(get("http://shop.example/").send().await.status, 200);
        let is_reported = |status: &Value| reports(status, "Settings hosts.allowed", "MissingRight");
        cluster
            .daemon
            .status_when("the refusal", |status| is_reported(status) && watch(status, "Namespace") == "refused")
            .await;
        let counted = r#"ingressd_objects{kind="Namespace",state="read"}"#;
        assert_eq!(cluster.daemon.metric(counted).await, 0.0);
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        let is_seen = |status: &Value| !is_reported(status) && watch(status, "Namespace") == "current";
        cluster.daemon.status_when("the labels", is_seen).await;
        assert!(cluster.daemon.metric(counted).await >= 1.0);
    });
}

/// Whether a kind may not be seen, and nothing can be served without it.
fn is_missed(status: &Value, kind: &str) -> bool {
    let failure = status["source_failure"].as_str().unwrap_or_default();
    watch(status, kind) == "refused" && failure.starts_with(&format!("{kind}: "))
}

/// Everything that is needed: how rules name it, and the kind.
const NEEDED: [(&str, &str); 5] = [
    ("ingresses", "Ingress"),
    ("ingressclasses", "IngressClass"),
    ("services", "Service"),
    ("endpointslices", "EndpointSlice"),
    ("secrets", "Secret"),
];

#[test]
fn nothing_is_served_before_all_that_is_needed_may_be_seen() {
    for (resource, kind) in NEEDED {
        cluster::run(async move |cluster| {
            serve_shop(cluster).await;
            cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without(resource)).await;
            cluster.nginx.start();
            cluster.daemon.start();
            // All other kinds are known, and this one is reported. Only Ingresses tell which
            // Secrets are wanted.
            let is_right = |status: &Value, other: &str| match (other == kind, kind) {
                (true, _) => is_missed(status, other),
                (false, "Ingress") if other == "Secret" => watch(status, other) == "starting",
                (false, _) => watch(status, other) == "current",
            };
            let reported = |status: &Value| NEEDED.iter().all(|(_, other)| is_right(status, other));
            cluster.daemon.status_when("the refusal", reported).await;
            let state = format!(r#"ingressd_watch_state{{kind="{kind}",namespace="",state="refused"}}"#);
            assert_eq!(cluster.daemon.metric(&state).await, 1.0, "{state}");
            let refusals = cluster.daemon.metric(r#"ingressd_api_requests_total{verb="list",code="403"}"#).await;
            assert!(refusals >= 1.0, "{refusals}");
            let reply = cluster.daemon.get("/readyz").await.unwrap();
            assert_eq!(reply.status, 503, "{}", reply.text());
            cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
            cluster.daemon.ready().await;
            assert_eq!(get("https://shop.example/").send().await.peer.unwrap().names, ["shop.example"]);
            assert_eq!(cluster.daemon.reloads().await, 1);
        });
    }
}

#[test]
fn a_node_that_may_not_see_what_it_needs_after_a_restart_stays_for_what_it_serves() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        cluster.daemon.set("publish.grace-period", "3s");
        cluster.start().await;
        cluster.objects.until_published("shop", &[ADDRESS]).await;
        assert!(cluster.daemon.stop().await.success());
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("secrets")).await;
        cluster.daemon.start();
        let member = |status: &Value| status["members"][0].clone();
        // It is not known which of them comes first.
        let lives = |status: &Value| {
            let lives = member(status)["state"] == "alive" && member(status)["serving"] == true;
            lives && is_missed(status, "Secret") && status["role"] == "follower"
        };
        cluster.daemon.status_when("the refusal and its own record", lives).await;
        assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200);
        // No other node knows of it, and it is drained all the same.
        let drain = cluster.daemon.command("drain").arg("--no-wait").output().unwrap();
        assert!(drain.status.success());
        cluster.daemon.status_when("the word", |status| member(status)["drained"] == true).await;
        assert_eq!(cluster.objects.addresses("shop").await, [ADDRESS]);
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.objects.until_published("shop", &[]).await;
    });
}

#[test]
fn rights_that_are_taken_one_by_one_leave_what_was_seen() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        serve_shop(cluster).await;
        cluster.start().await;
        for (resource, kind) in NEEDED.into_iter().chain([("nodes", "Node")]) {
            cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without(resource)).await;
            // A running watch goes on without the right: the next one is refused, and so is a
            // list.
            let gone = proxy.rules.add(move |call| call.watches(resource), Action::Refuse(http::StatusCode::GONE));
            proxy.streams.cut(move |call| call.watches(resource));
            cluster.daemon.status_when("the refusal", |status| watch(status, kind) == "refused").await;
            proxy.rules.remove(gone);
            // Old data does not count as deleted, and the other kinds are still watched.
            if kind != "EndpointSlice" {
                let pod = format!("10.244.1.{}", resource.len());
                cluster.objects.set_pods("web", &[&pod]).await;
                let reached =
                    |reply: &Reply| reply.try_echo().is_some_and(|answer| answer.address.ip().to_string() == pod);
                get("https://shop.example/").send_until("a change of another kind", reached).await;
            }
            assert_eq!(get("https://shop.example/").send().await.peer.unwrap().names, ["shop.example"], "{kind}");
            assert_eq!(cluster.daemon.get("/readyz").await.unwrap().status, 200, "{kind}");
            let age =
                cluster.daemon.metric(&format!(r#"ingressd_watch_age_seconds{{kind="{kind}",namespace=""}}"#)).await;
            assert!(age > 0.0, "{kind}");

            cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
            cluster.daemon.status_when("the watch", |status| watch(status, kind) == "current").await;
        }
        cluster.objects.apply(ingress("more").host("more.example", "web")).await;
        get("http://more.example/").send_until("a new host", |reply| reply.status == 200).await;
    });
}

/// Leaves one verb of one rule out.
fn without(rules: &Value, rule: usize, verb: &str) -> Value {
    let mut rules = rules.clone();
    let verbs = rules[rule]["verbs"].as_array_mut().unwrap();
    verbs.retain(|known| known != verb);
    if verbs.is_empty() {
        rules.as_array_mut().unwrap().remove(rule);
    }
    rules
}

/// Waits until the API server refuses this to the daemon's account.
pub async fn until_denied(cluster: &Cluster, rule: &Value, verb: &str) {
    use k8s_openapi::api::authorization::v1::SubjectAccessReview as Review;
    let reviews = kube::Api::<Review>::all(cluster.objects.client());
    let namespace = cluster.objects.namespace();
    let (resource, part) = {
        let name = rule["resources"][0].as_str().unwrap();
        name.split_once('/').unwrap_or((name, ""))
    };
    let attributes = json!({
        "group": rule["apiGroups"][0], "resource": resource, "subresource": part, "verb": verb, "namespace": namespace
    });
    let user = format!("system:serviceaccount:{namespace}:ingressd");
    let review: Review =
        serde_json::from_value(json!({"spec": {"user": user, "resourceAttributes": attributes}})).unwrap();
    let allowed = async || {
        let answer = reviews.create(&kube::api::PostParams::default(), &review).await.unwrap();
        answer.status.unwrap().allowed
    };
    wait::until_right(&format!("{verb} {resource} to be denied"), allowed, |allowed| !allowed).await;
}

/// Whether something is told to fail: a watch of a kind, or what is published.
fn fails(status: &Value, resource: &str, verb: &str) -> bool {
    let others = [("nodes", "Node"), ("namespaces", "Namespace"), ("configmaps", "ConfigMap")];
    let kinds = NEEDED.into_iter().chain(others);
    let kind = kinds.into_iter().find(|(name, _)| *name == resource).map(|(_, kind)| kind);
    let refused = |watch: &Value| watch["state"] == "refused" && watch["kind"].as_str() == kind;
    let published =
        |words: &str| notes(status, "Host cluster", "PublishingFailed").iter().any(|note| note.contains(words));
    match (resource, verb) {
        ("ingresses/status", _) => published("the status of Ingresses cannot be written"),
        ("events", _) => published("Events cannot be written"),
        ("leases", "list" | "watch") => published("the Leases of the other nodes cannot be watched"),
        ("leases", _) => published("the Lease of this node cannot be written"),
        // The route goes without its certificate.
        ("secrets", "get") => reports(status, "Ingress later", "MissingSecret"),
        ("configmaps", "get") => reports(status, "Ingress asks-later", "MissingConfigMap"),
        _ => status["watches"].as_array().into_iter().flatten().any(refused),
    }
}

/// An object that asks another service about its clients, with headers of a ConfigMap.
fn asks(name: &str, headers: &str) -> Ingress {
    let ingress = ingress(name).class("nginx").host(&format!("{name}.example"), "web");
    ingress.annotation("auth-url", "http://10.244.0.1:8080/").annotation("auth-proxy-set-headers", headers)
}

#[test]
fn each_verb_of_each_rule_is_needed() {
    cluster::run(async |cluster| {
        serve_shop(cluster).await;
        cluster.objects.apply(tls_secret("other", &["later.example"])).await;
        // The leader writes an Event about it.
        cluster.objects.apply(ingress("wrong").host("wrong.example", "missing")).await;
        for name in ["headers", "more"] {
            let data = json!({"X-Realm": "staff"});
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
            cluster.objects.apply(map).await;
        }
        cluster.objects.apply(asks("asks", "headers")).await;
        let mark = cluster.objects.namespace().to_owned();
        cluster.objects.merge("Namespace", &mark, json!({"metadata": {"labels": {"served": mark}}})).await;
        cluster.daemon.set("namespace-selector", &format!("served={mark}"));
        cluster.nginx.start();
        let (global, here) = (rights::shipped(), rights::shipped_for_leases());
        let mut count = 0;
        for (rules, is_here) in [(&global, false), (&here, true)] {
            for (number, rule) in rules.as_array().unwrap().iter().enumerate() {
                let resource = rule["resources"][0].as_str().unwrap();
                for verb in rule["verbs"].as_array().unwrap().iter().map(|verb| verb.as_str().unwrap()) {
                    let fewer = without(rules, number, verb);
                    let (global, here) = if is_here { (&global, &fewer) } else { (&fewer, &here) };
                    cluster.credentials.set_rules(&cluster.objects, global).await;
                    cluster.credentials.set_lease_rules(&cluster.objects, here).await;
                    until_denied(cluster, rule, verb).await;
                    // Another group is named, whose Leases do not exist yet.
                    count += 1;
                    cluster.daemon.set("publish.lease", &format!("case-{count}"));
                    cluster.daemon.set("publish.addresses", &format!("192.0.2.{count}"));
                    cluster.daemon.start();
                    if (resource, verb) == ("secrets", "get") {
                        cluster.daemon.ready().await;
                        let later = ingress("later").host("later.example", "web").tls(&["later.example"], "other");
                        cluster.objects.apply(later).await;
                    }
                    if (resource, verb) == ("configmaps", "get") {
                        cluster.daemon.ready().await;
                        cluster.objects.apply(asks("asks-later", "more")).await;
                    }
                    let what = format!("what fails without {verb} {resource}");
                    cluster.daemon.status_when(&what, |status| fails(status, resource, verb)).await;
                    let refused = format!(r#"ingressd_api_requests_total{{verb="{verb}",code="403"}}"#);
                    let counted = async || cluster.daemon.metric(&refused).await;
                    wait::until_right(&refused, counted, |count| *count >= 1.0).await;
                    cluster.daemon.kill();
                }
            }
        }
        assert_eq!(count, 25, "as many as there are: see packaging/rbac/ingressd.yaml");
    });
}
