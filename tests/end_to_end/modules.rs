//! Hosts with and without modules that are not part of nginx.

use std::fs;

use serde_json::Value;

use crate::config_map::{config_map, reported, says};
use crate::doctor::Reported;
use rig::client::{Reply, get, post};
use rig::manifests::{Ingress, ingress, service_at};
use rig::status::{notes, reports, serving};
use rig::{ECHO, Rig};

const HEADERS_MORE: &str = "ngx_http_headers_more_filter_module.so";
const BROTLI: &str = "ngx_http_brotli_filter_module.so";
const MODSECURITY: &str = "ngx_http_modsecurity_module.so";
const GEOIP2: &str = "ngx_http_geoip2_module.so";

/// Rules of the administrator: they turn a parameter away, and name nothing that nginx has to
/// open.
const RULES: &str = "SecRuleEngine On\nSecRequestBodyAccess On\nSecAuditEngine Off\n\
    SecRule ARGS:forbidden \"@streq yes\" \"id:1,phase:2,t:none,log,deny,status:403\"\n\
    SecRule ARGS:forbidden \"@streq ours\" \"id:949999,phase:2,t:none,log,deny,status:403\"\n";
const FORBIDDEN: &str = "forbidden=yes";
/// A request that the OWASP rules refuse as cross-site scripting.
const SCRIPT: &str = "q=%3Cscript%3Ealert(1)%3C/script%3E";

fn host(name: &str, class: &str) -> Ingress {
    ingress(name).class(class).host(&format!("{name}.test"), "web")
}

fn guarded(name: &str) -> Ingress {
    host(name, "nginx").annotation("enable-modsecurity", "true")
}

async fn start(rig: &mut Rig, objects: &[Ingress], data: &[(&str, &str)]) {
    let rules = rig.folder().join("rules.conf");
    fs::write(&rules, RULES).unwrap();
    rig.daemon.set("firewall.rules", &format!("[\"{}\"]", rules.display()));
    rig.daemon.set("ingress-nginx.configmap", "default/controller");
    rig.manifests.write("controller.yaml", &[config_map(data)]);
    rig.manifests.write("objects.yaml", &objects.iter().cloned().map(Ingress::build).collect::<Vec<_>>());
    rig.start().await;
}

async fn status(host: &str, query: &str) -> u16 {
    get(&format!("http://{host}?{query}")).header("User-Agent", "test").header("Accept", "*/*").send().await.status
}

async fn server(url: &str) -> Option<String> {
    get(url).send().await.header("server").map(str::to_owned)
}

#[test]
fn stock_nginx_serves_what_it_can_and_closes_what_nobody_would_protect() {
    rig::run(async |rig| {
        let objects = [
            host("plain", "nginx"),
            guarded("guarded"),
            host("own", "ingressd").annotation("enable-owasp-core-rules", "true"),
        ];
        start(rig, &objects, &[("enable-brotli", "true")]).await;
        let reply = get("http://plain.test/").header("Accept-Encoding", "br").send().await;
        assert_eq!(
            (reply.status, reply.header("content-encoding"), reply.header("server")),
            (200, None, Some("nginx"))
        );
        for name in ["guarded", "own"] {
            assert_eq!(status(&format!("{name}.test/"), "").await, 503, "{name}");
        }
        reported(rig, &["MissingCapability"]).await;
        let about = |status: &Value, name: &str, reason: &str| notes(status, name, reason).join("\n");
        let now = rig.daemon.status().await.unwrap();
        assert!(
            about(&now, "ConfigMap controller", "MissingCapability").contains("libnginx-mod-http-brotli-filter"),
            "{now}"
        );
        assert!(about(&now, "Ingress guarded", "ClosedRoute").contains("libnginx-mod-http-modsecurity"), "{now}");
        says(rig, &[("enable-brotli", "false")]);
        reported(rig, &[]).await;
    });
}

