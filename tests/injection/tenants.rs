//! Attacks by objects of one namespace on other namespaces and the host.

use ingressd_model::finding::Reason;
use ingressd_translate::PREFIX;
use serde_json::{Value, json};

use crate::fields::{ingress, secret, service, surroundings, tls_secret};
use crate::inputs::snapshot;
use crate::judge::judges;
use crate::pipeline::{Outcome, of, produce, yaml};

fn with(objects: &[Value]) -> Outcome {
    let outcome = of(&[objects, &surroundings()].concat());
    outcome.check();
    judges()[0].accepts(&outcome.files).unwrap();
    outcome
}

fn has(outcome: &Outcome, name: &str, reason: Reason) -> bool {
    outcome.findings.iter().any(|finding| &*finding.origin.object.name == name && finding.reason == reason)
}

/// Addresses of this host, of metadata services, of all hosts and of none, in all spellings.
const FORBIDDEN: &[(&str, &str)] = &[
    ("IPv4", "127.0.0.1"),
    ("IPv4", "127.1.2.3"),
    ("IPv4", "0.0.0.0"),
    ("IPv4", "0.0.0.1"),
    ("IPv4", "169.254.169.254"),
    ("IPv4", "100.100.100.200"),
    ("IPv4", "224.0.0.1"),
    ("IPv4", "255.255.255.255"),
    ("IPv6", "::1"),
    ("IPv6", "::"),
    ("IPv6", "fe80::1"),
    ("IPv6", "ff02::1"),
    ("IPv6", "::ffff:127.0.0.1"),
    ("IPv6", "::ffff:0:127.0.0.1"),
    ("IPv6", "::127.0.0.1"),
    ("IPv6", "64:ff9b::7f00:1"),
    ("IPv6", "64:ff9b:1::7f00:1"),
    ("IPv6", "64:ff9b::a9fe:a9fe"),
    ("IPv6", "2002:7f00:1::"),
    ("IPv6", "fd00:ec2::254"),
];

#[test]
fn no_endpoint_is_this_host_or_its_metadata() {
    for (family, address) in FORBIDDEN {
        let [mut one, mut slice] = service("default", "own", address);
        one["spec"]["ipFamilies"] = json!([family]);
        slice["addressType"] = json!(family);
        let outcome = with(&[one, slice, ingress("default", "i", "nginx", "own.test", "own")]);
        assert!(has(&outcome, "i", Reason::ForbiddenTarget), "{address}: {:?}", outcome.findings);
        assert!(outcome.is_without_endpoints("own.test") && !outcome.passes("own.test"), "{address}");
    }
}

