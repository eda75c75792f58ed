//! From a plan to what servers share: variables, zones and the server for the daemon itself; it must not know routes' paths.

use std::collections::BTreeMap;

use crate::model::{
    Behaviour, ByteSize, ClientLimits, Cors, Handover, HeaderName, Hsts, LimitRate, OriginPattern, Refused, expression,
};
use crate::nginx::{Decisions, Plan};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Number, Text, Word};
use crate::render::view;

use super::client_certificates;
use super::server::resets;

/// The file that all servers require.
pub fn shared(plan: &Plan, engine: &Engine) -> File {
    let text = shared_view(plan).ok().and_then(|view| engine.fill("shared", &view).ok()).map(Part::Filled);
    File::plain(text, Owners::default(), [])
}

fn shared_view(plan: &Plan) -> Result<view::Shared, Refused> {
    let decisions = &plan.decisions;
    let policies: BTreeMap<String, Hsts> =
        plan.model.servers.iter().filter_map(|server| server.hsts).map(|hsts| (names::hsts(&hsts), hsts)).collect();
    let hsts = |(name, hsts): (&String, &Hsts)| {
        let subdomains = if hsts.include_subdomains { "; includeSubDomains" } else { "" };
        let preload = if hsts.preload { "; preload" } else { "" };
        let value = Text::new(&format!("max-age={}{subdomains}{preload}", hsts.max_age))?;
        Ok(view::Hsts { variable: Word::variable(name)?, value })
    };
    let names_hash = decisions.names_hash.map(|sizes| view::NamesHash {
        max_size: Number(u64::from(sizes.max_size)),
        bucket_size: Number(u64::from(sizes.bucket_size)),
    });
    let status = decisions.status.map(|(address, stub_status)| view::Status {
        address: Word::address(address),
        // It asks no backend, and sizes for backends must fit others that it does not set.
        resets: resets(decisions, |name| !name.starts_with("proxy_") && !client_certificates::RESETS.contains(&name)),
        stub_status,
    });
    let believes = plan.model.forwarded.believes();
    let trusted = if believes { &plan.model.forwarded.trusted } else { &decisions.proxies };
    let peer = Word::fixed(if decisions.real_ip { "$realip_remote_addr" } else { "$remote_addr" });
    let inside: Vec<_> =
        decisions.listens.iter().filter(|_| believes).filter(|listen| listen.entrance.is_inside()).collect();
    let addresses: Vec<_> = inside.iter().map(|listen| Word::address(listen.address)).collect();
    let inside: Vec<_> =
        (!addresses.is_empty()).then(|| view::Inside { peer: peer.clone(), addresses }).into_iter().collect();
    let takes_back = |name: &str| decisions.resets.iter().any(|reset| reset.name == name);
    Ok(view::Shared {
        unlimited_requests: takes_back("limit_req"),
        unlimited_connections: takes_back("limit_conn"),
        nothing: takes_back("proxy_ssl_certificate") || takes_back("grpc_ssl_certificate"),
        names_hash: names_hash.into_iter().collect(),
        variables_hash_max_size: decisions.variables_hash_max_size,
        variables_hash_bucket_size: decisions.variables_hash_bucket_size,
        believes,
        detailed: plan.model.servers.iter().any(|server| server.handover == Handover::Detailed),
        plain_port: plain_port(decisions),
        scheme: Word::fixed(if believes { "$ingressd\u{2}_scheme" } else { "$scheme" }),
        peer: if inside.is_empty() { peer } else { Word::fixed("$ingressd\u{2}_peer") },
        inside,
        trusts: !trusted.is_empty(),
        trusted: trusted.iter().map(Word::network).collect(),
        told_port: Word::fixed(if believes { "$http_x_forwarded_port" } else { "$proxy_protocol_server_port" }),
        append: plan.model.forwarded.append,
        asks_clients: plan.model.servers.iter().any(|server| server.client_certificates.is_some()),
        hsts: policies.iter().map(hsts).collect::<Result<_, _>>()?,
        status: status.into_iter().collect(),
    })
}

/// The port of plain requests: a number costs them less than a variable.
fn plain_port(decisions: &Decisions) -> Word {
    let mut ports = decisions.listens.iter().filter(|listen| !listen.ssl).map(|listen| listen.address.port());
    match ports.next() {
        Some(port) if ports.all(|other| other == port) => Word::number(u64::from(port)),
        _ => Word::fixed("$server_port"),
    }
}

