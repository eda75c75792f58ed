//! From a plan to what servers share: variables, zones and the server for the daemon itself.

use std::collections::BTreeMap;

use crate::model::catalogue::Module;
use crate::model::{Behaviour, Handover, Hsts, Refused, Route};
use crate::nginx::{Decisions, Plan};
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::token::{Number, Text, Word};
use crate::render::view;

use super::server::{client_scheme, is_of_client_certificates, resets};

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
    let status = decisions.status.map(|(address, stub_status)| view::StatusServer {
        address: Word::address(address),
        // It asks no backend, and sizes for backends must fit others that it does not set.
        resets: resets(decisions, |row| row.module != Some(Module::Proxy) && !is_of_client_certificates(row)),
        stub_status,
    });
    let trusts_proxies = plan.model.forwarded.trusts_proxies();
    let trusted = plan.trusted();
    let peer = Word::fixed(if decisions.real_ip { "$realip_remote_addr" } else { "$remote_addr" });
    let inside: Vec<_> =
        decisions.listens.iter().filter(|_| trusts_proxies).filter(|listen| listen.connected_by.is_inside()).collect();
    let addresses: Vec<_> = inside.iter().map(|listen| Word::address(listen.address)).collect();
    let inside: Vec<_> =
        (!addresses.is_empty()).then(|| view::Inside { peer: peer.clone(), addresses }).into_iter().collect();
    let takes_back = |name: &str| decisions.resets.iter().any(|reset| reset.row.name == name);
    Ok(view::Shared {
        unlimited_requests: takes_back("limit_req"),
        unlimited_connections: takes_back("limit_conn"),
        nothing: takes_back("proxy_ssl_certificate") || takes_back("grpc_ssl_certificate"),
        names_hash: names_hash.into_iter().collect(),
        variables_hash_max_size: decisions.variables_hash_max_size,
        variables_hash_bucket_size: decisions.variables_hash_bucket_size,
        trusts_proxies,
        detailed: has_request_ids(plan),
        plain_port: plain_port(decisions),
        scheme: client_scheme(!trusted.is_empty()),
        tells_scheme: !trusted.is_empty() && !trusts_proxies,
        peer: if inside.is_empty() { peer } else { Word::fixed("$ingressd\u{2}_peer") },
        inside,
        trusts: !trusted.is_empty(),
        trusted: trusted.iter().map(Word::network).collect(),
        told_port: Word::fixed(if trusts_proxies { "$http_x_forwarded_port" } else { "$proxy_protocol_server_port" }),
        told_host: match &decisions.everywhere.host_header {
            Some(name) => Word::request_header(name)?,
            None => Word::fixed("$http_x_forwarded_host"),
        },
        request_id: Word::fixed(if decisions.everywhere.request_ids { "$request_id" } else { "\"\"" }),
        append: plan.model.forwarded.append,
        asks_clients: plan.model.servers.iter().any(|server| server.client_certificates.is_some()),
        hsts: policies.iter().map(hsts).collect::<Result<_, _>>()?,
        status: status.into_iter().collect(),
    })
}

/// Whether there is a variable with what clients call a request, or else with a number of ours.
pub fn has_request_ids(plan: &Plan) -> bool {
    plan.model.servers.iter().any(|server| server.handover == Handover::Detailed)
}

/// The port of plain requests: a number costs them less than a variable.
fn plain_port(decisions: &Decisions) -> Word {
    let mut ports = decisions.listens.iter().filter(|listen| !listen.ssl).map(|listen| listen.address.port());
    match ports.next() {
        Some(port) if ports.all(|other| other == port) => Word::number(u64::from(port)),
        _ => Word::fixed("$server_port"),
    }
}

/// What all routes do, each with the origin of its route.
pub(super) fn behaviours(plan: &Plan) -> impl Iterator<Item = (&Behaviour, &crate::model::Origin)> + Clone {
    routes(plan).map(|route| (&*route.behaviour, &route.origin))
}

/// All routes.
pub(super) fn routes(plan: &Plan) -> impl Iterator<Item = &Route> + Clone {
    plan.model.servers.iter().flat_map(|server| server.routes.iter().chain([&server.fallback]))
}
