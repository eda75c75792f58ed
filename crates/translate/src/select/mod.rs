//! The first stage: which objects are of our classes.

pub mod class;
pub mod seen;

use super::{ClassRule, Options};
use crate::select::seen::Seen;
use ingressd_model::finding::Finding;
use ingressd_model::{Kind, ObjectState, Verdict};
use ingressd_objects::{Entry, Ingress, Snapshot, Stored};

/// Selects an object of a kind: its class rule, or why it is ignored; `None` for one of another
/// type.
pub type Select = for<'o> fn(Entry<'_>, &Snapshot, &'o Options) -> Option<Result<&'o ClassRule, Box<Finding>>>;

/// An object of ours.
#[derive(Debug, Clone, Copy)]
pub struct Selected<'a> {
    pub entry: Entry<'a>,
    /// The class rule that selects it.
    pub class: &'a ClassRule,
}

/// Whether an Ingress is of one of our classes, whatever else it contains.
pub fn is_ours(ingress: &Stored<Ingress>, snapshot: &Snapshot, options: &Options) -> bool {
    of_ingress(ingress, snapshot, options).is_some()
}

/// The class rule of an Ingress of ours.
pub fn of_ingress<'a>(ingress: &Stored<Ingress>, snapshot: &Snapshot, options: &'a Options) -> Option<&'a ClassRule> {
    class::select(Seen::of(ingress)?, snapshot, options).ok()
}

/// How many objects there are of kinds that are read.
pub fn count(snapshot: &Snapshot, is_read: impl Fn(Kind) -> bool) -> usize {
    snapshot.lists().filter(|(row, _)| is_read(row.kind)).map(|(_, list)| list.count()).sum()
}

/// The objects of our classes, by kind and name, and the states of the others, with findings about
/// them. `by_kind` says how the objects of each kind that is read are selected.
pub fn select<'a>(
    snapshot: &'a Snapshot,
    by_kind: impl Fn(Kind) -> Option<Select>,
    options: &'a Options,
    findings: &mut Vec<Finding>,
) -> (Vec<Selected<'a>>, Vec<ObjectState>) {
    let (mut selected, mut others) = (Vec::with_capacity(count(snapshot, |kind| by_kind(kind).is_some())), Vec::new());
    for (row, list) in snapshot.lists() {
        let Some(select) = by_kind(row.kind) else { continue };
        for entry in list.entries() {
            match select(entry, snapshot, options) {
                Some(Ok(class)) => selected.push(Selected { entry, class }),
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
pub fn withheld<'a>(
    snapshot: &'a Snapshot,
    by_kind: impl Fn(Kind) -> Option<Select>,
    options: &'a Options,
) -> Vec<Selected<'a>> {
    let ours = |entry: Entry<'a>| {
        let select = by_kind(entry.id.kind)?;
        Some(Selected { entry, class: select(entry, snapshot, options)?.ok()? })
    };
    snapshot.withheld.entries().filter_map(ours).collect()
}
