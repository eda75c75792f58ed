//! How snippets are read, and which are refused and why. These tests must not know how nginx is
//! written to.

mod names;
mod servers;
mod tables;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::directives::{self, ALLOWED, Read};
use super::refused;
use super::tests::names::marks;
use crate::annotation::{Context, Effect, merge, options as own_options};
use crate::{ANNOTATIONS, AllowedSnippets, INGRESS_NGINX, Options, Reading, SnippetKind};
use ingressd_model::catalogue::{self, Context as Block};
use ingressd_model::cost::Cost;
use ingressd_model::{Argument, Kind, ObjectId, Snippet};
use ingressd_objects::Snapshot;

const PREFIX: &str = "nginx.ingress.kubernetes.io/";

fn options() -> Options {
    let allowed = AllowedSnippets {
        namespaces: vec!["scribe".into()],
        items: SnippetKind::ALL.to_vec(),
        ..AllowedSnippets::default()
    };
    Options { snippets: vec![allowed], ..Options::default() }
}

fn reading(namespace: &str, options: &Options, annotations: &[(&str, &str)]) -> Reading {
    let object = &Arc::new(ObjectId::new(Kind::INGRESS, namespace, "web"));
    let (snapshot, table) = (&Snapshot::default(), &ANNOTATIONS);
    let context = Context { object, dialect: &INGRESS_NGINX, table, snapshot, options };
    let annotations = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), *value)).collect();
    merge(&context, &own_options(object, &annotations, table, &[]).0)
}

fn lines(snippet: &Snippet) -> Vec<String> {
    let mut lines: Vec<String> = snippet.statements.iter().map(ToString::to_string).collect();
    let always = |always: bool| if always { " always" } else { "" };
    lines.extend(
        snippet
            .answer_headers
            .iter()
            .map(|header| format!("+{}: {}{}", header.name, header.value, always(header.always))),
    );
    lines.extend(snippet.hidden_headers.iter().map(|name| format!("-{name}")));
    lines.extend(snippet.request_headers.iter().map(|(name, value)| format!(">{name}: {value}")));
    lines.extend(snippet.directives.iter().map(|directive| {
        let words: Vec<_> = directive.arguments.iter().map(ToString::to_string).collect();
        format!("{} {}", directive.row.name, words.join(" "))
    }));
    lines.extend(snippet.settings.iter().map(|setting| format!("{} {:?}", setting.row.name, setting.arguments)));
    // Names of variables depend on the object and the text of the snippet.
    let marks: BTreeSet<_> = lines.iter().flat_map(|line| marks(line)).collect();
    lines.into_iter().map(|line| marks.iter().fold(line, |line, mark| line.replace(mark, ""))).collect()
}

/// The result of a snippet of this kind, or why it is refused.
fn tried(key: &str, text: &str) -> Result<Vec<String>, String> {
    let reading = reading("scribe", &options(), &[(key, text)]);
    if reading.refused || reading.closed {
        return Err(reading.findings.iter().map(|finding| finding.note.to_string()).collect::<Vec<_>>().join("\n"));
    }
    let snippets = reading.behaviour.snippets.iter().chain(&reading.host.snippets);
    let mut all: Vec<String> = snippets.flat_map(|snippet| lines(snippet)).collect();
    all.extend(reading.behaviour.directives.iter().map(|directive| format!("{} by annotation", directive.row.name)));
    if let Some(access) = &reading.behaviour.access {
        all.push(format!("deny {:?} allow {:?}", access.deny(), access.allow()));
    }
    Ok(all)
}

