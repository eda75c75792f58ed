//! Services of type ExternalName: which names are resolved, and the cost.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::alone::{apply, scenes, write_services};
use crate::scene::Scene;
use rig::client::get;
use rig::dns::Dns;
use rig::manifests::in_namespace;
use rig::{ECHO, Rig, wait};

async fn start(rig: &mut Rig, scenes: &[Scene]) -> Dns {
    let dns = Dns::start().await;
    rig.daemon.set("upstreams.resolvers", &format!("[\"{}\"]", dns.address()));
    rig.daemon.set("upstreams.resolve-interval", "100ms");
    write_services(rig, scenes);
    dns.set("victim.backend.test", &["10.244.1.1"]);
    rig.start().await;
    dns
}

fn external(namespace: &str, service: &str, name: &str) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": service},
        "spec": {"type": "ExternalName", "externalName": name, "ports": [{"port": ECHO}]}
    });
    in_namespace(namespace, object)
}

/// A host `named` of the victim's whose backend is behind a name.
fn named(scene: &Scene) -> Vec<Value> {
    let backend = json!({"service": {"name": "named", "port": {"number": ECHO}}});
    let object = scene.of_victim("named").path_to(&scene.host("named"), "Prefix", "/", backend).build();
    vec![object, external(&scene.victim, "named", "victim.backend.test")]
}

/// Names of the attacker's, and an Ingress that refers to them if it is to.
fn many(scene: &Scene, count: usize, end: &str, referred: bool) -> Vec<Value> {
    let services = (0..count)
        .map(|number| external(&scene.evil, &format!("s-{number}"), &format!("n{number}.{}.{end}", scene.mark)));
    let mut objects: Vec<_> = services.collect();
    if referred {
        let attack = (0..count).fold(scene.of_evil("attack"), |attack, number| {
            let backend = json!({"service": {"name": format!("s-{number}"), "port": {"number": ECHO}}});
            attack.path_to(&scene.host("own"), "Prefix", &format!("/{number}"), backend)
        });
        objects.push(attack.build());
    }
    objects
}

async fn victims_are_served(scenes: &[Scene]) {
    for scene in scenes {
        let url = format!("http://{}/", scene.host("named"));
        get(&url).send_until("the victim's name", |reply| reply.status == 200).await;
    }
}

#[test]
fn nobody_asks_for_names_that_no_route_refers_to() {
    rig::run(async |rig| {
        let scenes = scenes("idle");
        let dns = start(rig, &scenes).await;
        apply(rig, "attack", scenes.iter().flat_map(|scene| many(scene, 50, "idle.test", false)).collect()).await;
        apply(rig, "named", scenes.iter().flat_map(named).collect()).await;
        victims_are_served(&scenes).await;
        // It is asked for again and again, and the others would have been.
        let again = async || dns.asked().iter().filter(|name| *name == "victim.backend.test").count();
        wait::until_right("the victim's name to be asked for again", again, |count| *count >= 6).await;
        let idle: Vec<_> = dns.asked().into_iter().filter(|name| name.ends_with("idle.test")).collect();
        assert_eq!(idle, [""; 0]);
    });
}

#[test]
fn names_that_never_answer_keep_no_other_waiting() {
    rig::run(async |rig| {
        let scenes = scenes("silent");
        let dns = start(rig, &scenes).await;
        dns.be_silent_about("silent.test");
        apply(rig, "attack", scenes.iter().flat_map(|scene| many(scene, 300, "silent.test", true)).collect()).await;
        let silent = async || dns.asked().iter().filter(|name| name.ends_with("silent.test")).count();
        wait::until_right("names that never answer", silent, |count| *count >= 4).await;
        let before = dns.asked().len();
        apply(rig, "named", scenes.iter().flat_map(named).collect()).await;
        victims_are_served(&scenes).await;
        // Each namespace has its turn: most of the six hundred others were asked for later, or
        // long before.
        let asked = dns.asked();
        let meanwhile = asked[before..].iter().take_while(|name| *name != "victim.backend.test").count();
        assert!(meanwhile < 200, "{meanwhile} questions came before the victim's");
    });
}

