//! Authentication by another service, through the real nginx.

use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use rig::Rig;
use rig::backends::read_head;
use rig::client::{Reply, Request, get, post};
use rig::manifests::{Ingress, ingress, secret, service_at};
use rig::status::reports;

/// Where the service is.
pub const SERVICE: &str = "10.244.3.1";
pub const PORT: u16 = 18081;
/// The password is `secret`, by `openssl passwd -apr1`.
pub const HASH: &str = "$apr1$ingressd$yUwEQ6DErlP6TQvhuj7Mm0";

/// A question as it came.
#[derive(Debug, Clone)]
pub struct Question {
    pub line: String,
    headers: Vec<(String, String)>,
    /// What came behind the head: a body, or the beginning of another request.
    pub rest: usize,
    /// The number of its connection.
    pub connection: usize,
    /// The name in the handshake.
    pub name: Option<String>,
}

impl Question {
    /// A header of it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A service that answers with the status in the header `want` of the request, and keeps what it
/// was asked.
pub struct Service {
    asked: Arc<Mutex<Vec<Question>>>,
    task: JoinHandle<()>,
}

impl Service {
    pub async fn start() -> Self {
        Self::start_at(SERVICE, PORT, None).await
    }

    /// Starts the service at another address, perhaps with TLS.
    pub async fn start_at(address: &str, port: u16, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind((address, port)).await.unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            // The connections end with this task.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (number, shared, tls) = (connections.len(), Arc::clone(&shared), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => answer(stream, number, None, shared).await,
                        Some(acceptor) => {
                            let Ok(stream) = acceptor.accept(stream).await else { return };
                            let name = stream.get_ref().1.server_name().map(str::to_owned);
                            answer(stream, number, name, shared).await;
                        }
                    }
                });
            }
        });
        Service { asked, task }
    }

    /// The requests to the service since the last call.
    pub fn asked(&self) -> Vec<Question> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers one question after the other, as long as the connection is there.
