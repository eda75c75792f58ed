//! A network of its own for each test, in which every pod address is local; it must not know what runs in it.

use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

/// Commands that make the network: all pod addresses, of both families, are this host's own.
const SET_UP: &[&[&str]] = &[
    &["link", "set", "lo", "up"],
    &["route", "add", "local", "10.244.0.0/16", "dev", "lo"],
    &["-6", "route", "add", "local", "fd00:10:244::/64", "dev", "lo"],
    // Networks of nodes, cluster addresses and load balancers, for the other ways to reach a Service.
    &["route", "add", "local", "192.0.2.0/24", "dev", "lo"],
    &["route", "add", "local", "10.96.0.0/16", "dev", "lo"],
    &["route", "add", "local", "203.0.113.0/24", "dev", "lo"],
];

/// Runs a test on a thread of its own in a network namespace of its own. Processes and sockets made from that thread
/// are in the namespace; the namespace ends with the last of them.
///
/// # Panics
///
/// When the test does, and when namespaces are not allowed.
pub fn run_alone(test: impl FnOnce() + Send + 'static) {
    let name = thread::current().name().unwrap_or("test").to_owned();
    let thread = thread::Builder::new().name(name).spawn(move || {
        enter();
        test();
    });
    if let Err(panic) = thread.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

fn enter() {
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        panic!("a network namespace is needed and not allowed ({error}): run `make test`, or the tests as root");
    }
    for arguments in SET_UP {
        let output = Command::new("ip").args(*arguments).output();
        let output = output.unwrap_or_else(|error| panic!("ip (package iproute2) does not run: {error}"));
        assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Whether other users than root exist here: not in a user namespace that maps root alone.
pub fn has_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap();
    map.split_whitespace().last().and_then(|count| count.parse().ok()).is_some_and(|count: u32| count > 1)
}
