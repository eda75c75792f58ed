//! What becomes of each object: whether it is ours, its hosts and numbers of routes. It must not
//! know what the routes do.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _, ParallelSliceMut as _};

use crate::admit::admitted::Admitted;
use crate::attach::Attached;
use crate::claim::arbiter::Refusals;
use crate::claim::tls_idle::FEW_HOSTS;
use ingressd_model::finding::Reason;
use ingressd_model::{
    ObjectId, ObjectPlace, ObjectState, PlaceKind, RefusedVersion, RouteCount, Server, ServerName, Verdict,
    WorkingVersion,
};

/// The states of all objects, sorted: `others` are not of our classes, and of those that are
/// attached to one, `objects` are served. Of the others of these, versions are `refused` or
/// beyond a budget. Those in `withheld` are in quarantine.
pub fn states<'s, 'a: 's>(
    others: Vec<ObjectState>,
    [attached, withheld]: [&[Attached<'_>]; 2],
    refused: &[RefusedVersion],
    objects: impl Iterator<Item = &'s Admitted<'a>>,
    servers: &[Arc<Server>],
    parts: &[HashMap<&ObjectId, u32>; 2],
    refusals: &Refusals<'_>,
) -> Vec<Arc<ObjectState>> {
    let routes = Server::routes_by_object(servers.iter().map(AsRef::as_ref));
    // What a budget leaves out has no claim, even where some of it stays closed.
    let within: Vec<_> = objects.filter(|object| object.closed_rules.is_none()).collect();
    let served = within.into_par_iter().map(|object| {
        let (working, not_had) = working(object, (&routes, parts), refusals);
        let places = object.attached.intent.parents.iter().cloned().chain(not_had).collect();
        ObjectState { places, ..ObjectState::of(object.id(), working) }
    });
    let mut states: Vec<_> = served.collect();
    states.extend(others);
    let refused: HashMap<_, _> = refused.iter().map(|refused| (&*refused.id, refused.why)).collect();
    let why = |id: &ObjectId| refused.get(id).copied().unwrap_or(Reason::OverBudget);
    let left_out = attached.iter().map(|object| (object, why(&object.intent.of.id)));
    let left_out = left_out.chain(withheld.iter().map(|object| (object, Reason::Quarantined)));
    states.extend(left_out.map(|(Attached { intent, .. }, why)| {
        let hosts: BTreeSet<_> = intent.rules.iter().map(|rule| &rule.host).collect();
        let places = intent.parents.iter().cloned().chain(hosts.into_iter().map(|host| not_had(Arc::clone(host), why)));
        ObjectState { places: places.collect(), ..ObjectState::new(&intent.of.id, Verdict::Refused(why)) }
    }));
    // The sort is stable: what is served comes first.
    states.par_sort_by(|left, right| left.id.cmp(&right.id));
    states.dedup_by(|later, first| later.id == first.id);
    // The list would keep the room of what was sorted.
    let mut states: Vec<_> = states.into_iter().map(Arc::new).collect();
    states.shrink_to_fit();
    states
}

static CATCH_ALL: ServerName = ServerName::CatchAll;

fn not_had(host: Arc<str>, why: Reason) -> ObjectPlace {
    ObjectPlace { at: PlaceKind::Host(host), verdict: Verdict::Refused(why) }
}

/// The version that is to be served, and the hosts that it does not get.
fn working(
    object: &Admitted<'_>,
    (routes, parts): (&HashMap<&ObjectId, RouteCount>, &[HashMap<&ObjectId, u32>; 2]),
    refusals: &Refusals<'_>,
) -> (WorkingVersion, impl Iterator<Item = ObjectPlace>) {
    let mut hosts: Vec<Arc<str>> = Vec::new();
    let mut known = HashSet::new();
    let mut not_had = BTreeMap::new();
    let why = |name: &ServerName| match refusals.is_empty() {
        true => None,
        false => refusals.get(&(&**object.id(), name.clone())).copied(),
    };
    let named = object.rules().map(|(_, rule)| (rule.name.as_ref(), Arc::clone(&rule.host)));
    let catch_all = object.is_for_all_hosts().then(|| (Ok(&CATCH_ALL), Arc::from("*")));
    for (name, host) in named.chain(catch_all) {
        if let Some(why) = name.map_or(Some(Reason::InvalidHost), why) {
            not_had.insert(host, why);
            continue;
        }
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
    let not_had = not_had.into_iter().map(|(host, why)| self::not_had(host, why));
    (WorkingVersion { version, hosts, routes, parts, closed, served: routes, unanswered }, not_had)
}