#[test]
fn an_address_that_is_none_leaves_the_object_out() {
    for address in
        ["fe80::1%eth0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "10.0.0.1:80", "[::1]", "localhost"]
    {
        let [one, mut slice] = service("default", "own", "10.244.0.9");
        slice["endpoints"][0]["addresses"][0] = json!(address);
        let outcome = with(&[one, slice, ingress("default", "i", "nginx", "own.test", "own")]);
        assert!(outcome.is_without_endpoints("own.test") && !outcome.passes("own.test"), "{address}");
    }
}

#[test]
fn no_external_name_load_balancer_or_cluster_address_is_this_host() {
    let names =
        ["localhost", "localhost.", "a.localhost", "127.1", "0x7f.1", "2130706433", "[::1]", "ingressd.other.web.80"];
    let addresses = FORBIDDEN.iter().map(|(_, address)| *address);
    for name in addresses.clone().chain(names) {
        let [mut one, _] = service("default", "own", "10.244.0.9");
        one["spec"]["type"] = json!("ExternalName");
        one["spec"]["externalName"] = json!(name);
        let outcome = with(&[one, ingress("default", "i", "nginx", "own.test", "own")]);
        assert!(outcome.is_without_endpoints("own.test") && !outcome.passes("own.test"), "{name}");
        assert!(has(&outcome, "i", Reason::ForbiddenTarget), "{name}");
    }
    for address in addresses {
        for mode in ["loadbalancer", "clusterip"] {
            let [mut one, slice] = service("default", "own", "10.244.0.9");
            one["metadata"]["annotations"]["ingressd/endpoints"] = json!(mode);
            one["spec"]["clusterIP"] = json!(address);
            one["status"]["loadBalancer"]["ingress"][0]["ip"] = json!(address);
            let outcome = with(&[one, slice, ingress("default", "i", "nginx", "own.test", "own")]);
            assert!(outcome.is_without_endpoints("own.test") && !outcome.passes("own.test"), "{mode} {address}");
        }
    }
}

#[test]
fn a_slice_of_another_namespace_adds_nothing_to_a_service() {
    let [_, mut slice] = service("default", "web", "10.244.66.6");
    slice["metadata"]["name"] = json!("web-2");
    let before = with(&[]);
    let outcome = with(&[slice]);
    assert_eq!(outcome.bytes("bystander.test"), before.bytes("bystander.test"));
}

#[test]
fn the_catch_all_certificate_of_a_tenant_is_not_that_of_other_hosts() {
    let mut victim = ingress("other", "victim", "nginx", "victim.test", "web");
    victim["spec"]["tls"] = json!([{"hosts": ["victim.test"]}]);
    let mut thief = ingress("default", "thief", "ingressd", "", "web");
    thief["spec"]["rules"][0].as_object_mut().unwrap().remove("host");
    thief["spec"]["tls"] = json!([{"secretName": "tls"}]);
    let file = |outcome: &Outcome, path: &str| {
        let text = outcome.text(path)?;
        let line = text.lines().find(|line| line.contains("ssl_certificate "))?.trim().to_owned();
        Some(line)
    };
    let before = with(&[victim.clone()]);
    let default = file(&before, "http/server-catch-all.conf").unwrap();
    let after = with(&[victim, thief]);
    assert_eq!(file(&after, "http/server-catch-all.conf"), Some(default.clone()), "it is the administrator's");
    let victim = "http/server-exact-victim.test.conf";
    assert_eq!(file(&after, victim), file(&before, victim));
}

#[test]
fn the_older_object_keeps_host_path_and_certificate() {
    let dated = |mut object: Value, year: u16| {
        object["metadata"]["creationTimestamp"] = json!(format!("{year}-01-01T00:00:00Z"));
        object["spec"]["tls"] = json!([{"hosts": ["shared.test"], "secretName": "tls"}]);
        object
    };
    let old = dated(ingress("other", "z", "ingressd", "shared.test", "web"), 2025);
    let new = dated(ingress("default", "a", "ingressd", "shared.test", "web"), 2026);
    let before = with(std::slice::from_ref(&old));
    let after = with(&[old, new]);
    assert_eq!(after.server("shared.test"), before.server("shared.test"));
    assert!(has(&after, "a", Reason::HostOwned));
}

#[test]
fn an_address_is_no_host() {
    for host in ["127.0.0.1", "192.0.2.1", "0.0.0.0"] {
        let outcome = with(&[ingress("default", "i", "nginx", host, "web")]);
        assert_eq!(outcome.server(host), None, "{host}");
        assert!(has(&outcome, "i", Reason::InvalidHost), "{host}");
    }
}

#[test]
fn a_group_with_a_name_never_falls_through_to_another_route() {
    let mut object = ingress("default", "i", "nginx", "group.test", "web");
    // Where it would be protected, paths that begin like it are closed, so that no unprotected
    // route gets them.
    object["metadata"]["annotations"] = json!({
        format!("{PREFIX}use-regex"): "true",
        format!("{PREFIX}allowlist-source-range"): "10.0.0.0/8",
    });
    let mut second = object["spec"]["rules"][0]["http"]["paths"][0].clone();
    second["path"] = json!("/(?<http_cookie>x)");
    second["pathType"] = json!("ImplementationSpecific");
    object["spec"]["rules"][0]["http"]["paths"].as_array_mut().unwrap().push(second);
    let outcome = with(&[object]);
    let text = outcome.server("group.test").unwrap();
    assert!(has(&outcome, "i", Reason::InvalidPath));
    assert!(!text.contains("(?<") && text.contains("return 503"), "{text}");
}

#[test]
fn a_password_hash_does_not_stop_a_worker() {
    for hash in [
        "$6$rounds=999999999$salt$hash",
        "$6$rounds=100000$salt$hash",
        "$2y$31$salthash",
        "$2y$11$salthash",
        "$7$DU..../....salt$hash",
        "{PLAIN}password",
    ] {
        let mut object = ingress("default", "i", "nginx", "slow.test", "web");
        object["metadata"]["annotations"] =
            json!({format!("{PREFIX}auth-type"): "basic", format!("{PREFIX}auth-secret"): "slow"});
        let outcome = with(&[object, secret("default", "slow", json!({"auth": format!("a:{hash}\n")}))]);
        assert!(has(&outcome, "i", Reason::InvalidSecret), "{hash}");
        assert!(outcome.server("slow.test").unwrap().contains("return 503"), "{hash}");
    }
}

#[test]
fn an_expression_that_would_stop_a_worker_or_fill_it_is_closed() {
    let large = format!("/(?:{}){{470}}", "[ab][cd]".repeat(20));
    for path in ["/(a+)+[b~]", "/(?:.?){30}[~^]", "/(.*)(.*)(.*)(.*)x", "/(a|a)*b", "/(?R)", "/(a)\\1", "/(", &large] {
        for dialect in ["nginx", "ingressd"] {
            let mut object = ingress("default", "i", dialect, "slow.test", "web");
            object["metadata"]["annotations"] = json!({format!("{PREFIX}use-regex"): "true"});
            let mut second = object["spec"]["rules"][0]["http"]["paths"][0].clone();
            second["path"] = json!(path);
            second["pathType"] = json!("ImplementationSpecific");
            object["spec"]["rules"][0]["http"]["paths"].as_array_mut().unwrap().push(second);
            let outcome = with(&[object]);
            let text = outcome.server("slow.test").unwrap();
            assert!(has(&outcome, "i", Reason::InvalidPath), "{path} {dialect}");
            // Paths that begin like it answer 503, except for those that other paths take.
            assert!(text.contains("_pass "), "{path} {dialect}: {text}");
            assert!(["{470}", "(a+)+", "{30}", "(.*)(.*)", "(?R)"].iter().all(|part| !text.contains(part)), "{text}");
        }
    }
}

#[test]
fn no_value_asks_for_all_memory_or_time() {
    let mut object = ingress("default", "i", "nginx", "greedy.test", "web");
    let greedy = [
        ("client-body-buffer-size", "1g"),
        ("proxy-buffer-size", "1g"),
        ("proxy-buffers-number", "4096"),
        ("proxy-max-temp-file-size", "999g"),
        ("proxy-read-timeout", "2147483647"),
        ("proxy-send-timeout", "2147483647"),
        ("proxy-connect-timeout", "2147483647"),
    ];
    object["metadata"]["annotations"] =
        greedy.iter().map(|(key, value)| (format!("{PREFIX}{key}"), json!(value))).collect();
    let outcome = with(&[object]);
    let text = outcome.server("greedy.test").unwrap();
    assert!(has(&outcome, "i", Reason::AboveCeiling));
    for line in ["client_body_buffer_size 1m;", "proxy_buffers 4 512k;", "proxy_read_timeout 86400s;"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("999g") && !text.contains("2147483647"), "{text}");
}

#[test]
fn what_stands_around_certificates_is_left_out() {
    let text = |secret: &Value, key: &str| {
        use base64::Engine as _;
        let bytes = base64::engine::general_purpose::STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let clean = tls_secret("default", "x");
    let (chain, key) = (text(&clean, "tls.crt"), text(&clean, "tls.key"));
    let dirty = secret(
        "default",
        "x",
        json!({"tls.crt": format!("evil;\n{chain}load_module x;\n"), "tls.key": format!("{key}evil")}),
    );
    let mut object = ingress("default", "i", "nginx", "pem.test", "web");
    object["spec"]["tls"] = json!([{"hosts": ["pem.test"], "secretName": "x"}]);
    assert_eq!(with(&[object.clone(), clean]).bytes("pem.test"), with(&[object.clone(), dirty]).bytes("pem.test"));
    let many = secret("default", "x", json!({"tls.crt": chain.repeat(2000), "tls.key": key}));
    let outcome = with(&[object, many]);
    assert!(has(&outcome, "x", Reason::InvalidCertificate));
}

#[test]
fn large_objects_are_served_and_bombs_are_not_read() {
    let mut hosts = ingress("default", "hosts", "nginx", "h.test", "web");
    let rule = hosts["spec"]["rules"][0].clone();
    hosts["spec"]["rules"] = (0..2000)
        .map(|number| {
            let mut rule = rule.clone();
            rule["host"] = json!(format!("h{number}.many.test"));
            rule
        })
        .collect();
    let mut paths = ingress("default", "paths", "nginx", "paths.test", "web");
    let path = paths["spec"]["rules"][0]["http"]["paths"][0].clone();
    paths["spec"]["rules"][0]["http"]["paths"] = (0..1000)
        .map(|number| {
            let mut path = path.clone();
            path["path"] = json!(format!("/p{number}"));
            path
        })
        .collect();
    let mut keys = ingress("default", "keys", "nginx", "keys.test", "web");
    for number in 0..2000 {
        keys["metadata"]["annotations"][format!("{PREFIX}proxy-body-sise-{number}")] = json!("x".repeat(100));
    }
    let outcome = with(&[hosts, paths, keys]);
    assert!(["h1999.many.test", "paths.test", "keys.test"].iter().all(|host| outcome.server(host).is_some()));

    let mut bomb =
        String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for number in 1..30 {
        let before = format!("*a{}", number - 1);
        bomb.push_str(&format!("a{number}: &a{number} [{}]\n", [before.as_str(); 9].join(", ")));
    }
    let text = bomb + &yaml(&surroundings());
    let outcome = produce(&snapshot(&text), &crate::pipeline::VERSIONS[1..2]).remove(0);
    assert!(outcome.findings.iter().any(|finding| finding.reason == Reason::Undecodable));
    assert!(outcome.server("bystander.test").is_some());
}
