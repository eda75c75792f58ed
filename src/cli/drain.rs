//! The commands `drain` and `undrain`: withdraw this node from what is published, and wait for
//! that.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::exit::{Ended, Exit};
use super::settings::SettingsArguments;
use super::status::ask;
use ingressd_config::{Settings, duration};
use ingressd_model::finding::count;

/// How often the daemon is asked for progress.
const PAUSE: Duration = Duration::from_millis(200);

/// The least time between two lines about progress.
const SPACING: Duration = Duration::from_secs(2);

/// Arguments of `ingressd drain`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The addresses of this node are withdrawn from the status of all Ingresses, and /readyz answers 503. nginx \
    and the daemon go on, so that clients who still come are served. The node stays drained over restarts of \
    daemon and host until `ingressd undrain`. `ingressd status`, the line of `systemctl status` and the \
    metric ingressd_drained show it.\n\n\
    The command waits until the cluster returns no status with an address of this node any more (unless \
    another node publishes the same address), and then until no client is connected to the ports of \
    Ingresses. Connections to other sites of this host on the same ports are counted, too. When the time to \
    wait is over, the node stays drained.\n\n\
    Where no other node is published, hosts are left without any address, and clients that look them up get \
    none. The command warns of that, and withdraws the addresses all the same.")]
pub struct Arguments {
    /// How long to wait for the withdrawal, such as 90s or 5m.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    timeout: Duration,
    /// How long to wait afterwards for the end of connections; with 0s the command does not wait.
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration)]
    connections_timeout: Duration,
    /// Only tell the daemon, and wait for nothing.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Arguments of `ingressd undrain`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    The leader adds the addresses of this node again, and /readyz answers as before.")]
pub struct UndoArguments {
    #[command(flatten)]
    settings: SettingsArguments,
}

/// Runs the command `undrain`.
pub fn undo(arguments: &UndoArguments) -> Ended {
    order(&arguments.settings.load_to_ask()?, "undrain")?;
    Ok(Exit::Success)
}

/// Runs the command `drain`.
pub fn run(arguments: &Arguments) -> Ended {
    let settings = arguments.settings.load_to_ask()?;
    order(&settings, "drain")?;
    if arguments.no_wait {
        return Ok(Exit::Success);
    }
    let mut warned = false;
    let withdrawal = wait(&settings, arguments.timeout, |withdrawal| is_withdrawn(withdrawal, &mut warned))?;
    let Some(withdrawal) = withdrawal else {
        complain!(
            "ingressd: the node is drained, but its withdrawal was not seen within {} s: is there a leader, and does it reach the \
             API server? `ingressd status` tells. The node stays drained.",
            arguments.timeout.as_secs()
        );
        return Ok(Exit::Unavailable);
    };
    let withdrawn = match withdrawal["published"].as_bool() {
        Some(true) => "no status of the cluster has an address of this node",
        _ => "the source is a folder: nothing is published of this node",
    };
    complain!("{withdrawn}");
    match wait(&settings, arguments.connections_timeout, is_empty)? {
        Some(_) => {
            complain!("no client is connected");
            Ok(Exit::Success)
        }
        None => {
            complain!("ingressd: clients are still connected; the node stays drained");
            Ok(Exit::Findings)
        }
    }
}

fn order(settings: &Settings, request: &str) -> Result<(), Exit> {
    let (_, answer) = ask(settings, request)?;
    match answer["error"].as_str() {
        None => Ok(()),
        Some(why) => {
            complain!("ingressd: {}", why.escape_debug());
            Err(Exit::Unavailable)
        }
    }
}

/// Asks the daemon until `look` finds what is waited for, at least once; `None` after the time
/// limit. What it finds instead is reported.
fn wait(
    settings: &Settings,
    limit: Duration,
    mut look: impl FnMut(&Value) -> Result<(), String>,
) -> Result<Option<Value>, Exit> {
    let (begun, mut reporter) = (Instant::now(), Reporter::default());
    loop {
        let (_, status) = ask(settings, "status")?;
        let withdrawal = &status["withdrawal"];
        match (status["drained"] == true).then(|| look(withdrawal)) {
            Some(Ok(())) => return Ok(Some(withdrawal.clone())),
            Some(Err(words)) => reporter.report(words),
            None => {}
        }
        if begun.elapsed() >= limit {
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether the cluster has no address of this node.
fn is_withdrawn(withdrawal: &Value, warned: &mut bool) -> Result<(), String> {
    if withdrawal["others"] == 0 && !std::mem::replace(warned, true) {
        complain!(
            "ingressd: warning: no other node is published: hosts are left without any address, and clients who look them up \
             get none. `ingressd undrain` takes this node back in."
        );
    }
    match (&withdrawal["current"], withdrawal["ingresses"].as_u64()) {
        _ if withdrawal["done"] == true => Ok(()),
        (Value::Bool(false), _) => Err("what the cluster says is not known at the moment".to_owned()),
        (_, Some(0) | None) => Err("waiting for the cluster to know of it".to_owned()),
        (_, Some(left)) => {
            Err(format!("{} an address of this node in the status", count(left, "Ingress has", "Ingresses have")))
        }
    }
}

/// Whether no client is connected.
fn is_empty(withdrawal: &Value) -> Result<(), String> {
    match withdrawal["connections"].as_u64() {
        Some(0) => Ok(()),
        Some(open) => Err(count(open, "connection is open", "connections are open")),
        None => Err("how many connections are open is not known".to_owned()),
    }
}

/// Prints changes, at once and then now and then: connections come and go by the hundred.
#[derive(Default)]
struct Reporter {
    reported: Option<(String, Instant)>,
}

impl Reporter {
    fn report(&mut self, words: String) {
        let is_due = |(reported, at): &(String, Instant)| *reported != words && at.elapsed() >= SPACING;
        if self.reported.as_ref().is_none_or(is_due) {
            complain!("{words}");
            self.reported = Some((words, Instant::now()));
        }
    }
}
