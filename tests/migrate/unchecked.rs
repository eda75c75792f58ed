//! What becomes of Ingresses that ingress-nginx and ingressd read differently: nothing that
//! changes is called equal.

use serde_json::Value;

use super::{json, verdicts};

const MANIFESTS: &str = include_str!("unchecked.yaml");

/// Values that a controller without a check uses, a Service that names a protocol, paths beside
/// expressions, and a header that is left out.
#[test]
fn what_changes_is_never_called_equal() {
    let report = json(MANIFESTS);
    let of = |report: &Value, name: &str| {
        let ingress = report["ingresses"].as_array().unwrap().iter().find(|ingress| ingress["name"] == name);
        verdicts(&ingress.unwrap_or_else(|| panic!("{name}: {report:#}"))["items"])
    };
    for (name, expected) in [
        ("cookie", &["proxy-cookie-path different"][..]),
        ("says", &["backend-protocol equal"]),
        ("item", &["use-regex stricter"]),
        // Paths of the namespace are expressions here, too; a dot alone makes none.
        ("beside", &["spec.rules[0].http.paths[1] stricter"]),
        ("dry", &["ssl-redirect equal"]),
        ("host", &["upstream-vhost stricter"]),
        ("logged", &["enable-rewrite-log stricter"]),
        ("fixed", &["upstream-vhost equal"]),
        ("foreign", &["auth-secret refused", "auth-type equal"]),
    ] {
        assert_eq!(of(&report, name)[..expected.len()], *expected, "{name}");
    }
    // The protocol of a port is not heeded here either, unless the settings of this host say so.
    assert_eq!(of(&report, "speaks"), [""; 0]);
    let heeded = super::report(MANIFESTS, &["--format", "json", "--set", "upstreams.app-protocol=on"]);
    let heeded: Value = serde_json::from_str(&heeded.text).unwrap();
    assert_eq!(of(&heeded, "speaks"), ["spec.rules[0].http.paths[0] different", "Service v/h2 different"]);
    // Nor are paths refused by which access control could be passed by.
    assert_eq!(of(&report, "guarded"), ["whitelist-source-range equal"]);
    let strict = super::report(MANIFESTS, &["--format", "json", "--set", "access.strict-paths=on"]);
    let strict: Value = serde_json::from_str(&strict.text).unwrap();
    assert_eq!(of(&strict, "guarded"), ["whitelist-source-range equal", "paths stricter"]);
    assert_eq!(of(&strict, "open"), ["paths stricter"]);
    assert!(strict.to_string().contains("such as those with %2F or //, are answered with 400"));
    assert_eq!(verdicts(&report["objects"]), ["ConfigMap ingress-nginx/custom-headers: data[Connection] refused"]);
    let flags = verdicts(&report["flags"]);
    assert!(flags.contains(&"--enable-annotation-validation=false refused".to_owned()), "{flags:?}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("the controller 1.11.2 uses values of annotations as they are"), "{notes}");
    // The numbers are those of all Ingresses, and of everything else.
    let summary = &report["summary"];
    let sum = |counts: &Value| counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum(&summary["verdicts"]), summary["ingresses"].as_u64().unwrap());
    let others =
        ["flags", "objects", "services"].iter().map(|part| report[part].as_array().unwrap().len()).sum::<usize>();
    let others = others + report["configMap"]["keys"].as_array().unwrap().len();
    assert_eq!(usize::try_from(sum(&summary["ofController"])), Ok(others));
}
