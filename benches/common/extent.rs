//! The sizes and numbers of a run, from flags or the environment.

use clap::Args;

/// How much is measured.
#[derive(Debug, Args)]
pub struct Extent {
    /// How many Ingresses, one run for each number.
    #[arg(long, env = "BENCH_SIZES", value_delimiter = ',', default_values_t = [100, 1000, 5000])]
    pub sizes: Vec<usize>,
    /// How often each sort of change is made, instead of a number that fits the size.
    #[arg(long, env = "BENCH_SAMPLES")]
    samples: Option<usize>,
    /// Given by `cargo bench` to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Extent {
    /// How often each sort of change is made: less often where each takes longer.
    pub fn samples_at(&self, size: usize) -> usize {
        self.samples.unwrap_or(match size {
            0..500 => 30,
            500..3000 => 20,
            _ => 10,
        })
    }
}
