//! Keys of the ConfigMap about files, logs and options of few routes, as nginx has them and as
//! clients see them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::config_map::{lines, reported, says};
use rig::authority::Authority;
use rig::client::get;
use rig::manifests::{in_namespace, ingress, secret, tls_secret};
use rig::status::{notes, serving};
use rig::{Rig, wait};

const DH_PARAMETERS: &str = include_str!("../../crates/rig/src/keys/dhparam.pem");
/// 80 bytes and 48 bytes.
const KEY: &str =
    "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
const OTHER_KEY: &str = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC";

/// Keys, values, and lines of what nginx reads.
const LINES: &[(&str, &str, &str)] = &[
    ("grpc-buffer-size-kb", "64", "grpc_buffer_size 64k;"),
    ("default-type", "text/html", "default_type \"text/html\";"),
    ("enable-aio-write", "true", "aio threads;"),
    ("enable-aio-write", "true", "aio_write on;"),
    (
        "log-format-escape-json",
        "true",
        "log_format ingressd_stream_line escape=json \"${protocol} ${status} ${bytes_sent}\";",
    ),
];

fn host(name: &str) -> rig::manifests::Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "web")
}

async fn start(rig: &mut Rig, data: &[(&str, &str)]) {
    rig.nginx.serve_streams(&rig.daemon.root());
    rig.daemon.set("ingress-nginx.configmap", "default/controller");
    rig.daemon.set("ingress-nginx.tcp-services-configmap", "default/tcp");
    rig.daemon.set("snippets.allowed", "[{namespaces = ['default'], kinds = ['configuration-snippet']}]");
    for (key, name) in [("listen.access-log", "access.log"), ("access-log.stream-path", "stream.log")] {
        rig.daemon.set(key, &rig.nginx.prefix().join("log").join(name).display().to_string());
    }
    let objects = [
        host("plain").build(),
        host("secure").tls(&["secure.test"], "cert").build(),
        host("calls").annotation("backend-protocol", "GRPC").build(),
        host("says").annotation("configuration-snippet", "return 200 \"<b>hello</b>\";").build(),
        host("types").annotation("configuration-snippet", "default_type text/css; return 200 \"b {}\";").build(),
        tls_secret("cert", &["secure.test"]),
        secret("exchange", "Opaque", &[("dhparam.pem", DH_PARAMETERS)]),
        secret("empty", "Opaque", &[("dhparam", DH_PARAMETERS)]),
        in_namespace("other", secret("exchange", "Opaque", &[("dhparam.pem", DH_PARAMETERS)])),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "tcp"}, "data": {"5432": "default/web:80"}}),
    ];
    rig.manifests.write("objects.yaml", &objects);
    says(rig, data);
    rig.start().await;
}

/// The whole lines of a log.
fn log(rig: &Rig, name: &str) -> Vec<String> {
    let text = fs::read_to_string(rig.nginx.prefix().join("log").join(name)).unwrap_or_default();
    text[..text.rfind('\n').map_or(0, |end| end + 1)].lines().map(str::to_owned).collect()
}

#[test]
fn sessions_are_encrypted_with_the_key_that_all_nodes_have() {
    rig::run(async |rig| {
        let with =
            |key| [("ssl-session-tickets", "true"), ("ssl-session-ticket-key", key), ("ssl-session-cache", "false")];
        start(rig, &with(KEY)).await;
        let key = || rig.daemon.root().join("current/certs/session-ticket.key");
        assert_eq!(fs::read(key()).unwrap(), [b'A'; 80]);
        assert_eq!(fs::metadata(key()).unwrap().permissions().mode() & 0o777, 0o600);
        // The client keeps sessions; nginx forgets all that it knows by itself when it starts
        // anew.
        let client = Authority::new("clients").signs("somebody", 1).resuming();
        let resumed = async || {
            let reply = get("https://secure.test/").showing(&client).send().await;
            assert_eq!(reply.status, 200);
            reply.peer.unwrap().is_resumed
        };
        assert!(!resumed().await);
        assert!(resumed().await);
        rig.nginx.restart().await;
        assert!(resumed().await, "another nginx with the same key knows the session");
        says(rig, &with(OTHER_KEY));
        wait::until("another key", async || (fs::read(key()).ok()? == [b'B'; 48]).then_some(())).await;
        rig.daemon.status_when("the reload", |status| serving(status) == Some(2)).await;
        assert!(!resumed().await, "a session is worth nothing with another key");
        // A finding about a value that is no key quotes nothing of it, and nginx makes a key of
        // its own.
        says(rig, &with("c2VjcmV0LXdvcmQ="));
        reported(rig, &["InvalidValue"]).await;
        let status = rig.daemon.status().await.unwrap();
        let note = notes(&status, "ConfigMap controller", "InvalidValue").join("\n");
        assert!(note.contains("48 or 80") && !note.contains("c2Vj"), "{note}");
        assert!(!lines(rig).iter().any(|line| line.starts_with("ssl_session_ticket_key")));
        assert_eq!(get("https://secure.test/").send().await.status, 200);
    });
}

