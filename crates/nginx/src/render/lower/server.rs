//! Makes the file of one server.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::render::engine::Engine;
use crate::render::family::Family;
use crate::render::file_set::{File, FilePath};
use crate::render::headers::{HeaderList, Trusted};
use crate::render::names;
use crate::render::search_order::SearchOrder;
use crate::render::shape::Filled;
use crate::render::token::{Literal, Word, Words};
use crate::render::view;
use crate::{ConnectedBy, Decisions, Http2, Listen};
use ingressd_model::catalogue;
use ingressd_model::expression::LIMITS;
use ingressd_model::{
    Action, CertificateId, ClientCertificates, Directive, Forwarded, Handler, HostName, Origin, Refused, Server,
    ServerName, StrictPaths, TlsTermination, expression,
};

use super::backend::Backends;
use super::head::{Head, statements};
use super::location::{self, Location, Surroundings, closed, location};
use super::paths::{Place, places};
use super::shared::scheme;
use super::slots::{Header, Inherited};
use super::upstream::variables_of;
use super::writer::Writer;
use super::{
    access_log, backend_tls, branches, client_certificates, cors, error_pages, external_authentication, firewall,
    global, limits, mirror, session, tls,
};

/// The header of HTTP Strict Transport Security (RFC 6797).
pub const HSTS: &str = "Strict-Transport-Security";

/// What a server's file depends on besides the server; it changes rarely.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The decisions that this nginx requires.
    pub decisions: &'a Decisions,
    /// How often connections of clients were counted anew.
    pub recounts: u32,
    /// Which proxies are trusted to name clients.
    pub forwarded: &'a Forwarded,
    /// The directives of every server.
    pub server_directives: &'a [Directive],
    /// The certificate for hosts without one.
    pub default_certificate: Option<&'a CertificateId>,
    /// The files that the catch-all server requires.
    pub catch_all: Arc<[FilePath]>,
    /// Whether the catch-all server has a certificate of its own, which nginx would present for
    /// every host without one.
    pub catch_all_is_own: bool,
    /// The order in which nginx reads upstreams.
    pub search_order: &'a SearchOrder,
    /// Whether `$ingressd_request_id` is defined.
    pub has_request_ids: bool,
}

impl Facts<'_> {
    /// Who is trusted to name clients.
    fn trusted(&self) -> Trusted {
        match (self.forwarded.trusts_proxies(), self.decisions.proxies.is_empty()) {
            (true, _) => Trusted::Headers,
            (false, false) => Trusted::Protocol,
            (false, true) => Trusted::Nobody,
        }
    }

    /// Whether a proxy is trusted to name the scheme of a request, by headers or by the PROXY
    /// protocol.
    pub fn names_scheme(&self) -> bool {
        self.trusted() != Trusted::Nobody
    }

    /// The variable with the scheme of the client's request.
    pub fn scheme(&self) -> Word {
        scheme(self.names_scheme())
    }
}

/// Whether TLS of the host is more than nginx has for every host.
pub fn has_own_tls<'l>(server: &Server, listens: impl IntoIterator<Item = &'l Listen>) -> bool {
    // Without TLS no client is let in where client certificates are required.
    let is_asked = server.client_certificates.as_deref().is_some_and(ClientCertificates::chooses);
    (server.tls != TlsTermination::Default || is_asked) && listens.into_iter().any(|listen| listen.ssl)
}

/// The file of a server.
pub fn server(server: &Server, facts: &Facts<'_>, engine: &Engine) -> File {
    // A word that is refused here should have been refused by the types of the model.
    written(server, facts, engine).unwrap_or_else(|_| {
        let mut writer = Writer::default();
        server.all_routes().for_each(|route| writer.leave_out(&route.origin));
        writer.file([])
    })
}

