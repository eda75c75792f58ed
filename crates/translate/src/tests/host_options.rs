//! Which object decides about an option of a whole host.

use super::{findings, ingress, options, path, shared, translate};
use crate::Translation;
use ingressd_model::{Argument, Directive};

/// An object of a namespace with a creation year and a path of the host.
fn object(namespace: &str, name: &str, year: u16, host: &str, annotations: &str) -> String {
    ingress(name, "nginx", host, annotations, &[path(&format!("/{name}"), "Prefix", "web")])
        .replace("namespace: default", &format!("namespace: {namespace}"))
        .replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
}

/// A directive with the object that set it.
fn written(directive: &Directive) -> String {
    let argument = match &directive.arguments[..] {
        [Argument::Switch(on)] => on.to_string(),
        [Argument::Ciphers(ciphers)] => ciphers.to_string(),
        other => panic!("{other:?}"),
    };
    format!("{} {argument} by {}", directive.row.name, directive.origin.object.name)
}

/// The directives of the first server, and the findings about them.
fn decided(translation: &Translation) -> (Vec<String>, Vec<String>) {
    let said = translation.model.servers[0].directives.iter().map(written).collect();
    let reported = findings(translation).into_iter().filter(|line| line.ends_with("HostRuleConflict")).collect();
    (said, reported)
}

#[test]
fn the_oldest_object_of_whose_host_it_is_decides_each_option() {
    const HIGH: &str = "ssl-ciphers: HIGH";
    const LOW: &str = "ssl-ciphers: LOW";
    const ORDER: &str = "ssl-prefer-server-ciphers: 'false'";
    const BOTH: &str = "ssl-ciphers: HIGH, ssl-prefer-server-ciphers: 'false'";
    const HIGH_OF_0: &[&str] = &["ssl_ciphers HIGH by o0", "ssl_prefer_server_ciphers true by o0"];
    const HIGH_OF_1: &[&str] = &["ssl_ciphers HIGH by o1", "ssl_prefer_server_ciphers true by o1"];
    /// The objects by namespace and annotations, the oldest first; the directives of the host, and
    /// the objects with a finding that others decide.
    type Row<'r> = (&'r [(&'r str, &'r str)], &'r [&'r str], &'r [&'r str]);
    let rows: &[Row<'_>] = &[
        (&[("default", "")], &[], &[]),
        (&[("default", HIGH)], HIGH_OF_0, &[]),
        (&[("default", BOTH)], &["ssl_ciphers HIGH by o0", "ssl_prefer_server_ciphers false by o0"], &[]),
        // An object without a value leaves the decision to the next.
        (&[("default", ""), ("default", HIGH)], HIGH_OF_1, &[]),
        (&[("default", HIGH), ("default", HIGH)], HIGH_OF_0, &[]),
        (&[("default", HIGH), ("default", LOW)], HIGH_OF_0, &["o1 HostRuleConflict"]),
        (
            &[("default", HIGH), ("default", LOW), ("default", LOW)],
            HIGH_OF_0,
            &["o1 HostRuleConflict", "o2 HostRuleConflict"],
        ),
        // Each option is decided separately.
        (
            &[("default", ORDER), ("default", HIGH)],
            &["ssl_ciphers HIGH by o1", "ssl_prefer_server_ciphers false by o0"],
            &["o1 HostRuleConflict"],
        ),
        // An invalid value does not count.
        (&[("default", "ssl-ciphers: 'a;b'"), ("default", HIGH)], HIGH_OF_1, &[]),
        // Objects of other namespaces never decide about a host, whether its owner sets the option
        // or not.
        (&[("default", ""), ("team-a", HIGH)], &[], &["o1 HostRuleConflict", "o1 HostRuleConflict"]),
        (&[("default", HIGH), ("team-a", HIGH)], HIGH_OF_0, &[]),
        (&[("default", HIGH), ("team-a", LOW)], HIGH_OF_0, &["o1 HostRuleConflict"]),
        (
            &[("default", ""), ("team-a", HIGH), ("default", HIGH)],
            &["ssl_ciphers HIGH by o2", "ssl_prefer_server_ciphers true by o2"],
            &[],
        ),
    ];
    for (objects, expected, reported) in rows {
        let objects: Vec<_> = (0..)
            .zip(*objects)
            .map(|(number, (namespace, annotations))| {
                object(namespace, &format!("o{number}"), 2020 + number, "a.example", annotations)
            })
            .collect();
        let found = decided(&translate(&objects.join("\n---\n"), shared()));
        let expected: [Vec<String>; 2] =
            [*expected, *reported].map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
        assert_eq!([found.0, found.1], expected, "{objects:?}");
    }
}

#[test]
fn an_object_decides_for_each_of_its_hosts_alone() {
    let objects = [
        object("default", "first", 2020, "a.example", "ssl-ciphers: LOW"),
        object("default", "second", 2021, "a.example", "ssl-ciphers: HIGH").replace(
            "rules: [",
            "rules: [{host: b.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}, ",
        ),
    ];
    let translation = translate(&objects.join("\n---\n"), options());
    let said: Vec<Vec<_>> =
        translation.model.servers.iter().map(|server| server.directives.iter().map(written).collect()).collect();
    let of = |ciphers: &str, name: &str| {
        vec![format!("ssl_ciphers {ciphers} by {name}"), format!("ssl_prefer_server_ciphers true by {name}")]
    };
    assert_eq!(said, [of("LOW", "first"), of("HIGH", "second")]);
    let note = &translation.findings.iter().find(|finding| finding.origin.object.name.contains("second")).unwrap().note;
    assert!(note.contains("Ingress default/first is older and decides about ssl_ciphers of a.example"), "{note}");
}

#[test]
fn a_host_without_a_name_has_no_handshake_of_its_own() {
    let object = object("default", "all", 2020, "", "ssl-ciphers: HIGH");
    let (said, reported) = decided(&translate(&object, options()));
    assert_eq!(said, Vec::<String>::new());
    assert_eq!(reported, ["all HostRuleConflict", "all HostRuleConflict"]);
}
