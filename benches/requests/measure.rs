//! Measures all configurations in turns, so that other load of the machine affects all alike.

use std::time::Duration;

use ingressd_translate::{INGRESS_NGINX, SPECIFICATION};
use nix::unistd::Pid;

use super::contender::{Contender, backends};
use super::{hosts, wrk};
use crate::common::process::processor_time;
use crate::common::report::Figure;
use rig::open_to_all;

/// How often each configuration is tested; the shortest counts.
const TESTS: usize = 5;

/// A host of a contender that is asked in its turn.
struct Turn<'c> {
    name: String,
    contender: &'c Contender,
    worker: Pid,
    host: String,
    /// Microseconds of the worker's processor time for a request, of each round.
    times: Vec<f64>,
}

impl Turn<'_> {
    fn take(&mut self, time: Duration) {
        let before = processor_time(self.worker).own;
        let requests = wrk::drive(self.contender.address, &self.host, time);
        let used = processor_time(self.worker).own - before;
        self.times.push(used.as_secs_f64() * 1e6 / f64::from(requests));
    }
}

/// Measures with this many hosts.
pub fn measure(size: usize, rounds: usize, time: Duration) -> Vec<Figure> {
    let folder = tempfile::Builder::new().prefix("ingressd-bench-").tempdir().unwrap();
    open_to_all(folder.path());
    let _backends = backends(folder.path());
    let rendered =
        |number, name, dialect, shared| Contender::rendered(folder.path(), number, name, size, dialect, shared);
    let contenders = [
        Contender::hand_written(folder.path(), size),
        rendered(1, "specification, own servers", &SPECIFICATION, false),
        rendered(2, "specification, shared servers", &SPECIFICATION, true),
        rendered(3, "ingress-nginx, own servers", &INGRESS_NGINX, false),
        rendered(4, "ingress-nginx, shared servers", &INGRESS_NGINX, true),
    ];
    let mut figures: Vec<_> = contenders.iter().map(test).collect();
    contenders.iter().for_each(Contender::start);
    let mut turns = turns(&contenders, size);
    for round in 0..rounds {
        eprintln!("{size} hosts: round {} of {rounds}", round + 1);
        let count = turns.len();
        (0..count).for_each(|index| turns[(index + round) % count].take(time));
    }
    let each = |turn: &Turn<'_>| Figure::new(format!("{}: per request", turn.name), "us", median(turn.times.clone()));
    figures.extend(turns.iter().map(each));
    let hand_written = turns[0].times.clone();
    for Turn { name, times, .. } in turns.iter().skip(1) {
        // What others do to the machine changes from round to round and falls on both.
        let ratios = times.iter().zip(&hand_written).map(|(own, other)| own / other);
        figures.push(Figure::new(format!("{name}: to hand-written"), "", median(ratios.collect())));
    }
    figures
}

/// One host in the middle, and where nginx looks for its upstream among all, the first and the
/// last one too.
fn turns<'c>(contenders: &'c [Contender], size: usize) -> Vec<Turn<'c>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let turn = |contender: &'c Contender, place: &str, number| {
        let name = format!("{}{place}", contender.name);
        Turn {
            name,
            worker: runtime.block_on(contender.worker()),
            contender,
            host: hosts::host(number),
            times: Vec::new(),
        }
    };
    let (middle, last) = (size / 2, size - 1);
    let of = |contender: &'c Contender| match contender.name.ends_with("shared servers") {
        true => {
            vec![turn(contender, ", first", 0), turn(contender, ", middle", middle), turn(contender, ", last", last)]
        }
        false => vec![turn(contender, "", middle)],
    };
    contenders.iter().flat_map(of).collect()
}

fn test(contender: &Contender) -> Figure {
    let times = (0..TESTS).map(|_| contender.test());
    Figure::time(format!("{}: nginx -t", contender.name), times.min().unwrap())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
