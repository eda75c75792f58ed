//! The claims of objects on hosts, and on paths where several namespaces claim a host.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arbiter::Arbiter;
use super::claimed::{self, ClaimedHost, Gathered};
use super::claims::Ask;
use super::key::Key;
use crate::admit::admitted::Admitted;
use crate::attach::Attached;
use crate::read::path::Matching;
use ingressd_model::ServerName;

/// The place of the redirect of a host's `/`, whose age counts like that of a path: paths begin
/// with a slash.
pub const ROOT_REDIRECT: &str = "app-root";

/// The most rules of one namespace that keep their hosts while their objects cannot be served.
const MOST_WITHHELD: usize = 10_000;

/// The unserved objects that claim each host.
type WithheldHosts<'a> = BTreeMap<ServerName, Vec<&'a Attached<'a>>>;

fn by_host<'a>(objects: &[&'a Attached<'a>], arbiter: &mut Arbiter<'_, 'a>) -> WithheldHosts<'a> {
    let mut hosts = WithheldHosts::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for object in objects {
        let namespace = object.namespace();
        let count = counts.entry(namespace).or_default();
        for name in object.hosts() {
            // A namespace with many such objects must not make the list of claims grow without
            // limit.
            if *count < MOST_WITHHELD && arbiter.forbids(namespace, object.class, &name).is_none() {
                *count += 1;
                hosts.entry(name).or_default().push(object);
            }
        }
    }
    hosts
}

/// The keys of the paths of an object that is not served.
fn places_of(object: &Attached<'_>, name: &ServerName) -> Vec<Arc<str>> {
    let paths = object.rules_of(name).flat_map(|rule| rule.paths.iter()).filter_map(|path| path.path.as_ref().ok());
    let places = paths.flat_map(|path| {
        [Matching::Prefix, Matching::Regex].map(|matching| Arc::from(claimed::beginning(matching, path.as_str())))
    });
    places.chain(object.policy.reading.host.app_root.as_ref().map(|_| ROOT_REDIRECT.into())).collect()
}

/// Whether an object claims a host only to have it redirected.
fn is_redirected(object: &Admitted<'_>, name: &ServerName, claimed: &ClaimedHost<'_, '_>) -> bool {
    claimed.redirect.is_some() && object.redirect_of(name).is_some()
}

/// All present claims, in order.
pub fn of<'a>(
    claimed_hosts: &Gathered<'_, 'a>,
    withheld: &[&'a Attached<'a>],
    arbiter: &mut Arbiter<'_, 'a>,
) -> Vec<Ask<'a>> {
    let withheld = by_host(withheld, arbiter);
    let (options, known) = (arbiter.options, arbiter.known);
    let mut asks = Vec::with_capacity(claimed_hosts.len());
    for (name, claimed) in claimed_hosts {
        asks.extend(claimed.objects.iter().map(|object| Ask {
            key: Key::host(name),
            namespace: &object.id().namespace,
            since: object.since().implied(is_redirected(object, name, claimed)),
            exclusive: object.attached.class.is_exclusive(options.ownership),
        }));
    }
    for (name, objects) in &withheld {
        asks.extend(objects.iter().map(|object| Ask {
            key: Key::host(name),
            namespace: object.namespace(),
            since: object.since(name),
            exclusive: object.class.is_exclusive(options.ownership),
        }));
    }
    // The sort is stable, and hosts are sorted already.
    asks.sort_by(|one, other| one.key.cmp(&other.key));
    let (mut of_paths, mut known) = (Vec::new(), known.in_order());
    for asking in asks.chunk_by(|one, other| one.key == other.key) {
        let Some(name) = asking[0].key.name() else { continue };
        let (claimants, first) = (known.of(name), asking[0].namespace);
        if asking.iter().all(|ask| ask.namespace == first) && claimants.iter().all(|one| one.namespace == *first) {
            continue;
        }
        let mut ask = |namespace, place: Arc<str>, since| {
            of_paths.push(Ask { key: Key::path(name, place), namespace, since, exclusive: true });
        };
        // Whoever has the host claims `/` as well when it takes all other requests. What somebody
        // else says about these has no effect, and no age.
        let owner = claimants.iter().min_by_key(|claimant| claimant.number);
        let has_rest = |namespace: &str| {
            let is_named = *name == ServerName::CatchAll && options.is_catch_all(namespace);
            is_named || owner.is_none_or(|owner| *owner.namespace == *namespace)
        };
        for object in withheld.get(name).into_iter().flatten() {
            let namespace = object.namespace();
            let rest = (object.takes_the_rest_of(name) && has_rest(namespace)).then(Arc::default);
            let places = places_of(object, name).into_iter().chain(rest);
            places.for_each(|place| ask(namespace, place, object.since(name)));
        }
        let Some(claimed) = claimed::find(claimed_hosts, name) else { continue };
        for claim in &claimed.claims {
            let beginning = claimed::beginning(claim.matching, claim.path.as_str());
            ask(&claim.object.id().namespace, beginning.into(), claim.object.since());
        }
        for object in &claimed.objects {
            let namespace = &object.id().namespace;
            let is_redirected = is_redirected(object, name, claimed);
            if (is_redirected || object.takes_the_rest()) && has_rest(namespace) {
                ask(namespace, Arc::default(), object.since().implied(is_redirected));
            }
            if object.policy.reading.host.app_root.is_some() {
                ask(namespace, ROOT_REDIRECT.into(), object.since());
            }
        }
    }
    asks.append(&mut of_paths);
    asks.sort_by(|one, other| one.key.cmp(&other.key));
    asks
}
