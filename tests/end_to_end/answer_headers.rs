//! Headers of responses that objects set by a ConfigMap, through the real nginx.

use serde_json::{Value, json};

use crate::config_map::says;
use rig::Rig;
use rig::client::{Reply, get, grpc_check};
use rig::manifests::{Ingress, in_namespace, ingress, tls_secret};
use rig::status::reports;

/// The headers that the administrator allows objects to set.
const ALLOWED: &str = "x-frame-options, Cache-Control, Strict-Transport-Security, Set-Cookie, Content-Type";

fn headers(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn host(name: &str, config_map: &str) -> Ingress {
    let host = format!("{name}.test");
    ingress(name).class("nginx").host(&host, "web").annotation("custom-headers", config_map)
}

fn allows(rig: &Rig, names: &str) {
    says(rig, &[("global-allowed-response-headers", names), ("add-headers", "default/everybody")]);
}

async fn until(url: &str, what: &str, is_right: impl Fn(&Reply) -> bool) {
    get(url).send_until(what, is_right).await;
}

#[test]
fn headers_of_an_object_take_the_place_of_all_others() {
    rig::run(async |rig| {
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        allows(rig, ALLOWED);
        let own = json!({"X-Frame-Options": "DENY", "Cache-Control": "no-store; $host \"x\"", "Set-Cookie": "a=b"});
        rig.manifests.write("own.yaml", &[headers("own", &own)]);
        let bad = [
            ("unlisted", json!({"X-Frame-Options": "DENY", "X-Other": "1"}), "InvalidSecurityValue"),
            ("of-nginx", json!({"Content-Type": "text/plain"}), "InvalidSecurityValue"),
            ("split", json!({"X-Frame-Options": "DENY\r\nX-Evil: 1"}), "InvalidSecurityValue"),
        ];
        let secure = host("secure", "hsts").tls(&["secure.test"], "cert").annotation("ssl-redirect", "false");
        let mut objects = vec![
            tls_secret("cert", &["secure.test"]),
            headers("hsts", &json!({"Strict-Transport-Security": "max-age=1"})),
            headers("everybody", &json!({"X-Frame-Options": "SAMEORIGIN", "X-All": "yes"})),
            host("own", "own").build(),
            host("cors", "default/own").annotation("enable-cors", "true").annotation("affinity", "cookie").build(),
            host("grpc", "own").annotation("backend-protocol", "GRPC").build(),
            host("moved", "own").annotation("permanent-redirect", "https://elsewhere.test/").build(),
            secure.build(),
            ingress("plain").class("nginx").host("plain.test", "web").build(),
            host("absent", "absent").build(),
            in_namespace("other", headers("own", &own)),
            host("foreign", "other/own").build(),
            host("odd", "../own").build(),
        ];
        for (name, data, _) in &bad {
            objects.extend([headers(name, data), host(name, name).build()]);
        }
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;

        let query = "?header=X-Frame-Options:ALLOW&header=Cache-Control:public&header=Set-Cookie:c%3Dd";
        for (name, cookies) in [("own", 2), ("cors", 3)] {
            let reply = get(&format!("http://{name}.test/{query}")).header("Origin", "http://other.test").send().await;
            assert_eq!(reply.status, 200, "{name}");
            for (header, value) in
                [("x-frame-options", "DENY"), ("cache-control", "no-store; $host \"x\""), ("x-all", "yes")]
            {
                let values: Vec<_> = reply.headers.get_all(header).iter().collect();
                assert_eq!(values, [value], "{name} {header}");
            }
            assert_eq!(reply.headers.get_all("set-cookie").iter().count(), cookies, "{name}: {reply:?}");
        }
        let reply = grpc_check("https://grpc.test").send().await;
        assert_eq!((reply.status, reply.header("x-frame-options")), (200, Some("DENY")));
        // The headers are set on responses of backends and of nginx.
        let reply = get("http://moved.test/").send().await;
        assert_eq!((reply.status, reply.header("x-frame-options")), (301, Some("DENY")));
        let reply = get("https://secure.test/").send().await;
        let policies: Vec<_> = reply.headers.get_all("strict-transport-security").iter().collect();
        assert_eq!(policies, ["max-age=1"]);
        let reply = get(&format!("http://plain.test/{query}")).send().await;
        assert_eq!(
            (reply.header("x-frame-options"), reply.header("cache-control")),
            (Some("SAMEORIGIN"), Some("public"))
        );

        let others = [("absent", "MissingConfigMap"), ("foreign", "CrossNamespace"), ("odd", "InvalidSecurityValue")];
        for (name, reason) in bad.iter().map(|(name, _, reason)| (*name, *reason)).chain(others) {
            let reply = get(&format!("http://{name}.test/")).send().await;
            assert_eq!((reply.status, reply.header("x-evil")), (503, None), "{name}");
            rig.daemon.status_when(name, |status| reports(status, &format!("Ingress {name}"), reason)).await;
        }

        // The object does not change.
        rig.manifests.write("own.yaml", &[headers("own", &json!({"X-Frame-Options": "SAMEORIGIN"}))]);
        until("http://own.test/", "the other value alone", |reply| {
            reply.header("x-frame-options") == Some("SAMEORIGIN") && reply.header("cache-control").is_none()
        })
        .await;
        allows(rig, "Cache-Control");
        until("http://own.test/", "what is not allowed any more", |reply| reply.status == 503).await;
        assert_eq!(get("http://plain.test/").send().await.status, 200);
        // Once it is told, no worker of the generation before answers, whose answer would pass for
        // that of the list below.
        let is_closed = |status: &Value| reports(status, "Ingress own", "InvalidSecurityValue");
        rig.daemon.status_when("what is not allowed to be told", is_closed).await;
        // The list has a mistake, so the last good one counts.
        allows(rig, ALLOWED);
        until("http://own.test/", "what is allowed again", |reply| reply.status == 200).await;
        // It is the last good version once the generation is confirmed, which is after nginx
        // answers.
        let is_open = |status: &Value| !reports(status, "Ingress own", "InvalidSecurityValue");
        rig.daemon.status_when("what is allowed to be on record", is_open).await;
        allows(rig, "X Y");
        let reported = |status: &Value| reports(status, "ConfigMap controller", "InvalidValue");
        rig.daemon.status_when("the mistake to be told", reported).await;
        assert_eq!(get("http://own.test/").send().await.status, 200);
        rig.manifests.remove("own.yaml");
        until("http://own.test/", "that it is missing", |reply| reply.status == 503).await;
        rig.manifests.write("own.yaml", &[headers("own", &json!({}))]);
        until("http://own.test/", "that nothing is asked for", |reply| reply.status == 200).await;
    });
}
