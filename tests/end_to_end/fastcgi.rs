//! FastCGI backends, through the real nginx.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use rig::Rig;
use rig::client::{Reply, get, post};
use rig::manifests::{Ingress, ingress, service_at};
use rig::status::reports;

const ADDRESS: &str = "10.244.3.1";
const PORT: u16 = 19000;

/// Types of records, of those that an application has to know.
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;

/// An application that answers with its parameters, and with the status in the header `want`.
struct Application(JoinHandle<()>);

impl Application {
    async fn start() -> Self {
        let listener = TcpListener::bind((ADDRESS, PORT)).await.unwrap();
        Application(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        }))
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    let (mut parameters, mut body) = (Vec::new(), 0);
    let request = loop {
        let mut head = [0; 8];
        stream.read_exact(&mut head).await?;
        let [_, kind, high, low, length_high, length_low, padding, _] = head;
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        let mut content = vec![0; length + usize::from(padding)];
        stream.read_exact(&mut content).await?;
        content.truncate(length);
        match kind {
            PARAMS => parameters.extend(content),
            STDIN if content.is_empty() => break [high, low],
            STDIN => body += content.len(),
            _ => {}
        }
    };
    let parameters = decode(&parameters);
    let status = parameters.get("HTTP_WANT").map_or("200", String::as_str);
    // Headers by which an application names files of the node have no effect.
    let text = format!(
        "Status: {status} Said\r\nContent-Type: application/json\r\nX-Accel-Redirect: /moved\r\n\r\n{}",
        json!({"parameters": parameters, "body": body})
    );
    for part in text.as_bytes().chunks(60_000).chain([&[][..]]) {
        stream.write_all(&record(STDOUT, request, part)).await?;
    }
    stream.write_all(&record(END_REQUEST, request, &[0; 8])).await
}

fn record(kind: u8, [high, low]: [u8; 2], content: &[u8]) -> Vec<u8> {
    let [length_high, length_low] = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[1, kind, high, low, length_high, length_low, 0, 0], content].concat()
}

/// Names and values, each pair behind their lengths.
fn decode(mut bytes: &[u8]) -> BTreeMap<String, String> {
    fn length(bytes: &mut &[u8]) -> usize {
        let first = bytes[0];
        let (length, size) = match first {
            0..128 => (u32::from(first), 1),
            _ => (u32::from_be_bytes([first & 127, bytes[1], bytes[2], bytes[3]]), 4),
        };
        *bytes = &bytes[size..];
        usize::try_from(length).unwrap()
    }
    let mut all = BTreeMap::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes), length(&mut bytes));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let before = all.insert(text(&bytes[..name]), text(&bytes[name..name + value]));
        assert_eq!(before, None, "each is told once");
        bytes = &bytes[name + value..];
    }
    all
}

fn reported(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{reply:?}"))
}

fn application(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "app").annotation("backend-protocol", "FCGI")
}

fn write(rig: &Rig, script: &str) {
    let map = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
    let mut objects = vec![
        map(
            "params",
            json!({"SCRIPT_FILENAME": script, "REALM": "staff of \"$host\"; } $arg_x", "SERVER_NAME": "mine"}),
        ),
        map("evil", json!({"PHP_VALUE": "auto_prepend_file=/etc/passwd"})),
        application("full")
            .annotation("fastcgi-index", "index.php")
            .annotation("fastcgi-params-configmap", "default/params")
            .annotation("proxy-body-size", "1m")
            .annotation("proxy-read-timeout", "30")
            .annotation("proxy-buffer-size", "16k")
            .annotation("upstream-vhost", "inside.test")
            .build(),
        application("plain").build(),
        application("pages").annotation("custom-http-errors", "404").annotation("default-backend", "web").build(),
        application("evil").annotation("fastcgi-params-configmap", "evil").build(),
        application("absent").annotation("fastcgi-params-configmap", "absent").build(),
        ingress("alone").host("alone.test", "web").annotation("fastcgi-index", "index.php").build(),
    ];
    objects.extend(service_at("app", &[ADDRESS], PORT));
    rig.manifests.write("fastcgi.yaml", &objects);
}

