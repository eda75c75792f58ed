//! Administrators with few rights.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use rig::cluster::{Cluster, url};
use rig::wait;

/// A right: verb, group and resource; of Leases in their namespace alone.
pub type Right = (&'static str, &'static str, &'static str);

/// What an administrator needs for the take-over and back.
pub const RIGHTS: [Right; 9] = [
    ("list", "networking.k8s.io", "ingresses"),
    ("list", "networking.k8s.io", "ingressclasses"),
    ("list", "", "namespaces"),
    ("list", "apps", "deployments"),
    ("list", "apps", "daemonsets"),
    ("list", "coordination.k8s.io", "leases"),
    ("create", "coordination.k8s.io", "leases"),
    ("patch", "coordination.k8s.io", "leases"),
    ("patch", "networking.k8s.io", "ingresses/status"),
];

/// The kubeconfig of an administrator who has all rights for the take-over but one, and no others.
pub async fn without(cluster: &Cluster, missing: Option<(&str, &str)>) -> PathBuf {
    let account = missing.map_or("migrator".to_owned(), |(verb, kind)| format!("no-{verb}-{}", kind.replace('/', "-")));
    let allowed: Vec<_> = RIGHTS.into_iter().filter(|(verb, _, kind)| missing != Some((*verb, *kind))).collect();
    with(cluster, &account, &allowed).await
}

/// The kubeconfig of a new ServiceAccount with these rights and no others.
pub async fn with(cluster: &Cluster, account: &str, allowed: &[Right]) -> PathBuf {
    let objects = &cluster.objects;
    let (leases, global): (Vec<_>, Vec<_>) = allowed.iter().partition(|(_, _, kind)| *kind == "leases");
    let rules = |rights: &[&Right]| -> Vec<Value> {
        let rule = |(verb, group, kind): &Right| json!({"apiGroups": [group], "resources": [kind], "verbs": [verb]});
        rights.iter().map(|right| rule(right)).collect()
    };
    let namespace = objects.namespace();
    let name = format!("{account}-{namespace}");
    let rbac = "rbac.authorization.k8s.io";
    let bind = |kind: &str, name: &str| {
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": format!("{kind}Binding"), "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}]
        })
    };
    let role = |kind: &str, name: &str, rights: &[&Right]| json!({"apiVersion": format!("{rbac}/v1"), "kind": kind, "metadata": {"name": name}, "rules": rules(rights)});
    objects
        .apply_all([
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account}}),
            role("ClusterRole", &name, &global),
            bind("ClusterRole", &name),
            role("Role", account, &leases),
            bind("Role", account),
        ])
        .await;
    for (verb, group, kind) in allowed {
        until_allowed(cluster, account, (verb, group, kind)).await;
    }
    kubeconfig(cluster, account).await
}

async fn until_allowed(cluster: &Cluster, account: &str, (verb, group, kind): (&str, &str, &str)) {
    let namespace = cluster.objects.namespace();
    let (resource, part) = kind.split_once('/').unwrap_or((kind, ""));
    let attributes =
        json!({"verb": verb, "group": group, "resource": resource, "subresource": part, "namespace": namespace});
    let user = format!("system:serviceaccount:{namespace}:{account}");
    let review: SubjectAccessReview =
        serde_json::from_value(json!({"spec": {"user": user, "resourceAttributes": attributes}})).unwrap();
    let reviews = Api::<SubjectAccessReview>::all(cluster.objects.client());
    wait::until("rights to be in force", async || {
        let answer = reviews.create(&PostParams::default(), &review).await.unwrap();
        answer.status.unwrap().allowed.then_some(())
    })
    .await;
}

async fn kubeconfig(cluster: &Cluster, account: &str) -> PathBuf {
    let uid = cluster.objects.get("ServiceAccount", account).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let life = Duration::from_secs(3600).as_secs();
    let order = format!("token {} {account} {uid} {life}s", cluster.objects.namespace());
    let token = cluster.control_plane.report(&order).await;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": account}}],
        "clusters": [{"name": "cluster", "cluster": {"server": url(), "certificate-authority": cluster.control_plane.authority()}}],
        "users": [{"name": account, "user": {"token": token.trim()}}]
    });
    let path = cluster.folder().join(format!("{account}.kubeconfig"));
    std::fs::write(&path, config.to_string()).unwrap();
    path
}
