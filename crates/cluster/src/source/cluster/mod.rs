//! The live cluster through its API: credentials, clients and watches.

mod administrator;
mod answer;
mod beyond;
mod clients;
mod depth;
#[cfg(test)]
pub mod double;
mod events;
mod fetch;
mod found;
mod health;
mod inventory;
mod item;
mod kept_bytes;
pub mod kubeconfig;
mod patience;
mod plugin;
pub mod probe;
mod readable;
mod references;
mod renewal;
mod requests;
mod sink;
mod source;
mod store;
mod stores;
mod stream;
mod switch;
#[cfg(test)]
mod tests;
mod words;

pub use administrator::{Administrator, AdministratorError, Token, try_out};
pub use clients::{Clients, History};
pub(super) use fetch::fetch_one;
pub use found::{Found, Known};
pub use health::{Need, Section, WatchHealth};
pub use inventory::Extent;
pub use item::Item;
pub use kubeconfig::{DEFAULT_KUBECONFIG, KubeconfigError};
pub use readable::Readable;
pub use renewal::{Connected, connect};
pub use requests::Requests;
pub use sink::Shared;
pub use source::{ClusterSource, Holder, Scope, WatchOptions};
pub use stores::{Observation, Stores};
pub use stream::{Failure, Sink, Stream, Timing};
pub use words::explained;
