//! `ingressd check` and `ingressd render` as shells and pipelines see them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod effective;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const CLASS: &str = "\
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: ingressd}
spec: {controller: ingressd/nginx}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.244.0.1]}]
ports: [{port: 8080}]
";

/// An Ingress over several lines, so that lines can be told apart. The host stands in line 9.
fn ingress(name: &str, host: &str, service: &str) -> String {
    format!(
        "# A comment.\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {name}\n  namespace: default\n\
         spec:\n  ingressClassName: ingressd\n  rules:\n  - host: '{host}'\n    http:\n      paths:\n      - path: /\n        \
         pathType: Prefix\n        backend:\n          service:\n            name: {service}\n            port:\n              number: 80\n"
    )
}

struct Output {
    code: Option<i32>,
    text: String,
    complaints: String,
}

fn ingressd(command: &str, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_ingressd"))
        .arg(command)
        // Neither settings nor the nginx of this host matter.
        .args(["--nginx-version", "1.22.1", "--config", "/dev/null"])
        .args(arguments)
        .env_remove("INGRESSD_CONFIG")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code(), text: text(output.stdout), complaints: text(output.stderr) }
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("class.yaml", CLASS);
    write("service.yaml", SERVICE);
    files.iter().for_each(|(name, text)| write(name, text));
    folder
}

#[test]
fn check_ends_by_what_it_finds_and_says_where() {
    type Row<'a> = (&'a str, String, &'a [&'a str], i32, &'a str);
    let rows: [Row<'_>; 7] = [
        (
            "good",
            ingress("a", "a.example", "web"),
            &[],
            0,
            "4 objects read, 1 of 1 Ingress is ours: 0 errors, 0 warnings",
        ),
        ("good and strict", ingress("a", "a.example", "web"), &["--strict"], 0, "0 errors, 0 warnings"),
        (
            "an invalid host",
            ingress("a", "not a host", "web"),
            &[],
            1,
            "a.yaml:10: error: Ingress default/a: spec.rules[0]: InvalidHost",
        ),
        (
            "a Service that is missing",
            ingress("a", "a.example", "absent"),
            &[],
            0,
            "warning: Ingress default/a: spec.rules[0].http.paths[0]",
        ),
        ("the same and strict", ingress("a", "a.example", "absent"), &["--strict"], 1, "MissingService"),
        ("not YAML", "kind: [\n".to_owned(), &[], 1, "Undecodable"),
        ("a key twice", "kind: Secret\nkind: Secret\n".to_owned(), &[], 1, "duplicate mapping key: kind\n"),
    ];
    for (what, text, arguments, code, words) in rows {
        let folder = folder(&[("a.yaml", &text)]);
        let output = ingressd("check", &[&[folder.path().to_str().unwrap()], arguments].concat());
        assert_eq!(output.code, Some(code), "{what}: {} {}", output.text, output.complaints);
        assert!(output.text.contains(words), "{what}: {words} is not in\n{}", output.text);
    }
    let missing = ingressd("check", &["/nonexistent/manifests"]);
    assert!(
        missing.code == Some(66) && missing.complaints.contains("/nonexistent/manifests"),
        "{}",
        missing.complaints
    );
}

