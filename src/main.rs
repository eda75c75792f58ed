//! The program: exit codes; calls `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ingressd::cli::main(std::env::args_os()).into()
}
