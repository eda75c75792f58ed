//! The servers, streams and upstreams of what holds its claims. It must not know who else wanted
//! them.

pub mod authentication;
pub mod branches;
pub mod built;
pub mod client_certificates;
pub mod error_backend;
pub mod materials;
pub mod mirror;
pub mod own_routes;
pub mod passthrough;
pub mod server;
pub mod service;
mod shares;
pub mod snippets;
pub mod streams;
pub mod tls;
