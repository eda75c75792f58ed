//! Two namespaces at the API server that ask for the same hosts and paths: Events, addresses and
//! claims.

use serde_json::{Value, json};

use crate::nodes::{SHORT, nodes};
use rig::ECHO;
use rig::client::get;
use rig::cluster::history::History;
use rig::cluster::node::Node;
use rig::cluster::objects::{ADDRESS, Objects};
use rig::cluster::{self, Cluster};
use rig::manifests::{Ingress, in_namespace, ingress, service_at};
use rig::wait;

/// The backends of both sides.
const VICTIM: &str = "10.244.0.1";
const EVIL: &str = "10.244.0.2";

/// The classes of both dialects, and the reason of the finding about a refused Ingress there.
const CLASSES: [(&str, &str); 2] = [("ingressd", "HostOwned"), ("nginx", "PathConflict")];

/// The other namespace, with a backend.
async fn attacker(cluster: &Cluster) -> Objects {
    let namespace = format!("evil-{}", cluster.objects.namespace());
    cluster.objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})).await;
    for object in service_at("web", &[EVIL], ECHO) {
        cluster.objects.apply(in_namespace(&namespace, object)).await;
    }
    cluster.objects.in_namespace(&namespace)
}

/// An Ingress of one side in a class, whose name says which.
fn claim(side: &str, class: &str, host: &str) -> Ingress {
    ingress(&format!("{side}-{class}")).class(class).path(&format!("{host}-{class}.example"), "Prefix", "/", "web")
}

async fn create(cluster: &Cluster, evil: &Objects, object: Ingress) {
    cluster.objects.apply(object.namespace(evil.namespace())).await;
}

/// The backend that answers for a host, or the status where none does.
async fn who(host: &str, class: &str) -> String {
    let reply = get(&format!("http://{host}-{class}.example/")).send().await;
    reply.try_echo().map_or(reply.status.to_string(), |echo| echo.address.ip().to_string())
}

