//! The addresses of authentication services, and connections to them, through the real nginx.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio_rustls::TlsAcceptor;

use crate::external_authentication::{PORT, Service, protected, url, want};
use rig::authority::{Authority, certificates, private_key};
use rig::client::{get, grpc_check};
use rig::dns::Dns;
use rig::manifests::{Ingress, ingress, service_at};
use rig::mount::Mount;
use rig::status::reports;

/// The address at which the service speaks TLS, with a certificate of an unknown authority.
const TLS: u16 = 18443;

fn acceptor() -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = Authority::new("nobody").signs_host("other.test");
    let settings = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let settings = settings.with_no_client_auth();
    let settings = settings.with_single_cert(certificates(&own.chain), private_key(&own.key)).unwrap();
    TlsAcceptor::from(Arc::new(settings))
}

fn asks(name: &str, url: &str) -> Ingress {
    protected(name).annotation("auth-url", url)
}

#[test]
fn services_with_names_and_tls_are_asked_for_every_protocol() {
    rig::run(async |rig| {
        let dns = Dns::start().await;
        // The resolvers of this host are the default.
        let file = rig.daemon.folder().join("resolv.conf");
        std::fs::write(&file, format!("nameserver {}\n", dns.address().ip())).unwrap();
        let _servers = Mount::over(Path::new("/etc/resolv.conf"), &file);
        rig.daemon.set("upstreams.resolvers", "[\"host\"]");
        rig.daemon.set("upstreams.resolve-interval", "100ms");
        dns.set("auth.backend.test", &["10.244.3.1"]);
        let plain = Service::start().await;
        let moved = Service::start_at("10.244.3.2", PORT, None).await;
        let secure = Service::start_at("10.244.3.1", TLS, Some(acceptor())).await;
        let [object, slice] = service_at("auth", &["10.244.3.1"], TLS);
        let objects = [
            object,
            slice,
            asks("name", &format!("http://auth.backend.test:{PORT}/check")).build(),
            asks("tls", &format!("https://auth.backend.test:{TLS}/check")).build(),
            asks("address", &format!("https://10.244.3.1:{TLS}/check")).build(),
            asks("service", &format!("https://auth.default.svc:{TLS}/check")).build(),
            protected("grpc")
                .annotation("backend-protocol", "GRPC")
                .annotation("auth-response-headers", "X-User")
                .build(),
            asks("grpc-tls", &format!("https://auth.backend.test:{TLS}/check"))
                .annotation("backend-protocol", "GRPC")
                .build(),
            asks("missing", "http://missing.backend.test/check").build(),
        ];
        rig.manifests.write("auth.yaml", &objects);
        rig.start().await;
        // The first generation does not wait long for answers of DNS.
        for host in ["name", "tls", "grpc-tls"] {
            let request = want(get(&format!("http://{host}.test/")), 403);
            request.send_until("a name that is known", |reply| reply.status == 403).await;
        }
        let (_, _) = (plain.asked(), secure.asked());
        for (host, service, reported, name) in [
            ("name", &plain, "auth.backend.test:18081", None),
            ("tls", &secure, "auth.backend.test:18443", Some("auth.backend.test")),
            ("address", &secure, "10.244.3.1:18443", None),
            ("service", &secure, "auth.default.svc:18443", None),
        ] {
            let url = format!("http://{host}.test/");
            assert_eq!(get(&url).send().await.status, 200, "{host}");
            assert_eq!(want(get(&url), 401).send().await.status, 401, "{host}");
            let asked = service.asked();
            let lines: Vec<_> = asked.iter().map(|question| question.line.as_str()).collect();
            assert_eq!(lines, ["GET /check HTTP/1.1"; 2], "{host}");
            assert_eq!((asked[0].header("Host"), asked[0].name.as_deref()), (Some(reported), name), "{host}");
        }
        for (host, service) in [("grpc", &plain), ("grpc-tls", &secure)] {
            let origin = format!("https://{host}.test");
            let reply = grpc_check(&origin).send().await;
            assert_eq!(
                (reply.status, reply.trailers.get("grpc-status").unwrap().as_bytes()),
                (200, &b"0"[..]),
                "{host}"
            );
            assert_eq!(want(grpc_check(&origin), 401).send().await.status, 401, "{host}");
            let asked = service.asked();
            assert_eq!(asked.len(), 2, "{host}");
            assert_eq!((asked[0].line.as_str(), asked[0].rest), ("GET /check HTTP/1.1", 0), "{host}");
            assert_eq!((asked[0].header("X-Original-Method"), asked[0].header("TE")), (Some("POST"), None), "{host}");
        }
        let missing = |status: &Value| reports(status, "Ingress missing", "UnresolvedName");
        rig.daemon.status_when("the name that is missing to be told", missing).await;
        assert_eq!(get("http://missing.test/").send().await.status, 503);
        // Another address is asked from then on, and what is no backend never is.
        dns.set("auth.backend.test", &["10.244.3.2"]);
        drop(plain);
        get("http://name.test/").send_until("the other address", |reply| reply.status == 200).await;
        assert!(!moved.asked().is_empty());
        dns.set("auth.backend.test", &["127.0.0.1"]);
        get("http://name.test/").send_until("the refusal", |reply| reply.status == 503).await;
        let refused = |status: &Value| reports(status, "Ingress name", "ForbiddenTarget");
        rig.daemon.status_when("the refusal to be told", refused).await;
    });
}

