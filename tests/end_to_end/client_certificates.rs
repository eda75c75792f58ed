//! Client certificates: who is admitted, and which headers backends get.

use rig::authority::Authority;
use rig::client::{Reply, get, grpc_check};
use rig::manifests::{Ingress, in_namespace, ingress, secret, service_at, tls_secret};
use rig::{ECHO, Rig};
use serde_json::Value;

/// An Ingress of the host `NAME.test` that asks for certificates.
fn guarded(name: &str) -> Ingress {
    ingress(name).host(&format!("{name}.test"), "web").annotation("auth-tls-secret", "default/authority")
}

fn of(authority: &Authority) -> Value {
    secret("authority", "Opaque", &[("ca.crt", &authority.pem())])
}

fn reported(reply: &Reply, header: &str) -> String {
    let echo = reply.echo();
    let values = echo.headers.iter().filter(|(name, _)| name.as_str() == header).map(|(_, value)| value.clone());
    values.collect::<Vec<_>>().join("|")
}

async fn finding(rig: &mut Rig, reason: &str, note: &str) {
    let right = |status: &Value| {
        let findings = status["findings"].as_array();
        let is_it = |finding: &Value| {
            finding["reason"] == reason && finding["note"].as_str().is_some_and(|text| text.contains(note))
        };
        findings.is_some_and(|findings| findings.iter().any(is_it))
    };
    rig.daemon.status_when(&format!("{reason}: {note}"), right).await;
}