#[test]
fn what_snippets_become() {
    let table: &[(&str, &[&str])] = &[
        ("add_header X-A b;", &["+X-A: b"]),
        ("add_header X-A \"b; } #\" always;", &["+X-A: b; } # always"]),
        ("more_set_headers \"X-A: b\" 'X-B: $host';", &["+X-A: b always", "+X-B: ${host} always", "-X-A", "-X-B"]),
        ("more_clear_headers X-Powered-By;", &["-X-Powered-By"]),
        ("proxy_set_header X-Start \"t=${msec}\";", &[">X-Start: t=${msec}"]),
        ("add_header X-Request $req_id;", &["+X-Request: ${req_id}"]),
        ("proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection \"upgrade\";", &[]),
        ("proxy_set_header X-Who $namespace/$service_name;", &[">X-Who: ${Namespace}/${ServiceName}"]),
        (
            "if ($http_user_agent ~* \"(curl|wget)\") { return 403; }",
            &["if ${http_user_agent} ~* \"(curl|wget)\": return 403;"],
        ),
        (
            "if ($host = 'old.example.com') { return 301 https://new.example.com$request_uri; }",
            &["if ${host} = \"old.example.com\": return 301 \"https://new.example.com${request_uri}\";"],
        ),
        (
            "if ($request_uri ~ \"^/old/(.*)\") { return 302 /new/$1; }",
            &["if ${request_uri} ~ \"^/old/(.*)\": return 302 \"/new/$1\";"],
        ),
        (
            "set $flag a; if ($http_x) { set $flag \"${flag}b\"; } if ($flag = ab) { return 404; }",
            &["set $flag \"a\"", "if ${http_x}: set $flag \"${flag}b\";", "if ${flag} = \"ab\": return 404;"],
        ),
        ("if ($http_origin) { set $seen 1; }", &["set $seen \"\"", "if ${http_origin}: set $seen \"1\";"]),
        (
            "if ($http_origin = 'https://a.test') { add_header X-Seen $http_origin; }",
            &[
                "set $0_0 \"\"",
                "if ${http_origin} = \"https://a.test\": set $0_0 \"${http_origin}\";",
                "+X-Seen: ${0_0}",
            ],
        ),
        ("rewrite ^/a/(.*)$ /$1 break;", &["rewrite \"^/a/(.*)$\" \"/$1\" break"]),
        ("rewrite ^/((a)(b))$ /$1/$2 break;", &["rewrite \"^/((a)(b))$\" \"/$1/$2\" break"]),
        ("rewrite ^/((a)|b)$ /$1 redirect;", &["rewrite \"^/((a)|b)$\" \"/$1\" redirect"]),
        ("rewrite ^/(a)(b)$ /$1/$2 redirect;", &["rewrite \"^/(a)(b)$\" \"/$1/$2\" redirect"]),
        ("rewrite (?i)/x https://example.com/ break;", &["rewrite \"(?i)/x\" \"https://example.com/\" redirect"]),
        (
            "sub_filter 'http' 'https'; sub_filter_once off; sub_filter_types *;",
            &["sub_filter http https", "sub_filter_once off", "sub_filter_types *"],
        ),
        ("expires 1h;", &["expires 1h"]),
        ("proxy_cookie_path / \"/; HttpOnly; Secure\";", &["proxy_cookie_path / /; HttpOnly; Secure"]),
        (
            "client_max_body_size 8m; proxy_read_timeout 2m;",
            &["client_max_body_size by annotation", "proxy_read_timeout by annotation"],
        ),
        ("deny 10.0.0.1; allow 10.0.0.0/8; deny all;", &["deny [10.0.0.1/32] allow [10.0.0.0/8]"]),
        ("deny all;", &["deny [0.0.0.0/0, ::/0] allow []"]),
        ("server_tokens off;", &[]),
        ("proxy_ssl_verify off;", &[]),
        ("# nothing but a comment", &[]),
    ];
    for (text, expected) in table {
        let expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(tried("configuration-snippet", text), Ok(expected), "{text}");
    }
    let table: &[(&str, &[&str])] = &[
        ("return 301 https://example.com/;", &["return 301 \"https://example.com/\""]),
        (
            "location = /robots.txt { return 200 'User-agent: *'; }",
            &["if ${uri} = \"/robots.txt\": return 200 \"User-agent: *\";"],
        ),
        ("location ~ /\\.git { access_log off; deny all; }", &["if ${uri} ~ \"/\\.git\": return 403;"]),
        ("location /metrics { deny all; return 404; }", &["if ${uri} ~ \"^/metrics\": return 404;"]),
        ("location /metrics { deny all; } add_header X-A b;", &["if ${uri} ~ \"^/metrics\": return 403;", "+X-A: b"]),
    ];
    for (text, expected) in table {
        let expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(tried("server-snippet", text), Ok(expected), "{text}");
    }
    assert_eq!(tried("server-snippet", "client_max_body_size 8m;").map(|lines| lines.len()), Ok(1));
}