#[test]
fn applications_get_what_cgi_says_and_config_maps_add() {
    rig::run(async |rig| {
        let _application = Application::start().await;
        write(rig, "/app$fastcgi_script_name");
        rig.start().await;

        let request = post("http://full.test/shop/?x=1&y=%26", vec![b'x'; 500_000]);
        let forged = request.header("Proxy", "http://evil/").header("X-Forwarded-For", "1.2.3.4");
        let reply = forged.header("X-Original-URL", "/admin").header("X-Some", "thing").send().await;
        assert_eq!((reply.status, reported(&reply)["body"].as_u64()), (200, Some(500_000)));
        let parameters = &reported(&reply)["parameters"];
        for (name, value) in [
            ("SCRIPT_FILENAME", "/app/shop/index.php"),
            ("SCRIPT_NAME", "/shop/index.php"),
            ("REALM", "staff of \"full.test\"; } 1"),
            ("SERVER_NAME", "mine"),
            ("QUERY_STRING", "x=1&y=%26"),
            ("REQUEST_METHOD", "POST"),
            ("REQUEST_URI", "/shop/?x=1&y=%26"),
            ("CONTENT_LENGTH", "500000"),
            ("GATEWAY_INTERFACE", "CGI/1.1"),
            ("REMOTE_ADDR", "127.0.0.1"),
            ("SERVER_PORT", "80"),
            ("REQUEST_SCHEME", "http"),
            ("REDIRECT_STATUS", "200"),
            ("HTTP_HOST", "inside.test"),
            ("HTTP_X_FORWARDED_FOR", "127.0.0.1"),
            ("HTTP_X_FORWARDED_HOST", "full.test"),
            ("HTTP_X_SOME", "thing"),
            ("HTTP_X_INGRESS_HOPS", "1"),
        ] {
            assert_eq!(parameters[name], value, "{name}: {parameters}");
        }
        for name in ["HTTP_PROXY", "HTTP_X_ORIGINAL_URL", "HTTPS", "DOCUMENT_ROOT"] {
            assert_eq!(parameters[name], Value::Null, "{name}");
        }

        let reply = get("https://plain.test/a/").send().await;
        let parameters = &reported(&reply)["parameters"];
        for (name, value) in
            [("HTTPS", "on"), ("SCRIPT_NAME", "/a/"), ("SERVER_NAME", "plain.test"), ("SERVER_PORT", "443")]
        {
            assert_eq!(parameters[name], value, "{name}: {parameters}");
        }
        assert_eq!(parameters["SCRIPT_FILENAME"], Value::Null);

        // The status is that of the application, and the page is another backend's where that is
        // asked for.
        assert_eq!(get("http://plain.test/").header("want", "404").send().await.status, 404);
        let reply = get("http://pages.test/").header("want", "404").send().await;
        assert_eq!(reply.echo().header("x-code"), Some("404"));
        assert_eq!(get("http://pages.test/").header("want", "403").send().await.status, 403);

        for (name, reason) in [("evil", "InvalidSecurityValue"), ("absent", "MissingConfigMap")] {
            assert_eq!(get(&format!("http://{name}.test/")).send().await.status, 503, "{name}");
            rig.daemon.status_when(name, |status| reports(status, &format!("Ingress {name}"), reason)).await;
        }
        assert_eq!(get("http://alone.test/").send().await.status, 200);
        rig.daemon.status_when("alone", |status| reports(status, "Ingress alone", "NoEffectAlone")).await;

        // Changes of the ConfigMap are followed.
        write(rig, "/next$fastcgi_script_name");
        let is_next = |reply: &Reply| reported(reply)["parameters"]["SCRIPT_FILENAME"] == "/next/a.php";
        get("http://full.test/a.php").send_until("the ConfigMap counts", is_next).await;
    });
}
