//! Brings files into a running nginx: stage, test, switch, SIGHUP, confirm, or roll back. It must
//! not know what the files mean.

mod applier;
mod blame;
mod caches;
mod cause;
mod confirm;
pub mod connections;
mod error;
pub mod folder;
mod generation;
mod history;
mod host;
mod include;
mod journal;
pub mod lock;
mod manifest;
mod old_workers;
mod options;
mod outcome;
mod pin;
pub mod ports;
pub mod process;
mod record;
mod scratch;
mod staging;
mod steps;
mod survey;
mod tree;
mod verdict;

pub use applier::{Applier, NginxState, Pinned};
pub use caches::remove_abandoned as remove_abandoned_caches;
pub use cause::{Cause, Change};
pub use error::{ApplyError, is_shortage, unless_missing};
pub use history::{Difference, History, KeptGeneration, Side};
pub use host::{Host, NoMaster, System, SystemOptions, Tested, build_information, host_stops};
pub use include::{included, matches};
pub use old_workers::{Allowance, OldWorkers};
pub use options::Options;
pub use outcome::{Complaint, Outcome};
pub use pin::Pin;
pub use record::Contents;
pub use steps::{Step, Steps};
pub use survey::Survey;
