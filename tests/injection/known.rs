//! What went wrong in ingress-nginx, number by number, and is impossible here; it must not know how it is prevented.
//!
//! Every test walks the whole pipeline, and the real versions of nginx judge what is left.

use ingressd::finding::{Finding, Reason};
use ingressd::model::expression;
use ingressd::nginx::syntax::Directive;
use ingressd::translate::PREFIX;
use serde_json::{Value, json};

use crate::fields::{ingress, secret, service, surroundings};
use crate::judge::judges;
use crate::pipeline::{Outcome, of, parse};

/// Words that no configuration of ours holds unless somebody got them in.
const LOOT: &[&str] =
    &["alias", "root", "load_module", "access_by_lua", "content_by_lua", "log_format", "include", "ssl_engine"];

/// An Ingress of the namespace `default` for `shop.test` in the ingress-nginx dialect.
fn shop(annotations: &[(&str, &str)], path: &str, path_type: &str) -> Value {
    let mut shop = ingress("default", "shop", "nginx", "shop.test", "web");
    for (key, value) in annotations {
        shop["metadata"]["annotations"][format!("{PREFIX}{key}")] = json!(value);
    }
    let entry = shop.pointer_mut("/spec/rules/0/http/paths/0").unwrap();
    entry["path"] = json!(path);
    entry["pathType"] = json!(path_type);
    shop
}

/// What becomes of objects beside the surroundings; nothing of it is anything but ours, and every nginx takes it.
fn served(objects: &[Value]) -> Outcome {
    let outcome = of(&[objects, &surroundings()].concat());
    outcome.check();
    let before = of(&surroundings());
    assert_eq!(outcome.bytes("bystander.test"), before.bytes("bystander.test"), "another tenant's files changed");
    for (path, file) in outcome.files.files.iter().filter(|(path, _)| path.starts_with("http/")) {
        let text = file.content.text();
        let mut open = parse(&text);
        while let Some(directive) = open.pop() {
            assert!(!LOOT.contains(&directive.name.as_str()), "{path}: {directive:?}");
            open.extend(directive.block.unwrap_or_default());
        }
    }
    let judges = judges();
    assert!(!judges.is_empty(), "no nginx was found: run `make test`, which installs it");
    judges[0].accepts(&outcome.files).unwrap();
    outcome
}

fn about<'o>(outcome: &'o Outcome, name: &str) -> Vec<(&'o Finding, Reason)> {
    let about = outcome.findings.iter().filter(|finding| &*finding.origin.object.name == name);
    about.map(|finding| (finding, finding.reason)).collect()
}

fn reasons(outcome: &Outcome, name: &str) -> Vec<Reason> {
    about(outcome, name).into_iter().map(|(_, reason)| reason).collect()
}

/// The annotation is refused with this reason.
fn refused(annotations: &[(&str, &str)], reason: Reason) -> Outcome {
    let outcome = served(&[shop(annotations, "/", "Prefix")]);
    assert!(reasons(&outcome, "shop").contains(&reason), "{annotations:?}: {:?}", about(&outcome, "shop"));
    outcome
}

/// The host is not served, or answers 503 and asks no backend.
fn is_closed(outcome: &Outcome) -> bool {
    let text = outcome.server("shop.test").unwrap_or_default();
    !text.contains("_pass ") && (text.is_empty() || text.contains("return 503"))
}

/// The path is one argument of each location that it has, or the object is refused.
fn one_word(path: &str, path_type: &str, annotations: &[(&str, &str)]) {
    let outcome = served(&[shop(annotations, path, path_type)]);
    let Some(text) = outcome.server("shop.test") else {
        return assert!(!about(&outcome, "shop").is_empty(), "{path:?} is neither served nor refused");
    };
    let tree = parse(&text);
    let locations: Vec<_> = tree[0].children().iter().filter(|one| one.name == "location").collect();
    assert!(locations.iter().all(|one| one.arguments.len() == 2), "{text}");
    let tail = path.trim_start_matches('/').trim_end_matches('/');
    let holds = |argument: &String| argument.contains(tail) || argument.contains(&*expression::literal(tail));
    assert!(locations.iter().any(|one| holds(&one.arguments[1])), "{path:?} is not in\n{text}");
}

