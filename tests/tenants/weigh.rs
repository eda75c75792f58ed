//! What a tenant's objects weigh: bytes, files, memory, tests and reloads against those of the
//! victim alone.
//!
//! Nothing here is timed. A row runs through one nginx in which both dialects are attacked at
//! once, so that each bound is that of two namespaces.

use std::fs;
use std::path::Path;

use nix::unistd::Pid;
use serde_json::Value;

use crate::asking::{check, check_reported};
use crate::row::{Ask, Reported};
use crate::scene::{Dialect, Order, Ownership, Scene};
use crate::stage::{configuration, taken};
use rig::Rig;
use rig::manifests::ingress;

/// A heavy attack and the most that it may add.
#[derive(Debug, Clone, Copy)]
pub struct Weight {
    pub name: &'static str,
    /// Keys and values, as TOML.
    pub settings: &'static [(&'static str, &'static str)],
    /// The attacker's objects in each namespace.
    pub attack: fn(&Scene) -> Vec<Value>,
    /// Who owns a host in both dialects; by default in each what is its default.
    pub ownership: Option<Ownership>,
    pub reported: &'static [Reported],
    pub during: &'static [Ask],
    /// Text that must be in no file that nginx reads.
    pub unwritten: &'static [&'static str],
    pub most: Added,
}

/// What is more than without the attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added {
    /// Files of the generation.
    pub files: u64,
    /// Their bytes, in KiB.
    pub written: u64,
    /// Memory of nginx's processes that is theirs, in KiB.
    pub nginx: u64,
    /// Shared memory that nginx reserves, in KiB.
    pub reserved: u64,
    /// Memory of the daemon at its worst, in KiB.
    pub daemon: u64,
    /// Bytes of `/status.json`, in KiB.
    pub status: u64,
    /// How often nginx was asked about a configuration.
    pub tests: u64,
    /// How often it read one.
    pub reloads: u64,
}

/// Enough for objects that are refused or reported once.
pub const LITTLE: Added = Added {
    files: 20,
    written: 256,
    nginx: 16 << 10,
    reserved: 64 << 10,
    daemon: 96 << 10,
    status: 256,
    tests: 8,
    reloads: 4,
};

/// The row that others are made of.
pub const WEIGHT: Weight = Weight {
    name: "",
    settings: &[],
    attack: |_| Vec::new(),
    ownership: None,
    reported: &[],
    during: &[],
    unwritten: &[],
    most: LITTLE,
};

/// The shop, and what the victim adds while the attack stands.
const SHOP: &[Ask] = &[
    crate::row::ask("http://shop.{h}/").gets("victim"),
    crate::row::ask("http://shop.{h}/admin").gets("403"),
    crate::row::ask("http://shop.{h}/admin").from("10.244.5.7").gets("admin"),
];
const LATER: Ask = crate::row::ask("http://shop.{h}/private").gets("403");

/// Tries a row.
///
/// # Panics
///
/// When something does not hold.
pub fn weigh(row: &'static Weight) {
    rig::run(async |rig| {
        for (key, value) in row.settings {
            rig.daemon.set(key, value);
        }
        if let Some(ownership) = row.ownership {
            rig.daemon.set("hosts.ownership", ownership.word());
        }
        let scene = |dialect, default| Scene::new(row.name, dialect, row.ownership.unwrap_or(default), Order::Young);
        let scenes =
            [scene(Dialect::Specification, Ownership::Namespace), scene(Dialect::IngressNginx, Ownership::Shared)];
        rig.manifests.write("services.yaml", &scenes.iter().flat_map(Scene::services).collect::<Vec<_>>());
        let shops: Vec<_> = scenes.iter().flat_map(Scene::shop).chain([marker("alone")]).collect();
        rig.manifests.write("victim.yaml", &shops);
        rig.start().await;
        taken(rig, "alone").await;
        let alone = measure(rig).await;

        let attack: Vec<_> = scenes.iter().flat_map(row.attack).collect();
        rig.manifests.write("attack.yaml", &[attack, vec![marker("attack")]].concat());
        let status = taken(rig, "attack").await;
        let mut wrong = Vec::new();
        for scene in &scenes {
            wrong.extend(row.reported.iter().filter_map(|reported| check_reported(reported, scene, &status)));
            for ask in row.during {
                wrong.extend(check(ask, scene).await);
            }
        }

        // A change of the victim's is served, too.
        let later = |scene: &Scene| {
            let private = scene.later("later").path(&scene.host("shop"), "Exact", "/private", "admin");
            private.annotation("allowlist-source-range", "10.244.5.0/24").build()
        };
        rig.manifests.write("later.yaml", &[scenes.each_ref().map(later).to_vec(), vec![marker("later")]].concat());
        taken(rig, "later").await;
        for scene in &scenes {
            for ask in SHOP.iter().chain([&LATER]) {
                wrong.extend(check(ask, scene).await);
            }
        }
        let added = measure(rig).await.minus(alone);
        println!("{}: {added:?}", row.name);
        wrong.extend(added.beyond(row.most));
        let written = configuration(rig);
        wrong.extend(
            row.unwritten.iter().filter(|text| written.contains(**text)).map(|text| format!("nginx reads {text:?}")),
        );
        assert!(wrong.is_empty(), "{}", wrong.join("\n  "));
    });
}

