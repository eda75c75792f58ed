//! Services of type ExternalName: their names are resolved, and forbidden addresses are no
//! backends.

use serde_json::{Value, json};

use rig::client::get;
use rig::dns::Dns;
use rig::manifests::{in_namespace, ingress};
use rig::status::{notes, reports};
use rig::{ECHO, Rig, wait};

fn external(service: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": service},
        "spec": {"type": "ExternalName", "externalName": name, "ports": [{"port": 80, "targetPort": ECHO}]}
    })
}

/// A host `SERVICE.example` for each Service, and one that has nothing to do with names.
fn write(rig: &Rig, names: &[(&str, &str)]) {
    let backend = |service: &str| json!({"service": {"name": service, "port": {"number": 80}}});
    let route = |service: &str| {
        ingress(service).path_to(&format!("{service}.example"), "Prefix", "/", backend(service)).build()
    };
    let mut objects: Vec<_> = names.iter().map(|(service, name)| external(service, name)).collect();
    objects.extend(names.iter().map(|(service, _)| route(service)));
    objects.push(ingress("other").host("other.example", "web").build());
    rig.manifests.write("names.yaml", &objects);
}

async fn start(rig: &mut Rig) -> Dns {
    let dns = Dns::start().await;
    rig.daemon.set("upstreams.resolvers", &format!("[\"{}\"]", dns.address()));
    rig.daemon.set("upstreams.resolve-interval", "100ms");
    dns
}

/// Waits until the host is answered from this address.
async fn answers_from(host: &str, address: &str) {
    let from = |reply: &rig::client::Reply| reply.status == 200 && reply.echo().address.ip().to_string() == address;
    get(&format!("http://{host}/")).send_until(address, from).await;
}

/// Waits until a port of this host is answered from this address.
async fn answers_at(port: u16, address: &str) {
    let from = |reply: &rig::client::Reply| reply.status == 200 && reply.echo().address.ip().to_string() == address;
    get(&format!("http://127.0.0.1:{port}/")).send_until(address, from).await;
}

/// A command of the manifests in the folder, which the DNS server may answer meanwhile.
async fn judged(rig: &Rig, dns: &Dns, arguments: &[&str]) -> (Option<i32>, String) {
    let (name, flags) = arguments.split_first().unwrap();
    let mut command = rig.daemon.command(name);
    command.arg(format!("--set=upstreams.resolvers=[\"{}\"]", dns.address()));
    command.args(flags).arg(rig.manifests.folder());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code(), text)
}

#[test]
fn what_reads_files_asks_nobody_unless_a_flag_says_so() {
    rig::run(async |rig| {
        let dns = Dns::start().await;
        dns.set("a.backend.test", &["10.244.2.1"]);
        let unasked = "DNS is not asked for the addresses of";
        assert!(!judged(rig, &dns, &["check"]).await.1.contains(unasked), "there is no name");
        write(rig, &[("a", "a.backend.test"), ("missing", "missing.backend.test")]);
        let (code, text) = judged(rig, &dns, &["check", "--strict"]).await;
        assert!(
            code == Some(0) && text.contains(&format!("note: {unasked} a.backend.test and 1 other name;")),
            "{text}"
        );
        let (code, text) = judged(rig, &dns, &["render"]).await;
        assert!(code == Some(0) && text.contains(unasked) && !text.contains("10.244.2.1"), "{text}");
        let (code, text) = judged(rig, &dns, &["explain", "missing.example"]).await;
        assert!(code == Some(0) && text.contains("goes to Service default/missing"), "{text}");
        assert_eq!(dns.asked(), [""; 0]);

        let (code, text) = judged(rig, &dns, &["check", "--strict", "--resolve"]).await;
        assert!(code == Some(1) && text.contains("UnresolvedName") && !text.contains(unasked), "{text}");
        let (_, text) = judged(rig, &dns, &["render", "--resolve"]).await;
        assert!(text.contains("server 10.244.2.1:"), "{text}");
        let (_, text) = judged(rig, &dns, &["explain", "--resolve", "missing.example"]).await;
        assert!(text.contains("is answered 503"), "{text}");
    });
}

