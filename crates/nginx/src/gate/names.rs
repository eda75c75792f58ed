//! The size of nginx's hash tables of names, and the names that do not fit into them.

use std::collections::{BTreeMap, BTreeSet};

use super::taken::places;
use crate::{NamesHash, OtherSites};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Model, ServerName};

/// The longest name that fits into a bucket of this many bytes: nginx adds a pointer, a length and
/// an end to each.
const fn longest(bucket_size: u32) -> usize {
    bucket_size as usize - 18
}

/// nginx rounds bucket sizes up to a multiple of a cache line, also those that the host sets.
const SMALLEST_BUCKET: u32 = 64;

/// The sizes to write and the longest name that fits. Where the host sets one of them it stays,
/// because setting it twice is an error.
pub fn table(model: &Model, other_sites: &OtherSites) -> (Option<NamesHash>, usize) {
    let sets = |name: &str| other_sites.http_directives.contains(name);
    if sets("server_names_hash_bucket_size") || sets("server_names_hash_max_size") {
        return (None, longest(SMALLEST_BUCKET));
    }
    let names = model.servers.iter().flat_map(|server| [&server.name].into_iter().chain(&server.reserved));
    let names = names.filter_map(|name| match name {
        ServerName::Exact(name) => Some(name.as_str().len()),
        _ => None,
    });
    let (count, needed) = names.fold((0u32, 0), |(count, longest), length| (count + 1, longest.max(length)));
    // Large buckets fit at the first attempt; nginx tries one size after the other until all names
    // fit.
    let mut bucket_size = if count > 256 { 512 } else { SMALLEST_BUCKET };
    while longest(bucket_size) < needed {
        bucket_size *= 2;
    }
    let max_size = (count * 2).next_power_of_two().max(512);
    (Some(NamesHash { max_size, bucket_size }), longest(bucket_size))
}

/// The fewest buckets of a table. Sizes are powers of two, so no bucket of a larger table has
/// names that this one keeps apart.
const FEWEST: usize = 512;

/// The most bytes of names in a bucket: nginx refuses the table, and thus all servers, when one
/// has 64 KiB, less a cache line.
const FULLEST: usize = 60 << 10;

/// Leaves out hosts whose names would fill a bucket: everybody can find names that nginx's hash
/// puts into the bucket of another one. Of the namespaces there, the one with the most loses its
/// last.
pub fn leave_out_colliding(model: &mut Model, findings: &mut Vec<Finding>) {
    let names = |of: fn(&ServerName) -> Option<&str>| {
        model.servers.iter().flat_map(move |server| {
            let all = [&server.name].into_iter().chain(&server.reserved);
            all.filter_map(move |name| Some((of(name)?, &*server.origin.object.namespace, name)))
        })
    };
    let mut colliding = colliding(names(|name| match name {
        ServerName::Exact(host) => Some(host.as_str()),
        _ => None,
    }));
    if !model.passthroughs.hosts.is_empty() {
        // The wildcards with passthrough are keys of a table, too.
        colliding.extend(self::colliding(names(|name| match name {
            ServerName::Wildcard(host) => Some(host.as_str()),
            _ => None,
        })));
    }
    if colliding.is_empty() {
        return;
    }
    for server in model.servers.iter_mut().filter(|server| !server.reserved.is_empty()) {
        std::sync::Arc::make_mut(server).reserved.retain(|name| !colliding.contains(name));
    }
    model.servers.retain(|server| {
        let collides = colliding.contains(&server.name);
        let words = "nginx's table of names has no room for it, because the namespace has very many hosts with names that \
                     nginx's hash cannot tell apart; use another host";
        let reported = places(server).filter(|_| collides);
        findings.extend(reported.map(|place| Finding::new(Reason::HostNotAllowed, place, words)));
        !collides
    });
}

/// The names for which there is no room. They come with what is hashed of them, and their
/// namespace.
fn colliding<'m>(names: impl Iterator<Item = (&'m str, &'m str, &'m ServerName)>) -> BTreeSet<ServerName> {
    let mut buckets = vec![(0, Vec::new()); FEWEST];
    for name in names {
        let (bytes, list) = &mut buckets[hash(name.0) % FEWEST];
        *bytes += size(name.0);
        list.push(name);
    }
    let mut colliding = BTreeSet::new();
    for (mut bytes, list) in buckets.into_iter().filter(|(bytes, _)| *bytes > FULLEST) {
        let mut namespaces: BTreeMap<_, (usize, Vec<_>)> = BTreeMap::new();
        for (text, namespace, name) in list {
            let (sum, list) = namespaces.entry(namespace).or_default();
            *sum += size(text);
            list.push((size(text), name));
        }
        while bytes > FULLEST
            && let Some((sum, list)) = namespaces.values_mut().max_by_key(|(sum, _)| *sum)
            && let Some((size, name)) = list.pop()
        {
            *sum -= size;
            bytes -= size;
            colliding.insert(name.clone());
        }
    }
    colliding
}

/// The bytes that a name takes in a bucket: a pointer, the length, and the name.
const fn size(name: &str) -> usize {
    8 + (name.len() + 2).next_multiple_of(8)
}

/// nginx's hash of a name.
fn hash(name: &str) -> usize {
    name.bytes().fold(0, |hash: usize, byte| hash.wrapping_mul(31).wrapping_add(byte.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ingressd_model::{
        Action, Field, HostName, Kind, ObjectId, Origin, Passthrough, PathMatch, Route, Server, UrlPath,
    };

    fn server(name: ServerName, namespace: &str) -> Server {
        let origin = Origin { object: Arc::new(ObjectId::new(Kind::INGRESS, namespace, "a")), field: Field::Object };
        let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
        let action = Action::Respond { status: 404 };
        Server::usual(name, Route::plain(origin, path, action))
    }

    /// Names with one hash, because each has `ao` or `c1` at the same places.
    fn alike(number: usize) -> HostName {
        let pairs: String = (0..12).map(|bit| if number >> bit & 1 == 0 { "ao" } else { "c1" }).collect();
        HostName::new(&format!("{pairs}.example.com")).unwrap()
    }

    #[test]
    fn who_fills_a_bucket_of_names_loses_the_own_hosts_alone() {
        let shapes: [fn(HostName) -> ServerName; 2] = [ServerName::Exact, ServerName::Wildcard];
        for (shape, has_passthrough) in shapes.into_iter().zip([false, true]) {
            for (many, are_left_out) in [(1000, false), (2000, true)] {
                let of = |number, namespace: &str| Arc::new(server(shape(alike(number)), namespace));
                let victim = of(4095, "victim");
                let mut servers: Vec<_> = (0..many).map(|number| of(number, "attacker")).collect();
                servers.extend([of(4094, "small"), Arc::clone(&victim)]);
                let mut model = Model { servers, ..Model::default() };
                let passthrough =
                    Passthrough { name: victim.name.clone(), origin: victim.origin.clone(), upstream: None };
                model.passthroughs.hosts.extend(has_passthrough.then_some(passthrough));
                let mut findings = Vec::new();
                leave_out_colliding(&mut model, &mut findings);
                assert_eq!(!findings.is_empty(), are_left_out, "{many}");
                assert_eq!(model.servers.len() + findings.len(), many + 2);
                let attackers = findings.iter().all(|finding| &*finding.origin.object.namespace == "attacker");
                assert!(attackers && model.servers.contains(&victim), "{many}");
                let bytes: usize = model.servers.iter().map(|_| size(alike(0).as_str())).sum();
                assert!(bytes <= FULLEST, "{bytes}");
            }
        }
    }
}
