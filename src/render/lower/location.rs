//! From one route to the content of its locations; it must not know which paths lead there.

use crate::model::catalogue::Module;
use crate::model::expression::LIMITS;
use crate::model::{
    AccessList, Action, Argument, BasicAuthentication, ByteSize, ClientCertificates, ClientLimits, Cors, Directive,
    HttpsRedirect, OriginPattern, Protocol, Refused, Rewrite, RewritePattern, Route, Server, StrictPaths,
};
use crate::nginx::Decisions;
use crate::render::names;
use crate::render::token::{Literal, Number, Path, Text, Word, Words};
use crate::render::view;

use super::backend::Backends;
use super::backend_tls;
use super::client_certificates::stranger;
use super::paths::{Place, anchored};
use super::server::Facts;

/// What the locations of a server have in common.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The host has a certificate, so that its plain requests may be redirected.
    pub tls_host: bool,
    /// What it asks of the certificates of its clients.
    pub client_certificates: Option<&'a ClientCertificates>,
    /// The variable with its policy of strict transport security.
    pub hsts: Option<&'a Word>,
    /// What the server says already.
    pub common: &'a [&'a Directive],
    /// Where paths have to be strict.
    pub strict: &'a StrictPaths<'a>,
    /// Whether backends get the detailed headers.
    pub detailed: bool,
    /// How upstreams are named.
    pub backends: &'a Backends<'a>,
}

/// A location for a route.
pub fn location(
    place: &Place<'_>,
    surroundings: &Surroundings<'_>,
    facts: &Facts<'_>,
) -> Result<view::Location, Refused> {
    let Surroundings { tls_host, client_certificates, hsts, common, strict, detailed, backends } = *surroundings;
    let client = || client_certificates.map(|asked| view::ClientHeaders { told: asked.is_told }).into_iter().collect();
    let route = place.route;
    let behaviour = &*route.behaviour;
    let grpc = route.action.is_grpc();
    let mut view = view::Location {
        directives: directives(route, common)
            .map(|(view, _)| view)
            .chain(buffer_limits(route, facts.decisions))
            .collect(),
        to_slash: place.to_slash.iter().cloned().collect(),
        strict_paths: strict.concern(route),
        protected: behaviour.access.is_some() || behaviour.basic_authentication.is_some(),
        https_redirect: behaviour
            .https_redirect
            .iter()
            .filter(|redirect| redirect.forced || tls_host)
            .map(|redirect| https_redirect(redirect, facts))
            .collect(),
        asks_clients: client_certificates.is_some(),
        stranger: optional(client_certificates, |asked| stranger(asked, &route.path))?.into_iter().flatten().collect(),
        cors: optional(behaviour.cors.as_deref(), |cors| cors_use(cors, grpc, hsts))?,
        denied: optional(behaviour.access.as_deref().and_then(AccessList::mark).as_ref(), |mark| {
            Word::variable(&names::list(*mark))
        })?,
        access: behaviour.access.as_deref().filter(|list| list.mark().is_none()).map(access).into_iter().collect(),
        authentication: optional(behaviour.basic_authentication.as_deref(), |basic| {
            authentication(basic, grpc, detailed, client(), facts)
        })?,
        limits: optional(behaviour.limits.as_deref(), limits)?,
        rewrite: optional(behaviour.rewrite.as_ref(), rewrite)?,
        ..empty(place)?
    };
    if route.action.upstream().is_some()
        && let Some(session) = &behaviour.session
    {
        let hsts = hsts.filter(|_| behaviour.cors.is_none()).cloned().into_iter().collect();
        let cookie = Word::variable(&names::session_cookie(&session.cookie))?;
        let (variable, path) = (Word::variable(names::COOKIE_PATH)?, Text::new(session.path.as_str())?);
        view.session.push(view::SessionUse { cookie, variable, path, hsts });
    }
    match &route.action {
        Action::Proxy { upstream, split } if matches!(upstream.protocol, Protocol::Http | Protocol::Https) => {
            let tls = upstream.protocol == Protocol::Https;
            let scheme = Word::fixed(if tls { "https://" } else { "http://" });
            let backend_tls: Vec<_> = backend_tls::view(upstream, facts.decisions)?.into_iter().collect();
            let tls = tls && backend_tls.is_empty();
            let upstream = match split {
                Some(split) => Word::variable(&names::split(split, upstream))?,
                None => backends.word(upstream, route)?,
            };
            view.proxy.push(view::Proxy { tls, backend_tls, scheme, upstream });
        }
        Action::Proxy { upstream, split } => view.grpc.push(view::Grpc {
            scheme: Word::fixed(if upstream.protocol == Protocol::Grpcs { "grpcs://" } else { "grpc://" }),
            upstream: match split {
                Some(split) => Word::variable(&names::split(split, upstream))?,
                None => Word::own(&names::upstream(upstream))?,
            },
            hsts: hsts.cloned().into_iter().collect(),
            detailed,
            believes: facts.forwarded.believes(),
            client: client(),
            backend_tls: backend_tls::view(upstream, facts.decisions)?.into_iter().collect(),
        }),
        Action::Redirect { status, location } => {
            view.rewrite.clear();
            view.redirect
                .push(view::Redirect { status: Number(u64::from(*status)), location: Text::new(location.as_str())? });
        }
        Action::Respond { status } => {
            view.rewrite.clear();
            view.respond.push(respond(*status)?);
        }
        Action::Closed => {
            view.rewrite.clear();
            view.respond.push(respond(503)?);
        }
    }
    Ok(view)
}