#[test]
fn cve_2020_8553_password_files_of_two_namespaces_do_not_meet() {
    let password = json!({"auth": "a:{SHA}x\n"});
    let of = |namespace: &str, name: &str, host: &str| {
        let mut object = ingress(namespace, "i", "nginx", host, "web");
        object["metadata"]["annotations"] =
            json!({format!("{PREFIX}auth-type"): "basic", format!("{PREFIX}auth-secret"): name});
        [vec![object, secret(namespace, name, password.clone())], service(namespace, "web", "10.244.3.1").to_vec()]
            .concat()
    };
    let outcome = served(&[of("a", "b-c", "one.test"), of("a-b", "c", "two.test")].concat());
    let file = |host: &str| {
        let text = outcome.server(host).unwrap();
        text.lines().find(|line| line.contains("auth_basic_user_file")).unwrap().to_owned()
    };
    assert_ne!(file("one.test"), file("two.test"));
}

#[test]
fn cve_2021_25742_and_cve_2023_5043_snippets_are_never_configuration() {
    for key in ["configuration-snippet", "server-snippet", "stream-snippet", "auth-snippet", "modsecurity-snippet"] {
        let outcome = served(&[shop(&[(key, "content_by_lua 'os.execute(\"id\")';")], "/", "Prefix")]);
        assert!(!about(&outcome, "shop").is_empty(), "{key}");
    }
}

#[test]
fn cve_2021_25745_a_path_does_not_close_its_location() {
    let token = "/x{}location /y{alias /var/run/secrets/kubernetes.io/serviceaccount/;}#";
    for path_type in ["Prefix", "Exact", "ImplementationSpecific"] {
        one_word(token, path_type, &[]);
        one_word("/x\" { root /var/run/secrets; } location \"/y", path_type, &[]);
    }
}

#[test]
fn cve_2021_25746_no_value_of_an_annotation_is_more_than_a_value() {
    for key in [
        "proxy-body-size",
        "proxy-read-timeout",
        "proxy-buffering",
        "rewrite-target",
        "whitelist-source-range",
        "backend-protocol",
    ] {
        let outcome = served(&[shop(&[(key, "1m; alias /etc/; #")], "/", "Prefix")]);
        assert!(!about(&outcome, "shop").is_empty(), "{key}");
    }
}

#[test]
fn cve_2021_25748_a_newline_within_a_path_is_refused() {
    for path in ["/x {\nalias\n/etc/;}", "/x\r\nalias /etc", "/x\n"] {
        let outcome = served(&[shop(&[], path, "ImplementationSpecific")]);
        assert_eq!(reasons(&outcome, "shop"), [Reason::InvalidPath], "{path:?}");
        assert_eq!(outcome.server("shop.test"), None, "{path:?}");
    }
}

#[test]
fn cve_2022_4886_no_directive_comes_out_of_a_path() {
    for word in ["log_format", "lua_package_path", "proxy_pass", "ssl_engine", "load_module"] {
        one_word(&format!("/x;{word} y 'z';"), "ImplementationSpecific", &[]);
    }
}

#[test]
fn cve_2023_5044_a_redirect_is_one_url() {
    for url in [
        "https://a.test; root /etc;",
        "https://a.test/}location /x{root /etc;}",
        "https://a.test\"; x \"",
        "//evil.test",
    ] {
        let outcome = refused(&[("permanent-redirect", url)], Reason::RefusedValue);
        assert_eq!(outcome.server("shop.test"), None, "{url}");
    }
}

#[test]
fn cve_2024_7646_a_carriage_return_ends_nothing() {
    for key in ["permanent-redirect", "rewrite-target", "auth-realm", "cors-allow-origin", "auth-secret", "auth-url"] {
        let found = served(&[shop(&[(key, "https://a.test\r\nload_module x;")], "/", "Prefix")]);
        assert!(!about(&found, "shop").is_empty(), "{key}");
    }
}

#[test]
fn cve_2025_24513_names_and_uids_are_no_paths() {
    let mut shop = shop(&[("auth-type", "basic"), ("auth-secret", "../../etc/shadow")], "/", "Prefix");
    shop["metadata"]["uid"] = json!("../../../etc/nginx/x");
    assert!(is_closed(&served(&[shop.clone()])));
    shop["metadata"]["namespace"] = json!("../x");
    assert_eq!(served(&[shop]).server("shop.test"), None);
}

