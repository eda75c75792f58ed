//! `ingressd migrate` with the output of kubectl, as shells and pipelines see it.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "migrate/host.rs"]
mod host;
#[path = "migrate/outputs.rs"]
mod outputs;
#[path = "migrate/unchecked.rs"]
mod unchecked;

use std::process::Command;

use ingressd_translate::ANNOTATIONS;
use ingressd_translate::annotation::{Compared, Gives, Row};
use serde_json::Value;

const DUMP: &str = include_str!("migrate/dump.yaml");

/// A cluster without a controller.
const CLASS: &str = "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\n";

struct Output {
    code: i32,
    text: String,
    complaints: String,
}

fn migrate(step: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
    command.args(["migrate", step]).args(arguments).env_remove("INGRESSD_CONFIG").env_remove("KUBECONFIG");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Output { code: output.status.code().unwrap(), text: text(output.stdout), complaints: text(output.stderr) }
}

/// Neither settings nor the nginx of this host matter.
fn report(dump: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("dump.yaml"), dump).unwrap();
    let place = folder.path().to_str().unwrap();
    migrate("report", &[&["--nginx-version", "1.22.1", "--config", "/dev/null", place], arguments].concat())
}

fn json(dump: &str) -> Value {
    let output = report(dump, &["--format", "json"]);
    serde_json::from_str(&output.text).unwrap_or_else(|error| panic!("{error}: {}{}", output.text, output.complaints))
}

/// Name and verdict of each item.
fn verdicts(items: &Value) -> Vec<String> {
    let of = |item: &Value| format!("{} {}", item["name"].as_str().unwrap(), item["verdict"].as_str().unwrap());
    items.as_array().unwrap().iter().map(of).collect()
}

const TEXT: &str = "\
Deployment ingress-nginx/ingress-nginx-controller registry.k8s.io/ingress-nginx/controller:v1.12.1
note       only the names of Secrets were read; their contents are assumed to be valid

Flags
refused    --metrics-per-host=false
           There is no replacement.
           -> `traffic.ingress-nginx-names` counts requests with labels and buckets of its own choice: see docs/prometheus.md
different  --publish-service=ingress-nginx/ingress-nginx-controller
           = publish.mode = \"service\", publish.service = \"ingress-nginx/ingress-nginx-controller\"
           The addresses in the status and the externalIPs of the Service are published.
           -> route the addresses of the Service to the nodes, or remove both lines to publish the nodes themselves
";

#[test]
fn the_report_says_what_needs_something_and_ends_by_what_is_refused() {
    let output = report(DUMP, &[]);
    assert_eq!(output.code, 1, "{}", output.complaints);
    assert!(output.text.starts_with(TEXT), "{}", output.text);
    let rest = &output.text[TEXT.len()..];
    for words in [
        "\nConfigMap ingress-nginx/ingress-nginx-controller\nrefused    http-snippet: ",
        "\ndifferent  worker-processes: 4\n",
        "-> ingressd does not change nginx.conf: set `worker_processes 4;` there on each node, outside of every block\n",
        "\nrefused    TCP port http: data/postgres\n",
        "\nIngresses\nrefused    tools/raw  tools.example\n  refused    allowlist-source-range: 10.0.0.0/33\n",
        "\n\n3 Ingresses: 1 equal, 0 stricter, 1 different, 1 refused; 2 need nothing (--all lists them)\n",
        "\n1 Ingress is of other controllers or of no class that is known\n",
    ] {
        assert!(rest.contains(words), "{words}: {rest}");
    }
    // What does the same as a snippet is told by its directives.
    for words in [
        "more_set_headers: custom-headers, the backend, or the setting headers.answers for all hosts",
        "limit_req_zone: limit-rps or limit-rpm",
    ] {
        assert!(rest.contains(words), "{words}: {rest}");
    }
    assert!(!rest.contains("shop/plain"), "{rest}");
    let all = report(DUMP, &["--all"]).text;
    assert!(
        all.contains("\nequal      shop/plain  shop.example at 192.0.2.10\n  equal      proxy-read-timeout: 120\n"),
        "{all}"
    );
}

