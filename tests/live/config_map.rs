//! The ConfigMap that the settings name, at the API server: it is watched, what is wrong with it is told on it, and nothing is served before it is seen.

use serde_json::{Value, json};

use crate::cluster::{self, rights};
use crate::rig::client::post;
use crate::rig::manifests::ingress;
use crate::rig::status::{notes, watch};
use crate::rig::wait;

const URL: &str = "http://web.example/";

fn config_map(size: &str) -> Value {
    let data = json!({ "proxy-body-size": size, "proxy-bodysize": "1m", "http-snippet": "deny all;" });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "controller" }, "data": data })
}

async fn until(bytes: usize, status: u16) {
    let what = format!("{status} for {bytes} bytes");
    post(URL, vec![b'x'; bytes]).send_until(&what, |reply| reply.status == status).await;
}

#[test]
fn it_is_watched_and_told_about_and_nothing_is_served_before_it_is_seen() {
    cluster::run(async |cluster| {
        let namespace = cluster.objects.namespace().to_owned();
        cluster.daemon.set("ingress-nginx.configmap", &format!("{namespace}/controller"));
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        cluster.objects.apply(ingress("web").class("nginx").host("web.example", "web")).await;
        cluster.objects.apply(config_map("1k")).await;
        let mut without = rights::shipped();
        without.as_array_mut().unwrap().retain(|rule| rule["resources"] != json!(["configmaps"]));
        assert_ne!(without, rights::shipped());
        cluster.credentials.set_rules(&cluster.objects, &without).await;
        cluster.nginx.start();
        cluster.daemon.start();
        let refused = |status: &Value| watch(status, "ConfigMap") == "refused" && status["generation"].is_null();
        cluster.daemon.status_when("the refusal", refused).await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        cluster.daemon.ready().await;
        until(1024, 200).await;
        until(1025, 413).await;
        let told = async || {
            let events = cluster.objects.list("Event").await;
            let about = events.iter().filter(|event| event["regarding"]["name"] == "controller");
            let mut reasons: Vec<_> = about.map(|event| event["reason"].as_str().unwrap().to_owned()).collect();
            reasons.sort();
            reasons
        };
        wait::until_right("the Events", told, |told| *told == ["UnknownKey", "UnsupportedKey"]).await;
        cluster.objects.apply(config_map("2k")).await;
        until(2048, 200).await;
        cluster.objects.delete("ConfigMap", "controller").await;
        let missing = |status: &Value| !notes(status, "ConfigMap controller", "MissingConfigMap").is_empty();
        cluster.daemon.status_when("what is missing", missing).await;
        until(2049, 413).await;
        until(2048, 200).await;
    });
}
