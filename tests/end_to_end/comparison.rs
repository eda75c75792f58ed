//! `ingressd migrate compare` between an nginx that behaves as the controller does and the daemon.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::{Value, json};

use ingressd::cli::schema;
use rig::client::{get, post};
use rig::manifests::{self, Ingress, Manifests, ingress, service_at, tls_secret};
use rig::nginx::Nginx;
use rig::{Rig, wait};

/// A response that attacks the terminal on which it is shown: it clears a screen and turns a line
/// round, as far as a terminal reads UTF-8.
const HOSTILE: &str = "yes\u{9b}31m\u{85}\u{202e}";

/// A backend that answers alike each time, but for one path.
const BACKEND: &str = r#"
server {
    listen 10.244.0.9:8081;
    access_log off;
    default_type text/plain;
    location / { return 200 "$uri\n"; }
    location /dice { return 200 "$request_id\n"; }
    location /host { return 200 "$host\n"; }
}
"#;

/// The configuration that ingress-nginx makes of these Ingresses. `{line}`, `{pair}`, `{log}` and
/// `{odd}` are filled in.
const CONTROLLER: &str = r#"
log_format upstreaminfo '{line}';
access_log {log} upstreaminfo;
server_tokens off;
map $uri $proxy_upstream_name { default default-web-80; }
map $uri $proxy_alternative_upstream_name { default ""; }
map $request_id $req_id { default $request_id; }
map $request_uri $without_slash { default $request_uri; ~^(?<before>.*)/$ $before; }
server {
    listen 80;
    server_name shop.test;
    return 308 https://$host$without_slash;
}
server {
    listen 443 ssl;
    server_name shop.test;
    ssl_certificate {pair};
    ssl_certificate_key {pair};
    add_header Strict-Transport-Security "max-age=31536000; includeSubDomains" always;
    location / { proxy_pass http://10.244.0.9:8081; }
}
server {
    listen 80;
    server_name raw.test;
    add_header X-Frame-Options DENY;
    location / { proxy_pass http://10.244.0.9:8081; }
}
server {
    listen 80;
    server_name sticky.test;
    add_header Set-Cookie "INGRESSCOOKIE=$request_id; Expires=Thu, 26-Nov-26 10:00:00 GMT; Max-Age=60; Path=/; HttpOnly";
    location / { proxy_pass http://10.244.0.9:8081; }
}
server {
    listen 80;
    server_name odd.test;
    location / { proxy_pass http://10.244.0.9:8081; add_header X-Odd "{odd}"; add_header Set-Cookie "{odd}=1; {odd}"; }
}
server {
    listen 80;
    server_name root.test;
    location = / { return 302 http://root.test/app; }
    location / { proxy_pass http://10.244.0.9:8081; }
}
server {
    listen 80;
    server_name gone.test;
    return 301 https://elsewhere.test/$uri;
}
server {
    listen 80;
    server_name open.test;
    location / { proxy_pass http://10.244.0.9:8081; add_header Access-Control-Allow-Origin "*"; }
}
server {
    listen 80;
    server_name renamed.test;
    location / { proxy_pass http://10.244.0.9:8081; }
}
server {
    listen 80 default_server;
    return 404;
}
server {
    listen 82 proxy_protocol;
    location / { return 200 "from $proxy_protocol_addr\n"; }
}
"#;

/// A controller whose connections begin with a header of the PROXY protocol.
fn behind_proxy() -> [Value; 2] {
    let container =
        json!({"name": "controller", "image": "ingress-nginx/controller", "args": ["--configmap=default/controller"]});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "controller", "namespace": "default"},
                     "data": {"use-proxy-protocol": "true"}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "controller", "namespace": "default"},
                            "spec": {"template": {"spec": {"containers": [container]}}}});
    [map, deployment]
}

fn host(name: &str) -> Ingress {
    ingress(name).class("nginx").host(&format!("{name}.test"), "web")
}

/// Certificate and key of a Secret in one file.
fn pair(secret: &Value) -> String {
    let decoded =
        |key: &str| base64::engine::general_purpose::STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap();
    ["tls.crt", "tls.key"].map(|key| String::from_utf8(decoded(key)).unwrap()).concat()
}

/// Starts what stands in for the controller, on the usual ports.
fn controller(rig: &Rig, secret: &Value) -> Nginx {
    let nginx = Nginx::prepare(&rig.folder().join("controller"));
    let file = |name: &str| nginx.prefix().join(name).to_str().unwrap().to_owned();
    std::fs::write(file("pair.pem"), pair(secret)).unwrap();
    let text = CONTROLLER.replace("{line}", ingressd_model::USUAL_LINE);
    nginx.write_site(
        "controller",
        &text
            .replace("{odd}", HOSTILE)
            .replace("{pair}", &file("pair.pem"))
            .replace("{log}", &file("log/requests.log")),
    );
    nginx.write_site("backend", BACKEND);
    nginx.start();
    nginx
}

struct Compared {
    code: i32,
    json: Value,
    report: Value,
}

fn run(folder: &Path, objects: &[PathBuf], more: &[&str]) -> Output {
    command(folder, objects, more).env_remove("KUBECONFIG").output().unwrap()
}

fn command(folder: &Path, objects: &[PathBuf], more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
    command.args(["migrate", "compare", "--config", "/dev/null", "--nginx-version", "1.22.1", "--rate", "1000"]);
    command.args(["--controller-address", "127.0.0.1", "--report"]).arg(folder.join("report.json"));
    if !more.contains(&"--ingressd-ports") {
        command.args(["--ingressd-ports", "8180,8543"]);
    }
    command.args(more).args(objects);
    command
}

fn compare(folder: &Path, objects: &[PathBuf], more: &[&str]) -> Compared {
    let output = run(folder, objects, &[&["--format", "json"], more].concat());
    let said = || String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said()));
    let report =
        std::fs::read_to_string(folder.join("report.json")).unwrap_or_else(|error| panic!("{error}: {}", said()));
    let differences = schema::of("ingressd migrate compare").unwrap().differences(&json);
    assert!(differences.is_empty(), "{differences:#?}");
    Compared { code: output.status.code().unwrap(), json, report: serde_json::from_str(&report).unwrap() }
}

/// Checks that the text has no control characters but our own styles and ends of lines.
fn expect_harmless(shown: &[u8]) {
    let shown = std::str::from_utf8(shown).unwrap();
    let bare = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(shown, "");
    let hostile = |character: &char| character.is_control() || *character == '\u{202e}';
    let hostile: Vec<_> = bare.chars().filter(hostile).filter(|character| !"\r\n".contains(*character)).collect();
    assert!(hostile.is_empty(), "{hostile:?} in {shown:?}");
    assert!(bare.contains("odd.test"), "{shown:?}");
}

/// The same command where standard output is a terminal.
fn run_on_terminal(folder: &Path, objects: &[PathBuf], more: &[&str]) -> Vec<u8> {
    let command = command(folder, objects, more);
    let words = std::iter::once(command.get_program()).chain(command.get_args()).map(|word| word.to_str().unwrap());
    let line = shlex::try_join(words).unwrap();
    let mut script = Command::new("script");
    script.args(["--quiet", "--command", &line, "/dev/null"]).env_remove("KUBECONFIG").env_remove("NO_COLOR");
    let output = script.env("TERM", "xterm").output().unwrap();
    assert!(output.stdout.contains(&0x1b), "there is no style, so it is no terminal: {output:?}");
    output.stdout
}

/// Each difference as request, part, whether it is explained, and by what.
fn differences(json: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let of = |difference: &Value| {
        let parts = difference["parts"].as_array().unwrap().iter();
        let request = text(&difference["request"]);
        let part = |part: &Value| {
            let because = part["because"].as_array().unwrap().iter().filter(|one| one["verdict"] != "equal");
            let because: Vec<_> = because.map(|one| text(&one["name"])).collect();
            format!(
                "{request}: {} {} | {} {because:?}",
                text(&part["part"]),
                text(&part["controller"]),
                text(&part["ingressd"])
            )
        };
        parts.map(part).collect::<Vec<_>>()
    };
    json["differences"].as_array().unwrap().iter().flat_map(of).collect()
}

#[test]
fn what_differs_is_found_and_explained_and_what_is_alike_is_clean() {
    rig::run(async |rig| {
        let secret = tls_secret("pair", &["shop.test"]);
        let snippet = "more_set_headers \"X-Frame-Options: DENY\";";
        let folder = rig.manifests.folder().to_owned();
        rig.manifests.write("web.yaml", &service_at("web", &["10.244.0.9"], 8081));
        rig.manifests.write("secret.yaml", std::slice::from_ref(&secret));
        let shop = host("shop").path("shop.test", "Prefix", "/cart", "web").path("shop.test", "Exact", "/dice", "web");
        rig.manifests.write("shop.yaml", &[shop.tls(&["shop.test"], "pair").build()]);
        let sticky = host("sticky").annotation("affinity", "cookie").annotation("session-cookie-expires", "60");
        let others =
            [host("raw").annotation("configuration-snippet", snippet).build(), sticky.build(), host("odd").build()];
        // This host has a page of its own, to which one side leads by a path and the other by a
        // URL.
        rig.manifests.write("root.yaml", &[host("root").annotation("app-root", "/app").build()]);
        rig.manifests.write("others.yaml", &others);
        rig.manifests.write("classes.yaml", &manifests::classes());
        let _controller = controller(rig, &secret);
        for (key, value) in [("listen.http-port", "8180"), ("listen.https-port", "8543")] {
            rig.daemon.set(key, value);
        }
        rig.start().await;

        let found = compare(rig.folder(), std::slice::from_ref(&folder), &[]);
        assert_eq!(found.code, 1, "{:#}", found.json);
        assert_eq!(found.json, found.report);
        let expected = [
            &format!("GET http://odd.test/: cookie {HOSTILE} {HOSTILE} |  []"),
            &format!("GET http://odd.test/: header x-odd {HOSTILE} |  []"),
            "GET http://raw.test/: status 200 | 404 [\"configuration-snippet\"]",
            "GET http://sticky.test/: cookie INGRESSCOOKIE expires; httponly; max-age=60; path=/ | httponly; max-age=60; path=/ \
             [\"affinity\", \"session-cookie-expires\"]",
        ];
        assert_eq!(differences(&found.json), expected, "{:#}", found.json);
        assert_eq!((&found.json["verdict"], &found.json["explained"]), (&"different".into(), &2.into()));
        let unsteady: Vec<_> =
            found.json["unsteadyRequests"].as_array().unwrap().iter().map(Value::to_string).collect();
        assert!(
            unsteady.iter().any(|one| one.contains("https://shop.test/dice\"") && one.contains("[\"body\"]")),
            "{unsteady:?}"
        );
        let text = run(rig.folder(), std::slice::from_ref(&folder), &[]);
        let text = String::from_utf8(text.stdout).unwrap();
        expect_harmless(text.as_bytes());
        expect_harmless(&run_on_terminal(rig.folder(), std::slice::from_ref(&folder), &[]));
        expect_harmless(&run(rig.folder(), std::slice::from_ref(&folder), &["--format", "json"]).stdout);
        expect_harmless(&std::fs::read(rig.folder().join("report.json")).unwrap());
        for words in [
            "\ndefault/raw  status  1 request\n  GET http://raw.test/\n  controller 200\n  ingressd   404\n  refused    annotation configuration-snippet: ",
            "\ndefault/odd  header x-odd  1 request\n",
            "nothing of the report explains it\n",
            " 3 differ, 2 of them as the report says beforehand",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }

        // Objects that are served alike are asked by their own rules, and by the requests that the
        // controller got.
        let alike: Vec<_> =
            ["shop.yaml", "classes.yaml", "secret.yaml", "web.yaml"].iter().map(|name| folder.join(name)).collect();
        let clean = compare(rig.folder(), &[&alike[..], &[folder.join("root.yaml")]].concat(), &[]);
        assert_eq!((clean.code, &clean.json["verdict"]), (0, &"clean".into()), "{:#}", clean.json);
        assert!(clean.json["asked"].as_u64().unwrap() >= 8, "{:#}", clean.json);
        assert_eq!(get("http://shop.test/cart/one").send().await.status, 308);
        assert_eq!(get("https://shop.test/cart/two?token=secret&page=2").send().await.status, 200);
        assert_eq!(post("https://shop.test/cart/three", "x").send().await.status, 200);
        let log = rig.folder().join("controller/log/requests.log");
        let logged =
            async || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("/cart/three")).then_some(());
        wait::until("the line of the last request", logged).await;
        let by_log = compare(rig.folder(), &alike, &["--log", log.to_str().unwrap()]);
        assert_eq!((by_log.code, &by_log.json["verdict"]), (0, &"clean".into()), "{:#}", by_log.json);
        // The redirect is asked by both schemes, because the line of the log does not name one.
        assert_eq!(by_log.json["asked"], 3, "{:#}", by_log.json);
        let left_out = &by_log.json["leftOut"];
        assert_eq!((&left_out["unsafeMethod"], &left_out["unreadable"]), (&1.into(), &0.into()), "{left_out:#}");
        assert!(left_out["own"].as_u64().unwrap() > 8, "{left_out:#}");
        let asked = std::fs::read_to_string(rig.nginx.prefix().join("log/access.log")).unwrap();
        assert!(
            asked.contains("GET /cart/two?page=2 ") && !asked.contains("secret") && !asked.contains("POST"),
            "{asked}"
        );

        // No more than this is read of a body.
        let cut = compare(rig.folder(), &alike, &["--most-body", "2"]);
        assert_eq!((cut.code, &cut.json["verdict"]), (0, &"clean".into()), "{:#}", cut.json);
        // Behind a load balancer both get the client's address; without its header neither
        // answers.
        let objects = Manifests::new(&rig.folder().join("proxied"));
        objects.write("objects.yaml", &[&[host("odd").build()], &manifests::classes()[..]].concat());
        let ports = ["--controller-ports", "82,443", "--ingressd-ports", "82,443"];
        let silent = compare(rig.folder(), &[objects.folder().to_owned()], &ports);
        assert_eq!((silent.code, &silent.json["unanswered"]), (1, &1.into()), "{:#}", silent.json);
        objects.write("controller.yaml", &behind_proxy());
        let reported = compare(rig.folder(), &[objects.folder().to_owned()], &ports);
        assert_eq!((reported.code, &reported.json["unanswered"]), (0, &0.into()), "{:#}", reported.json);

        // No process listens there.
        let gone = run(rig.folder(), &alike, &["--ingressd-ports", "81,8543"]);
        let complaints = String::from_utf8_lossy(&gone.stderr);
        assert_eq!(gone.status.code(), Some(69), "{complaints}");
        let words = "ingressd: nothing can be asked at 127.0.0.1:81: ";
        assert!(complaints.contains(words) && complaints.contains("--ingressd-ports say where"), "{complaints}");
        assert!(!rig.folder().join("report.json").exists(), "nobody decides by an earlier result");
    });
}

/// Lists each part of an answer that differs, with what of the Ingress changes it.
#[test]
fn what_differs_is_named_with_the_annotation_that_may_change_it() {
    rig::run(async |rig| {
        let (of_controller, of_nodes) = (tls_secret("pair", &["shop.test"]), tls_secret("pair", &["shop.test"]));
        let folder = rig.manifests.folder().to_owned();
        rig.manifests.write("web.yaml", &service_at("web", &["10.244.0.9"], 8081));
        rig.manifests.write("secret.yaml", &[of_nodes]);
        rig.manifests.write("classes.yaml", &manifests::classes());
        let gone = host("gone").annotation("configuration-snippet", "return 301 https://elsewhere.test/$uri;");
        let open = host("open").annotation("enable-cors", "true").annotation("cors-allow-origin", "every one");
        let renamed = ingress("renamed").class("nginx").path("renamed.test", "Prefix", "/host", "web");
        let renamed = renamed.annotation("upstream-vhost", "inside.test");
        rig.manifests.write("objects.yaml", &[gone.build(), open.build(), renamed.build()]);
        let shop = host("shop").tls(&["shop.test"], "pair");
        rig.manifests.write("shop.yaml", &[shop.build()]);
        let _controller = controller(rig, &of_controller);
        for (key, value) in [("listen.http-port", "8180"), ("listen.https-port", "8543")] {
            rig.daemon.set(key, value);
        }
        rig.start().await;
        let found = compare(rig.folder(), std::slice::from_ref(&folder), &[]);
        let named = |request: &str, part: &str| -> Vec<String> {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let all = found.json["differences"].as_array().unwrap();
            let of = all.iter().filter(|one| one["request"].as_str().unwrap().starts_with(request));
            let mut parts = of.flat_map(|one| one["parts"].as_array().unwrap());
            let part = parts.find(|one| one["part"] == part).unwrap_or_else(|| panic!("{part}: {:#}", found.json));
            assert_ne!(part["controller"], part["ingressd"]);
            part["because"].as_array().unwrap().iter().map(|one| text(&one["name"])).collect()
        };
        for (request, part, annotation) in [
            ("GET http://gone.test/", "status", "configuration-snippet"),
            ("GET http://gone.test/", "location", "configuration-snippet"),
            ("GET http://open.test/", "header access-control-allow-origin", "cors-allow-origin"),
            ("GET http://renamed.test/host", "body", "upstream-vhost"),
        ] {
            let named = named(request, part);
            assert!(named.iter().any(|name| name == annotation), "{request} {part}: {named:?}");
        }
        // The authority of neither certificate is trusted: they are compared, and so is
        // everything else.
        named("GET https://shop.test/", "certificate");
        assert_eq!(found.code, 1, "{:#}", found.json);

        // Where the port of one side does not speak TLS, only requests over TLS get no response
        // there.
        let shop = ["shop.yaml", "classes.yaml", "secret.yaml", "web.yaml"].map(|name| folder.join(name));
        let without_tls = compare(rig.folder(), &shop, &["--ingressd-ports", "8180,8180"]);
        let parts: Vec<_> = without_tls.json["differences"].as_array().unwrap().iter().collect();
        let is_answer = |one: &&Value| {
            let part = &one["parts"][0];
            one["request"].as_str().unwrap().starts_with("GET https://") && part["part"] == "answer"
        };
        assert!(!parts.is_empty() && parts.iter().all(is_answer), "{:#}", without_tls.json);
    });
}
