//! Services of type ExternalName: their names are resolved, and what may not be a backend is none; nothing of the inside is known.

use serde_json::{Value, json};

use crate::rig::client::get;
use crate::rig::dns::Dns;
use crate::rig::manifests::ingress;
use crate::rig::status::{notes, tells};
use crate::rig::{self, ECHO, Rig, wait};

fn external(service: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "default", "name": service},
        "spec": {"type": "ExternalName", "externalName": name, "ports": [{"port": ECHO}]}
    })
}

/// A host `SERVICE.example` for each Service, and one that has nothing to do with names.
fn write(rig: &Rig, names: &[(&str, &str)]) {
    let backend = |service: &str| json!({"service": {"name": service, "port": {"number": ECHO}}});
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
        let missing = |status: &Value| tells(status, "Ingress missing", "UnresolvedName");
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
        // Of a mixed answer only the good part counts.
        dns.set("a.backend.test", &["127.0.0.1", "10.244.2.4"]);
        let refused = |status: &Value| {
            notes(status, "Ingress a", "ForbiddenTarget").iter().any(|note| note.contains("127.0.0.1"))
        };
        rig.daemon.status_when("the refusal of the bad part", refused).await;
        answers_from("a.example", "10.244.2.4").await;
        // Those of the generation before may take connections until they have ended.
        rig.nginx.settled_workers().await;
        for _ in 0..10 {
            let from = get("http://a.example/").send().await.echo().address.ip().to_string();
            assert_eq!(from, "10.244.2.4");
        }
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
            let fails = |status: &Value| tells(status, "Ingress a", "UnresolvedName");
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
        let told = |status: &Value| {
            notes(status, "Ingress a", "UnresolvedName").iter().any(|note| note.contains("upstreams.resolvers"))
        };
        rig.daemon.status_when("what is missing to be told", told).await;
    });
}
