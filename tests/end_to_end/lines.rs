//! No text that objects, settings and snippets make of a request ends a line of a request, of an
//! answer or of a record: all rows of all tables with all kinds of variables.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;

use rig::client::{get, raw};
use rig::manifests::{Ingress, ingress, service_at, tls_secret};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use ingressd_translate::ANNOTATIONS;
use ingressd_translate::annotation::{Form, Gives};

const ADDRESS: &str = "10.244.3.8";
const PORT: u16 = 18083;
const MODSECURITY: &str = "ngx_http_modsecurity_module.so";
/// Decoded in several ways, captured, as it came, and made by nginx.
const VARIABLES: [&str; 7] =
    ["$uri", "$document_uri", "$1", "$remote_user", "$request_uri", "$http_x_probe", "$request_id"];
/// A path whose decoded form holds lines of its own.
const FORGED: &str = "/api/x%0d%0aX-Forged:%20yes%0d%0aA:%20b%1b/y?q=%0d%0aX-Forged:%20yes";
/// The keys of annotations with which such a path is refused.
const REFUSED: [&str; 9] = [
    "enable-rewrite-log",
    "permanent-redirect",
    "proxy-cookie-path",
    "proxy-redirect-from",
    "proxy-redirect-to",
    "rewrite-target",
    "temporal-redirect",
    "upstream-vhost",
    "x-forwarded-prefix",
];

/// A backend that reports the first bytes of each connection.
async fn serve(listener: TcpListener, seen: UnboundedSender<String>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let seen = seen.clone();
        tokio::spawn(async move {
            let mut bytes = Vec::with_capacity(1 << 16);
            stream.read_buf(&mut bytes).await.unwrap_or_default();
            let _ = seen.send(String::from_utf8_lossy(&bytes).into_owned());
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
            let _ = stream.write_all(answer).await;
        });
    }
}

/// Whether a line was added. Records of FastCGI have lengths and no lines.
fn is_forged(text: &str) -> bool {
    !text.starts_with('\u{1}') && text.split(['\r', '\n']).any(|line| line.starts_with("X-Forged"))
}

/// The answer to a request, as it came.
async fn answer(port: u16, host: &str, path: &str, lines: &str) -> String {
    // nginx logs names of users as they are, so none is asked for a password.
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Probe: \u{1b}[2Kprobe\r\n{lines}Connection: close\r\n\r\nhi"
    );
    String::from_utf8_lossy(&raw(SocketAddr::from(([127, 0, 0, 1], port)), head.as_bytes()).await).into_owned()
}

const BODY: &str = "Content-Length: 2\r\n";

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// A key of an annotation with a value, and what else its object says.
struct Case {
    key: String,
    value: String,
    beside: Vec<(&'static str, &'static str)>,
}

impl Case {
    fn ingress(&self, number: usize) -> Ingress {
        let host = format!("w{number}.test");
        let object = ingress(&format!("w{number}")).class("nginx");
        let object = object.path(&host, "ImplementationSpecific", "/api/([^/]+)/(.*)", "raw");
        let object = self.beside.iter().fold(object, |object, (key, value)| object.annotation(key, value));
        object.annotation("use-regex", "true").annotation(&self.key, &self.value)
    }
}

/// Whether values are more than words, numbers and addresses.
fn is_text(form: &Form) -> bool {
    use Form::{List, NotJudged, Partly, Some, Text};
    matches!(form, Text(_) | List(_) | Some(_) | Partly(..) | NotJudged(_))
}

/// All rows of the table of annotations: with what is accepted, and with each variable in each
/// place of a text.
fn annotations() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let tries = row.all_tries().into_iter();
        let good = tries.filter(|(_, gives)| matches!(gives, Gives::Sets(_) | Gives::Nothing)).map(|(value, _)| value);
        let good: Vec<_> = good.collect();
        let mut values: BTreeSet<String> = good.iter().map(ToString::to_string).collect();
        for variable in VARIABLES.into_iter().filter(|_| is_text(&row.form)) {
            let texts = ["", "/", "/api ", "/x?y=", "https://new.test", "https://new.test/"];
            values.extend(texts.iter().chain(good.first()).map(|text| format!("{text}{variable}")));
        }
        let case = |value| Case { key: row.key.to_owned(), value, beside: row.beside.to_vec() };
        cases.extend(values.into_iter().map(case));
    }
    cases
}

