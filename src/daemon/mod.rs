//! Composition: everything that can wake the daemon is an event of one loop; it must not know how any room does its work.

pub mod access;
mod candidates;
mod certificate;
pub mod control;
mod cycle;
mod dns;
mod drain;
mod error;
mod feed;
mod http;
mod last_good;
pub mod log;
mod metrics;
mod names;
mod notify;
mod objects;
mod options;
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
pub use dns::Dns;
pub use error::Error;
pub use names::look_up;
pub use options::to_look_with;
pub use pipeline::Pipeline;
pub use run::{Request, run};
pub use status::{Phase, Status};
