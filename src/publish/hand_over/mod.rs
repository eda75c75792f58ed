//! What an administrator does so that statuses name the nodes instead of another controller, and back: the order to the nodes,
//! and what stood there; it must not know why or when.

mod calls;
mod record;

pub use super::call::Failure;
pub use calls::HandOver;
pub use record::{Entry, Record, Wrote};
