//! The hosts that the administrator allows to namespaces.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::alone::{apply, scenes, write_services};
use crate::asking::{check, check_reported};
use crate::row::{Ask, Reported, ask, reported};
use crate::scene::Ownership::{Namespace, Shared};
use crate::scene::Scene;
use rig::client::get;
use rig::manifests::{in_namespace, ingress, service_at, tls_secret};
use rig::{ECHO, Rig};

/// Sends these requests in all scenes, and looks for these findings.
async fn expect(rig: &Rig, scenes: &[Scene], asks: &[Ask], reports: &[Reported]) {
    let status = rig.daemon.status().await.unwrap();
    let mut wrong: Vec<_> = scenes
        .iter()
        .flat_map(|scene| reports.iter().filter_map(|reported| check_reported(reported, scene, &status)))
        .collect();
    for scene in scenes {
        for ask in asks {
            wrong.extend(check(ask, scene).await);
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn on(scene: &Scene, of_victim: bool, host: &str) -> serde_json::Value {
    let object = if of_victim { scene.of_victim("shop") } else { scene.of_evil("attack") };
    object.host(&scene.host(host), "web").build()
}

#[test]
fn a_namespace_claims_what_it_may() {
    rig::run(async |rig| {
        let scenes = scenes("allowed");
        let table =
            |namespace: &str, hosts: &[String]| format!("{{ namespaces = [{namespace:?}], hosts = {hosts:?} }}");
        let tables = scenes.iter().flat_map(|scene| {
            // Below the victim's wildcard there is a host that is the other's by the
            // administrator's word.
            [table(&scene.victim, &[scene.host("*")]), table(&scene.evil, &[scene.host("given")])]
        });
        let tables: Vec<_> = tables.chain([table("default", &["*".to_owned()])]).collect();
        rig.daemon.set("hosts.allowed", &format!("[{}]", tables.join(", ")));
        write_services(rig, &scenes);
        rig.start().await;
        // The attacker's Ingress is the older one, and gets nothing.
        apply(rig, "attack", scenes.iter().map(|scene| on(scene, false, "free")).collect()).await;
        let refused = [reported("Ingress attack", &[])];
        expect(rig, &scenes, &[ask("http://free.{h}/").gets("404")], &refused).await;
        let shops = scenes.iter().flat_map(|scene| {
            let shop = scene.of_victim("shop").host(&scene.host("*"), "web").host(&scene.host("free"), "web");
            [shop.build(), scene.of_evil("given").host(&scene.host("given"), "web").build()]
        });
        apply(rig, "shops", shops.collect()).await;
        let asks = [
            ask("http://free.{h}/").gets("victim"),
            ask("http://other.{h}/").gets("victim"),
            ask("http://given.{h}/").gets("evil"),
        ];
        expect(rig, &scenes, &asks, &refused).await;
    });
}

#[test]
fn what_is_for_all_hosts_is_whose_the_administrator_says() {
    rig::run(async |rig| {
        let scenes = scenes("all");
        rig.daemon.set("hosts.catch-all", &format!("[{:?}]", scenes[0].victim));
        rig.daemon.set("default-backend", "default/default");
        write_services(rig, &scenes);
        rig.manifests.write("default.yaml", &service_at("default", &["10.244.1.3"], ECHO));
        rig.start().await;
        let everything = |object: rig::manifests::Ingress| {
            let object = object.path("", "Prefix", "/", "web").annotation("ssl-redirect", "false");
            let mut object = object.build();
            object["spec"]["tls"] = serde_json::json!([{"secretName": "pair"}]);
            object
        };
        // The attacker's are there first.
        let pair = |namespace: &str, name: &str| in_namespace(namespace, tls_secret("pair", &[name]));
        let attack =
            scenes.iter().flat_map(|scene| [everything(scene.of_evil("attack")), pair(&scene.evil, "evil.test")]);
        apply(rig, "attack", attack.collect()).await;
        let refused = [reported("Ingress attack", &["HostOwned"])];
        let unknown = [
            ask("http://unknown.{h}/x").gets("default"),
            ask("https://unknown.{h}/x").gets("default").certificate("!evil.test"),
        ];
        expect(rig, &scenes, &unknown, &refused).await;
        let allowed = vec![everything(scenes[0].of_victim("all")), pair(&scenes[0].victim, "victim.test")];
        apply(rig, "allowed", allowed).await;
        let asks = [
            ask("http://unknown.{h}/x").gets("victim"),
            ask("https://unknown.{h}/x").gets("victim").certificate("victim.test"),
        ];
        expect(rig, &scenes[..1], &asks, &refused).await;
    });
}

#[test]
fn what_waits_is_served_when_the_grace_is_over() {
    rig::run(async |rig| {
        let scenes = scenes("grace");
        rig.daemon.set("hosts.grace", "1h");
        write_services(rig, &scenes);
        rig.start().await;
        apply(rig, "shops", scenes.iter().map(|scene| on(scene, true, "shop")).collect()).await;
        apply(rig, "attack", scenes.iter().map(|scene| on(scene, false, "shop")).collect()).await;
        expect(rig, &scenes, &[ask("http://shop.{h}/").gets("victim")], &[]).await;
        rig.manifests.remove("shops.yaml");
        // A file that is gone may be about to be replaced, for half a second.
        let waits = |status: &Value| {
            let findings = status["findings"].as_array().into_iter().flatten();
            findings.filter(|finding| finding["note"].to_string().contains("`hosts.grace` from")).count()
        };
        rig.daemon.status_when("hosts that wait", |status| waits(status) >= scenes.len()).await;
        // The finding of the object that waits says why, and until when.
        let waits = [
            reported("Ingress attack", &["HostOwned"])
                .words("reserved for the namespace that had it until `hosts.grace` from")
                .only(Namespace),
            reported("Ingress attack", &["PathConflict"]).words("less than `hosts.grace` from").only(Shared),
        ];
        expect(rig, &scenes, &[ask("http://shop.{h}/").never("evil")], &waits).await;
        // The moment from which on it counts outlasts the daemon.
        rig.daemon.set("hosts.grace", "1s");
        rig.daemon.kill();
        rig.daemon.start();
        for scene in &scenes {
            let url = format!("http://{}/", scene.host("shop"));
            get(&url).send_until("who waited to be served", |reply| crate::asking::who(reply) == "evil").await;
        }
    });
}

/// An Ingress of a side for a host of its name, without a date as people write them.
fn undated(scene: &Scene, of_victim: bool, host: &str) -> Value {
    let namespace = if of_victim { &scene.victim } else { &scene.evil };
    ingress(host).namespace(namespace).class(scene.class()).host(&scene.host(host), "web").build()
}

/// The same as an API server has it that got everything within one second.
fn identified(scene: &Scene, of_victim: bool, host: &str, uid: &str) -> Value {
    let mut object = undated(scene, of_victim, host);
    object["metadata"]["creationTimestamp"] = json!("2026-01-02T00:00:00Z");
    object["metadata"]["uid"] = json!(format!("{uid}000000-0000-4000-8000-000000000000"));
    object
}

/// Says when a file of manifests was written, in seconds since 1970.
fn set_written(rig: &Rig, file: &str, seconds: u64) {
    let file = std::fs::File::options().append(true).open(rig.manifests.folder().join(file)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
}

/// Both sides' objects are there when the daemon starts for the first time, and no date tells
/// which was first.
#[test]
fn at_first_sight_no_name_decides() {
    rig::run(async |rig| {
        let scenes = scenes("sight");
        write_services(rig, &scenes);
        let all = |objects: fn(&Scene) -> Vec<Value>| scenes.iter().flat_map(objects).collect::<Vec<_>>();
        let victims = |scene: &Scene| {
            vec![
                undated(scene, true, "file"),
                undated(scene, true, "late"),
                identified(scene, true, "uid", "11"),
                identified(scene, true, "high", "22"),
            ]
        };
        let attack = |scene: &Scene| {
            vec![
                undated(scene, false, "file"),
                identified(scene, false, "uid", "22"),
                identified(scene, false, "high", "11"),
            ]
        };
        rig.manifests.write("early.yaml", &all(|scene| vec![undated(scene, false, "late")]));
        rig.manifests.write("victim.yaml", &all(victims));
        rig.manifests.write("attack.yaml", &all(attack));
        for (file, seconds) in
            [("early.yaml", 1_700_000_000), ("victim.yaml", 1_700_000_001), ("attack.yaml", 1_700_000_002)]
        {
            set_written(rig, file, seconds);
        }
        rig.start().await;
        apply(rig, "seen", Vec::new()).await;
        let asks = [
            ask("http://file.{h}/").gets("victim"),
            ask("http://late.{h}/").gets("evil"),
            ask("http://uid.{h}/").gets("victim"),
            // The UID decides, which a tenant cannot choose, and not the namespace.
            ask("http://high.{h}/").gets("evil"),
        ];
        let refused = |object| reported(object, &["HostOwned", "PathConflict"]);
        let reports = [
            refused("Ingress file"),
            refused("Ingress uid"),
            refused("Ingress late").to_victim(),
            refused("Ingress high").to_victim(),
        ];
        expect(rig, &scenes, &asks, &reports).await;

        // A host that is served stays with its owner, also when its file is the younger one at the
        // next start.
        let edited = |scene: &Scene| {
            let mut objects = [undated(scene, true, "file"), identified(scene, true, "uid", "33")];
            objects.iter_mut().for_each(|object| object["metadata"]["labels"] = json!({"edited": "yes"}));
            objects.to_vec()
        };
        rig.manifests.write("victim.yaml", &all(edited));
        set_written(rig, "victim.yaml", 1_700_000_009);
        set_written(rig, "attack.yaml", 1_600_000_000);
        rig.daemon.kill();
        rig.daemon.start();
        apply(rig, "again", Vec::new()).await;
        expect(rig, &scenes, &[asks[0], asks[2]], &reports[..2]).await;
    });
}

#[test]
fn a_host_belongs_to_one_namespace_in_every_class() {
    one_rule("namespace", ask("http://shop.{h}/below").gets("victim"));
}

#[test]
fn a_host_is_shared_in_every_class() {
    one_rule("shared", ask("http://shop.{h}/below").gets("evil"));
}

fn one_rule(word: &'static str, below: Ask) {
    rig::run(async move |rig| {
        let scenes = scenes("rule");
        rig.daemon.set("hosts.ownership", word);
        write_services(rig, &scenes);
        rig.start().await;
        apply(rig, "shops", scenes.iter().map(|scene| on(scene, true, "shop")).collect()).await;
        let attack =
            |scene: &Scene| scene.of_evil("attack").path(&scene.host("shop"), "Prefix", "/below", "web").build();
        apply(rig, "attack", scenes.iter().map(attack).collect()).await;
        expect(rig, &scenes, &[ask("http://shop.{h}/").gets("victim"), below], &[]).await;
    });
}
