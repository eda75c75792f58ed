//! Each object that loses something because of another one is told, with what it needs.

use super::{findings, ingress, options, path, translate};
use crate::{AllowedSnippets, Options, SnippetKind};
use ingressd_model::finding::Reason;

/// A hash that nginx takes.
const ALICE: &str = "alice:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=";

fn secret(kind: &str, data: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: made, namespace: default}}\ntype: {kind}\nstringData: {{{data}}}"
    )
}

/// Two objects of a host with these annotations.
fn both(annotations: &str) -> String {
    let of =
        |name: &str| ingress(name, "nginx", "a.example", annotations, &[path(&format!("/{name}"), "Exact", "web")]);
    [of("a"), of("b")].join("\n---\n")
}

#[test]
fn what_a_secret_does_not_give_is_reported_at_each_object_that_names_it() {
    let (basic, tls, proxied) = (
        "auth-type: basic, auth-secret: made",
        "auth-tls-secret: made",
        "backend-protocol: HTTPS, proxy-ssl-secret: made",
    );
    let each = |reason: &str| ["a", "b"].map(|name| format!("{name} {reason}"));
    for (annotations, secret, reported, words) in [
        (basic, secret("Opaque", &format!("auth: '{ALICE}'")), vec![], ""),
        (
            basic,
            secret("Opaque", &format!("auth: \"{ALICE}\\nbob\"")),
            [&each("InvalidSecret")[..], &["made InvalidSecret".to_owned()]].concat(),
            "1 entry is left out, so these users get 401: line 2 of auth",
        ),
        (basic, secret("kubernetes.io/tls", "x: y"), each("InvalidSecret").to_vec(), "type Opaque, with the lines"),
        (
            "auth-type: basic, auth-secret-type: auth-map, auth-secret: made",
            secret("kubernetes.io/basic-auth", "username: a"),
            [&each("InvalidSecret")[..], &["made InvalidSecret".to_owned()]].concat(),
            "has a hash of an unknown kind",
        ),
        (tls, secret("Opaque", "x: y"), each("InvalidSecret").to_vec(), "as ca.crt"),
        (proxied, secret("Opaque", "tls.crt: y"), each("InvalidSecret").to_vec(), "with tls.crt and tls.key"),
    ] {
        let translation = translate(&[both(annotations), secret].join("\n---\n"), options());
        let found = findings(&translation).into_iter().filter(|line| !line.ends_with("ClosedRoute"));
        assert_eq!(found.collect::<Vec<_>>(), reported, "{annotations}: {:?}", translation.findings);
        let of_objects = translation.findings.iter().filter(|finding| finding.reason == Reason::InvalidSecret);
        let of_objects = of_objects.filter(|finding| &*finding.origin.object.name != "made");
        let missed: Vec<_> = of_objects.filter(|finding| !finding.note.contains(words)).collect();
        assert!(missed.is_empty(), "{words:?} is not in {missed:?}");
    }
}

#[test]
fn snippets_that_close_a_host_are_reported_to_all_of_the_namespace() {
    let entry = AllowedSnippets {
        items: SnippetKind::ALL.to_vec(),
        namespaces: vec!["default".into()],
        ..AllowedSnippets::default()
    };
    let mut options = Options { snippets: vec![entry], annotation_snippets: true, ..options() };
    options.limits.expressions_of_host = 1;
    let says = ingress(
        "z",
        "nginx",
        "a.example",
        "server-snippet: 'if ($http_x ~* \"(ab){9}[cd]+\") { return 403; }'",
        &[path("/z", "Exact", "web")],
    );
    let translation = translate(&[both(""), says].join("\n---\n"), options);
    let closed = findings(&translation).into_iter().filter(|line| line.ends_with("ClosedRoute"));
    assert_eq!(
        closed.collect::<Vec<_>>(),
        ["a ClosedRoute", "b ClosedRoute", "z ClosedRoute"],
        "{:?}",
        translation.findings
    );
}
