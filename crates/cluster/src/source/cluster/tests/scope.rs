//! Namespaces that are created while others are read.

use serde_json::json;

use super::super::double::{Double, Fault};
use super::{ingress, names, options, service, until, watch_of};
use crate::source::cluster::{Clients, ClusterSource, Scope, WatchOptions};
use ingressd_model::Kind;
use ingressd_objects::Snapshot;

#[tokio::test(start_paused = true)]
async fn namespaces_that_keep_coming_hold_up_no_list() {
    let double = Double::default();
    double.page(1);
    double.put("namespaces", namespace("one", "a"));
    for number in 0..5 {
        double.put("services", service("one", &format!("s-{number}")));
    }
    double.fail("services", "list", Some(Fault::Bustle));
    let selected = WatchOptions { scope: Scope::Selected("team=a".to_owned()), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &selected);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(snapshot.services.len(), 5);
    // Objects in a namespace that was created meanwhile come with the next list.
    double.put("services", service("late", "s"));
    double.put("namespaces", namespace("late", "a"));
    until(&mut source, |snapshot, _| snapshot.services.len() == 6).await;
    // Classes are cluster-scoped.
    let lists = double.requests().iter().filter(|request| *request == "list ingressclasses").count();
    assert_eq!(lists, 1);
}

/// A namespace with this value of the label `team`.
fn namespace(name: &str, team: &str) -> serde_json::Value {
    json!({ "metadata": { "name": name, "labels": { "team": team }, "annotations": { "some": "text" } } })
}

fn team(snapshot: &Snapshot, name: &str) -> Option<String> {
    snapshot.namespace(name)?.object.labels.get("team").cloned()
}

fn labels() -> WatchOptions {
    WatchOptions { labels: true, ..options() }
}

#[tokio::test(start_paused = true)]
async fn labels_of_namespaces_come_and_change() {
    let double = Double::default();
    double.put("namespaces", namespace("shop", "a"));
    double.put("namespaces", namespace("more", "a"));
    for scope in [Scope::Global, Scope::Namespaces(vec!["shop".into()]), Scope::Selected("team".to_owned())] {
        let options = WatchOptions { scope: scope.clone(), ..labels() };
        let mut source = ClusterSource::start(&Clients::of(&double.client()), &options);
        let (first, before) = until(&mut source, |_, _| true).await;
        // The very first snapshot has them.
        assert_eq!(
            (team(&first, "shop").as_deref(), names(&first.namespaces)),
            (Some("a"), vec!["more", "shop"]),
            "{scope:?}"
        );
        assert!(first.unseen.is_empty());
        double.put("namespaces", namespace("shop", "b"));
        let (_, after) = until(&mut source, |snapshot, _| team(snapshot, "shop").as_deref() == Some("b")).await;
        assert!(after.revision > before.revision, "it is a change");
        let mut noted = namespace("shop", "b");
        noted["metadata"]["annotations"] = json!({ "other": "text" });
        noted["status"] = json!({ "phase": "Active" });
        double.put("namespaces", noted);
        double.put("services", service("shop", "later"));
        let (_, noted) = until(&mut source, |snapshot, _| snapshot.service("shop", "later").is_some()).await;
        assert_eq!(noted.revision, after.revision + 1, "of what is not read nobody is told");
        double.delete("services", "shop", "later");
        double.put("namespaces", namespace("shop", "a"));
    }
    // Without a need for Namespaces they are not requested.
    let asked = || double.requests().iter().filter(|request| request.ends_with("namespaces")).count();
    let before = asked();
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &options());
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!((snapshot.namespaces.len(), asked()), (0, before));
}

#[tokio::test(start_paused = true)]
async fn labels_are_waited_for_unless_they_may_not_be_seen() {
    let double = Double::default();
    double.put("namespaces", namespace("shop", "a"));
    double.fail("namespaces", "list", Some(Fault::Status(500)));
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &labels());
    loop {
        let reading = source.next().await;
        assert!(reading.snapshot.is_none(), "nobody knows yet whose labels fit");
        let others = reading.watches.iter().filter(|watch| watch.kind != Kind::NAMESPACE);
        if watch_of(&reading, Kind::NAMESPACE).failure.is_some() && others.into_iter().all(|watch| watch.synced) {
            break;
        }
    }
    double.fail("namespaces", "list", Some(Fault::Status(403)));
    let (snapshot, before) = until(&mut source, |_, _| true).await;
    assert_eq!((&*snapshot.unseen, snapshot.namespace("shop").is_none()), (&[Kind::NAMESPACE][..], true));
    double.fail("namespaces", "list", None);
    let (snapshot, after) = until(&mut source, |snapshot, _| snapshot.unseen.is_empty()).await;
    assert_eq!(team(&snapshot, "shop").as_deref(), Some("a"));
    assert!(after.revision > before.revision);
    // When the right is taken away later, the known ones stay.
    double.fail("namespaces", "list", Some(Fault::Status(403)));
    double.fail("namespaces", "watch", Some(Fault::Status(403)));
    double.end_watches("namespaces", true);
    let (snapshot, _) = until(&mut source, |_, reading| watch_of(reading, Kind::NAMESPACE).refused).await;
    assert_eq!((team(&snapshot, "shop").as_deref(), snapshot.unseen.len()), (Some("a"), 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_selected_no_longer_keeps_its_labels_while_it_is_known() {
    let double = Double::default();
    double.put("namespaces", namespace("shop", "a"));
    double.put("namespaces", namespace("more", "a"));
    double.put("ingresses", ingress("web", &json!({}), &[]));
    let selected = WatchOptions { scope: Scope::Selected("team=a".to_owned()), ..labels() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &selected);
    until(&mut source, |snapshot, _| names(&snapshot.ingresses) == ["web"]).await;
    let relist = Fault::Status(500);
    double.fail("ingresses", "list", Some(relist));
    double.delete("namespaces", "", "shop");
    let (snapshot, _) = until(&mut source, |_, reading| watch_of(reading, Kind::INGRESS).failure.is_some()).await;
    assert_eq!((names(&snapshot.ingresses), team(&snapshot, "shop").as_deref()), (vec!["web"], Some("a")));
    double.fail("ingresses", "list", None);
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.ingresses.is_empty()).await;
    assert_eq!(names(&snapshot.namespaces), ["more"]);
}
