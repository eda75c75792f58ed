//! Which Secrets are kept, requested and waited for.

use super::*;

#[tokio::test(start_paused = true)]
async fn only_secrets_that_are_referred_to_are_kept() {
    let double = Double::default();
    for name in ["tls", "passwords", "other", "late"] {
        double.put("secrets", secret(name, "MQ=="));
    }
    double.put("ingresses", ingress("a", &json!({ "needs-secret": "passwords", "b": "no name" }), &["tls"]));
    let mut source = start(&double);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(names(&snapshot.secrets), ["passwords", "tls"]);
    assert!(!double.requests().contains(&"get secrets".to_owned()), "the list had them");
    // A Secret that becomes referenced later is requested, and no snapshot has the reference
    // without it.
    double.put("ingresses", ingress("b", &json!({ "needs-secret": "late" }), &[]));
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.ingresses.len() == 2).await;
    assert_eq!(names(&snapshot.secrets), ["late", "passwords", "tls"]);
    double.put("secrets", secret("late", "Mg=="));
    let value = |snapshot: &Snapshot| snapshot.secret("shop", "late").unwrap().object.get("value").unwrap().0.clone();
    until(&mut source, |snapshot, _| *value(snapshot) == *b"2").await;
    // A Secret that does not exist yet comes by the watch.
    double.put("ingresses", ingress("c", &json!({}), &["soon"]));
    until(&mut source, |snapshot, _| snapshot.ingresses.len() == 3).await;
    double.put("secrets", secret("soon", "MQ=="));
    until(&mut source, |snapshot, _| snapshot.secret("shop", "soon").is_some()).await;
    // The last reference goes away, or the Secret is deleted.
    double.delete("ingresses", "shop", "b");
    double.delete("secrets", "shop", "tls");
    until(&mut source, |snapshot, _| names(&snapshot.secrets) == ["passwords", "soon"]).await;
    // A new list changes nothing.
    double.end_watches("secrets", true);
    double.end_watches("ingresses", true);
    double.put("secrets", secret("passwords", "Mw=="));
    let renewed = |snapshot: &Snapshot, _: &Observation| {
        *snapshot.secret("shop", "passwords").unwrap().object.get("value").unwrap().0 == *b"3"
    };
    let (snapshot, _) = until(&mut source, renewed).await;
    assert_eq!(names(&snapshot.secrets), ["passwords", "soon"]);
}

#[tokio::test(start_paused = true)]
async fn secrets_of_releases_and_tokens_are_never_kept() {
    let double = Double::default();
    for (name, kind) in [("release", "helm.sh/release.v1"), ("token", "kubernetes.io/service-account-token")] {
        let mut large = secret(name, "MQ==");
        large["type"] = json!(kind);
        double.put("secrets", large);
    }
    double.put("secrets", secret("usual", "MQ=="));
    let mut source = start(&double);
    until(&mut source, |_, _| true).await;
    // They become referenced, so that each is requested by itself.
    double.put("ingresses", ingress("a", &json!({ "needs-secret": "release" }), &["token", "usual"]));
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.secrets.len() == 3).await;
    assert!(double.requests().contains(&"get secrets".to_owned()));
    let with_data = snapshot.secrets.iter().filter(|stored| !stored.object.data.is_empty());
    let with_data: Vec<_> = with_data.map(|stored| &*stored.id.name).collect();
    assert_eq!((names(&snapshot.secrets), with_data), (vec!["release", "token", "usual"], vec!["usual"]));
}

