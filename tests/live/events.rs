//! Every finding becomes one Event on its object, in a form that the API accepts.

use std::collections::BTreeMap;

use ingressd_model::finding::Reason;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use crate::wrongs::{ELSEWHERE, good, write_wrongs, wrongs};
use rig::cluster::objects::ADDRESS;
use rig::cluster::{self, Cluster};
use rig::dns::Dns;
use rig::manifests::ingress;
use rig::wait;

/// Where developers find the pages.
const PAGES: &str = "https://docs.example/ingressd/";

/// The name of the test's node, which no other test has. Daemons of other tests see its objects,
/// too, and perhaps before the class of these: then they say so.
const NODE: &str = "teller";

/// The Events of the test's daemon, how many for each object and reason.
async fn counts(cluster: &Cluster) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    let events = cluster.objects.events().await;
    for event in events.into_iter().filter(|event| text(&event["reportingInstance"]).starts_with(NODE)) {
        *counts.entry((about(&event), text(&event["reason"]))).or_default() += 1;
    }
    counts
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn about(event: &Value) -> String {
    format!("{} {}", text(&event["regarding"]["kind"]), text(&event["regarding"]["name"]))
}

#[test]
fn every_reason_is_reported_by_a_test_or_excused() {
    let tested = wrongs().into_iter().map(|(reason, ..)| reason);
    let mut known: Vec<_> = tested.chain(ELSEWHERE.iter().map(|(reason, _)| *reason)).collect();
    let mut reasons: Vec<_> = Reason::ALL.iter().map(|row| row.name).collect();
    known.sort_unstable();
    reasons.sort_unstable();
    assert_eq!(known, reasons, "tests/live/wrongs.rs");
}

#[test]
fn each_mistake_is_one_event_on_its_object() {
    cluster::run(async |cluster| {
        cluster.daemon.set("publish.node", NODE);
        let _proxy = write_wrongs(cluster).await;
        cluster.daemon.set("publish.documentation", PAGES);
        cluster.start().await;
        let missing = async || {
            let reported = counts(cluster).await;
            let wanted = wrongs().into_iter().map(|(reason, object, ..)| (object.to_owned(), reason.to_owned()));
            wanted.filter(|wanted| !reported.contains_key(wanted)).collect::<Vec<_>>()
        };
        wait::until_right("Events", missing, Vec::is_empty).await;
        let events = cluster.objects.events().await;
        for (reason, object, field, _) in wrongs() {
            let event = events.iter().find(|event| about(event) == object && event["reason"] == reason).unwrap();
            let note = text(&event["note"]);
            assert!(text(&event["action"]).contains(field) && note.contains(field), "{reason}: {event:#}");
            // The note does not repeat the other fields of the Event, and ends with the link.
            let link = format!("See {PAGES}findings.md#{}", reason.to_lowercase());
            assert!(note.ends_with(&link) && !note.contains(reason) && !note.contains(object), "{reason}: {note}");
            assert_eq!((&event["type"], event["regarding"]["uid"].is_string()), (&json!("Warning"), true), "{reason}");
        }

        // There is an Event for everything that is served.
        let status = cluster.daemon.status().await.unwrap();
        let is_served = |ingress: &&Value| ingress["served_seconds"].is_u64();
        let served: Vec<_> = status["ingresses"].as_array().unwrap().iter().filter(is_served).collect();
        assert!(served.len() > 8, "{status:#}");
        let served = || served.iter().map(|ingress| format!("Ingress {}", text(&ingress["name"])));
        let unsung = async || {
            let reported = counts(cluster).await;
            served().filter(|name| !reported.contains_key(&(name.clone(), "Synced".to_owned()))).collect::<Vec<_>>()
        };
        wait::until_right("that everything is served", unsung, Vec::is_empty).await;
        // A site of this host has the name.
        let is_taken = |ingress: &&Value| text(&ingress["name"]) == "taken";
        let taken = status["not_served"].as_array().unwrap().iter().find(is_taken).unwrap();
        assert_eq!(taken["state"], "refused");
        assert_eq!(cluster.objects.addresses("taken").await, [""; 0]);

        // Nothing else is said about what is as it should be.
        let before = counts(cluster).await;
        assert_eq!(before.keys().filter(|(object, _)| object == "Ingress first").count(), 1, "{before:#?}");

        // Another start tells nothing again, and neither does a change of something else.
        assert!(before.values().all(|count| *count == 1), "{before:#?}");
        // An object with an address was reported as served: the next leader knows it by that.
        cluster.objects.until_published("bad-value", &[ADDRESS]).await;
        assert!(cluster.daemon.stop().await.success());
        cluster.objects.merge("Ingress", "bad-value", json!({"metadata": {"labels": {"other": "label"}}})).await;
        cluster.daemon.start();
        let known = async || cluster.daemon.get("/metrics").await.map_or(0.0, |_| 1.0);
        wait::until_right("metrics", known, |known| *known > 0.0).await;
        let known = async || cluster.daemon.metric(r#"ingressd_events_total{result="known"}"#).await;
        let expected = wrongs().len() as f64;
        wait::until_right("the leader to look at what it told", known, |known| *known >= expected).await;
        assert_eq!(counts(cluster).await, before);

        // Changes while the daemon was stopped get an Event when it serves them.
        let key = ("Ingress first".to_owned(), "Synced".to_owned());
        assert!(cluster.daemon.stop().await.success());
        cluster.objects.apply(good("first").annotation("proxy-read-timeout", "8")).await;
        cluster.daemon.start();
        let reported = async || counts(cluster).await;
        wait::until_right("that the change is served", reported, |reported| reported.get(&key) == Some(&2)).await;

        // An object that is mended and breaks again gets another Event, and a mended one an Event
        // that it is served.
        let key = ("Ingress bad-value".to_owned(), "InvalidValue".to_owned());
        let synced = ("Ingress bad-value".to_owned(), "Synced".to_owned());
        let served = before.get(&synced).copied().unwrap_or_default();
        cluster.objects.apply(good("bad-value").annotation("proxy-read-timeout", "7")).await;
        let reported = async || counts(cluster).await;
        wait::until_right("that it is served", reported, |reported| reported.get(&synced) == Some(&(served + 1))).await;
        cluster.objects.apply(good("bad-value").annotation("proxy-read-timeout", "soon")).await;
        wait::until_right("another Event", reported, |reported| reported.get(&key) == Some(&2)).await;
    });
}

#[test]
fn one_object_gets_no_more_than_its_share_and_no_note_is_too_long() {
    cluster::run(async |cluster| {
        cluster.daemon.set("publish.node", NODE);
        cluster.objects.serve("web", &["10.244.0.1"]).await;
        let many = (0..30).fold(ingress("many").class("nginx"), |many, number| {
            many.path("many.example", "Prefix", &format!("/{number}"), &format!("none-{number}"))
        });
        cluster.objects.apply(many).await;
        // The note quotes the value, and has to be cut between its characters.
        cluster.objects.apply(good("long").annotation("proxy-read-timeout", &"\u{e4}".repeat(3000))).await;
        cluster.start().await;
        let of = async |name: &str| {
            let events = cluster.objects.events().await;
            events.into_iter().filter(|event| event["regarding"]["name"] == name).collect::<Vec<_>>()
        };
        let long = async || of("long").await.into_iter().find(|event| event["reason"] == "InvalidValue");
        let long = wait::until("the Event with a long note", long).await;
        let note = text(&long["note"]);
        assert!((64..=1024).contains(&note.len()) && note.contains("\u{e4}\"... is refused: "), "{long:#}");
        // There are twenty Events, one that says how many more findings there are, and one that
        // says that the object is served.
        wait::until_right("the share of the one", async || of("many").await.len(), |count| *count == 22).await;
        let more = counts(cluster).await.get(&("Ingress many".to_owned(), "MoreFindings".to_owned())).copied();
        assert_eq!(more, Some(1));
        // The daemon counts an Event when the API server has answered; a list may contain it
        // before.
        let sent = async || cluster.daemon.metric(r#"ingressd_events_total{result="sent"}"#).await;
        wait::until_right("all that was sent to be counted", sent, |sent| *sent >= 21.0).await;
    });
}

#[test]
fn a_name_that_dns_does_not_know_is_reported() {
    cluster::run(async |cluster| {
        cluster.daemon.set("publish.node", NODE);
        let dns = Dns::start().await;
        let named = json!({"type": "ExternalName", "externalName": "nowhere.test", "ports": [{"port": 80}]});
        cluster.daemon.set("upstreams.resolvers", &format!("[\"{}\"]", dns.address()));
        cluster
            .objects
            .apply_all([
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "named"}, "spec": named}),
                ingress("by-name").host("n.example", "named").build(),
            ])
            .await;
        cluster.start().await;
        let reported = async || counts(cluster).await;
        let key = ("Ingress by-name".to_owned(), "UnresolvedName".to_owned());
        wait::until_right("the Event", reported, |reported| reported.contains_key(&key)).await;
    });
}