/// The Events about an Ingress with this reason.
async fn reported(objects: &Objects, name: &str, reason: &str) -> Vec<String> {
    let events = objects.events().await.into_iter();
    let about = events.filter(|event| event["regarding"]["name"] == name && event["reason"] == reason);
    about.map(|event| event["note"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The victim's hosts `shop`, served and published.
async fn serve_shops(cluster: &mut Cluster) {
    cluster.objects.serve("web", &[VICTIM]).await;
    for (class, _) in CLASSES {
        cluster.objects.apply(claim("shop", class, "shop")).await;
    }
    cluster.start().await;
    for (class, _) in CLASSES {
        cluster.objects.until_published(&format!("shop-{class}"), &[ADDRESS]).await;
    }
}

/// Waits until the attacker's claims on `shop` are refused, and looks for what follows from that.
async fn refused(cluster: &Cluster, evil: &Objects) {
    for (class, reason) in CLASSES {
        let name = format!("attack-{class}");
        let notes = async || reported(evil, &name, reason).await;
        let notes = wait::until_right(&format!("{reason} of {name}"), notes, |notes| !notes.is_empty()).await;
        // Neither the victim's object nor its Service is named.
        let host = format!("shop-{class}.example");
        let names_any = |note: &String| ["shop-", "web"].iter().any(|name| note.replace(&host, "").contains(name));
        assert!(!notes.iter().any(names_any), "{notes:?}");
        assert_eq!(who("shop", class).await, VICTIM);
        // An address that it had for another host is taken back.
        evil.until_published(&name, &[]).await;
        assert_eq!(cluster.objects.addresses(&format!("shop-{class}")).await, [ADDRESS]);
        for reason in ["HostOwned", "PathConflict"] {
            assert_eq!(reported(&cluster.objects, &format!("shop-{class}"), reason).await, [""; 0]);
        }
    }
}

#[test]
fn a_host_that_is_taken_is_refused_reported_and_not_published() {
    cluster::run(async |cluster| {
        // The attacker's objects are older than the victim's, and change.
        let evil = attacker(cluster).await;
        for (class, _) in CLASSES {
            create(cluster, &evil, claim("attack", class, "own")).await;
        }
        wait_a_second(&evil).await;
        serve_shops(cluster).await;
        for (class, _) in CLASSES {
            evil.until_published(&format!("attack-{class}"), &[ADDRESS]).await;
            create(cluster, &evil, claim("old", class, "old")).await;
            create(cluster, &evil, claim("attack", class, "shop")).await;
        }
        refused(cluster, &evil).await;
        // An object that is served and asks for more loses nothing of what it has, and gets
        // nothing more.
        for (class, reason) in CLASSES {
            let both = claim("old", class, "old").path(&format!("shop-{class}.example"), "Exact", "/", "web");
            create(cluster, &evil, both).await;
            let name = format!("old-{class}");
            let notes = async || reported(&evil, &name, reason).await;
            wait::until_right(&format!("{reason} of {name}"), notes, |notes| !notes.is_empty()).await;
            evil.until_published(&name, &[ADDRESS]).await;
            assert_eq!((who("shop", class).await, who("old", class).await), (VICTIM.to_owned(), EVIL.to_owned()));
        }
        // The next daemon knows it too.
        cluster.daemon.kill();
        cluster.daemon.start();
        cluster.daemon.ready().await;
        refused(cluster, &evil).await;
        evil.clear().await;
    });
}

#[test]
fn a_host_that_is_redirected_is_taken_by_nobody() {
    cluster::run(async |cluster| {
        // The attacker's objects are older than the victim's, and change.
        let evil = attacker(cluster).await;
        for (class, _) in CLASSES {
            create(cluster, &evil, claim("attack", class, "own")).await;
        }
        wait_a_second(&evil).await;
        cluster.objects.serve("web", &[VICTIM]).await;
        for (class, _) in CLASSES {
            cluster.objects.apply(claim("shop", class, "shop").annotation("from-to-www-redirect", "true")).await;
        }
        cluster.start().await;
        for (class, reason) in CLASSES {
            evil.until_published(&format!("attack-{class}"), &[ADDRESS]).await;
            assert_eq!(who("www.shop", class).await, "308");
            create(cluster, &evil, claim("attack", class, "www.shop")).await;
            let name = format!("attack-{class}");
            let notes = async || reported(&evil, &name, reason).await;
            wait::until_right(&format!("{reason} of {name}"), notes, |notes| !notes.is_empty()).await;
            assert_eq!(who("www.shop", class).await, "308");
            evil.until_published(&name, &[]).await;
            assert_eq!(cluster.objects.addresses(&format!("shop-{class}")).await, [ADDRESS]);
        }
        evil.clear().await;
    });
}

/// Waits until an object that is made now has a later date than those that are there.
async fn wait_a_second(objects: &Objects) {
    let stamp = async |number: usize| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("clock-{number}")}});
        let made = objects.apply(in_namespace(objects.namespace(), object)).await;
        serde_json::to_value(made).unwrap()["metadata"]["creationTimestamp"].clone()
    };
    let first = stamp(0).await;
    let mut number = 0;
    let later = async || {
        number += 1;
        (stamp(number).await != first).then_some(())
    };
    wait::until("another second", later).await;
}

/// How often two objects are made at most until their dates and UIDs are as a test needs them.
const ATTEMPTS: usize = 20;

/// A host that both sides asked for within one second of the API server, where the lower UID is
/// the victim's or is not.
async fn tie(cluster: &Cluster, evil: &Objects, class: &str, is_victims: bool) -> String {
    let mut seen = Vec::new();
    for attempt in 0..ATTEMPTS {
        let host = format!("tie-{is_victims}-{attempt}");
        let [shop, attack] = ["shop", "attack"].map(|side| claim(&format!("{side}-{host}"), class, &host));
        let attack = attack.namespace(evil.namespace());
        tokio::join!(cluster.objects.create(shop), cluster.objects.create(attack));
        let [shop, attack] = ["shop", "attack"].map(|side| format!("{side}-{host}-{class}"));
        let (own, other) = tokio::join!(cluster.objects.get("Ingress", &shop), evil.get("Ingress", &attack));
        let [own, other] = [own, other].map(|object| {
            ["creationTimestamp", "uid"].map(|part| object["metadata"][part].as_str().unwrap().to_owned())
        });
        if own[0] == other[0] && (own[1] < other[1]) == is_victims {
            return host;
        }
        seen.push((own, other));
        tokio::join!(cluster.objects.delete("Ingress", &shop), evil.delete("Ingress", &attack));
    }
    panic!(
        "waited {ATTEMPTS} times in vain for two of one second, the victim's UID the lower one: {is_victims}; {seen:#?}"
    );
}

