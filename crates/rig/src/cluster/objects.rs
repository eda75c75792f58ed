//! Objects written to and read from the API server as tests write them.

use std::time::Duration;

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, coordination::v1 as coordination, core::v1 as core,
    discovery::v1 as discovery, events::v1 as events, networking::v1 as networking, rbac::v1 as rbac,
};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::history::addresses;
use crate::wait;

/// The field manager for server-side apply.
const WRITER: &str = "test";

/// The address that a test's node publishes when it is not told another: the first of those that
/// are local in its network.
pub const ADDRESS: &str = "192.0.2.1";

/// The namespace for which tests write objects. A test that has a cluster for itself may use this
/// namespace and its classes as they are.
const DEFAULT: &str = "default";

/// How long a test that is over may take to remove what it leaves.
const PATIENCE: Duration = Duration::from_secs(10);

/// Objects of a test, in a namespace and with classes of its own.
///
/// Tests write objects for namespace `default` and the classes `ingressd` and `nginx`, as
/// [`crate::manifests`] makes them. These names are replaced by the test's own on the way.
pub struct Objects {
    client: Client,
    namespace: String,
}

/// A kind, by its name, and whether its objects are in namespaces.
fn kind(name: &str) -> (ApiResource, bool) {
    fn of<K: Resource<DynamicType = ()>>(namespaced: bool) -> (ApiResource, bool) {
        (ApiResource::erase::<K>(&()), namespaced)
    }
    match name {
        "ClusterRole" => of::<rbac::ClusterRole>(false),
        "ClusterRoleBinding" => of::<rbac::ClusterRoleBinding>(false),
        "ConfigMap" => of::<core::ConfigMap>(true),
        "Deployment" => of::<apps::Deployment>(true),
        "EndpointSlice" => of::<discovery::EndpointSlice>(true),
        "Ingress" => of::<networking::Ingress>(true),
        "IngressClass" => of::<networking::IngressClass>(false),
        "Event" => of::<events::Event>(true),
        "Lease" => of::<coordination::Lease>(true),
        "Namespace" => of::<core::Namespace>(false),
        "Node" => of::<core::Node>(false),
        "Pod" => of::<core::Pod>(true),
        "Role" => of::<rbac::Role>(true),
        "RoleBinding" => of::<rbac::RoleBinding>(true),
        "Secret" => of::<core::Secret>(true),
        "Service" => of::<core::Service>(true),
        "ServiceAccount" => of::<core::ServiceAccount>(true),
        "ValidatingAdmissionPolicy" => of::<admission::ValidatingAdmissionPolicy>(false),
        "ValidatingWebhookConfiguration" => of::<admission::ValidatingWebhookConfiguration>(false),
        "ValidatingAdmissionPolicyBinding" => of::<admission::ValidatingAdmissionPolicyBinding>(false),
        other => panic!("{other}: add it here"),
    }
}

/// Asks again when the connection ended instead of an answer: a server that was restarted closes
/// those that a client keeps. The calls of tests may be made twice.
pub async fn patiently<T>(call: impl AsyncFn() -> Result<T, kube::Error>) -> Result<T, kube::Error> {
    match call().await {
        Err(kube::Error::Service(_) | kube::Error::HyperError(_)) => call().await,
        answer => answer,
    }
}

