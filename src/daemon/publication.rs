//! What of this host's state is published, put together from what the loop learns; it must not know how it is published.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::watch;

use super::cycle::Report;
use super::feed::Reading;
use super::link::Link;
use super::status::Status;
use crate::apply::{Outcome, Pinned};
use crate::config::Settings;
use crate::model::ObjectId;
use crate::publish::{Carried, Counts, Options, Outlook, Publisher, Revision, Served};
use crate::source::{Snapshot, Version};

/// The name of the host and the mark of the machine, which together tell nodes apart.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";
const MACHINE_ID: &str = "/etc/machine-id";

/// What is published, and who does it.
#[derive(Debug)]
pub struct Publication {
    /// Where to and how; `None` when the source is a folder: there is nobody to tell.
    link: Option<Link>,
    options: Options,
    publisher: Option<Publisher>,
    told: watch::Sender<Option<Served>>,
    served: Served,
    /// Whether a cycle ended, so that it is known what is served.
    is_known: bool,
    /// The objects that the running cycle works on, and those that the confirmed generation was made from.
    cycled: Option<(u64, Arc<Snapshot>)>,
    confirmed: Option<u64>,
    read: Option<u64>,
}

impl Publication {
    /// Begins, or goes on as under the settings before: who leads and has a Lease keeps it. Nothing is published before the
    /// first cycle ended.
    pub async fn start(settings: &Settings, link: Option<Link>, counts: &Counts, earlier: Option<Self>) -> Self {
        let options = &settings.publish;
        match earlier {
            Some(earlier) if earlier.is_as(options, link.as_ref()) => {
                // Readings are counted anew.
                return Publication { cycled: None, confirmed: None, read: None, ..earlier };
            }
            Some(earlier) => earlier.stop().await,
            None => {}
        }
        let told = watch::Sender::new(None);
        let publisher = link.as_ref().map(|link| {
            let identity = identity(options.node.as_deref());
            Publisher::start(link.clients(), identity, options.clone(), counts, told.subscribe())
        });
        Publication {
            link,
            options: options.clone(),
            publisher,
            told,
            served: Served::default(),
            is_known: false,
            cycled: None,
            confirmed: None,
            read: None,
        }
    }

    /// The connection to the cluster.
    pub fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    fn is_as(&self, options: &Options, link: Option<&Link>) -> bool {
        let is_same = |ours: &Link| link.is_some_and(|link| link.is_same(ours));
        self.link.as_ref().is_some_and(is_same) && self.options == *options
    }

    /// What can be asked of it.
    pub fn outlook(&self) -> Option<&Outlook> {
        self.publisher.as_ref().map(Publisher::outlook)
    }

    /// The source was read.
    pub fn read(&mut self, reading: &Reading) {
        let Some(snapshot) = &reading.snapshot else { return };
        self.served.snapshot = Arc::clone(snapshot);
        self.read = Some(reading.revision);
        if self.confirmed == self.read {
            // Nothing differs but what is published: the generation holds this as well.
            self.served.carries = newest(snapshot);
        }
    }

    /// A cycle begins with what was read last.
    pub fn began(&mut self) {
        self.cycled = self.read.map(|revision| (revision, Arc::clone(&self.served.snapshot)));
    }

    /// A cycle ended; `pinned` is the generation that the administrator wants to stay at.
    pub fn concluded(&mut self, report: &Report, pinned: Option<&Pinned>, now: Instant) {
        let Some((revision, snapshot)) = self.cycled.take() else { return };
        self.is_known = true;
        // Without a route nothing is served of it, as when all its paths are another object's.
        let accepted: Vec<_> = report.accepted.iter().filter(|accepted| accepted.routes > 0).collect();
        self.served.accepted = accepted.iter().map(|accepted| Arc::clone(&accepted.id)).collect();
        self.pin(pinned, now);
        if matches!(report.outcome, Outcome::Confirmed { .. } | Outcome::Unchanged { .. }) {
            self.confirmed = Some(revision);
            // What was published meanwhile makes no other objects of them.
            let latest = if self.read == Some(revision) { &self.served.snapshot } else { &snapshot };
            self.served.carries = newest(latest);
            let before = self.served.carried.take();
            let objects = accepted.iter().map(|accepted| (&accepted.id, &accepted.version));
            self.served.carried = Some(carried(objects, before, now));
        }
    }

    /// The administrator wants to stay at a generation, or no longer: it serves what it did when it was made, and nothing
    /// that is newer.
    pub fn pin(&mut self, pinned: Option<&Pinned>, now: Instant) {
        self.served.pinned = pinned.map(|pinned| pinned.pin.generation);
        self.served.lacks = Arc::default();
        let Some(pinned) = pinned else { return };
        self.confirmed = None;
        let Some(contents) = &pinned.contents else {
            // Nobody knows: what is published stays, and nothing is added.
            (self.served.carried, self.served.carries) = (None, Some(Revision(0)));
            return;
        };
        let versions = contents.objects.iter().filter(|object| object.routes > 0);
        let versions: Vec<_> = versions.map(|object| (&object.id, Version(Arc::clone(&object.version)))).collect();
        let before = self.served.carried.take();
        let carried = carried(versions.iter().map(|(id, version)| (*id, version)), before, now);
        let is_carried = |id: &Arc<ObjectId>| carried.binary_search_by(|carried| carried.id.cmp(id)).is_ok();
        self.served.lacks = self.served.accepted.iter().filter(|id| !is_carried(id)).cloned().collect();
        self.served.carried = Some(carried);
        self.served.carries = Some(Revision(contents.revision.unwrap_or_default()));
    }

