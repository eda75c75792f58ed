//! The options of a run, from flags or the environment.

use clap::{Parser, ValueEnum};

use crate::common::extent::Extent;

/// Measures ingressd over a folder of manifests on this machine.
#[derive(Debug, Parser)]
pub struct Options {
    /// How much is measured.
    #[command(flatten)]
    pub extent: Extent,
    /// Measures one part instead of both.
    #[arg(long, env = "BENCH_ONLY", value_enum)]
    pub only: Option<Part>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Decoding, translating and rendering, in this process.
    Pure,
    /// The daemon with a real nginx.
    Live,
}
