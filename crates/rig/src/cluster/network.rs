//! The network of a cluster: one namespace for the control plane, one for each node, and a bridge
//! between them.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;

use nix::sched::{CloneFlags, unshare};

use crate::namespace::{Namespace, ip};

/// The control plane's address, as every node sees it.
pub const CONTROL_PLANE: Ipv4Addr = Ipv4Addr::new(10, 100, 0, 1);

/// The hardware address of the bridge, which no other interface gets.
const HARDWARE_ADDRESS: &str = "02:00:00:00:00:01";

impl Namespace {
    /// Moves this thread into a new one, where nothing is yet.
    pub fn enter_new() -> Self {
        unshare(CloneFlags::CLONE_NEWNET)
            .expect("a network namespace is allowed: run `make test`, or the tests as root");
        ip(&["link", "set", "lo", "up"]);
        Self::current()
    }

    /// A new one, where nothing is yet: for what brings its own.
    pub fn new_empty() -> Self {
        thread::spawn(Self::enter_new).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Makes it the place of the control plane: a bridge, which has its address.
    pub fn become_centre(&self) {
        self.within(|| {
            // By itself the bridge takes the lowest hardware address of its ports. This address
            // may change with each port that comes or goes, and then nodes could not reach the
            // control plane for a minute.
            ip(&["link", "add", "name", "bridge0", "address", HARDWARE_ADDRESS, "type", "bridge"]);
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
        let there = centre.path();
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
