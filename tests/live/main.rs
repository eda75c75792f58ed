//! The daemon on a real API server.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod addresses;
mod admission;
mod away;
mod blamed;
mod cluster_itself;
mod config_map;
mod contention;
mod dashboards;
mod doctor;
mod draining;
mod events;
mod fleet;
mod forged;
mod high_availability;
mod identity;
mod invented;
mod kubeconfig;
mod kubectl;
mod load;
mod meaning;
mod members;
mod migrate;
mod nodes;
mod pinned;
mod prometheus;
mod publish;
mod refusals;
mod reported;
mod rights;
mod scope;
mod take_over;
mod tenants;
mod watches;
mod withdrawal;
mod wrongs;
