//! From files to a running nginx: stage, test, switch, HUP, confirm, or roll back; it must not know what the files mean.

mod applier;
mod blame;
mod confirm;
mod error;
mod generation;
mod host;
mod journal;
mod manifest;
mod options;
mod outcome;
pub mod process;
mod scratch;
mod staging;
mod steps;
mod survey;
mod tree;
mod verdict;

pub use applier::{Applier, Status};
pub use error::ApplyError;
pub use host::{Host, System, SystemOptions, Tested};
pub use options::Options;
pub use outcome::{Complaint, Outcome};
pub use steps::{Step, Steps};
pub use survey::Survey;
