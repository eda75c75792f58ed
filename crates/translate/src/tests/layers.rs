//! What counts for an object: what it says itself, over what the administrator says for all.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{Options, Translator, ingress, options, path, translate, world};
use crate::{ANNOTATIONS, OptionEntry, Translation};
use ingressd_model::finding::Reason;
use ingressd_model::{Kind, ObjectId, Origin};
use ingressd_objects::{Snapshot, Version};

/// The hosts that are asked about requests, and those that get copies, by path.
fn services(annotations: [&str; 2]) -> Vec<String> {
    let [one, other] = [("one", "/one"), ("other", "/two")].map(|(name, at)| {
        let annotations = annotations[usize::from(name == "other")];
        let plain = format!("ssl-redirect: 'false', {annotations}");
        ingress(name, "nginx", "a.example", &plain, &[path(at, "Prefix", "web")])
    });
    let translation = translate(&format!("{one}---\n{other}"), options());
    let host = |route: &ingressd_model::Route| {
        let asked = route.behaviour.external_authentication.as_ref().map(|external| external.policy.host.to_string());
        asked.or_else(|| route.behaviour.mirror.as_ref().map(|mirror| mirror.policy.host.to_string()))
    };
    translation.model.servers[0].routes.iter().filter_map(host).collect()
}

#[test]
fn objects_that_share_a_policy_keep_the_services_that_each_of_them_names() {
    for key in ["auth-url", "mirror-target"] {
        let named = ["192.0.2.7", "192.0.2.8"].map(|address| format!("{key}: 'http://{address}/'"));
        assert_eq!(services([&named[0], &named[1]]), ["192.0.2.7", "192.0.2.8"], "{key}");
    }
}

/// Objects that say nothing, something, and something that is in a Secret.
fn objects() -> Snapshot {
    let all = [("a", ""), ("b", ""), ("c", "proxy-read-timeout: '7'"), ("d", "auth-type: basic, auth-secret: users")];
    let all = all.map(|(name, annotations)| {
        ingress(name, "nginx", &format!("{name}.example"), annotations, &[path("/", "Prefix", "web")])
    });
    snapshot(&all.join("\n---\n"))
}

/// The settings with an option for all objects.
fn with(key: &str, value: &str) -> Options {
    let at = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")));
    let said = OptionEntry { row: ANNOTATIONS.find(key).unwrap(), value: value.into(), at };
    Options { defaults: [said].into(), ..options() }
}

/// The values of a directive on each host.
fn values(translation: &Translation, name: &str) -> Vec<String> {
    let routes = translation.model.servers.iter().map(|server| &server.routes[0].behaviour.directives);
    let said = routes.map(|directives| directives.iter().find(|directive| directive.row.name == name));
    said.map(|said| said.map_or_else(String::new, crate::annotation::argument_words)).collect()
}

#[test]
fn what_is_said_for_all_objects_changes_and_none_is_read_again() {
    let mut snapshot = objects();
    let mut translator = Translator::new(with("proxy-read-timeout", "9"));
    let mut now = |snapshot: &Snapshot, options: Options| {
        translator.set_options(options);
        let translation = translator.translate(snapshot, &world(), &Arc::default());
        (values(&translation, "proxy_read_timeout"), translation.work.read)
    };
    let said = |values: [&str; 4]| values.map(str::to_owned).to_vec();
    assert_eq!(now(&snapshot, with("proxy-read-timeout", "9")), (said(["9s", "9s", "7s", "9s"]), 4));
    assert_eq!(now(&snapshot, with("proxy-read-timeout", "8")), (said(["8s", "8s", "7s", "8s"]), 0));
    assert_eq!(now(&snapshot, options()), (said(["", "", "7s", ""]), 0));
    // The Secret counts where it is named.
    snapshot.secrets.edit().iter_mut().for_each(|secret| secret.version = Version("other".into()));
    assert_eq!(now(&snapshot, options()).1, 0);
}

#[test]
fn objects_that_say_the_same_share_what_counts() {
    let translation = Translator::new(options()).translate(&objects(), &world(), &Arc::default());
    let [a, b, c, d] = &translation.model.servers[..] else { panic!("{:?}", translation.model.servers.len()) };
    let same = |one: &ingressd_model::Server, other: &ingressd_model::Server| {
        Arc::ptr_eq(&one.routes[0].behaviour, &other.routes[0].behaviour)
    };
    assert!(same(a, b) && !same(a, c) && !same(a, d));
}

#[test]
fn what_may_be_read_now_is_no_longer_reported_as_forbidden() {
    let asks = "auth-url: 'http://192.0.2.7/', auth-proxy-set-headers: absent";
    let snapshot = snapshot(&ingress("a", "nginx", "a.example", asks, &[path("/", "Prefix", "web")]));
    let forbidden = Snapshot { unseen: vec![Kind::CONFIG_MAP], ..snapshot.clone() };
    let mut translator = Translator::new(options());
    let mut reported = |snapshot: &Snapshot| {
        let translation = translator.translate(snapshot, &world(), &Arc::default());
        let missing = translation.findings.iter().find(|finding| finding.reason == Reason::MissingConfigMap);
        missing.map(|finding| finding.note.to_string()).unwrap()
    };
    assert!(reported(&forbidden).contains("may not read ConfigMap default/absent"));
    assert!(reported(&snapshot).contains("ConfigMap default/absent does not exist"));
}