async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    name: Option<String>,
    asked: Arc<Mutex<Vec<Question>>>,
) {
    let mut bytes = Vec::new();
    loop {
        let Some(head) = read_head(&mut stream, &mut bytes).await else { return };
        let mut lines = head.split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let headers =
            lines.filter_map(|line| line.split_once(": ")).map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (headers, rest) = (headers.collect(), bytes.len());
        let question = Question { line, headers, rest, connection, name: name.clone() };
        let status = question.header("want").unwrap_or("200").to_owned();
        let (length, body) = match question.line.as_str() {
            _ if status == "204" => ("", ""),
            line if line.contains("/empty") => ("Content-Length: 0\r\n", ""),
            line if line.starts_with("HEAD") => ("Content-Length: 2\r\n", ""),
            _ => ("Content-Length: 2\r\n", "ok"),
        };
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(question);
        let text = format!(
            "HTTP/1.1 {status} Said\r\n{length}X-User: ann\r\nX-Secret: no\r\nSet-Cookie: session=1\r\n\r\n{body}"
        );
        // nginx from 1.23 on joins several lines so.
        let text = if head.contains("several") { text.replace("session=1", SEVERAL) } else { text };
        // A cached response may have no cookie.
        let text = if head.contains("remembered") { text.replace("Set-Cookie: session=1\r\n", "") } else { text };
        if stream.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// A URL of the service.
pub fn url(path: &str) -> String {
    format!("http://{SERVICE}:{PORT}{path}")
}

pub fn protected(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "web").annotation("auth-url", &url("/check"))
}

/// A request that the service answers with this status.
pub fn want(request: Request, status: u16) -> Request {
    request.header("want", &status.to_string())
}

/// A request with the right password.
pub fn with_password(request: Request) -> Request {
    let encoded = base64::engine::general_purpose::STANDARD.encode("ann:secret");
    request.header("Authorization", &format!("Basic {encoded}"))
}

const SEVERAL: &str = "session=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Path=/, _b-2=x=y, c=3; HttpOnly";

fn cookies(reply: &Reply) -> usize {
    reply.headers.get_all("set-cookie").iter().count()
}

#[test]
fn only_clients_that_the_service_lets_in_are_let_in() {
    rig::run(async |rig| {
        let service = Service::start().await;
        let headers = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "headers"},
            "data": {"X-Realm": "staff 'of' \"$host\"; }"}
        });
        let full = protected("full")
            .annotation("auth-method", "POST")
            .annotation("auth-url", &url("/check?u=$escaped_request_uri"))
            .annotation("auth-signin", "https://login.example.com/start?x=1")
            .annotation("auth-response-headers", "X-User, X-Absent")
            .annotation("auth-always-set-cookie", "true")
            .annotation("auth-proxy-set-headers", "headers")
            .annotation("auth-request-redirect", "/back")
            .annotation("custom-http-errors", "401,403,500")
            .annotation("proxy-body-size", "1m");
        rig.manifests.write(
            "auth.yaml",
            &[headers, protected("plain").build(), full.build(), ingress("open").host("open.test", "web").build()],
        );
        rig.start().await;

        let reply = get("http://plain.test/a?b=c").header("several", "cookies").send().await;
        let several: Vec<_> = reply.headers.get_all("set-cookie").iter().collect();
        assert_eq!(several, ["session=1; Expires=Wed, 21 Oct 2099 07:28:00 GMT; Path=/", "_b-2=x=y", "c=3; HttpOnly"]);
        service.asked();

        let reply = get("http://plain.test/a?b=c").header("X-Original-URL", "http://evil/").send().await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("set-cookie"), Some("session=1"));
        let [question] = &service.asked()[..] else { panic!("it is asked once") };
        assert_eq!((question.line.as_str(), question.rest), ("GET /check HTTP/1.1", 0));
        for (name, value) in [
            ("Host", Some("10.244.3.1:18081")),
            ("X-Original-URL", Some("http://plain.test/a?b=c")),
            ("X-Original-URI", Some("/a?b=c")),
            ("X-Original-Method", Some("GET")),
            ("X-Sent-From", Some("nginx-ingress-controller")),
            ("X-Auth-Request-Redirect", Some("/a?b=c")),
            ("X-Real-IP", Some("127.0.0.1")),
            ("Connection", None),
            ("Content-Length", None),
        ] {
            assert_eq!(question.header(name), value, "{name}");
        }
        for (said, expected) in [(204, 200), (401, 401), (403, 403), (302, 500), (404, 500), (500, 500)] {
            let reply = want(get("http://plain.test/"), said).send().await;
            assert_eq!(reply.status, expected, "{said}");
            assert_eq!(cookies(&reply), usize::from(expected == 200), "{said}");
        }
        service.asked();

        // A body reaches the backend and not the service, however large.
        let reply = post("http://full.test/a%20b?c=d&e=f", vec![b'x'; 500_000]).header("X-User", "eve").send().await;
        assert_eq!((reply.status, reply.echo().body_length), (200, 500_000));
        assert_eq!(reply.echo().header("x-user"), Some("ann"));
        assert_eq!(reply.echo().header("x-secret"), None);
        let [question] = &service.asked()[..] else { panic!("it is asked once") };
        assert_eq!(question.line, "POST /check?u=/a%2520b?c=d%26e=f HTTP/1.1");
        assert_eq!((question.header("Content-Length"), question.rest), (None, 0));
        assert_eq!(question.header("X-Original-Method"), Some("POST"));
        assert_eq!(question.header("X-Realm"), Some("staff 'of' \"full.test\"; }"));
        assert_eq!(question.header("X-Auth-Request-Redirect"), Some("/back"));
        // A header that the service does not send is not taken from the client.
        let reply = get("http://full.test/").header("X-Absent", "forged").send().await;
        assert_eq!(reply.echo().header("x-absent"), None);

        let reply = want(get("http://full.test/a?b=1&c=%26"), 401).send().await;
        let back = "https://login.example.com/start?x=1&rd=http://full.test/a?b=1%26c=%2526";
        assert_eq!((reply.status, reply.header("location")), (302, Some(back)));
        assert_eq!(cookies(&reply), 1);
        let reply = want(get("http://full.test/"), 403).send().await;
        assert_eq!((reply.status, cookies(&reply)), (403, 1));
        // A URL that is too long to be encoded leads clients back to the root of the host.
        let long = format!("http://full.test/?{}", "a&".repeat(40));
        let reply = want(get(&long), 401).send().await;
        assert!(reply.header("location").unwrap().ends_with("&rd=http://full.test%2F"), "{:?}", reply.headers);

        // For a WebSocket the service is asked once, and without the upgrade.
        service.asked();
        let mut socket = get("http://plain.test/").open_websocket().await.unwrap();
        assert_eq!(socket.say("hello").await.unwrap(), "hello");
        let [question] = &service.asked()[..] else { panic!("it is asked once") };
        assert_eq!((question.header("Upgrade"), question.header("Connection")), (None, None));
        assert!(want(get("http://plain.test/"), 401).open_websocket().await.is_err());

        // No client reaches the location of the questions.
        let name =
            std::fs::read_to_string(rig.daemon.root().join("current/http/server-exact-plain.test.conf")).unwrap();
        let name = name.split("location = \"").find(|text| text.starts_with("ingressd-auth-")).unwrap();
        let name = name.split('"').next().unwrap();
        for path in [format!("/{name}"), format!("/x/../{name}")] {
            service.asked();
            let reply = want(get(&format!("http://plain.test{path}")), 401).send().await;
            assert_eq!((reply.status, service.asked().len()), (401, 1), "{path}");
        }

        // A service that is down admits no client.
        drop(service);
        for request in [get("http://plain.test/"), get("http://full.test/")] {
            assert_eq!(request.send().await.status, 500);
        }
        assert_eq!(get("http://open.test/").send().await.status, 200);
    });
}