/// The output of OpenSSL about a handshake of TLS 1.2 that offers only ciphers with such
/// parameters.
fn handshake(host: &str) -> String {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", "127.0.0.1:443", "-servername", host, "-tls1_2"]);
    let output = command.args(["-cipher", "DHE-RSA-AES128-GCM-SHA256"]).stdin(Stdio::null()).output().unwrap();
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).join("\n")
}

#[test]
fn a_handshake_with_a_cipher_of_diffie_and_hellman_has_the_parameters_of_the_secret() {
    const RSA: &str = include_str!("../../crates/rig/src/keys/rsa-pkcs8.pem");
    const LARGER: &str = include_str!("../../crates/rig/src/keys/dhparam-3072.pem");
    rig::run(async |rig| {
        rig.daemon.set("ingress-nginx.configmap", "default/controller");
        let key = rcgen::KeyPair::from_pem(RSA).unwrap();
        let parameters = rcgen::CertificateParams::new(vec!["secure.test".to_owned()]).unwrap();
        let chain = parameters.self_signed(&key).unwrap().pem();
        let objects = [
            host("secure").tls(&["secure.test"], "cert").build(),
            secret("cert", "kubernetes.io/tls", &[("tls.crt", &chain), ("tls.key", RSA)]),
            secret("exchange", "Opaque", &[("dhparam.pem", DH_PARAMETERS)]),
            secret("larger", "Opaque", &[("dhparam.pem", LARGER)]),
        ];
        rig.manifests.write("objects.yaml", &objects);
        let ciphers = ("ssl-ciphers", "ECDHE-RSA-AES128-GCM-SHA256:DHE-RSA-AES128-GCM-SHA256");
        says(rig, &[ciphers, ("ssl-dh-param", "default/exchange")]);
        rig.start().await;
        let reported = handshake("secure.test");
        assert!(
            reported.contains("Temp Key: DH, 2048 bits") && reported.contains("Cipher is DHE-RSA-AES128-GCM-SHA256"),
            "{reported}"
        );
        says(rig, &[ciphers, ("ssl-dh-param", "default/larger")]);
        rig.daemon.status_when("the larger ones", |status| serving(status) == Some(2)).await;
        assert!(handshake("secure.test").contains("Temp Key: DH, 3072 bits"));
        // Without the key nginx has no parameters, and uses no such cipher.
        says(rig, &[ciphers]);
        rig.daemon.status_when("none", |status| serving(status) == Some(3)).await;
        let reported = handshake("secure.test");
        assert!(reported.contains("handshake failure") && !reported.contains("Temp Key"), "{reported}");
        assert_eq!(get("https://secure.test/").send().await.status, 200);
    });
}

