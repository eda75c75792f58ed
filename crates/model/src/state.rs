//! The state of an object: how its newest version was judged, which version is to be served, and
//! which one nginx serves.

use std::sync::Arc;
use std::time::Instant;

use itertools::EitherOrBoth;

use super::finding::{Finding, Reason};
use super::{ObjectId, differences};

/// Distinguishes the versions of one object: a digest of what is kept of it, or of its manifest.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub Arc<str>);

/// The state of an object. Lists of them are sorted by object, and an object whose state stays is
/// the same `Arc` in the next list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectState {
    /// Which object it is.
    pub id: Arc<ObjectId>,
    /// The UID of its newest version; `None` for a manifest.
    pub uid: Option<Arc<str>>,
    /// The `metadata.generation` of its newest version; `None` for a manifest.
    pub generation: Option<i64>,
    /// How its newest version was judged.
    pub verdict: Verdict,
    /// Parents, and hosts that it does not get, each with its own verdict. The hosts that it has
    /// are those of the working version.
    pub places: Box<[ObjectPlace]>,
    /// The version in the model, the newest one or the last good one.
    pub working: Option<Arc<WorkingVersion>>,
    /// The version in the generation that nginx runs, or will run when it starts.
    pub served: Option<ServedVersion>,
}

/// How the newest version of an object was judged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It was not: no cycle of this run has seen it, or the object is gone.
    #[default]
    Unjudged,
    /// It is not of our classes. The finding with this reason says why.
    NotOurs(Reason),
    /// It is to be served.
    Good,
    /// An earlier version takes its place, for this reason.
    LastGood(Reason),
    /// It cannot be served for this reason, and there is no earlier one.
    Refused(Reason),
}

/// A place in which an object is to be served, and how that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectPlace {
    pub at: PlaceKind,
    pub verdict: Verdict,
}

/// Where an object asks to be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceKind {
    /// What the object names to be served by, such as a class in a list of classes.
    Parent(Arc<ObjectId>),
    /// A host, as written.
    Host(Arc<str>),
}

/// A version of an object that cannot be served as written; its last good version should take its
/// place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedVersion {
    pub id: Arc<ObjectId>,
    pub version: Version,
    pub why: Reason,
}

/// A version of an object, and what the model has of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkingVersion {
    pub version: Version,
    /// The hosts that it defines or contributes to, as written; `*` for the catch-all.
    pub hosts: Vec<Arc<str>>,
    /// The number of its routes in the model that are served.
    pub routes: u32,
    /// How many of them are paths of another object of which this one takes a share, which may be
    /// 0.
    pub parts: u32,
    /// The number of further routes that answer 503 because a fault of the object closes them.
    pub closed: u32,
    /// How many routes this nginx serves, which only the gate knows; before that all of them.
    pub served: u32,
    /// How many of those answer 503, because a Service, its port or its endpoints are missing, or
    /// are shares of a canary that the main object takes because of that.
    pub unanswered: u32,
}

/// The version of an object that nginx serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedVersion {
    /// What is served.
    pub what: Arc<WorkingVersion>,
    /// Since when nginx is known to serve it; `None` while nothing of it is served, or nginx has
    /// not confirmed it.
    pub since: Option<Instant>,
    /// Whether an earlier run served it already, as far as is known.
    pub is_earlier: bool,
}

/// How an object stands, which follows from its state and is held nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its newest version is served.
    Served,
    /// Its newest version is served but for some routes, which answer 503 or are left out.
    Partly,
    /// All its routes answer 503, because a fault of the object closes them, or because a Service,
    /// its port or its endpoints are missing; or that keeps a canary from its share.
    Closed,
    /// An earlier version is served, because the newest cannot be.
    LastGood,
    /// Nothing of it is served.
    Refused,
    /// Its newest version is not in force yet: the node is pinned, nginx takes no changes, or a
    /// change is under way.
    Waiting,
    /// It is not of our classes.
    NotOurs,
}

impl Standing {
    /// Those of objects of our classes.
    pub const OF_OURS: [Standing; 6] = [
        Standing::Served,
        Standing::Partly,
        Standing::Closed,
        Standing::LastGood,
        Standing::Refused,
        Standing::Waiting,
    ];

    /// The words for people and machines.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Served => "ok",
            Standing::Partly => "partly",
            Standing::Closed => "closed",
            Standing::LastGood => "last good",
            Standing::Refused => "refused",
            Standing::Waiting => "waiting",
            Standing::NotOurs => "not ours",
        }
    }
}