/// Findings of an API server are shown together with all others, in the order of the file.
#[test]
fn check_finds_everything_at_once() {
    let text = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a
  proxy-read-timeout: 5
  annotations:
    nginx.ingress.kubernetes.io/proxy-read-timeout: soon
spec:
  ingressClass: ingressd
  ingressClassName: ingressd
  rules:
  - host: a.example
    http:
      paths:
      - {path: bad, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
      - {path: /good, pathTyp: Prefix, backend: {service: {name: none, port: {number: 80}}}}
  - host: not a host
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: other}
spec:
  ingressClassName: somebody
  defaultBackend: {service: {name: web, port: {number: 80}}}
";
    let folder = folder(&[("a.yaml", text)]);
    let output = ingressd("check", &[folder.path().to_str().unwrap()]);
    let reported = output.text.lines().filter_map(|line| {
        let (line, rest) = line.split_once("a.yaml:")?.1.split_once(": ")?;
        let reasons = ["UnknownField", "InvalidValue", "InvalidPath", "MissingService", "InvalidHost", "ForeignClass"]
            .into_iter();
        Some((line.parse().unwrap(), reasons.filter(|reason| rest.contains(reason)).collect::<String>()))
    });
    let reported: Vec<(u32, String)> = reported.collect();
    let expected = [
        (5, "UnknownField"),
        (7, "InvalidValue"),
        (9, "UnknownField"),
        (15, "InvalidPath"),
        (16, "MissingService"),
        (16, "InvalidPath"),
        (16, "UnknownField"),
        (17, "InvalidHost"),
        (23, "ForeignClass"),
    ];
    assert_eq!(reported, expected.map(|(line, reason)| (line, reason.to_owned())), "{}", output.text);
    for (field, meant) in [
        ("spec.ingressClass: ", "did you mean ingressClassName?"),
        ("spec.rules[0].http.paths[1].pathTyp: ", "did you mean pathType?"),
        ("metadata.proxy-read-timeout: ", "`kubectl explain` shows the known fields"),
    ] {
        let line = output.text.lines().find(|line| line.contains(field)).unwrap_or_default();
        assert!(line.contains("UnknownField") && line.ends_with(&format!("; {meant}")), "{field}{}", output.text);
    }
    assert!(
        output.text.ends_with("5 objects read, 1 of 2 Ingresses is ours: 3 errors, 6 warnings\n"),
        "{}",
        output.text
    );
    // The object is not good enough to be served.
    let output = ingressd("render", &[folder.path().to_str().unwrap()]);
    assert!(!output.text.contains("a.example"), "{}", output.text);
}

/// What an API server refuses takes nothing from what the daemon serves.
#[test]
fn check_judges_the_others_as_the_daemon_does() {
    let bad = "      - {path: bad, pathType: Prefix, backend: {service: {name: absent, port: {number: 80}}}}\n";
    let refused = ingress("a", "a.example", "absent") + bad;
    let folder = folder(&[("a.yaml", &refused), ("b.yaml", &ingress("b", "a.example", "web"))]);
    let manifests = folder.path().to_str().unwrap();
    let output = ingressd("check", &[manifests]);
    assert!(output.text.contains("InvalidPath") && output.text.contains("MissingService"), "{}", output.text);
    assert!(!output.text.contains("Ingress default/b") && !output.text.contains("PathConflict"), "{}", output.text);
    assert!(output.text.contains("2 of 2 Ingresses are ours"), "{}", output.text);
    let output = ingressd("explain", &["a.example/x", manifests]);
    assert!(output.text.contains("is taken by Ingress default/b"), "{}", output.text);
}

/// An API server would have written it into the object.
#[test]
fn an_object_without_a_class_is_of_the_default_one() {
    let without = ingress("a", "a.example", "web").replace("  ingressClassName: ingressd\n", "");
    let default = "{name: ingressd, annotations: {ingressclass.kubernetes.io/is-default-class: 'true'}}";
    for (class, legacy, expected) in [
        (CLASS.to_owned(), "", "0 of 1 Ingress"),
        (CLASS.replace("{name: ingressd}", default), "", "1 of 1 Ingress"),
        (
            CLASS.replace("{name: ingressd}", default),
            "  annotations: {kubernetes.io/ingress.class: other}\n",
            "0 of 1 Ingress",
        ),
        (
            CLASS.replace("{name: ingressd}", default).replace("ingressd/nginx", "example.com/other"),
            "",
            "0 of 1 Ingress",
        ),
    ] {
        let object = without.replace("spec:\n", &format!("{legacy}spec:\n"));
        let folder = folder(&[("a.yaml", &object), ("class.yaml", &class)]);
        let output = ingressd("check", &[folder.path().to_str().unwrap()]);
        assert!(output.text.contains(expected), "{class}{legacy}{}", output.text);
    }
}

