//! The CVEs of ingress-nginx, number by number, each tried on a key that is served.
//!
//! A harmless value shows each time that the key has an effect: a row that passed because the key
//! is not read would prove nothing. `docs/security-review.md` lists these tests;
//! `tests/end_to_end/cves.rs` sends requests through what is left.

use ingressd_model::finding::Reason;
use ingressd_nginx::syntax::Directive;
use ingressd_translate::PREFIX;
use serde_json::{Value, json};

use crate::fields::{ingress, secret, service};
use crate::inputs::SCRIBES;
use crate::pipeline::parse;
use crate::shop::{about, closes, files, is_closed, one_word, reasons, refused, refuses, served, shop, skips};

/// The ways out of a directive.
const OUT: &[&str] = &["x; alias /etc/; #", "x} location /y { root /etc; }", "\"; load_module x; \"", "x\nroot /etc;"];
/// Features that close routes without their modules.
const AUTH_URL: (&str, &str) = ("auth-url", "http://a.test");
const PASSWORD: [(&str, &str); 2] = [("auth-type", "basic"), ("auth-secret", "users")];

fn config_map(name: &str, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": name}, "data": data})
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

fn no_snippet_is_read(text: &str) {
    assert!(!is_closed(&served(&[shop(&[], "/", "Prefix")])));
    for key in ["configuration-snippet", "server-snippet", "stream-snippet", "auth-snippet", "modsecurity-snippet"] {
        let outcome = served(&[shop(&[AUTH_URL, (key, text)], "/", "Prefix")]);
        assert_eq!(outcome.server("shop.test"), None, "{key}");
        assert!(!about(&outcome, "shop").is_empty(), "{key}");
    }
}

#[test]
fn cve_2021_25742_snippets_are_not_configuration() {
    no_snippet_is_read("content_by_lua 'os.execute(\"id\")';");
    no_snippet_is_read("location /y { alias /var/run/secrets/kubernetes.io/serviceaccount/; }");
}

#[test]
fn cve_2021_25745_a_path_does_not_close_its_location() {
    let token = "/x{}location /y{alias /var/run/secrets/kubernetes.io/serviceaccount/;}#";
    for path_type in ["Prefix", "Exact", "ImplementationSpecific"] {
        one_word("/good", path_type, &[]);
        one_word(token, path_type, &[]);
        one_word("/x\" { root /var/run/secrets; } location \"/y", path_type, &[]);
    }
}

#[test]
fn cve_2021_25746_no_value_of_an_annotation_is_more_than_a_value() {
    let cors = [("enable-cors", "true")];
    for (beside, key, harmless) in [
        (&[][..], "proxy-body-size", "8m"),
        (&[], "proxy-read-timeout", "5"),
        (&[], "proxy-next-upstream", "off"),
        (&[], "backend-protocol", "HTTPS"),
        (&[], "rewrite-target", "/new"),
        (&[], "proxy-cookie-path", "/one /two"),
        (&[], "affinity", "cookie"),
        (&[("affinity", "cookie")], "session-cookie-name", "route"),
        (&[("affinity", "cookie")], "session-cookie-path", "/shop"),
        (&cors, "cors-max-age", "600"),
        (&cors, "cors-expose-headers", "X-Total"),
    ] {
        skips(beside, key, harmless, OUT);
    }
    // A realm may hold anything that a quoted word can.
    skips(&PASSWORD, "auth-realm", "Staff", &OUT[2..]);
    assert!(!is_closed(&served(&[shop(&[PASSWORD[0], PASSWORD[1], ("auth-realm", OUT[1])], "/", "Prefix")])));
    for (beside, key, harmless) in [
        (&[][..], "whitelist-source-range", "10.0.0.0/8"),
        (&[], "denylist-source-range", "10.0.0.0/8"),
        (&PASSWORD[..1], "auth-secret", "users"),
        (&[AUTH_URL], "auth-signin", "https://login.test/"),
        (&[AUTH_URL], "auth-response-headers", "X-User"),
        (&[AUTH_URL], "auth-cache-key", "$http_authorization"),
        (&[], "auth-tls-secret", "default/authority"),
    ] {
        closes(beside, key, harmless, OUT);
    }
    for (beside, key, harmless) in [
        (&[][..], "upstream-vhost", "internal.test"),
        (&[], "server-alias", "www.shop.test"),
        (&[], "limit-rps", "5"),
        (&[], "upstream-hash-by", "$request_uri"),
        (&[], "ssl-ciphers", "HIGH"),
        (&[("default-backend", "main")], "custom-http-errors", "404"),
        (&[("custom-http-errors", "404")], "default-backend", "main"),
    ] {
        refuses(beside, key, harmless, OUT);
    }
}

#[test]
fn cve_2021_25748_a_newline_within_a_path_is_refused() {
    one_word("/x", "ImplementationSpecific", &[]);
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
fn cve_2023_5043_authors_of_snippets_write_no_configuration() {
    no_snippet_is_read("proxy_pass http://127.0.0.1:10246/;");
    no_snippet_is_read("}\n}\nserver { listen 81; return 200; }\nserver {\nlocation /x {");
}

#[test]
fn cve_2023_5044_a_redirect_is_one_url() {
    let hostile = [
        "https://a.test; root /etc;",
        "https://a.test/}location /x{root /etc;}",
        "https://a.test\"; x \"",
        "https://$http_x/",
        "//evil.test",
    ];
    refuses(&[], "permanent-redirect", "https://a.test/new", &hostile);
    refuses(&[], "temporal-redirect", "https://a.test/new", &hostile);
}

#[test]
fn cve_2024_7646_a_carriage_return_ends_nothing() {
    let url = "https://a.test/\r\nload_module x;";
    refuses(&[], "permanent-redirect", "https://a.test/", &[url, "https://a.test/\r"]);
    refuses(&[], "upstream-vhost", "a.test", &["a.test\rload_module x;"]);
    refuses(&[], "server-alias", "a.test", &["a.test,\rload_module x;"]);
    closes(&[], "auth-url", "http://a.test/", &[url, "http://a.test/\r"]);
    closes(&PASSWORD[..1], "auth-secret", "users", &["users\rload_module x;"]);
    skips(&PASSWORD, "auth-realm", "Staff", &["Staff\rload_module x;"]);
    skips(&[], "rewrite-target", "/new", &["/new\r\nload_module x;"]);
}

#[test]
fn cve_2025_24513_names_and_uids_are_no_paths() {
    let with = |uid: &str| {
        let mut shop = shop(&PASSWORD, "/", "Prefix");
        shop["metadata"]["uid"] = json!(uid);
        served(&[shop])
    };
    let harmless = with("0b8f8a3e-0000-4000-8000-000000000000");
    assert!(harmless.server("shop.test").unwrap().contains("auth_basic_user_file"));
    for uid in ["../../../etc/nginx/x", "a\"; load_module x; #", "x\nroot /etc;"] {
        assert_eq!(with(uid).bytes("shop.test"), harmless.bytes("shop.test"), "{uid:?}");
    }
    closes(&PASSWORD[..1], "auth-secret", "users", &["../../etc/shadow", "default/../users", "..", "default/"]);
    let mut odd = shop(&PASSWORD, "/", "Prefix");
    odd["metadata"]["namespace"] = json!("../x");
    assert_eq!(served(&[odd]).server("shop.test"), None);
}

#[test]
fn cve_2025_24514_auth_url_carries_nothing_and_opens_nothing() {
    let hostile = ["http://a.test/#;}} load_module x;", "http://a.test/$x", "http://a.test\"; }", "http://a.test/#\n}"];
    closes(&[], "auth-url", "http://a.test/x?u=$request_uri", &hostile);
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
    let hostile = [
        "CN=abc #(\n){}\n }\nload_module x;\n#",
        "CN=abc\"){}} load_module x; #",
        "CN=a)|(?:.*",
        "CN=(?{1})",
        "abc",
        "CN=",
    ];
    closes(&[("auth-tls-secret", "default/authority")], "auth-tls-match-cn", "CN=(ann|bob)$", &hostile);
}

#[test]
fn cve_2025_1098_mirror_targets_and_uids_carry_nothing() {
    let of = |annotations: &[(&str, &str)]| {
        let mut object = shop(annotations, "/", "Prefix");
        object["metadata"]["uid"] = json!("a\"; } load_module x; #");
        served(&[object])
    };
    let plain = of(&[]);
    assert!(!is_closed(&plain), "a UID is written nowhere");
    let target = ("mirror-target", "https://192.0.2.7$request_uri");
    assert!(of(&[target]).server("shop.test").unwrap().contains("mirror"), "the key is served");
    let hostile = [
        [("mirror-target", "http://a.test/\"; load_module x; #"), ("mirror-host", "a.test")],
        [("mirror-target", "http://a.test/\r\nroot /etc;"), ("mirror-host", "a.test")],
        [target, ("mirror-host", "a\"; load_module x; #")],
    ];
    for annotations in hostile {
        let outcome = of(&annotations);
        assert!(!about(&outcome, "shop").is_empty(), "{annotations:?}");
        assert!(!outcome.server("shop.test").unwrap().contains("mirror"), "{annotations:?}");
    }
    // The remains of a value are within one word.
    for target in ["http://192.0.2.7/x';#", "http://192.0.2.7/$host{", "http://192.0.2.7\n", "http://192.0.2.7/`x`"] {
        let text = refused(&[("mirror-target", target)], Reason::InvalidValue).server("shop.test").unwrap();
        assert!(text.contains("proxy_pass") && !text.contains("mirror"), "{target}");
    }
}

#[test]
fn cve_2025_1974_nothing_that_a_client_uploads_can_be_loaded() {
    // There is no webhook, and `nginx -t` sees only what is proven: no value becomes the name of a
    // file or module.
    one_word("/x;}}}ssl_engine /proc/self/fd/7;", "ImplementationSpecific", &[]);
    let files = ["../../proc/self/fd/7", "/proc/1/fd/3", "default/../../proc/1/fd/3", "x; ssl_engine /proc/1/fd/3"];
    closes(&[], "auth-tls-secret", "default/authority", &files);
    closes(&[("backend-protocol", "HTTPS")], "proxy-ssl-secret", "default/backend", &files);
    closes(&PASSWORD[..1], "auth-secret", "users", &files);
    closes(&[AUTH_URL], "auth-proxy-set-headers", "default/headers", &files);
    let by_tls = [("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "default/backend")];
    skips(&by_tls, "proxy-ssl-protocols", "TLSv1.3", &["TLSv1.2; ssl_engine /proc/1/fd/3"]);
}

#[test]
fn cve_2025_15566_values_in_a_config_map_of_headers_carry_nothing() {
    let annotations = [AUTH_URL, ("auth-proxy-set-headers", "default/evil")];
    let with = |data: Value| served(&[config_map("evil", data), shop(&annotations, "/", "Prefix")]);
    let text = with(json!({"X-A": "x'\"; load_module y; #"})).server("shop.test").unwrap();
    assert!(text.contains(r#"proxy_set_header X-A "x'\"; load_module y; #";"#), "{text}");
    for (key, value) in [("X-B'; z", "x"), ("X-A", "$ssl_client_raw_cert"), ("X-A", "a\nb"), ("Content-Length", "5")] {
        assert!(is_closed(&with(json!({key: value}))), "{key}: {value:?}");
    }
}

#[test]
fn cve_2026_1580_auth_method_carries_nothing_and_opens_nothing() {
    closes(&[AUTH_URL], "auth-method", "POST", &["GET;} root /etc;", "POST\nroot /etc;", "POST x", "GE\"T"]);
}

#[test]
fn cve_2026_24512_quotes_and_braces_in_a_path_stay_in_it() {
    for path in ["/a\"b", "/a\\", "/a\\\"b", "/a'b{}", "/a b", "/a;b", "/a#b", "/a$uri"] {
        for path_type in ["Prefix", "Exact", "ImplementationSpecific"] {
            one_word(path, path_type, &[]);
            one_word(path, path_type, &[AUTH_URL]);
        }
    }
    refuses(
        &[],
        "server-alias",
        "www.shop.test",
        &["a\"; } load_module x; #", "~^a\" {}$", "a.test\\", "~a\\", "~(?<host>.)"],
    );
    // The content of an expression stays in it.
    let hostile = r#"~^a"};root/etc;#{$uri\\"'$"#;
    let outcome = served(&[shop(&[("server-alias", hostile)], "/", "Prefix")]);
    let path = outcome.files.files.keys().find(|path| path.starts_with("http/server-z+")).unwrap();
    let tree = parse(&outcome.text(path).unwrap());
    let [server] = &tree[..] else { panic!("{tree:?}") };
    let names: Vec<_> = server.children().iter().filter(|one| one.name == "server_name").collect();
    assert!(
        matches!(&names[..], [one] if one.arguments.len() == 1 && one.arguments[0].ends_with(&format!("(?i:{})", &hostile[1..])))
    );
}

#[test]
fn cve_2026_24513_error_pages_do_not_authenticate() {
    let annotations = [AUTH_URL, ("custom-http-errors", "401,403"), ("default-backend", "web")];
    let text = served(&[shop(&annotations, "/", "Prefix")]).server("shop.test").unwrap();
    assert!(["401", "403"].iter().all(|code| text.contains(&format!("error_page {code} = @"))), "{text}");
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
    let huge = "a".repeat(1 << 20);
    let list = "10.0.0.0/8,".repeat(100_000);
    skips(&[], "rewrite-target", "/new", &[&huge]);
    closes(&[], "auth-url", "http://a.test/", &[&format!("http://a.test/{huge}")]);
    closes(&[], "whitelist-source-range", "10.0.0.0/8", &[&list]);
    let outcome = served(&[shop(&[("rewrite-target", &huge), ("upstream-vhost", &huge)], "/", "Prefix")]);
    assert!(outcome.findings.iter().all(|finding| finding.note.len() < 2000));
}

#[test]
fn cve_2026_3288_the_path_is_quoted_in_its_second_use_too() {
    let rewrite = [("rewrite-target", "/x")];
    let text = served(&[shop(&rewrite, "/a\"b", "ImplementationSpecific")]).server("shop.test").unwrap();
    assert!(text.contains("rewrite "), "{text}");
    for path in ["/a\"b", "/a\" / ; root /etc; #", "/a\\\"", "/(a)\"x"] {
        one_word(path, "ImplementationSpecific", &rewrite);
    }
}

#[test]
fn cve_2026_4342_no_path_is_in_a_comment() {
    let kept = [AUTH_URL, ("auth-keepalive", "8")];
    for annotations in [&kept[..1], &kept] {
        let outcome = served(&[shop(annotations, "/x\nload_module y;", "ImplementationSpecific")]);
        assert_eq!(outcome.server("shop.test"), None);
    }
    let idle = |annotations| {
        let outcome = served(&[shop(annotations, "/", "Prefix")]);
        files(&outcome).values().any(|file| String::from_utf8_lossy(file).contains("keepalive 8;"))
    };
    assert!(idle(&kept) && !idle(&kept[..1]), "the key is served");
    for annotations in [&[][..], &kept[..1], &kept] {
        let text = served(&[shop(annotations, "/visible", "Prefix")]).server("shop.test").unwrap();
        assert!(text.contains("/visible") && !text.contains('#'), "{text}");
    }
}

#[test]
fn cve_2026_42945_a_rewrite_with_a_query_is_the_last_of_its_kind() {
    let vhost = [("rewrite-target", "/x?y=$1"), ("upstream-vhost", "$1.test"), ("proxy-cookie-path", "/ /$1")];
    let prefix = [("rewrite-target", "/x?y=$1"), ("x-forwarded-prefix", "/$1"), ("proxy-redirect-from", "/")];
    let redirect = [("proxy-redirect-to", "/$1/")];
    for annotations in [&vhost[..], &[&prefix[..], &redirect].concat()] {
        let text = served(&[shop(annotations, "/(.*)", "ImplementationSpecific")]).server("shop.test").unwrap();
        let (before, behind) = text.split_once("\"/x?y=$1\" break;").expect("the rewrite is there");
        let rest = behind.split("location").next().unwrap_or_default();
        let is_of_kind = |line: &str| ["set ", "if ", "rewrite ", "return "].iter().any(|name| line.starts_with(name));
        assert!(before.contains("set $") && !rest.lines().map(str::trim).any(is_of_kind), "{text}");
    }
}

#[test]
fn cve_2026_9256_groups_within_groups_are_not_encoded_twice() {
    // nginx encodes captures in redirects and queries, which a rewritten path is not.
    let mut object = shop(&[("use-regex", "true"), ("rewrite-target", "/x/$1$2")], "/((.*))", "ImplementationSpecific");
    let text = served(&[object.clone()]).server("shop.test").unwrap();
    assert!(text.contains("\"/x/$1$2\" break;"), "{text}");
    for (path, target, is_served) in [("/((.*))", "/x?$1$2", false), ("/(.*)/(.*)", "/x?$1$2", true)] {
        let query = shop(&[("use-regex", "true"), ("rewrite-target", target)], path, "ImplementationSpecific");
        let text = served(&[query]).server("shop.test").unwrap_or_default();
        assert_eq!(text.contains(target), is_served, "{path}: {text}");
    }
    for (path, target, is_served) in [
        ("/((.*))", "https://a.test/$1$2", false),
        ("/((.*))", "$scheme://a.test/$1$2", false),
        ("/((.*))", "https://a.test/$1", true),
        ("/(.*)/(.*)", "https://a.test/$2/$1", true),
    ] {
        let redirect = shop(&[("use-regex", "true"), ("rewrite-target", target)], path, "ImplementationSpecific");
        let outcome = served(&[redirect]);
        let text = outcome.server("shop.test").unwrap();
        assert_eq!(text.contains("redirect;"), is_served, "{path} {target}: {text}");
        assert_eq!(about(&outcome, "shop").is_empty(), is_served, "{path} {target}: {:?}", about(&outcome, "shop"));
    }
    // A snippet may have both.
    object["metadata"]["namespace"] = json!(SCRIBES);
    for (target, is_served) in [("/x/$1$2", true), ("https://a.test/$1$2", false), ("/x?$1$2", false)] {
        let snippet = format!("rewrite ^/((.*))$ {target} break;");
        object["metadata"]["annotations"] = json!({format!("{PREFIX}configuration-snippet"): snippet});
        let outcome = served(&[vec![object.clone()], service(SCRIBES, "web", "10.244.9.9").to_vec()].concat());
        assert_eq!(outcome.server("shop.test").is_some(), is_served, "{target}: {:?}", reasons(&outcome, "shop"));
    }
}

#[test]
fn cve_2026_42533_no_table_overwrites_captures_while_a_text_is_made() {
    // nginx measures a text before it writes it, and a table with expressions changes `$1`.
    for (host, is_served) in [("$host", true), ("$best_http_host", false), ("$pass_access_scheme", false)] {
        let mut object = shop(&[], "/", "Prefix");
        let snippet = format!("if ($request_uri ~ ^/x/(.*)$) {{ return 302 https://{host}/$1; }}");
        object["metadata"]["namespace"] = json!(SCRIBES);
        object["metadata"]["annotations"] = json!({format!("{PREFIX}configuration-snippet"): snippet});
        let outcome = served(&[vec![object], service(SCRIBES, "web", "10.244.9.9").to_vec()].concat());
        assert_eq!(outcome.server("shop.test").is_some(), is_served, "{host}: {:?}", about(&outcome, "shop"));
    }
}
