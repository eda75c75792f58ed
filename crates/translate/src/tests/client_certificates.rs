//! Which object decides about the client certificates of a host.

use super::{findings, ingress, options, path, routes, shared, translate};
use crate::{Options, Translation};
use ingressd_model::Demand;

/// A Secret with a self-signed CA.
fn authority(namespace: &str, name: &str) -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap().pem();
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\nstringData: {{ca.crt: {certificate:?}}}"
    )
}

#[test]
fn authorities_at_which_no_chain_ends_are_reported_to_whom_they_lock_out() {
    let pair = |name: &str| {
        let mut parameters = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        (parameters, rcgen::KeyPair::generate().unwrap())
    };
    let ((root, of_root), (between, of_between)) = (pair("root"), pair("between"));
    let issuer = rcgen::Issuer::new(root.clone(), &of_root);
    let (root, between) =
        (root.self_signed(&of_root).unwrap().pem(), between.signed_by(&of_between, &issuer).unwrap().pem());
    for (authorities, expected) in
        [(root.clone(), &[][..]), (between.clone(), &["i DoubtfulCertificate"]), (between + &root, &[])]
    {
        let secret = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: ca, namespace: default}}\nstringData: {{ca.crt: {authorities:?}}}"
        );
        let asks = ingress("i", "nginx", "a.example", "auth-tls-secret: ca", &[path("/", "Prefix", "web")]);
        let translation = translate(&[secret, asks].join("\n---\n"), options());
        assert_eq!(findings(&translation), expected);
        assert!(translation.findings.iter().all(|finding| finding.note.contains("add the root to it")));
        assert!(translation.model.servers[0].client_certificates.is_some(), "nobody is let in without one");
    }
}

/// An object of a namespace with a creation year and a path of the host.
fn object(namespace: &str, name: &str, year: u16, at: &str, annotations: &str) -> String {
    ingress(name, "nginx", "a.example", annotations, &[path(at, "Prefix", "web")])
        .replace("namespace: default", &format!("namespace: {namespace}"))
        .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
}

/// The CA and the rule of the host, its closed routes, and findings with these reasons.
fn decided(objects: &[String], options: Options) -> (String, Vec<String>, Vec<String>) {
    let mut documents = objects.to_vec();
    documents.extend([authority("default", "one"), authority("default", "two"), authority("team-a", "three")]);
    let translation: Translation = translate(&documents.join("\n---\n"), options);
    let server = &translation.model.servers[0];
    let rule = server.client_certificates.as_deref().map_or("nobody".to_owned(), |rule| {
        let how = match rule.demand {
            Demand::Required => "",
            Demand::Optional => " optional",
            Demand::Unverified => " unverified",
        };
        format!("{}{how}", rule.authority.id.name)
    });
    let closed = routes(&translation).into_iter().filter(|line| line.ends_with("closed") || line.ends_with("503"));
    let reported = findings(&translation)
        .into_iter()
        .filter(|line| line.ends_with("HostRuleConflict") || line.ends_with("ClosedRoute"));
    (rule, closed.map(|line| line.trim().split(" -> ").next().unwrap().to_owned()).collect(), reported.collect())
}

#[test]
fn the_oldest_object_of_whose_host_it_is_decides() {
    const ONE: &str = "auth-tls-secret: one";
    const TWO: &str = "auth-tls-secret: two";
    const THREE: &str = "auth-tls-secret: three";
    const OPTIONAL: &str = "auth-tls-secret: one, auth-tls-verify-client: optional";
    const OFF: &str = "auth-tls-secret: one, auth-tls-verify-client: off";
    const ABSENT: &str = "auth-tls-secret: absent";
    const BAD: &str = "auth-tls-secret: one, auth-tls-verify-client: maybe";
    const REFUSED: &str = "auth-tls-secret: one, configuration-snippet: x";
    /// The objects by namespace and annotations; the rule, closed routes, and findings.
    type Row<'r> = (&'r [(&'r str, &'r str)], &'r str, &'r [&'r str], &'r [&'r str]);
    let rows: &[Row<'_>] = &[
        (&[("default", "")], "nobody", &[], &[]),
        (&[("default", ONE)], "one", &[], &[]),
        (&[("default", OFF)], "nobody", &[], &[]),
        (&[("default", ""), ("default", ONE)], "one", &[], &[]),
        (&[("default", ONE), ("default", ONE)], "one", &[], &[]),
        (&[("default", OPTIONAL), ("default", ONE)], "one optional", &[], &["o1 HostRuleConflict"]),
        (&[("default", ONE), ("default", TWO)], "one", &[], &["o1 HostRuleConflict"]),
        (
            &[("default", ABSENT), ("default", ONE)],
            "nobody",
            &["/o0", "/o1"],
            &["o0 ClosedRoute", "o1 ClosedRoute", "o1 HostRuleConflict"],
        ),
        (&[("default", BAD), ("default", "")], "nobody", &["/o0", "/o1"], &["o0 ClosedRoute", "o1 ClosedRoute"]),
        (&[("default", ONE), ("default", ABSENT)], "one", &["/o1"], &["o1 ClosedRoute"]),
        (&[("default", ""), ("team-a", "")], "nobody", &[], &[]),
        (&[("default", ""), ("team-a", THREE)], "nobody", &["/o1"], &["o1 ClosedRoute"]),
        (&[("default", ""), ("team-a", ABSENT)], "nobody", &["/o1"], &["o1 ClosedRoute"]),
        (&[("default", ONE), ("team-a", "")], "one", &[], &["o1 HostRuleConflict"]),
        (&[("default", ONE), ("team-a", THREE)], "one", &["/o1"], &["o1 HostRuleConflict", "o1 ClosedRoute"]),
        (&[("default", ABSENT), ("team-a", "")], "nobody", &["/o0"], &["o0 ClosedRoute"]),
        // The rule of an object that is not served has no effect, and its routes do not become
        // open.
        (&[("default", REFUSED), ("default", "")], "one", &["/o0"], &[]),
        (&[("default", ""), ("default", REFUSED)], "one", &["/o1"], &[]),
        (&[("default", ONE), ("default", REFUSED)], "one", &["/o1"], &[]),
        (&[("default", ""), ("team-a", REFUSED)], "nobody", &["/o1"], &[]),
    ];
    for (objects, rule, closed, reported) in rows {
        let objects: Vec<_> = (0..)
            .zip(*objects)
            .map(|(number, (namespace, annotations))| {
                object(namespace, &format!("o{number}"), 2020 + number, &format!("/o{number}"), annotations)
            })
            .collect();
        let (found, routes, findings) = decided(&objects, shared());
        let routes: Vec<_> =
            routes.iter().map(|route| route.split_whitespace().last().unwrap()).filter(|path| *path != "/").collect();
        assert_eq!(
            (&*found, &routes[..], &findings[..]),
            (*rule, *closed, &reported.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()[..]),
            "{objects:?}"
        );
    }
}

#[test]
fn another_namespaces_secret_is_as_far_away_as_that_of_passwords() {
    let objects = [object("default", "o0", 2020, "/", "auth-tls-secret: team-a/three")];
    assert_eq!(decided(&objects, options()).0, "nobody");
    let (rule, closed, reported) = decided(&objects, Options { cross_namespace: true, ..options() });
    assert_eq!((&*rule, closed.len(), reported.len()), ("three", 0, 0));
}
