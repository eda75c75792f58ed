//! Requests of a host that no path matches, and options of a whole host.

use std::sync::Arc;

use super::{findings, ingress, manifests, options, path, routes, translate, world};
use crate::{Hsts, Options, Translator};
use ingressd_model::Action;

/// The protection or change of the automatic `/` of a host, in words.
fn fallback(class: &str, annotations: &str) -> String {
    let document = ingress("i", class, "a.example", annotations, &[path("/a", "Prefix", "web")]);
    let translation = translate(&document, options());
    let fallback = &translation.model.servers[0].fallback;
    let behaviour = &fallback.behaviour;
    let parts = [
        (behaviour.access.is_some(), "access"),
        (behaviour.basic_authentication.is_some(), "authentication"),
        (behaviour.cors.is_some(), "cors"),
        (behaviour.limits.is_some(), "limits"),
        (behaviour.rewrite.is_some(), "rewrite"),
        (behaviour.https_redirect.is_some_and(|redirect| redirect.forced), "forced"),
        (!behaviour.directives.is_empty(), "directives"),
    ];
    let line = routes(&translation).pop().unwrap();
    parts.iter().filter(|(has, _)| *has).fold(line, |line, (_, part)| format!("{line} {part}"))
}

#[test]
fn the_automatic_location_carries_all_but_the_rewrite() {
    let rows = [
        ("nginx", "", "  else / -> 404"),
        ("nginx", "allowlist-source-range: 10.0.0.0/8", "  else / -> 404 access"),
        ("nginx", "auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: users", "  else / -> 404 authentication"),
        ("nginx", "enable-cors: 'true'", "  else / -> 404 cors"),
        ("nginx", "limit-rps: '5'", "  else / -> 404 limits"),
        ("nginx", "rewrite-target: /new", "  else / -> 404"),
        ("nginx", "force-ssl-redirect: 'true'", "  else / -> 404 forced"),
        ("nginx", "proxy-body-size: 8m", "  else / -> 404 directives"),
        ("nginx", "permanent-redirect: 'https://b.example/'", "  else / -> 301 https://b.example/"),
        ("nginx", "temporal-redirect: 'https://b.example/'", "  else / -> 302 https://b.example/"),
        // In the specification dialect a redirect applies only to the paths of its object.
        ("ingressd", "permanent-redirect: 'https://b.example/'", "  else / -> 404"),
        ("nginx", "allowlist-source-range: nonsense", "  else / -> 503"),
    ];
    for (class, annotations, expected) in rows {
        let annotations = annotations.replace("nginx.ingress.kubernetes.io/", "");
        assert_eq!(fallback(class, &annotations), expected, "{class} {annotations}");
    }
}

#[test]
fn the_oldest_object_owns_the_automatic_location() {
    let dated = |name: &str, date: &str, annotations: &str| {
        ingress(name, "nginx", "a.example", annotations, &[path(&format!("/{name}"), "Prefix", "web")])
            .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{date}', "))
    };
    let old = dated("z", "2025-01-01T00:00:00Z", "allowlist-source-range: 10.0.0.0/8");
    let new = dated("a", "2026-01-01T00:00:00Z", "enable-cors: 'true'");
    let translation = translate(&[new, old].join("\n---\n"), options());
    let behaviour = &translation.model.servers[0].fallback.behaviour;
    assert!(behaviour.access.is_some() && behaviour.cors.is_none());
}

#[test]
fn strict_transport_security_follows_dialect_and_settings() {
    let rows = [
        ("nginx", None, true),
        ("ingressd", None, false),
        ("nginx", Some(false), false),
        ("ingressd", Some(true), true),
    ];
    for (class, enabled, expected) in rows {
        let hsts = Hsts { enabled, max_age: 300, include_subdomains: false, preload: true };
        let document = ingress("i", class, "a.example", "", &[path("/", "Prefix", "web")]);
        let translation = translate(&document, Options { hsts, ..options() });
        let found = translation.model.servers[0].hsts;
        assert_eq!(found.is_some(), expected, "{class} {enabled:?}");
        assert!(found.is_none_or(|hsts| (hsts.max_age, hsts.include_subdomains, hsts.preload) == (300, false, true)));
    }
}

#[test]
fn a_default_backend_of_the_settings_that_is_missing_answers_503() {
    let missing = Options { default_backend: Some(("default".into(), "nobody".into())), ..options() };
    let document = ingress("i", "nginx", "a.example", "", &[path("/a", "Prefix", "web")]);
    let translation = translate(&document, missing);
    assert_eq!(routes(&translation), ["*", "  else / -> 503", "a.example", "  /a -> web Http", "  else / -> 503"]);
    let mut found = findings(&translation);
    found.dedup();
    assert_eq!(found, ["default-backend MissingService"]);
}

#[test]
fn a_default_backend_of_an_object_that_is_missing_is_reported_before_it_is_needed() {
    let reported = |annotations: &str, backend: &str| {
        let document = ingress("i", "nginx", "a.example", annotations, &[path("/a", "Prefix", backend)]);
        findings(&translate(&document, options()))
    };
    let missing = "default-backend: nosuch";
    assert_eq!(reported(missing, "web"), ["i MissingService"]);
    assert_eq!(reported("default-backend: web", "web"), Vec::<String>::new());
    let errors = format!("{missing}, custom-http-errors: '404'");
    assert_eq!(reported(&errors, "web"), ["i MissingService"]);
    assert_eq!(reported(&format!("{missing}, permanent-redirect: 'https://b.example'"), "web"), ["i MissingService"]);
}

#[test]
fn a_default_backend_of_an_object_is_reported_until_it_is_there() {
    let document = ingress("i", "nginx", "a.example", "default-backend: later", &[path("/a", "Prefix", "web")]);
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: later, namespace: default}\nspec: {ports: [{port: 80}]}\n";
    let mut translator = Translator::new(options());
    let mut reported = |documents: &[&str]| {
        let snapshot = manifests::snapshot(&documents.join("\n---\n"));
        findings(&translator.translate(&snapshot, &world(), &Arc::default()))
    };
    assert_eq!(reported(&[&document]), ["i MissingService"]);
    assert_eq!(reported(&[&document, service]), Vec::<String>::new());
    assert_eq!(reported(&[&document]), ["i MissingService"]);
}

#[test]
fn what_stands_in_for_a_missing_service_lets_nobody_in() {
    let asking = ingress("asking", "nginx", "a.example", "auth-url: 'http://$host/may'", &[path("/", "Prefix", "web")]);
    let stands_in = "default-backend: web";
    let answering =
        |service: &str| ingress("answering", "nginx", "a.example", stands_in, &[path("/may", "Exact", service)]);
    let line = |service: &str| {
        let translation = translate(&[asking.clone(), answering(service)].join("\n---\n"), options());
        let [may, own] = &translation.model.servers[0].routes[..] else { panic!("{:?}", routes(&translation)) };
        let decider = own.decider().map_or("nobody", |decider| &decider.service);
        let of_asking = findings(&translation).into_iter().filter(|line| line.starts_with("asking "));
        let stands_in = may.action.upstream().map(|upstream| &*upstream.service);
        format!("{stands_in:?} {:?} {decider} {}", own.action == Action::Closed, of_asking.collect::<String>())
    };
    assert_eq!(line("api"), r#"Some("api") false api "#);
    assert_eq!(line("gone"), r#"Some("web") true nobody asking MissingService"#);
}
