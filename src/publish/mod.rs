//! The truth written back into the cluster: status, Events, and the Leases by which several nodes share that work; it must not know how files come about.

mod address;
mod announcer;
mod bucket;
mod call;
mod chronicle;
mod contention;
mod counts;
mod desired;
mod election;
mod leader;
mod ledger;
mod member;
mod membership;
mod neighbours;
mod notice;
mod options;
mod publisher;
mod roster;
mod served;
mod trouble;
mod view;
mod writer;

pub use address::{Address, Refused};
pub use counts::{Counts, EventResult, StatusWrite};
pub use ledger::published;
pub use member::{Member, Revision};
pub use options::{Announced, Options};
pub use publisher::Publisher;
pub use roster::Life;
pub use served::{Carried, Served};
pub use view::{Outlook, View};

#[cfg(test)]
mod tests;