#[test]
fn answers_are_remembered_by_their_key() {
    rig::run(async |rig| {
        let service = Service::start().await;
        let remembered = |name: &str| {
            protected(name)
                .annotation("auth-url", &url("/remembered"))
                .annotation("auth-cache-key", "$http_authorization")
                .annotation("auth-cache-duration", "200 1m, 401 1m")
                .annotation("auth-response-headers", "X-User")
        };
        rig.manifests.write("auth.yaml", &[remembered("one").build(), remembered("two").build()]);
        rig.start().await;
        let ask = async |host: &str, user: &str, status: u16| {
            let reply = want(get(&format!("http://{host}.test/")).header("Authorization", user), status).send().await;
            (reply.status, reply.try_echo().and_then(|echo| echo.header("x-user").map(str::to_owned)))
        };
        let user = Some("ann".to_owned());
        for _ in 0..3 {
            assert_eq!(ask("one", "ann", 200).await, (200, user.clone()));
        }
        assert_eq!(service.asked().len(), 1);
        // Neither another client nor another host has the answer.
        assert_eq!(ask("one", "eve", 401).await.0, 401);
        assert_eq!(ask("two", "ann", 401).await.0, 401);
        assert_eq!(service.asked().len(), 2);
        assert_eq!(ask("one", "eve", 200).await.0, 401, "it is remembered, too");
        assert_eq!(service.asked().len(), 0);
        // A response with a status that is not cached is requested again.
        for _ in 0..2 {
            assert_eq!(ask("one", "bob", 403).await.0, 403);
        }
        assert_eq!(service.asked().len(), 2);
    });
}