    /// Tells what is true now, if it differs.
    pub fn tell(&mut self, status: &Status, drained: bool) {
        let serving = status.master.is_some() && status.generation.is_some() && status.served == status.generation;
        self.served.generation = status.generation;
        self.served.findings = Arc::clone(&status.findings);
        (self.served.serving, self.served.drained) = (serving, drained);
        if *self.served.phase != *status.phase.name() {
            self.served.phase = status.phase.name().into();
        }
        if self.publisher.is_none() || !self.is_known {
            return;
        }
        self.told.send_if_modified(|told| {
            let differs = told.as_ref().is_none_or(|told| !told.is_same(&self.served));
            if differs {
                *told = Some(self.served.clone());
            }
            differs
        });
    }

    /// What was told, for whoever asks this host.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// Ends in good order, as nginx will, too: this node is withdrawn at once.
    pub async fn leave(mut self) {
        self.served.serving = false;
        if self.is_known {
            self.told.send_replace(Some(self.served.clone()));
        }
        self.stop().await;
    }

    /// Ends in good order; nginx goes on, and so does what is published of this node for the grace period.
    pub async fn stop(self) {
        if let Some(publisher) = self.publisher {
            publisher.stop().await;
        }
    }
}

/// What is served now, and of what was served before since when.
fn carried<'a>(
    objects: impl Iterator<Item = (&'a Arc<ObjectId>, &'a Version)>,
    before: Option<Arc<[Carried]>>,
    now: Instant,
) -> Arc<[Carried]> {
    let mut earlier = before.as_deref().unwrap_or_default().iter().peekable();
    let carried = objects.map(|(id, version)| {
        while earlier.next_if(|earlier| earlier.id < *id).is_some() {}
        let same = earlier.next_if(|earlier| earlier.id == *id && earlier.version == *version);
        let since = same.map_or(now, |same| same.since);
        Carried { id: Arc::clone(id), version: version.clone(), since }
    });
    carried.collect()
}

/// The newest version of an Ingress.
pub fn newest(snapshot: &Snapshot) -> Option<Revision> {
    let versions = snapshot.ingresses.iter().map(|stored| stored.object.metadata.resource_version.as_deref());
    versions.filter_map(Revision::of).max()
}

/// Tells this node from all others: machines may have the same host name, and copies the same machine id.
fn identity(node: Option<&str>) -> Arc<str> {
    let read = |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let node = node.map_or_else(|| read(HOST_NAME), str::to_owned);
    format!("{node}_{}", read(MACHINE_ID)).into()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::Kind;
    use crate::translate::Accepted;

    fn accepted(name: &str, version: &str, routes: u32) -> Accepted {
        let id = Arc::new(ObjectId::new(Kind::Ingress, "shop", name));
        Accepted { id, version: Version(version.into()), hosts: Vec::new(), routes }
    }

    fn reading(revision: u64) -> Reading {
        Reading { snapshot: Some(Arc::default()), revision, ..Reading::default() }
    }

    fn report(accepted: Vec<Accepted>) -> Report {
        let outcome = Outcome::Unchanged { generation: 1 };
        Report { outcome, findings: Vec::new(), accepted, certificates: Vec::new(), attempts: 1, tests: Vec::new() }
    }

    #[tokio::test]
    async fn what_has_no_route_is_not_served() {
        let mut publication = Publication::start(&Settings::default(), None, &Counts::default(), None).await;
        publication.read(&reading(1));
        publication.began();
        publication.concluded(&report(vec![accepted("a", "1", 0), accepted("b", "1", 1)]), None, Instant::now());
        let Served { accepted, carried, .. } = publication.served();
        let names: Vec<_> = accepted.iter().map(|id| &*id.name).collect();
        let carried: Vec<_> =
            carried.iter().flat_map(|carried| carried.iter()).map(|carried| &*carried.id.name).collect();
        assert_eq!((names, carried), (vec!["b"], vec!["b"]));
    }

    #[test]
    fn each_version_is_served_since_it_was_first_confirmed() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let carried = |objects: &[(&str, &str)], before, now| {
            let accepted: Vec<_> = objects.iter().map(|(name, version)| accepted(name, version, 1)).collect();
            carried(accepted.iter().map(|accepted| (&accepted.id, &accepted.version)), before, now)
        };
        let first = carried(&[("a", "1"), ("b", "1"), ("d", "1")], None, at(1));
        let second = carried(&[("b", "1"), ("c", "1"), ("d", "2")], Some(first), at(2));
        let since: Vec<_> = second.iter().map(|carried| (&*carried.id.name, carried.since)).collect();
        assert_eq!(since, [("b", at(1)), ("c", at(2)), ("d", at(2))]);
    }

    #[test]
    fn nodes_of_one_machine_differ_by_their_names() {
        assert!(identity(Some("edge-1")).starts_with("edge-1_"));
        assert_ne!(identity(Some("edge-1")), identity(Some("edge-2")));
        assert_ne!(identity(None).chars().next(), Some('_'));
    }
}