#[test]
fn the_report_for_machines_has_everything() {
    let report = json(DUMP);
    assert_eq!(report["controller"]["workload"], "Deployment ingress-nginx/ingress-nginx-controller");
    assert_eq!(report["summary"]["verdict"], "refused");
    assert_eq!(report["clashes"], Value::Null);
    let of = |name: &str| {
        let ingresses = report["ingresses"].as_array().unwrap();
        ingresses.iter().find(|ingress| ingress["name"] == name).unwrap_or_else(|| panic!("{name}: {report:#}"))
    };
    assert_eq!(verdicts(&of("plain")["items"]), ["proxy-read-timeout equal", "secure-backends equal"]);
    assert_eq!(verdicts(&of("admin")["items"]), ["affinity different", "auth-secret stricter", "auth-type equal"]);
    assert_eq!(verdicts(&of("raw")["items"]), ["allowlist-source-range refused", "configuration-snippet refused"]);
    assert_eq!((&of("admin")["needsNothing"], &of("raw")["needsNothing"]), (&Value::from(true), &Value::from(false)));
    assert_eq!(of("plain")["published"], serde_json::json!(["192.0.2.10"]));
    let keys = verdicts(&report["configMap"]["keys"]);
    assert_eq!(
        keys,
        ["http-snippet refused", "proxy-body-size equal", "server-tokens stricter", "worker-processes different"]
    );
    assert_eq!(verdicts(&report["services"]), ["TCP port 5432 equal", "TCP port http refused"]);
}

/// What is missing in a dump, and what has mistakes, is told in words of its own.
#[test]
fn mistakes_and_what_is_missing_are_reported() {
    let dump = DUMP
        .replace("spec: {controller: k8s.io/ingress-nginx}", "spec: {controller: example.com/third}")
        .replace("spec: {ingressClassName: other, rules", "spec: {rules")
        .replace("worker-processes: \"4\"", "worker-processes: many\n    use-forwarded-headers: \"true\"")
        .replace("          - --metrics-per-host=false\n", "          - --watch-namespace-selector=team in (\n");
    let output = report(&dump, &["--all"]);
    for words in [
        "note       there is no IngressClass of the controller k8s.io/ingress-nginx, so ",
        "note       Ingresses without a class, which the controller does not serve either: shop/elsewhere; set ",
        "-> namespace-selector: \"team in (\" is no selector of labels",
        "refused    worker-processes: many\n",
        "-> \"many\" is refused: it is neither auto nor a whole number from 1 to 10000\n",
        // It counts, and so nothing says that it has no effect.
        "           clients can write any address, and so pass lists of addresses\n           -> nginx trusts every client about its address",
    ] {
        assert!(output.text.contains(words), "{words}: {}", output.text);
    }
    assert!(!output.text.contains("further settings"), "{}", output.text);
}

