//! What counts for an object: what it says itself, over what the administrator says for all.

use super::{ingress, options, path, translate};

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
