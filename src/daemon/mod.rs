//! Composition: everything that can wake the daemon is an event of one loop; it must not know how any room does its work.

mod cycle;
mod last_good;
mod objects;
mod pacing;
mod quarantine;
mod state_file;

pub use cycle::{Cycle, Product, Report, Stages};
