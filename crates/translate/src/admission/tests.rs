//! What the policies refuse, as this program checks it; tests/live compares that with a real API
//! server.

use super::*;
use crate::AllowedHosts;
use crate::annotation::{Gives, Trust};
use crate::tests::manifests;
use ingressd_model::Field;

const USUAL: Abilities = Abilities { networks: true };

fn admission<'a>(options: &'a Options, choices: &[&str]) -> Admission<'a> {
    let choices = choices.iter().map(|choice| choice.parse().unwrap()).collect();
    Admission { options, classes: vec!["ours".into()], name: "test", choices, abilities: USUAL }
}

/// An Ingress of a class, with annotations and a spec, both in YAML.
fn ingress(name: &str, annotations: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {{name: {name}, namespace: shop, annotations: {{{annotations}}}}}, \
         spec: {{{spec}}}}}\n---\n"
    )
}

/// The severity, object and field of each finding.
fn reported(admission: &Admission<'_>, text: &str) -> Vec<String> {
    let findings = admission.judge(&manifests::snapshot(text));
    assert!(findings.iter().all(|finding| finding.reason == Reason::NotAdmitted));
    let shown = |finding: &Finding| {
        let Origin { object, field } = &finding.origin;
        format!("{} {} {field}", finding.severity.name(), object.name)
    };
    findings.iter().map(shown).collect()
}

#[test]
fn objects_of_our_classes_are_judged_and_no_others() {
    let bad = "nginx.ingress.kubernetes.io/proxy-read-timeout: soon";
    let legacy = format!("{bad}, kubernetes.io/ingress.class: old");
    let text = [
        ingress("named", bad, "ingressClassName: ours"),
        ingress("by-controller", bad, "ingressClassName: known"),
        ingress("foreign", bad, "ingressClassName: other"),
        ingress("foreign-all-the-same", &legacy, "ingressClassName: other"),
        ingress("legacy", &legacy, ""),
        ingress("classless", bad, ""),
        "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: known}, spec: {controller: ingressd/nginx}}".to_owned(),
    ]
    .concat();
    let mut options = Options::default();
    options.classes[0].legacy_class = Some("old".into());
    let key = "metadata.annotations[nginx.ingress.kubernetes.io/proxy-read-timeout]";
    let all = |names: &[&str]| names.iter().map(|name| format!("error {name} {key}")).collect::<Vec<_>>();
    assert_eq!(reported(&admission(&options, &[]), &text), all(&["by-controller", "legacy", "named"]));
    options.classes[0].without_class = true;
    assert_eq!(reported(&admission(&options, &[]), &text), all(&["by-controller", "classless", "legacy", "named"]));
}

#[test]
fn each_policy_does_what_is_chosen_for_it() {
    let annotations = "nginx.ingress.kubernetes.io/proxy-read-timeout: soon, nginx.ingress.kubernetes.io/proxy-read-timeuot: '1', \
                       nginx.ingress.kubernetes.io/enable-opentracing: 'true', nginx.ingress.kubernetes.io/upstream-hash-by: $uri, \
                       ingressd/endpoints: pod, nginx.ingress.kubernetes.io/server-snippet: x, other.example/key: x";
    let spec = "ingressClassName: ours, rules: [{host: evil.example, http: {paths: [{path: \"/\\u0001\", pathType: Prefix, backend: {}}]}}]";
    let text = ingress("a", annotations, spec);
    let entry = AllowedHosts {
        namespaces: vec!["shop".into()],
        items: vec!["*.good.example".parse().unwrap()],
        ..AllowedHosts::default()
    };
    let options = Options { max_trust: Trust::Medium, allowed_hosts: vec![entry], ..Options::default() };
    let field = |key: &str| format!("metadata.annotations[nginx.ingress.kubernetes.io/{key}]");
    let expected = |action: &dyn Fn(Policy) -> &'static str| {
        let mut all = vec![
            (Policy::Unknown, "metadata.annotations[ingressd/endpoints]".to_owned()),
            (Policy::Unserved, field("enable-opentracing")),
            (Policy::Values, field("proxy-read-timeout")),
            (Policy::Unknown, field("proxy-read-timeuot")),
            (Policy::Values, field("server-snippet")),
            (Policy::Trust, field("upstream-hash-by")),
            (Policy::Hosts, "spec.rules[0]".to_owned()),
            (Policy::Paths, "spec.rules[0].http.paths[0].path".to_owned()),
        ];
        all.retain(|(policy, _)| !action(*policy).is_empty());
        all.into_iter().map(|(policy, field)| format!("{} a {field}", action(policy))).collect::<Vec<_>>()
    };
    let usual = |policy| if matches!(policy, Policy::Unknown | Policy::Unserved) { "warning" } else { "error" };
    assert_eq!(reported(&admission(&options, &[]), &text), expected(&usual));
    let chosen =
        ["values=audit", "unknown=deny", "unserved=off", "hosts=warn", "hosts=deny", "trust=off", "paths=warn"];
    let action = |policy| match policy {
        Policy::Values => "info",
        Policy::Trust | Policy::Unserved => "",
        Policy::Paths => "warning",
        Policy::Unknown | Policy::Hosts => "error",
    };
    assert_eq!(reported(&admission(&options, &chosen), &text), expected(&action));
}