#[tokio::test(start_paused = true)]
async fn secrets_can_be_held_that_nothing_refers_to() {
    let double = Double::default();
    double.put("secrets", secret("old", "MQ=="));
    let mut source = start(&double);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert!(snapshot.secrets.is_empty());
    let (holder, held) = (source.holder(), [ObjectId::new(Kind::SECRET, "shop", "old")].into());
    holder.hold(&held);
    until(&mut source, |snapshot, _| names(&snapshot.secrets) == ["old"]).await;
    // It is followed, and holding it again changes nothing.
    double.put("secrets", secret("old", "Mg=="));
    holder.hold(&held);
    let value = |snapshot: &Snapshot| Some(snapshot.secret("shop", "old")?.object.get("value")?.0.clone());
    until(&mut source, |snapshot, _| value(snapshot).as_deref() == Some(b"2")).await;
    holder.hold(&[].into());
    until(&mut source, |snapshot, _| snapshot.secrets.is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn what_stays_missing_is_waited_for_once() {
    let double = Double::default();
    let mut source = start(&double);
    until(&mut source, |_, _| true).await;
    double.fail("secrets", "get", Some(Fault::Silence));
    double.put("ingresses", ingress("a", &json!({ "needs-secret": "late" }), &[]));
    until(&mut source, |snapshot, _| snapshot.ingresses.len() == 1).await;
    let began = tokio::time::Instant::now();
    for name in ["a", "b"] {
        double.put("services", service("shop", name));
        until(&mut source, |snapshot, _| snapshot.service("shop", name).is_some()).await;
    }
    // The clock advances only when all tasks wait.
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_busy_is_asked_for_a_secret_when_it_said() {
    let double = Double::default();
    double.put("secrets", secret("late", "MQ=="));
    let mut source = start(&double);
    until(&mut source, |_, _| true).await;
    let began = tokio::time::Instant::now();
    double.fail_next("secrets", "get", Fault::Busy(20));
    double.put("ingresses", ingress("a", &json!({ "needs-secret": "late" }), &[]));
    until(&mut source, |snapshot, _| snapshot.secret("shop", "late").is_some()).await;
    assert!(began.elapsed() >= Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn config_maps_that_the_settings_name_are_watched_where_they_are_and_no_others() {
    let double = Double::default();
    let named = |value: &str| json!({ "metadata": { "namespace": "edge", "name": "named" }, "data": { "a": value } });
    double.put("configmaps", named("1"));
    double.put("configmaps", json!({ "metadata": { "namespace": "edge", "name": "other" } }));
    let options = WatchOptions { named: [ObjectId::new(Kind::CONFIG_MAP, "edge", "named")].into(), ..options() };
    let mut source = ClusterSource::start(&Clients::of(&double.client()), &options);
    let (snapshot, _) = until(&mut source, |_, _| true).await;
    assert_eq!(names(&snapshot.config_maps), ["named"]);
    double.put("configmaps", named("2"));
    let value = |snapshot: &Snapshot| Some(snapshot.config_map("edge", "named")?.object.data.as_ref()?["a"].clone());
    until(&mut source, |snapshot, _| value(snapshot).as_deref() == Some("2")).await;
    double.delete("configmaps", "edge", "named");
    until(&mut source, |snapshot, _| snapshot.config_maps.is_empty()).await;
    // Without an object that names a ConfigMap none is read.
    let double = Double::default();
    let mut source = start(&double);
    double.put("configmaps", json!({ "metadata": { "namespace": "shop", "name": "other" } }));
    double.put("configmaps", json!({ "metadata": { "namespace": "shop", "name": "headers" } }));
    until(&mut source, |_, _| true).await;
    assert!(!double.requests().iter().any(|request| request.ends_with("configmaps")));
    // As soon as an object names one, they are listed before it is served.
    double.put("ingresses", ingress("a", &json!({ "needs-config-map": "headers" }), &[]));
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.ingresses.len() == 1).await;
    assert_eq!(names(&snapshot.config_maps), ["headers"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_read_config_maps_everything_else_is_served() {
    let double = Double::default();
    double.fail("configmaps", "list", Some(Fault::Status(403)));
    double.put("configmaps", json!({ "metadata": { "namespace": "shop", "name": "headers" } }));
    let mut source = start(&double);
    double.put("ingresses", ingress("a", &json!({ "needs-config-map": "headers" }), &[]));
    let (snapshot, _) = until(&mut source, |snapshot, _| snapshot.ingresses.len() == 1).await;
    assert!(snapshot.config_maps.is_empty());
}
