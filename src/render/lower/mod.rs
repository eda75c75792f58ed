//! Lowers a plan to the views of templates, part by part.

mod access;
mod access_log;
mod answer;
mod answer_headers;
mod backend;
mod backend_headers;
mod backend_tls;
mod block;
mod client_certificates;
mod cors;
mod error_pages;
mod everywhere;
mod external_authentication;
mod fastcgi;
mod firewall;
mod geo;
mod head;
mod limits;
mod lists;
mod location;
mod lookup;
mod mirror;
mod passthrough;
mod paths;
mod server;
mod session;
mod shared;
mod slots;
mod snippet;
mod split;
mod stream;
mod tables;
mod tls;
mod upstream;
mod writer;

pub use block::{Digests, Likeness, block, likeness};
pub use lists::{list, long_lists};
#[cfg(test)]
pub use paths::{Place, places};
pub use server::{Facts, requires, server};
pub use shared::has_request_ids;
pub use stream::{stream, stream_upstream};
pub use tables::files;
pub use upstream::upstream;