/// Each snippet is refused with these words.
const HOSTILE: &[(&str, &str)] = &[
    // They try to leave their block.
    ("} server { listen 81; return 200 pwned; }", "unexpected \"}\""),
    ("return 200; } location /x { alias /etc/; ", "unexpected \"}\""),
    ("add_header X-A \"b", "within quotes"),
    ("add_header X-A b", "expecting \";\""),
    ("add_header X-A \"a\"b;", "closing quote"),
    ("add_header X-A \"a\nb\";", "control character"),
    ("add_header X-A \"a\\r\\nSet-Cookie: b\";", "control character"),
    ("add_header \"X-A\\r\\nX-B\" a;", "header name"),
    ("if ($host) { if ($host) { return 200; } }", "a block must not contain"),
    ("add_header X-A b { return 200; }", "it must not have a block"),
    ("if ($host);", "it needs a block"),
    // They use files.
    ("root /etc;", "files of the node"),
    ("alias /etc/;", "files of the node"),
    ("include /etc/passwd;", "files of the node"),
    ("try_files /etc/passwd =404;", "files of the node"),
    ("access_log /etc/cron.d/x;", "is not off"),
    ("access_log syslog:server=10.0.0.1;", "is not off"),
    ("error_log /etc/cron.d/x debug;", "writes a file"),
    ("proxy_store /etc/x;", "files of the node"),
    ("proxy_temp_path /etc;", "files of the node"),
    ("client_body_temp_path /etc;", "files of the node"),
    ("auth_basic_user_file /etc/passwd;", "files of the node"),
    ("ssl_certificate_key /etc/ssl/other.key;", "files of the node"),
    ("proxy_ssl_trusted_certificate /etc/x;", "files of the node"),
    ("if (-f /etc/passwd) { return 200; }", "files of the node"),
    ("if (!-e $http_x) { return 200; }", "files of the node"),
    ("error_page 404 /x;", "custom-http-errors"),
    // They use programs.
    (
        "content_by_lua_block { os.execute(\"id\") }",
        "line 1, column 1: \"content_by_lua_block\": it is refused, because Lua is not run: it is a program in nginx; instead: the backend",
    ),
    (
        "access_by_lua_block {\n if ngx.var[a[1]] == '}' then -- }\n ngx.say([[ } ]]) end\n}",
        "Lua is not run: it is a program in nginx; instead: auth-url, or the backend",
    ),
    ("set_by_lua_block $x { return {} }", "Lua is not run"),
    ("balancer_by_lua_block { }", "Lua is not run"),
    ("ssl_certificate_by_lua_block { }", "Lua is not run: it is a program in nginx; instead: spec.tls"),
    ("init_worker_by_lua_block { }", "Lua is not run"),
    ("content_by_lua_block { return; }", "Lua is not run"),
    ("content_by_lua 'os.execute(\"id\")';", "Lua is not run"),
    ("access_by_lua_file /tmp/x;", "Lua is not run"),
    ("set_by_lua $x 'return 1';", "Lua is not run"),
    ("content_by_lua_block { '} ", "block of Lua"),
    ("js_content x;", "runs a program"),
    ("perl 'sub {}';", "runs a program"),
    ("load_module /tmp/x.so;", "runs a program"),
    // They use directives that are allowed elsewhere only.
    ("proxy_pass http://127.0.0.1:10246;", "nowhere else"),
    ("proxy_pass http://169.254.169.254;", "nowhere else"),
    ("grpc_pass 127.0.0.1:1;", "follows from the annotations"),
    ("fastcgi_pass unix:/run/php.sock;", "Service of the path"),
    ("resolver 10.0.0.1;", "ingressd has not checked"),
    ("mirror /x;", "mirror-target"),
    ("auth_request /x;", "auth-url"),
    ("listen 81;", "opens a port"),
    ("server_name other.example.com;", "hosts are those of Ingresses"),
    ("upstream x { server 127.0.0.1; }", "Service of the path"),
    ("stub_status;", "shows data of all hosts"),
    ("internal;", "unreachable"),
    ("rewrite ^ /x last;", "another location"),
    ("rewrite ^ /x;", "another location"),
    ("rewrite ^/((.*))$ https://a.test/$1$2 redirect;", "only one of several groups"),
    ("rewrite ^/((.*))$ https://a.test/$1$2 break;", "only one of several groups"),
    ("rewrite ^/(?=(.*))(.*)$ /x?a=$1&b=$2 break;", "only one of several groups"),
    ("if ($http_x) { rewrite ^/((a)+)$ /$1/$2 permanent; }", "only one of several groups"),
    ("proxy_ignore_headers X-Accel-Redirect;", "other locations"),
    ("proxy_pass_header X-Accel-Redirect;", "nginx removes"),
    ("add_header X-Accel-Redirect /x;", "nginx itself interprets it"),
    ("ssi on;", "other locations"),
    ("set_real_ip_from 0.0.0.0/0;", "trusted proxies are the same"),
    ("limit_req zone=other;", "limit-rps"),
    ("user root;", "nginx as a whole"),
    ("env X;", "nginx as a whole"),
    // They use forbidden variables.
    ("add_header X-A $ssl_certificate_key;", "may not read"),
    ("add_header X-A $ssl_session_id;", "may not read"),
    ("add_header X-A $ingressd_dollar;", "may not read"),
    ("add_header X-A ${ingressd_scheme};", "may not read"),
    ("add_header X-A $document_root;", "may not read"),
    ("add_header X-A $hostname;", "may not read"),
    ("add_header X-A $http_authorization;", "passwords or tokens"),
    ("add_header X-A $http_cookie;", "passwords or tokens"),
    ("add_header X-A $uri;", "contain a line break"),
    ("return 302 https://example.com$uri;", "contain a line break"),
    ("set $x $uri;", "contain a line break"),
    ("if ($uri ~ (.*)) { return 302 $1; }", "contain a line break"),
    ("if ($remote_user ~ (.*)) { add_header X-A $1; }", "contain a line break"),
    ("if ($http_x ~ (a)) { rewrite ^(.*)$ /x break; return 302 /$1; }", "contain a line break"),
    ("add_header X-A $1;", "has a capture"),
    ("add_header X-A $;", "refers to nothing"),
    ("add_header X-A ${host;", "never closed"),
    ("rewrite ^ /x?u=$uri break;", "contain a line break"),
    ("if ($http_x ~ (a)) { return 302 https://$best_http_host/$1; }", "captures"),
    ("add_header X-A $ssl_server_name;", "may not read"),
    ("if ($x) { return 200; } set $x 1;", "further below"),
    ("set $args x;", "a variable of nginx"),
    ("set $http_x x;", "a variable of nginx"),
    ("set $ingressd_plain \"\"; return 200 $ingressd_trusted;", "may not read"),
    ("set $1 x;", "a variable of nginx"),
    ("set x y;", "to set as $name"),
    ("set $a_name_that_is_far_too_long x;", "a variable of nginx"),
    // They affect framing, or other hosts.
    ("add_header Content-Length 0;", "frames"),
    ("add_header Transfer-Encoding chunked;", "frames"),
    ("add_header Strict-Transport-Security \"max-age=9; includeSubDomains\";", "other hosts"),
    ("more_set_headers \"Strict-Transport-Security: max-age=0\";", "other hosts"),
    ("more_clear_headers Strict-Transport-Security;", "other hosts"),
    ("more_clear_headers 'X-*';", "header name"),
    ("more_set_headers -s 404 \"X-A: b\";", "options are not allowed"),
    ("proxy_set_header Connection close;", "connection-proxy-header"),
    ("proxy_set_header Content-Length 0;", "frames"),
    ("proxy_set_header Transfer-Encoding chunked;", "frames"),
    ("proxy_set_header X-Ingress-Hops \"\";", "round and round"),
    ("proxy_set_header Upgrade h2c;", "frames"),
    ("underscores_in_headers on;", "expect from nginx"),
    // They are too expensive.
    ("sub_filter aaaaaaaa $host;sub_filter $host b;", "must not contain variables"),
    (
        "sub_filter a 1; sub_filter b 1; sub_filter c 1; sub_filter d 1; sub_filter e 1; sub_filter f 1; sub_filter g 1; \
      sub_filter h 1; sub_filter i 1;",
        "8 texts",
    ),
    (
        "sub_filter aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa x;",
        "256 bytes",
    ),
    ("more_set_headers \"A: b\" proxy_read_timeout 10s;", "perhaps a ; is missing"),
    ("charset koi8-r;", "utf-8"),
    ("if ($http_x ~ \"(a+)+$\") { return 200; }", "too many ways"),
    ("rewrite \"(x+x+)+y\" / break;", "too many ways"),
    ("if ($http_x ~ \"(a)\\1\") { return 200; }", "the expression"),
    ("if ($http_x ~ \"(?<ingressd_plain>a)\") { return 200; }", "the expression"),
    ("proxy_read_timeout soon;", "whole seconds"),
    ("set $a $http_x$http_x$http_x$http_x; set $a $a$a; set $a $a$a;", "too long"),
    // A capture is as long as the text that the expression is matched with.
    (
        "set $a $http_x$http_x; if ($a ~ \"(.*)\") { set $b \"$1$1$1\"; } if ($b ~ \"(.*)\") { set $c \"$1$1\"; }",
        "too long",
    ),
    ("if ($http_x ~ \"(.*)\") { return 200 \"$1$1$1$1$1$1$1$1$1\"; }", "too long"),
    // A response header may contain another one, repeatedly.
    ("add_header X-A aaaa; add_header X-B \"$sent_http_x_a$sent_http_x_a\";", "may not read"),
    // Repeated scanning takes as long as the square of the length.
    (
        "set $a $http_x$http_x$http_x; if ($a ~ \"[^/]*/x\") { return 200; } if ($a ~ \"[^/]*/x\") { return 201; }",
        "a weight of more than 250",
    ),
    (
        "if ($http_x ~ \"[^/]*/x\") { return 200; } if ($http_x ~ \"[^/]*/y\") { return 201; }",
        "a weight of more than 250",
    ),
    ("sub_filter a bb; sub_filter_once off;", "at least 4 bytes"),
    ("sub_filter_once off; sub_filter aaaa $http_x;", "32 times as long"),
    ("sub_filter_once off; sub_filter aaaa https://$host;", "32 times as long"),
    ("gzip_comp_level 9;", "from 1 to 6"),
    ("expires 1y2x;", "not a number"),
    ("gzip_proxied \"}{\";", "the words off"),
    // They have invalid forms.
    ("allow 10.0.0.0/8;", "admits every client"),
    ("allow 10.0.0.0/8; deny 10.0.0.1; deny all;", "write deny before allow"),
    ("deny all; allow 10.0.0.0/8;", "decides about all clients"),
    ("allow unix:;", "sockets of the node"),
    ("deny evil;", "not an address"),
    ("return 99;", "not a status"),
    ("return 301 javascript:alert(1);", "URL or a path"),
    ("expires \"; }\";", "not a number"),
    ("default_type \"a b\";", "not a word"),
    ("proxy_cookie_path ~(a+)+ /;", "not regular expressions"),
    ("made_up on;", "a snippet may not have"),
    ("\"add_header\\n\" X-A b;", "a snippet may not have"),
    ("location /x { return 200; }", "server-snippet"),
    ("client_max_body_size 8m; client_max_body_size 9m;", "there twice"),
    ("gzip on; gzip off;", "there twice"),
];

