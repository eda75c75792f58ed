//! The watches against a double of the API server; it must not know a real one.

mod credentials;
mod double;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::double::{Double, Fault};
use super::*;
use crate::finding::Reason;
use crate::source::Snapshot;

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream in a hurry.
const TIMING: Timing = Timing {
    answer: Duration::from_millis(300),
    silence: Duration::from_secs(60),
    lasting: Duration::from_millis(20),
    pauses: (Duration::from_millis(1), Duration::from_millis(8)),
};

fn options() -> WatchOptions {
    WatchOptions { timing: TIMING, ..WatchOptions::default() }
}

pub fn ingress(name: &str, annotations: &Value, tls: &[&str]) -> Value {
    let tls: Vec<_> = tls.iter().map(|secret| json!({ "secretName": secret })).collect();
    json!({
        "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}"), "annotations": annotations },
        "spec": {
            "tls": tls,
            "rules": [{ "host": format!("{name}.example"), "http": { "paths": [{
                "path": "/", "pathType": "Prefix",
                "backend": { "service": { "name": name, "port": { "number": 80 } } },
            }] } }],
        },
    })
}

fn secret(name: &str, value: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "shop" }, "data": { "value": value } })
}

fn service(namespace: &str, name: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": namespace }, "spec": { "ports": [{ "port": 80 }] } })
}

fn start(double: &Double) -> ClusterSource {
    ClusterSource::start(&Clients::of(&double.client()), &options())
}

/// Reads until a snapshot fits.
async fn until(source: &mut ClusterSource, fits: impl Fn(&Snapshot, &Reading) -> bool) -> (Arc<Snapshot>, Reading) {
    let mut last = None;
    let reading = async {
        loop {
            let reading = source.next().await;
            last = Some(reading.clone());
            if let Some(snapshot) = reading.snapshot.clone()
                && fits(&snapshot, &reading)
            {
                return (snapshot, reading);
            }
        }
    };
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(found) => found,
        Err(_) => panic!("the last reading was {last:#?}"),
    }
}

fn names<K>(list: &crate::source::List<K>) -> Vec<&str> {
    list.iter().map(|stored| &*stored.id.name).collect()
}

fn watch_of(reading: &Reading, kind: &str) -> WatchHealth {
    reading.watches.iter().find(|watch| watch.kind == kind).unwrap().clone()
}

#[tokio::test]
async fn changes_are_followed_and_what_is_the_same_is_shared() {
    let double = Double::default();
    double.page(2);
    for name in ["a", "b", "c", "d", "e"] {
        double.put("services", service("shop", name));
    }
    let mut source = start(&double);
    let (first, _) = until(&mut source, |snapshot, _| !snapshot.services.is_empty()).await;
    assert_eq!(names(&first.services), ["a", "b", "c", "d", "e"], "every page of the list");
    double.put("services", service("shop", "bb"));
    double.delete("services", "shop", "d");
    let mut changed = service("shop", "c");
    changed["spec"]["type"] = json!("NodePort");
    double.put("services", changed);
    let fits = |snapshot: &Snapshot, _: &Reading| {
        let service = snapshot.service("shop", "c").and_then(|stored| stored.object.spec.clone());
        service.is_some_and(|spec| spec.type_.as_deref() == Some("NodePort"))
    };
    let (second, _) = until(&mut source, fits).await;
    assert_eq!(names(&second.services), ["a", "b", "bb", "c", "e"]);
    assert!(Arc::ptr_eq(&first.services[0].object, &second.services[0].object));
    assert_ne!(first.service("shop", "c").unwrap().version, second.service("shop", "c").unwrap().version);
}