/// What docs/modules.md says of each: its name, the package, and what the doctor says where it is
/// missing.
const MODULES: [(&str, &str, &str, &str); 4] = [
    (HEADERS_MORE, "libnginx-mod-http-headers-more-filter", "note", "tell that nginx serves them"),
    (BROTLI, "libnginx-mod-http-brotli-filter", "warning", "do not compress answers by Brotli"),
    (MODSECURITY, "libnginx-mod-http-modsecurity", "error", "answer 503 where they ask for a firewall"),
    (GEOIP2, "libnginx-mod-http-geoip2", "warning", "are told nothing of where clients are"),
];

#[test]
fn the_doctor_names_the_package_of_each_module_that_is_asked_for_until_it_is_there() {
    rig::run(async |rig| {
        let database = rig.folder().join("GeoLite2-Country.mmdb");
        fs::write(&database, countries()).unwrap();
        rig.daemon.set("geoip2.databases", &format!("[\"{}\"]", database.display()));
        let asks = [("enable-brotli", "true"), ("use-geoip2", "true"), ("log-format-upstream", "$geoip2_country_code")];
        start(rig, &[host("plain", "nginx"), guarded("guarded")], &asks).await;
        let rules = rig.folder().join("rules.conf").display().to_string();
        let doctor = || {
            let mut command = rig.daemon.command("doctor");
            command.args(["nginx-modules", "--set", "ingress-nginx.configmap=default/controller", "--set"]);
            command.arg(format!("geoip2.databases=[\"{}\"]", database.display())).arg("--set");
            command.arg(format!("firewall.rules=[\"{rules}\"]"));
            Reported::by(command)
        };
        let reported = doctor();
        for (module, package, level, without) in MODULES {
            reported.expect("nginx-modules", level, without);
            reported.expect("nginx-modules", level, package);
            let page = include_str!("../../docs/modules.md");
            assert!(page.contains(&format!("| `{package}` |")), "{package} is not in docs/modules.md");
            let name = module.trim_end_matches(".so").trim_end_matches("_module");
            reported.expect("nginx-modules", level, name);
        }
        rig.nginx.load_modules(&MODULES.map(|(module, ..)| module));
        let reported = doctor();
        assert_eq!(
            (reported.checks_at("error"), reported.checks_at("warning")),
            (vec![], vec![]),
            "{:#}",
            reported.json
        );
        assert!(!reported.json.to_string().contains("libnginx-mod-http-"), "{:#}", reported.json);
    });
}

#[test]
fn nginx_is_named_nowhere_and_answers_are_smaller_where_modules_do_that() {
    rig::run(async |rig| {
        rig.nginx.load_modules(&[HEADERS_MORE, BROTLI]);
        let objects =
            [host("plain", "nginx"), host("own", "ingressd"), host("cors", "nginx").annotation("enable-cors", "true")];
        let brotli = [
            ("enable-brotli", "true"),
            ("brotli-min-length", "1"),
            ("brotli-level", "11"),
            ("brotli-types", "application/json text/plain"),
            ("use-gzip", "true"),
        ];
        start(rig, &objects, &brotli).await;
        for (url, expected) in [
            ("http://plain.test/", None),
            ("http://plain.test/?header=Server:mine", None),
            ("http://cors.test/", None),
            ("http://own.test/", Some("nginx")),
        ] {
            assert_eq!(server(url).await.as_deref(), expected, "{url}");
        }
        // Answers of nginx itself have it, too.
        let refused = get("http://plain.test/").header("Content-Length", "x").send().await;
        assert_eq!((refused.status, refused.header("server").is_some()), (400, false));
        for host in ["plain", "own"] {
            let url = format!("http://{host}.test/");
            let size = get(&url).send().await.body.len();
            let reply = get(&url).header("Accept-Encoding", "gzip, br").send().await;
            assert_eq!(reply.header("content-encoding"), Some("br"), "{host}");
            assert!(!reply.body.is_empty() && reply.body.len() < size, "{} of {size}", reply.body.len());
            let reply = get(&url).header("Accept-Encoding", "gzip").send().await;
            assert_eq!(reply.header("content-encoding"), Some("gzip"), "{host}");
        }
        reported(rig, &[]).await;
        // Only answers of the types that are listed.
        says(rig, &[("enable-brotli", "true"), ("brotli-min-length", "1"), ("brotli-types", "text/css")]);
        let answer =
            |kind: &str| get(&format!("http://plain.test/?header=Content-Type:{kind}")).header("Accept-Encoding", "br");
        let is_plain = |reply: &Reply| reply.header("content-encoding").is_none();
        answer("application/json").send_until("an answer as it is", is_plain).await;
        assert_eq!(answer("text/css").send().await.header("content-encoding"), Some("br"));
        says(rig, &[("server-tokens", "true"), ("brotli-level", "12"), ("enable-brotli", "yes")]);
        reported(rig, &["InvalidValue", "InvalidValue"]).await;
        get("http://plain.test/")
            .send_until("the header Server", |reply| reply.header("server") == Some("nginx"))
            .await;
        let reply = get("http://plain.test/").header("Accept-Encoding", "br").send().await;
        assert_eq!(reply.header("content-encoding"), None);
        // The header of a backend that may name itself stays.
        says(rig, &[("allow-backend-server-header", "true")]);
        let named = |reply: &Reply| reply.header("server") == Some("mine");
        get("http://plain.test/?header=Server:mine").send_until("the backend's own header", named).await;
    });
}