/// The files that a server requires, including those that they require in turn.
pub fn requires(server: &Server, facts: &Facts<'_>) -> BTreeSet<FilePath> {
    let mut requires = BTreeSet::from([names::shared_file()]);
    requires.extend(facts.decisions.global.blocks().then(names::blocked_file));
    let shares_rules = facts.decisions.firewall.shared && firewall::is_asked(server);
    requires.extend(shares_rules.then(names::firewall_file));
    let Decisions { access_log: log, global, .. } = facts.decisions;
    requires.extend(access_log::is_needed(log, global, server).then(names::access_log_file));
    requires.extend(facts.decisions.geo.is_asked().then(names::geo_file));
    if let Some(certificate) = certificate(server, facts) {
        requires.insert(names::certificate_file(certificate));
        requires.extend(tls::all(&facts.decisions.global).map(|(path, _)| path));
    }
    if certificate(server, facts).is_none() && server.name != ServerName::CatchAll {
        // nginx accepts a TLS server without a certificate only beside a default server that has
        // one.
        requires.insert(names::catch_all_file());
        requires.extend(facts.catch_all.iter().cloned());
    }
    requires.extend(server.client_certificates.iter().flat_map(|asked| client_certificates::requires(asked)));
    for handler in server.handlers() {
        if let Action::Proxy { upstream, split } = &handler.action {
            requires.insert(names::upstream_file(upstream, facts.search_order));
            requires.extend(upstream.tls.iter().flat_map(|tls| backend_tls::requires(tls)));
            let all = split.iter().flat_map(|split| split.upstreams()).chain([upstream]);
            requires.extend(all.flat_map(variables_of));
            if let Some(split) = split {
                requires.extend(split.session.iter().map(|cookie| names::variable_file(&names::session(cookie))));
                requires.insert(names::variable_file(&names::split(split, upstream)));
                requires.extend(split.upstreams().map(|upstream| names::upstream_file(upstream, facts.search_order)));
            }
        }
        requires.extend(handler.errors.iter().map(|pages| names::upstream_file(&pages.upstream, facts.search_order)));
        let behaviour = &handler.behaviour;
        requires.extend(behaviour.cors.iter().flat_map(|cors| cors::requires(cors)));
        requires.extend(session::requires(handler));
        let recounts = facts.recounts;
        let limits = behaviour.limits.as_deref().map(names::limits);
        requires.extend(limits.map(|limits| names::limits_file(&limits, recounts)));
        requires.extend(limits::is_counted(handler, facts.decisions).then(|| names::requests_file(recounts)));
        requires.extend(behaviour.referred_list().map(names::list_file));
        requires.extend(
            external_authentication::asked(handler)
                .into_iter()
                .flat_map(|external| external_authentication::requires(external, facts.search_order)),
        );
        requires.extend(mirror::requires(handler, facts.search_order));
        let reads_tables = behaviour.snippets.iter().any(|snippet| snippet.reads_tables());
        requires.extend(reads_tables.then(names::lookup_file));
        requires.extend(behaviour.basic_authentication.as_deref().map(|basic| names::password_file(&basic.file)));
    }
    requires.extend(branches::requires(server));
    requires
}

/// The certificate that the server's own file names.
pub fn certificate<'a>(server: &'a Server, facts: &Facts<'a>) -> Option<&'a CertificateId> {
    // In a server without `ssl_certificate`, nginx does not request client certificates and uses
    // the ciphers of the default server.
    let is_default = server.name == ServerName::CatchAll
        || facts.decisions.explicit_certificates
        || facts.catch_all_is_own
        || server.has_own_handshake();
    match &server.tls {
        _ if !facts.decisions.listens.iter().any(|listen| listen.ssl) => None,
        TlsTermination::Own(id) => Some(id),
        _ if is_default => facts.default_certificate,
        _ => None,
    }
}

fn written(server: &Server, facts: &Facts<'_>, engine: &Engine) -> Result<File, Refused> {
    let mut writer = Writer::default();
    let names = [&server.name].into_iter().chain(&server.reserved).map(|name| (name, &server.origin));
    write(server, names, &Backends::Named, facts, engine, &mut writer)?;
    Ok(writer.file(requires(server, facts)))
}

/// Writes a server with these names.
pub fn write<'a>(
    server: &Server,
    names: impl IntoIterator<Item = (&'a ServerName, &'a Origin)>,
    backends: &Backends<'_>,
    facts: &Facts<'_>,
    engine: &Engine,
    writer: &mut Writer,
) -> Result<(), Refused> {
    let names: Vec<_> = names.into_iter().collect();
    for sockets in sockets_by_origin(&facts.decisions.listens) {
        write_one(server, &sockets, &names, backends, facts, engine, writer)?;
    }
    Ok(())
}

/// Groups the sockets of a server into blocks: a block trusts either headers about clients or the
/// PROXY protocol of nginx itself.
fn sockets_by_origin(listens: &[Listen]) -> Vec<Vec<&Listen>> {
    if !listens.iter().any(|listen| listen.connected_by == ConnectedBy::InsideTrusted) {
        return vec![listens.iter().collect()];
    }
    let (apart, together) = listens.iter().partition(|listen| listen.connected_by == ConnectedBy::Inside);
    vec![together, apart]
}

