//! The distribution's nginx accepts what is rendered for a model that uses everything; no cluster,
//! no daemon.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ingressd_config::Usual as _;
use ingressd_model::catalogue;
use ingressd_model::finding::Finding;
use ingressd_model::{
    AccessList, Action, AnswerDuration, AnswerHeader, AnswerMemory, Argument, AuthenticationPolicy, BackendHeaders,
    BasicAuthentication, Behaviour, Branch, ByteSize, Certificate, CertificateId, Choice, ClientLimits, Connection,
    CookiePath, Cors, Directive, Endpoint, ExternalAuthentication, FastCgi, Field, FileName, Forwarded, Handler,
    HeaderName, HeaderSet, HeaderText, HeaderValue, HostExpression, HostListeners, HostName, Hsts, HttpsRedirect, Kind,
    LimitRate, Listener, LogLine, Mirror, MirrorPolicy, Model, ObjectId, Origin, OriginPattern, OriginUrl,
    ParameterName, Passthrough, Passthroughs, PasswordFile, PasswordFileId, PathMatch, Pattern, Port, Presented,
    Protocol, RedirectUrl, Rewrite, RewritePattern, RewriteTarget, Route, SameSite, Satisfy, SecretBytes, Server,
    ServerName, Serves, Session, SessionCookie, Share, Split, Stream, StreamPolicy, Tables, TargetPart, Template,
    TemplatePart, Test, Text, TlsTermination, Transport, USUAL_LINE, Unlogged, Upstream, UpstreamId, UpstreamIdentity,
    UrlPath, Variable,
};
use ingressd_nginx::render::{FileSet, Renderer, Work};
use ingressd_nginx::{AccessLogOptions, Capabilities, GateOptions, LogFormat, OtherSites, Plan, gate, syntax};

fn answer_header((name, value): (&str, &str)) -> AnswerHeader {
    let (name, value) = (HeaderName::new(name).expect("a name"), HeaderText::new(value).expect("a value"));
    AnswerHeader::new(name, value).expect("a header that may be set")
}

fn object(kind: Kind, name: &str) -> Arc<ObjectId> {
    Arc::new(ObjectId::new(kind, "shop", name))
}

fn origin() -> Origin {
    Origin { object: object(Kind::INGRESS, "everything"), field: Field::Object }
}

fn upstream_id(service: &str, protocol: Protocol) -> UpstreamId {
    UpstreamIdentity { protocol, ..UpstreamIdentity::usual("shop", service, "80") }.into()
}

fn upstream(service: &str, protocol: Protocol) -> Arc<Upstream> {
    Arc::new(Upstream { id: upstream_id(service, protocol), origin: origin(), uid: None, sharers: 1 })
}

fn proxy(service: &str, protocol: Protocol) -> Action {
    Action::Proxy { upstream: upstream_id(service, protocol), split: None }
}

fn route(path: PathMatch, action: Action, behaviour: Behaviour) -> Route {
    Route::new(path, handler(action, behaviour))
}

fn handler(action: Action, behaviour: Behaviour) -> Handler {
    Handler { origin: origin(), action, behaviour: behaviour.into(), errors: None }
}

fn exact(path: &str) -> PathMatch {
    PathMatch::Exact { path: UrlPath::new(path).expect("a path"), redirect_to_slash: false }
}

fn prefix(path: &str) -> PathMatch {
    PathMatch::Prefix { path: UrlPath::new(path).expect("a path"), redirect_to_slash: false }
}

fn host(name: &str) -> HostName {
    HostName::new(name).expect("a host")
}

fn names(list: &[&str]) -> Vec<HeaderName> {
    list.iter().map(|name| HeaderName::new(name).expect("a token")).collect()
}

fn pattern(text: &str) -> Pattern {
    Pattern::new(text).expect("a pattern")
}

fn directive(row: &'static catalogue::DirectiveRow, arguments: Vec<Argument>) -> Directive {
    Directive { row, arguments, origin: origin() }
}

fn template(text: &str) -> Template {
    Template::text(text).expect("a template")
}

