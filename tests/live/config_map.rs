//! The ConfigMap that the settings name: it is watched, its mistakes become Events on it, and
//! nothing is served before it is read.

use serde_json::{Value, json};

use crate::rights::until_denied;
use rig::client::{Reply, get, post};
use rig::cluster::{self, Cluster, rights};
use rig::manifests::{Ingress, ingress, secret};
use rig::status::{notes, reports, watch};
use rig::wait;

const DH_PARAMETERS: &str = include_str!("../../crates/rig/src/keys/dhparam.pem");
const URL: &str = "http://web.example/";

fn config_map(size: &str) -> Value {
    let data = json!({ "proxy-body-size": size, "proxy-bodysize": "1m", "http-snippet": "deny all;" });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "controller" }, "data": data })
}

/// Takes the right to read ConfigMaps away, and waits until the API server knows that.
async fn without_config_maps(cluster: &Cluster) {
    let shipped = rights::shipped();
    let rule = shipped.as_array().unwrap().iter().find(|rule| rule["resources"] == json!(["configmaps"])).unwrap();
    cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("configmaps")).await;
    until_denied(cluster, rule, "list").await;
}

async fn until(bytes: usize, status: u16) {
    let what = format!("{status} for {bytes} bytes");
    post(URL, vec![b'x'; bytes]).send_until(&what, |reply| reply.status == status).await;
}

#[test]
fn it_is_watched_and_reported_and_nothing_is_served_before_it_is_seen() {
    cluster::run(async |cluster| {
        let namespace = cluster.objects.namespace().to_owned();
        cluster.daemon.set("ingress-nginx.configmap", &format!("{namespace}/controller"));
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("web").class("nginx").host("web.example", "web")).await;
        cluster.objects.apply(config_map("1k")).await;
        without_config_maps(cluster).await;
        cluster.nginx.start();
        cluster.daemon.start();
        let refused = |status: &Value| watch(status, "ConfigMap") == "refused" && status["generation"].is_null();
        cluster.daemon.status_when("the refusal", refused).await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.ready().await;
        until(1024, 200).await;
        until(1025, 413).await;
        let reported = async || {
            let events = cluster.objects.events().await;
            let about = events.iter().filter(|event| event["regarding"]["name"] == "controller");
            let mut reasons: Vec<_> = about.map(|event| event["reason"].as_str().unwrap().to_owned()).collect();
            reasons.sort();
            reasons
        };
        wait::until_right("the Events", reported, |reported| *reported == ["UnknownKey", "UnsupportedKey"]).await;
        cluster.objects.apply(config_map("2k")).await;
        until(2048, 200).await;
        cluster.objects.delete("ConfigMap", "controller").await;
        let missing = |status: &Value| !notes(status, "ConfigMap controller", "MissingConfigMap").is_empty();
        cluster.daemon.status_when("what is missing", missing).await;
        until(2049, 413).await;
        until(2048, 200).await;
    });
}

fn named(name: &str, data: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
}

/// A host whose answers have a header of a ConfigMap.
fn own() -> Ingress {
    ingress("own").class("nginx").host("own.example", "web").annotation("custom-headers", "own")
}

/// Waits for an answer of the host with this header, or without it.
async fn until_header(host: &str, name: &str, value: Option<&str>) {
    let what = format!("{name}: {value:?} of {host}");
    let is_right = |reply: &Reply| reply.status == 200 && reply.header(name) == value;
    get(&format!("http://{host}/")).send_until(&what, is_right).await;
}

async fn until_site(value: Option<&str>) {
    let is_right = |reply: &Reply| reply.try_echo().is_some_and(|echo| echo.header("x-site") == value);
    get(URL).send_until(&format!("X-Site: {value:?}"), is_right).await;
}