#[test]
fn what_is_no_object_is_reported_with_what_was_meant() {
    let misspelt = "---\napiVersion: networking.k8s.io/v1\nkind: Ingres\nmetadata: {name: a}\n";
    let files = [("a.yaml", misspelt), ("t.yaml", "kind: Ingress\nname: {{ .Values.name }}\n"), ("m.yaml", "a: [\n")];
    let folder = folder(&files);
    let output = ingressd("check", &[folder.path().to_str().unwrap()]);
    for (place, note) in [
        ("a.yaml:2: error: ", "there is no kind \"Ingres\" in networking.k8s.io/v1; did you mean Ingress?"),
        ("t.yaml:2: error: ", "; {{ is of a template: render that first, as `helm template` does"),
    ] {
        let line = output.text.lines().find(|line| line.contains(place)).unwrap_or_default();
        assert!(line.ends_with(note), "{}", output.text);
    }
    assert_eq!(output.text.matches("template").count(), 2, "{}", output.text);
}

/// A user who corrects what closes an object is told at once what is wrong with its Services, too.
#[test]
fn check_reports_the_services_of_closed_objects() {
    let closed = |service: &str| {
        let annotation = "  annotations:\n    nginx.ingress.kubernetes.io/allowlist-source-range: nonsense\nspec:";
        folder(&[("a.yaml", &ingress("a", "a.example", service).replacen("spec:", annotation, 1))])
    };
    let absent = closed("absent");
    let output = ingressd("check", &[absent.path().to_str().unwrap()]);
    let line = "warning: Ingress default/a: spec.rules[0].http.paths[0]: MissingService";
    assert!(output.text.contains("ClosedRoute") && output.text.contains(line), "{}", output.text);
    // A Service to which no route leads gives no upstream.
    let present = closed("web");
    let output = ingressd("render", &[present.path().to_str().unwrap()]);
    assert!(output.text.contains("a.example") && !output.text.contains("10.244.0.1"), "{}", output.text);
}

#[test]
fn hosts_with_certificates_are_served_over_tls() {
    let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
    let text = |pem: String| serde_json::to_string(&pem).unwrap();
    let (chain, key) = (text(made.cert.pem()), text(made.signing_key.serialize_pem()));
    let secret = format!(
        "---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata: {{name: a, namespace: default}}\n\
         stringData: {{tls.crt: {chain}, tls.key: {key}}}\n"
    );
    let with_tls = ingress("a", "a.example", "web") + "  tls: [{hosts: [a.example], secretName: a}]\n" + &secret;
    let folder = folder(&[("a.yaml", &with_tls)]);
    let manifests = folder.path().to_str().unwrap();
    let output = ingressd("check", &[manifests]);
    assert!(output.text.contains("5 objects read, 1 of 1 Ingress is ours: 0 errors, 0 warnings"), "{}", output.text);
    let output = ingressd("render", &[manifests]);
    assert!(output.text.contains("listen 0.0.0.0:443 ssl"), "{}", output.text);
    assert!(!output.text.contains("PRIVATE KEY"), "{}", output.text);
}

#[test]
fn check_says_the_same_to_programs() {
    let folder = folder(&[("a.yaml", &ingress("a", "not a host", "web"))]);
    let file = folder.path().join("a.yaml");
    let output = ingressd("check", &["--format", "json", folder.path().to_str().unwrap()]);
    assert_eq!(output.code, Some(1), "{}", output.complaints);
    let findings: Vec<Value> = serde_json::from_str(&output.text).unwrap();
    let finding = findings.iter().find(|finding| finding["reason"] == "InvalidHost").unwrap();
    for (member, expected) in [
        ("severity", "error"),
        ("kind", "Ingress"),
        ("namespace", "default"),
        ("name", "a"),
        ("field", "spec.rules[0]"),
        ("file", file.to_str().unwrap()),
    ] {
        assert_eq!(finding[member], expected, "{finding}");
    }
    assert_eq!(finding["line"], 10, "{finding}");
    let clean = self::folder(&[]);
    let output = ingressd("check", &["--format", "json", clean.path().to_str().unwrap()]);
    assert_eq!((output.code, output.text.trim()), (Some(0), "[]"));
}

