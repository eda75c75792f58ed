//! TLS towards backends: client certificates and verification.

use std::sync::Arc;

use rig::authority::{Authority, Signed, certificates, private_key};
use rig::client::get;
use rig::manifests::{Ingress, ingress, secret, service_at};
use rustls::server::WebPkiClientVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, X509Certificate};

const PORT: u16 = 9443;

/// A backend that takes clients of an authority alone, and says who they are, by which name they
/// asked and what TLS they spoke.
async fn backend(authority: &Authority, own: &Signed) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificates(&authority.pem()));
    let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider));
    let settings = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let settings = settings
        .with_client_cert_verifier(verifier.allow_unauthenticated().build().unwrap())
        .with_single_cert(certificates(&own.chain), private_key(&own.key))
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    let listener = TcpListener::bind(("::", PORT)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let tls = stream.get_ref().1;
                let who = tls.peer_certificates().map_or_else(
                    || "nobody".to_owned(),
                    |chain| {
                        X509Certificate::from_der(&chain[0])
                            .unwrap()
                            .1
                            .subject()
                            .iter_common_name()
                            .next()
                            .unwrap()
                            .as_str()
                            .unwrap()
                            .to_owned()
                    },
                );
                let version = tls.protocol_version().unwrap();
                let body = format!("{who} {} {version:?}", tls.server_name().unwrap_or("-"));
                let mut request = [0; 8192];
                // nginx keeps the connection, and all its requests come from the client that
                // opened it.
                while stream.read(&mut request).await.is_ok_and(|length| length > 0) {
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn to(name: &str, secret: &str) -> Ingress {
    let ingress = ingress(name).host(&format!("{name}.test"), "secure").annotation("backend-protocol", "HTTPS");
    ingress.annotation("proxy-ssl-secret", secret)
}

#[test]
fn backends_are_shown_a_certificate_and_verified() {
    rig::run(async |rig| {
        let (of_clients, of_backends) = (Authority::new("clients"), Authority::new("backends"));
        let (one, two) = (of_clients.signs("one", 1), of_clients.signs("two", 2));
        let between = of_backends.below("between");
        backend(&of_clients, &between.signs_below("secure.default.svc", &[&between])).await;
        let full = |name: &str, signed: &Signed, authority: &Authority| {
            secret(
                name,
                "kubernetes.io/tls",
                &[("tls.crt", &signed.chain), ("tls.key", &signed.key), ("ca.crt", &authority.pem())],
            )
        };
        let verified = |name: &str, secret: &str| to(name, secret).annotation("proxy-ssl-verify", "on");
        let mut objects = vec![
            full("one", &one, &of_backends),
            full("two", &two, &of_backends),
            full("wrong", &one, &of_clients),
            secret("authority", "Opaque", &[("ca.crt", &of_backends.pem())]),
            secret("nothing", "Opaque", &[("auth", "")]),
            to("one", "one").build(),
            to("two", "default/two")
                .annotation("proxy-ssl-protocols", "TLSv1.2")
                .annotation("proxy-ssl-ciphers", "ECDHE+AESGCM")
                .build(),
            verified("service-name", "one").annotation("proxy-ssl-server-name", "on").build(),
            verified("good-name", "authority").annotation("proxy-ssl-name", "secure.default.svc").build(),
            verified("too-deep", "one").annotation("proxy-ssl-verify-depth", "0").build(),
            verified("wrong-name", "one").annotation("proxy-ssl-name", "other.default.svc").build(),
            verified("wrong-authority", "wrong").build(),
            verified("missing", "absent").build(),
            verified("nothing", "nothing").build(),
            to("nothing-at-all", "nothing").build(),
            to("foreign", "team/one").build(),
            ingress("bare").host("bare.test", "secure").annotation("backend-protocol", "HTTPS").build(),
            ingress("blind")
                .host("blind.test", "secure")
                .annotation("backend-protocol", "HTTPS")
                .annotation("proxy-ssl-verify", "on")
                .build(),
            // The backend has no TLS: there is a finding, and the route is served as it is.
            ingress("plain").host("plain.test", "web").annotation("proxy-ssl-secret", "one").build(),
        ];
        objects.extend(service_at("secure", &["10.244.0.2"], PORT));
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        // Requests are repeated, so that idle connections are reused: none of one certificate
        // serves another.
        for _ in 0..3 {
            for (host, status, text) in [
                ("one", 200, "one - TLSv1_3"),
                ("two", 200, "two - TLSv1_2"),
                ("bare", 200, "nobody - "),
                ("service-name", 200, "one secure.default.svc TLSv1_3"),
                ("good-name", 200, "nobody - TLSv1_3"),
                ("too-deep", 502, ""),
                ("wrong-name", 502, ""),
                ("wrong-authority", 502, ""),
                ("missing", 503, ""),
                ("nothing", 503, ""),
                ("nothing-at-all", 503, ""),
                ("foreign", 503, ""),
                ("blind", 503, ""),
                ("plain", 200, ""),
            ] {
                let reply = get(&format!("http://{host}.test/")).send().await;
                assert_eq!(reply.status, status, "{host}");
                assert!(text.is_empty() || reply.text().starts_with(text), "{host}: {}", reply.text());
            }
        }
        rig.manifests.write("change.yaml", &[full("three", &two, &of_backends)]);
        rig.manifests.write("three.yaml", &[to("three", "three").build()]);
        get("http://three.test/").send_until("two", |reply| reply.text().starts_with("two ")).await;
        rig.manifests.write("change.yaml", &[full("three", &one, &of_backends)]);
        get("http://three.test/").send_until("one", |reply| reply.text().starts_with("one ")).await;
    });
}
