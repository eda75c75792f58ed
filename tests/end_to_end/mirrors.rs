//! Mirrored requests, through the real nginx.

use rig::backends::read_head;
use rig::client::{get, grpc_check, post};
use rig::manifests::{Ingress, in_namespace, ingress, service_at};
use rig::status::reports;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Where the service is.
const ADDRESS: &str = "10.244.3.1";
const PORT: u16 = 18081;
/// A path of which the service answers nothing.
const SILENT: &str = "/silent";

/// A request as it came.
#[derive(Debug)]
struct Seen {
    line: String,
    headers: Vec<(String, String)>,
    body: usize,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// A service that tells what it gets. Its answer names the client when the request asks for that.
struct Service {
    seen: UnboundedReceiver<Seen>,
    task: JoinHandle<()>,
}

impl Service {
    async fn start() -> Self {
        let listener = TcpListener::bind((ADDRESS, PORT)).await.unwrap();
        let (sender, seen) = unbounded_channel();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(take(stream, sender.clone()));
            }
        });
        Service { seen, task }
    }

    /// The next request.
    async fn next(&mut self) -> Seen {
        let next = tokio::time::timeout(rig::wait::LIMIT, self.seen.recv());
        next.await.expect("a request comes").expect("the service runs")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(mut stream: TcpStream, seen: UnboundedSender<Seen>) {
    let mut bytes = Vec::new();
    let Some(head) = read_head(&mut stream, &mut bytes).await else { return };
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default().to_owned();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let mut request = Seen { line, headers, body: bytes.len() };
    let length = request.header("Content-Length").map_or(0, |length| length.parse().unwrap());
    while request.body < length {
        bytes.clear();
        match stream.read_buf(&mut bytes).await.unwrap_or_default() {
            0 => break,
            some => request.body += some,
        }
    }
    let is_silent = request.line.contains(SILENT);
    let _ = seen.send(request);
    if !is_silent {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-User: ann\r\n\r\nok").await;
    }
    // The service waits until nginx closes the connection.
    let _ = stream.read_to_end(&mut bytes).await;
}

fn url(rest: &str) -> String {
    format!("http://{ADDRESS}:{PORT}{rest}")
}

fn mirrored(name: &str, target: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "web").annotation("mirror-target", target)
}

#[test]
fn a_service_gets_what_the_backend_gets() {
    rig::run(async |rig| {
        let mut service = Service::start().await;
        let mut objects = vec![
            mirrored("plain", &url("$request_uri")).annotation("proxy-body-size", "8m").build(),
            mirrored("bare", "http://shadow.default.svc/v2$request_uri")
                .annotation("mirror-host", "$host")
                .annotation("mirror-request-body", "off")
                .build(),
            mirrored("guarded", &url("/copy"))
                .annotation("auth-url", &url("/check"))
                .annotation("auth-response-headers", "X-User")
                .build(),
            mirrored("closed", &url("/closed")).annotation("denylist-source-range", "127.0.0.0/8").build(),
            mirrored("away", "http://10.244.3.9:18099").build(),
            mirrored("silent", &url(SILENT)).build(),
        ];
        objects.extend(service_at("shadow", &[ADDRESS], PORT));
        rig.manifests.write("mirrors.yaml", &objects);
        rig.start().await;

        // The body is larger than the usual limit.
        let large = vec![b'x'; 3_000_000];
        let reply = post("http://plain.test/a%20b?c=d", large).header("X-Some", "thing").send().await;
        assert_eq!((reply.status, reply.echo().body_length), (200, 3_000_000));
        let copy = service.next().await;
        assert_eq!((copy.line.as_str(), copy.body), ("POST /a%20b?c=d HTTP/1.1", 3_000_000));
        for (name, value) in [
            ("Host", Some("10.244.3.1:18081")),
            ("X-Some", Some("thing")),
            ("X-Real-IP", Some("127.0.0.1")),
            ("X-Forwarded-Host", Some("plain.test")),
            ("X-Ingress-Hops", Some("1")),
            ("Connection", Some("close")),
        ] {
            assert_eq!(copy.header(name), value, "{name}");
        }

        let reply = post("http://bare.test/a", vec![b'x'; 1000]).send().await;
        assert_eq!((reply.status, reply.echo().body_length), (200, 1000));
        let copy = service.next().await;
        assert_eq!((copy.line.as_str(), copy.body), ("POST /v2/a HTTP/1.1", 0));
        assert_eq!((copy.header("Host"), copy.header("Content-Length")), (Some("bare.test"), None));

        // The copy has the authenticated user as the backend does, whatever the client sends.
        let reply = get("http://guarded.test/").header("X-User", "eve").send().await;
        assert_eq!((reply.status, reply.echo().header("x-user")), (200, Some("ann")));
        assert_eq!(service.next().await.line, "GET /check HTTP/1.1");
        let copy = service.next().await;
        assert_eq!((copy.line.as_str(), copy.header("X-User")), ("GET /copy HTTP/1.1", Some("ann")));

        // A request that is not admitted is not copied: the next copy belongs to another request.
        // A copy has no upgrade.
        assert_eq!(get("http://closed.test/").send().await.status, 403);
        let mut socket = get("http://plain.test/chat").open_websocket().await.unwrap();
        assert_eq!(socket.say("hello").await.unwrap(), "hello");
        let copy = service.next().await;
        assert_eq!((copy.line.as_str(), copy.header("Upgrade")), ("GET /chat HTTP/1.1", None));

        // The client gets its answer also when the copy fails.
        assert_eq!(get("http://away.test/").send().await.status, 200);
        let request = get("http://silent.test/");
        let mut connection = request.connect().await.unwrap();
        assert_eq!(connection.send(&request).await.unwrap().status, 200);
        assert_eq!(service.next().await.line, "GET /silent HTTP/1.1");
        // The connection waits for the copy until nginx gives the copy up.
        assert_eq!(connection.send(&request).await.unwrap().status, 200);
        assert_eq!(service.next().await.line, "GET /silent HTTP/1.1");

        // No client reaches the location of the copies.
        let file = rig.daemon.root().join("current/http/server-exact-plain.test.conf");
        let text = std::fs::read_to_string(file).unwrap();
        let name = text.split("location = \"").find(|text| text.starts_with("ingressd-mirror-")).unwrap();
        let name = name.split('"').next().unwrap();
        for path in [format!("/{name}"), format!("/x/../{name}")] {
            let reply = get(&format!("http://plain.test{path}")).send().await;
            assert_eq!((reply.status, reply.echo().address.port()), (200, rig::ECHO), "{path}");
            assert!(service.next().await.line.contains(name));
        }
    });
}

