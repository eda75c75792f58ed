//! What administrators say about who may have which hosts; it must not know how that is kept.

use crate::alone::{apply, scenes, write_services};
use crate::asking::{check, check_told};
use crate::rig::client::get;
use crate::rig::manifests::{in_namespace, service_at, tls_secret};
use crate::rig::{self, ECHO, Rig};
use crate::row::{Ask, Told, ask, told};
use crate::scene::Scene;

/// Asks of all scenes, and looks for what is told.
async fn expect(rig: &Rig, scenes: &[Scene], asks: &[Ask], tells: &[Told]) {
    let status = rig.daemon.status().await.unwrap();
    let mut wrong: Vec<_> =
        scenes.iter().flat_map(|scene| tells.iter().filter_map(|told| check_told(told, scene, &status))).collect();
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
            // Below the victim's wildcard there is a host that is the other's by the administrator's word.
            [table(&scene.victim, &[scene.host("*")]), table(&scene.evil, &[scene.host("given")])]
        });
        let tables: Vec<_> = tables.chain([table("default", &["*".to_owned()])]).collect();
        rig.daemon.set("hosts.allowed", &format!("[{}]", tables.join(", ")));
        write_services(rig, &scenes);
        rig.start().await;
        // It comes first, and in vain.
        apply(rig, "attack", scenes.iter().map(|scene| on(scene, false, "free")).collect()).await;
        let refused = [told("Ingress attack", &[])];
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
        let everything = |object: crate::rig::manifests::Ingress| {
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
        let refused = [told("Ingress attack", &["HostOwned"])];
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
        rig.daemon.set("hosts.grace", "2s");
        write_services(rig, &scenes);
        rig.start().await;
        apply(rig, "shops", scenes.iter().map(|scene| on(scene, true, "shop")).collect()).await;
        apply(rig, "attack", scenes.iter().map(|scene| on(scene, false, "shop")).collect()).await;
        expect(rig, &scenes, &[ask("http://shop.{h}/").gets("victim")], &[]).await;
        apply(rig, "shops", Vec::new()).await;
        rig.manifests.remove("shops.yaml");
        for scene in &scenes {
            let url = format!("http://{}/", scene.host("shop"));
            get(&url).send_until("who waited to be served", |reply| crate::asking::who(reply) == "evil").await;
        }
    });
}

#[test]
fn a_host_belongs_to_one_namespace_whatever_the_class() {
    one_rule("namespace", ask("http://shop.{h}/below").gets("victim"));
}

#[test]
fn a_host_is_shared_whatever_the_class() {
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
