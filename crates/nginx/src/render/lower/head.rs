//! The slots of a server, into which features write their directives before its locations.

use crate::render::engine::Engine;
use crate::render::names;
use crate::render::shape::Filled;
use crate::render::token::{Path, Word, Words};
use crate::render::view::{self, Statement};
use crate::{ConnectedBy, Decisions, Http2, Listen, Reset};
use ingressd_model::catalogue::{self, DirectiveRow, InTemplate};
use ingressd_model::{Directive, HeaderSet, Origin, Refused, Server};

use super::server::{Facts, HSTS, certificate, fill};
use super::tls::sessions;
use super::{access_log, client_certificates, firewall, global, lines, traffic};

/// The context of a server that is being written.
pub struct Head<'a> {
    pub server: &'a Server,
    /// The sockets of this block.
    pub sockets: &'a [&'a Listen],
    /// The directives that all its locations would set alike.
    pub common: &'a [&'a Directive],
    /// What it shares with all servers.
    pub facts: &'a Facts<'a>,
}

/// What a server says so far.
#[derive(Default)]
pub struct HeadSlots {
    /// Sockets, TLS, logs and clients, and overrides of the host's `http` level.
    pub connection: Vec<Words>,
    /// Buffers for requests and responses.
    buffers: Vec<Words>,
    /// How backends are spoken to.
    backends: Vec<Words>,
    /// All other directives, with their owners.
    rest: Vec<(Statement, Origin)>,
}

/// Writes into a server what one feature of it needs.
type Feature = fn(&Head<'_>, &mut HeadSlots) -> Result<(), Refused>;

/// All features of a server. The slots decide the order; within a slot it is the order of this
/// list.
const FEATURES: &[Feature] = &[
    http2,
    certificate_and_sessions,
    access_log::of_server,
    traffic::of_server,
    keepalive,
    real_ip,
    hsts,
    taken_back,
    server_header,
    detailed,
    grpc,
    lines::of_server,
    global::of_server,
    firewall::of_server,
    client_certificates::of_server,
];

impl Head<'_> {
    /// Whether backends get the detailed headers, and responses are passed on unbuffered.
    pub fn is_detailed(&self) -> bool {
        self.server.header_set == HeaderSet::Detailed
    }

    /// Whether a route uses gRPC.
    fn has_grpc(&self) -> bool {
        self.server.handlers().any(|handler| handler.action.is_grpc())
    }

    /// The slots, filled by all features.
    pub fn slots(&self) -> Result<HeadSlots, Refused> {
        let mut slots = HeadSlots::default();
        FEATURES.iter().try_for_each(|feature| feature(self, &mut slots))?;
        Ok(slots)
    }
}

impl HeadSlots {
    /// Adds a directive behind the common directives of all locations.
    pub fn say(&mut self, statement: Statement, owner: &Origin) {
        self.rest.push((statement, owner.clone()));
    }

    /// Splits into the first part, and the rest.
    pub fn split(self) -> (view::Server, Vec<(Statement, Origin)>) {
        let HeadSlots { connection, buffers, backends, rest } = self;
        (view::Server { connection, buffers, backends }, rest)
    }
}

/// The text of directives.
pub fn statements<'a>(engine: &Engine, all: impl IntoIterator<Item = &'a Statement>) -> Result<Filled, Refused> {
    fill(engine, "statements", &view::Statements { statements: all.into_iter().collect() })
}

fn http2(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let decisions = head.facts.decisions;
    if decisions.http2 == Http2::Directive && decisions.listens.iter().any(|listen| listen.ssl) {
        slots.connection.push("http2 on".into());
    }
    Ok(())
}

/// Writes the certificate, versions of TLS, and TLS sessions.
fn certificate_and_sessions(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let Some(id) = certificate(head.server, head.facts) else { return Ok(()) };
    let decisions = head.facts.decisions;
    let mut say = |name, words: Words| slots.connection.push(Words::line(name, words));
    let file = Path::new(&decisions.current.join(&*names::certificate_file(id)))?;
    say("ssl_certificate", file.clone().into());
    say("ssl_certificate_key", file.into());
    say("ssl_protocols", Words::join(decisions.tls_protocols.names().iter().map(|name| Word::fixed(name))));
    if let Some(source) = decisions.staples.get(id) {
        say("ssl_stapling", "on".into());
        say(
            "ssl_stapling_responder",
            Word::concat([Word::fixed("http://"), Word::address(source.address), Word::new(&source.path)?]).into(),
        );
    }
    slots.connection.extend(sessions(decisions)?);
    Ok(())
}

fn keepalive(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    if head.facts.decisions.keepalive_min_timeout {
        slots.connection.push("keepalive_min_timeout 10s".into());
    }
    Ok(())
}

