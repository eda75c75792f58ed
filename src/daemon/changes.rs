//! Which objects changed since the generation in place was made.

use std::collections::BTreeMap;
use std::sync::Arc;

use itertools::{EitherOrBoth, Itertools as _};

use ingressd_apply::{Change, Contents};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{AnyList, Entry, List, Snapshot, Stored};

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
    /// A generation of an earlier run, of which only the versions of Ingresses are known, if any.
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
                let before =
                    objects.iter().filter_map(|object| Some((&object.id, &*object.working.as_ref()?.version.0)));
                merge(before, versions(&now.ingresses), |id, change| {
                    found.insert(Arc::clone(id), change);
                });
            }
            Before::Own(before) => {
                compare(&before.endpoint_slices, &now.endpoint_slices, |slice, _| {
                    let service = slice.object.service.as_deref();
                    let service = service.map(|name| ObjectId::new(Kind::SERVICE, &slice.id.namespace, name));
                    found.extend(service.map(|service| (Arc::new(service), Change::Changed)));
                });
                // A change of the Service itself is more important than one of its slices.
                for (row, list) in now.lists().filter(|(row, _)| row.lasts) {
                    let (_, earlier) = before.list(row.kind).unzip();
                    if earlier.is_some_and(|earlier| earlier.is_same(list)) {
                        continue;
                    }
                    let earlier = earlier.into_iter().flat_map(<dyn AnyList>::entries);
                    merge(earlier.map(versioned), list.entries().map(versioned), |id, change| {
                        found.insert(Arc::clone(id), change);
                    });
                }
            }
        }
        found.into_iter().collect()
    }
}

/// Reports each object that differs between two lists.
fn compare<K>(before: &List<K>, now: &List<K>, mut report: impl FnMut(&Stored<K>, Change)) {
    // A list that did not change is shared between snapshots.
    if std::ptr::eq(before.as_ptr(), now.as_ptr()) && before.len() == now.len() {
        return;
    }
    merge(versions(before), versions(now), |id, change| {
        let list = if change == Change::Removed { before } else { now };
        if let Some(stored) = list.find(&id.namespace, &id.name) {
            report(stored, change);
        }
    });
}

fn versioned(entry: Entry<'_>) -> (&Arc<ObjectId>, &str) {
    (entry.id, &entry.version.0)
}

fn versions<K>(list: &List<K>) -> impl Iterator<Item = (&Arc<ObjectId>, &str)> {
    list.iter().map(|stored| (&stored.id, &*stored.version.0))
}

/// Walks two lists in parallel, both sorted by object.
fn merge<'a>(
    before: impl Iterator<Item = (&'a Arc<ObjectId>, &'a str)>,
    now: impl Iterator<Item = (&'a Arc<ObjectId>, &'a str)>,
    mut report: impl FnMut(&'a Arc<ObjectId>, Change),
) {
    for either in before.merge_join_by(now, |(before, _), (now, _)| before.cmp(now)) {
        match either {
            EitherOrBoth::Left((id, _)) => report(id, Change::Removed),
            EitherOrBoth::Right((id, _)) => report(id, Change::Added),
            EitherOrBoth::Both((_, old), (id, new)) if old != new => report(id, Change::Changed),
            EitherOrBoth::Both(..) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::{ObjectState, WorkingVersion};
    use ingressd_objects::{Endpoints, Ingress, Version};

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
