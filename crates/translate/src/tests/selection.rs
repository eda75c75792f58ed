//! Which objects are of our classes, by the administrator's settings.

use std::sync::Arc;

use super::certificates::{made, tls_ingress, tls_secret};
use super::manifests::snapshot;
use super::{ingress, options, path, translate, world};
use crate::{ANNOTATIONS, ClassRule, INGRESS_NGINX, Options, Translator, Wanted};
use ingressd_model::HostName;
use ingressd_model::finding::Reason;

/// One IngressClass of another controller, and Ingresses that refer to it in each way, or have a
/// default backend.
const OBJECTS: &str = "
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: edge}, spec: {controller: example.com/other}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: by-field, namespace: default}, spec: {ingressClassName: edge, rules: [{host: a.example}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: all, namespace: default}, spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: rest, namespace: default}, spec: {ingressClassName: nginx, defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [{host: b.example}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: no-host, namespace: default}, spec: {ingressClassName: nginx, rules: [{http: {paths: [{path: /x, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}
";

fn ours(options: Options) -> (Vec<String>, Vec<String>) {
    let translation = translate(OBJECTS, options);
    let foreign = translation.findings.iter().filter(|finding| finding.reason == Reason::ForeignClass);
    let foreign = foreign.map(|finding| format!("{} {}", finding.origin.object.name, finding.severity.name()));
    (translation.accepted().map(|(id, _)| id.name.to_string()).collect(), foreign.collect())
}

#[test]
fn a_class_may_be_ours_by_its_name() {
    assert_eq!(ours(options()).0, ["all", "no-host", "rest"]);
    let mut named = options();
    named
        .classes
        .push(ClassRule { class_name: Some("edge".into()), ..ClassRule::new("example.com/none", &INGRESS_NGINX) });
    assert_eq!(ours(named.clone()).0, ["all", "by-field", "no-host", "rest"]);
    named.classes[2].class_name = Some("edge2".into());
    assert_eq!(ours(named).0, ["all", "no-host", "rest"]);
}

#[test]
fn an_object_without_a_class_gets_the_youngest_default_one_where_no_api_server_has_written_it() {
    let class = |name: &str, controller: &str, created: &str, is_default: &str| {
        format!(
            "{{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {{name: {name}, creationTimestamp: \
             '{created}-01-01T00:00:00Z', annotations: {{ingressclass.kubernetes.io/is-default-class: '{is_default}'}}}}, \
             spec: {{controller: {controller}}}}}\n---\n"
        )
    };
    let object = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: default}, spec: {rules: [{host: a.example}]}}";
    let (ours, other) = ("ingressd/nginx", "example.com/other");
    for (classes, fills_in_class, expected) in [
        (class("a", ours, "2020", "true"), true, 1),
        (class("a", ours, "2020", "true"), false, 0),
        (class("a", ours, "2020", "false"), true, 0),
        (class("a", ours, "2020", "true") + &class("b", other, "2021", "true"), true, 0),
        (class("a", other, "2020", "true") + &class("b", ours, "2021", "true"), true, 1),
        (class("a", ours, "2020", "true") + &class("b", other, "2020", "true"), true, 1),
    ] {
        let options = Options { fills_in_class, ..options() };
        let translation = translate(&(classes.clone() + object), options);
        assert_eq!(translation.accepted().count(), expected, "{classes}");
    }
}

#[test]
fn objects_with_a_default_backend_may_be_left_alone() {
    let (ours, foreign) = ours(Options { no_catch_all: true, ..options() });
    assert_eq!(ours, ["no-host"]);
    assert_eq!(foreign, ["all warning", "by-field info", "rest warning"]);
}

#[test]
fn annotations_may_have_another_prefix() {
    let mut options = options();
    options.classes[1].annotations = ANNOTATIONS.behind("edge.example.com/");
    let of = |prefix: &str| {
        let ingress = format!(
            "{{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {{name: a, namespace: default, annotations: \
             {{{prefix}/allowlist-source-range: 10.0.0.0/8}}}}, spec: {{ingressClassName: nginx, rules: [{{host: a.example}}]}}}}"
        );
        let translation = translate(&ingress, options.clone());
        let reasons: Vec<_> = translation.findings.iter().map(|finding| finding.reason).collect();
        (translation.model.servers[0].fallback.behaviour.access.is_some(), reasons)
    };
    assert_eq!(of("edge.example.com"), (true, vec![]));
    assert_eq!(of("nginx.ingress.kubernetes.io"), (false, vec![Reason::UnsupportedAnnotation]));
    // Reloaded settings give the same table.
    assert!(std::ptr::eq(ANNOTATIONS.behind("edge.example.com/"), ANNOTATIONS.behind("edge.example.com/")));
    assert!(std::ptr::eq(ANNOTATIONS.behind(ANNOTATIONS.prefix), &ANNOTATIONS));
}

/// What is found out for annotations with another prefix is found out for these as well.
#[test]
fn what_annotations_of_another_prefix_name_is_known() {
    let mut options = options();
    options.classes[1].annotations = ANNOTATIONS.behind("edge.example.com/");
    let named = [("auth-url", "https://asked.example/"), ("mirror-target", "https://copied.example/")];
    let annotations: Vec<_> = named.iter().map(|(key, value)| format!("{key}: '{value}'")).collect();
    let all = ingress("a", "nginx", "a.example", &annotations.join(", "), &[path("/", "Prefix", "web")]);
    let snapshot = snapshot(&all.replace("nginx.ingress.kubernetes.io/", "edge.example.com/"));
    let wanted = Wanted::of(&snapshot, &options);
    let names: Vec<_> = wanted.referred.keys().map(HostName::as_str).collect();
    assert_eq!(names, ["asked.example", "copied.example"]);
}

#[test]
fn a_renewed_secret_is_read_again_for_annotations_of_any_prefix() {
    for prefix in [ANNOTATIONS.prefix, "edge.example.com/"] {
        let mut options = options();
        options.classes[1].annotations = ANNOTATIONS.behind(prefix);
        let key = format!("{}auth-tls-secret: default/both", ANNOTATIONS.prefix);
        let all = tls_ingress("a", "nginx", "2026-01-01T00:00:00Z", "a.example", "both");
        let all = all.replace("annotations: {", &format!("annotations: {{{key}")).replace(ANNOTATIONS.prefix, prefix);
        let [before, after] = ["first", "second"].map(|authority| {
            let (chain, key) = made(&["a.example"], "a.example", &rcgen::PKCS_ECDSA_P256_SHA256);
            let (authority, _) = made(&[], authority, &rcgen::PKCS_ECDSA_P256_SHA256);
            let secret =
                tls_secret("both", &chain, &key).replace("tls.crt:", &format!("ca.crt: {authority:?}, tls.crt:"));
            (snapshot(&format!("{all}\n---\n{secret}")), authority)
        });
        let mut translator = Translator::new(options);
        let claims = translator.translate(&before.0, &world(), &Arc::default()).claims;
        translator.translate(&before.0, &world(), &claims);
        // Nothing but the Secret has changed.
        let mut renewed = before.0.clone();
        let place = renewed.secrets.position("default", "both").unwrap();
        renewed.secrets.edit()[place] = after.0.secrets.find("default", "both").unwrap().clone();
        let translation = translator.translate(&renewed, &world(), &claims);
        let authorities: Vec<_> = translation.model.authorities.iter().map(|one| &*one.certificates).collect();
        assert_eq!(authorities.len(), 1, "{prefix}");
        assert_eq!(String::from_utf8_lossy(authorities[0]).trim(), after.1.trim(), "{prefix}");
    }
}