/// Writes which peers are trusted on these sockets to name the client's address: nginx itself
/// where it connects to them, and the proxies that the administrator names.
fn real_ip(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let (decisions, sockets) = (head.facts.decisions, head.sockets);
    let has = |connected_by| sockets.iter().any(|listen| listen.connected_by == connected_by);
    let (header, trusted) = match has(ConnectedBy::Inside) || !decisions.proxies.is_empty() {
        true => (Word::fixed("proxy_protocol"), &decisions.proxies),
        false => {
            let reported = decisions.global.client_header.as_ref();
            let reported = reported.and_then(|name| Word::new(name.as_str()).ok());
            (reported.unwrap_or(Word::fixed("X-Forwarded-For")), &head.facts.forwarded.trusted)
        }
    };
    let inside = sockets.iter().any(|listen| listen.connected_by.is_inside()).then(|| Word::fixed(ITSELF));
    let networks: Vec<_> = inside.into_iter().chain(trusted.iter().map(Word::network)).collect();
    if decisions.real_ip && !networks.is_empty() {
        slots.connection.push(Words::line("real_ip_header", header));
        slots.connection.push("real_ip_recursive on".into());
        slots.connection.extend(networks.into_iter().map(|network| Words::line("set_real_ip_from", network)));
    }
    Ok(())
}

/// The source address of nginx's connections to itself.
const ITSELF: &str = "127.0.0.1";

fn hsts(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    if let Some(hsts) = &head.server.hsts {
        let policy = Word::variable(&names::hsts(hsts))?;
        let header = Words::join([Word::fixed(HSTS), policy, Word::fixed("always")]);
        slots.connection.push(Words::line("add_header", header));
        slots.connection.push(Words::line("proxy_hide_header", HSTS));
    }
    Ok(())
}

/// Writes the directives that override the host's `http` level, unless the server sets them
/// otherwise.
fn taken_back(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let grpc = head.has_grpc();
    slots.connection.extend(resets(head.facts.decisions, |row| {
        let is_said = match head.server.client_certificates.as_deref() {
            Some(asked) => client_certificates::says(asked, row.name),
            None => is_of_client_certificates(row),
        };
        let is_default = match row.in_template {
            InTemplate::Never => false,
            InTemplate::Always => true,
            InTemplate::Grpc => grpc,
            InTemplate::Detailed => head.is_detailed(),
        };
        !is_said && !is_default && head.common.iter().all(|directive| directive.row != row)
    }));
    Ok(())
}

/// Removes the header that names nginx, unless the backend's own header is passed on.
fn server_header(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let is_passed_on = head.common.iter().any(|directive| *directive.row == catalogue::PROXY_PASS_HEADER);
    if head.is_detailed() && head.facts.decisions.clears_server_header && !is_passed_on {
        slots.connection.push(Words::line(catalogue::MORE_CLEAR_HEADERS.name, "Server"));
    }
    Ok(())
}

fn detailed(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let lines = ["client_body_buffer_size 8k", "proxy_buffering off", "proxy_buffer_size 4k", "proxy_buffers 4 4k"];
    slots.buffers.extend(lines.into_iter().filter(|_| head.is_detailed()).map(Words::from));
    Ok(())
}

/// The directives that the template sets for HTTP, for gRPC.
const GRPC: [&str; 8] = [
    "grpc_connect_timeout 5s",
    "grpc_send_timeout 60s",
    "grpc_read_timeout 60s",
    GRPC_BUFFER,
    "grpc_next_upstream error timeout",
    "grpc_next_upstream_timeout 0",
    "grpc_next_upstream_tries 3",
    "grpc_ignore_headers X-Accel-Redirect",
];

/// The one that the administrator may say otherwise.
const GRPC_BUFFER: &str = "grpc_buffer_size 4k";

fn grpc(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let buffer = head.facts.decisions.global.grpc_buffer;
    let line = |line: &'static str| match buffer {
        Some(size) if line == GRPC_BUFFER => Words::line(catalogue::GRPC_BUFFER_SIZE.name, Word::size(size)),
        _ => line.into(),
    };
    slots.backends.extend(GRPC.into_iter().filter(|_| head.has_grpc()).map(line));
    Ok(())
}

/// The directives by which a server overrides the host's `http` level.
pub fn resets(decisions: &Decisions, concerns: impl Fn(&'static DirectiveRow) -> bool) -> Vec<Words> {
    let line = |reset: &Reset| Words::line(reset.row.name, reset.arguments);
    decisions.resets.iter().filter(|reset| concerns(reset.row)).map(line).collect()
}

/// Whether servers override it only where they request client certificates.
pub fn is_of_client_certificates(row: &DirectiveRow) -> bool {
    matches!(row.inherited, catalogue::Inherited::TakenBack(reset) if reset.of_client_certificates)
}