#[test]
fn what_cannot_be_copied_is_served_and_reported() {
    rig::run(async |rig| {
        let mut service = Service::start().await;
        let rows = [
            ("loopback", "http://127.0.0.1:8080/", "MirrorLeftOut"),
            ("metadata", "http://169.254.169.254/latest", "MirrorLeftOut"),
            ("none", "http://none.default.svc/", "MirrorLeftOut"),
            ("unknown", "http://unknown.invalid/", "MirrorLeftOut"),
            ("foreign", "http://shadow.other.svc/", "CrossNamespace"),
            ("itself", "http://localhost:8080/", "InvalidValue"),
            ("chosen", "http://$http_x/", "InvalidValue"),
        ];
        let mut objects: Vec<_> = rows.iter().map(|(name, target, _)| mirrored(name, target).build()).collect();
        objects.extend(service_at("shadow", &[ADDRESS], PORT).map(|object| in_namespace("other", object)));
        objects.push(mirrored("typo", &url("/")).annotation("mirror-request-body", "false").build());
        objects.push(mirrored("alone", "").annotation("mirror-host", "a.test").build());
        objects.push(mirrored("rpc", &url("/rpc")).annotation("backend-protocol", "GRPC").build());
        objects.push(mirrored("good", &url("/good")).build());
        rig.manifests.write("mirrors.yaml", &objects);
        rig.start().await;
        let others = [("typo", "", "InvalidValue"), ("alone", "", "NoEffectAlone")];
        for (name, _, reason) in rows.iter().chain(&others) {
            let reply = get(&format!("http://{name}.test/")).header("X", ADDRESS).send().await;
            assert_eq!(reply.status, 200, "{name}");
            rig.daemon.status_when(name, |status| reports(status, &format!("Ingress {name}"), reason)).await;
        }
        let reply = grpc_check("https://rpc.test").send().await;
        assert_eq!(reply.trailers.get("grpc-status").unwrap(), "0", "{reply:?}");
        rig.daemon.status_when("rpc", |status| reports(status, "Ingress rpc", "UnsupportedAnnotation")).await;
        // None of these requests was copied.
        assert_eq!(get("http://good.test/").send().await.status, 200);
        assert_eq!(service.next().await.line, "GET /good HTTP/1.1");
    });
}