#[test]
fn an_answer_in_another_order_is_no_other_answer() {
    rig::run(async |rig| {
        let scenes = scenes("rotating");
        let dns = start(rig, &scenes).await;
        for scene in &scenes {
            for number in 0..20 {
                dns.set(
                    &format!("n{number}.{}.rotating.test", scene.mark),
                    &["10.244.2.1", "10.244.2.2", "10.244.2.3"],
                );
            }
        }
        apply(rig, "attack", scenes.iter().flat_map(|scene| many(scene, 20, "rotating.test", true)).collect()).await;
        for scene in &scenes {
            for number in 0..20 {
                let url = format!("http://{}/{number}", scene.host("own"));
                get(&url).send_until("a name", |reply| reply.status == 200).await;
            }
        }
        apply(rig, "settled", Vec::new()).await;
        let file = rig.daemon.state().join("names.json");
        // They are written now and then, the last of them after the others.
        let written = async || {
            let names: BTreeMap<String, Value> = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            names.len()
        };
        wait::until_right("all names in the file", written, |count| *count == scenes.len() * 20).await;
        dns.rotate(3);
        let version = || std::fs::metadata(&file).map(|file| file.ino()).unwrap();
        let (kept, reloads, asked) = (version(), rig.daemon.reloads().await, dns.asked().len());
        let again = async || dns.asked().len() - asked;
        wait::until_right("names to be asked for again", again, |count| *count >= 3 * 80).await;
        assert_eq!(version(), kept, "the answers were written again");
        assert_eq!(rig.daemon.reloads().await, reloads);
    });
}

#[test]
fn answers_that_change_all_the_time_are_written_now_and_then() {
    rig::run(async |rig| {
        let scenes = scenes("changing");
        let dns = start(rig, &scenes).await;
        for scene in &scenes {
            for number in 0..20 {
                dns.set(
                    &format!("n{number}.{}.changing.test", scene.mark),
                    &["10.244.2.1", "10.244.2.2", "10.244.2.3"],
                );
            }
        }
        dns.rotate(1);
        apply(rig, "attack", scenes.iter().flat_map(|scene| many(scene, 20, "changing.test", true)).collect()).await;
        let file = rig.daemon.state().join("names.json");
        // Each writing is another file.
        let version = || std::fs::metadata(&file).ok().map(|file| (file.ino(), file.ctime_nsec()));
        let (began, asked) = (Instant::now(), dns.asked().len());
        let (mut last, mut written) = (version(), 0);
        let again = async || {
            let now = version();
            written += u64::from(now != last);
            last = now;
            dns.asked().len() - asked
        };
        wait::until_right("names to be asked for again", again, |count| *count >= 600).await;
        let seconds = began.elapsed().as_secs();
        assert!(written <= 2 + seconds, "written {written} times in {seconds} s");
    });
}

#[test]
fn an_answer_with_thousands_of_addresses_is_bounded() {
    rig::run(async |rig| {
        let scenes = scenes("large");
        let dns = start(rig, &scenes).await;
        let addresses: Vec<_> = (1..=70).map(|number| format!("10.244.2.{number}")).collect();
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        for scene in &scenes {
            dns.set(&format!("n0.{}.large.test", scene.mark), &addresses);
        }
        apply(rig, "attack", scenes.iter().flat_map(|scene| many(scene, 1, "large.test", true)).collect()).await;
        for scene in &scenes {
            let url = format!("http://{}/0", scene.host("own"));
            get(&url).send_until("a name", |reply| reply.status == 200).await;
        }
        apply(rig, "settled", Vec::new()).await;
        let written = crate::stage::configuration(rig);
        let servers = written.matches("server 10.244.2.").count();
        assert!((1..=2 * 64).contains(&servers), "{servers} addresses");
    });
}
