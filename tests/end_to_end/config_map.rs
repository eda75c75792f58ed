//! The ConfigMap of an ingress-nginx, through the real nginx.

use serde_json::{Value, json};

use rig::Rig;
use rig::client::{Reply, get, post};
use rig::manifests::{ingress, tls_secret};
use rig::status::serving;

const NAME: &str = "controller";

pub fn config_map(data: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<_, _> = data.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": NAME }, "data": data })
}

pub fn says(rig: &Rig, data: &[(&str, &str)]) {
    rig.manifests.write("controller.yaml", &[config_map(data)]);
}

/// Waits until the ConfigMap has findings with these reasons and no others.
pub async fn reported(rig: &mut Rig, expected: &[&str]) {
    let right = |status: &Value| {
        let findings = status["findings"].as_array().into_iter().flatten();
        let own = findings.filter(|finding| finding["kind"] == "ConfigMap" && finding["name"] == NAME);
        let mut reasons: Vec<_> = own.filter_map(|finding| finding["reason"].as_str()).collect();
        reasons.sort_unstable();
        reasons == expected
    };
    rig.daemon.status_when(&format!("the findings {expected:?}"), right).await;
}

async fn until(url: &str, status: u16) {
    get(url).send_until(&format!("{status} of {url}"), |reply| reply.status == status).await;
}

async fn start(rig: &mut Rig, data: &[(&str, &str)]) {
    rig.daemon.set("ingress-nginx.configmap", "default/controller");
    let own = ingress("own").class("nginx").host("own.test", "web").annotation("proxy-body-size", "1k");
    let own = own.annotation("allowlist-source-range", "127.0.0.0/8");
    let secure = ingress("secure").class("nginx").host("secure.test", "web").tls(&["secure.test"], "cert");
    let objects = [
        ingress("plain").class("nginx").host("plain.test", "web").build(),
        ingress("specification").host("specification.test", "web").build(),
        own.build(),
        secure.build(),
        tls_secret("cert", &["secure.test"]),
        config_map(data),
    ];
    rig.manifests.write("objects.yaml", &objects[..5]);
    rig.manifests.write("controller.yaml", &objects[5..]);
    rig.start().await;
}

async fn status_of(url: &str, body: usize) -> u16 {
    post(url, vec![b'x'; body]).send().await.status
}

/// The lines of everything that nginx reads.
pub fn lines(rig: &Rig) -> Vec<String> {
    let folders = ["http", "stream"].map(|folder| rig.daemon.root().join("current").join(folder));
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()).collect()
}

#[test]
fn annotations_go_before_the_config_map_and_that_before_settings() {
    rig::run(async |rig| {
        rig.daemon.set("tls.redirect-status", "302");
        start(rig, &[("proxy-body-size", "2k"), ("http-redirect-code", "307")]).await;
        for (host, most) in [("plain.test", 2048), ("specification.test", 2048), ("own.test", 1024)] {
            let url = format!("http://{host}/");
            assert_eq!(status_of(&url, most).await, 200, "{host}");
            assert_eq!(status_of(&url, most + 1).await, 413, "{host}");
        }
        assert_eq!(get("http://secure.test/").send().await.status, 307);
        let reloads = rig.daemon.reloads().await;
        says(rig, &[("proxy-body-size", "4k")]);
        until("http://secure.test/", 302).await;
        let larger = post("http://plain.test/", vec![b'x'; 4096]);
        larger.send_until("the new size", |reply| reply.status == 200).await;
        // nginx serves the change before the daemon has seen that and has counted it.
        rig.daemon.status_when("the confirmed generation", |status| serving(status) == Some(2)).await;
        assert_eq!(rig.daemon.reloads().await, reloads + 1, "a change of several keys is one reload");
        rig.manifests.remove("controller.yaml");
        reported(rig, &["MissingConfigMap"]).await;
        // Without the ConfigMap a protection would be missing, so its last good version goes on
        // counting.
        assert_eq!(status_of("http://plain.test/", 4096).await, 200);
        assert_eq!(status_of("http://plain.test/", 4097).await, 413);
        says(rig, &[]);
        let large = post("http://plain.test/", vec![b'x'; 1 << 19]);
        large.send_until("the built-in size", |reply| reply.status == 200).await;
    });
}

#[test]
fn every_server_says_what_it_says_about_clients() {
    rig::run(async |rig| {
        start(
            rig,
            &[("keep-alive", "0"), ("large-client-header-buffers", "2 1k"), ("client-header-buffer-size", "1k")],
        )
        .await;
        for host in ["plain.test", "specification.test", "unknown.test"] {
            let url = format!("http://{host}/");
            let reply = get(&url).send().await;
            assert_eq!(reply.header("connection"), Some("close"), "{host}");
            let long = get(&url).header("X-Long", &"x".repeat(1500)).send().await;
            assert_eq!(long.status, 400, "{host}");
        }
        says(rig, &[]);
        let long = get("http://plain.test/").header("X-Long", &"x".repeat(1500));
        long.send_until("the built-in buffers", |reply| reply.status == 200).await;
    });
}

