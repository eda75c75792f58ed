//! The record of a node in its Lease.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::address::Address;
use super::claim_order;
use super::order::Writes;
use super::unserved::Unserved;
use ingressd_model::{ClaimOrder, Digest};

/// The label that the Leases of all members have; its value is the name of the leader's Lease.
pub const GROUP_LABEL: &str = "ingressd/group";

const ADDRESSES: &str = "ingressd/addresses";
const SERVING: &str = "ingressd/serving";
const DRAINED: &str = "ingressd/drained";
const GENERATION: &str = "ingressd/generation";
const OBSERVED: &str = "ingressd/observed";
const PINNED: &str = "ingressd/pinned";
const UNSERVED: &str = "ingressd/unserved";
const CLAIM_ORDER: &str = "ingressd/claim-order";
const VERSION: &str = "ingressd/version";
const PHASE: &str = "ingressd/phase";
const WRITES: &str = "ingressd/writes";
const SETTINGS: &str = "ingressd/settings";
const NGINX: &str = "ingressd/nginx";

/// The most addresses of one node that are used, and the longest texts: the Lease may be forged.
pub const MOST_ADDRESSES: usize = 16;
const LONGEST_TEXT: usize = 253;
const LONGEST_SETTINGS: usize = 8 << 10;
const LONGEST_DURATION: Duration = Duration::from_secs(24 * 3600);

/// The record of a node; by default that of one that serves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    /// Its identity: host name and machine ID.
    pub identity: Arc<str>,
    /// Its addresses for clients, sorted.
    pub addresses: Vec<Address>,
    /// Whether its nginx serves a confirmed generation.
    pub serving: bool,
    /// Whether the administrator drained it.
    pub drained: bool,
    /// The number of its generation.
    pub generation: Option<u64>,
    /// The observed revision of Ingresses when that generation was made.
    pub observed: Option<Revision>,
    /// The generation that the administrator pinned.
    pub pinned: Option<u64>,
    /// The objects that its generation does not serve.
    pub unserved: Unserved,
    /// The order in which it has seen namespaces claim what several of them claim.
    pub claim_order: Arc<ClaimOrder>,
    /// The version of the program.
    pub version: Arc<str>,
    /// The state of its daemon, in one word.
    pub phase: Arc<str>,
    /// Whether it writes statuses; `None` for a version that takes no orders.
    pub writes: Option<Writes>,
    /// The settings that decide how it judges objects, as TOML; `None` where they are not told.
    pub settings: Option<Arc<str>>,
    /// The version of its nginx; empty where it is not known.
    pub nginx: Arc<str>,
}

/// A `resourceVersion` as a number: the API guarantees that a higher one is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(pub u128);

impl Revision {
    /// The revision in `metadata.resourceVersion`; `None` when it is not a number.
    pub fn of(resource_version: Option<&str>) -> Option<Self> {
        resource_version?.parse().ok().map(Revision)
    }
}

impl Member {
    /// Whether its addresses may be published at all.
    pub fn is_published(&self) -> bool {
        self.serving && !self.drained
    }

    /// The Lease with this record. `duration` is how long it is valid without a renewal.
    pub fn lease(&self, group: &str, duration: Duration, acquired: Timestamp, now: Timestamp) -> Lease {
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        let mut annotations = BTreeMap::from([
            (ADDRESSES, addresses.join(",")),
            (SERVING, self.serving.to_string()),
            (DRAINED, self.drained.to_string()),
            (VERSION, self.version.to_string()),
            (PHASE, self.phase.to_string()),
            (NGINX, self.nginx.to_string()),
        ]);
        annotations.extend(self.generation.map(|generation| (GENERATION, generation.to_string())));
        annotations.extend(self.observed.map(|Revision(revision)| (OBSERVED, revision.to_string())));
        annotations.extend(self.pinned.map(|generation| (PINNED, generation.to_string())));
        annotations.extend(self.unserved.text().map(|text| (UNSERVED, text)));
        annotations.extend(self.writes.map(|writes| (WRITES, writes.name().to_owned())));
        annotations.extend(self.settings.as_ref().map(|text| (SETTINGS, text.to_string())));
        annotations.extend(claim_order::text(&self.claim_order).map(|text| (CLAIM_ORDER, text)));
        Lease {
            metadata: ObjectMeta {
                name: Some(lease_name(group, &self.identity)),
                labels: Some(BTreeMap::from([(GROUP_LABEL.to_owned(), group.to_owned())])),
                annotations: Some(annotations.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.identity.to_string()),
                lease_duration_seconds: Some(i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)),
                acquire_time: Some(MicroTime(acquired)),
                renew_time: Some(MicroTime(now)),
                ..LeaseSpec::default()
            }),
        }
    }

    /// The record in a Lease and its duration; `None` for Leases of other kinds. Invalid parts are
    /// left out, because the Lease may be forged.
    pub fn read(lease: &Lease) -> Option<(Self, Duration)> {
        let whole = |key: &str| lease.metadata.annotations.as_ref()?.get(key).map(String::as_str);
        let text = |key: &str| whole(key).filter(|value| value.len() <= LONGEST_TEXT * MOST_ADDRESSES);
        let short = |text: &str| -> Option<Arc<str>> { (text.len() <= LONGEST_TEXT).then(|| text.into()) };
        let spec = lease.spec.as_ref()?;
        let listed = text(ADDRESSES)?.split(',').filter_map(|address| address.parse().ok());
        let mut addresses: Vec<Address> = listed.take(MOST_ADDRESSES).collect();
        addresses.sort();
        addresses.dedup();
        let member = Member {
            identity: short(spec.holder_identity.as_deref().filter(|identity| !identity.is_empty())?)?,
            addresses,
            serving: text(SERVING) == Some("true"),
            drained: text(DRAINED) == Some("true"),
            generation: text(GENERATION).and_then(|number| number.parse().ok()),
            observed: Revision::of(text(OBSERVED)),
            pinned: text(PINNED).and_then(|number| number.parse().ok()),
            unserved: Unserved::read(whole(UNSERVED)),
            claim_order: claim_order::read(whole(CLAIM_ORDER)),
            version: text(VERSION).and_then(short).unwrap_or_default(),
            phase: text(PHASE).and_then(short).unwrap_or_default(),
            writes: text(WRITES).and_then(|word| Writes::ALL.into_iter().find(|writes| writes.name() == word)),
            settings: whole(SETTINGS).filter(|text| text.len() <= LONGEST_SETTINGS).map(Into::into),
            nginx: text(NGINX).and_then(short).unwrap_or_default(),
        };
        let seconds = u64::try_from(spec.lease_duration_seconds?).ok().filter(|seconds| *seconds > 0)?;
        Some((member, Duration::from_secs(seconds).min(LONGEST_DURATION)))
    }
}

