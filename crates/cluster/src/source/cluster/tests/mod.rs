//! The watches against a double of the API server.

mod credentials;
mod scope;
mod secrets;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::double::{Double, Fault};
use super::*;
use ingressd_model::finding::Reason;
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::rows::ConfigMap;
use ingressd_objects::{Ingress, Needs, Snapshot};

/// How long a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream with short times. The double is in memory and tests stop the clock, which then
/// advances only when all tasks wait, so that no limit is reached because the machine is slow.
const TIMING: Timing = Timing {
    answer: Duration::from_millis(300),
    silence: Duration::from_secs(60),
    lasting: Duration::from_millis(20),
    pauses: (Duration::from_millis(1), Duration::from_millis(8)),
};

/// What objects need here: Secrets in TLS entries, and what the values of two keys name.
pub fn needs() -> Needs {
    Needs::new(|entry| {
        let mut named = Vec::new();
        if let Some(ingress) = entry.object::<Ingress>() {
            named.extend(ingress.tls.iter().filter_map(|tls| Some(("needs-secret", tls.secret_name.as_deref()?))));
            named.extend(ingress.annotations.iter());
        }
        let data = entry.object::<ConfigMap>().into_iter().flat_map(|map| map.data.iter().flatten());
        named.extend(data.map(|(key, value)| (&**key, &**value)));
        let id = |(key, value): (&str, &str)| {
            let kind = match key {
                "needs-secret" => Kind::SECRET,
                "needs-config-map" => Kind::CONFIG_MAP,
                _ => return None,
            };
            let (namespace, name) = value.split_once('/').unwrap_or((&entry.id.namespace, value));
            Some(ObjectId::new(kind, namespace, name))
        };
        named.into_iter().filter_map(id).collect()
    })
}

