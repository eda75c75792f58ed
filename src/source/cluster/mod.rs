//! The live cluster by its API: credentials, clients and watches; it must not know what the objects mean.

mod administrator;
mod clients;
mod depth;
mod events;
mod fetch;
mod found;
mod health;
mod kind;
mod kubeconfig;
mod patience;
mod plugin;
pub mod probe;
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
pub use clients::Clients;
pub use health::{Need, Section, WatchHealth};
pub use kubeconfig::{DEFAULT_KUBECONFIG, KubeconfigError};
pub use references::{may_refer, of_ingress as references_of};
pub use renewal::{Connected, connect};
pub use requests::Requests;
pub use source::{ClusterSource, Holder, Scope, WatchOptions};
pub use stores::Reading;
pub use stream::Timing;