#[test]
fn what_cannot_be_used_harms_nobody_and_never_opens() {
    rig::run(async |rig| {
        start(
            rig,
            &[("whitelist-source-range", "192.0.2.0/24"), ("proxy-bodysize", "1m"), ("proxy-body-size", "huge")],
        )
        .await;
        assert_eq!(get("http://plain.test/").send().await.status, 403);
        assert_eq!(get("http://own.test/").send().await.status, 200, "its own list goes before");
        reported(rig, &["InvalidValue", "UnknownKey"]).await;
        // A value that protects has a mistake, so the last good version goes on counting.
        says(rig, &[("whitelist-source-range", "192.0.2.0/24, oops"), ("proxy-body-size", "3k")]);
        reported(rig, &["InvalidSecurityValue"]).await;
        assert_eq!(get("http://plain.test/").send().await.status, 403);
        says(rig, &[("whitelist-source-range", "192.0.2.0/24, 127.0.0.1")]);
        until("http://plain.test/", 200).await;
        reported(rig, &[]).await;
    });
}

#[test]
fn what_protects_and_never_was_good_closes() {
    rig::run(async |rig| {
        start(rig, &[("denylist-source-range", "oops")]).await;
        assert_eq!(get("http://plain.test/").send().await.status, 503);
        assert_eq!(get("http://own.test/").send().await.status, 503);
        says(rig, &[("denylist-source-range", "192.0.2.0/24")]);
        until("http://plain.test/", 200).await;
    });
}

#[test]
fn values_are_never_configuration() {
    rig::run(async |rig| {
        let hostile = "1m; } location /x { return 200 pwned; } #";
        let keys = [
            "proxy-body-size",
            "keep-alive",
            "large-client-header-buffers",
            "hsts-max-age",
            "bind-address",
            "http-snippet",
        ];
        let data: Vec<_> = keys.iter().map(|key| (*key, hostile)).collect();
        start(rig, &data).await;
        assert_eq!(get("http://plain.test/x").send().await.status, 200);
        assert!(!get("http://plain.test/x").send().await.text().contains("pwned"));
        let all = ["InvalidValue", "InvalidValue", "InvalidValue", "InvalidValue", "InvalidValue", "UnsupportedKey"];
        reported(rig, &all).await;
    });
}

#[test]
fn tls_is_spoken_as_it_says_and_ciphers_that_do_not_exist_harm_nobody() {
    rig::run(async |rig| {
        start(rig, &[]).await;
        let version = async || get("https://secure.test/").send().await.peer.map(|peer| peer.version);
        assert_eq!(version().await.as_deref(), Some("TLSv1_3"));
        says(rig, &[("ssl-protocols", "TLSv1.2"), ("ssl-ciphers", "ECDHE-ECDSA-AES128-GCM-SHA256")]);
        let older = |reply: &Reply| reply.peer.as_ref().is_some_and(|peer| peer.version == "TLSv1_2");
        let reply = get("https://secure.test/").send_until("TLS 1.2", older).await;
        assert_eq!(reply.peer.map(|peer| peer.cipher), Some("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256".to_owned()));
        // Only OpenSSL knows ciphers: the last good version goes on counting, and everybody is
        // served.
        says(rig, &[("ssl-ciphers", "NO-SUCH-CIPHER"), ("proxy-body-size", "1k")]);
        reported(rig, &["Quarantined"]).await;
        assert_eq!(version().await.as_deref(), Some("TLSv1_2"));
        assert_eq!(status_of("http://plain.test/", 2048).await, 200);
        rig.manifests.write("later.yaml", &[ingress("later").class("nginx").host("later.test", "web").build()]);
        until("http://later.test/", 200).await;
    });
}

#[test]
fn a_real_address_counts_and_nothing_else_unless_headers_are_trusted() {
    rig::run(async |rig| {
        let proxies = ("proxy-real-ip-cidr", "127.0.0.0/8");
        start(rig, &[("enable-real-ip", "true"), proxies]).await;
        let reported = |url: &str| {
            let request = get(url).header("X-Forwarded-For", "192.0.2.7").header("X-Forwarded-Proto", "https");
            request.header("X-Forwarded-Host", "other.test").header("X-Forwarded-Port", "8443")
        };
        let reply = reported("http://plain.test/").send().await;
        let headers = ["x-real-ip", "x-forwarded-for", "host", "x-forwarded-proto", "x-forwarded-port"];
        let seen = |reply: &Reply| headers.map(|name| reply.echo().header(name).unwrap_or_default().to_owned());
        assert_eq!(seen(&reply), ["192.0.2.7", "192.0.2.7", "plain.test", "http", "80"]);
        assert_eq!(reported("http://own.test/").send().await.status, 403, "its list of clients sees the real address");
        assert_eq!(reported("http://secure.test/").send().await.status, 308, "nobody says that it came by https");
        says(rig, &[("use-forwarded-headers", "true"), ("enable-real-ip", "true"), proxies]);
        reported("http://secure.test/").send_until("headers to be trusted", |reply| reply.status == 200).await;
        let reply = reported("http://plain.test/").send().await;
        assert_eq!(seen(&reply), ["192.0.2.7", "192.0.2.7", "other.test", "https", "8443"]);
    });
}
