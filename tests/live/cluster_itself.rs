//! What the tests stand on does what they rely on; no daemon runs here.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use serde_json::json;

use crate::cluster;
use crate::cluster::control_plane::API_SERVER;
use crate::cluster::credentials::Credentials;
use crate::rig::client::get;
use crate::rig::manifests::ingress;
use crate::rig::wait;

#[test]
fn pods_become_slices_and_addresses_are_local() {
    cluster::run(async |cluster| {
        let objects = &cluster.objects;
        objects.serve("web", &["10.244.0.1", "10.244.0.2"]).await;
        assert_eq!(get("http://any.example:8080/").to([10, 244, 0, 2]).send().await.status, 200);
        objects.set_pods("web", &["10.244.0.2", "10.244.0.3"]).await;
        objects.set_pod_status("web", "10.244.0.2", false).await;
        objects.slices_when("web", &["10.244.0.3"]).await;
        let written = objects.apply(ingress("shop").host("shop.example", "web")).await;
        assert_eq!(written.metadata.namespace.as_deref(), Some(objects.namespace()));
        let read = objects.get("Ingress", "shop").await;
        assert_eq!(read["spec"]["ingressClassName"], json!(objects.class("ingressd")));
    });
}
