//! The live cluster by its API: credentials, clients and watches; it must not know what the objects mean.

mod clients;
mod kubeconfig;
mod renewal;
mod requests;
mod switch;
mod words;

pub use clients::Clients;
pub use kubeconfig::{DEFAULT_KUBECONFIG, KubeconfigError};
pub use renewal::{Connected, connect};
pub use requests::Requests;
