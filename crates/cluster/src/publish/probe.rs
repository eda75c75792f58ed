//! Reads the Leases of a group once, without a running publisher.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::{Api, Client};

use super::call::call;
use super::election::{Record, node_of};
use super::member::{GROUP_LABEL, Member};
use super::options::Options;

/// How long a response may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A record from a Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept<T> {
    /// Its content.
    pub what: T,
    /// When it was last renewed, by the holder's clock.
    pub renewed: Option<Timestamp>,
    /// How long it is valid from then on.
    pub duration: Duration,
}

/// The Leases of a group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leases {
    /// The node that leads; `None` when no node holds the Lease.
    pub leader: Option<Kept<Arc<str>>>,
    /// The nodes, by the names of their Leases.
    pub members: Vec<Kept<Member>>,
    /// When they were read, by this host's clock, in seconds since 1970.
    pub read: i64,
}

/// Reads the Leases that these options name.
///
/// # Errors
///
/// Why they cannot be read; one clause.
pub async fn leases(client: Client, options: &Options) -> Result<Leases, String> {
    let leases = Api::<Lease>::namespaced(client, &options.namespace);
    let group = ListParams::default().labels(&format!("{GROUP_LABEL}={}", options.lease));
    let listed = call(PATIENCE, leases.list(&group)).await.map_err(|failure| failure.to_string())?;
    let read = Timestamp::now().as_second();
    let leader = call(PATIENCE, leases.get_opt(&options.lease)).await.map_err(|failure| failure.to_string())?;
    let member = |lease: &Lease| {
        let (what, duration) = Member::read(lease)?;
        Some(Kept { what, renewed: Record::read(lease).renewed, duration })
    };
    let leader = leader.as_ref().map(Record::read).and_then(|record| {
        Some(Kept { what: node_of(&record.holder?), renewed: record.renewed, duration: record.duration })
    });
    Ok(Leases { leader, members: listed.items.iter().filter_map(member).collect(), read })
}
