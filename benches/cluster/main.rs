//! `make bench`, at a Kubernetes API server: how fast and how large ingressd is.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken may panic")]

mod apart;
mod churn;
#[expect(dead_code, reason = "a folder of manifests needs more")]
#[path = "../common/mod.rs"]
mod common;
mod fleet;
mod measure;
mod objects;
mod options;
mod targets;
mod withdrawal;

use std::process::ExitCode;

use clap::Parser as _;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use common::machine;
use common::report::Report;
use options::Options;

fn main() -> ExitCode {
    // The processes that this one starts end with it, also when its parent ends first.
    set_pdeathsig(Signal::SIGTERM).unwrap();
    let options = Options::parse();
    if let (Some(size), Some(file)) = (options.alone, &options.figures) {
        let Some(figures) = measure::measure(size, options.extent.samples_at(size), options.churn()) else {
            return ExitCode::FAILURE;
        };
        std::fs::write(file, serde_json::to_string(&figures).unwrap()).unwrap();
        return ExitCode::SUCCESS;
    }
    let mut report = Report::new(machine::facts(), targets::TARGETS);
    let mut code = ExitCode::SUCCESS;
    for &size in &options.extent.sizes {
        match apart::measure(size) {
            Some(figures) => report.add(size, figures),
            None => code = ExitCode::FAILURE,
        }
    }
    print!("{}", report.table());
    println!("{}", report.write("bench-cluster.json"));
    code
}
