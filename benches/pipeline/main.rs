//! `make bench`: how fast and how large ingressd is, seen from outside; it must not know how anything works inside.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken may panic")]

mod applications;
mod changes;
mod live;
mod machine;
mod options;
mod process;
mod pure;
mod report;
#[expect(unused_imports, reason = "the rig offers more than is needed here")]
#[path = "../../tests/rig/mod.rs"]
mod rig;

use clap::Parser as _;

use options::{Options, Part};
use report::Report;

/// As in the program that is measured.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let options = Options::parse();
    let mut report = Report::new(machine::facts());
    for &size in &options.sizes {
        let mut figures = Vec::new();
        if options.only != Some(Part::Live) {
            figures.extend(pure::measure(size));
        }
        if options.only != Some(Part::Pure) {
            figures.extend(live::measure(size, options.samples_at(size)));
        }
        report.add(size, figures);
    }
    print!("{}", report.table());
    println!("{}", report.write());
}
