//! Which object may have TLS of a host passed through, and what happens to the others.

use super::{findings, ingress, options, path, routes, shared, translate};
use crate::value::host;
use crate::{Options, Translation};
use ingressd_model::{Passthrough, Serves};

const ASK: &str = "ssl-passthrough: 'true'";

/// An object of a namespace with a creation year and a path of the host.
fn object(namespace: &str, number: u16, host: &str, at: &str, annotations: &str) -> String {
    ingress(&format!("o{number}"), "nginx", host, annotations, &[path(at, "Prefix", "web")])
        .replace("namespace: default", &format!("namespace: {namespace}"))
        .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{}-01-01T00:00:00Z', ", 2020 + number))
}

/// The hosts with passthrough, each with the deciding object and its upstream.
fn passed(translation: &Translation) -> Vec<String> {
    let line = |passed: &Passthrough| {
        let to = passed.upstream.as_ref().map_or("nowhere".to_owned(), |to| format!("{}/{}", to.namespace, to.service));
        format!("{} {} {to}", host::written(&passed.name), passed.origin.object.name)
    };
    let passed: Vec<_> = translation.model.passthroughs.hosts.iter().map(line).collect();
    let passes = translation.model.listeners.iter().any(|listener| listener.serves == Serves::Passthrough);
    assert_eq!(passes, !passed.is_empty(), "a listener says whether TLS is passed on");
    passed
}

fn allowed(options: Options) -> Options {
    Options { passthrough: true, ..options }
}

