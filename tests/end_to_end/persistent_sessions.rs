//! Sessions whose cookie names an endpoint (`affinity-mode: persistent`), through the real nginx.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ingressd_echo::Echo;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::sessions::{PODS, endpoint, given, start, sticky, with, write_pods};
use rig::client::{Reply, get, grpc_check};
use rig::manifests::{Ingress, endpoint_slice, ingress, service, service_at};
use rig::{ECHO, ECHO_TLS, Rig};

fn persistent(host: &str) -> Ingress {
    sticky(host).annotation("affinity-mode", "persistent")
}

/// A Service with a UID, as it comes from an API server.
fn with_uid(name: &str, uid: &str) -> Value {
    let mut service = service(name, ECHO);
    service["metadata"]["uid"] = uid.into();
    service
}

/// The cookies of new clients, by endpoint, as soon as they are at so many endpoints. Clients of
/// one endpoint have the same cookie.
async fn cookies(url: &str, endpoints: usize) -> BTreeMap<IpAddr, String> {
    let mut all = BTreeMap::new();
    for _ in 0..40 * endpoints {
        let reply = get(url).send().await;
        let cookie = given(&reply).expect("a cookie").to_owned();
        let before = all.insert(endpoint(&reply), cookie.clone());
        assert!(before.is_none_or(|before| before == cookie), "{all:?}");
        if all.len() == endpoints {
            return all;
        }
    }
    panic!("clients of {url} are at {all:?}");
}

/// Asserts that all clients stay where they are, with the cookies that they have.
async fn expect_kept(url: &str, cookies: &BTreeMap<IpAddr, String>) {
    for (at, cookie) in cookies {
        for _ in 0..20 {
            let reply = with(get(url), cookie).send().await;
            assert_eq!((endpoint(&reply), given(&reply)), (*at, None), "{cookie}");
        }
    }
}

/// Writes the pods, and waits until only they are asked.
async fn change_pods(rig: &mut Rig, pods: &[&str]) {
    let generation = rig.daemon.status().await.unwrap()["generation"].clone();
    write_pods(rig, pods);
    rig.daemon.status_when("another generation", |status| status["generation"] != generation).await;
}

fn at(pod: &str) -> IpAddr {
    pod.parse().unwrap()
}

#[test]
fn a_session_keeps_its_endpoint_while_others_come_and_go() {
    const URLS: [&str; 2] = ["http://a.test/x", "http://odd.test/x"];
    rig::run(async |rig| {
        let odd = persistent("odd.test").annotation("session-cookie-name", "my-app.id");
        start(rig, [persistent("a.test"), odd]).await;
        let before = [cookies(URLS[0], 3).await, cookies(URLS[1], 3).await];
        expect_kept(URLS[0], &before[0]).await;
        expect_kept(URLS[1], &before[1]).await;
        // More than one table of nginx has.
        let many: Vec<_> = (1..=250).map(|number| format!("10.244.1.{number}")).collect();
        change_pods(rig, &many.iter().map(String::as_str).collect::<Vec<_>>()).await;
        for (url, before) in URLS.iter().zip(&before) {
            expect_kept(url, before).await;
            expect_kept(url, &cookies(url, 20).await).await;
        }
        let (accepted, words) = rig.nginx.test();
        assert!(accepted && !words.contains("map_hash"), "{words}");

        change_pods(rig, &[PODS[0], "10.244.1.150"]).await;
        let mut moved = Vec::new();
        for (url, mut before) in URLS.into_iter().zip(before) {
            let lost = before.remove(&at(PODS[1])).unwrap();
            before.remove(&at(PODS[2]));
            expect_kept(url, &before).await;
            let reply = with(get(url), &lost).send().await;
            let own = given(&reply).expect("another cookie").to_owned();
            assert_ne!(own, lost);
            let now = [(endpoint(&reply), own)].into();
            expect_kept(url, &now).await;
            moved.push((url, now));
        }
        // It stays there when its first endpoint comes back.
        change_pods(rig, &[PODS[0], PODS[1], "10.244.1.150"]).await;
        for (url, now) in moved {
            expect_kept(url, &now).await;
        }
    });
}

