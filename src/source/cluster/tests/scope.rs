//! Namespaces that come while others are read; it must not know how lists are made.

use serde_json::json;

use super::double::{Double, Fault};
use super::{options, service, until};
use crate::source::cluster::{Clients, ClusterSource, Scope, WatchOptions};

#[tokio::test(start_paused = true)]
async fn namespaces_that_keep_coming_hold_up_no_list() {
    let double = Double::default();
    double.page(1);
    double.put("namespaces", json!({ "metadata": { "name": "one" } }));
    for number in 0..5 {
        double.put("services", service("one", &format!("s-{number}")));
    }
    double.fail("services", "list", Some(Fault::Bustle));
    let selected = WatchOptions { scope: Scope::Selected("team=a".to_owned()), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &selected);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(snapshot.services.len(), 5);
    // What is in a namespace that came meanwhile comes with the next list.
    double.put("services", service("late", "s"));
    double.put("namespaces", json!({ "metadata": { "name": "late" } }));
    until(&mut source, |snapshot, _| snapshot.services.len() == 6).await;
    // Classes have no namespace.
    let lists = double.requests().iter().filter(|request| *request == "list ingressclasses").count();
    assert_eq!(lists, 1);
}