/// An Ingress with a value that an API server can judge, and an unknown key.
fn mistaken() -> String {
    let annotations = "  annotations:\n    nginx.ingress.kubernetes.io/proxy-read-timeout: soon\n    \
                       nginx.ingress.kubernetes.io/proxy-bodysize: <&1m>\nspec:";
    ingress("bad", "bad.example", "web").replace("spec:", annotations)
}

#[test]
fn check_refuses_what_an_api_server_would_when_asked_to() {
    let folder = folder(&[("a.yaml", &mistaken())]);
    let manifests = folder.path().to_str().unwrap();
    let refusal = "a.yaml:8: error: Ingress default/bad: metadata.annotations[nginx.ingress.kubernetes.io/proxy-read-timeout]: \
                   NotAdmitted: ValidatingAdmissionPolicy ingressd-values refuses it: \
                   nginx.ingress.kubernetes.io/proxy-read-timeout takes a whole number from 1";
    type Row<'a> = (&'a [&'a str], i32, bool);
    let rows: [Row<'_>; 6] = [
        (&[], 0, false),
        (&["--admission"], 1, true),
        (&["--admission", "--action", "values=warn"], 0, false),
        (&["--admission", "--action", "values=off"], 0, false),
        (&["--admission", "--action", "values=warn", "--strict"], 1, false),
        (&["--admission", "--action", "unknown=deny", "--action", "values=off"], 1, false),
    ];
    for (arguments, code, refused) in rows {
        let output = ingressd("check", &[&[manifests], arguments].concat());
        assert_eq!(
            (output.code, output.text.contains(refusal)),
            (Some(code), refused),
            "{arguments:?}: {}",
            output.text
        );
    }
    // Where the class is not among the manifests, its name has to be given.
    std::fs::remove_file(folder.path().join("class.yaml")).unwrap();
    let output = ingressd("check", &["--admission", manifests]);
    assert!(output.code == Some(0) && output.complaints.contains("judges no Ingress"), "{}", output.complaints);
    assert!(output.text.contains("0 of 1 Ingress is ours (ours are those of an IngressClass whose"), "{}", output.text);
    assert_eq!(ingressd("check", &["--action", "values=warn", manifests]).code, Some(64));
    let explained = |arguments: &[&str]| {
        let output = ingressd("explain", &[&["bad.example/x", manifests], arguments].concat());
        (output.code, output.text.contains("is taken by Ingress default/bad: spec.rules[0].http.paths[0]"))
    };
    assert_eq!((explained(&[]), explained(&["--class", "ingressd"])), ((Some(1), false), (Some(0), true)));
    assert_eq!(
        ingressd("explain", &["bad.example", "--class", "ingressd"]).code,
        Some(64),
        "a daemon knows its classes"
    );
    // With it, everything else is found as well.
    for (arguments, code) in [(&["--admission"][..], 1), (&[], 0)] {
        let output = ingressd("check", &[&["--class", "ingressd", manifests], arguments].concat());
        let (found, complete) = ("UnknownAnnotation", ["1 of 1 Ingress is ours", "3 objects read"]);
        assert_eq!(output.code, Some(code), "{}", output.text);
        assert!(
            output.text.contains(found) && complete.iter().all(|words| output.text.contains(words)),
            "{}",
            output.text
        );
        assert!(!output.text.contains("ForeignClass"), "{}", output.text);
    }
    assert_eq!(ingressd("check", &["--admission", "--action", "values=never", manifests]).code, Some(64));
}

/// What the schema of SARIF 2.1.0 requires of what is written, and what code hosts ask for
/// besides.
#[test]
fn check_writes_sarif() {
    let folder = folder(&[("a b.yaml", &mistaken()), ("broken.yaml", "kind: [\n")]);
    let output = Command::new(env!("CARGO_BIN_EXE_ingressd"))
        .args(["check", "--admission", "--format", "sarif", "--nginx-version", "1.22.1", "--config", "/dev/null", "."])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let log: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().ends_with("/sarif-schema-2.1.0.json"));
    let [run] = &**log["runs"].as_array().unwrap() else { panic!("{log}") };
    let driver = &run["tool"]["driver"];
    assert!(driver["name"] == "ingressd" && driver["version"].is_string(), "{driver}");
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        let row = ingressd_model::finding::Reason::ALL.iter().find(|row| row.name == rule["id"]).unwrap();
        assert_eq!(rule["fullDescription"]["text"], row.meaning);
        assert!(rule["help"]["text"].as_str().unwrap().contains(row.meaning), "{rule}");
        assert!(rule["shortDescription"]["text"].is_string() && rule["help"]["markdown"].is_string(), "{rule}");
    }
    let results = run["results"].as_array().unwrap();
    for result in results {
        assert!(!result["message"]["text"].as_str().unwrap().is_empty(), "{result}");
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()), "{result}");
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(result["ruleId"], rules[index]["id"], "{result}");
        for location in result["locations"].as_array().unwrap() {
            assert!(location["logicalLocations"][0]["fullyQualifiedName"].is_string(), "{location}");
            let place = &location["physicalLocation"];
            assert!(place["artifactLocation"]["uri"].is_string(), "{location}");
            assert!(place["region"]["startLine"].as_u64() >= Some(1), "{location}");
            assert!(place["region"]["startColumn"].as_u64() >= Some(1), "{location}");
        }
    }
    let shown = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        let (line, column) = (&place["region"]["startLine"], &place["region"]["startColumn"]);
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        format!("{} {} {uri}:{line}:{column}", result["level"].as_str().unwrap(), result["ruleId"].as_str().unwrap())
    };
    let shown: Vec<String> = results.iter().map(shown).collect();
    let expected = [
        "warning InvalidValue a%20b.yaml:8:5",
        "error NotAdmitted a%20b.yaml:8:5",
        "warning UnknownAnnotation a%20b.yaml:9:5",
        "warning NotAdmitted a%20b.yaml:9:5",
        "error Undecodable broken.yaml:1:1",
    ];
    assert_eq!(shown.iter().collect::<std::collections::BTreeSet<_>>(), expected.map(String::from).iter().collect());
}

