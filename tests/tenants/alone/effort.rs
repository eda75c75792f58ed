//! The most expensive expressions that are allowed, under constant requests.

use nix::unistd::Pid;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::alone::{apply, scenes, write_services};
use crate::asking::{check, check_reported};
use crate::row::reported;
use crate::rows::hosts::SHOP;
use crate::scene::Scene;
use rig::Rig;
use rig::client::get;

/// More expressions than a host has room for, each as heavy as one may be. What a request asks for
/// takes each of them all the steps that there are ways to divide it, and none of them matches.
const EXPRESSIONS: usize = 60;

/// A path for which an expression takes nearly as many steps as it may.
const LONG: usize = 96;

/// One for which it would take millions: PCRE gives up.
const TOO_LONG: usize = 1500;

/// How many requests each of so many clients makes.
const REQUESTS: usize = 6;
const CLIENTS: usize = 4;

/// So many requests of the victim's clients are taken for the measure of what a request costs this
/// machine.
const MEASURE: usize = 400;

/// What a request to the attacker may cost at most, in requests of the victim's: where all
/// expressions of the host take nearly what they may, which is 100 ms or some 2000 of them, and
/// where PCRE gives up the first of them, which is 5 ms.
const FACTOR: u64 = 5000;
const FACTOR_OF_ONE: u64 = 500;

fn heavy(scene: &Scene) -> Vec<Value> {
    let object = |number: usize| {
        let object = scene.of_evil(&format!("attack-{number:02}")).annotation("use-regex", "true");
        // The path has nothing that PCRE could look for before it begins.
        let path = format!("/.*.*.*[^a{:03}]", 100 + number);
        object.path(&scene.host("own"), "ImplementationSpecific", &path, "web").build()
    };
    (0..EXPRESSIONS).map(object).collect()
}

/// Processor time of nginx's workers until now, in ticks of the clock.
fn worked(workers: &[Pid]) -> u64 {
    let of = |pid: &Pid| {
        let stat = procfs::process::Process::new(pid.as_raw()).and_then(|process| process.stat()).unwrap();
        stat.utime + stat.stime
    };
    workers.iter().map(of).sum()
}

/// Asks for the shops of all scenes, and says what is wrong.
async fn ask_shops(scenes: &[Scene]) -> Vec<String> {
    let mut wrong = Vec::new();
    for scene in scenes {
        for ask in SHOP {
            wrong.extend(check(ask, scene).await);
        }
    }
    wrong
}

/// Asks for paths of so many letters of all hosts of the attacker, over and over, and says what
/// came of each.
async fn ask_attacker(scenes: &[Scene], letters: usize) -> Vec<u16> {
    let urls: Vec<_> =
        scenes.iter().map(|scene| format!("http://{}/{}", scene.host("own"), "a".repeat(letters))).collect();
    let mut found = Vec::new();
    for _ in 0..REQUESTS {
        for url in &urls {
            found.push(get(url).send().await.status);
        }
    }
    found
}

/// Has clients of the attacker's ask while those of the victim ask too; how often these were
/// answered meanwhile.
async fn attack(scenes: &[Scene; 2], letters: usize, expected: u16, wrong: &mut Vec<String>) -> usize {
    let mut attackers = JoinSet::new();
    for _ in 0..CLIENTS {
        let scenes = scenes.clone();
        attackers.spawn(async move { ask_attacker(&scenes, letters).await });
    }
    let mut answered = 0;
    while !attackers.is_empty() {
        wrong.extend(ask_shops(scenes).await);
        answered += 1;
        while let Some(done) = attackers.try_join_next() {
            let found = done.unwrap();
            wrong.extend(
                found.iter().filter(|status| **status != expected).map(|status| format!("{letters}: {status}")),
            );
        }
    }
    answered
}

#[test]
fn expressions_of_others_take_as_long_as_they_may_and_no_longer() {
    rig::run(async |rig: &mut Rig| {
        let scenes = scenes("effort");
        write_services(rig, &scenes);
        rig.start().await;
        apply(rig, "shops", scenes.iter().flat_map(Scene::shop).collect()).await;
        let status = apply(rig, "attack", scenes.iter().flat_map(heavy).collect()).await;
        for scene in &scenes {
            // As many are served as there is room for.
            let first = status["ingresses"].as_array().unwrap().iter().find(|known| {
                known["namespace"] == *scene.evil && known["name"] == "attack-00" && known["routes"] == 1
            });
            assert!(first.is_some(), "{scene}: {status:#}");
            assert_eq!(check_reported(&reported("Ingress attack-59", &["TooManyPaths"]), scene, &status), None);
        }
        let workers = rig.nginx.settled_workers().await;
        let before = worked(&workers);
        let shops = scenes.iter().map(|scene| format!("http://{}/", scene.host("shop"))).cycle();
        for url in shops.take(MEASURE) {
            assert_eq!(get(&url).send().await.status, 200);
        }
        let measure = (worked(&workers) - before).max(1);

        let mut wrong = Vec::new();
        for (letters, expected, factor) in [(LONG, 404, FACTOR), (TOO_LONG, 500, FACTOR_OF_ONE)] {
            let before = worked(&workers);
            let answered = attack(&scenes, letters, expected, &mut wrong).await;
            let taken = worked(&workers) - before;
            let requests = (CLIENTS * REQUESTS * scenes.len()) as u64;
            println!(
                "{letters}: {requests} requests took {taken} ticks, {MEASURE} of the victim's {measure}; answered {answered}"
            );
            // PCRE did work, and gives up early where it would be too much.
            assert!(letters == TOO_LONG || taken > measure, "{letters}: {taken} ticks, and {measure} for the measure");
            let most = requests * factor * measure / MEASURE as u64;
            assert!(taken <= most, "{letters}: {taken} ticks of at most {most}");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    });
}