/// A location that answers 503 to all.
pub fn closed(place: &Place<'_>) -> Result<view::Location, Refused> {
    Ok(view::Location { respond: vec![respond(503)?], ..empty(place)? })
}

/// The settings of a route that its backend's protocol knows and the server does not say already, with their origins, in
/// order.
pub fn directives<'a>(
    route: &'a Route,
    common: &'a [&Directive],
) -> impl Iterator<Item = (view::Directive, &'a Directive)> {
    let grpc = route.action.is_grpc();
    let own = |directive: &&Directive| !common.iter().any(|common| common.row == directive.row);
    route.behaviour.directives.iter().filter(own).filter_map(move |directive| {
        let name = match (grpc, directive.row.grpc, directive.row.module) {
            (true, Some(twin), _) => twin,
            (true, None, Some(Module::Proxy)) => return None,
            _ => directive.row.name,
        };
        Some((written(name, directive), directive))
    })
}

/// A setting under its own name or that of its twin.
pub fn written(name: &'static str, directive: &Directive) -> view::Directive {
    let arguments = Words::join(directive.arguments.iter().map(argument));
    view::Directive { name: Word::fixed(name), arguments }
}

/// Settings that a server may say for its locations: they depend on no other, and none of them is in its template.
const COMMON: [&str; 6] = [
    "client_max_body_size",
    "proxy_next_upstream",
    "proxy_next_upstream_timeout",
    "proxy_read_timeout",
    "proxy_request_buffering",
    "proxy_send_timeout",
];

/// What all routes of a server set alike, so that it can be said once: the fewer directives, the shorter each reload.
pub fn common(server: &Server) -> Vec<&Directive> {
    let says = |route: &Route, wanted: &Directive| {
        let same = |own: &Directive| own.row == wanted.row && own.arguments == wanted.arguments;
        route.behaviour.directives.iter().any(same)
            && !(route.action.is_grpc() && wanted.row.module == Some(Module::Proxy))
    };
    let all = |wanted: &&Directive| server.routes.iter().chain([&server.fallback]).all(|route| says(route, wanted));
    let candidates = server.fallback.behaviour.directives.iter();
    candidates.filter(|directive| COMMON.contains(&directive.row.name)).filter(all).collect()
}

/// nginx derives these two from the buffers unless an outer level sets them, as our server then does; they must not
/// stay behind when a route has larger buffers.
fn buffer_limits(route: &Route, decisions: &Decisions) -> Vec<view::Directive> {
    let own = &route.behaviour.directives;
    let size = |directive: &Directive| match directive.row.name {
        "proxy_buffer_size" | "proxy_buffers" => directive.arguments.iter().find_map(|argument| match argument {
            Argument::Size(size) => Some(size.0),
            _ => None,
        }),
        _ => None,
    };
    let Some(largest) = own.iter().filter_map(size).max().filter(|_| !route.action.is_grpc()) else {
        return Vec::new();
    };
    let is_set = |name: &str| decisions.resets.iter().any(|reset| reset.name == name);
    let is_own = |name: &str| own.iter().any(|directive| directive.row.name == name);
    ["proxy_busy_buffers_size", "proxy_temp_file_write_size"]
        .into_iter()
        .filter(|name| is_set(name) && !is_own(name))
        .map(|name| view::Directive {
            name: Word::fixed(name),
            arguments: Words::join([Word::size(ByteSize(2 * largest.max(4096)))]),
        })
        .collect()
}

fn optional<T, V>(part: Option<&T>, view: impl FnOnce(&T) -> Result<V, Refused>) -> Result<Vec<V>, Refused> {
    Ok(part.map(view).transpose()?.into_iter().collect())
}