#[test]
fn hostile_snippets_are_refused_for_what_they_are() {
    for (text, words) in HOSTILE {
        let reported = tried("configuration-snippet", text).expect_err(text);
        assert!(reported.contains(words), "{text}: {reported}");
    }
    for (text, words) in [
        ("allow all;", "configuration-snippet"),
        ("location /x { proxy_pass http://10.0.0.1; }", "one return or deny all"),
        ("location /x { root /etc; return 200; }", "one return or deny all"),
        ("location /x { location /y { return 200; } }", "a block must not contain"),
        ("location @x { return 200; }", "write a path, or"),
        ("location ~ (a+)+$ { return 200; }", "too many ways"),
        ("listen 81;", "opens a port"),
    ] {
        let reported = tried("server-snippet", text).expect_err(text);
        assert!(reported.contains(words), "{text}: {reported}");
    }
    let many = "add_header X-A b;".repeat(101);
    assert!(tried("configuration-snippet", &many).is_err_and(|words| words.contains("more than 100 directives")));
    let heavy = "if ($request_uri ~ \"/.+/x\") { return 403; }".repeat(11);
    assert!(tried("configuration-snippet", &heavy).is_err_and(|words| words.contains("a weight of more than 250")));
    let deep = "if ($host) {".repeat(200);
    assert!(tried("configuration-snippet", &deep).is_err_and(|words| words.contains("too many blocks")));
}