#[test]
fn the_path_of_all_others_decides_in_the_namespace_whose_host_it_is() {
    /// Objects by namespace, path and annotations; hosts with passthrough, closed paths, and
    /// findings.
    type Row<'r> = (&'r [(&'r str, &'r str, &'r str)], &'r [&'r str], &'r [&'r str], &'r [&'r str]);
    let rows: &[Row<'_>] = &[
        (&[("default", "/", "")], &[], &[], &[]),
        (&[("default", "/", "ssl-passthrough: 'false'")], &[], &[], &[]),
        (&[("default", "/", ASK)], &["a.example o0 default/web"], &[], &[]),
        // TLS cannot be selected by another path than `/`.
        (&[("default", "/app", ASK)], &[], &[], &["o0 UnsupportedAnnotation"]),
        (&[("default", "/app", ASK), ("default", "/", "")], &[], &[], &["o0 UnsupportedAnnotation"]),
        // A younger object may decide, as long as the path is its own.
        (
            &[("default", "/app", ""), ("default", "/", ASK)],
            &["a.example o1 default/web"],
            &[],
            &["o0 HostRuleConflict"],
        ),
        (&[("default", "/", ""), ("default", "/", ASK)], &[], &[], &["o1 UnsupportedAnnotation"]),
        (
            &[("default", "/", ASK), ("default", "/app", ASK)],
            &["a.example o0 default/web"],
            &[],
            &["o1 HostRuleConflict"],
        ),
        // Only the owner of the host decides.
        (&[("default", "/app", ""), ("team-a", "/", ASK)], &[], &["/"], &["o1 ClosedRoute"]),
        (
            &[("default", "/", ASK), ("team-a", "/app", "")],
            &["a.example o0 default/web"],
            &[],
            &["o1 HostRuleConflict"],
        ),
        (
            &[("default", "/", ASK), ("team-a", "/app", ASK)],
            &["a.example o0 default/web"],
            &["/app"],
            &["o1 ClosedRoute"],
        ),
        // Options without effect on TLS are reported; those about plain http are not.
        (
            &[("default", "/", "ssl-passthrough: 'true', ssl-redirect: 'false'")],
            &["a.example o0 default/web"],
            &[],
            &[],
        ),
        (
            &[("default", "/", "ssl-passthrough: 'true', proxy-body-size: 1m")],
            &["a.example o0 default/web"],
            &[],
            &["o0 UnsupportedAnnotation"],
        ),
        // Broken protection closes the object, with passthrough too.
        (
            &[("default", "/", "ssl-passthrough: 'true', auth-type: basic")],
            &["a.example o0 nowhere"],
            &["/"],
            &["o0 ClosedRoute", "o0 UnsupportedAnnotation"],
        ),
    ];
    for (objects, expected, closed, reported) in rows {
        let documents = (0..)
            .zip(*objects)
            .map(|(number, (namespace, at, annotations))| object(namespace, number, "a.example", at, annotations));
        let documents = documents.collect::<Vec<_>>().join("\n---\n");
        let translation = translate(&documents, allowed(shared()));
        let lines = routes(&translation);
        let own =
            lines.iter().map(|line| line.trim()).filter(|line| line.ends_with("503") && !line.starts_with("else"));
        let own: Vec<_> = own.map(|line| line.split(" -> ").next().unwrap()).collect();
        let about = ["ClosedRoute", "HostRuleConflict", "UnsupportedAnnotation"];
        let found = findings(&translation);
        let found: Vec<_> = found.iter().filter(|line| about.iter().any(|reason| line.ends_with(reason))).collect();
        assert_eq!(
            (passed(&translation), own),
            (expected.iter().map(|text| (*text).to_owned()).collect(), closed.to_vec()),
            "{objects:?}: {lines:#?}"
        );
        assert_eq!(found, *reported, "{objects:?}");
    }
}

#[test]
fn a_host_that_another_namespace_has_is_not_passed_through() {
    let documents = [object("default", 0, "a.example", "/", ""), object("team-a", 1, "a.example", "/", ASK)];
    for options in [options(), Options { ownership: crate::HostOwnership::Namespace, ..options() }, shared()] {
        let translation = translate(&documents.join("\n---\n"), allowed(options));
        assert_eq!(passed(&translation), [""; 0]);
    }
}

#[test]
fn without_the_setting_the_object_is_refused_and_the_finding_names_it() {
    let translation = translate(&object("default", 0, "a.example", "/", ASK), options());
    assert_eq!((passed(&translation).len(), translation.refused.len()), (0, 1));
    let notes = translation.findings.iter().filter(|finding| finding.note.contains("`tls.passthrough`"));
    assert_eq!(notes.count(), 1, "{:?}", translation.findings);
}

#[test]
fn hosts_that_nobody_names_have_no_name_in_a_handshake() {
    let translation = translate(&object("default", 0, "", "/", ASK), allowed(options()));
    assert_eq!((passed(&translation), findings(&translation)), (Vec::new(), vec!["o0 ClosedRoute".to_owned()]));
}

#[test]
fn plain_requests_get_to_the_backend_by_tls() {
    for (protocol, expected) in [("", "Https"), ("HTTP", "Https"), ("GRPC", "Grpcs"), ("GRPCS", "Grpcs")] {
        let annotations =
            if protocol.is_empty() { ASK.to_owned() } else { format!("{ASK}, backend-protocol: {protocol}") };
        let translation = translate(&object("default", 0, "a.example", "/", &annotations), allowed(options()));
        let lines = routes(&translation);
        assert!(lines.iter().any(|line| line.trim() == format!("/ -> web {expected}")), "{lines:?}");
    }
}

#[test]
fn where_to_follows_the_service() {
    let passed_to = |service: &str| {
        let document = object("default", 0, "*.a.example", "/", ASK).replace("name: web", &format!("name: {service}"));
        let translation = translate(&document, allowed(options()));
        let upstreams = translation.model.stream_upstreams.iter();
        let endpoints = upstreams.map(|upstream| translation.tables.endpoints(&upstream.id).len());
        (passed(&translation), endpoints.collect::<Vec<_>>(), findings(&translation))
    };
    let (hosts, endpoints, reported) = passed_to("web");
    assert_eq!((hosts, endpoints.len(), reported.len()), (vec!["*.a.example o0 default/web".to_owned()], 1, 0));
    assert!(endpoints[0] > 0);
    let (hosts, endpoints, reported) = passed_to("absent");
    assert_eq!((hosts, endpoints), (vec!["*.a.example o0 nowhere".to_owned()], Vec::new()));
    // The fault concerns both ways, and is reported once.
    assert_eq!(reported, ["o0 MissingService"]);
}
