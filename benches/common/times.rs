//! Measures the time until something is observed from outside, and summarizes many such times.

use std::time::{Duration, Instant};

use crate::common::report::Figure;
use rig::client::{Reply, Request};
use rig::wait;

/// Least time between two requests that ask whether a change is served.
const PAUSE: Duration = Duration::from_millis(2);

/// Which part of the time that has passed may pass until the next request: the measurement uses
/// the same processors, so a long wait is measured less often, with the same relative error.
const RESOLUTION: u32 = 50;

/// Sends requests until the answer is right, and returns the time that it took.
///
/// # Panics
///
/// When it never is.
pub async fn served(begun: Instant, request: &Request, right: impl Fn(&Reply) -> bool) -> Duration {
    let mut last = None;
    while begun.elapsed() < wait::LIMIT {
        // The client opens a connection of its own: a kept connection would stay with a worker of
        // the generation before.
        match request.clone().try_send().await {
            Ok(reply) if right(&reply) => return begun.elapsed(),
            answer => last = Some(answer),
        }
        tokio::time::sleep(PAUSE.max(begun.elapsed() / RESOLUTION)).await;
    }
    panic!("never served: {request:?}: {last:#?}");
}

/// The middle and the nearly longest of some times; the very longest where the report says `max`.
pub fn percentiles(name: &str, mut times: Vec<Duration>) -> [Figure; 3] {
    times.sort();
    let figure = |of: &str, percent| Figure::time(format!("{name}, {of}"), percentile(&times, percent));
    [figure("p50", 50), figure("p99", 99), figure("max", 100)]
}

/// The least of the sorted times that so many of a hundred do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
}
