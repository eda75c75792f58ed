//! What becomes of each object: whether it is ours, its hosts and numbers of routes. It must not
//! know what the routes do.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _, ParallelSliceMut as _};

use crate::admit::admitted::Admitted;
use crate::attach::Attached;
use crate::claim::arbiter::Refusals;
use crate::claim::tls_idle::FEW_HOSTS;
use ingressd_model::{ObjectId, ObjectState, RouteCount, Server, ServerName, Verdict, WorkingVersion};

/// The states of all objects, sorted: `others` are not of our classes, and of those that are
/// attached to one, `objects` are served.
pub fn states<'s, 'a: 's>(
    others: Vec<ObjectState>,
    attached: &[Attached<'_>],
    objects: impl Iterator<Item = &'s Admitted<'a>>,
    servers: &[Arc<Server>],
    parts: &[HashMap<&ObjectId, u32>; 2],
    refusals: &Refusals<'_>,
) -> Vec<Arc<ObjectState>> {
    let routes = Server::routes_by_object(servers.iter().map(AsRef::as_ref));
    // What a budget leaves out has no claim, even where some of it stays closed.
    let within: Vec<_> = objects.filter(|object| object.closed_rules.is_none()).collect();
    let served = within.into_par_iter().map(|object| {
        let id = object.id();
        ObjectState::of(id, working(object, (&routes, parts), refusals))
    });
    let mut states: Vec<_> = served.collect();
    states.extend(others);
    states.extend(attached.iter().map(|object| ObjectState::new(&object.intent.of.id, Verdict::Refused)));
    // The sort is stable: what is served comes first.
    states.par_sort_by(|left, right| left.id.cmp(&right.id));
    states.dedup_by(|later, first| later.id == first.id);
    // The list would keep the room of what was sorted.
    let mut states: Vec<_> = states.into_iter().map(Arc::new).collect();
    states.shrink_to_fit();
    states
}

fn working(
    object: &Admitted<'_>,
    (routes, parts): (&HashMap<&ObjectId, RouteCount>, &[HashMap<&ObjectId, u32>; 2]),
    refusals: &Refusals<'_>,
) -> WorkingVersion {
    let mut hosts: Vec<Arc<str>> = Vec::new();
    let mut known = HashSet::new();
    let has = |name: &ServerName| refusals.is_empty() || !refusals.contains(&(&**object.id(), name.clone()));
    let valid = object.rules().filter(|(_, rule)| rule.name.as_ref().is_ok_and(has));
    let catch_all = (object.is_for_all_hosts() && has(&ServerName::CatchAll)).then(|| Arc::from("*"));
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
    hosts.shrink_to_fit();
    let id = &**object.id();
    let RouteCount { open, closed } = routes.get(id).copied().unwrap_or_default();
    let [parts, unanswered] = parts.each_ref().map(|of| of.get(id).copied().unwrap_or_default());
    let (version, routes) = (object.attached.intent.of.version.clone(), open + parts);
    WorkingVersion { version, hosts, routes, parts, closed, served: routes, unanswered }
}