/// What is stricter between namespaces: certificates for hosts of others, and names of others.
#[test]
fn what_a_namespace_has_of_another_is_listed() {
    let more = "\
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata: {name: first, namespace: shop, creationTimestamp: '2020-01-01T00:00:00Z'}
  spec:
    ingressClassName: nginx
    rules: [{host: shared.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    name: second
    namespace: team
    creationTimestamp: '2021-01-01T00:00:00Z'
    annotations: {cert-manager.io/cluster-issuer: letsencrypt}
  spec:
    ingressClassName: nginx
    tls: [{hosts: [shared.example], secretName: pair}]
    rules: [{host: shared.example, http: {paths: [{path: /team, pathType: Prefix, backend: {service: {name: other, port: {number: 80}}}}]}}]
- apiVersion: v1
  kind: Service
  metadata: {name: other, namespace: team}
  spec: {type: ExternalName, externalName: web.shop.svc.cluster.local, ports: [{port: 80}]}
";
    let report = json(&format!("{}\n{more}", DUMP.trim_end()));
    let ingresses = report["ingresses"].as_array().unwrap();
    let second = ingresses.iter().find(|ingress| ingress["name"] == "second").unwrap();
    let found = verdicts(&second["items"]);
    assert!(found.contains(&"spec.tls[0] different".to_owned()), "{second:#}");
    assert!(found.contains(&"spec.rules[0].http.paths[0] refused".to_owned()), "{second:#}");
    let text = second.to_string();
    for words in ["asked first for shared.example, and", "`hosts.challenges`", "`access.shared-services`"] {
        assert!(text.contains(words), "{words}: {second:#}");
    }
}

/// No text of an object reaches a terminal as a control character.
#[test]
fn what_objects_say_steers_no_terminal() {
    let hostile = DUMP.replace("10.0.0.0/33", r#""\e[2J\x9b2J\u202e""#);
    let image = "registry.k8s.io/ingress-nginx/controller:v1.12.1";
    let hostile = hostile.replace(image, r#""\x85\u2066/ingress-nginx/controller:v1""#);
    let values = ["\u{1b}[2J\u{9b}2J\u{202e}", "\u{85}\u{2066}/ingress-nginx"];
    for output in ["text", "json", "html"] {
        let shown = report(&hostile, &["--format", output]).text;
        let is_hostile = |character: &char| character.is_control() || "\u{202e}\u{2066}".contains(*character);
        let found: Vec<_> = shown.chars().filter(is_hostile).filter(|character| *character != '\n').collect();
        assert!(found.is_empty() && shown.contains("allowlist-source-range"), "{found:?}: {shown}");
        if output == "json" {
            let report = serde_json::from_str::<Value>(&shown).unwrap().to_string();
            let said = |value: &str| report.contains(Value::from(value).to_string().trim_matches('"'));
            assert!(values.into_iter().all(said), "programs read what was written: {report}");
        }
    }
}

/// Nothing of it can be used, and no step goes on as if there were an empty cluster.
#[test]
fn a_dump_with_nothing_in_it_is_no_empty_cluster() {
    let cut = DUMP.split_at(DUMP.find("worker-processes").unwrap() + 9).0;
    for (dump, words) in [
        ("", ""),
        ("apiVersion: v1\nkind: List\nitems: []\n", ""),
        ("<html><body>403 Forbidden</body></html>\n", "line 1: "),
        ("this is: [no\n\tyaml", "Undecodable"),
        (cut, "line 37: "),
        (DUMP.split_at(DUMP.find("  spec:").unwrap()).0, ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dump.yaml");
        std::fs::write(&path, dump).unwrap();
        for step in ["report", "settings"] {
            let ended = migrate(step, &[path.to_str().unwrap()]);
            let remedy =
                "kubectl get ingressclasses,ingresses,deployments,daemonsets,namespaces,configmaps,services -A -o yaml";
            assert_eq!((ended.code, &*ended.text), (66, ""), "{dump}: {}", ended.complaints);
            for words in
                [words, "no Ingress, no IngressClass and no ingress-nginx (Deployment or DaemonSet) is in ", remedy]
            {
                assert!(ended.complaints.contains(words), "{words}: {}", ended.complaints);
            }
        }
    }
}

/// What is around objects, or beside them, changes nothing of what is said of them.
#[test]
fn lists_within_lists_fields_of_managers_and_unknown_kinds_are_no_hindrance() {
    let whole: Value = serde_saphyr::from_str(DUMP).unwrap();
    let expected = json(DUMP);
    let list = |kind: &str, items: Vec<Value>| serde_json::json!({"apiVersion": "v1", "kind": kind, "items": items});
    let items = whole["items"].as_array().unwrap();
    let (ingresses, others): (Vec<_>, Vec<_>) = items.iter().cloned().partition(|item| item["kind"] == "Ingress");
    let bare = ingresses.iter().cloned().map(|mut ingress| {
        ingress.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
        ingress
    });
    let mut typed = list("IngressList", bare.collect());
    typed["apiVersion"] = "networking.k8s.io/v1".into();
    let managed = items.iter().cloned().map(|mut item| {
        let fields = serde_json::json!({"f:spec": {"k:{\"port\":80}": {".": {}}}});
        item["metadata"]["managedFields"] = serde_json::json!([{"manager": "kubectl", "fieldsV1": fields}]);
        item
    });
    let unknown = serde_json::json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "foo"}});
    for (what, dump) in [
        ("a list within a list", list("List", vec![list("List", others.clone()), list("List", ingresses)])),
        ("a list of Ingresses that do not say what they are", list("List", [others, vec![typed]].concat())),
        ("fields of managers", list("List", managed.collect())),
        ("a kind that nobody knows", list("List", [items.clone(), vec![unknown]].concat())),
    ] {
        assert_eq!(json(&dump.to_string()), expected, "{what}");
    }
}

/// What a value asks for counts, and not what other values of its key would.
#[test]
fn a_value_that_asks_for_what_both_do_is_equal() {
    let harmless = |row: &Row| row.all_tries().into_iter().find(|(_, gives)| matches!(gives, Gives::Nothing));
    let rows = ANNOTATIONS.rows().filter(|row| row.compared != Compared::Equal);
    let nothing: Vec<_> = rows.filter_map(|row| Some((row.key, harmless(row)?.0))).collect();
    assert!(nothing.contains(&("service-upstream", "false")) && nothing.len() > 8, "{nothing:?}");
    let accepted = [("auth-tls-verify-depth", "2"), ("proxy-ssl-protocols", "TLSv1.2")];
    let different = [("service-upstream", "true"), ("load-balance", "ewma"), ("affinity", "cookie")];
    let ingress = |name: &str, values: &[(&str, &str)]| {
        let annotations =
            values.iter().map(|(key, value)| (format!("{}{key}", ANNOTATIONS.prefix), Value::from(*value)));
        let port = serde_json::json!({"name": "web", "port": {"number": 80}});
        let path = serde_json::json!({"path": "/", "pathType": "Prefix", "backend": {"service": port}});
        serde_json::json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"namespace": "shop", "name": name, "annotations": annotations.collect::<serde_json::Map<_, _>>()},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": format!("{name}.example"), "http": {"paths": [path]}}]}
        })
    };
    let mut dump: Value = serde_saphyr::from_str(DUMP).unwrap();
    let items = dump["items"].as_array_mut().unwrap();
    items.retain(|item| item["kind"] != "Ingress");
    items.extend([ingress("a", &nothing), ingress("b", &accepted), ingress("c", &different)]);
    let of_controller = items
        .iter_mut()
        .find(|item| item["metadata"]["name"] == "ingress-nginx-controller" && item["kind"] == "ConfigMap");
    of_controller.unwrap()["data"] = serde_json::json!({
        "enable-brotli": "false", "enable-opentelemetry": "false", "enable-ocsp": "false", "ssl-buffer-size": "4k", "ssl-protocols": "TLSv1.2 TLSv1.3",
        "use-forwarded-headers": "False", "load-balance": "round_robin", "compute-full-forwarded-for": "true"
    });
    let report = json(&dump.to_string());
    let found: Vec<_> = report["ingresses"].as_array().unwrap().iter().map(|one| verdicts(&one["items"])).collect();
    for (verdicts, expected) in found.iter().zip(["equal", "equal", "different"]) {
        assert!(verdicts.iter().all(|verdict| verdict.ends_with(expected)), "{expected}: {verdicts:?}");
    }
    let (equal, rest): (Vec<_>, Vec<_>) =
        verdicts(&report["configMap"]["keys"]).into_iter().partition(|verdict| verdict.ends_with(" equal"));
    assert_eq!((equal.len(), rest), (7, vec!["compute-full-forwarded-for different".to_owned()]));
}