#[test]
fn a_name_is_followed_and_is_no_way_to_this_host() {
    rig::run(async |rig| {
        let dns = start(rig).await;
        dns.set("a.backend.test", &["10.244.2.1"]);
        dns.set("six.backend.test", &["fd00:10:244::7"]);
        write(rig, &[("a", "a.backend.test"), ("six", "six.backend.test."), ("missing", "missing.backend.test")]);
        rig.start().await;
        // The first generation does not wait long for answers, which come later on a slow machine.
        answers_from("a.example", "10.244.2.1").await;
        answers_from("six.example", "fd00:10:244::7").await;
        get("http://missing.example/").send_until("no address", |reply| reply.status == 503).await;
        let missing = |status: &Value| reports(status, "Ingress missing", "UnresolvedName");
        rig.daemon.status_when("the name that is missing to be told", missing).await;

        dns.set("a.backend.test", &["10.244.2.2"]);
        answers_from("a.example", "10.244.2.2").await;

        // The echo backend listens there too: only the refusal keeps requests away from it.
        for local in ["127.0.0.1", "::1", "::ffff:127.0.0.1", "169.254.169.254"] {
            dns.set("a.backend.test", &[local]);
            get("http://a.example/").send_until(local, |reply| reply.status == 503).await;
            let refused = |status: &Value| {
                notes(status, "Ingress a", "ForbiddenTarget").iter().any(|note| note.contains("a.backend.test"))
            };
            rig.daemon.status_when(local, refused).await;
            assert_eq!(get("http://other.example/").send().await.status, 200);
            dns.set("a.backend.test", &["10.244.2.3"]);
            answers_from("a.example", "10.244.2.3").await;
        }
        // Only the good part of a mixed answer counts.
        dns.set("a.backend.test", &["127.0.0.1", "10.244.2.4"]);
        let refused = |status: &Value| {
            notes(status, "Ingress a", "ForbiddenTarget").iter().any(|note| note.contains("127.0.0.1"))
        };
        rig.daemon.status_when("the refusal of the bad part", refused).await;
        answers_from("a.example", "10.244.2.4").await;
        for _ in 0..10 {
            let from = get("http://a.example/").send().await.echo().address.ip().to_string();
            assert_eq!(from, "10.244.2.4");
        }
    });
}

#[test]
fn a_name_is_followed_wherever_its_service_is_named() {
    rig::run(async |rig| {
        let dns = start(rig).await;
        rig.nginx.serve_streams(&rig.daemon.root());
        rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
        for name in ["asked.backend.test", "copied.backend.test", "plain.backend.test"] {
            dns.set(name, &["10.244.2.1"]);
        }
        let url = |service: &str| format!("http://{service}.default.svc.cluster.local/");
        rig.manifests.write(
            "named.yaml",
            &[
                external("asked", "asked.backend.test"),
                external("copied", "copied.backend.test"),
                external("plain", "plain.backend.test"),
                ingress("asks").host("asks.example", "web").annotation("auth-url", &url("asked")).build(),
                ingress("copies").host("copies.example", "web").annotation("mirror-target", &url("copied")).build(),
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "tcp"},
                    "data": {"7000": "default/plain:80"}}),
            ],
        );
        rig.start().await;
        get("http://asks.example/").send_until("the service that is asked", |reply| reply.status == 200).await;
        answers_at(7000, "10.244.2.1").await;
        let resolved = |status: &Value| {
            ["Ingress asks", "Ingress copies", "ConfigMap tcp"]
                .iter()
                .all(|object| !reports(status, object, "UnresolvedName"))
                && !reports(status, "Ingress copies", "MirrorLeftOut")
        };
        rig.daemon.status_when("all names to be resolved", resolved).await;
    });
}

#[test]
fn what_is_served_does_not_depend_on_dns_that_answers() {
    rig::run(async |rig| {
        let dns = start(rig).await;
        dns.set("a.backend.test", &["10.244.2.1"]);
        write(rig, &[("a", "a.backend.test")]);
        rig.start().await;
        answers_from("a.example", "10.244.2.1").await;
        dns.fall_silent();
        let workers = rig.nginx.settled_workers().await;
        for restarted in [false, true] {
            if restarted {
                rig.daemon.stop().await;
                rig.daemon.start();
                rig.daemon.ready().await;
            }
            let fails = |status: &Value| reports(status, "Ingress a", "UnresolvedName");
            rig.daemon.status_when("the failure of DNS to be told", fails).await;
            assert_eq!(get("http://a.example/").send().await.echo().address.ip().to_string(), "10.244.2.1");
            assert_eq!(rig.nginx.workers(), workers, "nothing was reloaded");
        }
    });
}

#[test]
fn names_that_nobody_answers_put_off_nothing() {
    rig::run(async |rig| {
        let dns = start(rig).await;
        write(rig, &[]);
        rig.start().await;
        dns.fall_silent();
        // There is always a name that was never asked for, from before the host is added.
        write(rig, &[("a", "name-0.backend.test")]);
        rig.manifests.write("added.yaml", &[ingress("added").host("added.example", "web").build()]);
        let mut asked = 0;
        let added = get("http://added.example/");
        let ask = async || {
            asked += 1;
            write(rig, &[("a", &format!("name-{asked}.backend.test"))]);
            let is_served = added.clone().try_send().await.is_ok_and(|reply| reply.status == 200);
            (is_served && asked > 1).then_some(())
        };
        wait::until("the host that was added", ask).await;
    });
}

