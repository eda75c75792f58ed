//! Publishing into the cluster: statuses, Events, and the Leases by which several nodes share that
//! work.

mod address;
mod announcer;
mod bucket;
mod call;
mod claim_order;
mod contention;
mod counts;
mod damper;
mod desired;
mod documentation;
mod election;
mod event_tracker;
mod followed;
pub mod hand_over;
mod host;
mod kernel;
mod leader;
mod ledger;
mod locator;
mod member;
mod members;
mod membership;
mod notice;
mod options;
mod order;
mod own_addresses;
mod peers;
mod permissions;
pub mod probe;
mod publisher;
mod queue;
mod served;
mod status;
mod statuses;
mod trouble;
mod unserved;
mod view;
mod writer;

pub use address::{Address, Refused};
pub use counts::{Counts, EventResult, StatusWrite};
pub use documentation::{Documentation, NoAddress};
pub use member::{MOST_ADDRESSES, Member, Revision, lease_name};
pub use members::Life;
pub use options::{Announced, Mode, NodeAddress, Options};
pub use order::{Order, Writes};
pub use own_addresses::OwnAddresses;
pub use permissions::{EVENTS, LEASES};
pub use publisher::Publisher;
pub use served::{Offer, Served};
pub use status::{Content, IngressAddresses, Situation, StatusStrategy, entries};
pub use statuses::{STATUSES, StatusRow, Statuses};
pub use unserved::Unserved;
pub use view::{Outlook, Peer, View};

#[cfg(test)]
mod tests;