/// All rows that name a ConfigMap, each with a ConfigMap that has a variable.
fn maps() -> Vec<(Case, Value)> {
    let is_map = |form: &Form| matches!(form, Form::Text(shape) if shape.name.contains("ConfigMap"));
    let rows = ANNOTATIONS.rows().filter(|row| matches!(row.form, Form::Partly(form, _) if is_map(form)));
    let case = |(key, variable): (&str, &str)| {
        let name = format!("{key}{}", variable.replace(['$', '_'], "-"));
        let (protocol, reported) = if key.starts_with("fastcgi") { ("FCGI", "X_TOLD") } else { ("HTTP", "X-Told") };
        let data = json!({reported: variable});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data});
        let beside = vec![("auth-url", "http://raw.default.svc.cluster.local/"), ("backend-protocol", protocol)];
        (Case { key: key.to_owned(), value: name, beside }, map)
    };
    rows.flat_map(|row| VARIABLES.map(|variable| (row.key, variable))).map(case).collect()
}

/// All directives that docs/snippets.md has, each as most are written, and some as they are
/// written.
fn snippets() -> Vec<Case> {
    let page = include_str!("../../docs/snippets.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let names = rows.filter(|(_, rest)| rest.contains("configuration") || rest.contains("server"));
    let usual = names.flat_map(|(name, _)| [format!("{name} {{}};"), format!("{name} X-Told {{}};")]);
    let special = [
        "add_header X-Told {} always;",
        "if ($uri ~ \"(?s)^/api/(.*)$\") { add_header X-Told {} always; }",
        "if ($uri ~ \"(?s)^/api/(.*)$\") { return 302 https://new.test/{}; }",
        "if ($request_uri ~ \"^/api/(.*)$\") { return 302 https://new.test/{}; }",
        "location /api { return 302 https://new.test/{}; }",
        "location ~ \"(?s)^/api/(.*)$\" { return 302 https://new.test/{}; }",
        "more_set_headers \"X-Told: {}\";",
        "more_set_input_headers \"X-Told: {}\";",
        "return 200 {};",
        "return 302 https://new.test{};",
        "return 302 https://new.test/{};",
        "rewrite \"(?s)^/api/(.*)$\" /x{} break;",
        "rewrite \"(?s)^/api/(.*)$\" /x?{} break;",
        "rewrite \"(?s)^/api/(.*)$\" /x{} redirect;",
        "rewrite \"(?s)^/api/(.*)$\" https://new.test/{} redirect;",
        "set $told {}; add_header X-Told $told always; proxy_set_header X-Told $told;",
        "sub_filter ok {};",
    ];
    let texts = usual.chain(special.map(ToOwned::to_owned));
    let with = |text: String| VARIABLES.map(|variable| text.replace("{}", variable));
    let kinds = |text: String| {
        ["configuration-snippet", "server-snippet", "auth-snippet"].map(|kind| (kind.to_owned(), text.clone()))
    };
    let all = texts.flat_map(with).flat_map(kinds);
    all.map(|(key, value)| Case { key, value, beside: Vec::new() }).collect()
}

#[test]
fn no_row_of_any_table_lets_a_path_end_a_line() {
    rig::run(async |rig| {
        let (sender, mut seen) = unbounded_channel();
        let backend = tokio::spawn(serve(TcpListener::bind((ADDRESS, PORT)).await.unwrap(), sender));
        rig.nginx.load_modules(&[MODSECURITY]);
        let (rules, audit) = (rig.folder().join("rules.conf"), rig.folder().join("audit.log"));
        let said = format!(
            "SecRuleEngine On\nSecAuditEngine On\nSecAuditLogType Serial\nSecAuditLogParts AZ\nSecAuditLog {}\n",
            audit.display()
        );
        fs::write(&rules, said).unwrap();
        let configuration = fs::read_to_string(rig.nginx.configuration()).unwrap();
        fs::write(rig.nginx.configuration(), configuration.replace("error.log;", "error.log notice;")).unwrap();
        rig.daemon.set("firewall.rules", &format!("[\"{}\"]", rules.display()));
        let kinds = "['configuration-snippet', 'server-snippet', 'auth-snippet']";
        rig.daemon.set("snippets.allowed", &format!("[{{namespaces = ['default'], kinds = {kinds}}}]"));
        let (of_maps, maps): (Vec<_>, Vec<_>) = maps().into_iter().unzip();
        assert!(!maps.is_empty());
        rig.daemon.set("headers.allowed", "X-Told");
        rig.manifests.write("maps.yaml", &maps);
        let cases: Vec<_> = annotations().into_iter().chain(snippets()).chain(of_maps).collect();
        let objects = cases.iter().enumerate().map(|(number, case)| case.ingress(number).build());
        rig.manifests.write("raw.yaml", &service_at("raw", &[ADDRESS], PORT));
        rig.manifests.write("objects.yaml", &objects.collect::<Vec<_>>());
        rig.start().await;

        let (mut wrong, mut refused) = (Vec::new(), BTreeSet::new());
        for (number, Case { key, value, .. }) in cases.iter().enumerate() {
            let host = format!("w{number}.test");
            let forged = answer(80, &host, FORGED, BODY).await;
            let reported: Vec<_> = std::iter::from_fn(|| seen.try_recv().ok()).collect();
            if is_forged(&forged) || reported.iter().any(|head| is_forged(head)) {
                wrong.push(format!("{key}: {value}: {forged:?}, {reported:?}"));
            }
            if status(&forged) == "400" && status(&answer(80, &host, "/api/x/y", BODY).await) != "400" {
                refused.insert(key.as_str());
            }
        }
        assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
        assert_eq!(refused.into_iter().collect::<Vec<_>>(), REFUSED);
        let audit = fs::read_to_string(audit).unwrap();
        assert!(!audit.is_empty() && !is_forged(&audit) && !audit.contains('\u{1b}'), "{audit}");
        assert!(!is_forged(&rig.nginx.error_log()), "{}", rig.nginx.error_log());
        backend.abort();
    });
}

#[test]
fn headers_of_all_hosts_hold_no_path_that_ends_a_line() {
    rig::run(async |rig| {
        let (sender, mut seen) = unbounded_channel();
        let backend = tokio::spawn(serve(TcpListener::bind((ADDRESS, PORT)).await.unwrap(), sender));
        let headers = "[\"X-Told: to $uri\", \"X-Came: $request_uri\", \"X-Also: $document_uri\"]";
        rig.daemon.set("headers.answers", headers);
        rig.daemon.set("headers.requests", headers);
        rig.daemon.set("access-log.line", "LINE $uri $remote_user $request_uri $http_x_probe");
        let host = |name: &str, key: &str, value: &str| {
            ingress(name).class("nginx").host(&format!("{name}.test"), "raw").annotation(key, value)
        };
        let mut objects: Vec<Value> = service_at("raw", &[ADDRESS], PORT).to_vec();
        objects.push(tls_secret("tls", &["plain.test"]));
        objects.push(host("plain", "ssl-redirect", "false").tls(&["plain.test"], "tls").build());
        objects.push(host("own", "proxy-body-size", "1k").annotation("custom-http-errors", "400,413,404").build());
        objects.push(host("short", "rewrite-target", "/new").build());
        rig.manifests.write("objects.yaml", &objects);
        rig.start().await;
        let long = "Content-Length: 20000000\r\n";
        for (port, host, lines, expected) in [
            (80, "plain.test", BODY, "400"),
            (80, "own.test", BODY, "400"),
            // These come before any check.
            (80, "own.test", long, "400"),
            (443, "plain.test", BODY, "400"),
            (80, "unknown.test", BODY, "400"),
        ] {
            let answer = answer(port, host, FORGED, lines).await;
            assert!(!is_forged(&answer), "{host}: {answer:?}");
            assert_eq!(status(&answer), expected, "{host}: {answer}");
        }
        let reported: Vec<_> = std::iter::from_fn(|| seen.try_recv().ok()).collect();
        assert!(!reported.iter().any(|head| is_forged(head)), "{reported:?}");
        // All other paths are told as they are, and a rewritten one as the backend gets it.
        for (host, path) in [("plain", "/a b%"), ("short", "/new")] {
            let reply = get(&format!("http://{host}.test/a%20b%25")).send().await;
            assert_eq!(reply.header("x-told"), Some(&*format!("to {path}")), "{host}");
            let head = seen.recv().await.unwrap();
            assert!(head.contains(&format!("\r\nX-Told: to {path}\r\n")), "{head}");
        }
        let log = || fs::read_to_string(rig.nginx.prefix().join("log/access.log")).unwrap_or_default();
        let log = rig::wait::until_right("the log", async || log(), |log| log.lines().count() > 6).await;
        assert!(log.lines().all(|line| line.starts_with("LINE ") || line.starts_with("127.0.0.1 ")), "{log}");
        backend.abort();
    });
}
