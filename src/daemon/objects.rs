//! Replaces objects of any kind by earlier versions.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use ingressd_model::{Kind, ObjectId};
use ingressd_objects::references::of_ingress;
use ingressd_objects::{List, Snapshot, Stored, Version};

/// A store of earlier versions.
pub trait Earlier {
    /// The earlier version of this object: the one in `confirmed`, or one that was kept elsewhere;
    /// never the version `not`.
    fn earlier<K: DeserializeOwned>(&self, id: &ObjectId, confirmed: &List<K>, not: &Version) -> Option<Stored<K>>;
}

/// The version of this object, when the snapshot has it and its kind can be replaced.
pub fn version<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<&'a Version> {
    match id.kind {
        Kind::Ingress => find(&snapshot.ingresses, id).map(|stored| &stored.version),
        Kind::Service => find(&snapshot.services, id).map(|stored| &stored.version),
        Kind::Secret => find(&snapshot.secrets, id).map(|stored| &stored.version),
        Kind::ConfigMap => find(&snapshot.config_maps, id).map(|stored| &stored.version),
        Kind::EndpointSlice => find(&snapshot.endpoint_slices, id).map(|stored| &stored.version),
        Kind::IngressClass | Kind::Node | Kind::Namespace | Kind::File | Kind::Settings | Kind::Host => None,
    }
}

/// Replaces the object in `snapshot` by an earlier version other than `not`. Takes the object out
/// when there is none, or when `not` is not given. Returns the version that is there now.
pub fn put_back(
    snapshot: &mut Snapshot,
    id: &ObjectId,
    confirmed: &Snapshot,
    not: Option<&Version>,
    store: &impl Earlier,
) -> Option<Version> {
    match id.kind {
        Kind::Ingress => put_back_in(&mut snapshot.ingresses, id, &confirmed.ingresses, not, store),
        Kind::Service => put_back_in(&mut snapshot.services, id, &confirmed.services, not, store),
        Kind::Secret => put_back_in(&mut snapshot.secrets, id, &confirmed.secrets, not, store),
        Kind::ConfigMap => put_back_in(&mut snapshot.config_maps, id, &confirmed.config_maps, not, store),
        // Endpoint addresses of an earlier run are of no use, so slices are not kept on disk.
        Kind::EndpointSlice => {
            let earlier = not
                .and_then(|not| find(&confirmed.endpoint_slices, id).filter(|stored| stored.version != *not).cloned());
            put(&mut snapshot.endpoint_slices, id, earlier)
        }
        Kind::IngressClass | Kind::Node | Kind::Namespace | Kind::File | Kind::Settings | Kind::Host => None,
    }
}

/// Removes an object.
pub fn take_out(snapshot: &mut Snapshot, id: &ObjectId) {
    match id.kind {
        Kind::Ingress => remove(&mut snapshot.ingresses, id),
        Kind::Service => remove(&mut snapshot.services, id),
        Kind::Secret => remove(&mut snapshot.secrets, id),
        Kind::ConfigMap => remove(&mut snapshot.config_maps, id),
        _ => {}
    }
}

fn remove<K>(list: &mut List<K>, id: &ObjectId) {
    if let Ok(index) = list.position(&id.namespace, &id.name) {
        list.edit().remove(index);
    }
}

/// Records that an Ingress of `newest` was removed altogether.
pub fn withhold(snapshot: &mut Snapshot, id: &ObjectId, newest: &Snapshot) {
    let taken = (id.kind == Kind::Ingress).then(|| find(&newest.ingresses, id)).flatten();
    if let (Some(taken), Err(index)) = (taken, snapshot.withheld.position(&id.namespace, &id.name)) {
        snapshot.withheld.edit().insert(index, taken.clone());
    }
}

/// Restores the Secrets and ConfigMaps that an Ingress refers to, where they are missing and no
/// object `refuses` them: an earlier version of an Ingress needs what it was served with.
pub fn put_back_references(
    snapshot: &mut Snapshot,
    id: &ObjectId,
    confirmed: &Snapshot,
    refuses: impl Fn(&ObjectId) -> bool,
    store: &impl Earlier,
) {
    // There is no version from which an earlier one would have to differ.
    let not = Version("".into());
    for object in references_of(snapshot, id) {
        let (namespace, name) = (&*object.namespace, &*object.name);
        if refuses(&object) {
            continue;
        }
        match object.kind {
            Kind::Secret if snapshot.secret(namespace, name).is_none() => {
                put_back_in(&mut snapshot.secrets, &object, &confirmed.secrets, Some(&not), store);
            }
            Kind::ConfigMap if snapshot.config_map(namespace, name).is_none() => {
                put_back_in(&mut snapshot.config_maps, &object, &confirmed.config_maps, Some(&not), store);
            }
            _ => {}
        }
    }
}