fn empty(place: &Place<'_>) -> Result<view::Location, Refused> {
    Ok(view::Location {
        modifier: place.modifier.clone(),
        path: place.literal()?,
        directives: Vec::new(),
        to_slash: Vec::new(),
        strict_paths: false,
        protected: false,
        https_redirect: Vec::new(),
        asks_clients: false,
        stranger: Vec::new(),
        cors: Vec::new(),
        session: Vec::new(),
        redirect: Vec::new(),
        respond: Vec::new(),
        denied: Vec::new(),
        rewrite: Vec::new(),
        access: Vec::new(),
        authentication: Vec::new(),
        limits: Vec::new(),
        grpc: Vec::new(),
        proxy: Vec::new(),
    })
}

fn argument(argument: &Argument) -> Word {
    match argument {
        Argument::Word(word) => Word::fixed(word),
        Argument::Switch(on) => Word::fixed(if *on { "on" } else { "off" }),
        Argument::Number(number) => Word::number(*number),
        Argument::Size(size) => Word::size(*size),
        Argument::Time(time) => Word::time(*time),
        Argument::Ciphers(ciphers) => Word::ciphers(ciphers),
    }
}

fn https_redirect(redirect: &HttpsRedirect, facts: &Facts<'_>) -> view::HttpsRedirect {
    let port = facts.decisions.public_https_port;
    view::HttpsRedirect {
        status: Number(u64::from(redirect.status)),
        host: Word::fixed(if facts.forwarded.believes() { "$ingressd\u{2}_redirect_host" } else { "$host" }),
        port: (port != 443).then_some(Number(u64::from(port))).into_iter().collect(),
        uri: Word::fixed(match redirect.strip_trailing_slash {
            true => "$ingressd\u{2}_stripped_uri",
            false => "$request_uri",
        }),
    }
}

fn cors_use(cors: &Cors, grpc: bool, hsts: Option<&Word>) -> Result<view::CorsUse, Refused> {
    let name = names::cors(cors);
    let variable = |suffix: &str| Word::variable(&format!("{name}{suffix}"));
    Ok(view::CorsUse {
        preflight: variable("_preflight")?,
        origin: variable("")?,
        credentials: variable("_credentials")?,
        methods: variable("_methods")?,
        headers: variable("_headers")?,
        expose: variable("_expose")?,
        max_age: variable("_max_age")?,
        echoed: !cors.origins.contains(&OriginPattern::Any),
        grpc,
        hsts: hsts.cloned().into_iter().collect(),
    })
}

fn access(access: &AccessList) -> view::Access {
    view::Access {
        deny: access.deny().iter().map(Word::network).collect(),
        allow: access.allow().iter().map(Word::network).collect(),
        closed: !access.allow().is_empty(),
    }
}

fn authentication(
    basic: &BasicAuthentication,
    grpc: bool,
    detailed: bool,
    client: Vec<view::ClientHeaders>,
    facts: &Facts<'_>,
) -> Result<view::Authentication, Refused> {
    let file = facts.decisions.current.join(&*names::password_file(&basic.file));
    Ok(view::Authentication {
        realm: Text::new(basic.realm.as_str())?,
        file: Path::new(&file)?,
        grpc,
        detailed,
        believes: facts.forwarded.believes(),
        client,
    })
}

fn limits(limits: &ClientLimits) -> Result<view::LimitsUse, Refused> {
    let name = names::limits(limits);
    let rate = |(rate, burst): &(_, u32)| {
        Ok(view::RateUse { zone: Word::own(&names::rate_zone(&name, *rate))?, burst: Number(u64::from(*burst)) })
    };
    let connections = |number: u32| {
        Ok(view::ConnectionsUse { zone: Word::own(&names::connection_zone(&name))?, number: Number(u64::from(number)) })
    };
    Ok(view::LimitsUse {
        rated: !limits.rates.is_empty(),
        rates: limits.rates.iter().map(rate).collect::<Result<_, _>>()?,
        connections: limits.connections.map(connections).transpose()?.into_iter().collect(),
    })
}

fn rewrite(rewrite: &Rewrite) -> Result<view::Rewrite, Refused> {
    let pattern = match &rewrite.pattern {
        RewritePattern::Unanchored(pattern) => format!("{LIMITS}(?i){pattern}"),
        RewritePattern::Anchored(pattern) => format!("{LIMITS}(?i){}", anchored(pattern)),
        RewritePattern::Whole => "^".to_owned(),
    };
    Ok(view::Rewrite { pattern: Literal::new(&pattern)?, target: Text::replacement(&rewrite.target)? })
}

fn respond(status: u16) -> Result<view::Respond, Refused> {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let words = Text::new(&format!("{status} {}", reason.unwrap_or("Unknown")))?;
    Ok(view::Respond { status: Number(u64::from(status)), words })
}
