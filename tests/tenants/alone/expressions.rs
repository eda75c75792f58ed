//! Regular expressions for hosts (`server-alias`) where the administrator allows them to
//! namespaces.

use serde_json::Value;

use crate::alone::{apply, scenes, write_services};
use crate::asking::{check, check_reported, check_victim, who};
use crate::row::{Ask, ask, reported};
use crate::scene::Scene;
use rig::Rig;
use rig::client::get;
use rig::manifests::{in_namespace, tls_secret};

/// Hosts of the victim by name and by wildcard, and hosts that no Ingress has; the last two come
/// later.
const VICTIMS: &[Ask] = &[
    ask("http://shop.{h}/").gets("victim"),
    ask("http://SHOP.{h}/x").gets("victim"),
    ask("http://shop.{h}/admin").gets("403"),
    ask("http://a.wild.{h}/").gets("victim"),
    ask("https://secure.{h}/").gets("victim").certificate("secure.{h}"),
    ask("https://a.wild.{h}/").gets("victim").certificate("*.wild.{h}"),
    ask("http://broken.{h}/").gets("404"),
    ask("http://x.broken-wild.{h}/").gets("404"),
    ask("https://broken.{h}/").gets("404").certificate("!evil.{h}"),
];

/// Hosts that are left for the attacker, and requests that name no host: the node's address.
const REST: &[Ask] = &[
    ask("http://unknown.{h}/").gets("evil"),
    ask("http://b.a.wild.{h}/").gets("evil"),
    ask("http://x.broken.{h}/").gets("evil"),
    ask("http://unknown.{h}/").with(&[("host", "192.0.2.1")]).never("evil"),
    ask("http://unknown.{h}/").with(&[("host", "[2001:db8::1]")]).never("evil"),
];

/// Every host of the case, by what all of its names end with.
fn all(scene: &Scene, before: &str) -> String {
    format!(r"~{before}\.{}$", scene.fill("{h}").replace('.', r"\."))
}

/// All namespaces may have expressions. Where a host belongs to one namespace, the administrator
/// has to allow them.
fn allow(rig: &mut Rig) {
    rig.daemon.set("hosts.allowed", "[{namespaces = ['*'], hosts = ['*']}]");
}

fn shops(scene: &Scene) -> Vec<Value> {
    let [secure, wild] = ["secure", "*.wild"].map(|name| scene.host(name));
    let pair = |name: &str, host: &str| in_namespace(&scene.victim, tls_secret(name, &[host]));
    let broken = scene.of_victim("broken").host(&scene.host("broken"), "web").host(&scene.host("*.broken-wild"), "web");
    let own = scene.of_victim("tls").host(&wild, "web").tls(&[&wild], "wild").annotation("ssl-redirect", "false");
    let exact = scene.of_victim("secure").host(&secure, "web").tls(&[&secure], "secure");
    [
        scene.shop(),
        vec![
            own.build(),
            exact.build(),
            // This alias cannot be read. The Ingress keeps its hosts, and is not served.
            broken.annotation("server-alias", "a b").build(),
            pair("secure", &secure),
            pair("wild", &wild),
        ],
    ]
    .concat()
}

