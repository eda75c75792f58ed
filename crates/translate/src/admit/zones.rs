//! Computes the size of the zones for limits per client.

use std::collections::BTreeMap;
use std::sync::Arc;

use ingressd_model::ByteSize;
use ingressd_model::cost::LARGEST_ZONE;

/// The smallest zone, for about a thousand clients.
pub const SMALLEST: u64 = LARGEST_ZONE.0 >> 6;

/// The size of each zone where it is not the usual one.
pub fn sizes(zones: BTreeMap<&Arc<str>, u64>, budget: u64) -> BTreeMap<Arc<str>, ByteSize> {
    let sizes = zones.into_iter().map(|(namespace, number)| (Arc::clone(namespace), size(number, budget)));
    sizes.filter(|(_, size)| *size != LARGEST_ZONE).collect()
}

/// The size is halved repeatedly, so that a further limit seldom changes the zones of the others:
/// nginx resets the counters when a zone changes its size.
fn size(number: u64, budget: u64) -> ByteSize {
    let mut size = LARGEST_ZONE.0;
    while size > SMALLEST && number.saturating_mul(size) > budget {
        size /= 2;
    }
    ByteSize(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_share_what_their_namespace_has() {
        let budget = 512 << 20;
        for (number, expected) in
            [(1, "5m"), (102, "5m"), (103, "2560k"), (600, "640k"), (6553, "80k"), (6554, "80k"), (u64::MAX, "80k")]
        {
            assert_eq!(size(number, budget).to_string(), expected, "{number}");
        }
    }
}
