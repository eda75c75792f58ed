//! Fits a model to one nginx: leaves out what it cannot do, with a finding, and never opens what
//! was closed.

mod apart;
mod inherited;
mod memory;
mod names;
mod namespace_limits;
mod passthrough;
mod routes;
mod sockets;
mod staples;
mod streams;
mod taken;

pub use apart::wanted;
pub use memory::{Gate, Gated};

use std::sync::Arc;

use ingressd_model::catalogue::{self, Module, Version};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Field, Kind, LogLine, Model, ObjectId, Origin, Tables, TlsTermination};

use super::access_log::{self, AccessLog};
use super::firewall::{FirewallOptions, FirewallRules, Obstacles, RULE_DIRECTIVES};
use super::geoip::{self, Geo};
use super::global::Global;
use super::stream_log;
use super::{Capabilities, Decisions, GateOptions, Http2, OtherSites, Plan, SitesBeside};

/// The first version that keeps idle connections to backends by default.
const KEEPS_CONNECTIONS: Version = Version(1, 29, 7);

/// The modules without which nothing can be served.
const INDISPENSABLE: [Module; 4] = [Module::Proxy, Module::Map, Module::Geo, Module::Rewrite];

/// What a model is fitted to: nginx, its other sites, and the settings.
#[derive(Debug, Clone, Copy)]
struct Node<'a> {
    capabilities: &'a Capabilities,
    other_sites: &'a OtherSites,
    options: &'a GateOptions,
}

/// Fits a model and its tables to what this nginx can do. A route whose protection nginx cannot
/// provide is closed.
pub fn gate(
    model: &Arc<Model>,
    tables: &Arc<Tables>,
    capabilities: &Capabilities,
    other_sites: &OtherSites,
    options: &GateOptions,
) -> (Plan, Vec<Finding>) {
    let Gated { plan, findings, .. } = Gate::default().pass(model, tables, capabilities, other_sites, options);
    (plan, findings)
}

/// Decides about a model.
fn decide(model: &Model, node: &Node<'_>) -> (Plan, Vec<Finding>) {
    let Node { capabilities, other_sites, options } = *node;
    let mut findings = Vec::new();
    if let Some(words) = impossible(capabilities, options) {
        findings.push(Finding::new(Reason::MissingCapability, host(), words));
        return (Plan::default(), findings);
    }
    let mut model = model.clone();
    model.default_certificate.take_if(|id| !model.certificates.iter().any(|certificate| certificate.id == *id));
    let mut sockets = sockets::choose(&model, node, &mut findings);
    let has_tls = sockets.listens.iter().any(|listen| listen.ssl);
    findings.extend(trust_nobody(&mut model, capabilities));
    if !has_tls {
        findings.extend(only_plain(&model));
    }
    model.server_directives.retain(|directive| {
        let is_known = capabilities.knows(directive.row);
        findings.extend((!is_known).then(|| routes::left_out(directive, capabilities)));
        is_known
    });
    let answer_memory = answer_memory(capabilities, options);
    let (firewall, obstacles) = firewall(other_sites, options, &mut findings);
    let access_log = logs(node, &mut findings);
    let global = global(capabilities, options, &mut findings);
    let geo = geo(&model, &access_log, node, &mut findings);
    routes::fit(&mut model, capabilities, has_tls, (&obstacles, &geo.unknown), &mut findings);
    findings.extend(forgetting(&model, answer_memory.is_some()));
    streams::fit(&mut model, node, &mut findings);
    // A load balancer with the PROXY protocol passes on what clients send: `X-Forwarded-*` headers
    // are then the clients' own words.
    let proxies = match model.has_proxy_protocol() {
        true => std::mem::take(&mut model.forwarded.trusted),
        false => Vec::new(),
    };
    findings.extend(status_taken(other_sites, options));
    let sites_beside = SitesBeside::of(other_sites, &sockets.listens);
    taken::drop_taken_hosts(&mut model, &sites_beside, &mut findings);
    names::leave_out_colliding(&mut model, &mut findings);
    let preread = passthrough::fit(&mut model, &mut sockets, node, &mut findings);
    streams::leave_out_unused(&mut model);
    findings.extend(too_few_connections(model.upstreams.len(), other_sites, options));
    let http2 = if has_tls { sockets.http2 } else { Http2::Off };
    if sockets.listens.iter().any(|listen| !listen.default_server) {
        findings.extend(lenient_headers(other_sites));
    }
    let resets = inherited::resets(other_sites, capabilities.version, http2, &mut findings);
    let stream_log = (!model.streams.is_empty()).then(|| {
        let conflict = |words: String| findings.push(Finding::new(Reason::HostConflict, host(), words));
        stream_log::decide(&options.access_log, capabilities, other_sites, conflict)
    });
    let (names_hash, longest_name) = names::table(&model, other_sites);
    let requests_of_namespace = namespace_limits::requests(capabilities, options, &mut findings);
    let decisions = Decisions {
        // A server without a certificate of its own would present the one of the `http` level.
        explicit_certificates: sockets.default_server_taken || other_sites.http_directives.contains("ssl_certificate"),
        listens: sockets.listens,
        http2,
        resets,
        names_hash,
        longest_name,
        // A server block has one first name for all of its hosts.
        shared_servers: options.shared_servers
            && !other_sites.names_server
            && !options.global.names_server()
            && !access_log.line.as_deref().is_some_and(LogLine::names_server),
        staples: staples::decide(&model, capabilities, &options.global, &mut findings),
        proxies,
        global,
        access_log,
        requests_of_namespace,
        kept_of_namespaces: namespace_limits::kept(&model, requests_of_namespace, options),
        stream_log: stream_log.flatten(),
        preread,
        answer_memory,
        firewall,
        geo,
        ..of_node(node)
    };
    findings.sort();
    findings.dedup();
    (Plan { model: model.into(), decisions: decisions.into(), sites_beside, ..Plan::default() }, findings)
}