#[test]
fn a_firewall_reads_the_requests_of_hosts_that_ask_for_it() {
    rig::run(async |rig| {
        rig.nginx.load_modules(&[MODSECURITY]);
        let shared = |name: &str| {
            ingress(name).class("nginx").annotation("enable-modsecurity", "true").path(
                "mixed.test",
                "Prefix",
                &format!("/{name}"),
                "web",
            )
        };
        let objects = [
            host("plain", "nginx"),
            guarded("guarded").annotation("modsecurity-transaction-id", "shop-$request_method"),
            host("core", "nginx").annotation("enable-owasp-core-rules", "true"),
            shared("some"),
            shared("all").annotation("enable-owasp-core-rules", "true"),
            ingress("none").class("nginx").path("mixed.test", "Prefix", "/none", "web"),
            guarded("detecting").annotation("modsecurity-snippet", "SecRuleEngine DetectionOnly"),
            guarded("without").annotation("modsecurity-snippet", "# ours\nSecRuleRemoveById 1"),
            guarded("refused").annotation("modsecurity-snippet", "SecRule ARGS \"@rx .\" \"id:2,deny\""),
        ];
        start(rig, &objects, &[]).await;
        for (host, of_ours, of_owasp) in [
            ("plain.test/", 200, 200),
            ("guarded.test/", 403, 200),
            ("core.test/", 403, 403),
            ("mixed.test/some", 403, 200),
            ("mixed.test/all", 403, 403),
            ("mixed.test/none", 200, 200),
            ("detecting.test/", 200, 200),
            ("without.test/", 200, 200),
            // The object is not served, so the host is unknown.
            ("refused.test/", 404, 404),
        ] {
            assert_eq!(status(host, "forbidden=no").await, if of_ours == 404 { 404 } else { 200 }, "{host}");
            assert_eq!((status(host, FORBIDDEN).await, status(host, SCRIPT).await), (of_ours, of_owasp), "{host}");
            // A rule of the administrator counts whatever its number is, and whoever else on the
            // host asks for the rules of OWASP.
            let of_any_number = if host == "without.test/" { 403 } else { of_ours };
            assert_eq!(status(host, "forbidden=ours").await, of_any_number, "{host}");
        }
        let form = "application/x-www-form-urlencoded";
        for (host, expected) in [("plain", 200), ("guarded", 403)] {
            let body = post(&format!("http://{host}.test/"), FORBIDDEN.to_owned()).header("Content-Type", form);
            assert_eq!(body.send().await.status, expected, "{host}");
        }
        assert!(rig.nginx.error_log().contains("[unique_id \"shop-GET\"]"), "{}", rig.nginx.error_log());
        // For all hosts the rules are read once.
        let file = rig.daemon.root().join("current/http/10-firewall.conf");
        assert!(!file.exists());
        says(rig, &[("enable-modsecurity", "true"), ("modsecurity-snippet", "SecRuleEngine On")]);
        get(&format!("http://plain.test/?{FORBIDDEN}"))
            .send_until("a firewall for all", |reply| reply.status == 403)
            .await;
        assert!(file.exists());
        assert_eq!((status("plain.test/", SCRIPT).await, status("core.test/", SCRIPT).await), (200, 403));
        assert_eq!(status("mixed.test/none", FORBIDDEN).await, 403);
        reported(rig, &[]).await;
        says(rig, &[("enable-modsecurity", "true"), ("enable-owasp-modsecurity-crs", "true")]);
        get(&format!("http://plain.test/?{SCRIPT}"))
            .send_until("the rules of OWASP", |reply| reply.status == 403)
            .await;
        // A value that protects cannot be read, so the earlier value stays in force.
        says(rig, &[("enable-modsecurity", "perhaps")]);
        reported(rig, &["InvalidSecurityValue"]).await;
        assert_eq!(status("plain.test/", SCRIPT).await, 403);
    });
}