/// Every part of a behaviour at once.
fn everything() -> Behaviour {
    let password_file = PasswordFileId { secret: object(Kind::SECRET, "users"), map: false };
    Behaviour {
        strict_paths: true,
        // It needs a module that is not part of nginx; tests/end_to_end/modules.rs has it.
        firewall: None,
        snippets: Vec::new(),
        backend_headers: Some(Arc::new(BackendHeaders {
            host: RewriteTarget::new(vec![TargetPart::Literal("a\"b".into())]).ok(),
            prefix: RewriteTarget::new(vec![TargetPart::Capture(1)]).ok(),
            connection: Some(Connection::KeepAlive),
        })),
        directives: vec![
            directive(&catalogue::CLIENT_MAX_BODY_SIZE, vec![Argument::Size(ByteSize(8 << 20))]),
            directive(&catalogue::PROXY_BUFFERING, vec![Argument::Switch(true)]),
            directive(&catalogue::PROXY_BUFFERS, vec![Argument::Number(8), Argument::Size(ByteSize(8 << 10))]),
            directive(&catalogue::PROXY_NEXT_UPSTREAM, vec![Argument::Word("error"), Argument::Word("http_502")]),
            directive(&catalogue::PROXY_READ_TIMEOUT, vec![Argument::Time(Duration::from_secs(120))]),
        ],
        rewrite: Some(Rewrite {
            pattern: RewritePattern::Whole,
            target: RewriteTarget::new(vec![TargetPart::Literal("/new \"path\\".into())]).expect("a target"),
        }),
        session: Some(Session {
            path: UrlPath::new("/a'b#{}").ok().and_then(|path| CookiePath::new(&path)).expect("a path"),
            cookie: Arc::new(SessionCookie {
                name: HeaderName::new("my-app.id").expect("a token"),
                domain: Some(Text::new("example.com").expect("a text")),
                max_age: Some(60),
                same_site: Some(SameSite::NoneWhereKnown),
                always_secure: false,
                changes_on_failure: true,
            }),
        }),
        answer_headers: Some([("X-Frame-Options", "DENY; \"$x\" }"), ("set-cookie", "a=b")].map(answer_header).into()),
        https_redirect: Some(HttpsRedirect { status: 308, strip_trailing_slash: true, forced: false }),
        cors: Some(Arc::new(Cors {
            origins: vec![
                OriginPattern::Null,
                OriginPattern::Exact(OriginUrl::new("https://app.example.com:8443").expect("an origin")),
                OriginPattern::Wildcard(OriginUrl::new("https://example.org").expect("an origin")),
            ],
            methods: names(&["GET", "PUT"]),
            headers: names(&["Content-Type"]),
            has_default_headers: true,
            expose: names(&["*"]),
            credentials: true,
            max_age: 600,
        })),
        access: Some(Arc::new(AccessList::new(
            origin(),
            vec!["10.0.0.1/32".parse().expect("a network")],
            vec!["10.0.0.0/8".parse().expect("a network"), "fd00::/8".parse().expect("a network")],
        ))),
        basic_authentication: Some(Arc::new(BasicAuthentication {
            realm: Text::new("Members' \"area\"").expect("a text"),
            file: password_file,
        })),
        external_authentication: Some(Arc::new(ExternalAuthentication {
            origin: origin(),
            service: upstream_id("web", Protocol::Https),
            policy: Arc::new(AuthenticationPolicy {
                host: template("auth.example.com"),
                target: Template::new(vec![
                    TemplatePart::Text("/check?u=".into()),
                    TemplatePart::ClientScheme,
                    TemplatePart::Text("://".into()),
                    TemplatePart::ClientHost,
                    TemplatePart::EscapedTarget,
                ])
                .expect("a template"),
                method: HeaderName::new("HEAD").expect("a token"),
                sign_in: Some(template("https://login.example.com/start?rd=$x")),
                response_headers: names(&["X-User", "Authorization"]),
                request_headers: vec![(HeaderName::new("X-Realm").expect("a token"), template("a 'b' \"c\"; }"))],
                request_redirect: Some(template("https://example.com/")),
                memory: Some(AnswerMemory {
                    key: Template::new(vec![TemplatePart::Variable(Variable::new("remote_user").expect("a variable"))])
                        .expect("a template"),
                    durations: vec![
                        AnswerDuration::new(vec![200, 401], Duration::from_secs(60)).expect("a time"),
                        AnswerDuration::new(Vec::new(), Duration::from_secs(5)).expect("a time"),
                    ],
                }),
                always_sets_cookie: true,
            }),
        })),
        fastcgi: Some(Arc::new(FastCgi {
            index: Some(FileName::new("index.php").expect("a name")),
            parameters: vec![
                (ParameterName::new("REALM").expect("a name"), template("a 'b' \"c\"; } $x")),
                (ParameterName::new("SERVER_NAME").expect("a name"), template("")),
            ],
        })),
        mirror: Some(Arc::new(Mirror {
            origin: origin(),
            service: upstream_id("web", Protocol::Https),
            policy: Arc::new(MirrorPolicy {
                host: template("shadow.example.com"),
                target: Template::new(vec![TemplatePart::Variable(Variable::new("request_uri").expect("a variable"))])
                    .expect("a template"),
                has_body: false,
            }),
        })),
        satisfy: Satisfy::Any,
        limits: Some(Arc::new(ClientLimits {
            origin: origin(),
            rates: vec![(LimitRate::PerSecond(5), 25), (LimitRate::PerMinute(100), 500)],
            connections: Some(10),
            exempt: vec!["192.0.2.0/24".parse().expect("a network")],
        })),
    }
}

