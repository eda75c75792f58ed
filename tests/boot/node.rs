//! An edge node on a machine, as its administrator and its clients see it.

use std::fmt::Debug;

use super::machine::{Disk, Machine};
use super::surroundings::{OtherNode, Surroundings};
use rig::client::{Request, get};
use rig::cluster::history::History;
use rig::load::Load;
use rig::manifests::{ingress, tls_secret};

/// The host that is served.
pub const HOST: &str = "shop.example";

/// A machine in its surroundings. What runs ends with it.
pub struct Node {
    /// The machine.
    pub machine: Machine,
    /// A node beside it, once there is one.
    pub other_node: Option<OtherNode>,
    /// The addresses in the status of the Ingress, over time.
    pub shop: History<Vec<String>>,
    /// What is around it.
    pub around: Surroundings,
}

impl Node {
    /// Boots a disk, with an Ingress in the cluster that has a certificate and one annotation that
    /// is a mistake.
    pub async fn boot(disk: Disk) -> Self {
        let around = Surroundings::new().await;
        around.objects.serve("web", &["10.244.0.1"]).await;
        around.objects.apply(tls_secret("shop", &[HOST])).await;
        let shop = ingress("shop").host(HOST, "web").tls(&[HOST], "shop");
        around.objects.apply(shop.annotation("ssl-redirect", "false").annotation("proxy-body-sizes", "1m")).await;
        let shop = around.objects.follow_addresses("shop").await;
        Node { machine: Machine::boot_in(disk, &around.network), other_node: None, shop, around }
    }

    /// The address that the node publishes.
    pub fn address(&self) -> String {
        self.around.address.to_string()
    }

    /// Requests for the host, over HTTP and HTTPS.
    pub fn requests(&self) -> [Request; 2] {
        ["http", "https"].map(|scheme| get(&format!("{scheme}://{HOST}/")).to(self.around.address))
    }

    /// Waits until the daemon says that it is ready, and fails when clients are not served.
    pub async fn serves(&self) {
        self.machine.until("the daemon to be ready", "curl --silent http://127.0.0.1:10254/readyz", |answer| {
            answer.contains("ok")
        });
        for request in self.requests() {
            let reply = request.clone().send().await;
            assert!(reply.status == 200 && reply.try_echo().is_some(), "{request}: {reply:?}");
            if let Some(peer) = reply.peer {
                assert_eq!(peer.names, [HOST], "the certificate of the Secret");
            }
        }
    }

    /// Waits until the node is published, beside the other node if it has one.
    pub async fn until_published(&self) {
        self.shop.until_published(&sorted(&self.everybody())).await;
    }

    /// Waits until the other node alone is.
    pub async fn until_withdrawn(&self) {
        let other_node = self.other_node.as_ref().expect("somebody who withdraws it");
        self.shop.until_published(&[&other_node.address]).await;
    }

    /// Does something while clients go on, each of whom has to be answered; the node stays
    /// published.
    pub async fn unnoticed<T: Debug>(&self, action: impl AsyncFnOnce(&Machine) -> T) -> T {
        self.until_published().await;
        let mark = self.shop.mark();
        let done = self.under_load(action).await;
        assert_eq!(self.shop.since(mark), [sorted(&self.everybody())], "the address was withdrawn");
        done
    }

    /// Does something while clients go on, each of whom has to be answered.
    pub async fn under_load<T>(&self, action: impl AsyncFnOnce(&Machine) -> T) -> T {
        let load = Load::new(&self.requests()).rates(100, 25).start();
        let done = action(&self.machine).await;
        let report = load.stop().await;
        assert_eq!(report.failures, [""; 0]);
        assert!(report.kept > 0 && report.fresh > 0, "there was no load: {report:?}");
        done
    }

    /// nginx's processes: other numbers mean that it was reloaded or restarted.
    pub fn nginx(&self) -> String {
        // The unit is up before nginx has all its workers.
        let workers = "echo $(pgrep --count --parent $(cat /run/nginx.pid)) of $(getconf _NPROCESSORS_ONLN)";
        self.machine.until("nginx's workers", workers, |counts| {
            let counts = counts.trim().split_once(" of ").map(|(some, all)| (some.parse::<u32>(), all.parse::<u32>()));
            matches!(counts, Some((Ok(some), Ok(all))) if some >= all)
        });
        self.machine.run("nginx -t 2>&1 && pgrep nginx")
    }

    /// A property of the unit.
    pub fn property(&self, name: &str) -> String {
        self.machine.run(&format!("systemctl show --value --property {name} ingressd")).trim().to_owned()
    }

    /// Waits until the line of `systemctl status` is right.
    pub fn until_line(&self, what: &str, right: impl Fn(&str) -> bool) {
        let line = "systemctl show --value --property StatusText ingressd";
        self.machine.until(what, line, |line| right(line.trim()));
    }

    fn everybody(&self) -> Vec<String> {
        let other_node = self.other_node.iter().map(|other_node| other_node.address.clone());
        other_node.chain([self.address()]).collect()
    }
}

fn sorted(addresses: &[String]) -> Vec<&str> {
    let mut sorted: Vec<_> = addresses.iter().map(String::as_str).collect();
    sorted.sort_by_key(|address| address.parse::<std::net::IpAddr>().unwrap());
    sorted
}