#[test]
fn an_expression_takes_no_host_that_somebody_has_or_will_have() {
    rig::run(async |rig| {
        allow(rig);
        let scenes = scenes("alias");
        write_services(rig, &scenes);
        rig.start().await;
        apply(rig, "shops", scenes.iter().flat_map(shops).collect()).await;
        // Objects that are older than the victim's ask for everything, by an expression that nginx
        // tries at once and by one that costs.
        let attack = |scene: &Scene| {
            let evil = |name: &str, alias: &str| {
                let host = scene.host(name);
                let object =
                    scene.of_evil(name).created("2020-01-01T00:00:00Z").host(&host, "web").tls(&[&host], "pair");
                object.annotation("ssl-redirect", "false").annotation("server-alias", alias).build()
            };
            let pair = tls_secret("pair", &[&scene.host("evil"), &scene.host("secure"), &scene.host("broken")]);
            vec![
                evil("all", &all(scene, "")),
                evil("long", &all(scene, "(.*)-(.*)")),
                evil("costly", "~^(a+)+$"),
                in_namespace(&scene.evil, pair),
            ]
        };
        let status = apply(rig, "attack", scenes.iter().flat_map(attack).collect()).await;
        let mut wrong = Vec::new();
        for scene in &scenes {
            for ask in VICTIMS.iter().chain(REST) {
                wrong.extend(check(ask, scene).await);
            }
            wrong.extend(check_reported(
                &reported("Ingress costly", &["RefusedValue"]).words("too many ways"),
                scene,
                &status,
            ));
        }
        // An expression that only nginx refuses harms no other object: the victim's change is
        // served, and a host that comes later goes to its owner.
        let refused = |scene: &Scene| {
            let object = scene.of_evil("refused").host(&scene.host("refused"), "web");
            let later = scene.later("later").host(&scene.host("later"), "web").host(&scene.host("*.later"), "web");
            [object.annotation("server-alias", r"~(?<=a+)b$").build(), later.build()]
        };
        let status = apply(rig, "refused", scenes.iter().flat_map(refused).collect()).await;
        let later = [ask("http://later.{h}/").gets("victim"), ask("http://a.later.{h}/").gets("victim")];
        for scene in &scenes {
            for ask in VICTIMS.iter().chain(REST).chain(&later) {
                wrong.extend(check(ask, scene).await);
            }
            wrong.extend(check_reported(
                &reported("Ingress refused", &["Quarantined", "RefusedValue"]),
                scene,
                &status,
            ));
            let allowed = ["InvalidValue", "RefusedValue", "StrictPaths"];
            let whole: Vec<_> =
                shops(scene).into_iter().filter(|object| object["metadata"]["name"] != "broken").collect();
            wrong.extend(check_victim(&allowed, &whole, scene, &status));
        }
        // A host that its owner removed is kept for it for a while.
        let fewer = scenes
            .iter()
            .flat_map(|scene| shops(scene).into_iter().filter(|object| object["metadata"]["name"] != "tls"));
        rig.manifests.write("shops.yaml", &fewer.collect::<Vec<_>>());
        apply(rig, "fewer", Vec::new()).await;
        for scene in &scenes {
            wrong.extend(check(&ask("http://a.wild.{h}/").gets("404"), scene).await);
            wrong.extend(check(&ask("http://shop.{h}/").gets("victim"), scene).await);
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    });
}

/// Sites of the administrator that take requests for hosts of no other site.
const SITES: &[&str] = &[
    "server { listen 80 default_server; server_name site.test; return 200 site; }\n",
    "server { listen 80; server_name ~^(?<name>.+)$; return 200 site; }\n",
];

#[test]
fn an_expression_takes_nothing_from_another_site_of_the_host() {
    for site in SITES {
        rig::run(async move |rig| {
            allow(rig);
            rig.nginx.write_site("site", site);
            let scenes = scenes("site");
            write_services(rig, &scenes);
            rig.start().await;
            apply(rig, "shops", scenes.iter().flat_map(shops).collect()).await;
            let attack = |scene: &Scene| {
                let object = scene.of_evil("attack").host(&scene.host("own"), "web");
                object.annotation("server-alias", &all(scene, "")).build()
            };
            let status = apply(rig, "attack", scenes.iter().map(attack).collect()).await;
            for scene in &scenes {
                for name in ["unknown", "site"] {
                    let reply = get(&format!("http://{}/", scene.host(name))).send().await;
                    assert_eq!(reply.text(), "site", "{scene}: {name} of {site}");
                }
                assert_eq!(who(&get(&format!("http://{}/", scene.host("own"))).send().await), "evil");
                let reported = reported("Ingress attack", &["HostConflict"]).words("sites-enabled/site:1");
                assert_eq!(check_reported(&reported, scene, &status), None);
            }
        });
    }
}
