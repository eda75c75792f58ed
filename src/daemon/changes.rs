//! Which objects changed since the generation in place was made.

use std::collections::BTreeMap;
use std::sync::Arc;

use ingressd_apply::{Change, Contents};
use ingressd_model::{Kind, ObjectId, ObjectState, Version};
use ingressd_objects::{Endpoints, Snapshot};

/// Remembers what the generation in place was made of, to find the changes since.
#[derive(Debug)]
pub struct Changes {
    before: Before,
    /// The snapshot that the next files are made of.
    next: Snapshot,
}

/// What the generation in place was made of.
#[derive(Debug)]
enum Before {
    /// A generation of an earlier run, of which only versions of objects that ask for routes are
    /// known, if any.
    Earlier(Option<Arc<Contents>>),
    /// The snapshot of this run's generation. It costs little memory: snapshots share their
    /// objects.
    Own(Box<Snapshot>),
}

impl Changes {
    /// Begins with the contents of the generation of an earlier run, where they were recorded.
    pub fn since(earlier: Option<Arc<Contents>>) -> Self {
        Changes { before: Before::Earlier(earlier), next: Snapshot::default() }
    }

    /// The contents of the generation of an earlier run, while that is in place.
    pub fn earlier(&self) -> Option<&Arc<Contents>> {
        match &self.before {
            Before::Earlier(contents) => contents.as_ref(),
            Before::Own(_) => None,
        }
    }

    /// Sets the snapshot that the next files are made of.
    pub fn made(&mut self, snapshot: &Snapshot) {
        self.next = snapshot.clone();
    }

    /// Records that those files are in place.
    pub fn settle(&mut self) {
        self.before = Before::Own(Box::new(self.next.clone()));
    }

    /// The objects that differ between the generation in place and the next files, each once. An
    /// EndpointSlice counts as its Service.
    pub fn all(&self) -> Vec<(Arc<ObjectId>, Change)> {
        let now = &self.next;
        let mut found = BTreeMap::new();
        match &self.before {
            Before::Earlier(contents) => {
                let objects = contents.as_deref().map_or(&[][..], |contents| &contents.objects);
                let version = |id: &ObjectId| Some(&ObjectState::find(objects, id)?.working.as_ref()?.version);
                let asking = now.ids().filter(|id| id.kind.asks_for_routes());
                for id in asking.chain(objects.iter().map(|state| &state.id)) {
                    found.extend(change(version(id), now.version(id)).map(|change| (Arc::clone(id), change)));
                }
            }
            Before::Own(before) => {
                for id in now.changed(before, |row| row.lasts || row.kind == Kind::ENDPOINT_SLICE) {
                    let Some(change) = change(before.version(&id), now.version(&id)) else { continue };
                    if id.kind != Kind::ENDPOINT_SLICE {
                        found.insert(id, change);
                        continue;
                    }
                    // A change of the Service itself is more important than one of its slices.
                    let slice =
                        now.entry(&id).or_else(|| before.entry(&id)).and_then(|slice| slice.object::<Endpoints>());
                    let service = slice.and_then(|slice| slice.service.as_deref());
                    let service = service.map(|name| Arc::new(ObjectId::new(Kind::SERVICE, &id.namespace, name)));
                    if let Some(service) = service {
                        found.entry(service).or_insert(Change::Changed);
                    }
                }
            }
        }
        found.into_iter().collect()
    }
}

/// How an object differs that had and has these versions.
fn change(before: Option<&Version>, now: Option<&Version>) -> Option<Change> {
    match (before, now) {
        (Some(before), Some(now)) => (before != now).then_some(Change::Changed),
        (Some(_), None) => Some(Change::Removed),
        (None, now) => now.map(|_| Change::Added),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::WorkingVersion;
    use ingressd_objects::{Ingress, List, Stored};

    fn stored<K>(kind: Kind, name: &str, version: &str, object: K) -> Stored<K> {
        Stored {
            id: Arc::new(ObjectId::new(kind, "shop", name)),
            version: Version(version.into()),
            object: Arc::new(object),
            published: None,
            place: None,
        }
    }

    fn ingresses(objects: &[(&str, &str)]) -> List<Ingress> {
        objects.iter().map(|(name, version)| stored(Kind::INGRESS, name, version, Ingress::default())).collect()
    }

    fn slices(objects: &[(&str, &str)]) -> List<Endpoints> {
        let slice = |service: &str| Endpoints {
            uid: None,
            service: Some(service.into()),
            family: None,
            ports: Box::default(),
            endpoints: Box::default(),
        };
        objects.iter().map(|(name, version)| stored(Kind::ENDPOINT_SLICE, name, version, slice("web"))).collect()
    }

    fn reported(changes: &Changes) -> Vec<String> {
        changes.all().iter().map(|(id, change)| format!("{id} {change}")).collect()
    }

    #[test]
    fn each_object_that_differs_is_named_once_and_slices_by_their_service() {
        let mut changes = Changes::since(None);
        let first = Snapshot {
            ingresses: ingresses(&[("cart", "1"), ("gone", "1"), ("same", "1")]),
            endpoint_slices: slices(&[("web-a", "1"), ("web-b", "1")]),
            ..Snapshot::default()
        };
        changes.made(&first);
        assert_eq!(
            reported(&changes),
            ["Ingress shop/cart added", "Ingress shop/gone added", "Ingress shop/same added"]
        );
        changes.settle();
        assert_eq!(reported(&changes), [""; 0]);
        changes.made(&Snapshot {
            ingresses: ingresses(&[("cart", "2"), ("new", "1"), ("same", "1")]),
            endpoint_slices: slices(&[("web-a", "2"), ("web-c", "1")]),
            ..first
        });
        let expected = [
            "Ingress shop/cart changed",
            "Ingress shop/gone removed",
            "Ingress shop/new added",
            "Service shop/web changed",
        ];
        assert_eq!(reported(&changes), expected);
        assert_eq!(reported(&changes), expected, "until it is in place");
    }

    #[test]
    fn versions_that_an_earlier_run_wrote_down_count() {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart"));
        let object = ObjectState::of(&id, WorkingVersion::whole(Version("1".into()), Vec::new(), 1));
        let earlier = Arc::new(Contents { objects: vec![Arc::new(object)], ..Contents::default() });
        let mut changes = Changes::since(Some(earlier));
        for (version, expected) in [("1", &[][..]), ("2", &["Ingress shop/cart changed"])] {
            changes.made(&Snapshot { ingresses: ingresses(&[("cart", version)]), ..Snapshot::default() });
            assert_eq!(reported(&changes), expected);
        }
    }
}