#[test]
fn another_spelling_counts_where_the_key_is_not_set() {
    let both = |key: &str, other: &str| {
        let annotations = format!(
            "nginx.ingress.kubernetes.io/allowlist-source-range: '{key}', nginx.ingress.kubernetes.io/whitelist-source-range: '{other}'"
        );
        reported(&admission(&Options::default(), &[]), &ingress("a", &annotations, "ingressClassName: ours")).len()
    };
    assert_eq!(
        [both("10.0.0.0/8", "bad"), both("", "bad"), both("bad", "10.0.0.0/8"), both(" ", "10.0.0.1")],
        [0, 1, 1, 0]
    );
}

#[test]
fn every_bad_try_of_every_row_is_reported_or_listed_as_not_judged() {
    let options = Options::default();
    let admission = admission(&options, &[]);
    let checks: Vec<Check<'_>> =
        [Policy::Values, Policy::Unserved].into_iter().flat_map(|policy| admission.checks(policy)).collect();
    for row in TABLE.rows() {
        for (value, gives) in row.all_tries() {
            for name in std::iter::once(row.key).chain(row.aliases.iter().copied()) {
                let key = format!("{}{name}", TABLE.prefix);
                let beside =
                    row.beside.iter().map(|(key, value)| (format!("{}{key}", TABLE.prefix), (*value).to_owned()));
                let annotations = beside.chain([(key.clone(), value.to_owned())]).collect();
                let object = &Ingress { annotations, ..Ingress::default() };
                let submitted = Submitted { object, namespace: "shop", labels: None };
                let wrong: Vec<_> = checks.iter().flat_map(|check| (check.wrong)(&submitted)).collect();
                // A dependent key of a key without effect is reported too.
                let is_reported = wrong.contains(&Field::Annotation(key.into()));
                let is_left_out = row.is_served() && row.form.left_out().is_some();
                match gives {
                    Gives::Refused(_) | Gives::LeftOut(_) => {
                        assert!(is_reported || is_left_out, "{name}: {value:?} is let in");
                    }
                    _ => assert_eq!(wrong, [], "{name}: {value:?} is kept out"),
                }
            }
        }
    }
}

#[test]
fn an_older_api_server_is_asked_nothing_that_it_cannot_answer() {
    let options = Options::default();
    let older = Admission { abilities: Abilities { networks: false }, ..admission(&options, &[]) };
    assert!(admission(&options, &[]).documents().concat().contains("isCIDR("));
    assert!(!older.documents().concat().contains("isCIDR("));
    let of = |value: &str| {
        let annotations = format!("nginx.ingress.kubernetes.io/allowlist-source-range: '{value}'");
        reported(&older, &ingress("a", &annotations, "ingressClassName: ours")).len()
    };
    assert_eq!([of("10.0.0.0/8, ::1"), of("10.0.0.0/33"), of("10.0.0.0/8;deny all")], [0, 0, 1]);
}

#[test]
fn each_chosen_requirement_has_a_policy_and_a_binding() {
    let options = Options::default();
    let kinds = |choices: &[&str]| {
        let text = admission(&options, choices).documents().concat();
        let of = |start: &str| {
            text.lines().filter_map(|line| line.strip_prefix(start)).map(str::to_owned).collect::<Vec<_>>()
        };
        (of("  name: "), of("  validationActions:"), of("  policyName: "))
    };
    // No supported annotation needs more than high trust, and every namespace may have every host.
    let names = ["test-values", "test-unknown", "test-unserved", "test-paths"];
    assert_eq!(kinds(&[]).2, names);
    assert_eq!(kinds(&[]).0, names.map(|name| [name, name]).concat());
    assert_eq!(kinds(&["values=off", "paths=off"]).2, ["test-unknown", "test-unserved"]);
}

#[test]
fn what_has_no_effect_alone_is_reported_as_the_daemon_reports_it() {
    let reported = |annotations: &str, options: &Options| {
        let text = ingress("a", annotations, "ingressClassName: ours");
        let findings = admission(options, &["unserved=audit"]).judge(&manifests::snapshot(&text));
        findings
            .iter()
            .map(|finding| finding.note.rsplit_once(": it").map_or("", |(_, it)| it).to_owned())
            .collect::<Vec<_>>()
    };
    let alone: Vec<String> = vec![" has no effect without limit-rps or limit-rpm".to_owned()];
    let options = Options::default();
    let key = |key: &str, value: &str| format!("nginx.ingress.kubernetes.io/{key}: '{value}'");
    let multiplier = key("limit-burst-multiplier", "3");
    for (beside, expected) in [
        (String::new(), alone.clone()),
        (key("limit-rps", " "), alone.clone()),
        (key("limit-rps", "0"), alone.clone()),
        (key("limit-rps", "1"), vec![]),
        (key("limit-rpm", "1"), vec![]),
    ] {
        assert_eq!(reported(&format!("{multiplier}, {beside}"), &options), expected, "{beside}");
    }
    let cookie = key("session-cookie-secure", "true");
    assert_eq!(reported(&cookie, &options), [" has no effect without affinity: cookie"]);
    assert_eq!(reported(&key("session-cookie-secure", "false"), &options), Vec::<String>::new());
    assert_eq!(reported(&format!("{cookie}, {}", key("affinity", "cookie")), &options), Vec::<String>::new());
    let origin = Origin::object(&Arc::new(ingressd_model::ObjectId::new(ingressd_model::Kind::CONFIG_MAP, "a", "b")));
    let row = ANNOTATIONS.find("limit-rps").unwrap();
    let default = crate::OptionEntry { row, value: "5".into(), at: origin };
    let by_administrator = Options { defaults: [default].into(), ..Options::default() };
    assert_eq!(reported(&multiplier, &by_administrator), Vec::<String>::new());
}
