//! The file that servers share: variables, zones and the daemon's own status server.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::render::content::Part;
use crate::render::file_set::{File, Owners};
use crate::render::names;
use crate::render::token::{Text, Word, Words};
use crate::render::view::{self, Block, Tables};
use crate::{Decisions, Plan};
use ingressd_model::catalogue::Module;
use ingressd_model::{Behaviour, Cidr, Handler, HeaderSet, Hsts, Refused};

use super::head::{is_of_client_certificates, resets};
use super::tables::{Files, text};
use super::traffic;

/// The file that all servers require.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let engine = files.engine;
    let status = plan.decisions.status.and_then(|(address, counts)| {
        let status = status(plan, address, counts);
        engine.fill("status", &status).ok().map(Part::Filled)
    });
    let parts = text(engine, |tables| {
        let facts = Facts::of(plan)?;
        SAID.iter().try_for_each(|say| say(&facts, tables))
    });
    files.put(names::shared_file(), File::plain(parts.into_iter().chain(status), Owners::default(), []));
}

/// Writes what all servers share for one purpose.
type Say = fn(&Facts<'_>, &mut Tables) -> Result<(), Refused>;

/// The parts of the shared file, in order.
const SAID: &[Say] = &[
    sizes,
    taken_back,
    certificates,
    dollar,
    clients,
    hosts,
    ports,
    requests,
    upgrades,
    plain,
    lines,
    policies,
    traffic,
];

/// The inputs of the shared file.
struct Facts<'a> {
    plan: &'a Plan,
    /// Whether some proxy is trusted to send headers about clients.
    trusts_proxies: bool,
    /// The networks of proxies that are trusted to name the port that clients connect to.
    trusted: &'a [Cidr],
    /// The socket on which nginx connects to itself and sends the peer address by the PROXY
    /// protocol.
    inside: Vec<Word>,
    /// The variable with the peer address of all other connections.
    outer_peer: Word,
    /// The variable with the peer address of each connection.
    peer: Word,
    /// The variable with the host that a trusted proxy sends.
    trusted_host: Word,
}

impl<'a> Facts<'a> {
    fn of(plan: &'a Plan) -> Result<Self, Refused> {
        let decisions = &plan.decisions;
        let trusts_proxies = plan.model.forwarded.trusts_proxies();
        let inside = decisions.listens.iter().filter(|listen| trusts_proxies && listen.connected_by.is_inside());
        let inside: Vec<_> = inside.map(|listen| Word::address(listen.address)).collect();
        let outer_peer = Word::fixed(if decisions.real_ip { "$realip_remote_addr" } else { "$remote_addr" });
        Ok(Facts {
            plan,
            trusts_proxies,
            trusted: plan.trusted(),
            peer: if inside.is_empty() { outer_peer.clone() } else { Word::fixed("$ingressd\u{2}_peer") },
            inside,
            outer_peer,
            trusted_host: match &decisions.global.host_header {
                Some(name) => Word::request_header(name)?,
                None => Word::fixed("$http_x_forwarded_host"),
            },
        })
    }

    fn takes_back(&self, name: &str) -> bool {
        self.plan.decisions.resets.iter().any(|reset| reset.row.name == name)
    }
}

const NOTHING: &str = r#""""#;

/// Writes what the log for the daemon's figures needs.
fn traffic(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    traffic::say(&facts.plan.decisions, tables)
}

/// Writes the sizes of nginx's hash tables that we set.
fn sizes(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let decisions = &facts.plan.decisions;
    if let Some(sizes) = decisions.names_hash {
        tables.line(Words::line("server_names_hash_max_size", Word::number(u64::from(sizes.max_size))));
        tables.line(Words::line("server_names_hash_bucket_size", Word::number(u64::from(sizes.bucket_size))));
    }
    if decisions.variables_hash_max_size {
        tables.line("variables_hash_max_size 4096");
    }
    if decisions.variables_hash_bucket_size {
        tables.line("variables_hash_bucket_size 256");
    }
    Ok(())
}

