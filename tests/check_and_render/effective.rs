//! `explain` and `check --origins`: which value counts, and where it was written.

use std::process::Command;

use serde_json::Value;

use super::{folder, ingress, ingressd};

/// Two Ingresses of one host, the younger second, and the ConfigMap of an ingress-nginx.
fn shop() -> tempfile::TempDir {
    let object = |name: &str, day: u32, path: &str, annotations: &[&str]| {
        let annotations: String =
            annotations.iter().map(|line| format!("    nginx.ingress.kubernetes.io/{line}\n")).collect();
        let host = ingress(name, "shop.example", "web").replace("path: /\n", &format!("path: {path}\n"));
        let metadata = format!("  creationTimestamp: \"2026-01-0{day}T00:00:00Z\"\n  annotations:\n{annotations}spec:");
        host.replacen("spec:", &metadata, 1)
    };
    folder(&[
        ("a.yaml", &object("a", 1, "/", &["ssl-ciphers: ECDHE-RSA-AES128-GCM-SHA256"])),
        (
            "b.yaml",
            &object(
                "b",
                2,
                "/cart",
                &[
                    "proxy-read-timeout: '20'",
                    "proxy-send-timeout: '9000'",
                    "ssl-ciphers: ECDHE-RSA-AES256-GCM-SHA384",
                    "use-proxy-protocol: 'true'",
                    "auth-realm: Shop",
                ],
            ),
        ),
        (
            "map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: controller, namespace: edge}\ndata:\n  proxy-read-timeout: '30'\n  \
             proxy-connect-timeout: '7'\n  hsts: 'false'\n  keep-alive: '9'\n  disable-ipv6: 'true'\n",
        ),
        ("x.toml", "ingress-nginx.configmap = 'edge/controller'\n[limits]\ntimeout = '10m'\n[tls]\nredirect = false\n"),
    ])
}

#[test]
fn explain_says_where_each_value_was_written_that_counts() {
    let shop = shop();
    let file = |name: &str| shop.path().join(name).display().to_string();
    let run = |command: &str, arguments: &[&str]| {
        let (folder, settings) = (shop.path().to_str().unwrap(), format!("--config={}", file("x.toml")));
        let command = Command::new(env!("CARGO_BIN_EXE_ingressd"))
            .args([command, "--nginx-version", "1.22.1", &settings])
            .args(arguments)
            .arg(folder)
            .env_remove("INGRESSD_CONFIG")
            .output()
            .unwrap();
        let text = String::from_utf8(command.stdout).unwrap() + &String::from_utf8(command.stderr).unwrap();
        (command.status.code(), text)
    };
    let explain = |arguments: &[&str]| run("explain", arguments);
    let (code, text) = explain(&["https://SHOP.example:8443/cart/1?x=1"]);
    assert_eq!(code, Some(0), "{text}");
    let (a, b, settings) = (file("a.yaml"), file("b.yaml"), file("x.toml"));
    let map = file("map.yaml");
    let of = |object: &str, key: &str| {
        format!("Ingress default/{object}: metadata.annotations[nginx.ingress.kubernetes.io/{key}]")
    };
    for expected in [
        format!("is taken by Ingress default/b: spec.rules[0].http.paths[0] ({b}:"),
        "goes to Service default/web, port 80\n".to_owned(),
        // An object overrides the ConfigMap, which overrides what is built in.
        format!("proxy-read-timeout: 20\n    from {} ({b}:", of("b", "proxy-read-timeout")),
        format!(
            "instead of 30, from ConfigMap edge/controller: data[proxy-read-timeout] ({map}:5)\n    instead of 60, built in\n"
        ),
        // A ceiling overrides an object.
        format!(
            "proxy-send-timeout: 600\n    from {settings}:3, about the way to backends\n    instead of 9000, from {} ({b}:",
            of("b", "proxy-send-timeout")
        ),
        "proxy-connect-timeout: 7\n    from ConfigMap edge/controller: data[proxy-connect-timeout]".to_owned(),
        // An annotation overrides a setting, the ConfigMap overrides one, and several keys make
        // one value together.
        format!(
            "nginx.ingress.kubernetes.io/ssl-redirect: false\n    from {settings}:5, about routes\n    instead of true, built in\n"
        ),
        format!("tls.hsts: off\n    from ConfigMap edge/controller: data[hsts] ({map}:"),
        "listen.addresses: 0.0.0.0\n    from ConfigMap edge/controller: data[disable-ipv6]".to_owned(),
        "keepalive_timeout: 9s\n    from ConfigMap edge/controller: data[keep-alive]".to_owned(),
        // The oldest object decides for a host.
        format!("ssl-ciphers: ECDHE-RSA-AES128-GCM-SHA256\n    from {} ({a}:", of("a", "ssl-ciphers")),
        "options are as they are built in; --all shows them\n".to_owned(),
    ] {
        assert!(text.contains(&expected), "{expected:?} is not in\n{text}");
    }
    // What has no effect, concerns the whole node, or is a layer of another option, is not among
    // the options.
    for absent in
        ["auth-realm", "use-proxy-protocol", "AES256", "limits.timeout:", "tls.redirect:", "access.trusted-proxies"]
    {
        assert!(!text.contains(absent), "{absent}:\n{text}");
    }
    let (code, text) = explain(&["shop.example/other", "--format", "json"]);
    let reported: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &reported["route"]["from"]), (Some(0), &"Ingress default/a: spec.rules[0].http.paths[0]".into()));
    let connect = "nginx.ingress.kubernetes.io/proxy-connect-timeout";
    let option = reported["options"].as_array().unwrap().iter().find(|option| option["option"] == connect).unwrap();
    assert_eq!((&option["counts"]["value"], &option["instead_of"][0]["from"]), (&"7".into(), &"built in".into()));
    let (code, text) = explain(&["nobody.example/", "--all"]);
    assert!(code == Some(1) && text.contains("is answered 404"), "{text}");
    assert!(text.contains("No Ingress that is served has the host"), "{text}");
    let (_, text) = explain(&["shop.example/", "--all"]);
    assert!(text.contains("listen.http-port: 80\n    built in, about listeners\n"), "{text}");
    assert_eq!(explain(&["a b"]).0, Some(64));

    // The same is shown for all objects at once, and findings name the places of settings.
    let (_, text) = run("check", &["--origins"]);
    for expected in [
        format!("  limits.timeout: 10m\n    from {settings}:3, about the node\n    instead of 24h, built in\n"),
        format!(
            "Ingress default/b\n  nginx.ingress.kubernetes.io/proxy-read-timeout: 20\n    from {} ({b}:",
            of("b", "proxy-read-timeout")
        ),
        format!("the administrator's limits.timeout from {settings}:3 sets it"),
        "use-proxy-protocol]: UnknownAnnotation: it is about listeners, which only the administrator sets".to_owned(),
    ] {
        assert!(text.contains(&expected), "{expected:?} is not in\n{text}");
    }
    assert_eq!(ingressd("check", &["--origins", "--format", "json", "."]).code, Some(64));
}