#[test]
fn cve_2025_24514_auth_url_carries_nothing_and_opens_nothing() {
    for url in ["http://a.test/#;}} load_module x;", "http://a.test/$x", "http://a.test\"; }"] {
        assert!(is_closed(&served(&[shop(&[("auth-url", url)], "/", "Prefix")])), "{url}");
    }
    let text =
        served(&[shop(&[("auth-url", "http://a.test/x?u=$request_uri")], "/", "Prefix")]).server("shop.test").unwrap();
    let tree = parse(&text);
    for location in tree[0].children().iter().filter(|one| one.name == "location") {
        let has = |name: &str| location.children().iter().any(|one| one.name == name);
        assert!(has("auth_request") || has("internal"), "{text}");
    }
}

#[test]
fn cve_2025_1097_auth_tls_match_cn_carries_nothing_and_opens_nothing() {
    let annotations =
        [("auth-tls-secret", "default/ca"), ("auth-tls-match-cn", "CN=abc #(\n){}\n }\nload_module x;\n#")];
    assert!(is_closed(&served(&[shop(&annotations, "/", "Prefix")])));
}

#[test]
fn cve_2025_1098_mirror_targets_and_uids_carry_nothing() {
    let mut object =
        shop(&[("mirror-target", "http://a.test/\"; load_module x; #"), ("mirror-host", "a\"; x")], "/", "Prefix");
    object["metadata"]["uid"] = json!("a\"; } load_module x; #");
    let outcome = served(&[object]);
    assert!(!about(&outcome, "shop").is_empty());
    assert!(!outcome.server("shop.test").unwrap().contains("mirror"));
    // Whatever is left of a value is within one word.
    for target in ["http://192.0.2.7/x';#", "http://192.0.2.7/$host{", "http://192.0.2.7\n", "http://192.0.2.7/`x`"] {
        let text = refused(&[("mirror-target", target)], Reason::InvalidValue).server("shop.test").unwrap();
        assert!(text.contains("proxy_pass") && !text.contains("mirror"), "{target}");
    }
}