#[test]
fn what_several_snippets_say_of_a_route_is_bounded_together() {
    let read = |text: &str| {
        let reading = reading("scribe", &options(), &[("server-snippet", text)]);
        let [snippet] = reading.host.snippets.as_slice() else { panic!("{:?}", reading.findings) };
        Arc::clone(snippet)
    };
    let searches = |mark: &str| (0..5).map(|number| format!("sub_filter {mark}{number} x;")).collect::<String>();
    let lines = |mark: &str| format!("add_header X-{mark} y;").repeat(100);
    let long =
        |mark: &str| (0..40).map(|number| format!("proxy_set_header X-{mark}{number} $http_x;")).collect::<String>();
    let grown = format!("sub_filter aaaa {};", "b".repeat(200));
    let rows = [
        ([searches("a"), searches("b")].to_vec(), "8 texts"),
        (('a'..='k').map(|mark| lines(&mark.to_string())).collect(), "1000 lines"),
        ([long("a"), long("b")].to_vec(), "2 MB long"),
        ([grown.clone(), "sub_filter_once off;".to_owned()].to_vec(), "32 times as long"),
    ];
    for (texts, words) in rows {
        let all: Vec<_> = texts.iter().map(|text| read(text)).collect();
        assert_eq!(Snippet::fit_together(&all[..1]), Ok(()), "{words}");
        let reported = Snippet::fit_together(&all).expect_err(words);
        assert!(reported.to_string().contains(words), "{reported}");
    }
    assert_eq!(Snippet::fit_together(&[read(&grown), read("sub_filter_once on;")]), Ok(()));
}

