//! Runs one size in a process of its own, with a fresh control plane, so that a failure loses the
//! figures of no other size.

use std::fs::File;
use std::io::BufReader;
use std::process::Command;

use crate::common::report::Figure;

/// Measures one size with the flags of this process. `None` when that failed; why is on standard
/// error.
pub fn measure(size: usize) -> Option<Vec<Figure>> {
    let figures = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(std::env::args_os().skip(1));
    command.arg("--alone").arg(size.to_string()).arg("--figures").arg(figures.path());
    let status = command.status().unwrap();
    if !status.success() {
        eprintln!("{size} Ingresses: not measured: {status}");
        return None;
    }
    Some(serde_json::from_reader(BufReader::new(File::open(figures.path()).unwrap())).unwrap())
}
