//! The commands of docs/migrate.md, from the first to the last: a booted node replaces a
//! controller of ingress-nginx.

#[path = "../live/take_over/clients.rs"]
mod clients;
#[expect(dead_code, reason = "the tests of the take-over alone use all of it")]
#[path = "../live/take_over/controller.rs"]
mod controller;
mod stand_in;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use self::stand_in::StandIn;
use super::documents::in_cluster;
use super::machine::{Disk, Machine};
use super::pages::{self, Block, Page, Place, TRIED_ALONE};
use super::surroundings::Surroundings;
use super::{packages, surroundings};
use rig::client::get;
use rig::manifests::ingress;

super::on_each_release!(a_node_takes_the_place_of_the_controller);

/// Where the node's administrator works.
const FOLDER: &str = "/root/download";

/// The address of the controller, as the page has it.
const OLD: &str = "192.0.2.10";

/// After these parts of the page something is different in the cluster.
const PARTS: [&str; 9] = [
    "Inventory",
    "Report",
    "Settings",
    "Side by side",
    "Compare",
    "Nodes for clients",
    "Take-over",
    "Undo",
    "Switch the controller off",
];

fn a_node_takes_the_place_of_the_controller(release: &'static str) {
    surroundings::run(async move || {
        let disk = Disk::of(release);
        let around = Surroundings::new().await;
        around.add_address(OLD);
        let stand_in = StandIn::start(&around, OLD).await;
        let machine = Machine::boot_in(disk, &around.network);
        machine.disk.write_for_owner(&format!("{FOLDER}/admin.conf"), &around.administrator());
        machine.disk.copy(&packages::deb(), &format!("{FOLDER}/ingressd_0-1_amd64.deb"));
        let desk = tempfile::tempdir().unwrap();
        let shop = around.objects.follow_addresses("shop").await;
        let clients = stand_in.clients(Arc::new(around.objects.follow_addresses("cart").await));

        let page = pages::page(TRIED_ALONE);
        let mut seen = BTreeSet::new();
        let migration = Migration { page: &page, machine: &machine, around: &around, desk: desk.path() };
        for part in parts(&page) {
            match part {
                // Nobody can ask for logs here: there are no kubelets.
                "Compare" => machine.disk.write(&format!("{FOLDER}/access.log"), &stand_in.log()),
                "Switch the controller off" => migration.nobody_may_change_an_ingress_without_the_webhook().await,
                _ => {}
            }
            migration.run(part);
            migration.is_as_the_page_says(part, &stand_in).await;
            if part == "Undo" {
                // When the cause is corrected, the take-over is run again.
                migration.run("Take-over");
                migration.is_as_the_page_says("Take-over", &stand_in).await;
            }
            seen.insert(part);
        }
        assert_eq!(seen, PARTS.into_iter().collect(), "parts of the page with commands");

        let new = around.address.to_string();
        let expected = [OLD, &new, OLD, &new].map(|address| vec![address.to_owned()]);
        assert_eq!(shop.states(), expected);
        let answered = clients.stop().await;
        assert_eq!(answered.failures, [""; 0]);
        assert!(answered.by_controller > 0 && answered.by_nodes > 0, "{answered:?}");
    });
}

/// The headings of the page below which something is run, in order.
fn parts(page: &Page) -> Vec<&str> {
    let mut parts: Vec<_> = tried(page).map(|block| part(page, block)).collect();
    parts.dedup();
    parts
}

fn tried(page: &Page) -> impl Iterator<Item = &Block> {
    page.blocks.iter().filter(|block| block.language() == "sh" && block.place().is_some())
}

/// The heading that a block stands below.
fn part<'a>(page: &'a Page, block: &Block) -> &'a str {
    let before = page.text.lines().take(block.line);
    before.filter_map(|line| line.strip_prefix("## ")).last().unwrap_or_default()
}

struct Migration<'a> {
    page: &'a Page,
    machine: &'a Machine,
    around: &'a Surroundings,
    /// Where the administrator of the cluster works.
    desk: &'a Path,
}

impl Migration<'_> {
    /// Runs what one part of the page says. On the node everything is said to one shell, whose
    /// variables last.
    fn run(&self, name: &str) {
        for block in tried(self.page).filter(|block| part(self.page, block) == name) {
            println!("{}:{}", self.page.name, block.line);
            match block.place() {
                Some(Place::Node) => {
                    self.machine.disk.write("/root/block.sh", &format!("{}\nexport -p > /root/session\n", block.text));
                    let session = "touch /root/session && . /root/session";
                    self.machine.run(&format!("{session} && cd {FOLDER} && sh -e /root/block.sh"));
                }
                _ => in_cluster(&self.around.plane.kubeconfig(), self.desk, &block.text),
            }
        }
    }

    async fn is_as_the_page_says(&self, part: &str, stand_in: &StandIn) {
        let objects = &self.around.objects;
        let new = self.around.address.to_string();
        match part {
            "Report" => assert!(self.desk.join("report.html").exists()),
            "Side by side" => {
                let beside = get("http://shop.example:8080/").to(self.around.address);
                assert_eq!(beside.send().await.status, 308, "it serves on the other ports");
                assert_eq!(objects.addresses("shop").await, [OLD]);
            }
            "Compare" => {
                let report = self.machine.run(&format!("cat {FOLDER}/compare.json"));
                let report: serde_json::Value = serde_json::from_str(&report).unwrap();
                assert_eq!((&report["verdict"], &report["unsteady"]), (&"clean".into(), &0.into()), "{report:#}");
                // The lines name no host: each host that leads to the backend is asked.
                let each = u64::try_from(stand_in::INGRESSES.len()).unwrap();
                assert!(report["asked"].as_u64().is_some_and(|asked| asked >= each), "{report:#}");
                assert_eq!(report["leftOut"]["unreadable"], 0, "{report:#}");
            }
            "Nodes for clients" => {
                // An administrator looks at this first before going on.
                let held = "ingressd status --cluster";
                self.machine.until("a node that holds back", held, |text| text.contains("held back"));
                assert_eq!(objects.addresses("shop").await, [OLD]);
            }
            "Take-over" => {
                for name in stand_in::INGRESSES {
                    objects.until_published(name, &[&new]).await;
                }
                assert_eq!(get("https://shop.example/").to(self.around.address).send().await.status, 200);
            }
            "Undo" => {
                for name in stand_in::INGRESSES {
                    objects.until_published(name, &[OLD]).await;
                }
                assert!(self.machine.run(&format!("ls {FOLDER}")).lines().all(|file| !file.contains("take-over")));
            }
            "Switch the controller off" => {
                stand_in.until_off().await;
                objects.apply(ingress("late").class("nginx").host("late.example", "web")).await;
                objects.until_published("late", &[&new]).await;
                assert_eq!(objects.addresses("shop").await, [new], "nothing went with the controller");
                assert_eq!(get("http://late.example/").to(self.around.address).send().await.status, 200);
            }
            _ => {}
        }
    }

    /// Why the page removes the webhook before the pods.
    async fn nobody_may_change_an_ingress_without_the_webhook(&self) {
        let api = self.around.objects.api("Ingress");
        let change = kube::api::Patch::Merge(json!({ "metadata": { "labels": { "changed": "yes" } } }));
        let refused = api.patch("shop", &kube::api::PatchParams::default(), &change).await;
        let why = refused.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(why.contains("webhook"), "{why:?}");
    }
}