#[test]
fn a_cookie_that_names_no_endpoint_of_the_upstream_is_replaced() {
    rig::run(async |rig| {
        let below = ingress("below").class("nginx").path("a.test", "Prefix", "/b", "other");
        let below = below.annotation("affinity", "cookie").annotation("affinity-mode", "persistent");
        rig.manifests.write("other.yaml", &[with_uid("other", "uid-2"), endpoint_slice("other", &PODS[..3], ECHO)]);
        rig.manifests.write("web.yaml", &[with_uid("web", "uid-1")]);
        write_pods(rig, &PODS[..3]);
        let objects = [persistent("a.test"), below, persistent("c.test")].map(Ingress::build);
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let (of_web, of_other) = (cookies("http://a.test/", 3).await, cookies("http://a.test/b", 3).await);
        let forged = ["client-1", "10.244.1.1:8080", "", "00000000000000000000", "$request_id", "0k000000000000"];
        let forged = forged.map(|value| format!("INGRESSCOOKIE={value}")).into_iter();
        // Another Service has other names for the same pods.
        for cookie in forged.chain(of_other.values().cloned()) {
            let reply = with(get("http://a.test/"), &cookie).send().await;
            assert_eq!(given(&reply), Some(&*of_web[&endpoint(&reply)]), "{cookie}");
        }
        // A client sends the cookie with the longer path first.
        for ((pod, cookie), above) in of_other.iter().zip(of_web.values().rev()) {
            let reply = with(get("http://a.test/b/c"), &format!("{cookie}; {above}")).send().await;
            assert_eq!((endpoint(&reply), given(&reply)), (*pod, None));
        }
        // The Service has one name for each pod.
        assert_eq!(cookies("http://c.test/", 3).await, of_web);
        let value = of_web[&at(PODS[0])].strip_prefix("INGRESSCOOKIE=").unwrap();
        assert!(value.len() == 20 && value.bytes().all(|byte| byte.is_ascii_hexdigit()), "{value}");
        // Without the UID nobody can compare it with names of guessed addresses.
        let generation = rig.daemon.status().await.unwrap()["generation"].clone();
        rig.manifests.write("web.yaml", &[with_uid("web", "uid-3")]);
        rig.daemon.status_when("another generation", |status| status["generation"] != generation).await;
        let anew = cookies("http://a.test/", 3).await;
        assert!(of_web.values().all(|cookie| anew.values().all(|other| other != cookie)), "{anew:?}");
    });
}

/// A canary with this weight, which a header chooses too.
fn canary(host: &str, service: &str, weight: &str) -> Ingress {
    let canary = ingress(&format!("{}-canary", host.replace('.', "-"))).class("nginx").host(host, service);
    canary.annotation("canary", "true").annotation("canary-weight", weight).annotation("canary-by-header", "X-New")
}

#[test]
fn a_session_stays_on_its_side_of_a_canary() {
    rig::run(async |rig| {
        let mut objects = service_at("new", &["10.244.2.1", "10.244.2.2"], ECHO).to_vec();
        // It has the pods of the main object.
        objects.extend(service_at("twin", &PODS[..3], ECHO));
        rig.manifests.write("new.yaml", &objects);
        let duplicate = [persistent("twin.test"), canary("twin.test", "twin", "50")];
        start(rig, [persistent("a.test"), canary("a.test", "new", "50")].into_iter().chain(duplicate)).await;
        let url = "http://a.test/";
        let all = cookies(url, 5).await;
        expect_kept(url, &all).await;
        // The header takes precedence, and the client is at the canary from then on.
        let is_new = |reply: &Reply| endpoint(reply).to_string().starts_with("10.244.2.");
        let reply = with(get(url), &all[&at(PODS[0])]).header("X-New", "always").send().await;
        assert!(is_new(&reply), "{reply:?}");
        assert_eq!(given(&reply), Some(&*all[&endpoint(&reply)]));
        let reply = with(get(url), &all[&at("10.244.2.1")]).header("X-New", "always").send().await;
        assert_eq!((endpoint(&reply), given(&reply)), (at("10.244.2.1"), None));

        let url = "http://twin.test/";
        for _ in 0..20 {
            let first = get(url).send().await;
            expect_kept(url, &[(endpoint(&first), given(&first).unwrap().to_owned())].into()).await;
        }
    });
}

