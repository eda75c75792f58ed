//! TLS passthrough beside TLS that nginx terminates, through the real nginx.

use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use rig::authority::{Authority, Signed, certificates, private_key};
use rig::client::{Failure, Request, get, post};
use rig::load::Load;
use rig::manifests::{Ingress, endpoint_slice, ingress, service, tls_secret};
use rig::status::{notes, reports};
use rig::{ECHO, Rig, wait};

/// The port of the backends that have TLS of their own, on every address.
const PORT: u16 = 9443;

/// The pod behind the hosts that are passed through, and another one.
const POD: &str = "10.244.0.7";
const OTHER_POD: &str = "10.244.0.8";

/// A backend under a certificate of its own, before the echo backend of the address that is
/// reached.
async fn serve(own: &Signed) {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let settings =
        settings.with_no_client_auth().with_single_cert(certificates(&own.chain), private_key(&own.key)).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    let listener = TcpListener::bind(("::", PORT)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let address = stream.local_addr().unwrap().ip().to_canonical();
                let Ok(mut tls) = acceptor.accept(stream).await else { return };
                let mut echo = TcpStream::connect((address, ECHO)).await.unwrap();
                let _ = copy_bidirectional(&mut tls, &mut echo).await;
            });
        }
    });
}

/// A client that trusts the certificates of one authority.
fn trusting(authority: &Authority) -> Signed {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(certificates(&authority.pem()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let settings = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(settings.with_root_certificates(roots).with_no_client_auth());
    Signed { chain: String::new(), key: String::new(), serial: 0, config }
}

/// The Service `secure` with these pods: port 80, named `http`, where TLS is spoken.
fn pods(rig: &Rig, addresses: &[&str]) {
    rig.manifests.write("secure.yaml", &[service("secure", PORT), endpoint_slice("secure", addresses, PORT)]);
}

fn passed(name: &str, host: &str) -> Ingress {
    ingress(name).host(host, "secure").annotation("ssl-passthrough", "true")
}

/// The host `passed.test`, which is passed through or not.
fn pass(rig: &Rig, is_passed: bool) {
    let object = if is_passed { passed("passed", "passed.test") } else { ingress("passed").host("passed.test", "web") };
    rig.manifests.write("passed.yaml", &[object.build()]);
}

/// `open.test`, whose TLS ends here.
fn open(rig: &Rig) {
    let object =
        ingress("open").host("open.test", "web").tls(&["open.test"], "open").annotation("ssl-redirect", "false");
    rig.manifests.write("open.yaml", &[tls_secret("open", &["open.test"]), object.build()]);
}

/// Prepares settings, nginx and a backend; returns a client that trusts it.
async fn prepare(rig: &mut Rig) -> Signed {
    rig.nginx.serve_streams(&rig.daemon.root());
    rig.daemon.set("tls.passthrough", "true");
    let authority = Authority::new("of the backends");
    serve(&authority.signs_host("passed.test")).await;
    pods(rig, &[POD]);
    open(rig);
    pass(rig, true);
    trusting(&authority)
}

/// The end of a TLS connection: the address of the pod that showed its own certificate, or `here`
/// where nginx terminated it.
async fn reached(request: Request) -> Result<String, Failure> {
    let reply = request.try_send().await?;
    let echo = reply.try_echo();
    Ok(match echo {
        Some(echo) if reply.peer.is_some_and(|peer| peer.names == ["passed.test"]) => echo.address.ip().to_string(),
        Some(_) => "here".to_owned(),
        None => reply.status.to_string(),
    })
}

async fn until_reached(url: &str, expected: &str) {
    let ask = async || reached(get(url)).await.unwrap_or_else(|failure| format!("{failure}"));
    wait::until_right(&format!("{url} to reach {expected}"), ask, |found| found == expected).await;
}

async fn conflicts(rig: &mut Rig, what: &str) -> Vec<String> {
    let status = rig.daemon.status_when(what, |status| reports(status, "Ingress passed", "ClosedRoute")).await;
    notes(&status, "Ingress passed", "ClosedRoute")
}

#[test]
fn one_host_is_passed_through_and_others_see_their_clients() {
    rig::run(async |rig| {
        let trusting = prepare(rig).await;
        let within = ingress("within").host("open.wild.test", "web");
        rig.manifests.write("wild.yaml", &[passed("wild", "*.wild.test").build(), within.build()]);
        let listed = ingress("listed").host("listed.test", "web").annotation("allowlist-source-range", "10.244.5.0/24");
        rig.manifests.write("listed.yaml", &[listed.build()]);
        rig.start().await;
        let status = rig.daemon.status().await.unwrap();
        assert!(!reports(&status, "Ingress passed", "UnsupportedAnnotation"), "{status:#}");

        // A client sees the certificate of the backend, over both address families.
        for to in ["127.0.0.1", "::1"].map(|to| to.parse::<std::net::IpAddr>().unwrap()) {
            let seen = get("https://passed.test/").to(to).showing(&trusting).send().await.echo();
            assert_eq!((seen.address.ip().to_string().as_str(), seen.header("x-real-ip")), (POD, None));
        }
        for (host, expected) in [
            ("passed.test", POD),
            ("PASSED.TEST", POD),
            ("a.wild.test", POD),
            // A wildcard stands for one label, and an exact name takes precedence over it.
            ("b.a.wild.test", "404"),
            ("open.wild.test", "here"),
            ("open.test", "here"),
            ("unknown.test", "404"),
        ] {
            let request = get("https://passed.test/").sni(Some(host)).header("host", &host.to_lowercase());
            assert_eq!(reached(request).await.unwrap(), expected, "{host}");
        }
        let nameless = get("https://unknown.test/").sni(None).send().await;
        assert_eq!(nameless.status, 404, "without a name TLS ends here");

        for http2 in [false, true] {
            for (from, to) in [("10.244.5.5", "127.0.0.1"), ("::1", "::1")] {
                let request = get("https://open.test/").from(from).to(to.parse::<std::net::IpAddr>().unwrap());
                let request = request.header("x-forwarded-for", "1.2.3.4");
                let seen = if http2 { request.http2() } else { request }.send().await.echo();
                for (name, value) in [
                    ("x-real-ip", from),
                    ("x-forwarded-for", from),
                    ("x-forwarded-port", "443"),
                    ("x-forwarded-proto", "https"),
                ] {
                    assert_eq!(seen.header(name), Some(value), "{name} from {from}, HTTP/2: {http2}");
                }
            }
        }
        for (from, expected) in [("10.244.5.5", 200), ("10.244.6.6", 403), ("127.0.0.1", 403)] {
            let request = get("https://listed.test/").from(from).header("x-forwarded-for", "10.244.5.5");
            assert_eq!(request.send().await.status, expected, "{from}");
        }
        // Over plain http it is served as before, with TLS towards the backend.
        let plain = get("http://passed.test/").from("10.244.5.5").send().await.echo();
        assert_eq!((plain.address.ip().to_string().as_str(), plain.header("x-real-ip")), (POD, Some("10.244.5.5")));
    });
}

#[test]
fn what_is_under_way_goes_on_while_pods_and_hosts_change() {
    rig::run(async |rig| {
        let trusting = prepare(rig).await;
        rig.start().await;
        let whole = get("https://passed.test/?size=67108864").showing(&trusting).send().await;
        assert_eq!(whole.body.len(), 64 << 20);
        let sent = post("https://passed.test/", vec![b'x'; 8 << 20]).showing(&trusting).send().await.echo();
        assert_eq!(sent.body_length, 8 << 20);
        let mut through = get("https://passed.test/").open_websocket().await.unwrap();
        let mut opened = get("https://open.test/").open_websocket().await.unwrap();
        assert_eq!(through.say("a").await.unwrap(), opened.say("a").await.unwrap());

        pods(rig, &[OTHER_POD]);
        until_reached("https://passed.test/", OTHER_POD).await;
        // Without a pod no other backend gets the connection.
        pods(rig, &[]);
        let closed = async || reached(get("https://passed.test/")).await;
        let ended = wait::until_right("the end of connections", closed, |found| matches!(found, Err(Failure::Tls(_))));
        drop(ended.await);
        rig.daemon.status_when("the missing pod", |status| reports(status, "Ingress passed", "NoEndpoints")).await;
        assert_eq!(reached(get("https://open.test/")).await.unwrap(), "here");
        pods(rig, &[POD]);
        until_reached("https://passed.test/", POD).await;

        pass(rig, false);
        until_reached("https://passed.test/", "here").await;
        rig.manifests.remove("passed.yaml");
        until_reached("https://passed.test/", "404").await;
        assert_eq!(through.say("b").await.unwrap(), opened.say("b").await.unwrap());
        assert!(!rig.daemon.root().join("current/stream/passthrough-10247.conf").exists());
    });
}

#[test]
fn no_connection_is_refused_while_hosts_come_and_go() {
    rig::run(async |rig| {
        prepare(rig).await;
        pass(rig, false);
        rig.start().await;
        let server = rig.daemon.root().join("current/http/server-exact-open.test.conf");
        let before = fs::read_to_string(&server).unwrap();
        let load = Load::new(&[get("https://open.test/"), get("http://open.test/")]).start();
        for is_passed in [true, false, true, false] {
            pass(rig, is_passed);
            until_reached("https://passed.test/", if is_passed { POD } else { "here" }).await;
            // The confirmed generation has no workers of the one before.
            rig.nginx.settled_workers().await;
        }
        let report = load.stop().await;
        assert!(report.failures.is_empty() && report.fresh > 0, "{report:#?}");
        // Connections that are open keep the ports until the next change, after which nothing is
        // left.
        rig.manifests.write("next.yaml", &[ingress("next").host("next.test", "web").build()]);
        rig.daemon.confirmed("next").await;
        assert!(TcpStream::connect("127.0.0.1:10247").await.is_err());
        assert_eq!(fs::read_to_string(&server).unwrap(), before);
    });
}

#[test]
fn load_balancers_name_clients_by_the_proxy_protocol() {
    const BALANCER: &str = "10.244.9.9";
    const STRANGER: &str = "10.244.8.8";
    rig::run(async |rig| {
        prepare(rig).await;
        rig.daemon.set("listen.proxy-protocol", "true");
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24"]"#);
        rig.start().await;
        for (client, header) in [
            ("192.0.2.77", "PROXY TCP4 192.0.2.77 198.51.100.1 50000 443\r\n"),
            ("2001:db8::77", "PROXY TCP6 2001:db8::77 2001:db8::1 50000 443\r\n"),
        ] {
            for (from, seen_client) in [(BALANCER, client), (STRANGER, STRANGER)] {
                for scheme in ["http", "https"] {
                    let request = get(&format!("{scheme}://open.test/")).from(from).behind(header);
                    let seen = request.header("x-forwarded-for", "1.2.3.4").send().await.echo();
                    assert_eq!(seen.header("x-real-ip"), Some(seen_client), "{scheme} from {from} for {client}");
                    // nginx trusts the balancer that its client connected to the port for https.
                    let reported = if from == BALANCER { "https" } else { scheme };
                    assert_eq!(seen.header("x-forwarded-proto"), Some(reported), "{scheme} from {from}");
                }
                let through = get("https://passed.test/").from(from).behind(header);
                assert_eq!(reached(through).await.unwrap(), POD, "the backend gets no such header");
            }
        }
        assert!(get("https://open.test/").try_send().await.is_err(), "whoever does not speak it gets nothing");
    });
}

#[test]
fn trusted_proxies_name_clients_by_headers() {
    const PROXY: &str = "10.244.9.9";
    const STRANGER: &str = "10.244.8.8";
    rig::run(async |rig| {
        prepare(rig).await;
        // A proxy on this host is trusted, too: requests of nginx itself must not be confused with
        // its requests.
        rig.daemon.set("access.trusted-proxies", r#"["10.244.9.0/24", "127.0.0.0/8"]"#);
        let listed = ingress("listed").host("listed.test", "web").annotation("allowlist-source-range", "192.0.2.0/24");
        rig.manifests.write("listed.yaml", &[listed.build()]);
        rig.start().await;
        for scheme in ["http", "https"] {
            for (from, client, host) in [
                (PROXY, "192.0.2.77", "shown.test"),
                ("127.0.0.1", "192.0.2.77", "shown.test"),
                (STRANGER, STRANGER, "open.test"),
            ] {
                let request = get(&format!("{scheme}://open.test/")).from(from);
                let request = request.header("x-forwarded-for", "192.0.2.77").header("x-forwarded-host", "shown.test");
                let seen = request.header("x-forwarded-proto", "https").send().await.echo();
                let reported = if from == STRANGER { scheme } else { "https" };
                for (name, value) in
                    [("x-real-ip", client), ("x-forwarded-host", host), ("x-forwarded-proto", reported)]
                {
                    assert_eq!(seen.header(name), Some(value), "{name} over {scheme} from {from}");
                }
                let listed =
                    get(&format!("{scheme}://listed.test/")).from(from).header("x-forwarded-for", "192.0.2.77");
                let expected = if from == STRANGER { 403 } else { 200 };
                assert_eq!(listed.send().await.status, expected, "{scheme} from {from}");
            }
        }
        for from in [PROXY, STRANGER] {
            assert_eq!(reached(get("https://passed.test/").from(from)).await.unwrap(), POD);
        }
    });
}

#[test]
fn other_sites_of_the_port_keep_it_and_the_host_alone_is_closed() {
    rig::run(async |rig| {
        prepare(rig).await;
        let (chain, key) = (rig.folder().join("site.pem"), rig.folder().join("site.key"));
        let made = rcgen::generate_simple_self_signed(["site.test".to_owned()]).unwrap();
        fs::write(&chain, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let site = format!(
            "server {{ listen 443 ssl; server_name site.test; ssl_certificate {}; ssl_certificate_key {}; return 200 site; }}\n",
            chain.display(),
            key.display()
        );
        rig.nginx.write_site("site.conf", &site);
        rig.start().await;
        let reported = conflicts(rig, "the conflict").await;
        assert!(reported.iter().any(|note| note.contains("site.conf:1")), "{reported:?}");
        for (url, expected) in [
            ("https://site.test/", 200),
            ("https://open.test/", 200),
            ("http://open.test/", 200),
            ("https://passed.test/", 503),
            ("http://passed.test/", 503),
        ] {
            assert_eq!(get(url).send().await.status, expected, "{url}");
        }
        // As soon as the site has gone elsewhere, the host is served.
        rig.nginx.write_site("site.conf", &site.replace("443", "8444"));
        until_reached("https://passed.test/", POD).await;
    });
}

#[test]
fn without_the_module_the_host_is_closed_until_it_is_there() {
    rig::run(async |rig| {
        let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
        prepare(rig).await;
        let complete = fs::read_to_string(rig.nginx.configuration()).unwrap();
        fs::write(rig.nginx.configuration(), &configuration).unwrap();
        rig.start().await;
        let reported = conflicts(rig, "the missing module").await;
        assert!(reported.iter().any(|note| note.contains("libnginx-mod-stream")), "{reported:?}");
        assert_eq!(get("https://passed.test/").send().await.status, 503);
        assert_eq!(reached(get("https://open.test/")).await.unwrap(), "here");
        fs::write(rig.nginx.configuration(), complete).unwrap();
        until_reached("https://passed.test/", POD).await;
    });
}

#[test]
fn a_port_that_a_program_has_is_reported_and_taken_when_it_is_free() {
    rig::run(async |rig| {
        prepare(rig).await;
        let program = TcpListener::bind("127.0.0.1:10247").await.unwrap();
        rig.start().await;
        let reported = conflicts(rig, "the port").await;
        assert!(reported.iter().any(|note| note.contains("listen.passthrough-port")), "{reported:?}");
        assert_eq!(reached(get("https://open.test/")).await.unwrap(), "here");
        drop(program);
        until_reached("https://passed.test/", POD).await;
        // A port that nginx already has counts as its own, also for a daemon that has just
        // started.
        rig.daemon.stop().await;
        rig.daemon.start();
        rig.daemon.ready().await;
        assert!(!reports(&rig.daemon.status().await.unwrap(), "Ingress passed", "ClosedRoute"));
        assert_eq!(reached(get("https://passed.test/")).await.unwrap(), POD);
    });
}

#[test]
fn nothing_is_passed_unless_the_administrator_allows_it() {
    rig::run(async |rig| {
        prepare(rig).await;
        rig.daemon.set("tls.passthrough", "false");
        rig.start().await;
        let status = rig.daemon.status().await.unwrap();
        let reported = notes(&status, "Ingress passed", "RefusedValue");
        assert!(reported.iter().any(|note| note.contains("tls.passthrough")), "{reported:?}");
        assert_eq!(get("https://passed.test/").send().await.status, 404);
        let stream = fs::read_dir(rig.daemon.root().join("current/stream")).map_or(0, Iterator::count);
        assert_eq!(stream, 0, "nothing is written for a stream");
    });
}

#[test]
fn a_service_cannot_lead_to_nginx_itself() {
    rig::run(async |rig| {
        prepare(rig).await;
        rig.daemon.set("upstreams.local", "true");
        let slice = |port: u16| -> [Value; 2] {
            let mut service = service("secure", port);
            service["spec"]["ports"][0]["targetPort"] = json!(port);
            [service, endpoint_slice("secure", &["127.0.0.1", "127.0.0.3"], port)]
        };
        for port in [443, 10247] {
            rig.manifests.write("secure.yaml", &slice(port));
            if port == 443 {
                rig.start().await;
            }
            let reported = |status: &Value| {
                let reported = notes(status, "Ingress passed", "ForbiddenTarget");
                reported
                    .iter()
                    .any(|note| note.contains(&format!(":{port}")) && note.contains("a port of ingressd or its nginx"))
            };
            rig.daemon.status_when("the loop", reported).await;
            assert!(matches!(reached(get("https://passed.test/")).await, Err(Failure::Tls(_))), "{port}");
        }
    });
}
