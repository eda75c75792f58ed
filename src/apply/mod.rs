//! From files to a running nginx: stage, test, switch, HUP, confirm, or roll back; it must not know what the files mean.

mod error;
mod generation;
pub mod host;
mod journal;
mod manifest;
mod options;
mod outcome;
pub mod process;
mod staging;
mod steps;
mod verdict;

pub use error::ApplyError;
pub use options::Options;
pub use outcome::{Complaint, Outcome};
pub use steps::{Step, Steps};
