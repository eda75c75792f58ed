//! What modules that are not part of nginx do for hosts, and what hosts are without them; these tests must not know how they are told.

use std::fs;

use serde_json::Value;

use crate::config_map::{config_map, says, told};
use crate::rig::client::{Reply, get, post};
use crate::rig::manifests::{Ingress, ingress};
use crate::rig::status::notes;
use crate::rig::{self, Rig};

const HEADERS_MORE: &str = "ngx_http_headers_more_filter_module.so";
const BROTLI: &str = "ngx_http_brotli_filter_module.so";
const MODSECURITY: &str = "ngx_http_modsecurity_module.so";

/// Rules of the administrator: they turn a parameter away, and name nothing that nginx has to open.
const RULES: &str = "SecRuleEngine On\nSecRequestBodyAccess On\nSecAuditEngine Off\n\
    SecRule ARGS:forbidden \"@streq yes\" \"id:1,phase:2,t:none,log,deny,status:403\"\n";
const FORBIDDEN: &str = "forbidden=yes";
/// What the rules of OWASP take for cross-site scripting.
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
        told(rig, &["MissingCapability"]).await;
        let about = |status: &Value, name: &str, reason: &str| notes(status, name, reason).join("\n");
        let now = rig.daemon.status().await.unwrap();
        assert!(
            about(&now, "ConfigMap controller", "MissingCapability").contains("libnginx-mod-http-brotli-filter"),
            "{now}"
        );
        assert!(about(&now, "Ingress guarded", "ClosedRoute").contains("libnginx-mod-http-modsecurity"), "{now}");
        says(rig, &[("enable-brotli", "false")]);
        told(rig, &[]).await;
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
        // What nginx says itself, too.
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
        told(rig, &[]).await;
        says(rig, &[("server-tokens", "true"), ("brotli-level", "12"), ("enable-brotli", "yes")]);
        told(rig, &["InvalidValue", "InvalidValue"]).await;
        get("http://plain.test/")
            .send_until("the header Server", |reply| reply.header("server") == Some("nginx"))
            .await;
        let reply = get("http://plain.test/").header("Accept-Encoding", "br").send().await;
        assert_eq!(reply.header("content-encoding"), None);
        // A backend that may name itself is not silenced.
        says(rig, &[("allow-backend-server-header", "true")]);
        let named = |reply: &Reply| reply.header("server") == Some("mine");
        get("http://plain.test/?header=Server:mine").send_until("the backend's own header", named).await;
    });
}

#[test]
fn a_firewall_looks_into_requests_of_whoever_asks_for_it() {
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
            // The object is not used, so that nobody has the host.
            ("refused.test/", 404, 404),
        ] {
            assert_eq!(status(host, "forbidden=no").await, if of_ours == 404 { 404 } else { 200 }, "{host}");
            assert_eq!((status(host, FORBIDDEN).await, status(host, SCRIPT).await), (of_ours, of_owasp), "{host}");
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
        told(rig, &[]).await;
        says(rig, &[("enable-modsecurity", "true"), ("enable-owasp-modsecurity-crs", "true")]);
        get(&format!("http://plain.test/?{SCRIPT}"))
            .send_until("the rules of OWASP", |reply| reply.status == 403)
            .await;
        // What protects and cannot be read: what counted before counts on.
        says(rig, &[("enable-modsecurity", "perhaps")]);
        told(rig, &["InvalidSecurityValue"]).await;
        assert_eq!(status("plain.test/", SCRIPT).await, 403);
    });
}