#[test]
fn of_two_that_asked_within_one_second_no_name_decides() {
    cluster::run(async |cluster| {
        let evil = attacker(cluster).await;
        cluster.objects.serve("web", &[VICTIM]).await;
        let mut ties = Vec::new();
        for (class, reason) in CLASSES {
            for is_victims in [true, false] {
                ties.push((class, reason, is_victims, tie(cluster, &evil, class, is_victims).await));
            }
        }
        // The daemon sees all of them at one moment.
        cluster.start().await;
        for (class, reason, is_victims, host) in &ties {
            let [shop, attack] = ["shop", "attack"].map(|side| format!("{side}-{host}-{class}"));
            let (victims, evils) = ((&cluster.objects, shop, VICTIM), (&evil, attack, EVIL));
            let ((winner, won, address), (loser, lost, _)) =
                if *is_victims { (victims, evils) } else { (evils, victims) };
            assert_eq!(who(host, class).await, address, "{host} of {class}");
            let notes = async || reported(loser, &lost, reason).await;
            wait::until_right(&format!("{reason} of {lost}"), notes, |notes| !notes.is_empty()).await;
            winner.until_published(&won, &[ADDRESS]).await;
            assert_eq!(loser.addresses(&lost).await, [""; 0]);
        }
        evil.clear().await;
    });
}

#[test]
fn an_owner_that_comes_back_has_its_host() {
    cluster::run(async |cluster| {
        serve_shops(cluster).await;
        let evil = attacker(cluster).await;
        for (class, _) in CLASSES {
            create(cluster, &evil, claim("attack", class, "shop")).await;
        }
        refused(cluster, &evil).await;
        for (class, _) in CLASSES {
            cluster.objects.delete("Ingress", &format!("shop-{class}")).await;
        }
        for (class, _) in CLASSES {
            let url = format!("http://shop-{class}.example/");
            get(&url).send_until("the end of it", |reply| reply.status != 200).await;
        }
        // Something else is served meanwhile, and a daemon that starts anew keeps the host as
        // well.
        cluster.daemon.kill();
        cluster.daemon.start();
        cluster.daemon.ready().await;
        cluster.objects.apply(claim("other", "ingressd", "other")).await;
        cluster.daemon.confirmed("other-ingressd").await;
        for (class, _) in CLASSES {
            assert_ne!(who("shop", class).await, EVIL, "{class}");
            assert_eq!(evil.addresses(&format!("attack-{class}")).await, [""; 0]);
            cluster.objects.apply(claim("shop", class, "shop")).await;
            cluster.objects.until_published(&format!("shop-{class}"), &[ADDRESS]).await;
        }
        refused(cluster, &evil).await;
        evil.clear().await;
    });
}

/// How many Ingresses the attacker has, and how much is wrong with each.
const OBJECTS: usize = 400;
const WRONGS: usize = 60;

/// Most Events about one object.
const SHARE: usize = 21;

#[test]
fn what_is_sent_to_one_keeps_no_other_waiting() {
    cluster::run(async |cluster| {
        serve_shops(cluster).await;
        let evil = attacker(cluster).await;
        for number in 0..OBJECTS {
            let object = ingress(&format!("many-{number}")).host(&format!("many-{number}.example"), "web");
            let object = (0..WRONGS).fold(object, |object, key| object.annotation(&format!("unknown-{key}"), "x"));
            create(cluster, &evil, object).await;
        }
        cluster.daemon.confirmed(&format!("many-{}", OBJECTS - 1)).await;
        let broken = claim("shop", "ingressd", "shop").annotation("proxy-read-timeout", "soon");
        cluster.objects.apply(broken).await;
        let notes = async || reported(&cluster.objects, "shop-ingressd", "InvalidValue").await;
        wait::until_right("the victim's Event", notes, |notes| !notes.is_empty()).await;
        // It was not the last one.
        let of_evil = evil.events().await;
        let most = OBJECTS * SHARE;
        assert!(of_evil.len() < most, "{} Events were written first", of_evil.len());
        let of_one = |name: &str| of_evil.iter().filter(|event| event["regarding"]["name"] == name).count();
        assert!((0..OBJECTS).all(|number| of_one(&format!("many-{number}")) <= SHARE + 1));
        // The status of the daemon does not grow with the number of mistakes in a namespace.
        let status = cluster.daemon.status().await.unwrap();
        let findings = status["findings"].as_array().map_or(&[][..], Vec::as_slice);
        let is_evil = |finding: &&Value| finding["namespace"] == evil.namespace();
        let count = findings.iter().filter(is_evil).count();
        assert!((1..=400).contains(&count), "{count} findings");
        evil.clear().await;
    });
}

