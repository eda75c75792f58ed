//! A network of its own for each test, in which every pod address is local.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// Commands that make the network: all pod addresses, of both families, are this host's own.
const SET_UP: &[&[&str]] = &[
    &["link", "set", "lo", "up"],
    &["route", "add", "local", "10.244.0.0/16", "dev", "lo"],
    &["-6", "route", "add", "local", "fd00:10:244::/64", "dev", "lo"],
    // These are the networks of nodes, cluster addresses and load balancers, for the other ways to
    // reach a Service.
    &["route", "add", "local", "192.0.2.0/24", "dev", "lo"],
    &["route", "add", "local", "10.96.0.0/16", "dev", "lo"],
    &["route", "add", "local", "203.0.113.0/24", "dev", "lo"],
];

/// A network namespace, which lives at least as long as this value. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Namespace(Arc<File>);

impl Namespace {
    /// The one that this thread is in.
    pub fn current() -> Self {
        Namespace(Arc::new(File::open("/proc/thread-self/ns/net").unwrap()))
    }

    /// A new one like that of each test.
    pub fn of_a_test() -> Self {
        let make = || {
            enter();
            Self::current()
        };
        thread::spawn(make).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Does something in it, on a thread of its own.
    pub fn within<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            setns(&self.0, CloneFlags::CLONE_NEWNET).unwrap();
            action()
        };
        match thread::scope(|scope| scope.spawn(inside).join()) {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    /// The number that the kernel gives it while it exists.
    pub fn number(&self) -> u64 {
        self.0.metadata().unwrap().ino()
    }

    /// Where it can be found in `/proc`.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

/// Runs a test on a thread of its own in a network namespace of its own. Processes and sockets
/// made from that thread are in the namespace; the namespace ends with the last of them.
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
        ip(arguments);
    }
}

/// Changes the network of the namespace that this thread is in.
pub fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("ip (package iproute2) does not run: {error}"));
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Adds an interface of this name to the namespace that this thread is in; all that is connected
/// to it is another one beside it.
pub fn add_interface(name: &str) {
    let other = format!("{name}-peer");
    ip(&["link", "add", "name", name, "type", "veth", "peer", "name", &other]);
    ip(&["link", "set", &other, "up"]);
    ip(&["link", "set", name, "up"]);
}

/// Whether other users than root exist here: not in a user namespace that maps root alone.
pub fn has_users() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap();
    map.split_whitespace().last().and_then(|count| count.parse().ok()).is_some_and(|count: u32| count > 1)
}
