//! The second stage: what one version of an object says, as values. It must not know any other
//! object but those that it names.

pub mod ingress;
pub mod intent;
pub mod path;
pub mod port;
pub mod reader;
pub mod rule;
pub mod since;
pub mod stream;