/// Writes one block of a server with these sockets.
fn write_one(
    server: &Server,
    sockets: &[&Listen],
    names: &[(&ServerName, &Origin)],
    backends: &Backends<'_>,
    facts: &Facts<'_>,
    engine: &Engine,
    writer: &mut Writer,
) -> Result<(), Refused> {
    let decisions = facts.decisions;
    let of_host = &server.directives;
    let is_said = |directive: &&Directive| of_host.iter().any(|own| own.row == directive.row);
    // Only the catch-all server may refuse requests without a known host.
    let concerns = |directive: &&Directive| {
        *directive.row != catalogue::SSL_REJECT_HANDSHAKE || server.name == ServerName::CatchAll
    };
    let global = facts.server_directives.iter().filter(|directive| !is_said(directive)).filter(concerns);
    let common: Vec<_> = global.chain(of_host).chain(location::common(server)).collect();
    let listens = sockets.iter().map(|socket| listen(socket, &server.name, decisions.http2)).collect();
    writer.add(fill(engine, "listens", &view::Listens { listens })?, &server.origin);
    for (name, origin) in names {
        let name = Literal::new(&server_name(name, decisions.longest_name))?;
        writer.add(fill(engine, "server_name", &view::Name { name })?, origin);
    }
    let head = Head { server, sockets, common: &common, facts };
    let (said, rest) = head.slots()?.split();
    let list = HeaderList { detailed: head.is_detailed(), trusted: facts.trusted() };
    writer.add(fill(engine, "server", &said)?, &server.origin);
    writer.add(engine.header_list(list, Family::Proxy, &[]), &server.origin);
    for run in common.chunk_by(|one, other| one.origin == other.origin) {
        let said: Vec<_> = run.iter().map(|one| location::written(one.row.name, one).into()).collect();
        writer.add(statements(engine, &said)?, &run[0].origin);
    }
    if facts.forwarded.trusts_proxies() {
        writer.add(fill(engine, "trusted", &view::Nothing {})?, &server.origin);
    }
    for run in rest.chunk_by(|(_, one), (_, other)| one == other) {
        writer.add(statements(engine, run.iter().map(|(statement, _)| statement))?, &run[0].1);
    }
    let inherited = inherited(server, facts)?;
    let strict = server.strict_paths();
    if strict == StrictPaths::Global {
        writer.add(fill(engine, "strict_paths", &view::Nothing {})?, &server.origin);
    }
    let asked = server.client_certificates.as_deref();
    let surroundings = Surroundings {
        tls_host: has_own_tls(server, &decisions.listens),
        client_certificates: asked,
        inherited: &inherited,
        common: &common,
        strict: &strict,
        core_rules: firewall::core_rules(server, decisions),
        log_line: decisions.access_log.line(head.is_detailed()),
        numbers: &branches::numbers(server),
        server,
        backends,
    };
    let places = places(server);
    let places = [places, branches::places(server)?].concat();
    let stand_ins = error_pages::stand_ins(&places);
    let stand_ins = stand_ins.iter().map(|(name, (route, handler))| Place::named(name, route, handler));
    let stand_ins = stand_ins.collect::<Result<Vec<_>, Refused>>()?;
    let mut full = HashSet::new();
    for place in places.iter().chain(&stand_ins) {
        let written =
            location(place, &surroundings, facts).and_then(|location| Ok((filled(&location, list, engine)?, location)));
        match written {
            Ok((texts, location)) => {
                full.extend((!place.decides()).then(|| std::ptr::from_ref(place.handler)));
                writer.add_location(texts, &location, place, &common);
            }
            // A closed route must not fall through to another one.
            Err(_) => {
                writer.leave_out(&place.route.origin);
                let closed = closed(place).and_then(|location| Ok((filled(&location, list, engine)?, location)));
                if let Ok((texts, location)) = closed {
                    writer.add_location(texts, &location, place, &common);
                }
            }
        }
    }
    // Variables of an internal location are set by the locations that lead to it: nginx knows none
    // whose locations are left out, such as a fallback that no request reaches.
    let handlers: Vec<_> = server.handlers().filter(|one| full.contains(&std::ptr::from_ref(*one))).collect();
    write_internal(&handlers, list, &inherited, facts, engine, writer)?;
    writer.end(&server.origin);
    Ok(())
}