/// The decisions that no model changes.
fn of_node(node: &Node<'_>) -> Decisions {
    let Node { capabilities, other_sites, options } = *node;
    Decisions {
        variables_hash_max_size: !other_sites.http_directives.contains("variables_hash_max_size"),
        variables_hash_bucket_size: !other_sites.http_directives.contains("variables_hash_bucket_size"),
        public_https_port: options.public_https_port,
        status: Some((options.status, capabilities.knows(&catalogue::STUB_STATUS))),
        current: options.current.clone(),
        upstream_keepalive: capabilities.knows(&catalogue::KEEPALIVE).then_some(options.upstream_keepalive),
        keeps_connections: capabilities.version >= KEEPS_CONNECTIONS,
        tls_protocols: options.tls_protocols,
        real_ip: capabilities.has(Module::RealIp),
        stream_real_ip: capabilities.has(Module::StreamRealIp),
        clears_server_header: !options.global.server_header && capabilities.knows(&catalogue::MORE_CLEAR_HEADERS),
        keepalive_time: capabilities.knows(&catalogue::KEEPALIVE_TIME),
        traffic: options.traffic.clone(),
        traffic_connects: options.traffic_connects,
        stream_connections: streams::share(other_sites, options),
        keepalive_min_timeout: capabilities.knows(&catalogue::KEEPALIVE_MIN_TIMEOUT),
        upstream_hash: capabilities.knows(&catalogue::HASH),
        upstream_random: capabilities.knows(&catalogue::RANDOM),
        stream_random: capabilities.knows(&catalogue::STREAM_RANDOM),
        split_clients: capabilities.knows(&catalogue::SPLIT_CLIENTS),
        ..Decisions::default()
    }
}

/// Trusts no proxy where nginx cannot use what it says. That can only close routes: address lists
/// then see the proxy's own address.
fn trust_nobody(model: &mut Model, capabilities: &Capabilities) -> Option<Finding> {
    if capabilities.has(Module::RealIp) || model.forwarded.trusted.is_empty() {
        return None;
    }
    model.forwarded.trusted.clear();
    let words = "nginx has no ngx_http_realip_module, so it does not use the headers of trusted proxies; install \
                 an nginx with this module";
    Some(Finding::new(Reason::MissingCapability, host(), words))
}

