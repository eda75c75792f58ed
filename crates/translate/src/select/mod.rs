//! The first stage: which objects are of our classes. It must not know what else they say.

pub mod class;

use super::reader::{Reader, Readers};
use super::{ClassRule, Options};
use crate::seen::Seen;
use ingressd_model::finding::Finding;
use ingressd_model::{ObjectState, Verdict};
use ingressd_objects::{Entry, Ingress, Snapshot, Stored};

/// An object of ours.
#[derive(Debug, Clone, Copy)]
pub struct Selected<'a> {
    pub entry: Entry<'a>,
    /// The class rule that selects it.
    pub class: &'a ClassRule,
    /// How it is read.
    pub reader: &'static Reader,
}

/// Whether an Ingress is of one of our classes, whatever else it contains.
pub fn is_ours(ingress: &Stored<Ingress>, snapshot: &Snapshot, options: &Options) -> bool {
    of_ingress(ingress, snapshot, options).is_some()
}

/// The class rule of an Ingress of ours.
pub fn of_ingress<'a>(ingress: &Stored<Ingress>, snapshot: &Snapshot, options: &'a Options) -> Option<&'a ClassRule> {
    class::select(Seen::of(ingress)?, snapshot, options).ok()
}

/// How many objects there are that may be ours.
pub fn count(snapshot: &Snapshot, readers: Readers) -> usize {
    snapshot.lists().filter(|(row, _)| readers.of(row.kind).is_some()).map(|(_, list)| list.count()).sum()
}

/// The objects of our classes, by kind and name, and the states of the others, with findings about
/// them.
pub fn select<'a>(
    snapshot: &'a Snapshot,
    readers: Readers,
    options: &'a Options,
    findings: &mut Vec<Finding>,
) -> (Vec<Selected<'a>>, Vec<ObjectState>) {
    let (mut selected, mut others) = (Vec::with_capacity(count(snapshot, readers)), Vec::new());
    for (row, list) in snapshot.lists() {
        let Some(reader) = readers.of(row.kind) else { continue };
        for entry in list.entries() {
            match reader.select(entry, snapshot, options) {
                Some(Ok(class)) => selected.push(Selected { entry, class, reader }),
                Some(Err(finding)) => {
                    others.push(ObjectState::new(entry.id, Verdict::NotOurs(finding.reason)));
                    findings.push(*finding);
                }
                None => {}
            }
        }
    }
    (selected, others)
}

/// The objects of our classes that are kept out of service, of which no version is good.
pub fn withheld<'a>(snapshot: &'a Snapshot, readers: Readers, options: &'a Options) -> Vec<Selected<'a>> {
    let ours = |entry: Entry<'a>| {
        let reader = readers.of(entry.id.kind)?;
        Some(Selected { entry, class: reader.select(entry, snapshot, options)?.ok()?, reader })
    };
    snapshot.withheld.entries().filter_map(ours).collect()
}
