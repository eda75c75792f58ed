//! The test cluster itself, without a daemon.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use http::StatusCode;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, Error};
use serde_json::json;

use rig::client::get;
use rig::cluster::control_plane::API_SERVER;
use rig::cluster::credentials::Credentials;
use rig::cluster::objects::patiently;
use rig::cluster::proxy::{Action, Call, status};
use rig::cluster::{self, Cluster, rights};
use rig::manifests::ingress;
use rig::wait;

/// A client that is to the API server what the daemon would be, and never tries twice.
async fn client(credentials: &Credentials) -> Client {
    let kubeconfig = Kubeconfig::read_from(credentials.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// The status with which a list of a kind is refused, 200 when it is not.
async fn listing<K>(client: &Client) -> u16
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let (api, parameters) = (Api::<K>::all(client.clone()), ListParams::default());
    match patiently(async || api.list(&parameters).await).await {
        Ok(_) => 200,
        Err(Error::Api(status)) => status.code,
        Err(other) => panic!("{other}"),
    }
}

fn of_ingresses(call: &Call) -> bool {
    call.resource == "ingresses"
}

fn watches_ingresses(call: &Call) -> bool {
    of_ingresses(call) && call.is_watch()
}

#[test]
fn pods_become_slices_and_addresses_are_local() {
    cluster::run(async |cluster| {
        let objects = &cluster.objects;
        objects.serve("web", &["10.244.0.1", "10.244.0.2"]).await;
        assert_eq!(get("http://any.example:8080/").to([10, 244, 0, 2]).send().await.status, 200);
        objects.set_pods("web", &["10.244.0.2", "10.244.0.3"]).await;
        objects.set_pod_status("web", "10.244.0.2", false).await;
        objects.slices_are("web", &["10.244.0.3"]).await;
        let written = objects.apply(ingress("shop").host("shop.example", "web")).await;
        assert_eq!(written.metadata.namespace.as_deref(), Some(objects.namespace()));
        let read = objects.get("Ingress", "shop").await;
        assert_eq!(read["spec"]["ingressClassName"], json!(objects.class("ingressd")));
        objects.delete("Namespace", objects.namespace()).await;
        objects.gone("Namespace", objects.namespace()).await;
        assert_eq!(objects.list("Ingress").await, [json!(null); 0]);
    });
}

#[test]
fn rights_can_be_taken_and_given() {
    cluster::run(async |cluster| {
        let client = client(&cluster.credentials).await;
        assert_eq!((listing::<Ingress>(&client).await, listing::<Pod>(&client).await), (200, 403));
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped_without("ingresses")).await;
        // The API server learns of it by a watch of its own.
        wait::until_right("the refusal", || listing::<Ingress>(&client), |status| *status == 403).await;
        cluster.credentials.set_rules(&cluster.objects, &rights::shipped()).await;
        wait::until_right("the right", || listing::<Ingress>(&client), |status| *status == 200).await;
    });
}

#[test]
fn tokens_expire() {
    cluster::run(async |cluster| {
        cluster.credentials.renew_token(&cluster.objects, Duration::from_secs(10)).await;
        let before = client(&cluster.credentials).await;
        assert_eq!(listing::<Ingress>(&before).await, 200);
        wait::until_right("the end of the token", || listing::<Ingress>(&before), |status| *status == 401).await;
        cluster.credentials.renew_token(&cluster.objects, Duration::from_secs(3600)).await;
        assert_eq!(listing::<Ingress>(&client(&cluster.credentials).await).await, 200);
    });
}

#[test]
fn the_proxy_passes_refuses_edits_and_is_away() {
    cluster::run(async |cluster| {
        let mut proxy = cluster.put_proxy_between().await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        let client = client(&cluster.credentials).await;
        let namespace = cluster.objects.namespace();
        let api = Api::<Ingress>::namespaced(client.clone(), namespace);
        assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);
        assert_eq!(proxy.count(200, |call| of_ingresses(call) && call.is_list()), 1);

        let rule = proxy.rules.add(of_ingresses, Action::Refuse(StatusCode::GONE));
        assert_eq!(listing::<Ingress>(&client).await, 410);
        proxy.rules.remove(rule);
        proxy.rules.add_times(1, Call::is_list, Action::Edit(Arc::new(|list| list["items"] = json!([]))));
        assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 0);
        assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 1);

        let list = async || api.list(&ListParams::default()).await;
        proxy.go_away().await;
        assert!(list().await.is_err());
        proxy.come_back().await;
        assert!(patiently(list).await.is_ok());
        proxy.replace_authority();
        proxy.cut().await;
        assert!(patiently(list).await.is_err());
        cluster.credentials.write_authority(&proxy.authority());
        assert_eq!(listing::<Ingress>(&self::client(&cluster.credentials).await).await, 200);
    });
}

#[test]
fn the_proxy_speaks_in_watches_and_ends_them() {
    cluster::run(async |cluster| {
        let proxy = cluster.put_proxy_between().await;
        let client = client(&cluster.credentials).await;
        let api = Api::<Ingress>::namespaced(client, cluster.objects.namespace());
        let parameters = WatchParams::default().disable_bookmarks();
        let mut events = pin!(api.watch(&parameters, "0").await.unwrap());
        assert_eq!(proxy.streams.count(watches_ingresses), 1);
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        let event = events.try_next().await.unwrap();
        assert!(matches!(event, Some(WatchEvent::Added(_))), "{event:?}");
        let event = json!({"type": "ERROR", "object": status(StatusCode::GONE)});
        assert_eq!(proxy.streams.send(watches_ingresses, &event), 1);
        assert!(matches!(events.try_next().await.unwrap(), Some(WatchEvent::Error(status)) if status.code == 410));
        assert_eq!(proxy.streams.cut(watches_ingresses), 1);
        assert!(!matches!(events.try_next().await, Ok(Some(_))));
        wait::until("the end of the watch", async || (proxy.streams.count(watches_ingresses) == 0).then_some(())).await;
    });
}

async fn version(cluster: &Cluster) -> Result<String, Error> {
    Ok(client(&cluster.credentials).await.apiserver_version().await?.git_version)
}

#[test]
fn the_api_server_stops_stands_still_and_gets_another_authority() {
    cluster::run_alone(async |cluster| {
        let plane = cluster.control_plane;
        assert!(version(cluster).await.unwrap().starts_with("v1."));
        plane.report(&format!("stop {API_SERVER}")).await;
        assert!(version(cluster).await.is_err());
        plane.report(&format!("start {API_SERVER}")).await;
        assert!(version(cluster).await.is_ok());

        plane.report(&format!("pause {API_SERVER}")).await;
        let answer = tokio::time::timeout(Duration::from_millis(200), version(cluster)).await;
        assert!(answer.is_err(), "a process that stands still answers nothing");
        plane.report(&format!("continue {API_SERVER}")).await;
        assert!(version(cluster).await.is_ok());

        plane.report("replace-authority").await;
        assert!(version(cluster).await.is_err());
        cluster.credentials.write_authority(&std::fs::read_to_string(plane.authority()).unwrap());
        assert!(version(cluster).await.is_ok());
        // The controllers have seen the change.
        cluster.reconnect().await;
        cluster.objects.serve("web", &["10.244.0.1"]).await;
    });
}
