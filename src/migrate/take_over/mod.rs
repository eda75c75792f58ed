//! Whether addresses may move from an ingress-nginx to the nodes: what a comparison says, and whether the controller still writes
//! addresses; it must not know clusters, only what was read of one.

mod comparison;
mod workload;

pub use comparison::comparison;
pub use workload::{Obstacle, Running};