#[test]
fn a_label_of_the_namespace_decides_what_its_ingresses_may_ask_for() {
    cluster::run(async |cluster| {
        let allowed = r#"[{selector = "hosts in (shop)", hosts = ["shop-ingressd.example", "shop-nginx.example"]}]"#;
        cluster.daemon.set("hosts.allowed", allowed);
        let namespace = cluster.objects.namespace().to_owned();
        let label = async |objects: &Objects, value: &str| {
            let metadata = json!({"name": namespace, "labels": {"hosts": value}});
            objects.apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
        };
        label(&cluster.objects, "shop").await;
        serve_shops(cluster).await;
        label(&cluster.objects, "none").await;
        for (class, _) in CLASSES {
            let name = format!("shop-{class}");
            cluster.objects.until_published(&name, &[]).await;
            let notes = async || reported(&cluster.objects, &name, "HostNotAllowed").await;
            let notes = wait::until_right("what is told", notes, |notes| !notes.is_empty()).await;
            assert!(notes[0].contains("ask for no host"), "{notes:?}");
            assert_eq!(who("shop", class).await, "404");
        }
        label(&cluster.objects, "shop").await;
        for (class, _) in CLASSES {
            cluster.objects.until_published(&format!("shop-{class}"), &[ADDRESS]).await;
            assert_eq!(who("shop", class).await, VICTIM);
        }
    });
}

/// The backend that answers for the shop's host at a node, or the status where none does.
async fn who_at(node: &Node) -> String {
    let reply = get("http://shop.example/").to(node.address.parse::<std::net::IpAddr>().unwrap()).send().await;
    reply.try_echo().map_or(reply.status.to_string(), |echo| echo.address.ip().to_string())
}

/// Claims on the host of all, as a daemon keeps them.
fn in_this_order(namespaces: &[&str]) -> String {
    let claim = |(number, namespace): (usize, &&str)| json!({"host": "shop.example", "namespace": namespace, "number": number, "exclusive": true});
    namespaces.iter().enumerate().map(claim).collect::<Value>().to_string()
}

/// One node serves the victim's host, and an older object of the attacker's asks for that host
/// afterwards. Returns the attacker, the node, and what is published of the victim's object.
async fn attacked(cluster: &Cluster) -> (Objects, Node, History<Vec<String>>) {
    let evil = attacker(cluster).await;
    let attack = |host: &str| ingress("attack").host(host, "web");
    create(cluster, &evil, attack("own.example")).await;
    wait_a_second(&evil).await;
    let ([one], shop) = nodes(cluster, ["one"], &[SHORT]).await;
    create(cluster, &evil, attack("shop.example")).await;
    let notes = async || reported(&evil, "attack", "HostOwned").await;
    wait::until_right("what is told", notes, |notes| !notes.is_empty()).await;
    (evil, one, shop)
}