/// The identities of the Secrets and ConfigMaps that an Ingress in the snapshot refers to; empty
/// for other kinds.
pub fn references_of(snapshot: &Snapshot, id: &ObjectId) -> BTreeSet<ObjectId> {
    let ingress = (id.kind == Kind::Ingress).then(|| find(&snapshot.ingresses, id)).flatten();
    ingress.map(of_ingress).unwrap_or_default()
}

/// Handles each object that is kept for the next start.
pub trait Visitor {
    /// Handles one object.
    fn visit<K: Serialize>(&mut self, stored: &Stored<K>);
}

/// Visits this object, if the snapshot has it and it is of a kind that can be replaced, or by
/// which those are read.
pub fn visit(snapshot: &Snapshot, id: &ObjectId, visitor: &mut impl Visitor) {
    match id.kind {
        Kind::IngressClass => find(&snapshot.ingress_classes, id).into_iter().for_each(|stored| visitor.visit(stored)),
        Kind::Namespace => find(&snapshot.namespaces, id).into_iter().for_each(|stored| visitor.visit(stored)),
        Kind::Ingress => find(&snapshot.ingresses, id).into_iter().for_each(|stored| visitor.visit(stored)),
        Kind::Service => find(&snapshot.services, id).into_iter().for_each(|stored| visitor.visit(stored)),
        Kind::Secret => find(&snapshot.secrets, id).into_iter().for_each(|stored| visitor.visit(stored)),
        Kind::ConfigMap => find(&snapshot.config_maps, id).into_iter().for_each(|stored| visitor.visit(stored)),
        Kind::EndpointSlice | Kind::Node | Kind::File | Kind::Settings | Kind::Host => {}
    }
}

/// Tells each such object that is not the same in memory in both.
pub fn compare(before: &Snapshot, now: &Snapshot, mut tell: impl FnMut(&Arc<ObjectId>)) {
    fn of<K>(before: &List<K>, now: &List<K>, tell: &mut impl FnMut(&Arc<ObjectId>)) {
        now.differences(before).for_each(|either| tell(&either.reduce(|_, stored| stored).id));
    }
    of(&before.ingress_classes, &now.ingress_classes, &mut tell);
    of(&before.namespaces, &now.namespaces, &mut tell);
    of(&before.ingresses, &now.ingresses, &mut tell);
    of(&before.services, &now.services, &mut tell);
    of(&before.secrets, &now.secrets, &mut tell);
    of(&before.config_maps, &now.config_maps, &mut tell);
}

/// The identities of all such objects for which the condition holds.
pub fn filter(snapshot: &Snapshot, wanted: impl Fn(&ObjectId, &Version) -> bool) -> Vec<Arc<ObjectId>> {
    fn add<K>(list: &List<K>, wanted: impl Fn(&ObjectId, &Version) -> bool, found: &mut Vec<Arc<ObjectId>>) {
        let those = list.iter().filter(|stored| wanted(&stored.id, &stored.version));
        found.extend(those.map(|stored| Arc::clone(&stored.id)));
    }
    let mut found = Vec::new();
    add(&snapshot.ingresses, &wanted, &mut found);
    add(&snapshot.services, &wanted, &mut found);
    add(&snapshot.endpoint_slices, &wanted, &mut found);
    add(&snapshot.secrets, &wanted, &mut found);
    add(&snapshot.config_maps, &wanted, &mut found);
    found
}

/// The object with this identity.
pub fn find<'a, K>(list: &'a List<K>, id: &ObjectId) -> Option<&'a Stored<K>> {
    list.find(&id.namespace, &id.name)
}

fn put_back_in<K: DeserializeOwned>(
    list: &mut List<K>,
    id: &ObjectId,
    confirmed: &List<K>,
    not: Option<&Version>,
    store: &impl Earlier,
) -> Option<Version> {
    let earlier = not.and_then(|not| store.earlier(id, confirmed, not));
    put(list, id, earlier)
}

/// Replaces the object by this one, or removes it.
fn put<K>(list: &mut List<K>, id: &ObjectId, earlier: Option<Stored<K>>) -> Option<Version> {
    let version = earlier.as_ref().map(|stored| stored.version.clone());
    match (list.position(&id.namespace, &id.name), earlier) {
        (Ok(index), Some(earlier)) => list.edit()[index] = earlier,
        (Ok(index), None) => drop(list.edit().remove(index)),
        (Err(index), Some(earlier)) => list.edit().insert(index, earlier),
        (Err(_), None) => {}
    }
    version
}
