//! The cluster's API as a client has it: `source` watches it, or a folder of manifests, and
//! `publish` writes statuses, Events and Leases. It must not know what objects mean for traffic.

pub mod publish;
pub mod source;
