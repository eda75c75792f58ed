//! The cluster's API as a client has it: `source` watches it, or a folder of manifests, and
//! `publish` writes statuses, Events and Leases.

pub mod publish;
pub mod source;