#[test]
fn one_way_of_several_is_enough_where_that_is_said() {
    rig::run(async |rig| {
        let _service = Service::start().await;
        let users = secret("users", "Opaque", &[("auth", &format!("ann:{HASH}\n"))]);
        let all = |name: &str, satisfy: &str| {
            protected(name)
                .annotation("auth-type", "basic")
                .annotation("auth-secret", "users")
                .annotation("satisfy", satisfy)
        };
        let long: Vec<_> = (0..60).map(|number| format!("10.{number}.0.0/16")).collect();
        let inside = "127.0.0.5/32";
        rig.manifests.write(
            "auth.yaml",
            &[
                users,
                all("all", "all").annotation("allowlist-source-range", inside).build(),
                all("any", "any").annotation("allowlist-source-range", inside).build(),
                all("long", "any")
                    .annotation("allowlist-source-range", &format!("{},{inside}", long.join(",")))
                    .build(),
                all("denied", "any").annotation("denylist-source-range", inside).build(),
                all("two", "any").build(),
            ],
        );
        rig.start().await;
        // Host; from inside, with a password, let in by the service; the status.
        for (host, is_inside, has_password, is_let_in, expected) in [
            ("all", true, true, true, 200),
            ("all", false, true, true, 403),
            ("all", true, false, true, 401),
            ("all", true, true, false, 401),
            ("any", true, false, false, 200),
            ("any", false, true, false, 200),
            ("any", false, false, true, 200),
            ("any", false, false, false, 401),
            ("long", true, false, false, 200),
            ("long", false, true, false, 200),
            ("long", false, false, true, 200),
            ("long", false, false, false, 401),
            ("denied", true, false, false, 401),
            ("denied", false, false, false, 401),
            ("denied", false, true, false, 200),
            ("denied", true, false, true, 200),
            ("two", false, false, false, 401),
            ("two", false, true, false, 200),
            ("two", false, false, true, 200),
        ] {
            let from = if is_inside { "127.0.0.5" } else { "127.0.0.6" };
            let request = want(get(&format!("http://{host}.test/")).from(from), if is_let_in { 200 } else { 401 });
            let request = if has_password { with_password(request) } else { request };
            let row = (host, is_inside, has_password, is_let_in);
            assert_eq!(request.send().await.status, expected, "{row:?}");
        }
    });
}

fn controller(rig: &Rig, data: &Value) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "controller"}, "data": data});
    rig.manifests.write("controller.yaml", &[map]);
}

#[test]
fn the_administrator_has_a_service_for_all_hosts() {
    rig::run(async |rig| {
        let service = Service::start().await;
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        let plain = |name: &str| ingress(name).class("nginx").host(&format!("{name}.test"), "web");
        controller(
            rig,
            &json!({"global-auth-url": url("/everywhere"), "global-auth-method": "HEAD",
            "global-auth-response-headers": "X-User", "global-auth-signin": "https://login.example.com/",
            "global-auth-signin-redirect-param": "back", "global-auth-request-redirect": "/start",
            "global-auth-always-set-cookie": "true"}),
        );
        rig.manifests.write(
            "auth.yaml",
            &[
                plain("covered").path("covered.test", "Exact", "/.well-known/acme-challenge/token", "web").build(),
                plain("out").annotation("enable-global-auth", "false").build(),
                protected("own").build(),
                plain("typo").annotation("enable-global-auth", "no").build(),
            ],
        );
        rig.start().await;
        let ask = async |url: &str| {
            let reply = want(get(url), 401).send().await;
            (reply.status, service.asked().iter().map(|question| question.line.clone()).collect::<Vec<_>>())
        };
        let asked = |line: &str| vec![format!("{line} HTTP/1.1")];
        assert_eq!(ask("http://covered.test/").await, (302, asked("HEAD /everywhere")));
        assert_eq!(ask("http://covered.test/.well-known/acme-challenge/token").await, (200, vec![]));
        assert_eq!(ask("http://out.test/").await, (200, vec![]));
        // The administrator's settings are not used with the object's own service.
        assert_eq!(ask("http://own.test/").await, (401, asked("GET /check")));
        // A value that is neither true nor false counts as the default, as in ingress-nginx.
        assert_eq!(ask("http://typo.test/").await, (302, asked("HEAD /everywhere")));
        assert_eq!(get("http://covered.test/").send().await.echo().header("x-user"), Some("ann"));
        let reply = want(get("http://covered.test/a"), 401).send().await;
        assert_eq!(reply.header("location"), Some("https://login.example.com/?back=http://covered.test/a"));
        let reply = get("http://covered.test/?status=404").send().await;
        assert_eq!((reply.status, cookies(&reply)), (404, 1));
        assert_eq!(service.asked().last().and_then(|asked| asked.header("X-Auth-Request-Redirect")), Some("/start"));

        controller(
            rig,
            &json!({"global-auth-url": url("/everywhere"), "no-auth-locations": "/public,/also",
            "global-auth-cache-key": "$http_remembered", "global-auth-cache-duration": "200 5m"}),
        );
        rig.manifests.write(
            "more.yaml",
            &[ingress("more")
                .class("nginx")
                .path("more.test", "Prefix", "/public/x", "web")
                .path("more.test", "Prefix", "/publicly", "web")
                .build()],
        );
        rig.daemon.confirmed("more").await;
        assert_eq!(get("http://more.test/public/x").send().await.status, 200);
        service.asked();
        assert_eq!(ask("http://more.test/publicly").await.0, 401);
        for _ in 0..3 {
            let known = get("http://more.test/publicly").header("Remembered", "remembered");
            assert_eq!(known.send().await.status, 200);
        }
        assert_eq!(service.asked().len(), 1, "the answer is remembered");

        // A value that cannot be used opens nothing: the last good version counts.
        controller(rig, &json!({"global-auth-url": "ftp://nowhere/"}));
        rig.daemon
            .status_when("the bad value to be told", |status| {
                reports(status, "ConfigMap controller", "InvalidSecurityValue")
            })
            .await;
        assert_eq!(ask("http://covered.test/").await.0, 401);
    });
}

