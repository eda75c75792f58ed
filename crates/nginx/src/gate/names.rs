//! The size of nginx's hash table of server names.

use crate::{NamesHash, OtherSites};
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