/// Writes the internal locations for these handlers: for subrequests, and for error pages.
fn write_internal(
    handlers: &[&Handler],
    list: HeaderList,
    inherited: &Inherited,
    facts: &Facts<'_>,
    engine: &Engine,
    writer: &mut Writer,
) -> Result<(), Refused> {
    for (name, external) in external_authentication::of_handlers(handlers.iter().copied()) {
        let location = external_authentication::location(&name, external, inherited, facts);
        match location.and_then(|location| filled(&location, list, engine)) {
            Ok(texts) => writer.add_block(texts, &external.origin),
            // Without the internal location, nginx refuses all clients of the protected locations.
            Err(_) => writer.leave_out(&external.origin),
        }
    }
    for (name, copied) in mirror::of_handlers(handlers.iter().copied()) {
        let location = mirror::location(&name, copied, inherited, facts);
        match location.and_then(|location| filled(&location, list, engine)) {
            Ok(texts) => writer.add_block(texts, &copied.0.origin),
            // Without the internal location, nginx serves the requests without copies.
            Err(_) => writer.leave_out(&copied.0.origin),
        }
    }
    for (name, page) in error_pages::places(handlers) {
        let location = error_pages::location(&name, page, facts)?;
        writer.add_block(filled(&location, list, engine)?, page.2);
    }
    Ok(())
}

/// The headers that all locations of a server have, unless they set any themselves.
fn inherited(server: &Server, facts: &Facts<'_>) -> Result<Inherited, Refused> {
    let mut inherited = global::inherited(&facts.decisions.global)?;
    if let Some(hsts) = &server.hsts {
        inherited.answer_headers.push(Header::fixed(HSTS, Word::variable(&names::hsts(hsts))?));
        inherited.hidden_headers.push(Word::fixed(HSTS));
    }
    let asked = server.client_certificates.iter();
    inherited.request_headers.extend(asked.flat_map(|asked| client_certificates::request_headers(asked)));
    Ok(inherited)
}

/// The texts of a location, without its last line.
fn filled(location: &Location, list: HeaderList, engine: &Engine) -> Result<Vec<Filled>, Refused> {
    let mut texts = vec![fill(engine, "location", &location.view)?];
    if let (Some(headers), Some(family)) = (&location.request_headers, location.family) {
        let own: Vec<_> = headers.iter().map(|header| location::header_name(family, &header.name)).collect();
        let own: Vec<_> = own.iter().map(Word::as_str).collect();
        texts.push(engine.header_list(list, family, &own));
        if !headers.is_empty() {
            texts.push(statements(engine, &location::request_headers(family, headers))?);
        }
    }
    if location.family == Some(Family::FastCgi) {
        let own: Vec<_> = location.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let filled = engine.fill_without("fastcgi_params", &own);
        texts.push(filled.map_err(|error| Refused(error.to_string().into()))?);
        if !own.is_empty() {
            texts.push(statements(engine, &location::parameters(&location.parameters))?);
        }
    }
    Ok(texts)
}

/// Fills a template. This fails only by a fault of the program.
pub fn fill(engine: &Engine, template: &'static str, view: &impl view::View) -> Result<Filled, Refused> {
    engine.fill(template, view).map_err(|error| Refused(error.to_string().into()))
}

fn listen(listen: &Listen, name: &ServerName, http2: Http2) -> Words {
    let default = listen.default_server && *name == ServerName::CatchAll;
    let parameters = [
        (listen.ssl, "ssl"),
        (listen.ssl && http2 == Http2::Parameter, "http2"),
        (listen.proxy_protocol, "proxy_protocol"),
        (default, "default_server"),
    ];
    let parameters = parameters.into_iter().filter(|(set, _)| *set).map(|(_, word)| Word::fixed(word));
    Words::join([Word::address(listen.address)].into_iter().chain(parameters))
}

fn server_name(name: &ServerName, longest: usize) -> String {
    let escaped = |host: &HostName| expression::literal(host.as_str()).into_owned();
    match name {
        ServerName::CatchAll => String::new(),
        ServerName::Exact(host) if host.as_str().len() <= longest => host.to_string(),
        ServerName::Exact(host) => format!("~^{}$", escaped(host)),
        // nginx's own wildcards match any number of labels.
        ServerName::Wildcard(host) => format!("~^[^.]+\\.{}$", escaped(host)),
        // A request for an IP address means the node, and a name longer than any host is not a
        // host.
        ServerName::Expression(host) => {
            let own = expression::anywhere(host.as_str());
            format!("~{LIMITS}^(?:[0-9.]+$|\\[|.{{254}})(*COMMIT)(*FAIL)|(?i:{own})")
        }
    }
}