/// The exit status of a namespace also counts objects that could not be read.
#[test]
fn what_could_not_be_read_counts_as_refused() {
    let dump =
        DUMP.split("- apiVersion: networking.k8s.io/v1\n  kind: Ingress\n  metadata:\n    name: plain").next().unwrap();
    let clean = dump
        .replace("    http-snippet", "    #")
        .replace("    http: data/postgres\n", "")
        .replace("          - --metrics-per-host=false\n", "");
    assert_eq!(report(&clean, &[]).code, 0, "{}", report(&clean, &[]).text);
    for (more, words) in [
        (
            "- apiVersion: networking.k8s.io/v1\n  kind: Ingress\n  metadata: {name: a, namespace: a}\n  spec: {rules: x}\n",
            "Ingress a/a: ",
        ),
        ("- {metadata: {name: b}}\n", "it has no apiVersion and kind"),
    ] {
        let ended = report(&format!("{clean}{more}"), &[]);
        assert_eq!(ended.code, 1, "{}", ended.text);
        for words in [words, "\n1 part of what was read could not be understood: "] {
            assert!(ended.text.contains(words), "{words}: {}", ended.text);
        }
        let page = report(&format!("{clean}{more}"), &["--format", "html"]).text;
        assert!(page.contains("1 of the parts that were read could not be understood"), "{page}");
        assert_eq!(json(&format!("{clean}{more}"))["summary"]["unread"], 1);
    }
}