#[test]
fn what_few_routes_have_is_said_for_them_alone_and_logs_go_where_they_should() {
    rig::run(async |rig| {
        let own = [
            ("ssl-dh-param", "default/exchange"),
            ("log-format-stream", "$protocol $status $bytes_sent"),
            ("enable-access-log-for-default-backend", "false"),
            ("use-gzip", "true"),
            ("gzip-types", "application/json text/plain"),
            ("gzip-min-length", "1"),
            ("gzip-disable", "Ancient|Lynx/[12]"),
        ];
        let all = LINES.iter().map(|(key, value, _)| (*key, *value)).chain(own);
        let all: std::collections::BTreeMap<_, _> = all.collect();
        start(rig, &all.into_iter().collect::<Vec<_>>()).await;
        reported(rig, &[]).await;
        let found = lines(rig);
        let missing: Vec<_> = LINES.iter().filter(|(_, _, line)| !found.iter().any(|found| found == line)).collect();
        assert!(missing.is_empty(), "{missing:#?}");
        let count = |line: &str| found.iter().filter(|found| *found == line).count();
        assert_eq!((count("grpc_buffer_size 64k;"), count("default_type \"text/html\";")), (1, 1));

        let says_type = async |host: &str| {
            let reply = get(&format!("http://{host}.test/")).send().await;
            (reply.header("content-type").map(str::to_owned), reply.text())
        };
        assert_eq!(says_type("says").await, (Some("text/html".to_owned()), "<b>hello</b>".to_owned()));
        assert_eq!(says_type("types").await.0.as_deref(), Some("text/css"), "what a snippet says goes before");
        for (agent, expected) in [("Modern", Some("gzip")), ("the lynx/2.8", None), ("Lynx/3", Some("gzip"))] {
            let reply = get("http://plain.test/").header("Accept-Encoding", "gzip").header("User-Agent", agent);
            assert_eq!(reply.send().await.header("content-encoding"), expected, "{agent}");
        }
        let parameters = fs::read_to_string(rig.daemon.root().join("current/certs/dhparam.pem")).unwrap();
        assert_eq!(parameters, DH_PARAMETERS);
        assert_eq!(get("https://secure.test/").send().await.status, 200);

        // Lines are written in the order of the requests.
        assert_eq!(get("http://unknown.test/nobody").send().await.status, 404);
        assert_eq!(get("http://plain.test/somebody").send().await.status, 200);
        let has = |mark: &'static str| move |lines: &Vec<String>| lines.iter().any(|line| line.contains(mark));
        let requests = wait::until_right("the request", async || log(rig, "access.log"), has("/somebody")).await;
        assert!(!has("/nobody")(&requests), "{requests:?}");
        assert_eq!(get("http://plain.test:5432/").send().await.status, 200);
        let connections =
            wait::until_right("the connection", async || log(rig, "stream.log"), |all| !all.is_empty()).await;
        let words: Vec<_> = connections[0].split(' ').collect();
        assert!(matches!(&*words, ["TCP", "200", bytes] if bytes.parse::<u32>().unwrap() > 0), "{connections:?}");

        // One key after the other is wrong, and the others count.
        for (key, value, reason, words) in [
            ("ssl-dh-param", "default/empty", "InvalidValue", "no dhparam.pem"),
            ("ssl-dh-param", "default/nothing", "MissingSecret", "does not exist"),
            ("ssl-dh-param", "other/exchange", "CrossNamespace", "namespace default"),
            ("disable-stream-access-log", "perhaps", "InvalidValue", "true or false"),
            ("stream-access-log-path", "/etc/passwd", "InvalidValue", "access-log.stream-path"),
        ] {
            says(rig, &[(key, value), ("enable-access-log-for-default-backend", "true")]);
            let is_reported =
                |status: &Value| notes(status, "ConfigMap controller", reason).iter().any(|note| note.contains(words));
            rig.daemon.status_when(&format!("{key} {value}"), is_reported).await;
        }
        get("http://plain.test/").send_until("200", |reply| reply.status == 200).await;
        assert!(!rig.daemon.root().join("current/certs/dhparam.pem").exists());
        says(rig, &[("disable-stream-access-log", "true")]);
        let is_silent = |lines: &Vec<String>| !lines.iter().any(|line| line.contains("stream.log"));
        wait::until_right("no log of connections", async || lines(rig), is_silent).await;
        assert_eq!(get("http://unknown.test/stranger").send().await.status, 404);
        wait::until_right("requests for unknown hosts", async || log(rig, "access.log"), has("/stranger")).await;
    });
}
