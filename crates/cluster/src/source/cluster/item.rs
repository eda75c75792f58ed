//! Checks and trims an object that a watch reported.

use std::sync::Arc;

use serde::Serialize;

use super::found::{Found, Undecodable};
use crate::source::watched::Watched;
use ingressd_model::{Digester, ObjectId};
use ingressd_objects::{Kept as _, Problem, Published, Stored, Version, identity};

/// The annotation that kubectl writes for itself; it can be larger than the object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object as it is kept, or why it is not kept.
#[derive(Debug)]
pub struct Item<K: Watched> {
    /// Its name.
    pub id: Arc<ObjectId>,
    /// The object as it is kept, or what is wrong.
    pub outcome: Result<Stored<K::Kept>, Unfit>,
}

/// Why an object is not kept.
#[derive(Debug)]
pub struct Unfit {
    /// What is wrong.
    pub problems: Vec<Problem>,
    pub uid: Option<Arc<str>>,
    /// Its status, which is valid also where the rest is not.
    pub published: Option<Published>,
}

impl<K: Watched> Item<K> {
    /// Checks and trims an object; `None` when an API server would not accept its name.
    pub fn of(found: Found<K>) -> Option<Self> {
        let id = identity::named(K::MODEL_KIND, K::NAMESPACED, Some(&found.namespace), Some(&found.name)).ok()?;
        let id = Arc::new(id);
        let outcome = match found.object {
            Ok(mut object) => {
                object.complete();
                let mut problems = Vec::new();
                object.validate(&mut problems);
                match problems.is_empty() {
                    true => Ok(stored(&id, object)),
                    false => {
                        let uid = object.metadata().uid.as_deref().map(Arc::from);
                        Err(Unfit { problems, uid, published: object.take_published() })
                    }
                }
            }
            Err(Undecodable { why, uid, status }) => {
                let whole = status.clone().filter(|_| K::HAS_WHOLE_STATUS);
                let whole = whole.map(Box::new);
                // Other kinds have statuses of another form, which we do not publish.
                let status = status.and_then(|status| serde_json::from_value(status).ok());
                let published = Some(Published { whole, ..Published::new(found.position, status) });
                Err(Unfit { problems: vec![Problem::undecodable(why)], uid, published })
            }
        };
        Some(Item { id, outcome })
    }

    /// The part that is kept of an object that is not served: its name and published status, if it
    /// has one.
    pub fn bare(self) -> Option<Self> {
        let (uid, published) = match self.outcome {
            Ok(stored) => (stored.object.uid().map(str::to_owned), stored.published?),
            Err(unfit) => (unfit.uid.map(|uid| uid.to_string()), Arc::new(unfit.published?)),
        };
        let mut object = K::default();
        object.metadata_mut().uid = uid;
        let version = fingerprint(&object);
        let stored =
            Stored { id: Arc::clone(&self.id), version, object: Arc::new(object.into()), published: None, place: None };
        let is_empty = published.is_empty();
        (!is_empty).then(|| Item { id: self.id, outcome: Ok(Stored { published: Some(published), ..stored }) })
    }
}

fn stored<K: Watched>(id: &Arc<ObjectId>, mut object: K) -> Stored<K::Kept> {
    let published = object.take_published().map(Arc::new);
    object.drop_unread();
    let metadata = object.metadata_mut();
    metadata.managed_fields = None;
    metadata.owner_references = None;
    metadata.finalizers = None;
    metadata.generate_name = None;
    metadata.self_link = None;
    metadata.resource_version = None;
    metadata.generation = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
        if annotations.is_empty() {
            metadata.annotations = None;
        }
    }
    Stored {
        id: Arc::clone(id),
        version: fingerprint(&object),
        object: Arc::new(object.into()),
        published,
        place: None,
    }
}

/// A digest of what is kept of an object. A change of anything else, such as a status or a label,
/// makes no new version. It stays the same across restarts, and a new object with an old name
/// differs by its UID.
pub fn fingerprint<K: Serialize>(object: &K) -> Version {
    let mut digester = Digester::default();
    // Writing to a digest cannot fail, and all keys of the API types can be serialised.
    let _ = serde_json::to_writer(&mut digester, object);
    Version(digester.finish().hexadecimal(16).into())
}
