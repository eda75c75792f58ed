//! A node that is drained and undrained: the time until the addresses of all objects follow.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::process::processor_time;
use crate::common::report::Figure;
use crate::common::session::Session;
use crate::measure::STATUS_WRITES;

/// How often it is looked whether all addresses are back.
const LOOK: Duration = Duration::from_millis(50);

/// Drains the only node, so that no Ingress keeps an address, and takes it back.
pub async fn withdrawal(session: &mut Session<'_>) {
    let (written, used) = (session.metric(STATUS_WRITES).await, processor_time(session.daemon.pid()).own);
    let begun = Instant::now();
    // Clients of the stage before are gone; whether they are is not what is measured.
    run(session, "drain", &["--connections-timeout", "0s", "--timeout", "10m"]).await;
    let took = begun.elapsed();
    let withdrawn = session.metric(STATUS_WRITES).await - written;
    session.figures.push(Figure::time("drain: withdrawn from all objects", took));
    session.figures.push(Figure::new("drain: statuses written", "", withdrawn));
    let begun = Instant::now();
    run(session, "undrain", &[]).await;
    while session.metric(STATUS_WRITES).await < written + 2.0 * withdrawn {
        tokio::time::sleep(LOOK).await;
    }
    session.figures.push(Figure::time("undrain: back in all objects", begun.elapsed()));
    let used = processor_time(session.daemon.pid()).own - used;
    session.figures.push(Figure::time("drain and undrain: processor time of the daemon", used));
}

async fn run(session: &Session<'_>, name: &str, arguments: &[&str]) {
    let mut command = tokio::process::Command::from(session.daemon.command(name));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    command.status().await.unwrap();
}
