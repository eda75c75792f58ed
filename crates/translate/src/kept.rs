//! The last translation, for changes of addresses behind Services and of certificates alone:
//! these need no host to be built again and no claim to be decided. It must not know how anything
//! is translated.

use std::sync::Arc;

use crate::build::built::Outside;
use crate::{Claims, Options, Translation, World};
use ingressd_model::Kind;
use ingressd_objects::{List, Snapshot};

/// The last translation and what it was made of.
#[derive(Debug)]
pub struct Kept {
    /// Without endpoints.
    pub snapshot: Snapshot,
    world: World,
    /// The settings, with the ports of TCP and UDP services.
    pub options: Arc<Options>,
    /// What endpoints matter for outside of hosts.
    pub outside: Outside,
    /// The result, without the tables and what is found about these.
    pub translation: Translation,
}

impl Kept {
    /// Keeps a translation of these that is the same under the claims that it has settled, which
    /// the next one gets when it is served.
    pub fn of(
        snapshot: &Snapshot,
        world: &World,
        options: Arc<Options>,
        outside: Outside,
        translation: &Translation,
    ) -> Self {
        Kept {
            snapshot: Snapshot { endpoint_slices: List::default(), ..snapshot.clone() },
            world: world.clone(),
            options,
            outside,
            translation: translation.clone(),
        }
    }

    /// Whether nothing has changed but endpoints, Secrets and the time.
    pub fn is_of(&self, snapshot: &Snapshot, world: &World, claims: &Arc<Claims>) -> bool {
        // Neither endpoints nor what is not served count.
        let Snapshot { withheld, left_out, unseen, findings, .. } = snapshot;
        let before = &self.snapshot;
        self.world.is_before(world)
            && self.translation.due.is_none_or(|due| world.now < due)
            && Arc::ptr_eq(&self.translation.claims, claims)
            && before.withheld.are(withheld)
            && snapshot.changed(before, |row| !matches!(row.kind, Kind::ENDPOINT_SLICE | Kind::SECRET)).is_empty()
            && (&before.left_out, &before.unseen, &before.findings) == (left_out, unseen, findings)
    }
}
