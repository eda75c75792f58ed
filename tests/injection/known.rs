//! Weaknesses of ingress-nginx without a CVE number, which are impossible here.

use ingressd_model::finding::Reason;
use ingressd_translate::{ANNOTATIONS, PREFIX};
use serde_json::{Value, json};

use crate::fields::{ingress, secret, service, surroundings};
use crate::inputs;
use crate::pipeline::{Remembering, options, yaml};
use crate::shop::{about, is_closed, reasons, refused, served, shop};

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
fn weakness_10_no_change_of_a_value_is_overlooked() {
    let snapshot = |annotations: &[(&str, &str)]| {
        inputs::snapshot(&yaml(&[vec![shop(annotations, "/", "Prefix")], surroundings()].concat()))
    };
    let options = options(&snapshot(&[]));
    let mut remembering = Remembering::under(&options);
    let (mut overlooked, mut changes, mut last) = (Vec::new(), 0, None);
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        for (value, _) in row.all_tries() {
            let snapshot = snapshot(&[row.beside, &[(row.key, value)]].concat());
            let remembered = remembering.files(&snapshot);
            if remembered != Remembering::under(&options).files(&snapshot) {
                overlooked.push(format!("{}: {value:?}", row.key));
            }
            changes += usize::from(last.as_ref() != Some(&remembered));
            last = Some(remembered);
        }
    }
    assert!(overlooked.is_empty(), "\n{}", overlooked.join("\n"));
    assert!(changes > 200, "{changes}");
}

#[test]
fn weakness_11_no_variable_reveals_secrets() {
    for name in
        ["ssl_client_raw_cert", "http_authorization", "ingressd_dollar", "pid", "document_root", "request_body_file"]
    {
        refused(&[("rewrite-target", &format!("/${name}"))], Reason::InvalidValue);
        refused(&[("rewrite-target", &format!("/${{{name}}}"))], Reason::InvalidValue);
    }
}

#[test]
fn weakness_12_forwarded_headers_are_trusted_from_no_client() {
    let output = served(&[shop(&[], "/", "Prefix")]);
    let server = output.server("shop.test").unwrap();
    let read = ["http_x_forwarded", "http_x_real_ip", "http_forwarded"];
    for text in [output.text("http/00-ingressd.conf").unwrap(), server] {
        // Headers of a client are passed on only under other names.
        let lines = text.lines().filter(|line| !line.contains("proxy_set_header X-Original-Forwarded-"));
        let believed: Vec<_> = lines.filter(|line| read.iter().any(|variable| line.contains(variable))).collect();
        assert_eq!(believed, [""; 0]);
    }
}

#[test]
fn no_header_of_a_client_gives_a_backend_another_url_or_certificate() {
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
