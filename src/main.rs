//! The program: exit codes; calls `cli`.

use std::process::ExitCode;

/// It gives memory back to the system at once, as `.cargo/config.toml` tells it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    ingressd::cli::main(std::env::args_os()).into()
}
