//! The options of a run, from flags or the environment.

use std::time::Duration;

use clap::Parser;

/// Measures what nginx spends on requests on this machine.
#[derive(Debug, Parser)]
pub struct Options {
    /// How many hosts, one run for each number.
    #[arg(long, env = "BENCH_SIZES", value_delimiter = ',', default_values_t = [100, 1000, 5000])]
    pub sizes: Vec<usize>,
    /// How often each configuration has its turn.
    #[arg(long, env = "BENCH_ROUNDS", default_value_t = 9)]
    pub rounds: usize,
    /// How many seconds a turn takes.
    #[arg(long, env = "BENCH_SECONDS", default_value_t = 2)]
    seconds: u64,
    /// Given by `cargo bench` to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    /// How long a turn takes.
    pub fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}
