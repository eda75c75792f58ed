//! A model that uses everything, with its tables.

use std::sync::Arc;
use std::time::Duration;

use ingressd_config::Usual as _;
use ingressd_model::catalogue;
use ingressd_model::{
    AccessList, Action, AnswerDuration, AnswerHeader, AnswerMemory, Argument, AuthenticationPolicy, BackendHeaders,
    BasicAuthentication, Behaviour, Branch, ByteSize, Certificate, CertificateId, Choice, ClientLimits, Connection,
    CookiePath, Cors, Directive, Endpoint, ExternalAuthentication, FastCgi, Field, FileName, Forwarded, Handler,
    HeaderName, HeaderSet, HeaderText, HeaderValue, HostExpression, HostListeners, HostName, Hsts, HttpsRedirect, Kind,
    LimitRate, Listener, Mirror, MirrorPolicy, Model, ObjectId, Origin, OriginPattern, OriginUrl, ParameterName,
    Passthroughs, PasswordFile, PasswordFileId, PathMatch, Pattern, Port, Presented, Protocol, RedirectUrl, Rewrite,
    RewritePattern, RewriteTarget, Route, SameSite, Satisfy, SecretBytes, Server, ServerName, Serves, Session,
    SessionCookie, Share, Split, Stream, StreamPolicy, Tables, TargetPart, Template, TemplatePart, Test, Text,
    TlsTermination, Transport, Upstream, UpstreamId, UpstreamIdentity, UrlPath, Variable,
};

fn answer_header((name, value): (&str, &str)) -> AnswerHeader {
    let (name, value) = (HeaderName::new(name).expect("a name"), HeaderText::new(value).expect("a value"));
    AnswerHeader::new(name, value).expect("a header that may be set")
}

fn object(kind: Kind, name: &str) -> Arc<ObjectId> {
    Arc::new(ObjectId::new(kind, "shop", name))
}

pub fn origin() -> Origin {
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
pub fn everything() -> Behaviour {
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
pub fn model() -> Model {
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

/// The model whose clients of hosts use the PROXY protocol, or not.
pub fn with_proxy_protocol(model: Model, proxy_protocol: bool) -> Model {
    let listeners = model.listeners.iter().map(|listener| Listener { proxy_protocol, ..listener.clone() }).collect();
    Model { listeners, ..model }
}

/// Two endpoints of each upstream of hosts, those of services, and a key pair for all
/// certificates.
pub fn tables() -> Arc<Tables> {
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