/// A host with an expression, another path of its namespace, and a canary.
const EXPRESSIONS: &str = r#"
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/ingress-nginx}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: item
  namespace: default
  annotations: {nginx.ingress.kubernetes.io/use-regex: "true", nginx.ingress.kubernetes.io/proxy-read-timeout: "20"}
spec:
  ingressClassName: nginx
  rules:
  - host: x.example
    http: {paths: [{path: "/items?/[0-9]+", pathType: ImplementationSpecific, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: rest, namespace: default}
spec:
  ingressClassName: nginx
  rules:
  - host: x.example
    http: {paths: [{path: /item, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: try
  namespace: default
  annotations: {nginx.ingress.kubernetes.io/canary: "true", nginx.ingress.kubernetes.io/canary-weight: "20"}
spec:
  ingressClassName: nginx
  rules:
  - host: x.example
    http: {paths: [{path: /item, pathType: Prefix, backend: {service: {name: new, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: moved
  namespace: default
  annotations: {nginx.ingress.kubernetes.io/permanent-redirect: "https://y.example/", nginx.ingress.kubernetes.io/proxy-read-timeout: "20"}
spec:
  ingressClassName: nginx
  rules:
  - host: moved.example
    http: {paths: [{path: /a, pathType: Exact, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: new, namespace: default}
spec: {ports: [{port: 80}]}
"#;

fn slice(service: &str) -> String {
    format!(
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {{name: {service}-1, namespace: default, labels: \
         {{kubernetes.io/service-name: {service}}}}}\naddressType: IPv4\nports: [{{port: 80}}]\nendpoints: [{{addresses: [192.0.2.7]}}]\n"
    )
}

#[test]
fn explain_says_which_path_takes_a_request_and_why() {
    let manifests = folder(&[("all.yaml", &format!("{EXPRESSIONS}{}{}", slice("web"), slice("new")))]);
    let explain = |address: &str| {
        let folder = manifests.path().to_str().unwrap();
        let classes = "classes=[{controller = 'k8s.io/ingress-nginx', dialect = 'ingress-nginx'}]";
        let output = ingressd("explain", &["--set", classes, address, folder]);
        (output.code, output.text)
    };
    for (address, code, expected, absent) in [
        (
            "x.example/ITEM/7",
            0,
            &[
                "its path is /items?/[0-9]+ (ImplementationSpecific) and counts as an expression, without regard to case, because of \
                 Ingress default/item: metadata.annotations[nginx.ingress.kubernetes.io/use-regex]\n",
                "comes before Ingress default/rest: spec.rules[0].http.paths[0] (",
                "), whose path /item matches too: of expressions nginx tries the longest text first\n",
                "proxy-read-timeout: 20\n",
            ][..],
            "no path",
        ),
        (
            "x.example/item/x",
            0,
            &[
                "its path is /item (Prefix) and counts for all that begins with it, without regard to case, because of Ingress default/item: \
                 metadata.annotations[nginx.ingress.kubernetes.io/use-regex]\n",
                "goes to Service default/web, port 80; Ingress default/try takes a part of the requests to Service default/new, port 80\n",
            ],
            "comes before",
        ),
        ("x.example/other", 1, &["no path of this host matches\nis answered 404\n"], "is taken by"),
        // Without a backend nothing counts of the way to one.
        (
            "moved.example/a",
            0,
            &["its path is /a (Exact)\n", "is answered 301, to https://y.example/\n"],
            "proxy-read-timeout",
        ),
    ] {
        let (ended, text) = explain(address);
        assert_eq!(ended, Some(code), "{text}");
        for expected in expected {
            assert!(text.contains(expected), "{expected:?} is not in\n{text}");
        }
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}