#[test]
fn config_maps_with_headers_are_followed_for_objects_and_the_controller() {
    cluster::run(async |cluster| {
        let namespace = cluster.objects.namespace().to_owned();
        cluster.daemon.set("ingress-nginx.configmap", &format!("{namespace}/controller"));
        let names = |answers: &str| {
            let (answers, requests) = (format!("{namespace}/{answers}"), format!("{namespace}/requests"));
            let allowed = "X-Own";
            let data = json!({
                "add-headers": answers, "proxy-set-headers": requests, "global-allowed-response-headers": allowed,
                "ssl-dh-param": format!("{namespace}/exchange")
            });
            named("controller", &data)
        };
        let objects = &cluster.objects;
        objects.serve("web", &["10.244.0.1"]).await;
        objects.apply(ingress("web").class("nginx").host("web.example", "web")).await;
        objects.apply(own()).await;
        objects.apply(named("own", &json!({"X-Own": "one"}))).await;
        objects.apply(named("answers", &json!({"X-All": "one"}))).await;
        objects.apply(named("requests", &json!({"X-Site": "one"}))).await;
        // Nothing names it yet.
        objects.apply(named("others", &json!({"X-All": "other"}))).await;
        objects.apply(names("answers")).await;
        objects.apply(secret("exchange", "Opaque", &[("dhparam.pem", DH_PARAMETERS)])).await;
        cluster.start().await;
        let exchange = cluster.daemon.root().join("current/certs/dhparam.pem");
        assert_eq!(std::fs::read_to_string(&exchange).unwrap(), DH_PARAMETERS);
        until_header("web.example", "x-all", Some("one")).await;
        until_header("own.example", "x-own", Some("one")).await;
        until_header("own.example", "x-all", Some("one")).await;
        until_site(Some("one")).await;

        // Each is followed by itself.
        cluster.objects.apply(named("answers", &json!({"X-All": "two"}))).await;
        until_header("web.example", "x-all", Some("two")).await;
        cluster.objects.apply(named("requests", &json!({"X-Site": "two"}))).await;
        until_site(Some("two")).await;
        cluster.objects.apply(named("own", &json!({"X-Own": "two"}))).await;
        until_header("own.example", "x-own", Some("two")).await;

        // One ConfigMap exists before it is named, one is created later, and one is deleted.
        cluster.objects.apply(names("others")).await;
        until_header("web.example", "x-all", Some("other")).await;
        cluster.objects.apply(names("later")).await;
        let missing = |status: &Value| reports(status, "ConfigMap controller", "MissingConfigMap");
        cluster.daemon.status_when("what is missing", missing).await;
        until_header("web.example", "x-all", None).await;
        cluster.objects.apply(named("later", &json!({"X-All": "later"}))).await;
        until_header("web.example", "x-all", Some("later")).await;
        cluster.daemon.status_when("that nothing is missing", |status| !missing(status)).await;
        cluster.objects.delete("ConfigMap", "later").await;
        cluster.daemon.status_when("what was deleted", missing).await;
        until_header("web.example", "x-all", None).await;

        cluster.objects.delete("ConfigMap", "own").await;
        get("http://own.example/").send_until("closed routes", |reply| reply.status == 503).await;
        let missing = |status: &Value| reports(status, "Ingress own", "MissingConfigMap");
        cluster.daemon.status_when("what the object misses", missing).await;
        cluster.objects.apply(named("own", &json!({"X-Own": "three"}))).await;
        until_header("own.example", "x-own", Some("three")).await;

        // The Secret is followed like those.
        cluster.objects.delete("Secret", "exchange").await;
        let missing = |status: &Value| reports(status, "ConfigMap controller", "MissingSecret");
        cluster.daemon.status_when("the Secret that is missing", missing).await;
        wait::until("no parameters", async || (!exchange.exists()).then_some(())).await;
        cluster.objects.apply(secret("exchange", "Opaque", &[("dhparam.pem", DH_PARAMETERS)])).await;
        wait::until("the parameters", async || exchange.exists().then_some(())).await;
    });
}

#[test]
fn without_the_right_to_config_maps_routes_that_need_one_are_closed_and_the_right_is_named() {
    cluster::run(async |cluster| {
        cluster.daemon.set("headers.allowed", "[\"X-Own\"]");
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("web").class("nginx").host("web.example", "web")).await;
        cluster.objects.apply(named("own", &json!({"X-Own": "one"}))).await;
        cluster.objects.apply(own()).await;
        without_config_maps(cluster).await;
        cluster.start().await;
        let reported = |status: &Value| {
            let notes = notes(status, "Ingress own", "MissingConfigMap");
            notes
                .iter()
                .any(|note| note.contains("the right to read ConfigMaps") && note.contains("docs/kubeconfig.md"))
        };
        cluster.daemon.status_when("the right that is missing", reported).await;
        assert_eq!(get("http://own.example/").send().await.status, 503);
        assert_eq!(get(URL).send().await.status, 200);
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        until_header("own.example", "x-own", Some("one")).await;
    });
}
