//! The second stage: what one version of an object says, as values.

pub mod ingress;
pub mod intent;
pub mod path;
pub mod port;
pub mod reader;
pub mod rule;
pub mod since;
pub mod stream;
