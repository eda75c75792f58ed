//! From a plan to views, part by part; it must not know templates, caching or where files are stored.

mod access;
mod access_log;
mod answer;
mod backend;
mod backend_headers;
mod backend_tls;
mod block;
mod client_certificates;
mod cors;
mod error_pages;
mod everywhere;
mod external_authentication;
mod limits;
mod lists;
mod location;
mod passthrough;
mod paths;
mod server;
mod session;
mod shared;
mod slots;
mod snippet;
mod split;
mod stream;
mod upstream;
mod writer;

pub use access_log::access_log;
pub use block::{Likeness, block, likeness};
pub use client_certificates::strangers;
pub use cors::cors;
pub use everywhere::blocked;
pub use external_authentication::files as authentication;
pub use limits::limits;
pub use lists::{list, long_lists};
pub use passthrough::passthrough;
#[cfg(test)]
pub use paths::{Place, places};
pub use server::{Facts, requires, server};
pub use session::sessions;
pub use shared::shared;
pub use split::splits;
pub use stream::{stream, stream_upstream};
pub use upstream::upstream;