#[test]
fn a_failed_endpoint_is_replaced_for_one_request_or_for_good() {
    const PORT: u16 = 8099;
    rig::run(async |rig| {
        let mut backends = Vec::new();
        for address in &PODS[..3] {
            let listener = TcpListener::bind((*address, PORT)).await.unwrap();
            backends.push(tokio::spawn(Echo::plain("echo").serve(listener)));
        }
        let changing = persistent("changing.test").annotation("session-cookie-change-on-failure", "true");
        let alone = persistent("alone.test").annotation("proxy-next-upstream", "off");
        let alone = alone.annotation("session-cookie-change-on-failure", "true");
        rig.manifests.write("web.yaml", &service_at("web", &PODS[..3], PORT));
        rig.manifests.write("objects.yaml", &[persistent("kept.test"), changing, alone].map(Ingress::build));
        rig.start().await;
        let all = cookies("http://kept.test/", 3).await;
        assert_eq!(cookies("http://changing.test/", 3).await, all);

        let failed = backends.remove(0);
        failed.abort();
        assert!(failed.await.is_err_and(|error| error.is_cancelled()));
        let cookie = &all[&at(PODS[0])];
        // Connections that nginx has kept end a moment later.
        let elsewhere = |reply: &Reply| endpoint(reply) != at(PODS[0]);
        let reply = with(get("http://kept.test/"), cookie).send_until("another endpoint", elsewhere).await;
        assert_eq!(given(&reply), None);
        // Each request goes to the endpoint behind it on the ring, and several points are used.
        let (mut kept, mut changed) = (BTreeMap::new(), BTreeMap::new());
        for _ in 0..60 {
            let reply = with(get("http://kept.test/"), cookie).send().await;
            assert_eq!(given(&reply), None);
            *kept.entry(endpoint(&reply)).or_insert(0) += 1;
            let reply = with(get("http://changing.test/"), cookie).send().await;
            assert_eq!(given(&reply), Some(&*all[&endpoint(&reply)]));
            changed.insert(endpoint(&reply), given(&reply).unwrap().to_owned());
        }
        assert_eq!((kept.len(), changed.len()), (2, 2), "{kept:?} {changed:?}");
        expect_kept("http://changing.test/", &changed).await;
        // A new client gets the cookie of the endpoint that answers.
        for _ in 0..30 {
            let reply = get("http://kept.test/").send().await;
            assert_eq!(given(&reply), Some(&*all[&endpoint(&reply)]));
        }
        let reply = with(get("http://alone.test/"), cookie).send().await;
        assert_eq!((reply.status, given(&reply)), (502, None));

        let listener = TcpListener::bind((PODS[0], PORT)).await.unwrap();
        let _again = tokio::spawn(Echo::plain("echo").serve(listener));
        expect_kept("http://kept.test/", &all).await;
    });
}

#[test]
fn every_protocol_of_a_backend_has_such_sessions() {
    rig::run(async |rig| {
        let six = ingress("six").class("nginx").host("six.test", "six").annotation("affinity", "cookie");
        let six = six.annotation("affinity-mode", "persistent");
        let secure = ingress("secure").class("nginx").host("secure.test", "secure").annotation("affinity", "cookie");
        let secure = secure.annotation("affinity-mode", "persistent").annotation("backend-protocol", "HTTPS");
        let calls = persistent("calls.test").annotation("backend-protocol", "GRPC");
        let addresses = ["fd00:10:244::5", "fd00:10:244:0:2222:3333:4444:5555"];
        let mut objects = service_at("six", &addresses, ECHO).to_vec();
        objects.extend(service_at("secure", &PODS[..2], ECHO_TLS));
        rig.manifests.write("others.yaml", &objects);
        start(rig, [six, secure, calls, persistent("auto.test").annotation("backend-protocol", "AUTO_HTTP")]).await;
        for (url, endpoints) in [("http://six.test/", 2), ("http://secure.test/", 2), ("http://auto.test/", 3)] {
            expect_kept(url, &cookies(url, endpoints).await).await;
        }
        let first = grpc_check("https://calls.test").send().await;
        let cookie = given(&first).unwrap();
        for _ in 0..20 {
            let reply = with(grpc_check("https://calls.test"), cookie).send().await;
            assert_eq!(reply.header("x-echo-address"), first.header("x-echo-address"));
            assert_eq!(given(&reply), None);
        }
    });
}
