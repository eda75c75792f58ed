//! Decides which versions in a confirmed generation become last good versions.

use std::sync::{Arc, PoisonError};

use super::{Cycle, Product, objects};
use ingressd_model::{ObjectState, RefusedVersion};
use ingressd_objects::{Snapshot, Version};

impl Cycle {
    /// The good versions of a snapshot that nginx runs. A version that is served in part, because
    /// there is no earlier one, is not good; nor is a version that closes some of its routes while
    /// there is an earlier one.
    pub(super) fn good(&self, served: &Snapshot, product: &Product) -> Snapshot {
        let mut good = Snapshot { findings: Vec::new(), ..served.clone() };
        for RefusedVersion { id, .. } in &product.refused {
            objects::take_out(&mut good, id);
        }
        let any = Version("".into());
        let is_closing = |state: &&Arc<ObjectState>| state.working.as_ref().is_some_and(|working| working.closed > 0);
        for ObjectState { id, .. } in product.states.iter().filter(is_closing).map(|state| &**state) {
            if self.has_earlier(id, &any) {
                let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
                objects::put_back(&mut good, id, &self.confirmed, Some(&any), &*store);
            }
        }
        good
    }
}