#[test]
fn each_mistake_has_its_place_in_the_snippet() {
    let text = "add_header X-A b;\n  root /etc;\n  gzip on; include x;\n";
    let reported = tried("configuration-snippet", text).unwrap_err();
    assert!(
        reported.contains("line 2, column 3: \"root\": ") && reported.contains("line 3, column 12: \"include\": "),
        "{reported}"
    );
    let many = "root /;\n".repeat(9);
    let reported = tried("configuration-snippet", &many).unwrap_err();
    assert!(
        reported.contains("line 5") && !reported.contains("line 6") && reported.contains("and 4 more"),
        "{reported}"
    );
}

#[test]
fn they_count_only_where_the_administrator_lets_them() {
    let text = "add_header X-A b;";
    for (key, namespace, options) in [
        ("configuration-snippet", "scribe", Options::default()),
        ("configuration-snippet", "other", options()),
        ("server-snippet", "other", options()),
        ("configuration-snippet", "scribe", Options { annotation_snippets: false, ..options() }),
        ("stream-snippet", "scribe", options()),
    ] {
        let reading = reading(namespace, &options, &[(key, text)]);
        assert!(reading.refused && reading.behaviour.snippets.is_empty() && reading.host.snippets.is_empty(), "{key}");
    }
    assert!(!reading("scribe", &options(), &[("configuration-snippet", text)]).refused);
    let server = "server { listen 7000; proxy_pass db.scribe.svc:80; }";
    let without_ports = reading("scribe", &options(), &[("stream-snippet", server)]);
    assert!(without_ports.refused && without_ports.streams.is_empty());
    let labelled = AllowedSnippets {
        selector: Some("!closed".parse().unwrap()),
        items: vec![SnippetKind::Configuration],
        ..AllowedSnippets::default()
    };
    let options = Options { snippets: vec![labelled], ..Options::default() };
    assert!(reading("scribe", &options, &[("configuration-snippet", text)]).refused, "its labels are not known");
}

#[test]
fn what_an_annotation_does_is_said_once_and_has_its_ceiling() {
    let both = [("configuration-snippet", "proxy_read_timeout 60s;"), ("proxy-read-timeout", "30")];
    let read = reading("scribe", &options(), &both);
    assert!(read.refused && read.findings[0].note.contains("use only one of them"), "{:?}", read.findings);
    let mut options = options();
    options.limits.body_size = ingressd_model::ByteSize(1 << 20);
    for key in ["configuration-snippet", "server-snippet"] {
        let read = reading("scribe", &options, &[(key, "client_max_body_size 9999g;")]);
        let of_host = read.host.snippets.iter().flat_map(|snippet| &snippet.settings);
        let mut directives = read.behaviour.directives.iter().chain(of_host);
        let size = directives.find(|directive| directive.row.name == "client_max_body_size").unwrap();
        assert_eq!(size.arguments, [Argument::Size(options.limits.body_size)], "{key}");
    }
}

