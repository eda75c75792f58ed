//! The credentials of a daemon: a ServiceAccount with its rights, a token and a kubeconfig.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use super::objects::{Objects, patiently};
use super::rights;
use crate::wait;

/// A group of resources that no cluster has. Each version of a role allows another one of them, to
/// be told from others.
const MARKS: &str = "marks.test";

/// The kubeconfig of a daemon and the files that it names, which can be changed one by one.
pub struct Credentials {
    folder: PathBuf,
    account: String,
}

impl Credentials {
    /// Makes a ServiceAccount with these rights everywhere, and writes a kubeconfig for the API at
    /// this URL.
    pub async fn make(folder: &Path, objects: &Objects, rules: &Value, url: &str, authority: &str) -> Self {
        fs::create_dir_all(folder).unwrap();
        let credentials = Credentials { folder: folder.to_owned(), account: "ingressd".to_owned() };
        let global = credentials.write_rules(objects, "ClusterRole", objects.namespace(), rules).await;
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": credentials.account}});
        objects.apply(account).await;
        let name = objects.namespace();
        objects
            .apply(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": credentials.account, "namespace": objects.namespace()}]
            }))
            .await;
        let subjects = json!([{"kind": "ServiceAccount", "name": credentials.account, "namespace": name}]);
        let rules = rights::shipped_for_leases();
        let here = credentials.write_rules(objects, "Role", &credentials.account, &rules).await;
        objects
            .apply(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "ingressd"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ingressd"},
                "subjects": subjects
            }))
            .await;
        credentials.renew_token(objects, Duration::from_secs(3600)).await;
        credentials.write_authority(authority);
        credentials.write_kubeconfig(url);
        for mark in [global, here] {
            credentials.until_in_force(objects, &mark).await;
        }
        credentials
    }

    /// The kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Makes these the rights of the ServiceAccount: the `rules` of a ClusterRole. They are in
    /// force when this returns.
    pub async fn set_rules(&self, objects: &Objects, rules: &Value) {
        let mark = self.write_rules(objects, "ClusterRole", objects.namespace(), rules).await;
        self.until_in_force(objects, &mark).await;
    }

    /// Makes these the rights of the ServiceAccount in the namespace of the Leases. They are in
    /// force when this returns.
    pub async fn set_lease_rules(&self, objects: &Objects, rules: &Value) {
        let mark = self.write_rules(objects, "Role", &self.account, rules).await;
        self.until_in_force(objects, &mark).await;
    }

    /// Writes the rules of a role, and gives the mark of this version.
    async fn write_rules(&self, objects: &Objects, kind: &str, name: &str, rules: &Value) -> String {
        static WRITTEN: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("mark-{}", WRITTEN.fetch_add(1, Ordering::Relaxed));
        let mut rules = rules.as_array().expect("a list of rules").clone();
        rules.push(json!({"apiGroups": [MARKS], "resources": [mark], "verbs": ["get"]}));
        objects
            .apply(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules
            }))
            .await;
        mark
    }

    /// Waits until the API server goes by the version of a role with this mark. It learns of roles
    /// and bindings by watches of its own, and may allow or refuse something for a while as
    /// before.
    async fn until_in_force(&self, objects: &Objects, mark: &str) {
        let namespace = objects.namespace();
        let user = format!("system:serviceaccount:{namespace}:{}", self.account);
        let attributes = json!({"group": MARKS, "resource": mark, "verb": "get", "namespace": namespace});
        let review = json!({"spec": {"user": user, "resourceAttributes": attributes}});
        let review: SubjectAccessReview = serde_json::from_value(review).unwrap();
        let reviews = Api::<SubjectAccessReview>::all(objects.client());
        wait::until("rights to be in force", async || {
            let answer = patiently(async || reviews.create(&PostParams::default(), &review).await).await.unwrap();
            answer.status.unwrap().allowed.then_some(())
        })
        .await;
    }

    /// Writes a token that is valid for this long, and returns it.
    pub async fn renew_token(&self, objects: &Objects, lifetime: Duration) -> String {
        let account = objects.get("ServiceAccount", &self.account).await;
        let uid = account["metadata"]["uid"].as_str().unwrap();
        let order = format!("token {} {} {uid} {}s", objects.namespace(), self.account, lifetime.as_secs());
        let token = ControlPlane::shared().report(&order).await;
        self.write("token", &token);
        token
    }

    /// Writes the authority (PEM) that is trusted from now on.
    pub fn write_authority(&self, pem: &str) {
        self.write("ca.crt", pem);
    }

    /// Gives a user the rights that the ServiceAccount has.
    pub async fn grant(&self, objects: &Objects, user: &str) {
        let subjects = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]);
        let binding = |kind: &str, name: &str, role: &str| {
            let role_ref = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind.trim_end_matches("Binding"), "name": role});
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
                "roleRef": role_ref, "subjects": subjects
            })
        };
        objects.apply(binding("ClusterRoleBinding", user, objects.namespace())).await;
        objects.apply(binding("RoleBinding", user, &self.account)).await;
    }

    /// Writes the kubeconfig for the API at this URL.
    pub fn write_kubeconfig(&self, url: &str) {
        self.write_user(url, &json!({"tokenFile": self.path("token")}));
    }

    /// Where a file of the kubeconfig's folder is.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes the kubeconfig for the API at this URL and this user, in the words of kubeconfig
    /// files.
    pub fn write_user(&self, url: &str, user: &Value) {
        let path = |name: &str| self.path(name);
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "cluster",
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": "ingressd"}}],
            "clusters": [{"name": "cluster", "cluster": {"server": url, "certificate-authority": path("ca.crt")}}],
            "users": [{"name": "ingressd", "user": user}]
        });
        // JSON is YAML.
        self.write("kubeconfig", &serde_json::to_string_pretty(&config).unwrap());
    }

    /// Writes a program, to be run as a plugin: lines of a shell.
    pub fn write_program(&self, name: &str, lines: &str) {
        let next = format!("{name}.next");
        self.write(&next, &format!("#!/bin/sh\n{lines}\n"));
        fs::set_permissions(self.path(&next), fs::Permissions::from_mode(0o700)).unwrap();
        fs::rename(self.path(&next), self.path(name)).unwrap();
    }

    /// Replaces a file as a whole, as careful tools do; only root may read it.
    pub fn write(&self, name: &str, text: &str) {
        let next = self.folder.join(format!(".{name}.next"));
        fs::write(&next, text).unwrap();
        fs::set_permissions(&next, fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(next, self.folder.join(name)).unwrap();
    }
}
