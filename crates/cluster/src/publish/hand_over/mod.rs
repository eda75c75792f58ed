//! Handing over statuses from another controller to the nodes, and back: the order to the nodes,
//! and the record of former statuses. It must not know why or when.

mod calls;
mod record;

pub use super::call::Failure;
pub use calls::HandOver;
pub use record::{Entry, Record, Wrote};
