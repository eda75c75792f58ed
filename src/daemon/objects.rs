//! Replaces objects of any kind by earlier versions, as the rows of their kinds say.

use std::collections::BTreeSet;
use std::sync::Arc;

use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Entry, Kept, Row, Snapshot, Stored, Version};

/// A store of earlier versions.
pub trait Earlier {
    /// The earlier version of this object: the one in `confirmed`, or one that was kept elsewhere;
    /// never the version `not`.
    fn earlier(&self, id: &ObjectId, row: &Row, confirmed: &Snapshot, not: &Version) -> Option<Stored<dyn Kept>>;
}

/// The version of this object, when the snapshot has it and its kind can be replaced.
pub fn version<'a>(snapshot: &'a Snapshot, id: &ObjectId) -> Option<&'a Version> {
    let (_, list) = snapshot.list(id.kind).filter(|(row, _)| row.is_put_back)?;
    Some(list.entry(&id.namespace, &id.name)?.version)
}

/// The row of a kind of which one of these snapshots has objects.
fn row(kind: Kind, snapshot: &Snapshot, confirmed: &Snapshot) -> Option<Row> {
    let (row, _) = snapshot.list(kind).or_else(|| confirmed.list(kind))?;
    Some(*row)
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
    let row = row(id.kind, snapshot, confirmed).filter(|row| row.is_put_back)?;
    let list = row.edit(snapshot);
    let Some(earlier) = not.and_then(|not| store.earlier(id, &row, confirmed, not)) else {
        list.remove(&id.namespace, &id.name);
        return None;
    };
    let version = earlier.version.clone();
    list.put(earlier);
    Some(version)
}

/// Removes an object.
pub fn take_out(snapshot: &mut Snapshot, id: &ObjectId) {
    let row = snapshot.list(id.kind).map(|(row, _)| *row);
    if let Some(row) = row.filter(|row| row.is_put_back && row.lasts) {
        row.edit(snapshot).remove(&id.namespace, &id.name);
    }
}

/// Records that an object of `newest` that may ask for routes was removed altogether.
pub fn withhold(snapshot: &mut Snapshot, id: &ObjectId, newest: &Snapshot) {
    let list = newest.list(id.kind).filter(|(row, _)| row.kind.asks_for_routes());
    if let Some((row, taken)) = list.and_then(|(row, list)| Some((row, list.shared(&id.namespace, &id.name)?))) {
        row.edit_in(&mut snapshot.withheld).put(taken);
    }
}

/// Restores these Secrets and ConfigMaps where they are missing and nothing `refuses` them: an
/// earlier version of an object needs what it was served with.
pub fn put_back_needed(
    snapshot: &mut Snapshot,
    needed: &BTreeSet<ObjectId>,
    confirmed: &Snapshot,
    refuses: impl Fn(&ObjectId) -> bool,
    store: &impl Earlier,
) {
    // There is no version from which an earlier one would have to differ.
    let not = Version("".into());
    for object in needed {
        if !refuses(object) && snapshot.entry(object).is_none() {
            put_back(snapshot, object, confirmed, Some(&not), store);
        }
    }
}

/// The object, if the snapshot has it and it is of a kind that lasts.
pub fn lasting<'s>(snapshot: &'s Snapshot, id: &ObjectId) -> Option<(&'s Row, Entry<'s>)> {
    let (row, list) = snapshot.list(id.kind).filter(|(row, _)| row.lasts)?;
    Some((row, list.entry(&id.namespace, &id.name)?))
}

/// The identities of all objects that can be replaced for which the condition holds.
pub fn filter(snapshot: &Snapshot, wanted: impl Fn(&ObjectId, &Version) -> bool) -> Vec<Arc<ObjectId>> {
    let lists = snapshot.lists().filter(|(row, _)| row.is_put_back);
    let all = lists.flat_map(|(_, list)| list.entries());
    all.filter(|entry| wanted(entry.id, entry.version)).map(|entry| Arc::clone(entry.id)).collect()
}
