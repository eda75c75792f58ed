//! Limits the number of endpoints.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::rows::UpstreamRow;
use crate::admit::{ENDPOINTS_OF_NAMESPACE, near};
use crate::bounds::is_near;
use crate::{Limits, bounds};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Endpoint, Route, Server, Upstream, UpstreamId};

/// Keeps as many endpoints as an upstream, and the upstreams of a namespace together, may have.
/// The rows are those of one namespace. TCP and UDP services count by themselves.
pub fn bound(rows: &mut [UpstreamRow<'_>], servers: &[Arc<Server>], limits: &Limits) -> Vec<Finding> {
    let (mut bounded, mut findings) = (HashMap::new(), Vec::new());
    for row in rows.iter_mut() {
        let all = row.endpoints.len();
        let found = bound_one(row, limits);
        let loses = found.as_ref().filter(|_| row.endpoints.len() < all);
        bounded.extend(loses.map(|finding| (row.upstream.id.clone(), Arc::clone(&finding.note))));
        findings.extend(found);
    }
    let all: Vec<_> = rows.iter().map(|row| row.endpoints.len()).collect();
    let (used, most) = (all.iter().sum(), count(limits.namespace.endpoints));
    let largest = rows.iter().max_by_key(|row| row.endpoints.len()).map(|row| row.upstream);
    let Some(Upstream { id, origin, .. }) = largest.filter(|largest| !largest.id.protocol.is_of_stream()) else {
        return findings;
    };
    let (namespace, key) = (&id.namespace, ENDPOINTS_OF_NAMESPACE);
    if used > most {
        let each = share(&all, most);
        let left = all.iter().map(|one| one.min(&each)).sum::<usize>();
        let note = format!(
            "the Services of the namespace {namespace:?} have {used} endpoints, and {key} allows {most}; {left} of them \
             are used, at most {each} of a port; refer to fewer ports, or have the administrator raise the limit"
        );
        let finding = Finding::new(Reason::TooManyEndpoints, origin.clone(), note);
        let over = rows.iter().filter(|row| row.endpoints.len() > each);
        bounded.extend(over.map(|row| (row.upstream.id.clone(), Arc::clone(&finding.note))));
        findings.push(finding);
        rows.iter_mut().for_each(|row| choose(&mut row.endpoints, each));
    } else if is_near(number(used), number(most)) {
        findings.push(near(namespace, key, ("endpoint", "endpoints"), number(used), number(most)));
    }
    report_routes(&bounded, servers, &mut findings);
    findings
}

/// Tells the objects whose routes lose endpoints, beside the Service that has too many.
fn report_routes(bounded: &HashMap<UpstreamId, Arc<str>>, servers: &[Arc<Server>], findings: &mut Vec<Finding>) {
    if bounded.is_empty() {
        return;
    }
    for handler in servers.iter().flat_map(|server| server.all_routes()).flat_map(Route::own) {
        let note = handler.action.upstream().and_then(|id| bounded.get(id));
        let reported =
            |note: &Arc<str>| Finding::new(Reason::TooManyEndpoints, handler.origin.clone(), Arc::clone(note));
        findings.extend(note.map(reported));
    }
}

/// Keeps as many endpoints as a port of a Service may have.
fn bound_one(row: &mut UpstreamRow<'_>, limits: &Limits) -> Option<Finding> {
    let (all, most) = (row.endpoints.len(), count(limits.object.endpoints));
    choose(&mut row.endpoints, most);
    let (origin, port) = (&row.upstream.origin, &row.upstream.id.port);
    let note = || {
        format!(
            "port {port} has {all} endpoints, of which the {most} that limits.upstream-endpoints allows are used; use \
                fewer and larger pods, or have the administrator raise the limit"
        )
    };
    match all > most {
        true => Some(Finding::new(Reason::TooManyEndpoints, origin.clone(), note())),
        false => bounds::ENDPOINTS.near(all, limits.object.endpoints, || origin.clone()),
    }
}

fn count(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX).max(1)
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// How many endpoints each upstream may have so that all together have no more than `most`, but
/// each at least one. The number changes in steps, so that changes of other upstreams seldom
/// change which endpoints of an upstream are used.
fn share(upstreams: &[usize], most: usize) -> usize {
    let mut sorted = upstreams.to_vec();
    sorted.sort_unstable();
    let mut left = most;
    for (index, endpoints) in sorted.iter().enumerate() {
        let each = left / (sorted.len() - index);
        if *endpoints > each {
            return in_steps(each).max(1);
        }
        left -= endpoints;
    }
    usize::MAX
}

/// The number with all but its four highest bits cleared.
fn in_steps(number: usize) -> usize {
    let low = (usize::BITS - number.leading_zeros()).saturating_sub(4);
    number >> low << low
}

/// Keeps the endpoints whose addresses have the lowest hashes, in order: the choice of an endpoint
/// depends only on those with lower hashes.
fn choose(endpoints: &mut Arc<[Endpoint]>, most: usize) {
    if endpoints.len() <= most {
        return;
    }
    let mut all = endpoints.to_vec();
    all.select_nth_unstable_by_key(most, |endpoint| (mark(endpoint.address.ip()), *endpoint));
    all.truncate(most);
    all.sort_unstable();
    *endpoints = all.into();
}

/// A hash that distributes addresses evenly and never changes: FNV-1a, mixed once more.
fn mark(address: IpAddr) -> u64 {
    let bytes = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (sum ^ (sum >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use ingressd_model::{Action, Kind, ObjectId, Origin, PathMatch, ServerName, Upstream, UrlPath};

    fn upstream(namespace: &str, service: &str) -> Upstream {
        let id = UpstreamId::usual(namespace, service, "80");
        let origin = Origin::object(&Arc::new(ObjectId::new(Kind::SERVICE, namespace, service)));
        Upstream { id, origin, uid: None, sharers: 1 }
    }

    /// Rows of upstreams with these endpoints.
    fn rows(upstreams: &[(Upstream, Range<u32>)]) -> Vec<UpstreamRow<'_>> {
        let endpoint = |number: u32| {
            let address = (std::net::Ipv4Addr::from(0x0a00_0000 + number), 80).into();
            Endpoint { address, weight: 1 }
        };
        let row =
            |(upstream, numbers)| UpstreamRow { upstream, endpoints: Range::clone(numbers).map(endpoint).collect() };
        upstreams.iter().map(|(upstream, numbers)| row((upstream, numbers))).collect()
    }

    fn limits(of_upstream: u64, of_namespace: u64) -> Limits {
        let mut limits = Limits::default();
        (limits.object.endpoints, limits.namespace.endpoints) = (of_upstream, of_namespace);
        limits
    }

    fn bounded(rows: &mut [UpstreamRow<'_>], limits: &Limits) -> Vec<String> {
        let parts = rows.chunk_by_mut(|one, other| one.upstream.id.namespace == other.upstream.id.namespace);
        parts.flat_map(|rows| bound(rows, &[], limits)).map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_subset_stays_when_others_come_and_go() {
        let web = [(upstream("shop", "web"), 0..1001)];
        let all = rows(&web).remove(0).endpoints;
        let chosen = |without: Option<u32>, number: usize| {
            let address = without.map(|number| IpAddr::from((0x0a00_0000 + number).to_be_bytes()));
            let some = all[..number].iter().filter(|one| Some(one.address.ip()) != address).copied().collect();
            let mut rows = [UpstreamRow { upstream: &web[0].0, endpoints: some }];
            let findings = bounded(&mut rows, &limits(100, 50_000));
            assert!(findings[0].contains("TooManyEndpoints: port 80 has "), "{findings:?}");
            let [row] = rows;
            assert!(row.endpoints.is_sorted() && row.endpoints.len() == 100);
            row.endpoints
        };
        let before = chosen(None, 1000);
        // When an unused endpoint goes, nothing changes; when a used one goes, one other takes its
        // place.
        let unchosen = |number: &u32| {
            !before.iter().any(|endpoint| endpoint.address.ip() == IpAddr::from((0x0a00_0000 + number).to_be_bytes()))
        };
        let (first_unchosen, first_chosen) = ((0..).find(unchosen), (0..).find(|number| !unchosen(number)));
        assert_eq!(chosen(first_unchosen, 1000), before);
        let without = chosen(first_chosen, 1000);
        assert_eq!(before.iter().filter(|endpoint| !without.contains(endpoint)).count(), 1);
        // One more endpoint displaces at most one other.
        let with = chosen(None, 1001);
        assert!(before.iter().filter(|endpoint| !with.contains(endpoint)).count() <= 1);
        // The used endpoints are distributed over all addresses.
        assert!(before.iter().any(|endpoint| endpoint.address.ip() > IpAddr::from([10, 0, 3, 0])));
    }

    #[test]
    fn the_largest_of_a_namespace_give_way_and_no_other_namespace_does() {
        let upstreams = [
            (upstream("other", "web"), 0..600),
            (upstream("shop", "a"), 0..10),
            (upstream("shop", "b"), 0..700),
            (upstream("shop", "c"), 0..900),
        ];
        let mut all = rows(&upstreams);
        let findings = bounded(&mut all, &limits(2000, 1000));
        let counts: Vec<_> = all.iter().map(|row| row.endpoints.len()).collect();
        assert_eq!(counts, [600, 10, 480, 480]);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("Service shop/c: TooManyEndpoints: the Services"), "{findings:?}");
        let findings = bounded(&mut all, &limits(2000, 1000));
        assert_eq!(all.iter().map(|row| row.endpoints.len()).sum::<usize>(), 1570);
        assert_eq!(
            findings,
            [
                "Settings limits.namespace-endpoints: NearBudget: the namespace \"shop\" has 970 of the 1000 endpoints that it may have"
            ]
        );
        // Each upstream keeps at least one.
        let many: Vec<_> = (0..10).map(|number| (upstream("shop", &format!("s{number}")), 0..3)).collect();
        let mut many = rows(&many);
        bounded(&mut many, &limits(2000, 5));
        assert!(many.iter().all(|row| row.endpoints.len() == 1));
    }

    #[test]
    fn each_object_whose_routes_lose_endpoints_is_reported() {
        let route = |name: &str, service: &str| {
            let origin = Origin::object(&Arc::new(ObjectId::new(Kind::INGRESS, "shop", name)));
            let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
            let action = Action::Proxy { upstream: UpstreamId::usual("shop", service, "80"), split: None };
            Route::plain(origin, path, action)
        };
        let server = Server {
            routes: vec![route("few", "a"), route("one", "b"), route("two", "b"), route("three", "c")],
            ..Server::usual(ServerName::CatchAll, route("few", "a"))
        };
        for (of_upstream, of_namespace, expected) in
            [(2000, 1000, ["b", "c"]), (800, 2000, ["", "c"]), (2000, 2000, ["", ""])]
        {
            let upstreams = [("a", 10), ("b", 700), ("c", 900)].map(|(name, most)| (upstream("shop", name), 0..most));
            let limits = limits(of_upstream, of_namespace);
            let findings = bound(&mut rows(&upstreams), &[Arc::new(server.clone())], &limits);
            let reported = findings.iter().filter(|finding| finding.origin.object.kind == Kind::INGRESS);
            let reported: Vec<_> = reported.map(|finding| (finding.reason, &*finding.origin.object.name)).collect();
            let of = |service: &str| match service {
                "b" => &["one", "two"][..],
                "c" => &["three"],
                _ => &[],
            };
            let expected = expected.iter().flat_map(|service| of(service));
            assert_eq!(reported, expected.map(|name| (Reason::TooManyEndpoints, *name)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_share_is_never_too_much_and_changes_in_steps() {
        assert_eq!(share(&[10, 700, 900], 1000), 480);
        assert_eq!(share(&[10, 20, 30], 60), usize::MAX);
        assert_eq!((in_steps(15), in_steps(17), in_steps(495), in_steps(0)), (15, 16, 480, 0));
    }
}
