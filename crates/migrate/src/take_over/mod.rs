//! Whether addresses may move from an ingress-nginx to the nodes: the result of a comparison, and
//! whether the controller still writes addresses. It must not know the cluster, only objects that
//! were read.

mod comparison;
mod workload;

pub use comparison::comparison;
pub use workload::{Obstacle, Running};
