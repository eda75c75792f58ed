//! Other sites of the same nginx and hosts of the cluster do not affect each other.

use std::fmt::Write as _;
use std::fs;
use std::sync::mpsc;

use serde_json::Value;

use rig::client::{self, Reply, Request, get, grpc_check, post};
use rig::manifests::{ingress, service_at, tls_secret};
use rig::status::{notes, quarantined};
use rig::{ECHO, Rig};

/// Directives that an administrator sets at `http` level, which hosts of the cluster inherit.
const HOST: &str = r#"
    server_names_hash_bucket_size 64;
    map_hash_bucket_size 128;
    map_hash_max_size 4096;
    proxy_set_header X-Host yes;
    add_header X-Site host always;
    ssl_session_cache shared:host:1m;
    proxy_buffering off;
    limit_req_zone $binary_remote_addr zone=requests:1m rate=100r/s;
"#;

/// Another site: `{listen}` adds to each of its sockets, `{prefix}` is where its files are.
const SITE: &str = r#"
    server {
        listen 80{listen};
        listen 443 ssl http2{listen};
        server_name site.test;
        ssl_certificate {prefix}/site.pem;
        ssl_certificate_key {prefix}/site.key;
        access_log {prefix}/log/site.log;
        gzip on;
        gzip_types text/plain;
        gzip_min_length 1;
        root {prefix}/site;
        location /hello { default_type text/plain; return 200 "hello from the site of the host\n"; }
        location /proxied { proxy_pass http://10.244.0.9:8080; }
    }
"#;

#[test]
fn another_site_answers_as_before() {
    // nginx reads the sites of `conf.d` in the order of their names, ours among them, and then the
    // others. Without a word about it the first one that it reads is the default server.
    for (file, listen, is_default, reason) in [
        ("sites-enabled/site", " default_server", true, "DefaultServerTaken"),
        ("conf.d/a-site.conf", "", true, "DefaultServerTaken"),
        ("sites-enabled/site", "", false, "HostConflict"),
    ] {
        rig::run(async move |rig| {
            let prefix = rig.nginx.prefix().to_owned();
            let certificate = rcgen::generate_simple_self_signed(vec!["site.test".to_owned()]).unwrap();
            fs::write(prefix.join("site.pem"), certificate.cert.pem()).unwrap();
            fs::write(prefix.join("site.key"), certificate.signing_key.serialize_pem()).unwrap();
            fs::write(prefix.join("conf.d/host.conf"), HOST).unwrap();
            let site = SITE.replace("{listen}", listen).replace("{prefix}", prefix.to_str().unwrap());
            fs::write(prefix.join(file), site).unwrap();
            fs::create_dir(prefix.join("site")).unwrap();
            fs::write(prefix.join("site/index.html"), "<p>a page</p>\n").unwrap();
            rig.nginx.start();
            let before = site_answers(is_default).await;
            assert!(before.contains("content-encoding"), "{before}");

            rig.manifests.write(
                "ours.yaml",
                &[
                    tls_secret("ours", &["ours.test"]),
                    ingress("ours").host("ours.test", "web").tls(&["ours.test"], "ours").build(),
                    ingress("plain").host("plain.test", "web").build(),
                ],
            );
            rig.daemon.start();
            rig.daemon.ready().await;
            assert_eq!(get("http://plain.test/").send().await.status, 200);
            assert_eq!(get("https://ours.test/").send().await.peer.unwrap().names, ["ours.test"]);
            let without = get("https://plain.test/").send().await;
            assert_eq!(without.status, 200);
            assert_ne!(
                without.peer.unwrap().names,
                ["site.test"],
                "a host of the cluster shows the site's certificate"
            );
            assert_eq!(site_answers(is_default).await, before);

            // Whichever site gets the requests for unknown hosts, the finding names the place of
            // the site and the remedy.
            let of_site = get("http://unknown.test/hello").send().await.text().contains("the site of the host");
            assert_eq!(of_site, is_default);
            let status = rig.daemon.status().await.unwrap();
            for port in [80, 443] {
                let reported = |note: &String| note.contains(&format!("{file}:")) && note.contains(&format!(":{port}"));
                let notes: Vec<_> = notes(&status, "Host nginx", reason).into_iter().filter(reported).collect();
                assert_eq!(notes.len(), 1, "{file}{listen}: {status}");
                assert!(is_default || notes[0].contains("write default_server into the listen line"), "{notes:?}");
            }
        });
    }
}

#[test]
fn the_names_of_another_site_stay_its_own_however_it_writes_them() {
    const SITES: &str = r#"
        server {
            listen 80;
            server_name same.test *.wild.test .dot.test www.* "~^shop\d{1,3}\.test$";
            return 200 site;
        }
        server { listen 8081; server_name port.test; return 200 site; }
    "#;
    const THEIRS: [&str; 7] =
        ["same.test", "a.wild.test", "b.a.wild.test", "dot.test", "a.dot.test", "www.tenant.test", "shop12.test"];
    const OURS: [&str; 4] = ["wild.test", "shop.test", "wwww.test", "port.test"];
    rig::run(async |rig| {
        rig.nginx.write_site("names", SITES);
        rig.nginx.start();
        let objects = THEIRS.iter().chain(&OURS).map(|host| ingress(&host.replace('.', "-")).host(host, "web").build());
        rig.manifests.write(
            "objects.yaml",
            &objects.chain([ingress("any").host("*.b.wild.test", "web").build()]).collect::<Vec<_>>(),
        );
        rig.daemon.start();
        rig.daemon.ready().await;
        let status = rig.daemon.status().await.unwrap();
        let of = |host: &str| notes(&status, &format!("Ingress {}", host.replace('.', "-")), "HostConflict");
        for host in THEIRS {
            assert_eq!(get(&format!("http://{host}/")).send().await.text(), "site", "{host}");
            let notes = of(host);
            assert!(
                matches!(&*notes, [note] if note.contains("sites-enabled/names:4 has the name ")),
                "{host}: {notes:?}"
            );
        }
        for host in OURS {
            assert_eq!(
                get(&format!("http://{host}/")).send().await.echo().address.ip().to_string(),
                "10.244.0.1",
                "{host}"
            );
            assert_eq!(of(host), [""; 0], "{host}");
        }
        // Of two wildcards nginx would choose theirs.
        assert_eq!(get("http://x.b.wild.test/").send().await.text(), "site");
        assert!(matches!(&*notes(&status, "Ingress any", "HostConflict"), [note] if note.contains("*.wild.test")));
    });
}

/// Everything that clients of the site see. Only where the site is the default server do unknown
/// hosts belong to it.
async fn site_answers(is_default: bool) -> String {
    let mut requests = vec![
        get("http://site.test/"),
        get("http://site.test/hello").header("accept-encoding", "gzip"),
        get("http://site.test/missing"),
        get("http://site.test/proxied"),
        get("https://site.test/hello"),
        get("https://site.test/hello").http2(),
    ];
    if is_default {
        requests.extend([get("http://unknown.test/hello"), get("https://unknown.test/hello")]);
    }
    let mut answers = all(requests).await;
    let raw = client::raw(
        ([127, 0, 0, 1], 80).into(),
        b"GET /hello HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n",
    )
    .await;
    let raw = String::from_utf8(raw).unwrap();
    answers.extend(raw.split_inclusive("\r\n").filter(|line| !line.starts_with("Date: ")));
    answers
}

/// Settings of the host's `http` level that would change what hosts of the cluster do, in sets
/// that get along.
const IMPOSED: &[&str] = &[
    r#"
    proxy_set_header X-Host yes; proxy_set_header Host host.invalid; grpc_set_header X-Host yes;
    add_header X-Site host always; expires 1h; etag off; charset utf-8;
    root /nonexistent; index none.html; error_page 404 503 308 =200 /error.html; proxy_intercept_errors on;
    gzip_types *; gzip_min_length 1; gzip_proxied any; gunzip on; server_tokens on;
    client_body_buffer_size 1k; proxy_buffering off; proxy_buffer_size 2k; proxy_buffers 8 2k;
    "#,
    r#"
    auth_basic "the host"; auth_basic_user_file /nonexistent; deny all; satisfy any; auth_request /auth;
    limit_req_zone $binary_remote_addr zone=host:1m rate=1r/m; limit_req zone=host;
    limit_conn_zone $server_name zone=connections:1m; limit_conn connections 1; limit_rate 1k;
    client_max_body_size 1; client_body_in_file_only on;
    ignore_invalid_headers off; underscores_in_headers on; merge_slashes off; absolute_redirect off;
    "#,
    r#"
    proxy_redirect http:// https://; proxy_cookie_path / /host; proxy_hide_header X-Two; proxy_pass_header Server;
    proxy_cookie_flags ~ secure; proxy_ignore_headers X-Accel-Redirect; proxy_http_version 1.0; proxy_method POST;
    proxy_pass_request_headers off; proxy_ssl_verify on; proxy_buffering on; proxy_buffers 8 64k; proxy_buffer_size 64k;
    proxy_busy_buffers_size 128k; proxy_temp_file_write_size 128k; proxy_max_temp_file_size 0;
    proxy_cache_path temp/cache keys_zone=host:1m; proxy_cache host; proxy_cache_valid any 1h; proxy_cache_key same;
    grpc_hide_header X-Echo-Address; grpc_read_timeout 1ms; grpc_buffer_size 64k; proxy_ignore_client_abort on;
    "#,
    "ssl_certificate {prefix}/host.pem; ssl_certificate_key {prefix}/host.key; ssl_verify_client on;
    ssl_client_certificate {prefix}/host.pem; ssl_early_data on; map_hash_bucket_size 32; variables_hash_max_size 512;
    server_names_hash_bucket_size 32; proxy_ssl_certificate {prefix}/host.pem;
    proxy_ssl_certificate_key {prefix}/host.key; proxy_headers_hash_bucket_size 32;",
];

#[test]
fn hosts_behave_the_same_whatever_the_host_sets() {
    let expected = answers_beside("");
    assert!(expected.lines().filter(|line| line.contains(": 200")).count() > 5, "{expected}");
    for settings in IMPOSED {
        let found = answers_beside(settings);
        let changed: Vec<_> =
            found.lines().zip(expected.lines()).filter(|(found, expected)| found != expected).collect();
        assert!(changed.is_empty(), "{settings}: {changed:#?}");
    }
}

/// Answers of hosts of the cluster on an nginx with these settings.
fn answers_beside(settings: &'static str) -> String {
    let (sender, receiver) = mpsc::channel();
    rig::run(async move |rig| {
        let prefix = rig.nginx.prefix().to_owned();
        let certificate = rcgen::generate_simple_self_signed(vec!["host.test".to_owned()]).unwrap();
        fs::write(prefix.join("host.pem"), certificate.cert.pem()).unwrap();
        fs::write(prefix.join("host.key"), certificate.signing_key.serialize_pem()).unwrap();
        let settings = settings.replace("{prefix}", prefix.to_str().unwrap());
        fs::write(prefix.join("conf.d/host.conf"), &settings).unwrap();
        write_manifests(rig);
        rig.start().await;
        let status = rig.daemon.status().await.unwrap();
        assert_eq!(quarantined(&status), [""; 0], "{settings}: {status}");
        sender.send(cluster_answers().await).unwrap();
    });
    receiver.recv().unwrap()
}

fn write_manifests(rig: &Rig) {
    // These share a server, in which a variable names the backend.
    let alike = (0..20).flat_map(|number| {
        let name = format!("alike-{number}");
        let own = ingress(&name).host(&format!("{name}.test"), &name).build();
        service_at(&name, &["10.244.0.1"], ECHO).into_iter().chain([own])
    });
    let alike: Vec<_> = alike.collect();
    rig.manifests.write("alike.yaml", &alike);
    rig.manifests.write(
        "hosts.yaml",
        &[
            tls_secret("own", &["own.test"]),
            ingress("plain").host("plain.test", "web").build(),
            ingress("narrow").path("narrow.test", "Prefix", "/only", "web").build(),
            ingress("broken").host("broken.test", "missing").build(),
            ingress("own").host("own.test", "web").tls(&["own.test"], "own").build(),
            ingress("quirky").class("nginx").path("quirky.test", "Prefix", "/q/", "web").build(),
            ingress("grpc")
                .host("grpc.test", "web")
                .annotation("backend-protocol", "GRPC")
                .tls(&["own.test"], "own")
                .build(),
            ingress("away")
                .host("away.test", "web")
                .annotation("permanent-redirect", "https://elsewhere.test/")
                .build(),
            ingress("large")
                .host("large.test", "web")
                .annotation("proxy-buffer-size", "32k")
                .annotation("proxy-buffering", "on")
                .build(),
        ],
    );
}

async fn cluster_answers() -> String {
    let plain = |path: &str| get(&format!("http://plain.test{path}"));
    let requests = vec![
        plain("/a"),
        plain("/b"),
        plain("/a").header("accept-encoding", "gzip"),
        plain("/").header("x_under_score", "1"),
        plain("/?header=X-Two:2&header=Set-Cookie:a=b;path=/&header=Location:http://plain.test/x"),
        plain("/?status=404"),
        plain("/?size=20000").header("accept-encoding", "gzip"),
        post("http://plain.test/body", vec![b'x'; 5000]),
        get("http://alike-7.test/a").header("accept-encoding", "gzip"),
        get("http://narrow.test/only"),
        get("http://narrow.test//only"),
        get("http://narrow.test/other"),
        get("http://broken.test/"),
        get("http://unknown.test/"),
        get("http://quirky.test/q"),
        get("http://away.test/"),
        get("http://large.test/?size=20000"),
        get("http://own.test/"),
        get("https://own.test/"),
        get("https://own.test/").http2(),
        get("https://plain.test/"),
        grpc_check("https://grpc.test"),
    ];
    let mut answers = all(requests).await;
    // The daemon's own server is a server like others.
    let status = get("http://localhost:10246/stub_status").send().await.status;
    let _ = writeln!(answers, "stub_status: {status}");
    answers
}

async fn all(requests: Vec<Request>) -> String {
    let mut answers = String::new();
    for request in requests {
        let shown = request.to_string();
        let answer = match request.try_send().await {
            Ok(reply) => describe(&reply),
            Err(failure) => failure.to_string(),
        };
        let _ = writeln!(answers, "{shown}: {answer}");
    }
    answers
}

/// An answer without what differs each time.
fn describe(reply: &Reply) -> String {
    let mut headers: Vec<_> = reply
        .headers
        .iter()
        // The report of the echo names the port that it was asked from, so that its length varies.
        .filter(|(name, _)| !["date", "content-length"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}={}", String::from_utf8_lossy(value.as_bytes())))
        .collect();
    headers.sort();
    let body = match serde_json::from_slice::<Value>(&reply.body) {
        Ok(mut report) => {
            report["client"].take();
            if let Some(headers) = report["headers"].as_array_mut() {
                headers.retain(|header| header[0] != "x-request-id");
            }
            report.to_string()
        }
        Err(_) if reply.body.len() > 1000 => format!("{} bytes", reply.body.len()),
        Err(_) => reply.text(),
    };
    let names = reply.peer.as_ref().map(|peer| &peer.names);
    format!("{} {headers:?} {:?} {names:?} {body:?}", reply.status, reply.trailers)
}
