//! What becomes of the objects of our classes: hosts and numbers of routes. It must not know what
//! the routes do.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _, ParallelSliceMut as _};

use crate::FEW_HOSTS;
use crate::attach::subject::Subject;
use crate::claim::site::Refusals;
use ingressd_model::{ObjectId, RouteCount, Server, ServerName};
use ingressd_objects::Version;

/// An Ingress of our classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// The Ingress.
    pub id: Arc<ObjectId>,
    /// The version in the model.
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

impl Accepted {
    /// Whether nothing of it is served because a fault of the object closes all its routes.
    pub const fn is_closed(&self) -> bool {
        self.routes == 0 && self.closed > 0
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

/// What becomes of these objects, sorted by name.
pub fn accepted<'s, 'a: 's>(
    subjects: impl Iterator<Item = &'s Subject<'a>>,
    servers: &[Arc<Server>],
    parts: &[HashMap<&ObjectId, u32>; 2],
    refusals: &Refusals<'_>,
) -> Vec<Accepted> {
    let routes = Server::routes_by_object(servers.iter().map(AsRef::as_ref));
    // What a budget leaves out has no claim, even where some of it stays closed.
    let within: Vec<_> = subjects.filter(|subject| subject.closed_rules.is_none()).collect();
    let accepted = within.into_par_iter().map(|subject| accept(subject, &routes, parts, refusals));
    let mut accepted: Vec<_> = accepted.collect();
    accepted.par_sort_by(|left, right| left.id.cmp(&right.id));
    accepted
}

fn accept(
    subject: &Subject<'_>,
    routes: &HashMap<&ObjectId, RouteCount>,
    parts: &[HashMap<&ObjectId, u32>; 2],
    refusals: &Refusals<'_>,
) -> Accepted {
    let mut hosts: Vec<Arc<str>> = Vec::new();
    let mut known = HashSet::new();
    let has = |name: &ServerName| refusals.is_empty() || !refusals.contains(&(&**subject.id(), name.clone()));
    let valid = subject.rules().filter(|(_, rule)| rule.name.as_ref().is_ok_and(has));
    let catch_all = (subject.is_for_all_hosts() && has(&ServerName::CatchAll)).then(|| Arc::from("*"));
    for host in valid.map(|(_, rule)| Arc::clone(&rule.host)).chain(catch_all) {
        // A linear search is faster for a few, and takes minutes for thousands.
        let is_known = match hosts.len() {
            0..FEW_HOSTS => hosts.contains(&host),
            _ => {
                if known.is_empty() {
                    known.extend(hosts.iter().cloned());
                }
                known.contains(&host)
            }
        };
        if !is_known {
            if !known.is_empty() {
                known.insert(Arc::clone(&host));
            }
            hosts.push(host);
        }
    }
    let (id, version) = (Arc::clone(subject.id()), subject.intent.of.version.clone());
    let RouteCount { open, closed } = routes.get(&*id).copied().unwrap_or_default();
    let [parts, unanswered] = parts.each_ref().map(|of| of.get(&*id).copied().unwrap_or_default());
    Accepted { routes: open + parts, parts, closed, served: open + parts, unanswered, id, version, hosts }
}