impl WorkingVersion {
    /// A version of which all routes are served.
    pub fn whole(version: Version, hosts: Vec<Arc<str>>, routes: u32) -> Self {
        WorkingVersion { version, hosts, routes, served: routes, ..WorkingVersion::default() }
    }

    /// Whether nothing of it is served because a fault of the object closes all its routes.
    pub const fn is_closed(&self) -> bool {
        self.routes == 0 && self.closed > 0
    }

    /// Whether it has hosts or paths. An object has none, for example, when all its paths belong
    /// to another object.
    pub const fn has_routes(&self) -> bool {
        self.routes > 0 || self.closed > 0
    }

    /// How many of its routes pass requests on.
    pub const fn answering(&self) -> u32 {
        self.served.saturating_sub(self.unanswered)
    }

    /// How many of its routes answer 503, for whatever reason.
    pub const fn answering_503(&self) -> u32 {
        self.closed.saturating_add(self.unanswered)
    }
}

impl ObjectState {
    /// An object of which nothing is served.
    pub fn new(id: &Arc<ObjectId>, verdict: Verdict) -> Self {
        let (id, uid, generation, places) = (Arc::clone(id), None, None, Box::default());
        ObjectState { id, uid, generation, verdict, places, working: None, served: None }
    }

    /// An object of which this is to be served.
    pub fn of(id: &Arc<ObjectId>, working: WorkingVersion) -> Self {
        ObjectState { working: Some(Arc::new(working)), ..ObjectState::new(id, Verdict::Good) }
    }

    /// Whether it is of our classes, as far as is known.
    pub const fn is_ours(&self) -> bool {
        !matches!(self.verdict, Verdict::NotOurs(_))
    }

    /// Why its newest version is not served, where that has a reason: that of the version, or of
    /// the first host that it does not get, where it has no path on any.
    pub fn reason(&self) -> Option<Reason> {
        match self.verdict {
            Verdict::NotOurs(why) | Verdict::LastGood(why) | Verdict::Refused(why) => Some(why),
            Verdict::Good if self.working.as_ref().is_some_and(|working| !working.has_routes()) => {
                self.places.iter().find_map(|place| match place.verdict {
                    Verdict::Refused(why) => Some(why),
                    _ => None,
                })
            }
            Verdict::Unjudged | Verdict::Good => None,
        }
    }

    /// The parents by which it is of our classes.
    pub fn parents(&self) -> impl Iterator<Item = &Arc<ObjectId>> {
        self.places.iter().filter_map(|place| match (&place.at, place.verdict) {
            (PlaceKind::Parent(parent), Verdict::Good) => Some(parent),
            _ => None,
        })
    }

    /// Whether this finding says why it is not of our classes.
    pub fn is_why(&self, finding: &Finding) -> bool {
        matches!(self.verdict, Verdict::NotOurs(why) if finding.reason == why) && finding.origin.object == self.id
    }

    /// The hosts of the version that is to be served.
    pub fn hosts(&self) -> &[Arc<str>] {
        self.working.as_ref().map_or(&[], |working| &working.hosts)
    }

    /// The hosts that it asks for: those, and the ones that it does not get.
    pub fn asked_hosts(&self) -> impl Iterator<Item = &str> {
        let not_had = self.places.iter().filter_map(|place| match &place.at {
            PlaceKind::Host(host) => Some(host),
            PlaceKind::Parent(_) => None,
        });
        self.hosts().iter().chain(not_had).map(|host| &**host)
    }

    /// The version that nginx serves, or will serve when it starts.
    pub fn in_place(&self) -> Option<&WorkingVersion> {
        self.served.as_ref().map(|served| &*served.what)
    }

    /// The version of which nginx serves something, or answers for it.
    pub fn in_force(&self) -> Option<&WorkingVersion> {
        self.in_place().filter(|_| self.standing() != Standing::Refused)
    }

