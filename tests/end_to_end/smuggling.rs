//! Request smuggling: whatever protocol a route has, a message that nginx passes on has one
//! unambiguous end.

use rig::client::{get, post, raw, raw_http2};
use rig::manifests::{ingress, service_at, tls_secret};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const ADDRESS: &str = "10.244.3.9";
const PORT: u16 = 18082;
/// The request that an attacker hides in the body of another one.
const SMUGGLED: &str = "GET /smuggled HTTP/1.1\r\nHost: victim.test\r\n\r\n";

/// A request as the backend reads it: its line, the headers that say where it ends, and its body.
#[derive(Debug, PartialEq)]
struct Seen {
    line: String,
    ends: Vec<String>,
    body: String,
}

/// A backend that reads one request after the other from each connection, and reports each.
async fn serve(listener: TcpListener, seen: UnboundedSender<Seen>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(take(stream, seen.clone()));
    }
}

async fn take(mut stream: TcpStream, seen: UnboundedSender<Seen>) {
    let mut bytes = Vec::new();
    loop {
        let Some(head) = read_until(&mut stream, &mut bytes, b"\r\n\r\n").await else { return };
        let mut lines = head.trim_end().split("\r\n");
        let line = lines.next().unwrap_or_default().to_owned();
        let ends = lines.filter(|line| {
            let name = line.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            ["content-length", "transfer-encoding"].contains(&name.as_str())
        });
        let ends: Vec<_> = ends.map(str::to_owned).collect();
        let body = match ends.first().and_then(|end| end.split_once(": ")) {
            Some((_, "chunked")) => read_chunks(&mut stream, &mut bytes).await,
            Some((_, length)) => read(&mut stream, &mut bytes, length.parse().unwrap()).await,
            None => Some(String::new()),
        };
        let Some(body) = body else { return };
        let _ = seen.send(Seen { line, ends, body });
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.is_err() {
            return;
        }
    }
}