#[test]
fn without_a_dns_server_the_routes_say_so() {
    rig::run(async |rig| {
        write(rig, &[("a", "a.backend.test")]);
        rig.start().await;
        get("http://a.example/").send_until("no address", |reply| reply.status == 503).await;
        get("http://other.example/").send_until("its own address", |reply| reply.status == 200).await;
        let reported = |status: &Value| {
            notes(status, "Ingress a", "UnresolvedName").iter().any(|note| note.contains("upstreams.resolvers"))
        };
        rig.daemon.status_when("what is missing to be told", reported).await;
    });
}

#[test]
fn names_that_never_answer_keep_no_other_namespace_waiting() {
    const NAMES: usize = 300;
    rig::run(async |rig| {
        let dns = start(rig).await;
        dns.be_silent_about("silent.test");
        dns.set("a.backend.test", &["10.244.2.1"]);
        let backend = |service: &str| json!({"service": {"name": service, "port": {"number": 80}}});
        let mut bulk = ingress("crowd").namespace("crowd");
        let mut objects = Vec::new();
        for number in 0..NAMES {
            let service = format!("s-{number:03}");
            bulk = bulk.path_to(&format!("{service}.crowd.example"), "Prefix", "/", backend(&service));
            objects.push(in_namespace("crowd", external(&service, &format!("{service}.silent.test"))));
            // Nothing refers to these names.
            objects
                .push(in_namespace("crowd", external(&format!("idle-{number}"), &format!("idle-{number}.idle.test"))));
        }
        objects.push(bulk.build());
        rig.manifests.write("crowd.yaml", &objects);
        rig.start().await;
        wait::until("the first questions", async || (dns.asked_below("silent.test") >= 8).then_some(())).await;
        write(rig, &[("a", "a.backend.test")]);
        answers_from("a.example", "10.244.2.1").await;
        let asked = dns.asked_below("silent.test");
        assert!(asked < NAMES, "all {asked} were asked for first");
        assert_eq!(dns.asked_below("idle.test"), 0, "nobody needs them");
        // Changes of an answer are still followed.
        dns.set("a.backend.test", &["10.244.2.2"]);
        answers_from("a.example", "10.244.2.2").await;
        assert!(dns.asked_below("silent.test") < NAMES);
    });
}

#[test]
fn names_of_what_is_not_served_are_not_asked_for() {
    rig::run(async |rig| {
        let dns = start(rig).await;
        for name in ["a.backend.test", "closed.idle.test", "second.idle.test"] {
            dns.set(name, &["10.244.2.1"]);
        }
        let backend = |service: &str| json!({"service": {"name": service, "port": {"number": 80}}});
        let closed = |list: &str| {
            let object = ingress("closed").path_to("closed.example", "Prefix", "/", backend("closed"));
            object.annotation("allowlist-source-range", list).build()
        };
        let second = ingress("second").created("2026-01-01T00:00:00Z").path_to(
            "first.example",
            "Prefix",
            "/",
            backend("second"),
        );
        let first = ingress("first").created("2025-01-01T00:00:00Z").host("first.example", "web");
        let services = [external("closed", "closed.idle.test"), external("second", "second.idle.test")];
        rig.manifests.write("services.yaml", &services);
        rig.manifests.write("idle.yaml", &[closed("everybody"), first.build(), second.build()]);
        rig.start().await;
        write(rig, &[("a", "a.backend.test")]);
        answers_from("a.example", "10.244.2.1").await;
        assert_eq!(dns.asked_below("idle.test"), 0, "{:?}", dns.asked());
        // Once it is served its name is followed.
        rig.manifests.write("idle.yaml", &[closed("0.0.0.0/0")]);
        answers_from("closed.example", "10.244.2.1").await;
        assert_eq!(dns.asked_below("idle.test"), 1, "{:?}", dns.asked());
    });
}

#[test]
fn of_too_many_names_and_addresses_the_rest_is_reported() {
    rig::run(async |rig| {
        let dns = start(rig).await;
        rig.daemon.set("limits.names-of-namespace", "2");
        rig.daemon.set("limits.addresses-of-name", "2");
        for name in ["a", "b", "c"] {
            dns.set(&format!("{name}.backend.test"), &["10.244.2.1", "10.244.2.2", "10.244.2.3"]);
        }
        write(rig, &[("a", "a.backend.test"), ("b", "b.backend.test"), ("c", "c.backend.test")]);
        rig.start().await;
        for served in ["a", "b"] {
            get(&format!("http://{served}.example/")).send_until("its address", |reply| reply.status == 200).await;
        }
        let reported = |status: &Value| {
            notes(status, "Ingress c", "UnresolvedName").iter().any(|note| note.contains("limits.names-of-namespace"))
                && reports(status, "Ingress a", "AddressesLeftOut")
        };
        rig.daemon.status_when("what is left out to be told", reported).await;
        assert_eq!(get("http://c.example/").send().await.status, 503);
        for _ in 0..6 {
            let from = get("http://a.example/").send().await.echo().address.ip().to_string();
            assert_ne!(from, "10.244.2.3");
        }
    });
}