/// Forwards to a backend, with every condition by which a request may go to another.
fn split(service: &str) -> Action {
    let (upstream, other) = (upstream_id(service, Protocol::Http), upstream_id(service, Protocol::Https));
    let name = |text| HeaderName::new(text).expect("a name");
    let value = |text| HeaderValue::new(text).expect("a value");
    let tests = [
        Test::Header(name("X-A"), value("a\"b")),
        Test::HeaderMatches(name("X-A"), pattern("^x{2};")),
        Test::Cookie(name("c"), value("1")),
        Test::Query(name("v"), value("2")),
        Test::Method(name("PUT")),
    ];
    let answers =
        [Choice::Redirect(307, RedirectUrl::new("https://example.org/?x=y").expect("a target")), Choice::Respond(403)];
    let choices = answers.into_iter().chain(std::iter::repeat(Choice::Forward(other.clone())));
    let branches = tests.into_iter().zip(choices).map(|(test, then)| Branch { all: vec![test], then }).collect();
    let split = Split {
        origin: origin(),
        branches,
        session: None,
        shares: vec![(Choice::Forward(other.clone()), Share::of(1, 3)), (Choice::Respond(503), Share::of(1, 6))],
    };
    Action::Proxy { upstream, split: Some(Arc::new(split)) }
}

/// Every test, and all of them together, with a handler for each protocol.
fn branches() -> Route {
    let action = split("web");
    let all: Vec<Test> =
        action.split().expect("a split").branches.iter().flat_map(|branch| branch.all.clone()).collect();
    let handlers = [("web", Protocol::Https), ("web", Protocol::FastCgi), ("grpc", Protocol::Grpc)];
    let handlers: Vec<_> =
        handlers.map(|(name, protocol)| Arc::new(handler(proxy(name, protocol), everything()))).into();
    let conditions = all.iter().map(|test| vec![test.clone()]).chain([all.clone()]);
    let branches = conditions.zip(handlers.iter().cycle()).map(|(all, then)| Branch { all, then: Arc::clone(then) });
    Route { branches: branches.collect(), ..route(prefix("/branches"), action, everything()) }
}