async fn read_until(stream: &mut TcpStream, bytes: &mut Vec<u8>, end: &[u8]) -> Option<String> {
    loop {
        if let Some(place) = bytes.windows(end.len()).position(|window| window == end) {
            return read(stream, bytes, place + end.len()).await;
        }
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>, length: usize) -> Option<String> {
    while bytes.len() < length {
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(String::from_utf8_lossy(&bytes.drain(..length).collect::<Vec<_>>()).into_owned())
}

/// The chunks of a body, put together.
async fn read_chunks(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<String> {
    let mut body = String::new();
    loop {
        let size = read_until(stream, bytes, b"\r\n").await?;
        let size = usize::from_str_radix(size.trim_end(), 16).ok()?;
        body += read(stream, bytes, size + 2).await?.strip_suffix("\r\n")?;
        if size == 0 {
            return Some(body);
        }
    }
}

async fn next(seen: &mut UnboundedReceiver<Seen>, what: &str) -> Seen {
    let next = tokio::time::timeout(rig::wait::LIMIT, seen.recv()).await;
    next.unwrap_or_else(|_| panic!("no request comes: {what}")).unwrap()
}

/// A request for a route with these lines, and what follows its head.
fn message(host: &str, lines: &str, rest: &str) -> String {
    format!("POST /first HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{lines}\r\n\r\n{rest}")
}

/// A frame of RFC 9113.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[0, length[0], length[1], kind, flags, 0, 0, 0, stream], payload].concat()
}

/// One request of HTTP/2 with these fields, each a literal of RFC 7541 as it stands, and this
/// body.
fn request(fields: &[(&str, &str)], body: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
    let fields: Vec<u8> = fields.iter().flat_map(|(name, value)| [vec![0], text(name), text(value)].concat()).collect();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    [preface, frame(4, 0, 0, &[]), frame(1, 4, 1, &fields), frame(0, 1, 1, body.as_bytes())].concat()
}

/// The parts of hostile messages.
struct Texts {
    /// The end of a body in chunks, and what is behind it.
    chunked: String,
    length: String,
    line: String,
    method: String,
}

impl Texts {
    fn new() -> Self {
        let chunked = format!("0\r\n\r\n{SMUGGLED}");
        Texts {
            length: chunked.len().to_string(),
            line: format!("/first HTTP/1.1\r\nHost: a\r\n\r\n{SMUGGLED}"),
            method: format!("{SMUGGLED}POST"),
            chunked,
        }
    }

    /// Fields of HTTP/2 beside or in the place of the usual ones, and a body.
    fn fields(&self) -> [(Vec<(&str, &str)>, &str); 12] {
        let Texts { chunked, length, line, method } = self;
        [
            (vec![("transfer-encoding", "chunked")], chunked),
            (vec![("content-length", "0")], SMUGGLED),
            (vec![("content-length", "100")], SMUGGLED),
            (vec![("content-length", "0"), ("content-length", "44")], SMUGGLED),
            (vec![("content-length", length), ("transfer-encoding", "chunked")], chunked),
            (vec![("x-a", "b\r\nTransfer-Encoding: chunked")], chunked),
            (vec![("x-a: b\r\ntransfer-encoding", "chunked")], chunked),
            (vec![("transfer-encoding ", "chunked")], chunked),
            (vec![("Transfer-Encoding", "chunked")], chunked),
            (vec![(":path", line)], ""),
            (vec![(":method", method)], ""),
            (vec![(":authority", "whole.test\r\n\r\nGET /smuggled HTTP/1.1")], ""),
        ]
    }

    /// Lines of HTTP/1.1 that contradict each other, and what follows the head.
    fn refused(&self) -> [(&str, &str); 13] {
        let chunked = &*self.chunked;
        [
            ("Content-Length: 4\r\nTransfer-Encoding: chunked", chunked),
            ("Transfer-Encoding: chunked\r\nContent-Length: 4", chunked),
            ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", chunked),
            ("Transfer-Encoding: chunked, identity\r\nContent-Length: 4", chunked),
            ("Transfer-Encoding: xchunked\r\nContent-Length: 4", chunked),
            ("Transfer-Encoding : chunked\r\nContent-Length: 4", chunked),
            ("Transfer-Encoding: \u{b}chunked\r\nContent-Length: 4", chunked),
            ("Content-Length: 0\r\nContent-Length: 44", SMUGGLED),
            ("Content-Length: +0", SMUGGLED),
            ("Content-Length: 0, 44", SMUGGLED),
            ("Content-Length: 0x0", SMUGGLED),
            ("Transfer-Encoding: chunked", "fffffffffffffffff\r\n"),
            ("Transfer-Encoding: chunked", "-1\r\n\r\n"),
        ]
    }
}

/// Fields of HTTP/2 with the usual ones that are not among them.
fn with_usual<'f>(own: &[(&'f str, &'f str)], host: &'f str) -> Vec<(&'f str, &'f str)> {
    let usual = [(":method", "POST"), (":scheme", "https"), (":path", "/first"), (":authority", host)];
    let usual = usual.into_iter().filter(|(name, _)| own.iter().all(|(other, _)| other != name));
    usual.chain(own.iter().copied()).collect()
}

/// Whether the answer to the only request is whole, or there will be none.
fn is_answered(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [_, high, low, kind, flags, _, _, _, stream, payload @ ..] = rest {
        let (is_last, is_reset) = (*stream == 1 && *kind < 2 && flags & 1 == 1, *kind == 3 || *kind == 7);
        let Some(next) = payload.get(usize::from(u16::from_be_bytes([*high, *low]))..) else { return false };
        if is_last || is_reset {
            return true;
        }
        rest = next;
    }
    false
}

#[test]
fn what_comes_by_http2_has_one_end_as_well() {
    rig::run(async |rig| {
        let (sender, mut seen) = unbounded_channel();
        let backend = tokio::spawn(serve(TcpListener::bind((ADDRESS, PORT)).await.unwrap(), sender));
        let mut objects = service_at("raw", &[ADDRESS], PORT).to_vec();
        let hosts = ["whole.test", "unbuffered.test"];
        objects.push(tls_secret("tls", &hosts));
        for (host, buffering) in hosts.iter().zip(["on", "off"]) {
            let route = ingress(&host.replace(".test", "")).class("nginx").host(host, "raw").tls(&[host], "tls");
            objects.push(route.annotation("proxy-request-buffering", buffering).build());
        }
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;

        let texts = Texts::new();
        let fields = texts.fields();
        for host in hosts {
            for (number, (own, body)) in fields.iter().enumerate() {
                let what = format!("{host}: {own:?} and {body:?}");
                let all = with_usual(own, host);
                raw_http2(([127, 0, 0, 1], 443).into(), host, &request(&all, body), is_answered).await;
                assert_eq!(get(&format!("https://{host}/after-{number}")).send().await.status, 200, "{what}");
                // No request reached the backend, or exactly one: bytes beyond its length are
                // gone, as the next request shows.
                let mut came = next(&mut seen, &what).await;
                if came.line.starts_with("POST /first ") {
                    assert!(came.ends.len() == 1 && body.starts_with(&came.body), "{what}: {came:?}");
                    came = next(&mut seen, &what).await;
                }
                assert!(came.line.starts_with(&format!("GET /after-{number} ")), "{what}: {came:?}");
            }
        }
        backend.abort();
    });
}

#[test]
fn what_is_passed_on_has_one_end() {
    rig::run(async |rig| {
        let (sender, mut seen) = unbounded_channel();
        let backend = tokio::spawn(serve(TcpListener::bind((ADDRESS, PORT)).await.unwrap(), sender));
        let ways: [(&str, &[(&str, &str)]); 4] = [
            ("plain", &[]),
            ("unbuffered", &[("proxy-request-buffering", "off"), ("proxy-buffering", "off")]),
            ("old", &[("proxy-http-version", "1.0")]),
            ("old-unbuffered", &[("proxy-http-version", "1.0"), ("proxy-request-buffering", "off")]),
        ];
        let mut objects = service_at("raw", &[ADDRESS], PORT).to_vec();
        for (name, annotations) in ways {
            let route = ingress(name).class("nginx").host(&format!("{name}.test"), "raw");
            let route = annotations.iter().fold(route, |route, (key, value)| route.annotation(key, value));
            objects.push(route.build());
        }
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;

        let texts = Texts::new();
        let refused = texts.refused();
        for (name, _) in ways {
            let host = format!("{name}.test");
            for (number, (lines, rest)) in refused.iter().enumerate() {
                let what = format!("{name}: {lines:?} and {rest:?}");
                let answer = raw(([127, 0, 0, 1], 80).into(), message(&host, lines, rest).as_bytes()).await;
                let answer = String::from_utf8_lossy(&answer).into_owned();
                let statuses: Vec<_> = answer.lines().filter(|line| line.starts_with("HTTP/1.")).collect();
                let is_refused = |line: &str| line.contains(" 400 ") || line.contains(" 501 ");
                assert!(statuses.len() == 1 && is_refused(statuses[0]), "{what}: {answer}");
                // Nothing of it came before, and nothing waits on a connection that is kept.
                assert_eq!(get(&format!("http://{host}/after-{number}")).send().await.status, 200, "{what}");
                let after = next(&mut seen, &what).await;
                assert!(after.line.starts_with(&format!("GET /after-{number} ")), "{what}: {after:?}");
                assert_eq!((after.ends.len(), &*after.body), (0, ""), "{what}");
            }
            // A valid message arrives as one request, with one end.
            let whole = format!("{:x}\r\n{SMUGGLED}\r\n0\r\n\r\n", SMUGGLED.len());
            let lines = [
                ("Transfer-Encoding: chunked".to_owned(), whole),
                (format!("Content-Length: {}", SMUGGLED.len()), SMUGGLED.to_owned()),
            ];
            for (lines, rest) in lines {
                let what = format!("{name}: {lines:?}");
                let answer = raw(([127, 0, 0, 1], 80).into(), message(&host, &lines, &rest).as_bytes()).await;
                assert!(answer.starts_with(b"HTTP/1.1 200 "), "{what}: {}", String::from_utf8_lossy(&answer));
                let first = next(&mut seen, &what).await;
                assert!(first.line.starts_with("POST /first ") && first.ends.len() == 1, "{what}: {first:?}");
                assert!(first.body == SMUGGLED, "{what}: {first:?}");
                assert!(seen.try_recv().is_err(), "{what}");
            }
        }
        backend.abort();
    });
}

#[test]
fn what_goes_by_grpc_has_one_end_as_well() {
    rig::run(async |rig| {
        let host = "grpc.test";
        let route = ingress("grpc").class("nginx").host(host, "web").tls(&[host], "tls");
        let route = route.annotation("backend-protocol", "GRPC").annotation("ssl-redirect", "false");
        rig.manifests.write("objects.yaml", &[tls_secret("tls", &[host]), route.build()]);
        rig.start().await;
        let texts = Texts::new();
        // Bytes that waited on a kept connection would come before the next request, or before its
        // answer.
        let after = async |what: &str, number: usize| {
            for scheme in ["http", "https"] {
                let path = format!("/after-{number}");
                let seen = get(&format!("{scheme}://{host}{path}")).send().await.echo();
                assert_eq!((&*seen.path, &*seen.protocol, seen.body_length), (&*path, "HTTP/2", 0), "{what}");
            }
        };
        for (number, (own, body)) in texts.fields().iter().enumerate() {
            let bytes = request(&with_usual(own, host), body);
            let answer = raw_http2(([127, 0, 0, 1], 443).into(), host, &bytes, is_answered).await;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(!answer.contains("/smuggled") && !answer.contains("victim.test"), "{own:?}: {answer}");
            after(&format!("{own:?}"), number).await;
        }
        for (number, (lines, rest)) in texts.refused().iter().enumerate() {
            let answer = raw(([127, 0, 0, 1], 80).into(), message(host, lines, rest).as_bytes()).await;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            let statuses: Vec<_> = answer.lines().filter(|line| line.starts_with("HTTP/1.")).collect();
            let is_refused = |line: &str| line.contains(" 400 ") || line.contains(" 501 ");
            assert!(statuses.len() == 1 && is_refused(statuses[0]), "{lines:?}: {answer}");
            after(lines, number).await;
        }
        // A valid message arrives as one request.
        let seen = post(&format!("http://{host}/first"), SMUGGLED).send().await.echo();
        assert_eq!((&*seen.path, seen.body_length), ("/first", SMUGGLED.len() as u64));
    });
}
