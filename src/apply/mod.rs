//! From files to a running nginx: stage, test, switch, HUP, confirm, or roll back; it must not know what the files mean.

mod outcome;

pub use outcome::{Complaint, Outcome};