/// One file for each set of origins that some route allows.
pub fn cors(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    for (behaviour, origin) in behaviours(plan) {
        let Some(cors) = behaviour.cors.as_deref() else { continue };
        let name = names::cors(cors);
        files.entry(names::cors_file(&name)).or_insert_with(|| {
            // Without a view no origin is allowed.
            let view = cors_view(cors, &name).or_else(|_| cors_view(&Cors { origins: Vec::new(), ..bare() }, &name));
            let text = view.ok().and_then(|view| engine.fill("cors", &view).ok()).map(Part::Filled);
            File::plain(text, Owners(vec![(1, origin.clone())]), [])
        });
    }
    files
}

fn bare() -> Cors {
    Cors {
        origins: Vec::new(),
        methods: Vec::new(),
        headers: Vec::new(),
        has_default_headers: false,
        expose: Vec::new(),
        credentials: false,
        max_age: 0,
    }
}

fn cors_view(cors: &Cors, name: &str) -> Result<view::Cors, Refused> {
    let variable = |suffix: &str| Word::variable(&format!("{name}{suffix}"));
    let header = |suffix: &str, value: &str| {
        Ok(view::CorsHeader { origin: variable("")?, variable: variable(suffix)?, value: Text::new(value)? })
    };
    let join = |names: &[HeaderName], by| names.iter().map(HeaderName::as_str).collect::<Vec<_>>().join(by);
    let list = |names: &[HeaderName]| join(names, ", ");
    Ok(view::Cors {
        any: cors.origins.contains(&OriginPattern::Any),
        origin: variable("")?,
        origins: cors.origins.iter().filter_map(origin).map(|text| Literal::new(&text)).collect::<Result<_, _>>()?,
        headers: vec![
            header("_credentials", if cors.credentials { "true" } else { "" })?,
            header("_methods", &list(&cors.methods))?,
            header("_headers", &join(&cors.headers, if cors.has_default_headers { "," } else { ", " }))?,
            header("_expose", &list(&cors.expose))?,
            header("_max_age", &cors.max_age.to_string())?,
        ],
        preflight: variable("_preflight")?,
    })
}

/// An expression for a key of `map`: as plain keys, long origins would overflow nginx's table.
fn origin(origin: &OriginPattern) -> Option<String> {
    match origin {
        OriginPattern::Any => None,
        OriginPattern::Null => Some("~^null$".to_owned()),
        OriginPattern::Exact(url) => Some(format!("~^{}$", expression::literal(url.as_str()))),
        OriginPattern::Wildcard(url) => {
            let (scheme, host) = url.as_str().split_once("://")?;
            Some(format!("~^{}://[^./:]+\\.{}$", expression::literal(scheme), expression::literal(host)))
        }
    }
}

/// One file for each object that limits its clients.
pub fn limits(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    for (behaviour, _) in behaviours(plan) {
        let Some(limits) = behaviour.limits.as_deref() else { continue };
        let name = names::limits(limits);
        files.entry(names::limits_file(&name)).or_insert_with(|| {
            let size = plan.model.zone_size(&limits.origin.object.namespace);
            let view = limits_view(limits, &name, size);
            let text = view.ok().and_then(|view| engine.fill("limits", &view).ok()).map(Part::Filled);
            File::plain(text, Owners(vec![(1, limits.origin.clone())]), [])
        });
    }
    files
}

fn limits_view(limits: &ClientLimits, name: &str, size: ByteSize) -> Result<view::Limits, Refused> {
    let mut rates: Vec<LimitRate> = limits.rates.iter().map(|(rate, _)| *rate).collect();
    rates.sort_unstable();
    rates.dedup();
    let zone = |rate: &LimitRate| {
        let (number, unit) = match rate {
            LimitRate::PerSecond(number) => (*number, "r/s"),
            LimitRate::PerMinute(number) => (*number, "r/m"),
        };
        Ok(view::RateZone {
            client: Word::variable(name)?,
            zone: Word::own(&names::rate_zone(name, *rate))?,
            size: Word::size(size),
            number: Number(u64::from(number.max(1))),
            unit: Word::fixed(unit),
        })
    };
    Ok(view::Limits {
        exempt: Word::variable(&format!("{name}_exempt"))?,
        networks: limits.exempt.iter().map(Word::network).collect(),
        client: Word::variable(name)?,
        rates: rates.iter().map(zone).collect::<Result<_, _>>()?,
        connections: limits
            .connections
            .map(|_| {
                let zone = Word::own(&names::connection_zone(name))?;
                Ok(view::ConnectionZone { client: Word::variable(name)?, zone, size: Word::size(size) })
            })
            .transpose()?
            .into_iter()
            .collect(),
    })
}

/// What all routes do, each with the origin of its route.
pub(super) fn behaviours(plan: &Plan) -> impl Iterator<Item = (&Behaviour, &crate::model::Origin)> + Clone {
    let routes = plan.model.servers.iter().flat_map(|server| server.routes.iter().chain([&server.fallback]));
    routes.map(|route| (&*route.behaviour, &route.origin))
}