#[test]
fn weakness_11_parameters_of_fastcgi_carry_nothing_and_choose_no_file() {
    let text = |data: Value| {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "evil"},
            "data": data});
        let annotations = [("backend-protocol", "FCGI"), ("fastcgi-params-configmap", "evil")];
        served(&[map, shop(&annotations, "/", "Prefix")])
    };
    let good = text(json!({"REALM": "x'\"; load_module y; #", "SCRIPT_FILENAME": "/a\";$uri"}));
    let server = good.server("shop.test").unwrap();
    assert!(server.contains(r#"fastcgi_param REALM "x'\"; load_module y; #";"#), "{server}");
    assert!(server.contains(r#"fastcgi_param SCRIPT_FILENAME "/a\";${uri}";"#), "{server}");
    for (key, value) in [
        ("X; load_module y", "x"),
        ("SCRIPT-NAME", "x"),
        ("REALM", "a\nb"),
        ("REALM", "$document_root"),
        ("REALM", "$ssl_client_raw_cert"),
        ("REALM", "$ingressd_dollar"),
        ("SCRIPT_FILENAME", "/app/$arg_file"),
        ("script_filename", "/app/$http_x"),
        ("DOCUMENT_ROOT", "$host"),
        ("PHP_VALUE", "x"),
        ("php_admin_value", "x"),
        ("CONTENT_LENGTH", "5"),
        ("HTTP_X_FORWARDED_FOR", "$arg_x"),
    ] {
        assert!(is_closed(&text(json!({key: value}))), "{key}: {value:?}");
    }
}

#[test]
fn cve_2025_1974_nothing_that_a_client_uploads_can_be_loaded() {
    // There is no webhook, and `nginx -t` sees only what is proven: no value becomes the name of a file or module.
    one_word("/x;}}}ssl_engine /proc/self/fd/7;", "ImplementationSpecific", &[]);
    let outcome = served(&[shop(&[("proxy-ssl-protocols", "TLSv1.2; ssl_engine /proc/1/fd/3")], "/", "Prefix")]);
    assert!(!about(&outcome, "shop").is_empty());
}

#[test]
fn cve_2025_15566_values_in_a_config_map_of_headers_carry_nothing() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "evil"},
        "data": {"X-A": "x'\"; load_module y; #"}});
    let annotations = [("auth-url", "http://a.test"), ("auth-proxy-set-headers", "default/evil")];
    let text = served(&[map.clone(), shop(&annotations, "/", "Prefix")]).server("shop.test").unwrap();
    assert!(text.contains(r#"proxy_set_header X-A "x'\"; load_module y; #";"#), "{text}");
    for (key, value) in [("X-B'; z", "x"), ("X-A", "$ssl_client_raw_cert"), ("X-A", "a\nb"), ("Content-Length", "5")] {
        let mut map = map.clone();
        map["data"] = json!({key: value});
        assert!(is_closed(&served(&[map, shop(&annotations, "/", "Prefix")])), "{key}: {value:?}");
    }
}

#[test]
fn cve_2026_1580_auth_method_carries_nothing_and_opens_nothing() {
    assert!(is_closed(&served(&[shop(
        &[("auth-url", "http://a.test"), ("auth-method", "GET;} root /etc;")],
        "/",
        "Prefix"
    )])));
}

#[test]
fn cve_2026_24512_quotes_and_braces_in_a_path_stay_in_it() {
    for path in ["/a\"b", "/a\\", "/a\\\"b", "/a'b{}", "/a b", "/a;b", "/a#b", "/a$uri"] {
        for path_type in ["Prefix", "Exact", "ImplementationSpecific"] {
            one_word(path, path_type, &[]);
        }
    }
}

#[test]
fn cve_2026_24513_error_pages_do_not_authenticate() {
    let annotations = [("auth-url", "http://a.test"), ("custom-http-errors", "401,403"), ("default-backend", "web")];
    let text = served(&[shop(&annotations, "/", "Prefix")]).server("shop.test").unwrap();
    let tree = parse(&text);
    let is_question =
        |one: &&Directive| one.name == "location" && one.children().iter().any(|one| one.name == "internal");
    let question = tree[0].children().iter().find(is_question).expect("a location that asks");
    let says = |name: &str| question.children().iter().find(|one| one.name == name).map(|one| one.arguments.join(" "));
    assert_eq!(says("proxy_intercept_errors").as_deref(), Some("off"));
    // It takes the place of all pages of outer levels.
    assert_eq!(says("error_page").as_deref(), Some("599 /"));
}

#[test]
fn cve_2026_24514_huge_objects_are_bounded() {
    let outcome = served(&[shop(&[("rewrite-target", &"a".repeat(1 << 20))], "/", "Prefix")]);
    assert!(outcome.findings.iter().all(|finding| finding.note.len() < 2000));
}

#[test]
fn cve_2026_3288_the_path_is_quoted_in_its_second_use_too() {
    for path in ["/a\"b", "/a\" / ; root /etc; #", "/a\\\"", "/(a)\"x"] {
        one_word(path, "ImplementationSpecific", &[("rewrite-target", "/x")]);
    }
}

#[test]
fn cve_2026_4342_no_path_is_in_a_comment() {
    let outcome = served(&[shop(&[("auth-url", "http://a.test")], "/x\nload_module y;", "ImplementationSpecific")]);
    assert_eq!(outcome.server("shop.test"), None);
    let outcome = served(&[shop(&[], "/visible", "Prefix")]);
    assert!(!outcome.server("shop.test").unwrap().contains('#'));
}

#[test]
fn cve_2026_42945_a_replacement_holds_no_question_mark() {
    refused(&[("rewrite-target", "/x?y=$1")], Reason::InvalidValue);
}

#[test]
fn an_alias_is_checked_as_its_key_is() {
    for key in ["whitelist-source-range", "allowlist-source-range", "limit-whitelist", "limit-allowlist"] {
        let limited = [("limit-rps", "1"), (key, "10.0.0.0/8; root /etc")];
        assert!(!about(&served(&[shop(&limited, "/", "Prefix")]), "shop").is_empty(), "{key}");
    }
}

#[test]
fn weakness_1_a_typo_beside_auth_url_does_not_switch_it_off() {
    for typo in
        [("auth-always-set-cookie", "yes"), ("auth-cache-duration", "200 5m;"), ("auth-request-redirect", "/a;b")]
    {
        assert!(is_closed(&served(&[shop(&[("auth-url", "http://a.test"), typo], "/", "Prefix")])), "{typo:?}");
    }
    for typo in [("auth-secret-type", "maps"), ("auth-type", "Basic"), ("auth-secret", "a b")] {
        let mut annotations = vec![("auth-type", "basic"), ("auth-secret", "users")];
        annotations.retain(|(key, _)| *key != typo.0);
        annotations.push(typo);
        assert!(is_closed(&served(&[shop(&annotations, "/", "Prefix")])), "{typo:?}");
    }
}

#[test]
fn weakness_2_a_typo_in_cors_lets_nobody_in() {
    for typo in [("cors-allow-origin", "https://a.test; , bad;"), ("cors-allow-credentials", "yes")] {
        let outcome = served(&[shop(&[("enable-cors", "true"), typo], "/", "Prefix")]);
        assert!(!outcome.server("shop.test").unwrap().contains("Access-Control"), "{typo:?}");
    }
    let some = ("cors-allow-origin", "https://a.test, *;, https://b.test\" *");
    let outcome = served(&[shop(&[("enable-cors", "true"), some], "/", "Prefix")]);
    let files = outcome.bytes("shop.test").unwrap();
    let (_, cors) = files.iter().find(|(path, _)| path.contains("10-cors")).unwrap();
    let cors = String::from_utf8(cors.clone()).unwrap();
    assert!(cors.contains("//a\\\\.test") && !cors.contains("default *") && !cors.contains("//b"), "{cors}");
    assert_eq!(reasons(&outcome, "shop"), [Reason::InvalidValue]);
}

#[test]
fn weakness_3_upstreams_of_two_namespaces_do_not_meet() {
    let of = |namespace: &str, name: &str, host: &str, address: &str| {
        [vec![ingress(namespace, "i", "nginx", host, name)], service(namespace, name, address).to_vec()].concat()
    };
    let outcome =
        served(&[of("a", "b-c", "one.test", "10.244.3.1"), of("a-b", "c", "two.test", "10.244.3.2")].concat());
    for (host, own, other) in [("one.test", "10.244.3.1:", "10.244.3.2:"), ("two.test", "10.244.3.2:", "10.244.3.1:")] {
        let text = outcome.bytes(host).unwrap().into_values().map(|bytes| String::from_utf8(bytes).unwrap());
        let text: String = text.collect();
        assert!(text.contains(own) && !text.contains(other), "{host}: {text}");
    }
}

#[test]
fn weakness_4_certificate_files_of_two_namespaces_do_not_meet() {
    let of = |namespace: &str, name: &str, host: &str| {
        let mut object = ingress(namespace, "i", "nginx", host, "web");
        object["spec"]["tls"] = json!([{"hosts": [host], "secretName": name}]);
        vec![object, crate::fields::tls_secret(namespace, name)]
    };
    let outcome = served(&[of("a", "b-c", "one.test"), of("a-b", "c", "two.test")].concat());
    let file = |host: &str| {
        let text = outcome.server(host).unwrap();
        text.lines().find(|line| line.contains("ssl_certificate ")).unwrap().to_owned()
    };
    assert_ne!(file("one.test"), file("two.test"));
}

#[test]
fn weakness_5_nothing_is_read_from_another_namespace() {
    let outcome = served(&[shop(&[("auth-type", "basic"), ("auth-secret", "other/users")], "/", "Prefix")]);
    assert!(is_closed(&outcome) && reasons(&outcome, "shop").contains(&Reason::CrossNamespace));
    let outcome = served(&[shop(&[("custom-headers", "other/headers")], "/", "Prefix")]);
    assert!(!about(&outcome, "shop").is_empty());
}

#[test]
fn weakness_6_a_canary_of_another_namespace_takes_nothing() {
    let mut canary = ingress("default", "canary", "nginx", "bystander.test", "web");
    canary["metadata"]["annotations"] =
        json!({format!("{PREFIX}canary"): "true", format!("{PREFIX}canary-weight"): "100"});
    let outcome = served(&[canary]);
    assert_eq!(reasons(&outcome, "canary"), [Reason::CanaryWithoutMain]);
}

#[test]
fn weakness_7_no_value_makes_nginx_refuse_everything() {
    for annotation in [
        ("proxy-read-timeout", "-1"),
        ("proxy-buffers-number", "0"),
        ("proxy-body-size", "99999999999999999999g"),
        ("upstream-vhost", "$nosuchvariable"),
        ("proxy-ssl-name", "a{b"),
        ("custom-http-errors", "499"),
        ("rewrite-target", "/$nosuchvariable"),
        ("limit-rps", "-1"),
        ("limit-connections", "-5"),
        ("proxy-redirect-from", "x"),
    ] {
        assert!(!about(&served(&[shop(&[annotation], "/", "Prefix")]), "shop").is_empty(), "{annotation:?}");
    }
    let both = [shop(&[], "/a", "Prefix"), {
        let mut second = shop(&[], "/a/", "Prefix");
        second["metadata"]["name"] = json!("shop-2");
        second
    }];
    assert!(served(&both).server("shop.test").unwrap().contains("proxy_pass"));
}

#[test]
fn weakness_8_names_are_checked_here_and_not_by_a_webhook_alone() {
    for pointer in ["/metadata/name", "/metadata/namespace", "/spec/rules/0/host"] {
        let mut object = shop(&[], "/", "Prefix");
        *object.pointer_mut(pointer).unwrap() = json!("a;{}\"$(x)/../y");
        assert_eq!(served(&[object]).server("shop.test"), None, "{pointer}");
    }
}

#[test]
fn weakness_9_a_password_is_one_line() {
    let map = secret("default", "map", json!({"a": "{SHA}x\nroot:{PLAIN}x", "b:c": "{SHA}x", "d": "{SHA}x"}));
    let annotations = [("auth-type", "basic"), ("auth-secret", "map"), ("auth-secret-type", "auth-map")];
    let outcome = served(&[map, shop(&annotations, "/", "Prefix")]);
    let text = outcome.server("shop.test").unwrap();
    let path = text.split("current/").nth(1).unwrap().split('"').next().unwrap();
    let found = outcome.files.files.keys().filter(|path| path.starts_with("auth/"));
    let contents: Vec<_> = found.map(|path| outcome.files.files[path].content.bytes()).collect();
    assert!(contents.contains(&b"d:{SHA}x\n".to_vec()), "{path}");
}

#[test]
fn weakness_11_no_variable_tells_secrets() {
    for name in
        ["ssl_client_raw_cert", "http_authorization", "ingressd_dollar", "pid", "document_root", "request_body_file"]
    {
        refused(&[("rewrite-target", &format!("/${name}"))], Reason::InvalidValue);
        refused(&[("rewrite-target", &format!("/${{{name}}}"))], Reason::InvalidValue);
    }
}

#[test]
fn weakness_12_forwarded_headers_are_believed_from_nobody() {
    let output = served(&[shop(&[], "/", "Prefix")]);
    let server = output.server("shop.test").unwrap();
    let read = ["http_x_forwarded", "http_x_real_ip", "http_forwarded"];
    for text in [output.text("http/00-ingressd.conf").unwrap(), server] {
        // Those that a client sends go on only under other names.
        let lines = text.lines().filter(|line| !line.contains("proxy_set_header X-Original-Forwarded-"));
        let believed: Vec<_> = lines.filter(|line| read.iter().any(|variable| line.contains(variable))).collect();
        assert_eq!(believed, [""; 0]);
    }
}

#[test]
fn no_header_of_a_client_tells_a_backend_another_url_or_certificate() {
    // As ingress-nginx tells certificates, and as frameworks behind it are told paths and schemes.
    for class in ["ingressd", "nginx"] {
        for protocol in ["HTTP", "GRPC", "FCGI"] {
            let mut object = shop(&[("backend-protocol", protocol)], "/", "Prefix");
            object["spec"]["ingressClassName"] = json!(class);
            let server = served(&[object]).server("shop.test").unwrap();
            let line = |name: &str| match protocol {
                "GRPC" => format!("    grpc_set_header {name} \"\";\n"),
                "FCGI" => {
                    format!("    fastcgi_param HTTP_{} \"\" if_not_empty;\n", name.to_uppercase().replace('-', "_"))
                }
                _ => format!("    proxy_set_header {name} \"\";\n"),
            };
            for name in [
                "Forwarded",
                "X-Forwarded-Prefix",
                "X-Forwarded-Ssl",
                "X-Original-URL",
                "X-Rewrite-URL",
                "ssl-client-verify",
                "ssl-client-subject-dn",
                "ssl-client-issuer-dn",
                "ssl-client-cert",
            ] {
                assert!(server.contains(&line(name)), "{name}, {class}, {protocol}: {server}");
            }
        }
    }
}

#[test]
fn no_slice_leads_to_another_program_of_the_node() {
    for (address, port) in [("192.0.2.1", 9100), ("192.0.2.1", 22), ("::ffff:192.0.2.1", 9100)] {
        let family = if address.contains(':') { "IPv6" } else { "IPv4" };
        let [service, mut slice] = service("default", "node", address);
        slice["addressType"] = json!(family);
        slice["ports"][0]["port"] = json!(port);
        let object = ingress("default", "shop", "nginx", "shop.test", "node");
        let outcome = served(&[service, slice, object]);
        assert!(is_closed(&outcome), "{address}");
        assert!(reasons(&outcome, "shop").contains(&Reason::ForbiddenTarget), "{address}: {:?}", outcome.findings);
    }
}
