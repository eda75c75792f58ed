//! `make bench`, requests: the processor time of nginx for a request, with the configuration of
//! ingressd and with a hand-written one.
#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken may panic")]

#[expect(dead_code, reason = "measuring the daemon needs more")]
#[path = "../common/mod.rs"]
mod common;
mod contender;
mod hosts;
mod measure;
mod options;
mod targets;
mod wrk;

use std::sync::mpsc;

use clap::Parser as _;

use common::machine;
use common::report::Report;
use options::Options;

fn main() {
    let options = Options::parse();
    let mut report = Report::new(machine::facts(), targets::TARGETS);
    for size in options.sizes.clone() {
        let (sender, receiver) = mpsc::channel();
        let (rounds, time) = (options.rounds, options.time());
        rig::namespace::run_alone(move || sender.send(measure::measure(size, rounds, time)).unwrap());
        report.add(size, receiver.recv().unwrap());
    }
    print!("{}", report.table());
    println!("{}", report.write("bench-requests.json"));
}