impl Objects {
    /// Makes the namespace.
    pub async fn new(client: Client, namespace: &str) -> Self {
        let objects = Objects { client, namespace: namespace.to_owned() };
        objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
        // Pods have to be somewhere. It has no address and is not ready: nothing can be reached
        // through it.
        objects.apply(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": objects.node()}})).await;
        objects
    }

    /// The Node on which the test's Pods are.
    pub fn node(&self) -> &str {
        &self.namespace
    }

    /// The client, which may do everything.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Uses another client from now on.
    pub fn set_client(&mut self, client: Client) {
        self.client = client;
    }

    /// The namespace that stands for `default`.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The class that stands for `ingressd` or `nginx`.
    pub fn class(&self, name: &str) -> String {
        match self.namespace.as_str() {
            DEFAULT => name.to_owned(),
            namespace => format!("{name}-{namespace}"),
        }
    }

    /// The controller that the class of this name has.
    pub fn controller(&self, class: &str) -> String {
        match (self.namespace.as_str(), class) {
            (DEFAULT, "nginx") => "k8s.io/ingress-nginx".to_owned(),
            (DEFAULT, _) => "ingressd/nginx".to_owned(),
            (namespace, class) => format!("{class}.test/{namespace}"),
        }
    }

    /// Writes the classes `ingressd` (specification) and `nginx` (semantics of ingress-nginx).
    pub async fn write_classes(&self) {
        for class in ["ingressd", "nginx"] {
            self.apply(json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": self.class(class)},
                "spec": {"controller": self.controller(class)}
            }))
            .await;
        }
    }

    /// Creates an object, or makes what it says true of the one that is there.
    pub async fn apply(&self, object: impl Into<Value>) -> DynamicObject {
        let object = self.place(object.into());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let api = self.api_in(&kind, object["metadata"]["namespace"].as_str());
        let parameters = PatchParams::apply(WRITER).force();
        let applied = patiently(async || api.patch(&name, &parameters, &Patch::Apply(&object)).await).await;
        applied.unwrap_or_else(|error| panic!("{kind} {name}: {error:?}"))
    }

    /// Creates an object that is not there yet: for many, which server-side apply would take
    /// longer for.
    pub async fn create(&self, object: impl Into<Value>) {
        let object = self.place(object.into());
        let kind = object["kind"].as_str().expect("a kind");
        let api = self.api_in(kind, object["metadata"]["namespace"].as_str());
        let created = api.create(&PostParams::default(), &serde_json::from_value(object.clone()).unwrap()).await;
        created.unwrap_or_else(|error| panic!("{kind} {}: {error:?}", object["metadata"]["name"]));
    }

    /// Creates or changes several, one after the other.
    pub async fn apply_all(&self, objects: impl IntoIterator<Item = Value>) {
        for object in objects {
            self.apply(object).await;
        }
    }

    /// Merges something into the status of an object of the test's namespace, or without one.
    pub async fn set_status(&self, kind: &str, name: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        let api = self.api(kind);
        let patched = patiently(async || api.patch_status(name, &PatchParams::default(), &patch).await).await;
        patched.unwrap_or_else(|error| panic!("status of {kind} {name}: {error:?}"));
    }

    /// Merges something into an object.
    pub async fn merge(&self, kind: &str, name: &str, change: Value) -> DynamicObject {
        let (api, patch) = (self.api(kind), Patch::Merge(change));
        let patched = patiently(async || api.patch(name, &PatchParams::default(), &patch).await).await;
        patched.unwrap_or_else(|error| panic!("{kind} {name}: {error:?}"))
    }

    /// Deletes an object. It may live on while it has finalizers.
    pub async fn delete(&self, kind: &str, name: &str) {
        let deleted = self.api(kind).delete(name, &DeleteParams::default()).await;
        deleted.unwrap_or_else(|error| panic!("{kind} {name}: {error:?}"));
    }

    /// Deletes all Ingresses of a test that is over. Every daemon watches the whole cluster, and
    /// has more to do with each that is left; nothing else depends on it.
    pub async fn clear(&self) {
        if self.namespace == DEFAULT {
            return;
        }
        let (api, how, which) = (self.api("Ingress"), DeleteParams::default(), ListParams::default());
        let deleted = patiently(async || api.delete_collection(&how, &which).await);
        let _ = timeout(PATIENCE, deleted).await;
    }

    /// Waits until an object is gone.
    pub async fn gone(&self, kind: &str, name: &str) {
        let gone = async || self.api(kind).get_opt(name).await.unwrap().is_none().then_some(());
        wait::until(&format!("the end of {kind} {name}"), gone).await;
    }

    /// An object, as it stands there.
    pub async fn get(&self, kind: &str, name: &str) -> Value {
        let api = self.api(kind);
        let object =
            patiently(async || api.get(name).await).await.unwrap_or_else(|error| panic!("{kind} {name}: {error:?}"));
        serde_json::to_value(object).unwrap()
    }

    /// All objects of a kind, of the test's namespace if the kind has namespaces.
    pub async fn list(&self, kind: &str) -> Vec<Value> {
        let (api, parameters) = (self.api(kind), ListParams::default());
        let list = patiently(async || api.list(&parameters).await).await;
        let list = list.unwrap_or_else(|error| panic!("{kind}: {error:?}"));
        list.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// The Events that the daemon wrote. The API server writes some as well.
    pub async fn events(&self) -> Vec<Value> {
        let mut events = self.list("Event").await;
        events.retain(|event| event["reportingController"] == "ingressd/nginx");
        events
    }

    /// The addresses in the status of an Ingress.
    pub async fn addresses(&self, name: &str) -> Vec<String> {
        addresses(&self.get("Ingress", name).await)
    }

    /// Waits until these are the addresses in the status of an Ingress.
    pub async fn until_published(&self, name: &str, addresses: &[&str]) {
        let published = async || self.addresses(name).await;
        wait::until_right(&format!("the addresses of {name}"), published, |published| published == addresses).await;
    }

    /// Those of another namespace, with the same rights.
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Objects { client: self.client.clone(), namespace: namespace.to_owned() }
    }

    /// The API of a kind.
    pub fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.api_in(kind, Some(&self.namespace))
    }

    /// The API of a kind in any namespace, where it has namespaces.
    pub fn api_in(&self, kind_name: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (resource, namespaced) = kind(kind_name);
        match namespace.filter(|_| namespaced) {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    /// Replaces the names that stand for the test's own.
    fn place(&self, mut object: Value) -> Value {
        let (_, namespaced) = kind(object["kind"].as_str().expect("a kind"));
        let namespace = &mut object["metadata"]["namespace"];
        if namespaced && (namespace.is_null() || namespace == DEFAULT) {
            *namespace = json!(self.namespace);
        }
        if let Some(class @ ("ingressd" | "nginx")) = object["spec"]["ingressClassName"].as_str() {
            object["spec"]["ingressClassName"] = json!(self.class(class));
        }
        object
    }
}
