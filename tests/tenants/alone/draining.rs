//! Old workers that connections keep alive.

use crate::alone::{apply, scenes, write_services};
use crate::scene::Scene;
use crate::weigh::kibibytes;
use rig::client::get;
use rig::manifests::{endpoint_slice, in_namespace, service_at};
use rig::{ECHO, Rig, wait};

/// How often the attacker changes its endpoints.
const CHANGES: usize = 8;

/// Generations of old workers that the settings allow. nginx has two workers.
const MOST: usize = 2;

/// Endpoints of a Service of the attacker's, by which a worker becomes large.
const ENDPOINTS: usize = 2000;

/// Memory, in KiB, that the connections of the test take, and what differs from worker to worker.
const SLACK: u64 = 32 << 10;

/// Memory of master and workers that is theirs, in KiB.
fn memory(rig: &Rig) -> u64 {
    let all = rig.nginx.workers().into_iter().chain(rig.nginx.master());
    all.filter_map(|pid| kibibytes(pid, "smaps_rollup", "Pss:")).sum()
}

/// Starts with few old workers allowed, and with reloads that follow each other soon.
async fn begin(rig: &mut Rig, name: &str) -> [Scene; 2] {
    rig.daemon.set("pacing.most-draining", &MOST.to_string());
    rig.daemon.set("pacing.draining-time", "0s");
    rig.daemon.set("pacing.spacing", "50ms");
    let scenes = scenes(name);
    write_services(rig, &scenes);
    rig.start().await;
    scenes
}

#[test]
fn connections_that_never_end_keep_so_many_workers() {
    rig::run(async |rig| {
        let scenes = begin(rig, "drain").await;
        let own = |scene: &Scene| {
            let own = scene.of_evil("own").host(&scene.host("own"), "web");
            own.annotation("proxy-read-timeout", "3600").annotation("proxy-send-timeout", "3600").build()
        };
        apply(rig, "shops", scenes.iter().flat_map(Scene::shop).collect()).await;
        apply(rig, "own", scenes.iter().map(own).collect()).await;
        let large = |scene: &Scene| {
            let addresses: Vec<_> =
                (0..ENDPOINTS).map(|number| format!("10.100.{}.{}", number >> 8, number & 255)).collect();
            let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
            let service = service_at("large", &addresses, ECHO).map(|object| in_namespace(&scene.evil, object));
            let object = scene.of_evil("large").host(&scene.host("large"), "large").build();
            service.into_iter().chain([object]).collect::<Vec<_>>()
        };
        apply(rig, "large", scenes.iter().flat_map(large).collect()).await;
        rig.nginx.settled_workers().await;
        // The master is counted, because it has the configuration as well.
        let alone = memory(rig);
        let mut open = Vec::new();
        for change in 0..CHANGES {
            for scene in &scenes {
                // There are so many that each worker has one.
                for _ in 0..4 {
                    let url = format!("http://{}/", scene.host("own"));
                    open.push(get(&url).open_websocket().await.unwrap());
                }
            }
            let slice = |scene: &Scene| {
                let slice = endpoint_slice("other", &[&format!("10.244.2.{}", change + 2)], ECHO);
                let service = rig::manifests::service("other", ECHO);
                let object = scene.of_evil("other").host(&scene.host("other"), "other").build();
                [in_namespace(&scene.evil, slice), in_namespace(&scene.evil, service), object]
            };
            apply(rig, &format!("change-{change}"), Vec::new()).await;
            apply(rig, "other", scenes.iter().flat_map(slice).collect()).await;
            // Workers that were told to end may still be there for a moment.
            let workers = async || rig.nginx.workers().len();
            wait::until_right("old workers to be few", workers, |count| *count <= 2 + 2 * MOST).await;
            let together = memory(rig);
            println!("{} workers and their master: {together} KiB, {alone} KiB before", workers().await);
            assert!(together <= (1 + MOST as u64) * alone + SLACK, "{alone} KiB became {together}");
            for scene in &scenes {
                let url = format!("http://{}/", scene.host("shop"));
                assert_eq!(get(&url).send().await.status, 200);
            }
        }
    });
}

#[test]
fn connections_that_are_ended_count_against_no_client() {
    const CLIENT: &str = "10.244.7.7";
    rig::run(async |rig| {
        let scenes = begin(rig, "counted").await;
        let limited = |scene: &Scene| {
            let shop = scene.of_victim("shop").host(&scene.host("shop"), "web").annotation("limit-connections", "2");
            shop.annotation("proxy-read-timeout", "3600").build()
        };
        let own = |scene: &Scene| {
            scene.of_evil("own").host(&scene.host("own"), "web").annotation("proxy-read-timeout", "3600").build()
        };
        apply(rig, "shops", scenes.iter().map(limited).collect()).await;
        apply(rig, "own", scenes.iter().map(own).collect()).await;
        rig.nginx.settled_workers().await;
        // All connections that a client may have to the shops of both, for as long as it likes.
        let ask = |scene: &Scene| get(&format!("http://{}/", scene.host("shop"))).from(CLIENT);
        let mut held = Vec::new();
        for scene in &scenes {
            held.extend([ask(scene).open_websocket().await.unwrap(), ask(scene).open_websocket().await.unwrap()]);
            assert_eq!(ask(scene).send().await.status, 503, "{scene}: the limit");
        }
        // The attacker changes its endpoints and keeps old workers busy, until those with the
        // client's connections are ended.
        let mut busy = Vec::new();
        for change in 0..CHANGES {
            for scene in scenes.iter().cycle().take(8) {
                let url = format!("http://{}/", scene.host("own"));
                busy.push(get(&url).open_websocket().await.unwrap());
            }
            let slice = |scene: &Scene| {
                let slice = endpoint_slice("web", &["10.244.2.1", &format!("10.244.2.{}", change + 2)], ECHO);
                in_namespace(&scene.evil, slice)
            };
            apply(rig, "slices", scenes.iter().map(slice).collect()).await;
            apply(rig, &format!("change-{change}"), Vec::new()).await;
        }
        for connection in &mut held {
            assert!(connection.say("still there?").await.is_err(), "the attack ends no worker of the client's");
        }
        for scene in &scenes {
            // Two at once: a request that is answered may count for a moment longer.
            let [mut again, mut other] =
                [ask(scene).open_websocket().await, ask(scene).open_websocket().await].map(|opened| {
                    opened.unwrap_or_else(|why| panic!("{scene}: connections that are no more count: {why}"))
                });
            assert_eq!(ask(scene).send().await.status, 503, "{scene}: the limit is still there");
            assert!(again.say("a").await.is_ok() && other.say("b").await.is_ok());
        }
    });
}
