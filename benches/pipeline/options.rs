//! What is asked of a run, by flags or by the environment; it must not know how anything is measured.

use clap::{Parser, ValueEnum};

/// Measures ingressd on this machine.
#[derive(Debug, Parser)]
pub struct Options {
    /// How many Ingresses, one run for each number.
    #[arg(long, env = "BENCH_SIZES", value_delimiter = ',', default_values_t = [100, 1000, 5000])]
    pub sizes: Vec<usize>,
    /// How often each sort of change is made, instead of a number that fits the size.
    #[arg(long, env = "BENCH_SAMPLES")]
    samples: Option<usize>,
    /// One part instead of both.
    #[arg(long, env = "BENCH_ONLY", value_enum)]
    pub only: Option<Part>,
    /// Given by `cargo bench` to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// Decoding, translating and rendering, in this process.
    Pure,
    /// The daemon with a real nginx.
    Live,
}

impl Options {
    /// How often each sort of change is made: less often where each takes longer.
    pub fn samples_at(&self, size: usize) -> usize {
        self.samples.unwrap_or(match size {
            0..500 => 30,
            500..3000 => 20,
            _ => 10,
        })
    }
}