#[test]
fn check_writes_junit() {
    let good = ingress("good", "good.example", "web");
    let folder = folder(&[("a.yaml", &format!("{}---\n{good}", mistaken()))]);
    let manifests = folder.path().to_str().unwrap();
    let report = |arguments: &[&str]| {
        let output = ingressd("check", &[&["--format", "junit", manifests], arguments].concat());
        assert!(matches!(output.code, Some(0 | 1)), "{}", output.complaints);
        quick_junit::Report::deserialize_from_str(&output.text).unwrap()
    };
    let cases = |report: &quick_junit::Report| {
        let [suite] = &*report.test_suites else { panic!("{report:?}") };
        let case = |case: &quick_junit::TestCase| {
            let (kind, reported) = match &case.status {
                quick_junit::TestCaseStatus::NonSuccess { ty, description, .. } => {
                    (ty.as_ref().unwrap().as_str().to_owned(), description.as_ref().unwrap().as_str().to_owned())
                }
                _ => (String::new(), case.system_out.as_ref().map(|text| text.as_str().to_owned()).unwrap_or_default()),
            };
            assert!(case.classname.as_ref().unwrap().as_str().ends_with("a.yaml"), "{case:?}");
            (case.name.as_str().to_owned(), kind, reported.lines().count())
        };
        suite.test_cases.iter().map(case).collect::<Vec<_>>()
    };
    let names = |bad: &str, lines| {
        [
            ("Ingress default/bad".to_owned(), bad.to_owned(), lines),
            ("Ingress default/good".to_owned(), String::new(), 0),
        ]
    };
    assert_eq!(cases(&report(&[])), names("", 2));
    assert_eq!(cases(&report(&["--admission"])), names("NotAdmitted", 1));
    let strict = report(&["--admission", "--strict"]);
    assert_eq!(cases(&strict), names("InvalidValue", 4));
    assert_eq!((strict.tests, strict.failures), (2, 1));
}

