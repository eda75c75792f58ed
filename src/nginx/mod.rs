//! What this host's nginx is and can do, and the gate that fits a model to it; it must not know Kubernetes types, templates or files.

mod plan;

pub use plan::{Capabilities, GateOptions, Http2, Listen, NeighbourListen, Neighbours, Plan};

use crate::finding::Finding;
use crate::model::Model;

/// Fits what traffic should do to what this nginx can do. What protects a route and cannot be had closes the route.
pub fn gate(
    model: Model,
    _capabilities: &Capabilities,
    _neighbours: &Neighbours,
    _options: &GateOptions,
) -> (Plan, Vec<Finding>) {
    (Plan { model, ..Plan::default() }, Vec::new())
}
