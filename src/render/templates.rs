//! The templates of the program, each with a full example of its view, and those of others that take their place.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};

use super::engine::{Engine, Source, Unfit};
use super::file_set::Digest;
use super::lint::Lines;
use super::token::{Literal, Number, Path, Text, Word, Words};
use super::view;
use crate::model::{Instance, Refused};

/// Texts by name.
type Texts = BTreeMap<&'static str, String>;

/// Texts that take the place of the program's own templates. They are proven to put no value where it could do harm.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Templates(Arc<Texts>);

impl Templates {
    /// Proves texts, by the names of the templates whose place they take.
    ///
    /// # Errors
    ///
    /// Those that break a rule, and never none.
    pub fn of(texts: BTreeMap<&'static str, String>) -> Result<Self, Vec<Unfit>> {
        let templates = Templates(Arc::new(texts));
        load(&Instance::default(), &templates).map(|_| templates)
    }

    /// The names of all templates of the program, sorted.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<_> = sources(&Instance::default(), &Texts::new()).iter().map(|source| source.name).collect();
        names.sort_unstable();
        names
    }

    /// What tells these texts from others; `None` where the program's own are used.
    pub fn digest(&self) -> Option<Digest> {
        let texts = self.0.iter().map(|(name, text)| format!("{name} {}\n{text}", text.len()));
        (!self.0.is_empty()).then(|| Digest::of(texts.collect::<String>().as_bytes()))
    }
}

impl fmt::Debug for Templates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Templates").field(&self.0.keys()).finish()
    }
}

/// Loads them all, with these in the place of the program's own.
///
/// # Errors
///
/// When one of them is unfit; those of the program are loaded by a test, others when they are read.
pub fn load(instance: &Instance, templates: &Templates) -> Result<Engine, Vec<Unfit>> {
    Engine::load(sources(instance, &templates.0), instance)
}

fn sources(instance: &Instance, texts: &Texts) -> Vec<Source> {
    // Names of ours are the same in all templates, and differ from those of another instance.
    let named = |text: &str| {
        let mark = instance.mark();
        text.replace("ingressd_", &format!("ingressd{mark}_"))
            .replace("shared:ingressd:", &format!("shared:ingressd{mark}:"))
    };
    macro_rules! source {
        ($name:literal, $example:expr) => {
            Source {
                name: $name,
                text: named(include_str!(concat!("../../templates/", $name, ".hbs"))),
                instead: texts.get($name).map(|text| named(text)),
                example: $example,
                defines: $name == "shared",
                lines: match $name {
                    "location" => Some(Lines::Second("directives")),
                    "server" => Some(Lines::Last("common")),
                    _ => None,
                },
            }
        };
    }
    // An example that cannot be made is a view of nothing, which no template accepts.
    let example = |made: Result<Value, Refused>| Some(made.unwrap_or(Value::Null));
    vec![
        source!("proxy_headers", None),
        source!("proxy_headers_by_port", None),
        source!("proxy_headers_told", None),
        source!("proxy_headers_detailed", None),
        source!("proxy_headers_detailed_by_port", None),
        source!("proxy_headers_detailed_told", None),
        source!("grpc_headers", None),
        source!("grpc_headers_by_port", None),
        source!("grpc_headers_told", None),
        source!("grpc_headers_detailed", None),
        source!("grpc_headers_detailed_by_port", None),
        source!("grpc_headers_detailed_told", None),
        source!("fastcgi_headers", None),
        source!("fastcgi_headers_by_port", None),
        source!("fastcgi_headers_told", None),
        source!("fastcgi_headers_detailed", None),
        source!("fastcgi_headers_detailed_by_port", None),
        source!("fastcgi_headers_detailed_told", None),
        source!("fastcgi_params", None),
        source!("strict_paths", None),
        source!("shared", example(shared())),
        source!("listens", Some(json!(view::Listens { listens: vec![words()] }))),
        source!("server_name", example(name())),
        source!("server", example(server())),
        source!("client_certificates", example(client_certificates())),
        source!("told", Some(json!(view::Nothing {}))),
        source!("backends", Some(json!(view::Backends { variable: WORD }))),
        source!("backend", example(backend())),
        source!("location", example(location())),
        source!("request_headers", Some(json!(request_headers()))),
        source!("upstream", example(upstream())),
        source!("cors", example(cors())),
        source!("escaped_uri", Some(json!(escaped_uri()))),
        source!("answer_memory", example(answer_memory())),
        source!("session", example(session())),
        source!("session_cookie", example(session_cookie())),
        source!("same_site", Some(json!(view::SameSite { variable: WORD }))),
        source!("split", example(split())),
        source!("stranger", example(stranger())),
        source!("limits", example(limits())),
        source!("access_log", example(access_log())),
        source!("blocked", example(blocked())),
        source!("everywhere", Some(json!(view::Everywhere { blocked: vec![WORD], directives: vec![directive()] }))),
        source!("firewall", Some(json!(view::Firewall { directives: vec![directive()] }))),
        source!("list", Some(json!(list()))),
        source!("lookup_geo", example(lookup())),
        source!("lookup_map", example(lookup())),
        source!("stream", Some(json!(stream()))),
        source!("stream_upstream", Some(json!(stream_upstream()))),
        source!("passthrough", example(passthrough())),
    ]
}

