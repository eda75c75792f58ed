//! From a plan to views, part by part; it must not know templates, caching or where files are stored.

mod backend;
mod backend_tls;
mod block;
mod client_certificates;
mod lists;
mod location;
mod passthrough;
mod paths;
mod server;
mod session;
mod shared;
mod split;
mod stream;
mod upstream;
mod writer;

pub use block::{Likeness, block, likeness};
pub use client_certificates::strangers;
pub use lists::{list, long_lists};
pub use passthrough::passthrough;
#[cfg(test)]
pub use paths::{Place, places};
pub use server::{Facts, requires, server};
pub use session::sessions;
pub use shared::{cors, limits, shared};
pub use split::splits;
pub use stream::{stream, stream_upstream};
pub use upstream::upstream;