#[test]
fn a_new_node_knows_who_asked_first_from_those_that_were_there() {
    cluster::run(async |cluster| {
        let (evil, mut one, shop) = attacked(cluster).await;
        let orders = async || {
            let leases = cluster.objects.list("Lease").await.into_iter();
            let order =
                |lease: Value| lease["metadata"]["annotations"]["ingressd/claim-order"].as_str().map(str::to_owned);
            leases.filter_map(order).collect::<Vec<_>>()
        };
        wait::until_right("the order in the Lease", orders, |orders| orders.len() == 1).await;
        // The one that knows is lost before the next one starts, and another one after that, which
        // is all that is left.
        let mark = shop.mark();
        one.daemon.kill();
        for name in ["two", "three"] {
            let mut node = cluster.add_node(name);
            node.daemon.set(SHORT.0, SHORT.1);
            node.start().await;
            node.daemon.confirmed("shop").await;
            assert_eq!(who_at(&node).await, VICTIM, "{name}");
            node.until_leader().await;
            cluster.objects.until_published("shop", &[&node.address]).await;
            assert_eq!(evil.addresses("attack").await, [""; 0]);
            node.daemon.kill();
        }
        assert!(shop.since(mark).iter().all(|addresses| !addresses.is_empty()), "{:?}", shop.since(mark));
        evil.clear().await;
    });
}

#[test]
fn nodes_that_saw_claims_in_another_order_are_published_for_what_each_serves() {
    cluster::run(async |cluster| {
        let (evil, mut one, shop) = attacked(cluster).await;
        evil.until_published("attack", &[]).await;
        // A node that knows nothing of before goes by what other nodes say, and one with a wrong
        // order goes by what it has.
        let attacked = evil.follow_addresses("attack").await;
        let (mark, mut two) = (shop.mark(), cluster.add_node("two"));
        two.daemon.set(SHORT.0, SHORT.1);
        std::fs::create_dir_all(two.daemon.state()).unwrap();
        let other_order = in_this_order(&[evil.namespace(), cluster.objects.namespace()]);
        std::fs::write(two.daemon.state().join("claims.json"), other_order).unwrap();
        two.start().await;
        two.daemon.confirmed("attack").await;
        assert_eq!((who_at(&one).await, who_at(&two).await), (VICTIM.to_owned(), EVIL.to_owned()));
        // An object that is made again keeps its host where it had it.
        cluster.objects.delete("Ingress", "shop").await;
        get("http://shop.example/")
            .to(one.address.parse::<std::net::IpAddr>().unwrap())
            .send_until("its end", |reply| reply.status == 404)
            .await;
        cluster.objects.apply(ingress("shop").host("shop.example", "web")).await;
        cluster.objects.until_published("shop", &[&one.address]).await;
        assert!(shop.since(mark).iter().all(|addresses| !addresses.contains(&two.address)), "{:?}", shop.since(mark));
        // A node writes its own record again when it is removed from its Lease.
        let lease = async || {
            let is_its = |lease: &Value| lease["metadata"]["name"].as_str().unwrap().starts_with("ingressd-two-");
            cluster.objects.list("Lease").await.into_iter().find(is_its).unwrap()
        };
        let lacks = async || lease().await["metadata"]["annotations"]["ingressd/unserved"].clone();
        let before = wait::until_right("what the second node lacks", lacks, Value::is_string).await;
        let forged = json!({"metadata": {"annotations": {"ingressd/unserved": null, "ingressd/generation": "x"}}});
        cluster.objects.merge("Lease", lease().await["metadata"]["name"].as_str().unwrap(), forged).await;
        wait::until_right("its own words", lacks, |lacks| *lacks == before).await;
        // The leader may have believed the forged record. What it publishes of a later object
        // shows that it has read the node's own.
        cluster.objects.apply(ingress("later").host("later.example", "web")).await;
        cluster.objects.until_published("later", &[&one.address, &two.address]).await;
        cluster.objects.until_published("shop", &[&one.address]).await;
        // When it leads it withdraws nothing that others serve: the first one is upgraded.
        let mark = shop.mark();
        one.daemon.stop().await;
        two.until_leader().await;
        attacked.until_published(&[&two.address]).await;
        one.daemon.start();
        one.daemon.ready().await;
        assert_eq!((who_at(&one).await, who_at(&two).await), (VICTIM.to_owned(), EVIL.to_owned()));
        // The same holds when it is lost, and the first one leads again.
        two.daemon.kill();
        one.until_leader().await;
        attacked.until_published(&[]).await;
        assert_eq!(shop.since(mark), [[one.address.clone()]]);
        evil.clear().await;
    });
}
