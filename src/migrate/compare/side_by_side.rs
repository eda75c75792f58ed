//! Settings for the time in which both programs serve the same objects: other ports, and no status; it must not know what a flag becomes.

use std::fmt::Write as _;

use super::answer::Ports;

/// The ports meanwhile, where nobody says others.
pub const BESIDE: Ports = Ports { http: 8080, https: 8443 };

const HEAD: &str = "
# The time side by side: no port of the controller's, also where it has the network of this node, and nothing that it
# writes. Take the place of this file with `ingressd migrate settings` when it ends.
";

/// What is set meanwhile, whatever flags say; why.
fn settings(ports: Ports) -> [(&'static str, String, &'static str); 7] {
    [
        ("listen.http-port", ports.http.to_string(), ""),
        (
            "listen.https-port",
            ports.https.to_string(),
            "redirects name the port 443 all the same: see listen.public-https-port",
        ),
        ("listen.status", "\"127.0.0.1:10266\"".to_owned(), "the controller has 10246"),
        ("listen.passthrough-port", "10267".to_owned(), "the controller has 10247"),
        ("http.address", "\"127.0.0.1:10264\"".to_owned(), "the controller has 10254"),
        ("publish.status", "false".to_owned(), "the addresses in the status stay those of the controller"),
        ("publish.lease", "\"ingressd-side-by-side\"".to_owned(), "nodes in service do not publish this one"),
    ]
}

/// The drop-in for the time side by side.
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
    let line =
        |line: &str| if is_replaced(line) { format!("# Side by side not: {line}\n") } else { format!("{line}\n") };
    // Keys stand before tables.
    let (keys, tables) = drop_in.split_at(drop_in.find("\n[[").unwrap_or(drop_in.len()));
    keys.lines().map(line).collect::<String>() + &own + tables
}
