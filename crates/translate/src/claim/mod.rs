//! Who gets ports, hosts and paths.

pub mod arbiter;
mod asks;
pub mod challenges;
pub mod claimed;
pub mod claims;
mod hosts;
pub mod key;
mod paths;
pub mod ports;
pub mod tls_entries;
pub mod tls_idle;