#[test]
fn only_certificates_of_the_authority_are_let_in() {
    rig::run(async |rig| {
        let (authority, other) = (Authority::new("authority"), Authority::new("other"));
        let objects = [
            of(&authority),
            tls_secret("own", &["required.test"]),
            guarded("required").tls(&["required.test"], "own").build(),
            // These hosts have the default certificate, and requests without TLS are not
            // redirected.
            guarded("bare").annotation("ssl-redirect", "false").build(),
            guarded("optional").annotation("auth-tls-verify-client", "optional").build(),
            guarded("any").annotation("auth-tls-verify-client", "optional_no_ca").build(),
            guarded("off").annotation("auth-tls-verify-client", "off").build(),
            ingress("open").host("open.test", "web").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let (good, strange) = (authority.signs("client", 1), other.signs("client", 1));
        // Each host is asked without a certificate, with a good one, with one of another
        // authority, and by plain HTTP.
        for (host, none, with_good, with_strange, plain) in [
            ("required", 400, 200, 400, 308),
            ("bare", 400, 200, 400, 403),
            ("optional", 200, 200, 400, 200),
            ("any", 200, 200, 200, 200),
            ("off", 200, 200, 200, 200),
            ("open", 200, 200, 200, 200),
        ] {
            let url = format!("https://{host}.test/");
            for request in [get(&url), get(&url).http2()] {
                assert_eq!(request.clone().send().await.status, none, "{host} without");
                assert_eq!(request.clone().showing(&good).send().await.status, with_good, "{host} good");
                assert_eq!(request.showing(&strange).send().await.status, with_strange, "{host} strange");
            }
            assert_eq!(get(&format!("http://{host}.test/")).send().await.status, plain, "{host} plain");
        }
        let verify = async |host: &str, signed: &rig::authority::Signed| {
            reported(&get(&format!("https://{host}.test/")).showing(signed).send().await, "ssl-client-verify")
        };
        assert_eq!(verify("required", &good).await, "SUCCESS");
        assert_eq!(verify("open", &good).await, "");
        assert!(verify("any", &strange).await.starts_with("FAILED"));
        let none = get("https://optional.test/").send().await;
        assert_eq!(reported(&none, "ssl-client-verify"), "NONE");
    });
}

#[test]
fn no_other_name_leads_past_them() {
    rig::run(async |rig| {
        let (authority, other) = (Authority::new("authority"), Authority::new("other"));
        let objects = [
            of(&authority),
            secret("other", "Opaque", &[("ca.crt", &other.pem())]),
            tls_secret("tls", &["one.test", "two.test", "open.test"]),
            guarded("one").tls(&["one.test"], "tls").build(),
            ingress("two")
                .host("two.test", "web")
                .tls(&["two.test"], "tls")
                .annotation("auth-tls-secret", "other")
                .build(),
            ingress("open").host("open.test", "web").tls(&["open.test"], "tls").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let (of_one, of_two) = (authority.signs("client", 1), other.signs("client", 1));
        for (sni, status) in
            [(Some("open.test"), 421), (Some("two.test"), 421), (Some("unknown.test"), 400), (None, 400)]
        {
            for http2 in [false, true] {
                let request = get("https://one.test/").sni(sni).showing(&of_two);
                let request = if http2 { request.http2() } else { request };
                assert_eq!(request.send().await.status, status, "{sni:?}");
            }
        }
        // A client that is admitted at one host resumes its session at another one.
        let of_two = of_two.resuming();
        for url in ["https://two.test/", "https://two.test/"] {
            assert_eq!(get(url).showing(&of_two).send().await.status, 200);
        }
        let resumed = get("https://two.test/").showing(&of_two).send().await;
        assert!(resumed.peer.unwrap().is_resumed, "a session has to be resumed to show anything");
        let moved = get("https://one.test/").showing(&of_two).try_send().await;
        assert!(!matches!(&moved, Ok(reply) if reply.status < 400), "{moved:?}");
        let opened = get("https://open.test/").showing(&of_one).send().await;
        assert_eq!(opened.status, 200);
        assert_eq!(get("https://one.test/").showing(&of_one).send().await.status, 200);
    });
}

#[test]
fn names_depth_and_lists_of_revoked_certificates_decide() {
    rig::run(async |rig| {
        let root = Authority::new("root");
        let (middle, lower) = {
            let middle = root.below("middle");
            let lower = middle.below("lower");
            (middle, lower)
        };
        let (good, bad) = (root.signs("client", 7), root.signs("client", 8));
        let lists = [("ca.crt", &*root.pem()), ("ca.crl", &*root.takes_back(&[&bad]))];
        let objects = [
            of(&root),
            secret("lists", "Opaque", &lists),
            ingress("revoked").host("revoked.test", "web").annotation("auth-tls-secret", "lists").build(),
            guarded("named").annotation("auth-tls-match-cn", "CN=(alice|client)(,|$)").build(),
            guarded("alice")
                .annotation("auth-tls-match-cn", "CN=alice")
                .annotation("auth-tls-verify-client", "optional_no_ca")
                .build(),
            guarded("shallow").build(),
            guarded("deep").annotation("auth-tls-verify-depth", "2").build(),
            guarded("page").annotation("auth-tls-error-page", "https://example.com/sorry?a=b").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let alice = root.signs("alice", 9);
        let strange_alice = Authority::new("strange").signs("alice", 9);
        let one_between = middle.signs_below("client", &[&middle]);
        let two_between = lower.signs_below("client", &[&lower, &middle]);
        for (host, signed, status) in [
            ("revoked", &good, 200),
            ("revoked", &bad, 400),
            ("named", &good, 200),
            ("named", &alice, 200),
            ("named", &root.signs("clients", 1), 403),
            ("named", &root.signs("bob", 1), 403),
            ("alice", &alice, 200),
            // Its organization is called `Shop,CN=alice`.
            ("alice", &root.signs("bob", 1), 403),
            ("alice", &strange_alice, 403),
            ("shallow", &one_between, 200),
            ("shallow", &two_between, 400),
            ("deep", &two_between, 200),
        ] {
            let reply = get(&format!("https://{host}.test/")).showing(signed).send().await;
            assert_eq!(reply.status, status, "{host}: {}", reply.text());
        }
        assert_eq!(get("https://alice.test/").send().await.status, 403);
        assert_eq!(get("http://alice.test/").header("ssl-client-verify", "SUCCESS").send().await.status, 308);
        let sorry = get("https://page.test/").send().await;
        assert_eq!((sorry.status, sorry.header("location")), (302, Some("https://example.com/sorry?a=b")));
        assert_eq!(get("https://page.test/").showing(&good).send().await.status, 200);
    });
}

#[test]
fn backends_are_named_by_nobody_else() {
    rig::run(async |rig| {
        let authority = Authority::new("authority");
        let password = [("auth", "ada:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")];
        let objects = [
            of(&authority),
            secret("users", "Opaque", &password),
            guarded("told").annotation("auth-tls-pass-certificate-to-upstream", "true").build(),
            guarded("optional").annotation("auth-tls-verify-client", "optional").build(),
            guarded("password").annotation("auth-type", "basic").annotation("auth-secret", "users").build(),
            guarded("detailed").class("nginx").build(),
            guarded("grpc").annotation("backend-protocol", "GRPC").build(),
            ingress("open").host("open.test", "web").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24"]"#);
        rig.start().await;
        let good = authority.signs("client", 1);
        let headers = ["ssl-client-verify", "ssl-client-subject-dn", "ssl-client-issuer-dn", "ssl-client-cert"];
        let subject = "CN=client,O=Shop\\,CN=alice";
        for from in ["127.0.0.1", "10.244.9.1"] {
            for (host, expected) in [
                ("told", ["SUCCESS", subject, "CN=authority", "PEM"]),
                ("optional", ["SUCCESS", subject, "CN=authority", ""]),
                ("password", ["SUCCESS", subject, "CN=authority", ""]),
                ("detailed", ["SUCCESS", subject, "CN=authority", ""]),
            ] {
                let mut request = get(&format!("https://{host}.test/")).from(from).showing(&good);
                for header in headers {
                    request = request.header(header, "forged");
                }
                let reply = request.header("authorization", "Basic YWRhOnBhc3N3b3Jk").send().await;
                assert_eq!(reply.status, 200, "{host}");
                let values = headers.map(|header| match reported(&reply, header) {
                    pem if pem.starts_with("-----BEGIN%20CERTIFICATE-----%0A") => "PEM".to_owned(),
                    other => other,
                });
                assert_eq!(values, expected, "{host} from {from}");
            }
            let mut request = get("https://optional.test/").from(from);
            for header in headers {
                request = request.header(header, "forged");
            }
            let reply = request.send().await;
            assert_eq!(
                headers.map(|header| reported(&reply, header)),
                ["NONE", "", "", ""].map(str::to_owned),
                "{from}"
            );
        }
        let call = grpc_check("https://grpc.test");
        assert_eq!(call.clone().showing(&good).send().await.trailers.get("grpc-status").unwrap(), "0");
        assert_eq!(call.send().await.status, 400);
    });
}

#[test]
fn what_is_broken_closes_the_host_and_what_is_mended_opens_it() {
    rig::run(async |rig| {
        let (authority, other) = (Authority::new("authority"), Authority::new("other"));
        let broken = |name: &str, data: &[(&str, &str)]| secret(name, "Opaque", data);
        let by = |name: &str, secret: &str| {
            ingress(name).host(&format!("{name}.test"), "web").annotation("auth-tls-secret", secret)
        };
        let objects = [
            by("missing", "authority").build(),
            // The object asks for no certificate itself, and the host is closed all the same.
            ingress("beside").path("missing.test", "Prefix", "/beside", "web").build(),
            by("empty", "empty").build(),
            by("text", "text").build(),
            by("list", "list").build(),
            by("list-of-other", "list-of-other").build(),
            by("foreign", "team/authority").build(),
            by("word", "empty").annotation("auth-tls-verify-client", "yes").build(),
            by("name", "empty").annotation("auth-tls-match-cn", "alice").build(),
            ingress("alone").host("alone.test", "web").annotation("auth-tls-match-cn", "CN=alice").build(),
            ingress("all").path("", "Prefix", "/", "web").annotation("auth-tls-secret", "good").build(),
            broken("good", &[("ca.crt", &authority.pem())]),
            broken("empty", &[("tls.crt", &authority.pem())]),
            broken("text", &[("ca.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]),
            broken("list", &[("ca.crt", &authority.pem()), ("ca.crl", "nothing")]),
            broken("list-of-other", &[("ca.crt", &authority.pem()), ("ca.crl", &other.takes_back(&[]))]),
            in_namespace("team", of(&authority)),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let good = authority.signs("client", 1);
        let hosts = ["missing", "empty", "text", "list", "list-of-other", "foreign", "word", "name", "alone", "all"];
        for host in hosts {
            let reply = get(&format!("https://{host}.test/")).showing(&good).send().await;
            assert_eq!(reply.status, 503, "{host}");
            let plain = get(&format!("http://{host}.test/")).send().await;
            assert_eq!(plain.status, 503, "{host}");
        }
        assert_eq!(get("https://missing.test/beside").send().await.status, 503);
        finding(rig, "ClosedRoute", "name the hosts").await;

        rig.manifests.write("authority.yaml", &[of(&authority)]);
        get("https://missing.test/beside")
            .showing(&good)
            .send_until("the authority is known", |reply| reply.status == 200)
            .await;
        assert_eq!(get("https://missing.test/beside").send().await.status, 400);
        // Another authority takes its place, and from then on other clients are admitted.
        rig.manifests.write("authority.yaml", &[of(&other)]);
        let others = other.signs("client", 1);
        get("https://missing.test/")
            .showing(&others)
            .send_until("the new authority", |reply| reply.status == 200)
            .await;
        // Workers of the generation before may still take connections.
        let before = get("https://missing.test/").showing(&authority.signs("client", 1));
        before.send_until("the authority of before is gone", |reply| reply.status == 400).await;
    });
}

#[test]
fn challenges_are_answered_without() {
    rig::run(async |rig| {
        let authority = Authority::new("authority");
        let path = "/.well-known/acme-challenge/token";
        let objects = [
            of(&authority),
            guarded("shop").build(),
            ingress("solver").path("shop.test", "Exact", path, "web").build(),
            guarded("other").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        assert_eq!(get(&format!("http://shop.test{path}")).send().await.status, 200);
        assert_eq!(get(&format!("http://shop.test{path}s")).send().await.status, 403);
        assert_eq!(get(&format!("http://other.test{path}")).send().await.status, 403);
    });
}

#[test]
fn only_whose_host_it_is_decides() {
    rig::run(async |rig| {
        rig.daemon.set("hosts.ownership", "shared");
        let (authority, other) = (Authority::new("authority"), Authority::new("other"));
        let mut objects: Vec<_> = ["default", "team"]
            .into_iter()
            .flat_map(|namespace| {
                service_at("web", &["10.244.0.1"], ECHO).map(|object| in_namespace(namespace, object))
            })
            .collect();
        let team = |name: &str, host: &str, path: &str| {
            ingress(name).namespace("team").created("2026-02-01T00:00:00Z").path(host, "Prefix", path, "web")
        };
        let home = |one: Ingress| one.created("2026-01-01T00:00:00Z").build();
        objects.extend([
            of(&authority),
            in_namespace("team", secret("authority", "Opaque", &[("ca.crt", &other.pem())])),
            home(
                ingress("guarded")
                    .path("guarded.test", "Prefix", "/own", "web")
                    .annotation("auth-tls-secret", "authority"),
            ),
            // A path below a protected one takes no requests from it.
            team("below", "guarded.test", "/own/below").build(),
            home(ingress("open").host("open.test", "web")),
            team("guest", "guarded.test", "/guest").build(),
            team("weak", "guarded.test", "/weak")
                .annotation("auth-tls-secret", "authority")
                .annotation("auth-tls-verify-client", "optional")
                .build(),
            team("evil", "open.test", "/evil").annotation("auth-tls-secret", "authority").build(),
            team("evil-broken", "open.test", "/broken").annotation("auth-tls-secret", "absent").build(),
        ]);
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let (ours, theirs) = (authority.signs("client", 1), other.signs("client", 1));
        for (url, signed, status) in [
            ("https://guarded.test/own", Some(&ours), 200),
            ("https://guarded.test/own/below", Some(&ours), 200),
            ("https://guarded.test/own", Some(&theirs), 400),
            ("https://guarded.test/own", None, 400),
            ("https://guarded.test/", None, 400),
            ("https://guarded.test/guest", Some(&ours), 200),
            ("https://guarded.test/guest", None, 400),
            ("https://guarded.test/weak", Some(&ours), 503),
            ("https://open.test/", None, 200),
            ("http://open.test/", None, 200),
            ("https://open.test/", Some(&theirs), 200),
            ("https://open.test/evil", Some(&theirs), 503),
            ("https://open.test/broken", None, 503),
        ] {
            let request = get(url);
            let request = match signed {
                Some(signed) => request.showing(signed),
                None => request,
            };
            assert_eq!(request.send().await.status, status, "{url}");
        }
        finding(rig, "HostRuleConflict", "requires client certificates").await;
        finding(rig, "ClosedRoute", "another namespace asked for open.test first").await;
    });
}

#[test]
fn certificates_that_another_site_asked_for_count_nowhere_else() {
    rig::run(async |rig| {
        let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
        let prefix = rig.nginx.prefix().to_owned();
        let certificate = rcgen::generate_simple_self_signed(vec!["site.test".to_owned()]).unwrap();
        std::fs::write(prefix.join("site.pem"), certificate.cert.pem()).unwrap();
        std::fs::write(prefix.join("site.key"), certificate.signing_key.serialize_pem()).unwrap();
        std::fs::write(prefix.join("ca.pem"), theirs.pem()).unwrap();
        let site = "server { listen 80 default_server; listen 443 ssl http2 default_server; server_name site.test; \
            ssl_certificate {p}/site.pem; ssl_certificate_key {p}/site.key; ssl_client_certificate {p}/ca.pem; \
            ssl_verify_client optional; location / { return 200 site; } }";
        rig.nginx.write_site("site", &site.replace("{p}", prefix.to_str().unwrap()));
        let guarded =
            |name: &str, host: &str| ingress(name).host(host, "web").annotation("auth-tls-secret", "authority");
        let objects = [
            secret("authority", "Opaque", &[("ca.crt", &ours.pem())]),
            guarded("one", "one.test").build(),
            guarded("named", "named.test").annotation("auth-tls-match-cn", "CN=client").build(),
        ];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let (good, strange) = (ours.signs("client", 1), theirs.signs("client", 1));
        for host in ["one.test", "named.test"] {
            let url = format!("https://{host}/");
            assert_eq!(get(&url).showing(&good).send().await.status, 200, "{host}");
            assert_eq!(get(&url).sni(Some(&host.to_uppercase())).showing(&good).send().await.status, 200, "{host}");
            assert_eq!(get(&url).showing(&strange).send().await.status, 400, "{host}");
            for sni in [Some("site.test"), Some("unknown.test"), None] {
                let status = get(&url).sni(sni).showing(&strange).send().await.status;
                assert!([400, 421].contains(&status), "{host} as {sni:?}: {status}");
            }
        }
    });
}

#[test]
fn an_object_that_cannot_be_served_does_not_open_its_host() {
    rig::run(async |rig| {
        let root = Authority::new("root");
        rig.manifests.write("ca.yaml", &[secret("authority", "Opaque", &[("ca.crt", &root.pem())])]);
        let guarded =
            |host: &str| ingress(host).path(host, "Prefix", "/own", "web").annotation("auth-tls-secret", "authority");
        let quarantined = guarded("one.test")
            .annotation("backend-protocol", "HTTPS")
            .annotation("proxy-ssl-secret", "authority")
            .annotation("proxy-ssl-ciphers", "NONE");
        let refused = guarded("two.test").annotation("configuration-snippet", "deny all;");
        let open = |name: &str, host: &str| ingress(name).path(host, "Prefix", "/", "web").build();
        let objects = [quarantined.build(), refused.build(), open("first", "one.test"), open("second", "two.test")];
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        for host in ["one.test", "two.test"] {
            for path in ["", "own"] {
                let url = format!("https://{host}/{path}");
                let status = get(&url).send().await.status;
                assert!([400, 503].contains(&status), "{url}: {status}");
            }
        }
    });
}
