//! The first stage: which objects are of our classes. It must not know what else they say.

pub mod class;

use super::{ClassRule, Options};
use ingressd_model::finding::Finding;
use ingressd_model::{ObjectState, Verdict};
use ingressd_objects::{Ingress, Snapshot, Stored};

/// An object with the class rule that selects it.
pub type Selected<'a> = (&'a Stored<Ingress>, &'a ClassRule);

/// Whether an Ingress is of one of our classes, whatever else it contains.
pub fn is_ours(ingress: &Stored<Ingress>, snapshot: &Snapshot, options: &Options) -> bool {
    class::select(ingress, snapshot, options).is_ok()
}

/// The Ingresses of our classes, and the states of the others, with findings about them.
pub fn select<'a>(
    snapshot: &'a Snapshot,
    options: &'a Options,
    findings: &mut Vec<Finding>,
) -> (Vec<Selected<'a>>, Vec<ObjectState>) {
    let (mut selected, mut others) = (Vec::with_capacity(snapshot.ingresses.len()), Vec::new());
    for stored in snapshot.ingresses.iter() {
        match class::select(stored, snapshot, options) {
            Ok(class) => selected.push((stored, class)),
            Err(finding) => {
                others.push(ObjectState::new(&stored.id, Verdict::NotOurs(finding.reason)));
                findings.push(*finding);
            }
        }
    }
    (selected, others)
}

/// The Ingresses of our classes that are kept out of service, of which no version is good.
pub fn withheld<'a>(snapshot: &'a Snapshot, options: &'a Options) -> Vec<Selected<'a>> {
    let ours = |stored| Some((stored, class::select(stored, snapshot, options).ok()?));
    snapshot.withheld.iter().filter_map(ours).collect()
}