#[test]
fn a_service_of_the_cluster_and_a_path_of_the_same_host_are_asked() {
    rig::run(async |rig| {
        let service = Service::start().await;
        let [object, slice] = service_at("auth", &[SERVICE], PORT);
        let named = "http://auth.default.svc.cluster.local/check";
        let same = "https://$host/oauth2/check?x=1";
        let loops = ingress("loops").class("nginx").host("loops.test", "web");
        rig.manifests.write(
            "auth.yaml",
            &[
                object,
                slice,
                ingress("named").host("named.test", "web").annotation("auth-url", named).build(),
                ingress("foreign")
                    .namespace("other")
                    .class("nginx")
                    .host("foreign.test", "web")
                    .annotation("auth-url", named)
                    .build(),
                ingress("same").class("nginx").host("same.test", "web").annotation("auth-url", same).build(),
                ingress("same-service").class("nginx").path("same.test", "Prefix", "/oauth2", "auth").build(),
                loops.annotation("auth-url", same).build(),
                ingress("loopback")
                    .host("loopback.test", "web")
                    .annotation("auth-url", "http://127.0.0.1:8080/")
                    .build(),
            ],
        );
        rig.start().await;
        for (host, line) in [("named", "GET /check HTTP/1.1"), ("same", "GET /oauth2/check?x=1 HTTP/1.1")] {
            let url = format!("http://{host}.test/");
            assert_eq!(get(&url).send().await.status, 200, "{host}");
            assert_eq!(want(get(&url), 401).send().await.status, 401, "{host}");
            let lines: Vec<_> = service.asked().into_iter().map(|question| question.line).collect();
            assert_eq!(lines, [line, line], "{host}");
        }
        for host in ["loops", "loopback", "foreign"] {
            assert_eq!(get(&format!("http://{host}.test/")).send().await.status, 503, "{host}");
        }
        assert_eq!(service.asked().len(), 0);
        for (name, reason) in [("loops", "ClosedRoute"), ("loopback", "ForbiddenTarget"), ("foreign", "CrossNamespace")]
        {
            rig.daemon.status_when(name, |status| reports(status, &format!("Ingress {name}"), reason)).await;
        }
    });
}
