//! Random series: what is planned from what changed is what is planned from all.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::{ProptestConfig, proptest};

use super::super::*;
use super::{A, B, FOREIGN, ingress, nodes_with, served};
use crate::publish::served::in_place;
use ingressd_objects::{Ingress, rows};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const ADDRESSES: [&[&str]; 4] = [&[], &[A], &[A, B], &[FOREIGN]];

/// A cluster of which anything may change.
struct World {
    served: Served,
    revision: u64,
    observed: [u128; 2],
    is_alive: bool,
    has_address: bool,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let (revision, observed) = (10, [10, 10]);
        World {
            served: served(Vec::new(), 10),
            revision,
            observed,
            is_alive: true,
            has_address: true,
            now: Instant::now(),
        }
    }

    fn nodes(&self) -> Nodes {
        nodes_with(self.has_address, self.is_alive, Some(Revision(self.observed[1])))
    }

    /// Changes something, as the three numbers say.
    fn step(&mut self, (what, which, how): (u8, u8, u8)) {
        let (name, how) = (NAMES[usize::from(which)], usize::from(how));
        self.revision += 1;
        let mut snapshot = Snapshot::clone(&self.served.snapshot);
        let place = |list: &List<Ingress>| list.position("shop", name);
        match what {
            // A status, or another version, or a new object.
            0..=4 => {
                let content = if what < 3 { 1 } else { self.revision };
                let stored = ingress(name, self.revision, content, ADDRESSES[how], 0);
                match place(&snapshot.ingresses) {
                    Ok(index) if content == 1 => {
                        let known = &mut snapshot.ingresses.edit()[index];
                        known.published = stored.published;
                    }
                    Ok(index) => snapshot.ingresses.edit()[index] = stored,
                    Err(index) => snapshot.ingresses.edit().insert(index, stored),
                }
            }
            // It leaves the namespaces that are served, and comes back, or goes.
            5 => {
                let outside = snapshot.outside.list_mut::<rows::Ingress>();
                match (place(&snapshot.ingresses), place(outside)) {
                    (Ok(index), _) => {
                        let stored = snapshot.ingresses.edit().remove(index);
                        if let (Err(index), 1..) = (place(outside), how) {
                            outside.edit().insert(index, stored);
                        }
                    }
                    (Err(index), Ok(outer)) => {
                        let stored = outside.edit().remove(outer);
                        snapshot.ingresses.edit().insert(index, stored);
                    }
                    _ => {}
                }
            }
            6 | 7 => {
                let mut states: Vec<_> =
                    self.served.states.iter().filter(|state| *state.id.name != *name).cloned().collect();
                let stored = snapshot.ingresses.find("shop", name).filter(|_| how > 0);
                states.extend(stored.map(|stored| in_place(&stored.id, &stored.version)));
                states.sort_by(|one, other| one.id.cmp(&other.id));
                self.served.states = states.into();
            }
            8 | 9 => {
                self.observed[usize::from(what) - 8] = if how == 3 { 8 } else { self.revision.into() };
                self.served.observed = Some(Revision(self.observed[0]));
            }
            10 => self.is_alive = how > 0,
            11 => self.has_address = how > 0,
            12 => self.served.confirmed = how > 0,
            13 => self.served.pinned = (how == 0).then_some(1),
            _ => self.now += Duration::from_secs(3 * u64::from(which) + 1),
        }
        self.served.snapshot = Arc::new(snapshot);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn what_is_planned_from_what_changed_is_what_is_planned_from_all(
        steps in proptest::collection::vec(((0..16_u8, 0..4_u8, 0..4_u8), 0..6_u8), 0..60)
    ) {
        let mut world = World::new();
        let [mut one, mut all] = [(); 2].map(|()| Ledger::new(IngressAddresses, Arc::default()));
        let mut under_way = UnderWay::new();
        for (step, answer) in steps {
            world.step(step);
            let nodes = world.nodes();
            // The other compares everything.
            let ids: BTreeSet<_> = all.entries.keys().cloned().collect();
            all.unsettled.extend(ids);
            let [plan, whole] = [&mut one, &mut all].map(|ledger| ledger.plan(&world.served, &nodes, &under_way, world.now));
            assert_eq!(plan, whole);
            let mut written = Vec::new();
            for write in plan.writes.iter().filter(|write| !under_way.contains_key(&write.id)).take(2) {
                for ledger in [&mut one, &mut all] {
                    match answer {
                        0 | 3 => {}
                        1 => ledger.failed(write, &Failure::Refused(String::new()), world.now),
                        2 => ledger.failed(write, &Failure::Conflict(String::new()), world.now),
                        _ => {
                            ledger.sent(write, world.now);
                            ledger.wrote(write, Some(&world.revision.to_string()));
                        }
                    }
                }
                if answer == 0 {
                    written.push(write.clone());
                }
            }
            under_way.extend(written.into_iter().map(|write| (Arc::clone(&write.id), write)));
            if answer == 5 {
                under_way.clear();
            }
        }
    }
}
