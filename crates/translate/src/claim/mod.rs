//! Who gets hosts, paths and ports. It must not know the kinds of objects, nor what becomes of a
//! claim.

pub mod allowed;
pub mod challenges;
pub mod claims;
pub mod site;
pub mod stream_claims;
pub mod tls_entries;
pub mod tls_idle;