const WORD: Word = Word::fixed("word");
const NUMBER: Number = Number(1);

/// Several, so that nobody takes them for one.
fn words() -> Words {
    Words::join([WORD, WORD])
}

fn directive() -> view::Directive {
    view::Directive { name: WORD, arguments: words() }
}

fn shared() -> Result<Value, Refused> {
    Ok(json!(view::Shared {
        names_hash: vec![view::NamesHash { max_size: NUMBER, bucket_size: NUMBER }],
        variables_hash_max_size: true,
        variables_hash_bucket_size: true,
        trusts_proxies: true,
        detailed: true,
        plain_port: WORD,
        scheme: WORD,
        tells_scheme: true,
        peer: WORD,
        inside: vec![view::Inside { peer: WORD, addresses: vec![WORD] }],
        trusts: true,
        trusted: vec![WORD],
        told_port: WORD,
        told_host: WORD,
        request_id: WORD,
        append: true,
        asks_clients: true,
        hsts: vec![view::Hsts { variable: WORD, value: Text::new("text")? }],
        status: vec![view::StatusServer { address: WORD, resets: vec![directive()], stub_status: true }],
        unlimited_requests: true,
        unlimited_connections: true,
        nothing: true,
    }))
}

fn name() -> Result<Value, Refused> {
    Ok(json!(view::Name { name: Literal::new("name")? }))
}

fn backend() -> Result<Value, Refused> {
    Ok(json!(view::Backend { host: Literal::new("name")?, upstream: WORD }))
}

fn server() -> Result<Value, Refused> {
    let path = Path::new("/file".as_ref())?;
    Ok(json!(view::Server {
        http2: true,
        certificate: vec![path],
        protocols: vec![Words::join([WORD])],
        sessions: vec![directive()],
        access_log: vec![words()],
        keepalive_min_timeout: true,
        grpc: true,
        detailed: true,
        trusts_proxies: true,
        tells_scheme: true,
        real_ip: vec![view::RealIp { header: WORD, networks: vec![WORD] }],
        hsts: vec![WORD],
        resets: vec![directive()],
        common: vec![directive()],
    }))
}

fn client_certificates() -> Result<Value, Refused> {
    Ok(json!(view::ClientCertificates {
        authority: Path::new("/file".as_ref())?,
        revoked: vec![Path::new("/file".as_ref())?],
        verify: WORD,
        depth: NUMBER,
        error_page: vec![Text::new("text")?],
        trusts_proxies: true,
    }))
}

fn stranger() -> Result<Value, Refused> {
    Ok(json!(view::Stranger { variable: WORD, pattern: Literal::new("~^x$")? }))
}

fn location() -> Result<Value, Refused> {
    let conditional = view::Conditional { condition: WORD, name: WORD, arguments: words() };
    let compared = view::Compared { variable: WORD, operator: WORD, value: words(), name: WORD, arguments: words() };
    Ok(json!(view::Location {
        modifier: WORD,
        path: Literal::new("/")?.into(),
        directives: vec![directive()],
        strict_paths: true,
        statements: vec![view::Statement {
            conditional: vec![conditional],
            compared: vec![compared],
            plain: vec![directive()],
        }],
        pass: vec![view::Pass { directive: WORD, scheme: WORD, upstream: WORD }],
    }))
}

fn request_headers() -> view::RequestHeaders {
    view::RequestHeaders { headers: vec![view::RequestHeader { directive: WORD, name: WORD, value: words() }] }
}

fn lookup() -> Result<Value, Refused> {
    Ok(json!(view::Lookup {
        source: words(),
        variable: WORD,
        default: Text::new("text")?,
        rows: vec![view::LookupRow { key: words(), value: words() }],
    }))
}

fn list() -> view::List {
    view::List { variable: WORD, denied: true, networks: vec![view::ListNetwork { network: WORD, denied: WORD }] }
}

fn upstream() -> Result<Value, Refused> {
    let endpoints = vec![view::Endpoint { address: WORD, weight: vec![NUMBER] }];
    Ok(json!(view::Upstream {
        name: WORD,
        session: vec![WORD],
        key: vec![Text::new("text")?],
        least_connections: true,
        two_by_chance: true,
        endpoints,
        keepalive: vec![NUMBER],
        reuse: vec![directive()],
    }))
}

