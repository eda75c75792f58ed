//! `make bench`, over a folder of manifests: how fast and how large ingressd is.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken may panic")]

#[path = "../common/mod.rs"]
mod common;
mod live;
mod options;
mod pure;
mod targets;

use clap::Parser as _;

use common::machine;
use common::report::Report;
use options::{Options, Part};

/// The allocator is that of the program that is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let options = Options::parse();
    let mut report = Report::new(machine::facts(), targets::TARGETS);
    for &size in &options.extent.sizes {
        let mut figures = Vec::new();
        if options.only != Some(Part::Live) {
            figures.extend(pure::measure(size));
        }
        if options.only != Some(Part::Pure) {
            figures.extend(live::measure(size, options.extent.samples_at(size)));
        }
        report.add(size, figures);
    }
    print!("{}", report.table());
    println!("{}", report.write("bench.json"));
}
