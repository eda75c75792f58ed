//! Decodes documents into a snapshot for tests.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Namespace, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ByteString, Metadata};
use serde::de::DeserializeOwned;

use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Snapshot, Stored, Version};

/// Classes, Services, slices, Nodes and Secrets for all cases.
const FIXTURES: &str = include_str!("../../../../tests/golden/prelude.yaml");

/// The fixtures with these documents.
pub fn snapshot(documents: &str) -> Snapshot {
    snapshot_of(&[FIXTURES, documents].join("\n---\n"))
}

/// These documents alone.
pub fn snapshot_of(documents: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    documents.split("\n---\n").for_each(|text| add(&mut snapshot, text.trim()));
    sort(&mut snapshot);
    snapshot
}

fn add(snapshot: &mut Snapshot, document: &str) {
    let Ok(head) = serde_saphyr::from_str::<serde_json::Value>(document) else { panic!("not YAML:\n{document}") };
    match head["kind"].as_str() {
        Some("Ingress") => snapshot.ingresses.edit().push(kept(stored::<Ingress>(Kind::INGRESS, document))),
        Some("IngressClass") => snapshot.ingress_classes.edit().push(stored(Kind::INGRESS_CLASS, document)),
        Some("Service") => snapshot.services.edit().push(kept(stored::<Service>(Kind::SERVICE, document))),
        Some("EndpointSlice") => {
            snapshot.endpoint_slices.edit().push(kept(stored::<EndpointSlice>(Kind::ENDPOINT_SLICE, document)));
        }
        Some("Namespace") => snapshot.namespaces.edit().push(kept(stored::<Namespace>(Kind::NAMESPACE, document))),
        Some("Node") => snapshot.nodes.edit().push(stored(Kind::NODE, document)),
        Some("ConfigMap") => snapshot.config_maps.edit().push(stored(Kind::CONFIG_MAP, document)),
        Some("Secret") => {
            let mut secret: Stored<Secret> = stored(Kind::SECRET, document);
            // As the API server does.
            if let Some(object) = Arc::get_mut(&mut secret.object) {
                let texts = object.string_data.take().unwrap_or_default().into_iter();
                object
                    .data
                    .get_or_insert_default()
                    .extend(texts.map(|(key, text)| (key, ByteString(text.into_bytes()))));
            }
            snapshot.secrets.edit().push(kept(secret));
        }
        None if head.is_null() => {}
        other => panic!("no test needs {other:?}"),
    }
}

/// The kept part of an object, as a source makes it.
fn kept<K: Clone, Kept: From<K>>(stored: Stored<K>) -> Stored<Kept> {
    let Stored { id, version, object, published, place } = stored;
    Stored { id, version, object: Arc::new(K::clone(&object).into()), published, place }
}

fn stored<K: DeserializeOwned + Metadata<Ty = ObjectMeta>>(kind: Kind, document: &str) -> Stored<K> {
    let object: K = serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document}"));
    let metadata = object.metadata();
    let name = metadata.name.as_deref().unwrap_or_default();
    let id = Arc::new(ObjectId::new(kind, metadata.namespace.as_deref().unwrap_or_default(), name));
    Stored { id, version: Version(document.into()), object: Arc::new(object), published: None, place: None }
}

/// Sorts every list as a source does.
pub fn sort(snapshot: &mut Snapshot) {
    snapshot.ingresses.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.ingress_classes.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.services.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.endpoint_slices.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.secrets.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.config_maps.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.nodes.edit().sort_by(|left, right| left.id.cmp(&right.id));
    snapshot.namespaces.edit().sort_by(|left, right| left.id.cmp(&right.id));
}
