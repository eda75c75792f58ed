//! The templates of the program, each with a full example of its view; it must not know the model.

use serde_json::{Value, json};

use super::engine::{Engine, Source, Unfit};
use super::token::{Literal, Number, Path, Text, Word, Words};
use super::view;
use crate::model::{Instance, Refused};

/// Loads them all.
///
/// # Errors
///
/// When one of them is unfit; a test loads them.
pub fn load(instance: &Instance) -> Result<Engine, Unfit> {
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
                example: $example,
            }
        };
    }
    // An example that cannot be made is a view of nothing, which no template accepts.
    let example = |made: Result<Value, Refused>| Some(made.unwrap_or(Value::Null));
    Engine::load(
        vec![
            source!("proxy_headers", None),
            source!("proxy_client", None),
            source!("proxy_client_told", None),
            source!("grpc_headers", None),
            source!("grpc_client", None),
            source!("grpc_client_told", None),
            source!("cors_hidden", None),
            source!("cors_hidden_grpc", None),
            source!("shared", example(shared())),
            source!("listens", Some(json!(view::Listens { listens: vec![Words::join([WORD])] }))),
            source!("server_name", example(name())),
            source!("server", example(server())),
            source!("backends", Some(json!(view::Backends { variable: WORD }))),
            source!("backend", example(backend())),
            source!("location", example(location())),
            source!("upstream", example(upstream())),
            source!("cors", example(cors())),
            source!("limits", example(limits())),
        ],
        instance,
    )
}

const WORD: Word = Word::fixed("word");
const NUMBER: Number = Number(1);

fn directive() -> view::Directive {
    view::Directive { name: WORD, arguments: Words::join([WORD]) }
}

fn shared() -> Result<Value, Refused> {
    Ok(json!(view::Shared {
        names_hash: vec![view::NamesHash { max_size: NUMBER, bucket_size: NUMBER }],
        variables_hash_max_size: true,
        variables_hash_bucket_size: true,
        believes: true,
        scheme: WORD,
        peer: WORD,
        trusted: vec![WORD],
        append: true,
        hsts: vec![view::Hsts { variable: WORD, value: Text::new("text")? }],
        status: vec![view::Status { address: WORD, resets: vec![directive()], stub_status: true }],
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
        certificate: vec![path.clone()],
        access_log: vec![path],
        keepalive_min_timeout: true,
        grpc: true,
        believes: true,
        trusted: vec![view::Networks { networks: vec![WORD] }],
        hsts: vec![WORD],
        resets: vec![directive()],
        common: vec![directive()],
    }))
}

fn location() -> Result<Value, Refused> {
    let cors = view::CorsUse {
        preflight: WORD,
        origin: WORD,
        credentials: WORD,
        methods: WORD,
        headers: WORD,
        expose: WORD,
        max_age: WORD,
        echoed: true,
        grpc: true,
        hsts: vec![WORD],
    };
    let limits = view::LimitsUse {
        rated: true,
        rates: vec![view::RateUse { zone: WORD, burst: NUMBER }],
        connections: vec![view::ConnectionsUse { zone: WORD, number: NUMBER }],
    };
    Ok(json!(view::Location {
        modifier: WORD,
        path: Literal::new("/")?,
        directives: vec![directive()],
        protected: true,
        https_redirect: vec![view::HttpsRedirect { status: NUMBER, host: WORD, port: vec![NUMBER], uri: WORD }],
        cors: vec![cors],
        redirect: vec![view::Redirect { status: NUMBER, location: Text::new("text")? }],
        respond: vec![view::Respond { status: NUMBER, words: Text::new("text")? }],
        rewrite: vec![view::Rewrite { pattern: Literal::new("^")?, target: Text::new("/")? }],
        access: vec![view::Access { deny: vec![WORD], allow: vec![WORD], closed: true }],
        authentication: vec![view::Authentication {
            realm: Text::new("text")?,
            file: Path::new("/file".as_ref())?,
            grpc: true,
            believes: true,
        }],
        limits: vec![limits],
        grpc: vec![view::Grpc { scheme: WORD, upstream: WORD, hsts: vec![WORD], believes: true }],
        proxy: vec![view::Proxy { tls: true, scheme: WORD, upstream: WORD }],
    }))
}

fn upstream() -> Result<Value, Refused> {
    let endpoints = vec![view::Endpoint { address: WORD, weight: vec![NUMBER] }];
    Ok(json!(view::Upstream { name: WORD, endpoints, keepalive: vec![NUMBER] }))
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

fn limits() -> Result<Value, Refused> {
    Ok(json!(view::Limits {
        exempt: WORD,
        networks: vec![WORD],
        client: WORD,
        rates: vec![view::RateZone { client: WORD, zone: WORD, number: NUMBER, unit: WORD }],
        connections: vec![view::ConnectionZone { client: WORD, zone: WORD }],
    }))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_template_keeps_the_rules() {
        super::load(&Default::default()).expect("every name in every template resolves");
    }
}
