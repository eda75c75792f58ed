//! The truth written back into the cluster: status, Events, and the Leases by which several nodes share that work; it must not know how files come about.

mod address;
mod bucket;
mod contention;
mod desired;
mod election;
mod ledger;
mod member;
mod options;
mod roster;
mod served;

pub use address::Address;
pub use member::Revision;
pub use options::{Announced, Options};
pub use served::{Carried, Served};