/// The flags as they may stand there, and a ConfigMap that is not among the input.
#[test]
fn flags_that_are_none_and_a_config_map_that_is_away_are_reported() {
    let flags = "          - --validating-webhook=:8443\n";
    let more = ["--no-such-flag=3", "--http-port=many", "--enable-ssl-passthrough=perhaps", "--enable-metrics=no"];
    let more: String = more.iter().map(|flag| format!("          - {flag}\n")).collect();
    let text = report(&DUMP.replace(flags, &more), &[]).text;
    for words in [
        "refused    --no-such-flag=3\n           No flag of this name is known.\n",
        "refused    --http-port=many\n           It has no setting.\n           -> \"many\" is no port\n",
        "refused    --enable-ssl-passthrough=perhaps\n           It has no setting.\n           -> \"perhaps\" is neither true nor false",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let other = DUMP
        .replace("name: ingress-nginx-controller, namespace", "name: other, namespace")
        .replace("name: tcp-services", "name: tcp");
    let text = report(&other, &[]).text;
    for words in [
        "refused    the ConfigMap: ingress-nginx/ingress-nginx-controller\n           It is not in what was read",
        "-> read it too (kubectl get configmap ingress-nginx-controller --namespace ingress-nginx -o yaml); ",
        "refused    TCP services: ingress-nginx/tcp-services\n",
        "take --tcp-services-configmap out of the arguments",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let bare = DUMP.split("          args:\n").next().unwrap().to_owned() + "          env:\n";
    let bare = bare + DUMP.split("          env:\n").nth(1).unwrap();
    let found = json(&bare);
    assert_eq!(
        (found["flags"].as_array().unwrap().len(), &found["configMap"]),
        (0, &Value::Null),
        "the defaults count"
    );
    assert_eq!(found["ingresses"].as_array().unwrap().len(), 3);
}

#[test]
fn the_page_is_whole() {
    let output = report(DUMP, &["--format", "html"]);
    assert_eq!(output.code, 1);
    assert!(output.text.starts_with("<!DOCTYPE html>") && output.text.ends_with("</html>"), "{}", output.text);
    assert!(output.text.contains("more_set_headers &quot;X-Frame-Options: DENY&quot;;"), "{}", output.text);
}

#[test]
fn flags_decide_whose_and_how_objects_are() {
    let with = |flag: &str| DUMP.replace("- --validating-webhook=:8443", &format!("- {flag}"));
    let names = |report: &Value| -> Vec<String> {
        let ingresses = report["ingresses"].as_array().unwrap();
        ingresses.iter().map(|ingress| ingress["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&json(DUMP)), ["admin", "plain", "raw"]);
    assert_eq!(names(&json(&with("--watch-namespace=tools"))), ["raw"]);
    let labelled = format!(
        "{}- {{apiVersion: v1, kind: Namespace, metadata: {{name: shop, labels: {{team: a}}}}}}\n",
        with("--watch-namespace-selector=team=a")
    );
    assert_eq!(names(&json(&labelled)), ["admin", "plain"]);
    let other = with("--ingress-class-by-name").replace("--ingress-class=nginx", "--ingress-class=other");
    assert_eq!(
        names(&json(&other)),
        ["admin", "elsewhere", "plain"],
        "a class by its name, beside that of the controller"
    );
    let prefixed = json(&with("--annotations-prefix=edge.example.com"));
    let plain = prefixed["ingresses"].as_array().unwrap().iter().find(|ingress| ingress["name"] == "plain").unwrap();
    assert_eq!(verdicts(&plain["items"]), ["the object different"], "keys with the usual prefix are not read then");
}

#[test]
fn nothing_refused_is_success_and_mistakes_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let clean =
        DUMP.split("- apiVersion: networking.k8s.io/v1\n  kind: Ingress\n  metadata:\n    name: admin").next().unwrap();
    let clean = clean
        .replace("    http-snippet", "    #")
        .replace("    http: data/postgres\n", "")
        .replace("          - --metrics-per-host=false\n", "");
    let ended = report(&clean, &[]);
    assert_eq!(ended.code, 0, "{}{}", ended.text, ended.complaints);
    let dump = file("dump.yaml", DUMP);
    let second = file(
        "second.yaml",
        &DUMP.replace(
            "name: ingress-nginx-controller\n    namespace: ingress-nginx\n    labels",
            "name: second\n    namespace: edge\n    labels",
        ),
    );
    let several = migrate("settings", &[&dump, &second]);
    assert_eq!(several.code, 64);
    assert!(
        several.complaints.contains("edge/second, ingress-nginx/ingress-nginx-controller"),
        "{}",
        several.complaints
    );
    let named = migrate("settings", &[&dump, &second, "--controller", "edge/second"]);
    assert!(named.code == 0 && named.text.contains("# Flags of Deployment edge/second\n"), "{}", named.text);
    assert_eq!(migrate("settings", &[&dump, "--controller", "edge/third"]).code, 64);
    assert_eq!(migrate("report", &["/nonexistent"]).code, 66);
    assert_eq!(migrate("report", &["--admin-kubeconfig", "/nonexistent"]).code, 78);
    let bare = migrate("settings", &[&file("class.yaml", CLASS)]);
    assert!(bare.code == 0 && bare.complaints.contains("its defaults are taken"), "{}", bare.complaints);
}