#[test]
fn headers_for_a_question_are_its_headers() {
    let asked = |snippet: &str| {
        reading(
            "scribe",
            &options(),
            &[("auth-url", "http://auth.scribe.svc.cluster.local/"), ("auth-snippet", snippet)],
        )
    };
    let read = asked("proxy_set_header X-Tenant \"a b\";\nproxy_set_header X-Host $host;");
    let headers = &read.authentication.expect("it is asked").policy.request_headers;
    let shown: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(shown, ["X-Tenant: a b", "X-Host: ${host}"]);
    for (text, words) in [
        ("proxy_pass http://127.0.0.1;", "nowhere else"),
        ("proxy_set_header Content-Length 0;", "frames"),
        ("return 200;", "has no effect on a request to auth-url"),
        ("proxy_set_header X-A $http_authorization; }", "unexpected"),
        ("internal;", "unreachable"),
    ] {
        let read = asked(text);
        assert!(
            read.refused && read.findings.iter().any(|finding| finding.note.contains(words)),
            "{text}: {:?}",
            read.findings
        );
    }
}

#[test]
fn every_directive_is_known_and_what_it_stands_for_exists() {
    assert!(ALLOWED.is_sorted_by_key(|allowed| allowed.name));
    for allowed in ALLOWED {
        assert!(
            directives::find(allowed.name).is_some()
                && refused::find(allowed.name).is_none_or(|(name, ..)| name.ends_with('*')),
            "{}",
            allowed.name
        );
        let is_known = catalogue::find(allowed.name, Block::Location).is_some();
        match allowed.read {
            Read::Plain { .. } => assert!(is_known, "{}", allowed.name),
            Read::Annotation(key, _) => {
                let row = ANNOTATIONS.find(key).unwrap_or_else(|| panic!("{key}"));
                assert!(row.is_served(), "{key}");
                assert!(!allowed.of_hosts || matches!(row.effect, Effect::Directive(..)), "{}", allowed.name);
            }
            Read::By(_) | Read::Nothing(_) => {}
        }
    }
    let names: BTreeSet<_> = refused::REFUSED.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names.len(), refused::REFUSED.len());
}

#[test]
fn what_does_the_same_is_reported_directive_by_directive() {
    let found = super::alternatives(
        &ANNOTATIONS,
        "server-snippet",
        "proxy_read_timeout 1m;\nroot /;\nif ($a) { return 301 /; }\nmade_up;",
    );
    let expected = [
        "proxy_read_timeout: the annotation proxy-read-timeout, or a snippet that the administrator allows (snippets.allowed)",
        "root: a Service that serves the files",
        "if: canary-by-header,",
        "return: permanent-redirect,",
        "\"made_up\": no replacement is known",
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    found.iter().zip(expected).for_each(|(found, expected)| assert!(found.starts_with(expected), "{found}"));
    let lua =
        super::alternatives(&ANNOTATIONS, "server-snippet", "access_by_lua_block { if a then b = '}' end }\nroot /;");
    assert_eq!(lua[0], "access_by_lua_block: Lua is not run; instead: auth-url, or the backend");
    assert!(lua[1].starts_with("root: "), "{lua:?}");
    let of_streams = super::alternatives(&ANNOTATIONS, "stream-snippet", "server { listen 1; }");
    assert!(of_streams[0].contains("with its ports"), "{of_streams:?}");
    assert!(super::alternatives(&ANNOTATIONS, "server-snippet", "}")[0].starts_with("it is not valid configuration"));
}

#[test]
fn each_variable_that_is_set_costs_nginx_time() {
    let cost = |text: &str| {
        let reading = reading("scribe", &options(), &[("configuration-snippet", text)]);
        Cost::of_snippet(&reading.behaviour.snippets[0]).test
    };
    let (one, three) = (cost("set $a 1;"), cost("set $a 1; set $b 2; if ($http_x) { set $a 3; }"));
    assert!(three >= one + 2 * 4000, "{one} {three}");
}
