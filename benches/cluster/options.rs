//! The options of a run, from flags or the environment.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::common::extent::Extent;

/// Measures ingressd at a Kubernetes API server on this machine.
#[derive(Debug, Parser)]
pub struct Options {
    /// How much is measured.
    #[command(flatten)]
    pub extent: Extent,
    /// How many seconds ten changes are made each second.
    #[arg(long, env = "BENCH_CHURN", default_value_t = 30)]
    churn: u64,
    /// Measures only this many, for the process that reports.
    #[arg(long, hide = true, requires = "figures")]
    pub alone: Option<usize>,
    /// Where it finds the figures.
    #[arg(long, hide = true)]
    pub figures: Option<PathBuf>,
}

impl Options {
    /// How long many changes are made.
    pub fn churn(&self) -> Duration {
        Duration::from_secs(self.churn)
    }
}
