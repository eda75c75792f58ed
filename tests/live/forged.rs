//! Objects of a tenant with the names that nodes use among themselves.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};

use crate::nodes::{SHORT, nodes};
use rig::ECHO;
use rig::client::get;
use rig::cluster::node::Node;
use rig::cluster::objects::Objects;
use rig::cluster::{self, Cluster};
use rig::manifests::{in_namespace, ingress, service_at};
use rig::wait;

/// The backends of both sides.
const VICTIM: &str = "10.244.0.1";
const EVIL: &str = "10.244.0.2";

/// An address that no node has.
const FOREIGN: &str = "203.0.113.66";

/// The duration of a forged Lease of the leader, in seconds: no node may wait for its end.
const LONG: u32 = 100_000;

/// A namespace with a backend, a client with the rights of the role `edit` in it, and one with all
/// rights.
async fn tenant(cluster: &Cluster) -> (Objects, Objects) {
    let namespace = format!("evil-{}", cluster.objects.namespace());
    cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
    for object in service_at("web", &[EVIL], ECHO) {
        cluster.objects.apply(in_namespace(&namespace, object)).await;
    }
    let may_edit = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "edit", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": namespace}]
    });
    cluster.objects.apply(may_edit).await;
    let kubeconfig = Kubeconfig::read_from(cluster.control_plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some(namespace.clone());
    let administrator = cluster.objects.in_namespace(&namespace);
    let mut editor = cluster.objects.in_namespace(&namespace);
    editor.set_client(Client::try_from(config).unwrap());
    (editor, administrator)
}

/// A Lease in the form of the nodes', as an attacker writes it.
fn forged(name: &str, group: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "labels": {"ingressd/group": group}, "annotations": annotations},
        "spec": {
            "holderIdentity": "evil_0123", "leaseDurationSeconds": LONG, "leaseTransitions": 1,
            "acquireTime": "2099-01-01T00:00:00.000000Z", "renewTime": "2099-01-01T00:00:00.000000Z"
        }
    })
}

/// The order of claims of a Lease, reversed.
fn turned(order: &str) -> String {
    let (known, last) = order.split_once('.').unwrap();
    let marks = STANDARD.decode(known).unwrap();
    let turned: Vec<u8> = marks.chunks(8).rev().flatten().copied().collect();
    assert!(turned != marks, "several namespaces ask for something: {order}");
    format!("{}.{last}", STANDARD.encode(turned))
}

/// The backend that answers for the victim's host at a node.
async fn who_at(node: &Node) -> String {
    let reply = get("http://shop.example/").to(node.address.parse::<std::net::IpAddr>().unwrap()).send().await;
    reply.try_echo().map_or(reply.status.to_string(), |echo| echo.address.ip().to_string())
}

/// Whether the API server refuses what a tenant tries.
async fn is_refused(editor: &Objects, kind: &str, namespace: &str, name: &str, part: Option<&str>) -> bool {
    let (api, parameters) = (editor.api_in(kind, Some(namespace)), PatchParams::default());
    let change = json!({"metadata": {"annotations": {"ingressd/status": "hold"}}, "status": {"loadBalancer": {}}});
    let answer = match part {
        Some(_) => api.patch_status(name, &parameters, &Patch::Merge(change)).await,
        None => api.patch(name, &parameters, &Patch::Merge(change)).await,
    };
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 403)
}

