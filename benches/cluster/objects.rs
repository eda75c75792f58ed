//! Applications and changes to them as objects of the API.

use std::time::Instant;

use futures_util::{StreamExt as _, stream};
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::common::applications::{Application, NAMESPACES};
use crate::common::changes::Change;
use rig::cluster::objects::Objects;

/// Requests under way at once, where many objects are created.
const AT_ONCE: usize = 16;

/// An Ingress that was written.
pub struct Answer {
    /// When the API answered.
    pub at: Instant,
    /// The answer of the API; where a change takes several writes, the answer to the last.
    pub object: DynamicObject,
}

/// Its Ingress, Service and EndpointSlice.
fn of(application: &Application) -> [Value; 3] {
    let text = application.text();
    let mut documents = text.split("---\n").map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    let mut objects = [(); 3].map(|()| documents.next().unwrap());
    // The slices are ours: with a selector the controller of the cluster would make another one of
    // each Service.
    objects[1]["spec"].as_object_mut().unwrap().remove("selector");
    objects
}

/// Creates so many applications.
pub async fn create(size: usize, objects: &Objects) {
    let namespace = |number| {
        let name = Application::new(number).namespace();
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    };
    create_each(objects, (0..NAMESPACES).map(namespace)).await;
    let all = |application: Application| of(&application).into_iter().chain(application.secret());
    create_each(objects, (0..size).map(Application::new).flat_map(all)).await;
}

async fn create_each(objects: &Objects, values: impl Iterator<Item = Value>) {
    let create = |value| objects.create(value);
    stream::iter(values.map(create)).buffer_unordered(AT_ONCE).collect::<()>().await;
}

/// Writes what carries a change.
pub async fn write(change: Change, application: &Application, objects: &Objects) -> Answer {
    let [ingress, service, slice] = of(application);
    let object = match change {
        Change::RouteAdd => {
            objects.apply_all([slice, service]).await;
            objects.apply(ingress).await
        }
        Change::PathEdit => objects.apply(ingress).await,
        Change::Endpoint => objects.apply(slice).await,
        Change::Certificate => objects.apply(application.secret().expect("a host with TLS")).await,
    };
    Answer { at: Instant::now(), object }
}

/// Waits until an address stands in the status of the Ingress that was written.
///
/// # Panics
///
/// When the API server ends the watch before.
pub async fn published(answer: &Answer, objects: &Objects) -> Instant {
    let metadata = &answer.object.metadata;
    let (name, version) = (metadata.name.as_deref().unwrap(), metadata.resource_version.as_deref().unwrap());
    let ingresses = objects.api_in("Ingress", metadata.namespace.as_deref());
    // It returns what came after that version, also when it came before the watch.
    let parameters = WatchParams::default().fields(&format!("metadata.name={name}"));
    let events = ingresses.watch(&parameters, version).await.unwrap();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        if let WatchEvent::Modified(ingress) = event.unwrap()
            && ingress.data["status"]["loadBalancer"]["ingress"].is_array()
        {
            return Instant::now();
        }
    }
    panic!("the watch of Ingress {name} ended");
}
