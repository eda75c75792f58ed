//! Composition: everything that can wake the daemon is an event of one loop; it must not know how any room does its work.

pub mod access;
mod certificate;
pub mod control;
mod cycle;
mod drain;
mod error;
mod feed;
mod http;
mod last_good;
pub mod log;
mod metrics;
mod notify;
mod objects;
mod pacing;
mod pipeline;
mod publication;
mod quarantine;
mod reporter;
mod retry;
mod run;
mod serving;
mod state_file;
mod status;
mod work;

pub use cycle::{Cycle, Product, Report, Stages};
pub use error::Error;
pub use pipeline::Pipeline;
pub use run::{Request, run};
pub use status::{Phase, Status};