/// An Ingress that shows when the objects that were written with it are served.
fn marker(name: &str) -> Value {
    ingress(name).host(&format!("{name}.marker.test"), "web").build()
}

async fn measure(rig: &Rig) -> Added {
    let workers = rig.nginx.settled_workers().await;
    let master = rig.nginx.master().unwrap();
    let processes = || workers.iter().copied().chain([master]);
    let (files, bytes) = weigh_folder(&rig.daemon.root().join("current/"));
    let status = rig.daemon.get("/status.json").await.unwrap().body.len() as u64;
    let tests = rig.daemon.metric("ingressd_test_duration_seconds_count").await as u64;
    Added {
        files,
        written: bytes >> 10,
        nginx: processes().map(|pid| kibibytes(pid, "smaps_rollup", "Pss:").unwrap()).sum(),
        reserved: kibibytes(master, "status", "VmSize:").unwrap(),
        daemon: kibibytes(rig.daemon.pid(), "status", "VmHWM:").unwrap(),
        status: status >> 10,
        tests,
        reloads: rig.daemon.reloads().await,
    }
}

/// A line of a file in `/proc` that tells KiB; `None` when the process has ended.
pub fn kibibytes(pid: Pid, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// How many files there are below a folder, and how many bytes.
fn weigh_folder(folder: &Path) -> (u64, u64) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.fold((0, 0), |(files, bytes), path| match path.is_dir() {
        true => {
            let (more_files, more_bytes) = weigh_folder(&path);
            (files + more_files, bytes + more_bytes)
        }
        false => (files + 1, bytes + fs::metadata(&path).unwrap().len()),
    })
}

impl Added {
    fn minus(self, other: Added) -> Added {
        Added {
            files: self.files.saturating_sub(other.files),
            written: self.written.saturating_sub(other.written),
            nginx: self.nginx.saturating_sub(other.nginx),
            reserved: self.reserved.saturating_sub(other.reserved),
            daemon: self.daemon.saturating_sub(other.daemon),
            status: self.status.saturating_sub(other.status),
            tests: self.tests - other.tests,
            reloads: self.reloads - other.reloads,
        }
    }

    /// What is more than the most, by name.
    fn beyond(self, most: Added) -> Vec<String> {
        let members = |added: Added| {
            [
                ("files", added.files),
                ("KiB of files", added.written),
                ("KiB of nginx's memory", added.nginx),
                ("KiB that nginx reserves", added.reserved),
                ("KiB of the daemon's memory", added.daemon),
                ("KiB of the status", added.status),
                ("tests", added.tests),
                ("reloads", added.reloads),
            ]
        };
        let pairs = members(self).into_iter().zip(members(most));
        let beyond = pairs.filter(|((_, found), (_, most))| found > most);
        beyond.map(|((name, found), (_, most))| format!("{found} {name} more, of at most {most}")).collect()
    }
}

/// Makes a test of each row.
#[macro_export]
macro_rules! weights {
    ($($test:ident => $row:expr;)*) => {
        $(#[test]
        fn $test() {
            const ROW: &$crate::weigh::Weight = &$row;
            $crate::weigh::weigh(ROW);
        })*
    };
}
