//! Prepares this host's nginx for ingressd, step by step, and can undo every step.

mod edit;
mod journal;
mod layout;
mod points;
mod run;
mod script;
mod state;
mod steps;
mod undo;

pub use layout::{Layout, claims};
pub use run::{Choices, Error, Setup};
pub use script::undo_script;
pub use steps::{Planned, STEPS, Step};
pub use undo::Undone;