/// Writes the names that servers use to override directives of the host.
fn taken_back(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    if facts.takes_back("limit_req") {
        tables.line(r#"limit_req_zone "" zone=ingressd_unlimited_requests:1m rate=1r/s"#);
    }
    if facts.takes_back("limit_conn") {
        tables.line(r#"limit_conn_zone "" zone=ingressd_unlimited_connections:1m"#);
    }
    if facts.takes_back("proxy_ssl_certificate") || facts.takes_back("grpc_ssl_certificate") {
        tables.block(Block::new("geo $ingressd_nothing").row("default", NOTHING));
    }
    Ok(())
}

/// Writes whether a request is for another host than the one that client certificates were
/// requested for.
fn certificates(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    if facts.plan.model.servers.iter().any(|server| server.client_certificates.is_some()) {
        let map = Block::map("$ssl_client_verify:$ssl_server_name:$host", "$ingressd_misdirected").row("default", "1");
        tables.block(map.row(r#""~^(?:NONE)?:""#, NOTHING).row(r#""~*:([^:]+?)\.?:\1$""#, NOTHING));
    }
    Ok(())
}

/// Writes the dollar sign, which nginx's language cannot escape.
fn dollar(_: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    tables.block(Block::new("geo $ingressd_dollar").row("default", r#""$""#));
    Ok(())
}

/// Writes which peer connects, and whether it is trusted to name clients.
fn clients(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    if !facts.inside.is_empty() {
        let map = Block::map("$server_addr:$server_port", "$ingressd_peer").row("default", facts.outer_peer.clone());
        tables.block(map.rows(facts.inside.clone(), "$proxy_protocol_addr"));
    }
    if !facts.trusted.is_empty() {
        let geo = Block::geo(facts.peer.clone(), "$ingressd_trusted").row("default", "0");
        tables.block(geo.rows(facts.trusted.iter().map(Word::network), "1"));
    }
    Ok(())
}

/// Writes the host, port and scheme from the client's point of view.
fn hosts(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let own = |variable| {
        let map = Block::map("$http_host", variable).row("default", "$host");
        map.row(r#""~(?<ingressd_named_port>:[0-9]{1,5})$""#, "$host$ingressd_named_port")
    };
    if !facts.trusts_proxies {
        tables.block(own("$ingressd_host"));
        // A load balancer that ends TLS passes requests on to the port for http.
        if !facts.trusted.is_empty() {
            let source = "$ingressd_trusted:$proxy_protocol_server_port";
            tables.block(Block::map(source, "$ingressd_scheme").row("default", "$scheme").row("1:443", "https"));
        }
        return Ok(());
    }
    tables.block(own("$ingressd_own_host"));
    let reported = |variable| Block::map(facts.trusted_host.clone(), variable);
    tables.block(reported("$ingressd_first_forwarded_host").row("default", "$ingressd_own_host").row(
        r#""~^\s*(?<ingressd_forwarded_host>(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::[0-9]+)?)\s*(?:,|$)""#,
        "$ingressd_forwarded_host",
    ));
    let host = Block::map("$ingressd_trusted", "$ingressd_host").row("default", "$ingressd_own_host");
    tables.block(host.row("1", "$ingressd_first_forwarded_host"));
    let bare = Block::map(of_trusted(&facts.trusted_host), "$ingressd_redirect_host").row("default", "$host");
    tables.block(bare.row(
        r#""~^1:\s*(?<ingressd_bare_host>\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::[0-9]+)?\s*(?:,|$)""#,
        "$ingressd_bare_host",
    ));
    let scheme = Block::map("$ingressd_trusted:$http_x_forwarded_proto", "$ingressd_scheme").row("default", "$scheme");
    // The first entry of a list is the client's.
    let scheme = scheme.row("1:http", "http").row("1:https", "https");
    tables.block(scheme.row(r#""~*^1:\s*https\s*(?:,|$)""#, "https").row(r#""~*^1:\s*http\s*(?:,|$)""#, "http"));
    Ok(())
}

/// Whether a peer is trusted, with the value that it sends.
fn of_trusted(reported: &Word) -> Word {
    Word::concat([Word::fixed("$ingressd\u{2}_trusted:"), reported.clone()])
}

fn ports(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let own = |variable| {
        // A proxy that names the scheme of the client, and no port, means the usual one.
        let (source, encrypted) = if facts.trusts_proxies { ("$ingressd_scheme", "https") } else { ("$https", "on") };
        let map = Block::map(source, variable).row("default", plain_port(&facts.plan.decisions));
        map.row(encrypted, "443")
    };
    if facts.trusted.is_empty() {
        tables.block(own("$ingressd_port"));
        return Ok(());
    }
    tables.block(own("$ingressd_own_port"));
    let reported = if facts.trusts_proxies { "$http_x_forwarded_port" } else { "$proxy_protocol_server_port" };
    let port = Block::map(of_trusted(&Word::fixed(reported)), "$ingressd_port").row("default", "$ingressd_own_port");
    tables.block(port.row(r#""~^1:\s*(?<ingressd_forwarded_port>[0-9]{1,5})\s*(?:,|$)""#, "$ingressd_forwarded_port"));
    Ok(())
}

/// Writes the chain of proxies of a request, and its ID.
fn requests(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let model = &facts.plan.model;
    if facts.trusts_proxies {
        let source = "$ingressd_trusted:$http_x_forwarded_for";
        let mut map = Block::map(source, "$ingressd_forwarded_for").row("default", "$remote_addr");
        if model.forwarded.append {
            let longer = Text::of_words([Word::fixed("$http_x_forwarded_for, "), facts.peer.clone()]);
            map = map.row(r#""~^1:.""#, longer);
        }
        tables.block(map);
    }
    if has_request_ids(facts.plan) {
        let own = if facts.plan.decisions.global.request_ids { "$request_id" } else { NOTHING };
        let map = Block::map("$http_x_request_id", "$ingressd_request_id").row("default", "$http_x_request_id");
        tables.block(map.row(NOTHING, own));
    }
    Ok(())
}

/// Whether `$ingressd_request_id` is defined.
pub fn has_request_ids(plan: &Plan) -> bool {
    plan.model.servers.iter().any(|server| server.header_set == HeaderSet::Detailed)
}

/// What a connection becomes.
fn upgrades(_: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let upgrade = Block::map("$http_upgrade", "$ingressd_upgrade").row("default", "$http_upgrade");
    tables.block(upgrade.row(NOTHING, NOTHING).row(r#""~*h2c""#, NOTHING));
    let connection = Block::map("$ingressd_upgrade", "$ingressd_connection").row("default", "upgrade");
    tables.block(connection.row(NOTHING, NOTHING));
    Ok(())
}

/// Writes which plain requests may be redirected, and the target.
fn plain(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let redirects = || behaviours(facts.plan).filter_map(|(behaviour, _)| behaviour.https_redirect.as_ref());
    if redirects().next().is_some() {
        let source = Word::concat([scheme(!facts.trusted.is_empty()), Word::fixed(":$uri")]);
        let plain = Block::map(source, "$ingressd_plain").row("default", NOTHING);
        tables.block(plain.row(r#""~^http:/\.well-known/acme-challenge""#, NOTHING).row(r#""~^http:""#, "1"));
    }
    if redirects().any(|redirect| redirect.strip_trailing_slash) {
        let stripped = Block::map("$request_uri", "$ingressd_stripped_uri").row("default", "$request_uri");
        tables.block(stripped.row(r#""~^(?<ingressd_without_slash>.*)/$""#, "$ingressd_without_slash"));
    }
    Ok(())
}

/// Writes what keeps ends of lines out of lines.
fn lines(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    super::lines::say(facts.plan, tables)
}

/// Writes the HSTS policies.
fn policies(facts: &Facts<'_>, tables: &mut Tables) -> Result<(), Refused> {
    let policies = facts.plan.model.servers.iter().filter_map(|server| server.hsts);
    let policies: BTreeMap<String, Hsts> = policies.map(|hsts| (names::hsts(&hsts), hsts)).collect();
    for (name, hsts) in policies {
        let subdomains = if hsts.include_subdomains { "; includeSubDomains" } else { "" };
        let preload = if hsts.preload { "; preload" } else { "" };
        let value = Text::new(&format!("max-age={}{subdomains}{preload}", hsts.max_age))?;
        tables.block(Block::map("$https", Word::variable(&name)?).row("default", NOTHING).row("on", value));
    }
    Ok(())
}

/// The daemon's own status server, with nginx's counters where nginx has them.
fn status(plan: &Plan, address: SocketAddr, counts: bool) -> view::StatusServer {
    view::StatusServer {
        address: Word::address(address),
        // It has no backend; and the size directives for backends must be consistent with others
        // that it does not set.
        directives: resets(&plan.decisions, |row| row.module != Some(Module::Proxy) && !is_of_client_certificates(row)),
        locations: counts.then(|| Block::new("location = /stub_status").line("stub_status")).into_iter().collect(),
    }
}

/// The variable with the scheme of the client's request; `is_reported` says whether a proxy is
/// trusted to name it.
pub(super) fn scheme(is_reported: bool) -> Word {
    Word::fixed(if is_reported { "$ingressd\u{2}_scheme" } else { "$scheme" })
}

/// The port of plain requests: a constant is cheaper for them than a variable.
fn plain_port(decisions: &Decisions) -> Word {
    let mut ports = decisions.listens.iter().filter(|listen| !listen.ssl).map(|listen| listen.address.port());
    match ports.next() {
        Some(port) if ports.all(|other| other == port) => Word::number(u64::from(port)),
        _ => Word::fixed("$server_port"),
    }
}

/// The behaviour of all handlers, each with the origin of its handler.
pub(super) fn behaviours(plan: &Plan) -> impl Iterator<Item = (&Behaviour, &ingressd_model::Origin)> + Clone {
    handlers(plan).map(|handler| (&*handler.behaviour, &handler.origin))
}

/// What handles requests, perhaps one several times.
pub(super) fn handlers(plan: &Plan) -> impl Iterator<Item = &Handler> + Clone {
    plan.model.servers.iter().flat_map(|server| server.handlers())
}