/// How many requests there are.
const REQUESTS: usize = 24;

#[test]
fn connections_are_kept_after_answers_without_a_body() {
    rig::run(async |rig| {
        let service = Service::start().await;
        let remembered = [("auth-cache-key", "$request_uri"), ("auth-cache-duration", "200 1m")];
        // Each row has a name, the path of the question, the status of its answer, and
        // annotations; whether connections are kept, and for how many questions.
        type Row<'r> = (&'r str, &'r str, u16, &'r [(&'r str, &'r str)], bool, usize);
        let rows: &[Row<'_>] = &[
            (
                "no-content",
                "/a",
                204,
                &[("auth-keepalive", "8"), ("auth-keepalive-share-vars", "true")],
                true,
                REQUESTS,
            ),
            ("empty", "/empty", 200, &[("auth-keepalive", "8")], true, REQUESTS),
            ("head", "/b", 200, &[("auth-keepalive", "8"), ("auth-method", "HEAD")], true, REQUESTS),
            ("remembered", "/remembered", 200, &remembered, true, REQUESTS),
            ("unsaid", "/empty", 204, &[], true, REQUESTS),
            ("few", "/empty", 200, &[("auth-keepalive", "8"), ("auth-keepalive-requests", "4")], true, 4),
            ("body", "/c", 200, &[("auth-keepalive", "8")], false, 1),
            ("none", "/empty", 200, &[("auth-keepalive", "0"), ("auth-keepalive-timeout", "30")], false, 1),
        ];
        let object = |(name, path, _, annotations, ..): &Row<'_>| {
            let object = asks(name, &url(path));
            annotations.iter().fold(object, |object, (key, value)| object.annotation(key, value)).build()
        };
        let mut objects: Vec<_> = rows.iter().map(object).collect();
        objects.push(asks("same", "https://$host/oauth2/check").annotation("auth-keepalive", "8").build());
        objects.push(ingress("oauth2").class("nginx").path("same.test", "Prefix", "/oauth2", "web").build());
        objects.push(asks("alone", &url("/d")).annotation("auth-keepalive-requests", "4").build());
        rig.manifests.write("auth.yaml", &objects);
        rig.start().await;
        let workers = rig.nginx.workers().len();
        for (name, _, status, _, is_kept, most) in rows {
            service.asked();
            for number in 0..REQUESTS {
                let reply = want(get(&format!("http://{name}.test/?n={number}")), *status).send().await;
                assert_eq!(reply.status, 200, "{name}");
            }
            let mut connections = BTreeMap::new();
            let asked = service.asked();
            assert_eq!(asked.len(), REQUESTS, "{name}");
            asked.iter().for_each(|question| *connections.entry(question.connection).or_insert(0) += 1);
            let longest = connections.values().copied().max().unwrap();
            match is_kept {
                true if *most < REQUESTS => assert_eq!(longest, *most, "{name}: {connections:?}"),
                true => assert!(connections.len() <= workers, "{name}: {connections:?}"),
                false => assert_eq!(longest, 1, "{name}: {connections:?}"),
            }
        }
        for (name, reason) in [("same", "UnsupportedAnnotation"), ("alone", "NoEffectAlone")] {
            let reported = |status: &Value| reports(status, &format!("Ingress {name}"), reason);
            rig.daemon.status_when(name, reported).await;
        }
        let names: BTreeSet<_> = service.asked().into_iter().map(|question| question.line).collect();
        assert_eq!(names.len(), 0);
    });
}