#[test]
fn render_shows_files_without_secrets_or_writes_them() {
    let folder = folder(&[("a.yaml", &ingress("a", "a.example", "web"))]);
    let manifests = folder.path().to_str().unwrap();
    let output = ingressd("render", &[manifests]);
    assert_eq!(output.code, Some(0), "{}", output.complaints);
    for words in ["# http/server-exact-a.example.conf\n", "server_name \"a.example\";", "server 10.244.0.1:8080"] {
        assert!(output.text.contains(words), "{words} is not in\n{}", output.text);
    }

    let target = tempfile::tempdir().unwrap();
    let tree = target.path().join("tree");
    let render = || ingressd("render", &["--output", tree.to_str().unwrap(), manifests]);
    for _ in 0..2 {
        let output = render();
        assert_eq!((output.code, output.text.as_str()), (Some(0), ""), "{}", output.complaints);
        let server = std::fs::read_to_string(tree.join("http/server-exact-a.example.conf")).unwrap();
        assert!(server.contains("server_name \"a.example\";"), "{server}");
    }
    std::fs::remove_file(folder.path().join("a.yaml")).unwrap();
    assert_eq!(render().code, Some(0));
    assert!(!tree.join("http/server-exact-a.example.conf").exists(), "what is gone is removed");

    let taken = tempfile::tempdir().unwrap();
    std::fs::write(taken.path().join("letter.txt"), "mine").unwrap();
    let output = ingressd("render", &["--output", taken.path().to_str().unwrap(), manifests]);
    assert!(output.code != Some(0) && output.complaints.contains("did not write"), "{}", output.complaints);
    assert!(Path::new(&taken.path().join("letter.txt")).exists());
}

#[test]
fn templates_of_the_administrator_are_used_and_judged() {
    let folder = folder(&[("a.yaml", &ingress("a", "a.example", "web"))]);
    let templates = tempfile::tempdir().unwrap();
    let file = templates.path().join("server_name.hbs");
    let set = format!("nginx.templates={}", templates.path().display());
    let run = |command: &str| ingressd(command, &["--set", &set, folder.path().to_str().unwrap()]);
    std::fs::write(&file, "    server_name {{name}};\n    # Of the edge.\n").unwrap();
    let output = run("render");
    assert!(output.text.contains("server_name \"a.example\";\n    # Of the edge.\n"), "{}", output.text);
    assert_eq!(run("check").code, Some(0));
    std::fs::write(&file, "    server_name {{name}};\n    # Of {{name}}.\n").unwrap();
    for command in ["check", "render"] {
        let output = run(command);
        let words = format!("{}:2: name cannot stand in a comment", file.display());
        assert!(output.code == Some(78) && output.complaints.contains(&words), "{command}: {}", output.complaints);
    }
}

#[test]
fn keys_are_neither_shown_nor_readable_for_others() {
    let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
    let indented = |text: &str| text.replace('\n', "\n    ");
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: pair, namespace: default}}\ntype: kubernetes.io/tls\nstringData:\n  \
         tls.crt: |\n    {}\n  tls.key: |\n    {}\n",
        indented(made.cert.pem().trim_end()),
        indented(made.signing_key.serialize_pem().trim_end())
    );
    let with_tls = ingress("a", "a.example", "web")
        .replace("  rules:", "  tls: [{hosts: [a.example], secretName: pair}]\n  rules:");
    let folder = folder(&[("a.yaml", &with_tls), ("pair.yaml", &secret)]);
    let manifests = folder.path().to_str().unwrap();
    let output = ingressd("render", &[manifests]);
    assert_eq!(output.code, Some(0), "{}", output.complaints);
    assert!(output.text.contains(".pem: secret, not shown") && !output.text.contains("PRIVATE KEY"), "{}", output.text);
    let tree = folder.path().join("tree");
    assert_eq!(ingressd("render", &["--output", tree.to_str().unwrap(), manifests]).code, Some(0));
    let keys: Vec<_> = std::fs::read_dir(tree.join("certs")).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(!keys.is_empty());
    for key in keys {
        assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", key.path());
    }
}