/// The name of a node's Lease: readable as far as the rules of names allow, and never that of
/// another node.
pub fn lease_name(group: &str, identity: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let node = identity.rsplit_once('_').map_or(identity, |(node, _)| node);
    let readable: String = node.chars().map(plain).take(100).collect();
    let mark = Digest::of(identity.as_bytes()).hexadecimal(5);
    format!("{group}-{}-{mark}", readable.trim_matches('-'))
}

#[cfg(test)]
impl Member {
    /// A node for tests that serves its first generation at these addresses, and takes no orders.
    pub fn serving_at(identity: &str, addresses: &[&str]) -> Self {
        Member {
            identity: identity.into(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            serving: true,
            drained: false,
            generation: Some(1),
            observed: None,
            pinned: None,
            unserved: Unserved::Nothing,
            claim_order: Arc::default(),
            version: "1".into(),
            phase: "serving".into(),
            writes: None,
            settings: None,
            nginx: "1.22.1".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::{Kind, ObjectId};

    fn member() -> Member {
        Member {
            observed: Some(Revision(4711)),
            writes: Some(Writes::Held),
            ..Member::serving_at("Edge_1.example_0123", &["192.0.2.1", "edge.example"])
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let now = Timestamp::UNIX_EPOCH;
        let bare =
            Member { generation: None, observed: None, addresses: Vec::new(), drained: true, writes: None, ..member() };
        let object = ObjectId::new(Kind::INGRESS, "shop", "cart");
        let pinned = Member { pinned: Some(5), unserved: Unserved::of(&[&object], true), ..member() };
        let old = Member { claim_order: ClaimOrder::read([[7; 8], [3; 8]], [[9; 8]]).into(), ..member() };
        let reported = Member { settings: Some("hosts.ownership = \"shared\"\n".into()), ..member() };
        for member in [member(), bare, pinned, old, reported] {
            let lease = member.lease("ingressd", Duration::from_secs(15), now, now);
            assert_eq!(Member::read(&lease), Some((member, Duration::from_secs(15))));
        }
    }

    #[test]
    fn nonsense_in_a_lease_is_left_out() {
        let now = Timestamp::UNIX_EPOCH;
        let mut lease = member().lease("ingressd", Duration::from_secs(u64::from(u32::MAX)), now, now);
        let annotations = lease.metadata.annotations.as_mut().unwrap();
        annotations.insert(ADDRESSES.into(), "127.0.0.1,x y,192.0.2.7,,192.0.2.7".into());
        annotations.insert(OBSERVED.into(), "-1".into());
        annotations.insert(SERVING.into(), "yes".into());
        annotations.insert(SETTINGS.into(), "#".repeat(LONGEST_SETTINGS + 1));
        let (read, duration) = Member::read(&lease).unwrap();
        assert_eq!(read.addresses, ["192.0.2.7".parse().unwrap()]);
        assert_eq!((read.serving, read.observed, duration), (false, None, LONGEST_DURATION));
        assert_eq!(read.settings, None);
        lease.metadata.annotations = None;
        assert_eq!(Member::read(&lease), None, "the leader's Lease is no member");
    }

    #[test]
    fn names_are_names_of_objects_and_differ() {
        let name = lease_name("ingressd", "Edge_1.example_0123");
        assert!(name.starts_with("ingressd-edge-1-example-"), "{name}");
        assert_ne!(name, lease_name("ingressd", "edge-1-example_0123"));
        assert!(lease_name("g", &"x".repeat(400)).len() < 253);
    }
}
