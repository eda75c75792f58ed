//! What references to Services lead to.

pub mod backend;
pub mod changes;
pub mod dependency;
pub mod endpoint;
pub mod mode;
pub mod names;
pub mod reached;
pub mod resolution;
pub mod service;
pub mod target;