/// The findings about hosts with TLS on a node without it.
fn only_plain(model: &Model) -> impl Iterator<Item = Finding> {
    let asks_for_tls = model.asks_for_tls();
    let asks = model.servers.iter().filter(move |server| asks_for_tls && server.tls != TlsTermination::Default);
    let words = "this node serves no TLS, so the host is served only over plain HTTP; see the finding about \
                 TLS of the node";
    let places = asks.flat_map(|server| taken::places(server));
    places.map(move |place| Finding::new(Reason::MissingCapability, place, words))
}

/// The finding about a site that has the socket on which nginx says its generation.
fn status_taken(other_sites: &OtherSites, options: &GateOptions) -> Option<Finding> {
    let other = other_sites.listens.iter().find(|listen| listen.address == options.status)?;
    let words = format!(
        "{} listens on {}, which ingressd needs to ask nginx for its generation; set listen.status to another port",
        other.place, options.status
    );
    Some(Finding { severity: Severity::Error, ..Finding::new(Reason::HostConflict, host(), words) })
}

/// The finding about headers that the default server admits, which is not ours.
fn lenient_headers(other_sites: &OtherSites) -> Option<Finding> {
    let place = other_sites.lenient_headers.as_ref()?;
    let words = format!(
        "{place} admits headers with underscores in the default server, whose rules nginx uses until it knows the \
            host of a request: clients of the cluster's hosts can send headers such as X_Forwarded_For, which \
            some backends confuse with X-Forwarded-For; move the line into sites that are not a default server"
    );
    Some(Finding::new(Reason::HostConflict, host(), words))
}

/// The rule files that servers load, and why routes cannot have the firewall.
fn firewall(
    other_sites: &OtherSites,
    options: &GateOptions,
    findings: &mut Vec<Finding>,
) -> (FirewallRules, Obstacles) {
    let FirewallOptions { rules, core_rules, shared } = &options.firewall;
    let has_rules = RULE_DIRECTIVES.iter().any(|name| other_sites.http_directives.contains(*name));
    let conflict = other_sites.firewall_rules.as_ref().filter(|_| *shared);
    if let Some(place) = conflict {
        let words = format!(
            "{place} reads rules of ModSecurity, and nginx accepts each rule only once, so the rules cannot be shared \
                and each host of the cluster with the firewall reads them for itself; remove the rules from the site, \
                or set firewall.shared to false"
        );
        findings.push(Finding::new(Reason::HostConflict, host(), words));
    }
    let rules = if has_rules { Vec::new() } else { rules.clone() };
    let decided = FirewallRules { rules, core_rules: core_rules.clone(), shared: *shared && conflict.is_none() };
    (decided, options.firewall.obstacles(&other_sites.missing_rules, has_rules))
}

/// What is looked up of the addresses of clients.
fn geo(model: &Model, access_log: &AccessLog, node: &Node<'_>, findings: &mut Vec<Finding>) -> Geo {
    let Node { capabilities, other_sites, options } = *node;
    let headers = options.global.answer_headers.iter().chain(&options.global.request_headers);
    let lines = access_log.line.as_deref().into_iter().chain(headers.map(|header| &header.value));
    let asked = lines.flat_map(geoip::of_line).chain(geoip::of_model(model)).collect();
    let geo = geoip::decide(&asked, &options.geo, capabilities, other_sites);
    let words = geoip::why(&geo.unknown, &options.geo, capabilities);
    findings.extend(words.map(|words| Finding::new(Reason::MissingCapability, host(), words)));
    geo
}

/// The decision about access logs.
fn logs(node: &Node<'_>, findings: &mut Vec<Finding>) -> AccessLog {
    let Node { capabilities, other_sites, options } = *node;
    let conflict = |words: String| findings.push(Finding::new(Reason::HostConflict, host(), words));
    let mut decided = access_log::decide(&options.access_log, other_sites, conflict);
    if options.traffic.is_some() {
        decided.logs = decided.logs.spelled_out(other_sites, &capabilities.access_log);
    }
    if let Some(line) = decided.line.take() {
        let (line, missing) = line.fit(|module, since| has(capabilities, module, since));
        decided.line = Some(line.into());
        findings.extend(missing.iter().map(|name| {
            let words = format!("this nginx has no variable ${name}; in the access log there is a dash instead");
            Finding::new(Reason::MissingCapability, host(), words)
        }));
    }
    decided
}