#[tokio::test]
async fn what_does_not_configure_nginx_is_no_change() {
    let double = Double::default();
    double.put("ingresses", ingress("web", &json!({ "a": "b" }), &[]));
    let mut source = start(&double);
    let (first, before) = until(&mut source, |snapshot, _| !snapshot.ingresses.is_empty()).await;
    let mut published = ingress("web", &json!({ "a": "b" }), &[]);
    published["metadata"]["managedFields"] = json!([{ "manager": "kubectl" }]);
    published["metadata"]["generation"] = json!(4);
    published["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } });
    double.put("ingresses", published);
    let (second, after) = until(&mut source, |snapshot, _| snapshot.ingresses[0].object.status.is_some()).await;
    assert_eq!(first.ingresses[0].version, second.ingresses[0].version);
    assert_eq!(before.revision, after.revision);
    assert!(second.ingresses[0].object.metadata.managed_fields.is_none());
    // A new object of the same name and content is another one.
    let mut again = ingress("web", &json!({ "a": "b" }), &[]);
    again["metadata"]["uid"] = json!("other");
    double.put("ingresses", again);
    until(&mut source, |_, reading| reading.revision > after.revision).await;
}

#[tokio::test]
async fn nothing_is_told_before_everything_that_is_needed_is_known() {
    let double = Double::default();
    double.put("services", service("shop", "a"));
    double.fail("endpointslices", "list", Some(Fault::Status(500)));
    let mut source = start(&double);
    loop {
        let reading = source.next().await;
        assert!(reading.snapshot.is_none());
        if watch_of(&reading, "EndpointSlice").failure.is_some() && watch_of(&reading, "Service").synced {
            break;
        }
    }
    double.fail("endpointslices", "list", None);
    let (_, reading) = until(&mut source, |_, _| true).await;
    assert!(watch_of(&reading, "EndpointSlice").synced);
}

#[tokio::test]
async fn kinds_that_nobody_needs_come_and_go() {
    let double = Double::default();
    double.put("nodes", json!({ "metadata": { "name": "n" } }));
    double.fail("nodes", "list", Some(Fault::Status(403)));
    let mut source = start(&double);
    let (snapshot, reading) = until(&mut source, |_, _| true).await;
    assert!(snapshot.nodes.is_empty());
    assert_eq!(watch_of(&reading, "Node").state(), "refused");
    double.fail("nodes", "list", None);
    until(&mut source, |snapshot, _| names(&snapshot.nodes) == ["n"]).await;
    // Taken away again: what was known stays, and its age is told.
    double.fail("nodes", "list", Some(Fault::Status(403)));
    double.fail("nodes", "watch", Some(Fault::Status(403)));
    double.end_watches("nodes", false);
    let (snapshot, reading) = until(&mut source, |_, reading| watch_of(reading, "Node").failure.is_some()).await;
    assert_eq!(names(&snapshot.nodes), ["n"]);
    assert!(watch_of(&reading, "Node").heard.is_some());
}

#[tokio::test]
async fn one_refused_kind_does_not_stop_the_others() {
    let double = Double::default();
    double.put("services", service("shop", "a"));
    let mut source = start(&double);
    until(&mut source, |_, _| true).await;
    double.fail("secrets", "list", Some(Fault::Status(403)));
    double.fail("secrets", "watch", Some(Fault::Status(403)));
    double.end_watches("secrets", false);
    until(&mut source, |_, reading| watch_of(reading, "Secret").refused).await;
    double.put("services", service("shop", "b"));
    until(&mut source, |snapshot, _| names(&snapshot.services) == ["a", "b"]).await;
}

#[tokio::test]
async fn a_watch_goes_on_after_whatever_ends_it() {
    let double = Double::default();
    double.put("services", service("shop", "s0"));
    let mut source = start(&double);
    until(&mut source, |_, _| true).await;
    let gone = json!({ "type": "ERROR", "object": { "kind": "Status", "status": "Failure", "code": 410 } });
    type Cause<'a> = Box<dyn Fn() + 'a>;
    let faults: [(&str, Cause<'_>); 8] = [
        ("the stream ends", Box::new(|| double.end_watches("services", false))),
        ("410 at the start", Box::new(|| double.end_watches("services", true))),
        ("410 in the stream", Box::new(|| double.send("services", &gone))),
        (
            "410 in the stream that follows",
            Box::new(|| {
                double.fail_next("services", "watch", Fault::Gone);
                double.end_watches("services", false);
            }),
        ),
        (
            "the API server is away",
            Box::new(|| {
                (0..20).for_each(|_| double.fail_next("services", "watch", Fault::Status(503)));
                double.end_watches("services", false);
            }),
        ),
        (
            "streams that end at once",
            Box::new(|| {
                (0..5).for_each(|_| double.fail_next("services", "watch", Fault::End));
                double.end_watches("services", false);
            }),
        ),
        (
            "no answer to a list",
            Box::new(|| {
                double.fail_next("services", "list", Fault::Silence);
                double.end_watches("services", true);
            }),
        ),
        ("something that is no event", Box::new(|| double.send("services", &json!("what")))),
    ];
    for (number, (name, fault)) in (1..).zip(&faults) {
        fault();
        double.put("services", service("shop", &format!("s{number}")));
        double.delete("services", "shop", &format!("s{}", number - 1));
        let expected = format!("s{number}");
        println!("{name}");
        until(&mut source, |snapshot, _| names(&snapshot.services) == [expected.as_str()]).await;
    }
}

#[tokio::test]
async fn a_watch_that_is_silent_is_begun_anew_from_a_list() {
    let double = Double::default();
    let timing = Timing { silence: Duration::from_millis(50), ..TIMING };
    let options = WatchOptions { timing, ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &options);
    until(&mut source, |_, _| true).await;
    let lists = |double: &Double| double.requests().iter().filter(|request| *request == "list services").count();
    let before = lists(&double);
    tokio::time::timeout(PATIENCE, async {
        while lists(&double) == before {
            source.next().await;
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn an_object_that_cannot_be_decoded_harms_only_itself() {
    let double = Double::default();
    double.put("ingresses", ingress("a", &json!({}), &[]));
    double.put("ingresses", ingress("b", &json!({}), &[]));
    let mut later = ingress("c", &json!({}), &[]);
    later["spec"]["rules"] = json!("of a later version");
    double.put("ingresses", later.clone());
    let mut source = start(&double);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(names(&snapshot.ingresses), ["a", "b"]);
    let told = |snapshot: &Snapshot| {
        let findings = snapshot.findings.iter().map(|finding| (finding.reason, finding.origin.to_string()));
        findings.collect::<Vec<_>>()
    };
    assert_eq!(told(&snapshot), [(Reason::Undecodable, "Ingress shop/c".to_owned())]);
    let uid = later["metadata"]["uid"].as_str();
    assert!(uid.is_some() && matches!(&*snapshot.left_out, [left_out] if left_out.uid.as_deref() == uid), "{uid:?}");
    // One that breaks stays as it was, and the others change.
    later["metadata"]["name"] = json!("a");
    double.put("ingresses", later);
    double.put("ingresses", ingress("b", &json!({ "x": "y" }), &[]));
    let changed = |snapshot: &Snapshot, _: &Reading| snapshot.ingresses[1].object.metadata.annotations.is_some();
    let (broken, _) = until(&mut source, changed).await;
    assert_eq!(names(&broken.ingresses), ["a", "b"]);
    assert!(Arc::ptr_eq(&broken.ingresses[0].object, &snapshot.ingresses[0].object));
    assert_eq!(told(&broken).len(), 2);
    // It survives a list in which it is still broken, and is mended.
    double.end_watches("ingresses", true);
    double.put("ingresses", ingress("d", &json!({}), &[]));
    let (relisted, _) = until(&mut source, |snapshot, _| snapshot.ingresses.len() == 3).await;
    assert_eq!(names(&relisted.ingresses), ["a", "b", "d"]);
    double.put("ingresses", ingress("a", &json!({}), &[]));
    double.delete("ingresses", "shop", "c");
    until(&mut source, |snapshot, _| snapshot.findings.is_empty() && snapshot.left_out.is_empty()).await;
}

#[tokio::test]
async fn only_secrets_that_are_referred_to_are_kept() {
    let double = Double::default();
    for name in ["tls", "passwords", "other", "late"] {
        double.put("secrets", secret(name, "MQ=="));
    }
    double.put("ingresses", ingress("a", &json!({ "auth-secret": "passwords", "b": "no name" }), &["tls"]));
    let mut source = start(&double);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(names(&snapshot.secrets), ["passwords", "tls"]);
    assert!(!double.requests().contains(&"get secrets".to_owned()), "the list had them");
    // One that comes to be referred to later is asked for, and no reading shows the reference without it.
    double.put("ingresses", ingress("b", &json!({ "auth-secret": "shop/late" }), &[]));
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.ingresses.len() == 2).await;
    assert_eq!(names(&snapshot.secrets), ["late", "passwords", "tls"]);
    double.put("secrets", secret("late", "Mg=="));
    let value =
        |snapshot: &Snapshot| snapshot.secret("shop", "late").unwrap().object.data.as_ref().unwrap()["value"].0.clone();
    until(&mut source, |snapshot, _| value(snapshot) == b"2").await;
    // One that is not there yet comes by the watch.
    double.put("ingresses", ingress("c", &json!({}), &["soon"]));
    until(&mut source, |snapshot, _| snapshot.ingresses.len() == 3).await;
    double.put("secrets", secret("soon", "MQ=="));
    until(&mut source, |snapshot, _| snapshot.secret("shop", "soon").is_some()).await;
    // Nothing refers to it any more, or it is deleted.
    double.delete("ingresses", "shop", "b");
    double.delete("secrets", "shop", "tls");
    until(&mut source, |snapshot, _| names(&snapshot.secrets) == ["passwords", "soon"]).await;
    // A new list changes nothing.
    double.end_watches("secrets", true);
    double.end_watches("ingresses", true);
    double.put("secrets", secret("passwords", "Mw=="));
    let renewed = |snapshot: &Snapshot, _: &Reading| {
        snapshot.secret("shop", "passwords").unwrap().object.data.as_ref().unwrap()["value"].0 == b"3"
    };
    let (snapshot, _) = until(&mut source, renewed).await;
    assert_eq!(names(&snapshot.secrets), ["passwords", "soon"]);
}

#[tokio::test]
async fn namespaces_are_named_or_selected() {
    let double = Double::default();
    for namespace in ["one", "three", "two"] {
        double.put("services", service(namespace, "s"));
    }
    let spaces = |snapshot: &Snapshot| -> Vec<String> {
        snapshot.services.iter().map(|stored| stored.id.namespace.to_string()).collect()
    };
    let named = WatchOptions { scope: Scope::Namespaces(vec!["one".into(), "two".into()]), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &named);
    let (snapshot, reading) = until(&mut source, |_, _| true).await;
    assert_eq!(spaces(&snapshot), ["one", "two"]);
    assert_eq!(reading.watches.iter().filter(|watch| watch.kind == "Service").count(), 2);
    double.end_watches("services", true);
    double.delete("services", "two", "s");
    until(&mut source, |snapshot, _| spaces(snapshot) == ["one"]).await;

    // The double gives every namespace whatever the labels are.
    let namespace = |name: &str| json!({ "metadata": { "name": name } });
    double.put("namespaces", namespace("one"));
    let selected = WatchOptions { scope: Scope::Selected("team=a".to_owned()), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &selected);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(spaces(&snapshot), ["one"]);
    double.put("namespaces", namespace("three"));
    until(&mut source, |snapshot, _| spaces(snapshot) == ["one", "three"]).await;
    double.put("services", service("two", "t"));
    double.delete("namespaces", "", "one");
    until(&mut source, |snapshot, _| spaces(snapshot) == ["three"]).await;
}