fn options() -> WatchOptions {
    WatchOptions { timing: TIMING, needs: needs(), ..WatchOptions::default() }
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

/// Reads until a snapshot satisfies the condition.
async fn until(
    source: &mut ClusterSource,
    fits: impl Fn(&Snapshot, &Observation) -> bool,
) -> (Arc<Snapshot>, Observation) {
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

fn names<K>(list: &ingressd_objects::List<K>) -> Vec<&str> {
    list.iter().map(|stored| &*stored.id.name).collect()
}

fn watch_of(reading: &Observation, kind: Kind) -> WatchHealth {
    reading.watches.iter().find(|watch| watch.kind == kind).unwrap().clone()
}

#[tokio::test(start_paused = true)]
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
    changed["spec"]["externalTrafficPolicy"] = json!("Local");
    double.put("services", changed);
    let fits = |snapshot: &Snapshot, _: &Observation| {
        snapshot.service("shop", "c").is_some_and(|stored| stored.object.is_local)
    };
    let (second, _) = until(&mut source, fits).await;
    assert_eq!(names(&second.services), ["a", "b", "bb", "c", "e"]);
    assert!(Arc::ptr_eq(&first.services[0].object, &second.services[0].object));
    assert_ne!(first.service("shop", "c").unwrap().version, second.service("shop", "c").unwrap().version);
}

#[tokio::test(start_paused = true)]
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
    let (second, after) = until(&mut source, |snapshot, _| {
        snapshot.ingresses[0].published.as_ref().is_some_and(|published| published.status.is_some())
    })
    .await;
    assert!(Arc::ptr_eq(&first.ingresses[0].object, &second.ingresses[0].object), "the object stays where it is");
    assert_eq!(first.ingresses[0].version, second.ingresses[0].version);
    assert_eq!(before.revision, after.revision);
    // A new object with the same name and content is another object.
    let mut again = ingress("web", &json!({ "a": "b" }), &[]);
    again["metadata"]["uid"] = json!("other");
    double.put("ingresses", again);
    until(&mut source, |_, reading| reading.revision > after.revision).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_reported_before_everything_that_is_needed_is_known() {
    let double = Double::default();
    double.put("services", service("shop", "a"));
    double.fail("endpointslices", "list", Some(Fault::Status(500)));
    let mut source = start(&double);
    loop {
        let reading = source.next().await;
        assert!(reading.snapshot.is_none());
        if watch_of(&reading, Kind::ENDPOINT_SLICE).failure.is_some() && watch_of(&reading, Kind::SERVICE).synced {
            break;
        }
    }
    double.fail("endpointslices", "list", None);
    let (_, reading) = until(&mut source, |_, _| true).await;
    assert!(watch_of(&reading, Kind::ENDPOINT_SLICE).synced);
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_not_required_come_and_go() {
    let double = Double::default();
    double.put("nodes", json!({ "metadata": { "name": "n" } }));
    double.fail("nodes", "list", Some(Fault::Status(403)));
    let mut source = start(&double);
    let (snapshot, reading) = until(&mut source, |_, _| true).await;
    assert!(snapshot.nodes.is_empty());
    assert_eq!(watch_of(&reading, Kind::NODE).state(), "refused");
    // A kind that was refused stays left out while the API server does not respond for it.
    double.fail("nodes", "list", Some(Fault::Status(503)));
    until(&mut source, |_, reading| watch_of(reading, Kind::NODE).state() == "failing").await;
    double.put("services", service("shop", "a"));
    until(&mut source, |snapshot, _| names(&snapshot.services) == ["a"]).await;
    double.fail("nodes", "list", None);
    until(&mut source, |snapshot, _| names(&snapshot.nodes) == ["n"]).await;
    // When the right is taken away again, the known objects stay, and their age is reported.
    double.fail("nodes", "list", Some(Fault::Status(403)));
    double.fail("nodes", "watch", Some(Fault::Status(403)));
    double.end_watches("nodes", false);
    let (snapshot, reading) = until(&mut source, |_, reading| watch_of(reading, Kind::NODE).failure.is_some()).await;
    assert_eq!(names(&snapshot.nodes), ["n"]);
    assert!(watch_of(&reading, Kind::NODE).heard.is_some());
}

#[tokio::test(start_paused = true)]
async fn one_refused_kind_does_not_stop_the_others() {
    let double = Double::default();
    double.put("services", service("shop", "a"));
    let mut source = start(&double);
    until(&mut source, |_, _| true).await;
    double.fail("secrets", "list", Some(Fault::Status(403)));
    double.fail("secrets", "watch", Some(Fault::Status(403)));
    double.end_watches("secrets", false);
    until(&mut source, |_, reading| watch_of(reading, Kind::SECRET).refused).await;
    double.put("services", service("shop", "b"));
    until(&mut source, |snapshot, _| names(&snapshot.services) == ["a", "b"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_after_every_way_to_end() {
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

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
async fn a_list_that_is_older_begins_everything_anew() {
    let double = Double::default();
    double.put("services", service("shop", "kept"));
    double.put("ingresses", ingress("kept", &json!({}), &[]));
    let backup = double.back_up();
    let clients = Clients::of(&double.client());
    let before = clients.history();
    let mut source = ClusterSource::start(&clients, &options());
    until(&mut source, |_, _| true).await;
    for name in ["lost", "late"] {
        double.put("services", service("shop", name));
        double.put("ingresses", ingress(name, &json!({}), &[]));
    }
    until(&mut source, |snapshot, _| (snapshot.services.len(), snapshot.ingresses.len()) == (3, 3)).await;
    // A list that is as old as what was seen before, as when a watch was silent, is no restore.
    double.end_watches("services", true);
    double.put("services", service("shop", "later"));
    until(&mut source, |snapshot, _| snapshot.services.len() == 4).await;
    assert_eq!(clients.history(), before);
    double.restore(backup);
    // One watch ends, and its list is older. The others are silent, and would be for long.
    double.fail_next("services", "watch", Fault::Gone);
    double.end_watches("services", false);
    let fits = |snapshot: &Snapshot, reading: &Observation| {
        let since = clients.history().restored;
        let is_new = |watch: &WatchHealth| watch.heard > since && since.is_some();
        (names(&snapshot.services), names(&snapshot.ingresses)) == (vec!["kept"], vec!["kept"])
            && reading.watches.iter().all(|watch| !watch.synced || is_new(watch))
    };
    let (snapshot, _) = tokio::time::timeout(TIMING.silence / 2, until(&mut source, fits)).await.unwrap();
    assert!(snapshot.position.is_some_and(|position| position <= 2), "{:?}", snapshot.position);
}

#[tokio::test(start_paused = true)]
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
    let reported = |snapshot: &Snapshot| {
        let findings = snapshot.findings.iter().map(|finding| (finding.reason, finding.origin.to_string()));
        findings.collect::<Vec<_>>()
    };
    assert_eq!(reported(&snapshot), [(Reason::Undecodable, "Ingress shop/c".to_owned())]);
    let uid = later["metadata"]["uid"].as_str();
    assert!(uid.is_some() && matches!(&*snapshot.left_out, [left_out] if left_out.uid.as_deref() == uid), "{uid:?}");
    assert_eq!(snapshot.left_out[0].why, Reason::Undecodable);
    // An object that becomes invalid stays as it was, and the others change.
    later["metadata"]["name"] = json!("a");
    double.put("ingresses", later.clone());
    double.put("ingresses", ingress("b", &json!({ "x": "y" }), &[]));
    let changed = |snapshot: &Snapshot, _: &Observation| !snapshot.ingresses[1].object.annotations.is_empty();
    let (broken, _) = until(&mut source, changed).await;
    assert_eq!(names(&broken.ingresses), ["a", "b"]);
    assert!(Arc::ptr_eq(&broken.ingresses[0].object, &snapshot.ingresses[0].object));
    assert_eq!(reported(&broken).len(), 2);
    // Its published status is followed all the same, because otherwise it could not be withdrawn.
    let address = |snapshot: &Snapshot| {
        let status = snapshot.ingresses[0].published.as_ref()?.status.clone()?;
        status.load_balancer?.ingress?.pop()?.ip
    };
    let publish = |object: &mut Value, ip: &str| {
        object["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": ip }] } });
        double.put("ingresses", object.clone());
    };
    publish(&mut later, "192.0.2.1");
    let (reported, _) = until(&mut source, |snapshot, _| address(snapshot).as_deref() == Some("192.0.2.1")).await;
    assert_ne!(reported.ingresses[0].revision(), broken.ingresses[0].revision());
    // The same holds for an object that can be decoded but is invalid.
    let mut invalid = ingress("a", &json!({ "kubernetes.io/ingress.class": "one" }), &[]);
    invalid["spec"]["ingressClassName"] = json!("another");
    publish(&mut invalid, "192.0.2.2");
    let (reported, _) = until(&mut source, |snapshot, _| address(snapshot).as_deref() == Some("192.0.2.2")).await;
    assert!(Arc::ptr_eq(&reported.ingresses[0].object, &snapshot.ingresses[0].object));
    // It survives a list in which it is still invalid, until it is mended.
    double.fail("ingresses", "watch", Some(Fault::Gone));
    double.end_watches("ingresses", true);
    publish(&mut invalid, "192.0.2.3");
    double.put("ingresses", ingress("d", &json!({}), &[]));
    let (relisted, _) = until(&mut source, |snapshot, _| snapshot.ingresses.len() == 3).await;
    assert_eq!(names(&relisted.ingresses), ["a", "b", "d"]);
    assert_eq!(address(&relisted).as_deref(), Some("192.0.2.3"));
    double.fail("ingresses", "watch", None);
    double.put("ingresses", ingress("a", &json!({}), &[]));
    double.delete("ingresses", "shop", "c");
    until(&mut source, |snapshot, _| snapshot.findings.is_empty() && snapshot.left_out.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_page_may_take_any_time_as_long_as_it_comes() {
    let double = Double::default();
    double.put("services", service("shop", "a"));
    // Together that is longer than nothing may come.
    double.fail_next("services", "list", Fault::Slow(TIMING.answer / 2));
    let mut source = start(&double);
    let (snapshot, reading) = until(&mut source, |_, _| true).await;
    assert_eq!((names(&snapshot.services), watch_of(&reading, Kind::SERVICE).failure), (vec!["a"], None));
    let list = async |source: &mut ClusterSource, name: &str| {
        double.end_watches("services", true);
        double.put("services", service("shop", name));
        until(source, |snapshot, _| snapshot.service("shop", name).is_some()).await;
    };
    list(&mut source, "b").await;
    // Nothing comes at all.
    double.fail_next("services", "list", Fault::Silence);
    list(&mut source, "c").await;
    list(&mut source, "d").await;
    assert_eq!(double.limits("services"), ["500", "250", "500", "250", "500"]);
}

/// The object with managed fields that are nested too deep for the JSON parser.
fn deep(mut object: Value) -> Value {
    let fields = (0..150).fold(json!({}), |inner, _| json!({ "f:x": inner }));
    object["metadata"]["managedFields"] = json!([{ "manager": "kubectl", "fieldsV1": fields }]);
    object
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_nested_too_deep_is_served_and_delays_no_other() {
    let double = Double::default();
    double.put("services", service("shop", "a"));
    double.put("services", deep(service("shop", "b")));
    let mut source = start(&double);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!((names(&snapshot.services), &*snapshot.findings), (vec!["a", "b"], [].as_slice()));
    // In a watch: new, changed and deleted.
    double.put("services", deep(service("shop", "c")));
    let mut changed = service("shop", "b");
    changed["spec"]["externalTrafficPolicy"] = json!("Local");
    double.put("services", deep(changed));
    double.put("services", deep(service("shop", "d")));
    double.delete("services", "shop", "d");
    double.put("services", service("shop", "e"));
    let (snapshot, _) = until(&mut source, |snapshot, _| names(&snapshot.services).contains(&"e")).await;
    assert_eq!((names(&snapshot.services), &*snapshot.findings), (vec!["a", "b", "c", "e"], [].as_slice()));
    assert!(snapshot.service("shop", "b").is_some_and(|stored| stored.object.is_local));
    let asked = double.requests().iter().filter(|request| request.ends_with("services")).count();
    assert_eq!(asked, 2, "one list and one watch");
    // Any other fault is reported for this object alone, even where the same list has others that
    // are nested too deep.
    let mut broken = ingress("broken", &json!({}), &[]);
    broken["spec"]["rules"] = (0..150).fold(json!({}), |inner, _| json!([inner]));
    double.put("ingresses", broken);
    double.end_watches("ingresses", true);
    double.put("ingresses", deep(ingress("web", &json!({ "needs-secret": "late" }), &[])));
    // An object that is requested by itself.
    double.put("secrets", deep(secret("late", "MQ==")));
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.secret("shop", "late").is_some()).await;
    assert_eq!(names(&snapshot.ingresses), ["web"]);
    let reported: Vec<_> = snapshot.findings.iter().map(|finding| finding.origin.to_string()).collect();
    assert_eq!(reported, ["Ingress shop/broken"]);
}

#[tokio::test(start_paused = true)]
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
    assert_eq!(reading.watches.iter().filter(|watch| watch.kind == Kind::SERVICE).count(), 2);
    double.end_watches("services", true);
    double.delete("services", "two", "s");
    until(&mut source, |snapshot, _| spaces(snapshot) == ["one"]).await;

    let namespace = |name: &str| json!({ "metadata": { "name": name, "labels": { "team": "a" } } });
    double.put("namespaces", json!({ "metadata": { "name": "two" } }));
    double.put("namespaces", namespace("one"));
    let selected = WatchOptions { scope: Scope::Selected("team=a".to_owned()), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &selected);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(spaces(&snapshot), ["one"]);
    double.put("namespaces", namespace("three"));
    until(&mut source, |snapshot, _| spaces(snapshot) == ["one", "three"]).await;
    // The target of a reference may be in another namespace, and is followed there.
    let elsewhere = |value: &str| {
        let mut secret = secret("late", value);
        secret["metadata"]["namespace"] = json!("two");
        double.put("secrets", secret);
    };
    let value = |snapshot: &Snapshot| Some(snapshot.secret("two", "late")?.object.get("value")?.0.clone());
    elsewhere("MQ==");
    let mut referring = ingress("web", &json!({ "needs-secret": "two/late" }), &[]);
    referring["metadata"]["namespace"] = json!("three");
    double.put("ingresses", referring);
    until(&mut source, |snapshot, _| value(snapshot).as_deref() == Some(b"1")).await;
    elsewhere("Mg==");
    until(&mut source, |snapshot, _| value(snapshot).as_deref() == Some(b"2")).await;
    double.put("services", service("two", "t"));
    double.delete("namespaces", "", "one");
    until(&mut source, |snapshot, _| spaces(snapshot) == ["three"]).await;
}

#[tokio::test(start_paused = true)]
async fn of_what_is_not_served_only_what_is_published_is_known() {
    let double = Double::default();
    let namespace = |name: &str| json!({ "metadata": { "name": name, "labels": { "team": "a" } } });
    let published = |namespace: &str, name: &str, addresses: &[&str]| {
        let mut object = ingress(name, &json!({ "some": "annotation" }), &[]);
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["uid"] = json!(format!("uid-{name}"));
        let entries: Vec<_> = addresses.iter().map(|address| json!({ "ip": address })).collect();
        object["status"] = json!({ "loadBalancer": { "ingress": entries } });
        double.put("ingresses", object);
    };
    fn outside(snapshot: &Snapshot) -> Vec<&str> {
        snapshot.outside.entries().map(|entry| &*entry.id.name).collect()
    }
    double.put("namespaces", namespace("one"));
    published("one", "in", &["192.0.2.1"]);
    published("two", "empty", &[]);
    published("two", "out", &["192.0.2.1"]);
    let options = WatchOptions { scope: Scope::Selected("team=a".to_owned()), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &options);
    let (snapshot, before) = until(&mut source, |_, _| true).await;
    assert_eq!((names(&snapshot.ingresses), outside(&snapshot)), (vec!["in"], vec!["out"]));
    let bare = snapshot.outside.entries().next().unwrap();
    assert_eq!(bare.object::<Ingress>().unwrap(), &Ingress { uid: Some("uid-out".into()), ..Ingress::default() });

    // Published statuses there appear and vanish without adding objects.
    published("two", "empty", &["192.0.2.2"]);
    let (_, after) = until(&mut source, |snapshot, _| outside(snapshot) == ["empty", "out"]).await;
    assert_eq!(after.revision, before.revision);
    published("two", "empty", &[]);
    double.delete("ingresses", "two", "out");
    until(&mut source, |snapshot, _| outside(snapshot).is_empty()).await;

    // Namespaces are selected and deselected; no object is in both lists.
    published("two", "out", &["192.0.2.1"]);
    until(&mut source, |snapshot, _| outside(snapshot) == ["out"]).await;
    double.put("namespaces", namespace("two"));
    let served = ["in", "empty", "out"];
    let (snapshot, _) = until(&mut source, |snapshot, _| names(&snapshot.ingresses) == served).await;
    assert!(outside(&snapshot).is_empty());
    double.delete("namespaces", "", "one");
    let (snapshot, _) = until(&mut source, |snapshot, _| names(&snapshot.ingresses) == served[1..]).await;
    assert_eq!(outside(&snapshot), ["in"]);
}
