//! What has changed in the snapshot since the last translation, as far as hosts depend on it.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::networking::v1::IngressClass;

use super::dependency::Dependency;
use crate::Options;
use crate::secret::certificate::Certificates;
use ingressd_model::{Certificate, Kind};
use ingressd_objects::{Endpoints, List, Secret, Service, Snapshot, Stored};

/// The last snapshot, and what is different now.
#[derive(Debug, Default)]
pub struct SnapshotChanges {
    services: List<Service>,
    slices: List<Endpoints>,
    secrets: List<Secret>,
    classes: List<IngressClass>,
    nodes: List<Node>,
    own_ports: Vec<u16>,
    /// The objects that have changed.
    pub changed: HashSet<Dependency>,
    /// The Services whose endpoints have changed.
    pub moved: HashSet<Dependency>,
}

impl SnapshotChanges {
    /// Records which Secrets have changed, but for certificates that were renewed, which are
    /// returned.
    pub fn follow_secrets(&mut self, snapshot: &Snapshot, certificates: &mut Certificates) -> Vec<Arc<Certificate>> {
        self.changed.clear();
        let mut renewed = Vec::new();
        compare(&mut self.secrets, &snapshot.secrets, |stored| {
            let now = snapshot.secret(&stored.id.namespace, &stored.id.name);
            match now.and_then(|now| certificates.renew(now)) {
                Some(checked) => renewed.push(Arc::clone(&checked.certificate)),
                None => drop(self.changed.insert(Dependency::on(Kind::SECRET, &stored.id.namespace, &stored.id.name))),
            }
        });
        renewed
    }

    /// Records what else has changed; whether what all hosts depend on is the same.
    pub fn follow(&mut self, snapshot: &Snapshot, options: &Options) -> bool {
        self.moved.clear();
        let is_same = compare(&mut self.classes, &snapshot.ingress_classes, |_| {})
            & compare(&mut self.nodes, &snapshot.nodes, |_| {})
            & (self.own_ports == options.own_ports);
        self.own_ports.clone_from(&options.own_ports);
        compare(&mut self.services, &snapshot.services, |stored| {
            self.changed.insert(Dependency::on(Kind::SERVICE, &stored.id.namespace, &stored.id.name));
        });
        compare(&mut self.slices, &snapshot.endpoint_slices, |stored| {
            let service = stored.object.service.as_deref();
            let moved = service.map(|service| Dependency::on(Kind::ENDPOINT_SLICE, &stored.id.namespace, service));
            self.moved.extend(moved);
        });
        is_same
    }
}

/// Reports each object that is in one list only or differs, once or twice; returns whether there
/// was none. Then the one takes the place of the other.
fn compare<K>(before: &mut List<K>, after: &List<K>, mut report: impl FnMut(&Stored<K>)) -> bool {
    if before.is(after) {
        return true;
    }
    let before = std::mem::replace(before, after.clone());
    let mut is_same = true;
    let mut differs = |stored: &Stored<K>| {
        is_same = false;
        report(stored);
    };
    let mut rest = before.iter().peekable();
    for stored in after {
        // Nearly all objects are equal.
        if rest.next_if(|old| Arc::ptr_eq(&old.object, &stored.object)).is_some() {
            continue;
        }
        while let Some(gone) = rest.next_if(|old| old.id < stored.id) {
            differs(gone);
        }
        match rest.next_if(|old| old.id == stored.id) {
            Some(old) if Arc::ptr_eq(&old.object, &stored.object) => {}
            old => old.into_iter().chain([stored]).for_each(&mut differs),
        }
    }
    rest.for_each(&mut differs);
    is_same
}