#[test]
fn no_node_trusts_what_a_tenant_writes_under_our_names() {
    cluster::run(async |cluster| {
        // The tenant's object is older than the victim's, and asks for the victim's host when that
        // is served.
        let (editor, administrator) = tenant(cluster).await;
        let own = cluster.objects.namespace().to_owned();
        let attack = |host: &str| ingress("shop").host(host, "web").namespace(editor.namespace());
        cluster.objects.apply(attack("own.example")).await;
        let ([mut one], shop) = nodes(cluster, ["one"], &[SHORT]).await;
        cluster.objects.apply(attack("shop.example")).await;
        let leases = async || cluster.objects.list("Lease").await;
        let order = async || {
            let leases = leases().await.into_iter();
            let mut orders = leases.map(|lease| lease["metadata"]["annotations"]["ingressd/claim-order"].clone());
            orders.find_map(|order| order.as_str().map(str::to_owned))
        };
        let order = wait::until("the order in the Lease", order).await;

        // The tenant writes everything that nodes keep there, by the same names and with another
        // content.
        for lease in leases().await {
            let name = lease["metadata"]["name"].as_str().unwrap();
            let group = lease["metadata"]["labels"]["ingressd/group"].as_str().unwrap_or("ingressd");
            let mut annotations = lease["metadata"]["annotations"].clone();
            if annotations["ingressd/addresses"].is_string() {
                annotations["ingressd/addresses"] = json!(FOREIGN);
                annotations["ingressd/serving"] = json!("true");
                annotations["ingressd/claim-order"] = json!(turned(&order));
            }
            editor.apply(forged(name, group, &annotations)).await;
        }
        editor.apply(forged("ingressd.status", "ingressd", &json!({"ingressd/status": "hold"}))).await;
        let member = json!({
            "ingressd/addresses": FOREIGN, "ingressd/serving": "true", "ingressd/drained": "false",
            "ingressd/observed": "999999999", "ingressd/claim-order": turned(&order)
        });
        editor.apply(forged("ingressd-two-0123456789", "ingressd", &member)).await;
        editor
            .apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ingressd"}, "data": {}}))
            .await;

        // The tenant has no right to write the objects that nodes read.
        for (kind, namespace, name, part) in [
            ("Lease", &*own, "ingressd", None),
            ("Lease", &own, "ingressd.status", None),
            ("Ingress", &own, "shop", None),
            ("Ingress", &own, "shop", Some("status")),
            ("Ingress", editor.namespace(), "shop", Some("status")),
        ] {
            assert!(is_refused(&editor, kind, namespace, name, part).await, "{kind} {namespace}/{name} {part:?}");
        }
        // Where the administrator allows tenants to write statuses, the tenant claims these
        // addresses.
        let claimed = json!({"loadBalancer": {"ingress": [{"ip": one.address}, {"ip": FOREIGN}]}});
        let status = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "shop"}, "status": claimed
        });
        let by_our_name = PatchParams::apply(&format!("ingressd/{own}/ingressd")).force();
        administrator.api("Ingress").patch_status("shop", &by_our_name, &Patch::Apply(status)).await.unwrap();

        // A new node learns the order of claims from the Lease of the other one, and both are
        // published.
        let mark = shop.mark();
        let mut two = cluster.add_node("two");
        two.daemon.set(SHORT.0, SHORT.1);
        two.start().await;
        two.daemon.confirmed("shop").await;
        let both = [one.address.clone(), two.address.clone()];
        shop.until_published(&both.each_ref().map(String::as_str)).await;
        assert_eq!([who_at(&one).await, who_at(&two).await], [VICTIM, VICTIM]);
        // The leader is lost: the next node leads as soon as its Lease ends, and ignores the
        // forged ones.
        one.daemon.kill();
        two.until_leader().await;
        shop.until_published(&[&two.address]).await;
        cluster.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cluster.objects.until_published("cart", &[&two.address]).await;
        assert_eq!(who_at(&two).await, VICTIM);
        // The node that leads serves nothing of that object, and says so.
        administrator.until_published("shop", &[]).await;
        let published = shop.since(mark);
        assert!(published.iter().flatten().all(|address| both.contains(address)), "{published:?}");
        shop.was_never_empty();
        let members = two.daemon.status().await.unwrap()["members"].clone();
        let names = members.as_array().unwrap().iter().map(|member| member["identity"].to_string());
        assert!(names.clone().all(|name| !name.contains("evil")), "{members}");
        assert_eq!(names.count(), 2);
        administrator.clear().await;
    });
}
