//! What all benchmarks use: applications, changes to them, a daemon under measurement, and the
//! report.

pub mod applications;
pub mod changes;
pub mod extent;
pub mod machine;
pub mod process;
pub mod report;
pub mod session;
pub mod stage;
pub mod times;