/// A database by which addresses below 128.0.0.0 are in Germany and all others are not.
fn countries() -> Vec<u8> {
    let text = |text: &str| [&[0x40 | u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let map = |entries: &[(&str, Vec<u8>)]| {
        let inner = entries.iter().flat_map(|(key, value)| [text(key), value.clone()].concat());
        std::iter::once(0xe0 | u8::try_from(entries.len()).unwrap()).chain(inner).collect::<Vec<u8>>()
    };
    let place = |code: &str, name: &str| {
        let names = map(&[("en", text(name))]);
        map(&[("country", map(&[("iso_code", text(code)), ("names", names)]))])
    };
    let (german, other) = (place("DE", "Germany"), place("US", "United States"));
    // One node: what it refers to lies behind it and sixteen zeros.
    let record = |offset: usize| u32::try_from(1 + 16 + offset).unwrap().to_be_bytes()[1..].to_vec();
    let metadata = map(&[
        ("binary_format_major_version", vec![0xa1, 2]),
        ("binary_format_minor_version", vec![0xa0]),
        ("build_epoch", vec![0x01, 0x02, 1]),
        ("database_type", text("GeoLite2-Country")),
        ("description", map(&[])),
        ("ip_version", vec![0xa1, 4]),
        ("languages", vec![0x00, 0x04]),
        ("node_count", vec![0xc1, 1]),
        ("record_size", vec![0xa1, 24]),
    ]);
    let mark = b"\xab\xcd\xefMaxMind.com".to_vec();
    [record(0), record(german.len()), vec![0; 16], german, other, mark, metadata].concat()
}

#[test]
fn databases_locate_clients_and_a_missing_one_lets_no_client_pass() {
    rig::run(async |rig| {
        rig.nginx.load_modules(&[GEOIP2]);
        let file = rig.folder().join("GeoLite2-Country.mmdb");
        fs::write(&file, countries()).unwrap();
        rig.daemon.set("geoip2.databases", &format!("[\"{}\"]", file.display()));
        rig.daemon.set("access.trusted-proxies", "127.0.0.0/8");
        rig.daemon
            .set("snippets.allowed", "[{namespaces = ['default'], kinds = ['http-snippet', 'configuration-snippet']}]");
        let reported_by = |name: &str, snippet: &str| host(name, "nginx").annotation("configuration-snippet", snippet);
        let objects = [
            host("plain", "nginx"),
            reported_by("table", "if ($may_pass = no) { return 403; }"),
            reported_by("direct", "if ($geoip2_country_code != DE) { return 403; }"),
            reported_by("header", "add_header X-Where \"$geoip2_country_name/$geoip2_asn\" always;"),
        ];
        let named = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "requests"},
            "data": {"X-Country": "$geoip2_country_code"}});
        rig.manifests.write("requests.yaml", &[named]);
        let with = |is_on: &'static str| {
            [
                ("use-geoip2", is_on),
                ("geoip2-autoreload-in-minutes", "5"),
                ("proxy-set-headers", "default/requests"),
                ("log-format-upstream", "$request_uri is of $geoip2_country_code"),
                ("http-snippet", "map $geoip2_country_code $may_pass { default no; DE yes; }"),
            ]
        };
        start(rig, &objects, &with("true")).await;
        reported(rig, &[]).await;
        let asked = async |host: &str, from: &str| {
            get(&format!("http://{host}.test/{host}")).header("X-Forwarded-For", from).send().await
        };
        let (german, other) = ("5.6.7.8", "203.0.113.9");
        for (host, of_german, of_other) in
            [("plain", 200, 200), ("table", 200, 403), ("direct", 200, 403), ("header", 200, 200)]
        {
            for (from, expected) in [(german, of_german), (other, of_other)] {
                assert_eq!(asked(host, from).await.status, expected, "{host} {from}");
            }
        }
        for (from, code, name) in [(german, "DE", "Germany/"), (other, "US", "United States/")] {
            assert_eq!(asked("plain", from).await.echo().header("x-country"), Some(code));
            assert_eq!(asked("header", from).await.header("x-where"), Some(name));
        }
        let log = || fs::read_to_string(rig.nginx.prefix().join("log/access.log")).unwrap_or_default();
        let is_logged = |text: &String| text.contains("/header is of US\n");
        rig::wait::until_right("the country in the log", async || log(), is_logged).await;
        let file = fs::read_to_string(rig.daemon.root().join("current/http/05-geoip2.conf")).unwrap();
        assert!(file.contains("auto_reload 300s;") && file.contains("geo $ingressd_geoip2_asn {"), "{file}");
        let host_is_reported = |status: &Value| {
            status["findings"].as_array().unwrap().iter().any(|finding| {
                finding["reason"] == "MissingCapability" && finding["note"].as_str().unwrap().contains("$geoip2_asn")
            })
        };
        rig.daemon.status_when("the database that is not there", host_is_reported).await;
        // Without it a snippet would admit all clients or none.
        says(rig, &with("false"));
        get("http://table.test/").send_until("nobody to pass", |reply| reply.status == 503).await;
        for (host, expected) in [("plain", 200), ("direct", 503), ("header", 200)] {
            assert_eq!(asked(host, german).await.status, expected, "{host}");
        }
        assert_eq!(asked("plain", german).await.echo().header("x-country"), None);
        let is_closed = |status: &Value| {
            notes(status, "Ingress direct", "ClosedRoute").join("").contains("no database on this node provides")
        };
        rig.daemon.status_when("why the route is closed", is_closed).await;
        // A host that asks for none of this costs nothing more.
        says(rig, &[("use-geoip2", "true")]);
        rig.manifests.write("objects.yaml", &[host("plain", "nginx").build()]);
        let is_gone = || !rig.daemon.root().join("current/http/05-geoip2.conf").exists();
        rig::wait::until("no database to be read", async || is_gone().then_some(())).await;
    });
}

