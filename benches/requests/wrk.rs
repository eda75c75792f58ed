//! Sends requests as fast as they are answered, with `wrk`.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

/// How many clients ask at the same time.
pub const CONNECTIONS: u32 = 64;

/// Sends requests to a host for this time, and returns the number of answers.
///
/// # Panics
///
/// When an answer is none, or another than the backend's.
pub fn drive(address: SocketAddr, host: &str, time: Duration) -> u32 {
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--connections", &CONNECTIONS.to_string()]);
    command.args(["--duration", &format!("{}s", time.as_secs()), "--header", &format!("Host: {host}")]);
    let output = command.arg(format!("http://{address}/")).output();
    let output = output.unwrap_or_else(|error| panic!("wrk (package wrk) does not run: {error}"));
    let words = String::from_utf8_lossy(&output.stdout);
    let all_is_well = output.status.success() && !words.contains("Non-2xx") && !words.contains("Socket errors");
    assert!(all_is_well, "{host} at {address}: {words}{}", String::from_utf8_lossy(&output.stderr));
    let requests = words.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse().ok());
    requests.unwrap_or_else(|| panic!("wrk tells no number of requests: {words}"))
}
