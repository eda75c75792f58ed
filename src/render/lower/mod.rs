//! From a plan to views, part by part; it must not know templates, caching or where files are stored.

mod location;
mod paths;
mod server;
mod shared;
mod upstream;

#[cfg(test)]
pub use paths::{Place, places};
pub use server::{Facts, requires, server};
pub use shared::{cors, limits, shared};
pub use upstream::upstream;
