//! The network of a cluster: one namespace for the control plane, one for each node, and a bridge between them; it must not know what runs there.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// The control plane's address, as every node sees it.
pub const CONTROL_PLANE: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 1);

/// A network namespace, which lives at least as long as this value.
pub struct Namespace(File);

impl Namespace {
    /// The one that this thread is in.
    pub fn current() -> Self {
        Namespace(File::open("/proc/thread-self/ns/net").unwrap())
    }

    /// Moves this thread into a new one, where nothing is yet.
    pub fn enter_new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET)
            .expect("a network namespace is allowed: run `make test`, or the tests as root");
        ip(&["link", "set", "lo", "up"]);
        Self::current()
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

    /// Makes it the place of the control plane: a bridge, which has its address.
    pub fn become_centre(&self) {
        self.within(|| {
            ip(&["link", "add", "name", "bridge0", "type", "bridge"]);
            ip(&["address", "add", &format!("{CONTROL_PLANE}/16"), "dev", "bridge0"]);
            ip(&["link", "set", "bridge0", "up"]);
        });
    }

    /// Connects it with a centre, and returns its address there.
    pub fn connect_to(&self, centre: &Namespace) -> Ipv4Addr {
        static NODES: AtomicU16 = AtomicU16::new(0);
        let number = NODES.fetch_add(1, Ordering::Relaxed);
        let [high, low] = (256 + number).to_be_bytes();
        let (name, address) = (format!("node{number}"), Ipv4Addr::new(10, 100, high, low));
        let there = format!("/proc/{}/fd/{}", std::process::id(), centre.0.as_raw_fd());
        self.within(|| {
            ip(&["link", "add", "name", "cluster0", "type", "veth", "peer", "name", &name, "netns", &there]);
            ip(&["address", "add", &format!("{address}/16"), "dev", "cluster0"]);
            ip(&["link", "set", "cluster0", "up"]);
        });
        centre.within(|| ip(&["link", "set", &name, "master", "bridge0", "up"]));
        address
    }

    /// Cuts it off from the cluster, or connects it again.
    pub fn set_connected(&self, connected: bool) {
        self.within(|| ip(&["link", "set", "cluster0", if connected { "up" } else { "down" }]));
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("ip (package iproute2) does not run: {error}"));
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