/// Whether this nginx has a module, and is of this version.
fn has(capabilities: &Capabilities, module: Option<Module>, since: Version) -> bool {
    since <= capabilities.version && module.is_none_or(|module| capabilities.has(module))
}

/// What holds for all hosts, as far as this nginx has the variables in it.
fn global(capabilities: &Capabilities, options: &GateOptions, findings: &mut Vec<Finding>) -> Global {
    let mut global = options.global.clone();
    let missing = global.fit(|module, since| has(capabilities, module, since));
    findings.extend(missing.into_iter().map(|(header, name)| {
        let words = format!("this nginx has no variable ${name}; in the header {header} there is a dash instead");
        Finding::new(Reason::MissingCapability, host(), words)
    }));
    global
}

/// Whether a path can be written into nginx's configuration.
fn fits(path: &std::path::Path) -> bool {
    path.is_absolute()
        && path.to_str().is_some_and(|text| {
            text.len() <= 1000 && !text.contains(|character: char| character == '$' || character.is_control())
        })
}

/// Why nothing at all can be served, if so.
fn impossible(capabilities: &Capabilities, options: &GateOptions) -> Option<String> {
    if let Some(module) = INDISPENSABLE.into_iter().find(|module| !capabilities.has(*module)) {
        return Some(format!(
            "nginx has no {}, so nothing can be served; install an nginx with \
            it",
            Capabilities::name(module)
        ));
    }
    let logs = [&options.access_log.path, &options.access_log.streams.path, &options.traffic];
    [Some(&options.current)]
        .into_iter()
        .chain(logs.map(Option::as_ref))
        .flatten()
        .find(|path| !fits(path.as_path()))
        .map(|path| {
            format!(
                "{} cannot be written into nginx's configuration; set it to an absolute path without $",
                path.display()
            )
        })
}

/// The folder of the cache for answers of authentication services: beside nginx's other temporary
/// files, and with a name of this instance.
fn answer_memory(capabilities: &Capabilities, options: &GateOptions) -> Option<std::path::PathBuf> {
    let folder = capabilities.temporary.as_ref()?.join(crate::answer_memory::folder_of(options.current.parent()?)?);
    fits(&folder).then_some(folder)
}

/// A finding for each object whose authentication answers cannot be cached.
fn forgetting(model: &Model, can: bool) -> Vec<Finding> {
    let routes = model.servers.iter().flat_map(|server| server.handlers());
    let external = routes.filter_map(|route| route.behaviour.external_authentication.as_deref());
    let wants = external.filter(|external| !can && external.policy.memory.is_some());
    let words = "nginx was built without a cache, or `nginx -V` names no folder for temporary files, so answers of \
        the service are not cached";
    wants.map(|external| Finding::new(Reason::MissingCapability, external.origin.clone(), words)).collect()
}

/// The field of the finding that workers may have too few connections.
pub const WORKER_CONNECTIONS: &str = "worker_connections";

/// A worker keeps a connection to each recently used upstream, and refuses requests when it has no
/// connection left.
fn too_few_connections(upstreams: usize, other_sites: &OtherSites, options: &GateOptions) -> Option<Finding> {
    let connections = other_sites.worker_connections.filter(|_| options.upstream_keepalive > 0)?;
    let needed = u32::try_from(2 * upstreams).unwrap_or(u32::MAX);
    let words = || {
        format!(
            "nginx.conf allows each worker {connections} connections, and a worker keeps one for a minute to each of \
                {upstreams} Services; set worker_connections to at least {}, and worker_rlimit_nofile to twice that",
            needed.saturating_mul(2)
        )
    };
    let origin = || Origin { field: Field::Other(WORKER_CONNECTIONS.into()), ..host() };
    (connections < needed).then(|| Finding::new(Reason::HostConflict, origin(), words()))
}

/// The origin of findings that no object of the cluster caused.
fn host() -> Origin {
    Origin { object: Arc::new(ObjectId::new(Kind::HOST, "", "nginx")), field: Field::Object }
}

#[cfg(test)]
mod passthrough_tests;
#[cfg(test)]
mod route_tests;
#[cfg(test)]
mod tests;