fn stream() -> view::Stream {
    view::Stream {
        listens: vec![words()],
        trusted: vec![WORD],
        header_timeout: vec![WORD],
        timeout: WORD,
        next_upstream: true,
        next_upstream_timeout: WORD,
        next_upstream_tries: NUMBER,
        responses: vec![NUMBER],
        sends_proxy_protocol: true,
        upstream: WORD,
    }
}

fn stream_upstream() -> view::StreamUpstream {
    let endpoints = vec![view::Endpoint { address: WORD, weight: vec![NUMBER] }];
    view::StreamUpstream { name: WORD, endpoints, empty: true }
}

fn passthrough() -> Result<Value, Refused> {
    let name = || Literal::new("name");
    let host = || Ok(view::PassedHost { name: name()?, passed: WORD, upstream: WORD });
    Ok(json!(view::Passthrough {
        sizes: vec![view::NamesHash { max_size: NUMBER, bucket_size: NUMBER }],
        sorted: vec![view::Sorted {
            clients: WORD,
            proxies: vec![view::SortedNetwork { network: WORD, inside: WORD }],
        }],
        inside: WORD,
        wildcards: vec![host()?],
        opened: vec![view::OpenedHost { name: name()?, passed: WORD }],
        hosts: vec![host()?],
        nobody: WORD,
        listens: vec![words()],
        trusted: vec![WORD],
        header_timeout: vec![WORD],
        within: words(),
        timeout: WORD,
        next_upstream: true,
        next_upstream_timeout: WORD,
        next_upstream_tries: NUMBER,
    }))
}

fn cors() -> Result<Value, Refused> {
    Ok(json!(view::Cors {
        any: true,
        origin: WORD,
        origins: vec![Literal::new("~^x$")?],
        headers: vec![view::CorsHeader { origin: WORD, variable: WORD, value: Text::new("text")? }],
        preflight: WORD,
    }))
}

fn escaped_uri() -> view::EscapedUri {
    let stages = vec![view::EscapedStage { from: WORD, to: WORD }];
    view::EscapedUri { first: WORD, stages, last: WORD, escaped: WORD }
}

fn answer_memory() -> Result<Value, Refused> {
    Ok(json!(view::AnswerMemory { folder: Path::new("/folder".as_ref())?, zone: WORD }))
}

fn session() -> Result<Value, Refused> {
    let expressions = vec![view::SessionExpression { given: WORD, pattern: Literal::new("~^x$")? }];
    Ok(json!(view::Session { expressions, given: WORD, session: WORD }))
}

fn session_cookie() -> Result<Value, Refused> {
    let (secure, plain) = (Text::new("text")?, Text::new("text")?);
    let change = view::SessionChange {
        scheme: WORD,
        unchanged: WORD,
        cookie: WORD,
        secure: secure.clone(),
        plain: plain.clone(),
    };
    Ok(json!(view::SessionCookie { scheme: WORD, given: WORD, cookie: WORD, secure, plain, changes: vec![change] }))
}

fn split() -> Result<Value, Refused> {
    let (variable, rest) = (WORD, WORD);
    Ok(json!(view::Split {
        shares: vec![view::Shares {
            key: WORD,
            variable,
            parts: vec![view::SplitPart { percent: WORD, upstream: WORD }],
            rest
        }],
        tests: vec![view::Tests {
            subject: WORD,
            variable: WORD,
            branches: vec![view::SplitBranch { pattern: Literal::new("~^x$")?, upstream: WORD }],
            rest: WORD,
        }],
    }))
}

fn blocked() -> Result<Value, Refused> {
    let values = vec![Literal::new("~^x$")?];
    Ok(json!(view::Blocked {
        networks: vec![view::BlockedNetworks { variable: WORD, networks: vec![WORD] }],
        headers: vec![view::BlockedHeader { header: WORD, variable: WORD, values }],
    }))
}

fn access_log() -> Result<Value, Refused> {
    Ok(json!(view::AccessLog {
        backends: true,
        namespace: true,
        service: true,
        port: true,
        upstream: true,
        alternative: true,
        ingress: true,
        request_id: true,
        skip: vec![view::LogSkip { variable: WORD, requests: vec![Literal::new("/x")?] }],
        formats: vec![view::LogFormat { name: WORD, escape: WORD, line: Text::new("text")? }],
    }))
}

fn limits() -> Result<Value, Refused> {
    Ok(json!(view::Limits {
        exempt: WORD,
        networks: vec![WORD],
        client: WORD,
        rates: vec![view::RateZone { client: WORD, zone: WORD, size: WORD, number: NUMBER, unit: WORD }],
        connections: vec![view::ConnectionZone { client: WORD, zone: WORD, size: WORD }],
    }))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_template_keeps_the_rules() {
        super::load(&Default::default(), &Default::default()).expect("every name in every template resolves");
    }
}