#[test]
fn an_upgraded_package_whose_master_still_runs_is_reported_and_changes_go_on() {
    rig::run(async |rig| {
        rig.nginx.replace_program();
        rig.nginx.start();
        let program = rig.nginx.prefix().join("nginx");
        rig.daemon.set("nginx.binary", program.to_str().unwrap());
        rig.manifests.write("service.yaml", &service_at("web", &["10.244.0.2"], ECHO));
        rig.manifests.write("web.yaml", &[ingress("web").host("web.example", "web").build()]);
        rig.daemon.start();
        get("http://web.example/").send_until("the object", |reply| reply.status == 200).await;
        rig.nginx.wrap_program(
            "#!/bin/sh\ncase \"$*\" in\n-v | -V) {nginx} -V 2>&1 | sed 's|nginx/[0-9.]*|nginx/1.999.0|' >&2 ;;\n\
             *) exec {nginx} \"$@\" ;;\nesac\n",
        );
        let reported = |status: &Value| reports(status, "Host nginx", "MissingCapability");
        let status = rig.daemon.status_when("the finding", reported).await;
        let note = &notes(&status, "Host nginx", "MissingCapability")[0];
        assert!(note.contains("nginx 1.999.0 is installed") && note.contains("systemctl restart nginx`"), "{note}");
        rig.manifests.write("web.yaml", &[ingress("web").host("other.example", "web").build()]);
        get("http://other.example/").send_until("a change", |reply| reply.status == 200).await;
        rig.nginx.replace_program();
        // It is seen at the next look.
        rig.daemon.status_when("no finding", |status| serving(status).is_some() && !reported(status)).await;
    });
}