/// A model that uses every part of the language between translation and rendering.
fn model() -> Model {
    let certificate =
        |id: CertificateId| Arc::new(Presented { id, origin: origin(), responder: None, has_issuer: false });
    let own = CertificateId::Secret(object(Kind::SECRET, "tls"));
    let fallback = route(prefix("/"), Action::Respond { status: 404 }, Behaviour::default());
    let regex = |source: &str| PathMatch::Regex(pattern(source));
    let captures = Rewrite {
        pattern: RewritePattern::Unanchored(pattern(r#"/api/(v\d{1,2})/(.*)"#)),
        target: RewriteTarget::new(vec![TargetPart::Literal("/".into()), TargetPart::Capture(2)]).expect("a target"),
    };
    let expression = HostExpression::new("^(?:x{2}|\"y\"|z;)+\\.example\\.org$").expect("an expression");
    let servers = vec![
        Server {
            reserved: vec![ServerName::Exact(host("kept.example.org")), ServerName::Wildcard(host("kept.example.org"))],
            routes: vec![route(exact("/hello"), split("web"), Behaviour::default())],
            ..Server::usual(ServerName::CatchAll, fallback.clone())
        },
        Server::usual(
            ServerName::Exact(host(&format!("{}.example.com", "a".repeat(63)))),
            route(prefix("/"), proxy("web", Protocol::Http), Behaviour::default()),
        ),
        Server {
            tls: TlsTermination::Own(own.clone()),
            hsts: Some(Hsts { max_age: 300, include_subdomains: true, preload: true }),
            header_set: HeaderSet::Detailed,
            routes: vec![
                route(exact("/exact/"), proxy("web", Protocol::Http), everything()),
                route(prefix("/grpc"), proxy("grpc", Protocol::Grpc), everything()),
                route(prefix("/grpcs"), proxy("grpc", Protocol::Grpcs), Behaviour::default()),
                route(prefix("/tls"), proxy("web", Protocol::Https), everything()),
                route(prefix("/auto"), proxy("web", Protocol::AutoHttp), everything()),
                route(prefix("/fastcgi"), proxy("web", Protocol::FastCgi), everything()),
                route(prefix("/a/"), proxy("web", Protocol::Http), everything()),
                route(prefix("/a"), proxy("web", Protocol::Http), Behaviour::default()),
                branches(),
                route(
                    prefix("/moved"),
                    Action::Redirect {
                        status: 301,
                        location: (&RedirectUrl::new("https://example.org/x?y=z").expect("a target")).into(),
                    },
                    Behaviour::default(),
                ),
            ],
            ..Server::usual(ServerName::Exact(host("shop.example.com")), fallback.clone())
        },
        Server {
            tls: TlsTermination::DefaultDeclared,
            hsts: Some(Hsts { max_age: 300, include_subdomains: false, preload: false }),
            routes: vec![
                route(exact(&format!("/{}", "long".repeat(200))), proxy("web", Protocol::Http), Behaviour::default()),
                route(
                    regex(r#"/api/(v\d{1,2})/(.*)"#),
                    proxy("web", Protocol::Http),
                    Behaviour { rewrite: Some(captures), ..Behaviour::default() },
                ),
                route(regex(r"/a|/b;\{\}#"), proxy("web", Protocol::Http), Behaviour::default()),
                route(prefix("/weird \"{};#'\\$x"), proxy("web", Protocol::Http), Behaviour::default()),
            ],
            ..Server::usual(ServerName::Wildcard(host("example.com")), fallback.clone())
        },
        Server {
            order: 7,
            tls: TlsTermination::Own(own.clone()),
            ..Server::usual(ServerName::Expression(expression), fallback)
        },
    ];
    let listeners = HostListeners {
        addresses: vec!["127.0.0.1".parse().expect("an address")],
        http_port: 18080,
        https_port: 18443,
        proxy_protocol: false,
    };
    Model {
        listeners: listeners.all(),
        server_directives: Vec::new(),
        lookup_tables: Default::default(),
        authorities: Vec::new(),
        zones: [(origin().object.namespace.clone(), ByteSize(80 << 10))].into(),
        servers: servers.into_iter().map(Arc::new).collect(),
        upstreams: vec![
            upstream("grpc", Protocol::Grpc),
            upstream("grpc", Protocol::Grpcs),
            upstream("web", Protocol::Http),
            upstream("web", Protocol::Https),
            upstream("web", Protocol::AutoHttp),
            upstream("web", Protocol::FastCgi),
        ],
        certificates: vec![certificate(CertificateId::SelfSigned), certificate(own)],
        password_files: vec![Arc::new(PasswordFile {
            id: PasswordFileId { secret: object(Kind::SECRET, "users"), map: false },
            origin: origin(),
            content: SecretBytes(Arc::from(&b"user:{PLAIN}secret\n"[..])),
        })],
        default_certificate: Some(CertificateId::SelfSigned),
        forwarded: Forwarded {
            trusted: vec!["127.0.0.0/8".parse().expect("a network")],
            only_addresses: false,
            append: true,
        },
        streams: streams().map(|(stream, ..)| Arc::new(stream)).collect(),
        passthroughs: Passthroughs::default(),
        stream_upstreams: streams().map(|(_, upstream, _)| Arc::new(upstream)).collect(),
    }
}

/// The model whose hosts are told of clients by the PROXY protocol, or not.
fn reported(model: Model, proxy_protocol: bool) -> Model {
    let listeners = model.listeners.iter().map(|listener| Listener { proxy_protocol, ..listener.clone() }).collect();
    Model { listeners, ..model }
}

/// Two endpoints of each upstream of hosts, those of services, and a key pair for all
/// certificates.
fn tables() -> Arc<Tables> {
    let endpoint = |text: &str| Endpoint { address: text.parse().expect("an address"), weight: 2 };
    let two: Arc<[Endpoint]> = ["10.244.0.1:8080", "[fd00::1]:8080"].map(endpoint).into();
    let of_hosts = model().upstreams.into_iter().map(|upstream| (upstream.id.clone(), Arc::clone(&two)));
    let of_streams = streams().map(|(_, upstream, endpoints)| (upstream.id, endpoints.into()));
    let key = rcgen::generate_simple_self_signed(vec!["shop.example.com".to_owned()]).expect("a certificate");
    let certificate = |of: Arc<Presented>| {
        let certificate = Certificate {
            of: Arc::clone(&of),
            chain: key.cert.pem().into_bytes().into(),
            key: SecretBytes(key.signing_key.serialize_pem().into_bytes().into()),
            validity: ingressd_model::Validity::default(),
        };
        (of.id.clone(), Arc::new(certificate))
    };
    let certificates = model().certificates.into_iter().map(certificate).collect();
    Arc::new(Tables { endpoints: of_hosts.chain(of_streams).collect(), certificates })
}

/// A service with everything for TCP, and one without endpoints for UDP.
fn streams() -> impl Iterator<Item = (Stream, Upstream, Vec<Endpoint>)> {
    [(Transport::Tcp, true), (Transport::Udp, false)].into_iter().map(|(transport, is_rich)| {
        let port = Port { transport, number: 18054 };
        let protocol = if is_rich { Protocol::Tcp } else { Protocol::Udp };
        let usual = UpstreamIdentity::usual("shop", "dns", "18054");
        let upstream = UpstreamId::from(UpstreamIdentity { mode: "nodeport", protocol, ..usual });
        let endpoint = |text: &str| Endpoint { address: text.parse().expect("an address"), weight: 2 };
        let endpoints = ["10.244.0.1:53", "[fd00::1]:53"].into_iter().filter(|_| is_rich).map(endpoint).collect();
        let header_timeout = Duration::from_secs(if is_rich { 5 } else { 30 });
        let policy = StreamPolicy { next_upstream: is_rich, responses: 0, header_timeout, ..StreamPolicy::usual() };
        let addresses = ["127.0.0.1".parse().expect("an address")].into();
        let listener = Listener { addresses, port, serves: Serves::Stream, proxy_protocol: is_rich };
        let group = Upstream { id: upstream.clone(), origin: origin(), uid: None, sharers: 1 };
        (Stream { listener, origin: origin(), upstream, sends_proxy_protocol: is_rich, policy }, group, endpoints)
    })
}

/// The module for TCP and UDP of the distribution.
fn stream_module() -> String {
    let folders = ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules"];
    let files = folders.map(|folder| format!("{folder}/ngx_stream_module.so"));
    files.into_iter().find(|file| Path::new(file).exists()).expect("libnginx-mod-stream is installed")
}

fn options(current: &Path) -> GateOptions {
    GateOptions {
        status: "127.0.0.1:18246".parse().expect("an address"),
        current: current.to_owned(),
        access_log: AccessLogOptions {
            format: LogFormat::IngressNginx,
            line: Some(
                LogLine::new(&format!("{USUAL_LINE} $namespace $ingress_name $service_name $service_port"))
                    .expect("a line"),
            ),
            path: Some(current.join("access.log")),
            unlogged: ["/healthz", "~^/ping"].map(|text| Unlogged::new(text).expect("a request")).into(),
            ..AccessLogOptions::usual()
        },
        ..GateOptions::usual()
    }
}

fn installed() -> Capabilities {
    let output = Command::new("nginx").arg("-V").output().expect("nginx is installed");
    Capabilities::parse(&String::from_utf8_lossy(&output.stderr), &[stream_module()]).expect("it tells its version")
}

fn render(model: Model, current: &Path) -> (FileSet, Vec<Finding>) {
    let (plan, findings) = gate(&model.into(), &tables(), &installed(), &OtherSites::default(), &options(current));
    (Renderer::default().render(&plan).together(), findings)
}

/// What `nginx -t` says about the files, in a folder of their own.
fn test(files: &FileSet, root: &Path) -> (bool, String) {
    for (path, file) in &files.files {
        let path = root.join(&**path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, file.content.bytes()).expect("a file");
    }
    fs::write(root.join("http/generation.conf"), "map $nginx_version $ingressd_generation { default 1; }\n")
        .expect("a file");
    let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let folders: String =
        folders.iter().map(|name| format!("{name}_temp_path {};", root.join(name).display())).collect();
    let main = format!(
        "load_module {1}; pid {0}/pid; error_log stderr; events {{}} http {{ {folders} include {0}/http/*.conf; }} \
         stream {{ include {0}/stream/*.conf; }}",
        root.display(),
        stream_module()
    );
    fs::write(root.join("nginx.conf"), main).expect("a file");
    let output = Command::new("nginx").arg("-t").arg("-c").arg(root.join("nginx.conf")).output().expect("nginx runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The findings without the one that depends on the age of the nginx that is installed.
fn surprising(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| !finding.note.contains("passes on only the first of several headers"));
    findings
}

#[test]
fn nginx_accepts_a_model_that_uses_everything() {
    let root = tempfile::tempdir().expect("a folder");
    let (files, findings) = render(model(), root.path());
    assert_eq!(surprising(findings), []);
    let (accepted, words) = test(&files, root.path());
    assert!(accepted, "{words}");
    assert!(!words.contains("[warn]"), "{words}");
}

#[test]
fn nginx_accepts_the_proxy_protocol_and_the_address_that_it_names() {
    let root = tempfile::tempdir().expect("a folder");
    let (plan, findings) =
        gate(&reported(model(), true).into(), &tables(), &installed(), &OtherSites::default(), &options(root.path()));
    assert_eq!(surprising(findings), []);
    let files = Renderer::default().render(&plan).together();
    for (path, file) in files.files.iter().filter(|(path, _)| path.starts_with("http/server-")) {
        let text = file.content.text();
        let count = |words: &str| text.lines().filter(|line| line.contains(words)).count();
        let wanted = [("listen ", 2), (" proxy_protocol", 3), ("real_ip_header proxy_protocol;", 1), ("_told_", 0)];
        assert_eq!(wanted.map(|(words, _)| (words, count(words))), wanted, "{path}");
    }
    let (accepted, words) = test(&files, root.path());
    assert!(accepted && !words.contains("[warn]"), "{words}");
}

#[test]
fn nginx_accepts_hosts_whose_tls_is_not_opened() {
    let sized = OtherSites { stream_directives: ["map_hash_max_size".to_owned()].into(), ..OtherSites::default() };
    // Whether the wildcard alone is passed on, so that hosts within it are opened; the PROXY
    // protocol; who sizes tables; and what the file of a host says how often.
    let rows = [
        (true, false, OtherSites::default(), [("listen ", 3), ("real_ip_header", 2), (" proxy_protocol", 3)]),
        (false, false, sized.clone(), [("listen ", 3), ("real_ip_header", 2), (" proxy_protocol", 3)]),
        (true, true, sized, [("listen ", 2), ("real_ip_header proxy_protocol;", 1), (" proxy_protocol", 3)]),
    ];
    for (is_wild, proxy_protocol, other_sites, wanted) in rows {
        let root = tempfile::tempdir().expect("a folder");
        let mut model = model();
        let is_passed = |name: &ServerName| match name {
            ServerName::CatchAll | ServerName::Expression(_) => false,
            ServerName::Exact(_) => !is_wild,
            ServerName::Wildcard(_) => true,
        };
        let names = model.servers.iter().map(|server| server.name.clone()).filter(is_passed);
        let passed = |name| Passthrough {
            upstream: (!is_wild).then(|| model.stream_upstreams[0].id.clone()),
            name,
            origin: origin(),
        };
        model.passthroughs.hosts = names.map(passed).collect();
        model.listeners = model.listeners.into_iter().map(Listener::passing).collect();
        let model = reported(model, proxy_protocol);
        let (plan, findings) = gate(&model.into(), &tables(), &installed(), &other_sites, &options(root.path()));
        assert_eq!(surprising(findings), []);
        let files = Renderer::default().render(&plan).together();
        let stream = files.files["stream/passthrough-10247.conf"].content.text();
        assert_eq!(stream.contains("map_hash_max_size"), other_sites.stream_directives.is_empty());
        assert_eq!(stream.contains("\"shop.example.com\" $ingressd_inside;"), is_wild && !proxy_protocol, "{stream}");
        assert_eq!(stream.contains("\"shop.example.com\" ingressd.passed-"), !is_wild, "{stream}");
        let server = files.files["http/server-exact-shop.example.com.conf"].content.text();
        let count = |words: &str| server.lines().filter(|line| line.contains(words)).count();
        assert_eq!(wanted.map(|(words, _)| (words, count(words))), wanted, "{server}");
        if !other_sites.stream_directives.is_empty() {
            fs::create_dir_all(root.path().join("stream")).expect("a folder");
            fs::write(root.path().join("stream/00-own.conf"), "map_hash_max_size 4096;\n").expect("a file");
        }
        let (accepted, words) = test(&files, root.path());
        assert!(accepted && !words.contains("[warn]"), "{words}");
    }
}

#[test]
fn nginx_accepts_each_server_with_nothing_but_what_it_requires() {
    let root = tempfile::tempdir().expect("a folder");
    let (files, _) = render(model(), root.path());
    let servers: Vec<_> = files.files.keys().filter(|path| path.starts_with("http/server-")).collect();
    // Five of them, and the names that are reserved.
    assert_eq!(servers.len(), 6, "{servers:?}");
    for server in servers {
        let folder = root.path().join(server.replace('/', "_"));
        let (all, _) = render(model(), &folder);
        let wanted = all.files[server].requires.iter().chain([server]);
        let files = FileSet { files: wanted.map(|path| (path.clone(), Arc::clone(&all.files[path]))).collect() };
        let (accepted, words) = test(&files, &folder);
        assert!(accepted, "{server}: {words}");
    }
}

#[test]
fn the_same_model_gives_the_same_bytes_and_only_changes_are_rendered() {
    let root = Path::new("/nowhere");
    let (plan, _) = gate(&model().into(), &tables(), &installed(), &OtherSites::default(), &options(root));
    let mut renderer = Renderer::default();
    let rendered = renderer.render(&plan);
    let same = renderer.render(&plan);
    assert!(Arc::ptr_eq(&rendered.of_model, &same.of_model) && same.work == Work::default());
    let (first, equal) = (rendered.together(), Plan { model: Arc::new(Model::clone(&plan.model)), ..plan.clone() });
    let again = renderer.render(&equal).together();
    assert_eq!(first, again);
    let kept = first.files.iter().filter(|(path, file)| Arc::ptr_eq(file, &again.files[*path])).count();
    // Servers but the catch-all server, from which reserved wildcards were taken, upstreams,
    // certificates, the password file, and services with their endpoints.
    assert_eq!(kept, 4 + 6 + 2 + 1 + 2 + 2);
    assert_eq!(Renderer::default().render(&plan).together(), first);
}

#[test]
fn every_line_of_a_server_has_an_owner_and_settings_have_their_own() {
    let mut model = model();
    let field = Origin { field: Field::Rule(7), ..origin() };
    let mut server = (*model.servers[2]).clone();
    let mut behaviour = everything();
    behaviour.directives[4].origin = field.clone();
    server.routes[0].behaviour = behaviour.into();
    model.servers[2] = server.into();
    let (files, _) = render(model, Path::new("/nowhere"));
    let file = &files.files["http/server-exact-shop.example.com.conf"];
    let text = file.content.text();
    for (line, words) in (1..).zip(text.lines()) {
        let owner = file.owners.of_line(line).expect("an owner");
        let timeout = owner == &field;
        assert_eq!(timeout, words.trim() == "proxy_read_timeout 120s;" && timeout, "{line}: {words}");
    }
    assert!((1..).zip(text.lines()).any(|(line, _)| file.owners.of_line(line) == Some(&field)));
}

#[test]
fn every_file_reads_as_nginx_reads_it() {
    let (files, _) = render(model(), Path::new("/nowhere"));
    for (path, file) in files.files.iter().filter(|(path, _)| path.starts_with("http/") || path.starts_with("stream/"))
    {
        let read = syntax::parse(&file.content.bytes());
        assert!(read.is_ok(), "{path}: {read:?}");
    }
}
