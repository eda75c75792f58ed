//! Settings for running beside a controller: other ports, and no statuses. It must not know how
//! flags are converted.

use std::fmt::Write as _;

use super::answer::Ports;
use crate::controller::Controller;

/// The default ports meanwhile: none that a controller uses as its chart installs it. Its webhook
/// uses 8443.
pub const BESIDE: Ports = Ports { http: 8080, https: 8444 };

/// The flags of the controller with ports of its own.
const PORTS: &[&str] = &[
    "http-port",
    "https-port",
    "default-server-port",
    "healthz-port",
    "profiler-port",
    "ssl-passthrough-proxy-port",
    "status-port",
    "stream-port",
    "validating-webhook",
];

/// Our status port on loopback meanwhile.
const STATUS: u16 = 10266;
const PASSTHROUGH: u16 = 10267;
const HEALTH: u16 = 10264;

const HEAD: &str = "
# Settings for the time side by side: no port of the controller, also where it uses the network of this node, and no
# writes to statuses. Replace this file with the output of `ingressd migrate settings` afterwards.
";

/// The settings meanwhile, whatever the flags are, with the reasons.
fn settings(ports: Ports) -> [(&'static str, String, &'static str); 7] {
    [
        ("listen.http-port", ports.http.to_string(), ""),
        ("listen.https-port", ports.https.to_string(), "redirects name the port 443: see listen.public-https-port"),
        ("listen.status", format!("\"127.0.0.1:{STATUS}\""), "the controller has 10246"),
        ("listen.passthrough-port", PASSTHROUGH.to_string(), "the controller has 10247"),
        ("http.address", format!("\"127.0.0.1:{HEALTH}\""), "the controller has 10254"),
        ("publish.status", "false".to_owned(), "the addresses in the status stay those of the controller"),
        ("publish.lease", "\"ingressd-side-by-side\"".to_owned(), "nodes in service do not publish this one"),
    ]
}

/// The drop-in for running side by side.
pub fn side_by_side(drop_in: &str, ports: Ports) -> String {
    let settings = settings(ports);
    let mut own = HEAD.to_owned();
    for (key, value, why) in &settings {
        // Writing to a string does not fail.
        let _ = match *why {
            "" => writeln!(own, "{key} = {value}"),
            why => writeln!(own, "{key} = {value} # {why}"),
        };
    }
    let is_replaced = |line: &str| settings.iter().any(|(key, ..)| line.starts_with(&format!("{key} = ")));
    let line = |line: &str| {
        if is_replaced(line) {
            format!(
                "# Not side by side: {line}
"
            )
        } else {
            format!("{line}\n")
        }
    };
    // Keys stand before tables.
    let (keys, tables) = drop_in.split_at(drop_in.find("\n[[").unwrap_or(drop_in.len()));
    keys.lines().map(line).collect::<String>() + &own + tables
}

/// Why ports cannot be used side by side, and free ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Each port with its present user.
    pub by: Vec<(u16, String)>,
    /// Free ports.
    pub free: Ports,
}

/// Which of these ports are used already: by the controller, which may have the network of the
/// same node, or by a setting above. `None` when both are free.
pub fn taken(controller: &Controller, ports: Ports) -> Option<Taken> {
    let taken = own_ports(controller);
    let owner = |port: u16| taken.iter().find(|(taken, _)| *taken == port).map(|(_, by)| (port, by.clone()));
    let mut by: Vec<_> = [ports.http, ports.https].into_iter().filter_map(owner).collect();
    if ports.http == ports.https {
        by.push((ports.https, "the port for http".to_owned()));
    }
    let free = |mut ports: std::ops::RangeFrom<u16>, other| ports.find(|port| *port != other && owner(*port).is_none());
    let http = free(BESIDE.http.., 0).unwrap_or(BESIDE.http);
    let https = free(BESIDE.https.., http).unwrap_or(BESIDE.https);
    (!by.is_empty()).then_some(Taken { by, free: Ports { http, https } })
}

/// The ports that are used: those of the controller's flags, and ours on loopback.
fn own_ports(controller: &Controller) -> Vec<(u16, String)> {
    let of_controller = PORTS.iter().filter_map(|flag| {
        // The value of the webhook's flag is an address.
        let value = controller.value_or_default(flag);
        let port = value.rsplit(':').next().and_then(|port| port.parse().ok())?;
        Some((port, format!("the controller's --{flag}={value}")))
    });
    let ours = [(STATUS, "listen.status"), (PASSTHROUGH, "listen.passthrough-port"), (HEALTH, "http.address")];
    of_controller.chain(ours.map(|(port, key)| (port, format!("the setting {key} meanwhile")))).collect()
}
