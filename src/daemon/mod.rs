//! Composition: everything that can wake the daemon is an event of one loop; it must not know how any room does its work.

mod certificate;
pub mod control;
mod cycle;
mod feed;
mod http;
mod last_good;
pub mod log;
mod metrics;
mod notify;
mod objects;
mod pacing;
mod pipeline;
mod quarantine;
mod run;
mod state_file;
mod status;

pub use cycle::{Cycle, Product, Report, Stages};
pub use pipeline::Pipeline;
pub use run::{Error, Request, run};
pub use status::{Phase, Status};