#[test]
fn a_namespace_with_thousands_of_mistakes_delays_nobodys_events() {
    const OBJECTS: usize = 250;
    cluster::run(async |cluster| {
        cluster.daemon.set("publish.node", NODE);
        for number in 0..OBJECTS {
            let mut wrong = good(&format!("wrong-{number}"));
            for annotation in 0..60 {
                wrong = wrong.annotation(&format!("no-such-key-{annotation}"), "x");
            }
            cluster.objects.create(wrong).await;
        }
        let victim = format!("victim-{}", cluster.objects.namespace());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": victim}});
        cluster.objects.apply(namespace).await;
        cluster.start().await;
        let begun = async || cluster.objects.events().await.len();
        wait::until_right("the first Events", begun, |count| *count > 0).await;
        let wrong = good("cart").path("missing.example", "Prefix", "/", "missing");
        cluster.objects.apply(wrong.namespace(&victim)).await;
        let events = kube::Api::<Event>::namespaced(cluster.objects.client(), &victim);
        let reported = async || {
            let events = events.list(&ListParams::default()).await.unwrap().items;
            events.iter().filter(|event| event.reason.as_deref() == Some("MissingService")).count()
        };
        wait::until_right("the victim's Event", reported, |reported| *reported > 0).await;
        // There are twenty Events for each object, and one that says how many more findings there
        // are.
        let of_many = counts(cluster).await;
        assert!(of_many.values().sum::<usize>() < OBJECTS * 21, "all of the others came first");
        assert!(of_many.values().all(|count| *count <= 21), "{of_many:#?}");
        let ingresses = kube::Api::<Ingress>::namespaced(cluster.objects.client(), &victim);
        ingresses.delete("cart", &DeleteParams::default()).await.unwrap();
    });
}