    /// How it stands.
    pub fn standing(&self) -> Standing {
        let Some(served) = self.in_place() else {
            return match self.verdict {
                Verdict::NotOurs(_) => Standing::NotOurs,
                Verdict::Refused(_) => Standing::Refused,
                Verdict::Unjudged | Verdict::Good | Verdict::LastGood(_) => Standing::Waiting,
            };
        };
        let is_newest = self.working.as_ref().is_some_and(|working| working.version == served.version);
        match self.verdict {
            Verdict::LastGood(_) | Verdict::Refused(_) => Standing::LastGood,
            Verdict::Good if !is_newest => Standing::Waiting,
            Verdict::Unjudged | Verdict::NotOurs(_) => Standing::Waiting,
            Verdict::Good if served.is_closed() => Standing::Closed,
            Verdict::Good if served.served == 0 => Standing::Refused,
            Verdict::Good if served.answering() == 0 => Standing::Closed,
            Verdict::Good if served.answering_503() > 0 || served.served < served.routes => Standing::Partly,
            Verdict::Good => Standing::Served,
        }
    }

    /// What differs between two lists; states that are the same in memory are not looked at.
    pub fn differences<'a>(
        before: &'a [Arc<Self>],
        now: &'a [Arc<Self>],
    ) -> impl Iterator<Item = EitherOrBoth<&'a Arc<Self>>> {
        differences(before, now, Arc::ptr_eq, |one, other| one.id.cmp(&other.id))
    }

    /// The state of this object in a list.
    pub fn find<'a>(states: &'a [Arc<ObjectState>], id: &ObjectId) -> Option<&'a Arc<ObjectState>> {
        states.binary_search_by(|state| (*state.id).cmp(id)).ok().map(|index| &states[index])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn what_is_served_and_what_was_judged_say_how_an_object_stands() {
        let version = |version: &str| WorkingVersion {
            version: Version(version.into()),
            routes: 2,
            served: 2,
            ..WorkingVersion::default()
        };
        let first = version("1");
        let second = |served, closed, unanswered| WorkingVersion { served, closed, unanswered, ..version("2") };
        let closed = WorkingVersion { routes: 0, ..second(0, 1, 0) };
        let foreign = Verdict::NotOurs(Reason::ForeignClass);
        let (last_good, refused) = (Verdict::LastGood(Reason::Quarantined), Verdict::Refused(Reason::Undecodable));
        let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "a"));
        for (served, working, verdict, expected) in [
            (Some(second(2, 0, 0)), Some("2"), Verdict::Good, Standing::Served),
            (Some(second(2, 1, 0)), Some("2"), Verdict::Good, Standing::Partly),
            (Some(second(1, 0, 0)), Some("2"), Verdict::Good, Standing::Partly),
            (Some(closed), Some("2"), Verdict::Good, Standing::Closed),
            (Some(second(2, 0, 1)), Some("2"), Verdict::Good, Standing::Partly),
            (Some(second(2, 0, 2)), Some("2"), Verdict::Good, Standing::Closed),
            (Some(second(2, 1, 2)), Some("2"), Verdict::Good, Standing::Closed),
            (Some(second(0, 0, 0)), Some("2"), Verdict::Good, Standing::Refused),
            // nginx did not take it, or a generation is pinned.
            (Some(first.clone()), Some("2"), Verdict::Good, Standing::Waiting),
            (None, Some("2"), Verdict::Good, Standing::Waiting),
            (Some(first.clone()), None, Verdict::Unjudged, Standing::Waiting),
            (Some(first.clone()), Some("1"), last_good, Standing::LastGood),
            (Some(first.clone()), None, refused, Standing::LastGood),
            (None, None, refused, Standing::Refused),
            (None, Some("1"), last_good, Standing::Waiting),
            (Some(first), None, foreign, Standing::Waiting),
            (None, None, foreign, Standing::NotOurs),
        ] {
            let served = served.map(|what| ServedVersion { what: Arc::new(what), since: None, is_earlier: false });
            let working = working.map(|name| Arc::new(version(name)));
            let state = ObjectState { working, served, ..ObjectState::new(&id, verdict) };
            assert_eq!(state.standing(), expected, "{state:?}");
        }
    }

    #[test]
    fn what_is_not_served_has_the_reason_of_its_version_or_of_its_hosts() {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "a"));
        let host = |verdict| ObjectPlace { at: PlaceKind::Host("a.example".into()), verdict };
        let of = |routes| ObjectState {
            places: [host(Verdict::Refused(Reason::HostOwned))].into(),
            ..ObjectState::of(&id, WorkingVersion::whole(Version("1".into()), Vec::new(), routes))
        };
        assert_eq!([of(0), of(1)].map(|state| state.reason()), [Some(Reason::HostOwned), None]);
        let refused = ObjectState { verdict: Verdict::LastGood(Reason::Quarantined), ..of(0) };
        assert_eq!(refused.reason(), Some(Reason::Quarantined));
    }
}
