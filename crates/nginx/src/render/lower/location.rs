//! Makes the content of the locations of one route.

use crate::Decisions;
use crate::render::family::Family;
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view;
use ingressd_model::catalogue::Module;
use ingressd_model::{
    Action, Argument, ByteSize, ClientCertificates, Directive, Handler, LogLine, Origin, Protocol, Refused, Server,
    StrictPaths, UpstreamId,
};

use super::backend::Backends;
use super::branches::Numbers;
use super::firewall::CoreRules;
use super::paths::Place;
use super::server::Facts;
use super::slots::{Header, Inherited, Slots};
use super::{
    access, access_log, answer, answer_headers, backend_headers, backend_tls, branches, client_certificates, cors,
    empty, error_pages, external_authentication, fastcgi, firewall, groups, limits, lines, mirror, session, snippet,
    split, traffic,
};

/// What the locations of a server share.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// Whether the host has a certificate, so that plain requests may be redirected to https.
    pub tls_host: bool,
    /// What the server requires of client certificates.
    pub client_certificates: Option<&'a ClientCertificates>,
    /// The headers that locations inherit from the server, unless they set any themselves.
    pub inherited: &'a Inherited,
    /// The directives that the server sets for all locations.
    pub common: &'a [&'a Directive],
    /// Which paths have to be strict.
    pub strict: &'a StrictPaths<'a>,
    /// Which requests meet the OWASP rules.
    pub core_rules: CoreRules,
    /// The log line, when it has variables about routes.
    pub log_line: Option<&'a LogLine>,
    /// The numbers of handlers that conditions lead to.
    pub numbers: &'a Numbers,
    /// The server itself.
    pub server: &'a Server,
    /// How upstreams are referred to.
    pub backends: &'a Backends<'a>,
}

/// The context of a location that is being written.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The first line of the location.
    pub place: &'a Place<'a>,
    /// What handles its requests.
    pub handler: &'a Handler,
    /// What it shares with the other locations of its server.
    pub surroundings: &'a Surroundings<'a>,
    /// What it shares with all servers.
    pub facts: &'a Facts<'a>,
}

/// Writes into a location what one feature of its route needs.
type Feature = fn(&Scene<'_>, &mut Slots) -> Result<(), Refused>;

/// All features of a route. The slots decide the order; within a slot it is the order of this
/// list.
const FEATURES: &[Feature] = &[
    branches::body_limit,
    lines::of_location,
    groups::lower,
    answer::to_slash,
    answer::https_redirect,
    client_certificates::lower,
    cors::lower,
    session::lower,
    access_log::of_path,
    access_log::lower,
    traffic::lower,
    empty::lower,
    answer::answer,
    split::lower,
    answer::rewrite,
    access::together,
    access::by_address,
    access::by_password,
    external_authentication::lower,
    firewall::lower,
    limits::lower,
    error_pages::lower,
    answer_headers::lower,
    backend_headers::lower,
    backend_tls::lower,
    fastcgi::lower,
    mirror::lower,
    snippet::lower,
];

/// A location for a route.
pub struct Location {
    /// The location, without the headers of its backend.
    pub view: view::Location,
    /// The family of directives for its backend.
    pub family: Option<Family>,
    /// The headers that it sets for its backend in addition to the usual list; `None` where those
    /// of the server apply.
    pub request_headers: Option<Vec<Header>>,
    /// FastCGI parameters that it sets, in the place of the usual ones or in addition.
    pub parameters: Vec<Header>,
    /// The owner of each statement, where that is not the object of the route; empty when the
    /// route's object owns all.
    pub owners: Vec<Option<Origin>>,
}

impl Location {
    /// The lines that the object of the route does not own: the index of the first line (from 0 at
    /// the first line of the location), the number of lines, and the owner. `of_location` is the
    /// number of lines before the backend's pass directive ends, `before_headers` the number
    /// before the headers of the backend.
    pub fn owned_lines(&self, of_location: u32, before_headers: u32) -> Vec<(u32, u32, Origin)> {
        let lines = |statement: &view::Statement| if statement.plain.is_empty() { 3 } else { 1 };
        let all: u32 = self.view.statements.iter().map(lines).sum();
        let passes = u32::try_from(self.view.pass.len()).unwrap_or_default();
        let mut next = of_location.saturating_sub(all + passes);
        let mut owned = Vec::new();
        for (statement, owner) in self.view.statements.iter().zip(&self.owners) {
            owned.extend(owner.iter().map(|owner| (next, lines(statement), owner.clone())));
            next += lines(statement);
        }
        let headers = (before_headers..).zip(self.request_headers.iter().flatten());
        owned.extend(headers.filter_map(|(line, header)| Some((line, 1, header.owner.clone()?))));
        owned
    }
}

impl Location {
    /// An internal location, with these headers for its backend.
    pub fn of_nginx(view: view::Location, request_headers: Option<Vec<Header>>) -> Self {
        Location { view, family: Some(Family::Proxy), request_headers, parameters: Vec::new(), owners: Vec::new() }
    }

    /// An internal location for subrequests.
    pub fn of_subrequests(name: &str, slots: Slots, inherited: &Inherited) -> Result<Self, Refused> {
        let request_headers = slots.request_headers(inherited, false);
        let statements = slots.statements(&Inherited::default(), None);
        let view = view::Location { statements, ..view::Location::new(Word::fixed("="), Literal::new(name)?) };
        Ok(Location::of_nginx(view, request_headers))
    }
}

/// The location of a route.
pub fn location(place: &Place<'_>, surroundings: &Surroundings<'_>, facts: &Facts<'_>) -> Result<Location, Refused> {
    let handler = place.handler;
    let scene = Scene { place, handler, surroundings, facts };
    if place.decides() {
        return branches::location(&scene);
    }
    let mut slots = Slots::default();
    FEATURES.iter().try_for_each(|feature| feature(&scene, &mut slots))?;
    let family = handler.action.upstream().map(|upstream| Family::of(upstream.protocol));
    let inherited = surroundings.inherited;
    let directives = directives(handler, surroundings.common)
        .filter(|(_, directive)| !traffic::takes_over(directive, facts.decisions))
        .map(|(view, _)| view);
    let request_headers = family.and_then(|family| slots.request_headers(inherited, family != Family::Proxy));
    let parameters = if family == Some(Family::FastCgi) { fastcgi::parameters(&scene)? } else { Vec::new() };
    let (statements, owners): (Vec<_>, Vec<_>) = slots.owned_statements(inherited, family).into_iter().unzip();
    let view = view::Location {
        directives: directives.chain(buffer_limits(handler, facts.decisions)).collect(),
        strict_paths: surroundings.strict.concern(handler),
        statements,
        pass: pass(handler, surroundings.backends)?.into_iter().collect(),
        ..of_place(place)?
    };
    let owners = if owners.iter().any(Option::is_some) { owners } else { Vec::new() };
    Ok(Location { view, family, request_headers, parameters, owners })
}

/// How requests are passed to a backend.
fn pass(handler: &Handler, backends: &Backends<'_>) -> Result<Option<view::Pass>, Refused> {
    let Action::Proxy { upstream, split } = &handler.action else { return Ok(None) };
    let scheme = match upstream.protocol {
        Protocol::Http => "http://",
        Protocol::Https => "https://",
        Protocol::AutoHttp => "$scheme://",
        Protocol::Grpc => "grpc://",
        Protocol::Grpcs => "grpcs://",
        Protocol::FastCgi | Protocol::Tcp | Protocol::Udp => "",
    };
    let family = Family::of(upstream.protocol);
    let named = |upstream: &UpstreamId| match family {
        Family::Proxy => backends.word(upstream, handler),
        Family::Grpc | Family::FastCgi => Word::own(&names::upstream(upstream)),
    };
    let upstream = match split {
        Some(split) => Word::variable(&names::split(split, upstream))?,
        None => named(upstream)?,
    };
    Ok(Some(view::Pass { directive: Word::fixed(family.pass()), scheme: Word::fixed(scheme), upstream }))
}

/// The directives that set request headers for a backend.
pub fn request_headers(family: Family, headers: &[Header]) -> Vec<view::Statement> {
    let written = |Header { name, value, .. }: &Header| {
        let header = [header_name(family, name).into(), value.clone()];
        // Without a value the parameter is omitted, and nothing that the client sends takes its
        // place.
        let condition = (family == Family::FastCgi).then(|| "if_not_empty".into());
        view::Statement::plain(family.set_header(), Words::join(header.into_iter().chain(condition)))
    };
    headers.iter().map(written).collect()
}

/// The name of a header in the directive that sets it.
pub fn header_name(family: Family, name: &Word) -> Word {
    match family {
        Family::Proxy | Family::Grpc => name.clone(),
        Family::FastCgi => Word::header_parameter(name),
    }
}

/// The directives that set FastCGI parameters.
pub fn parameters(parameters: &[Header]) -> Vec<view::Statement> {
    let written = |Header { name, value, .. }: &Header| {
        view::Statement::plain(Family::FastCgi.set_header(), Words::join([name.clone().into(), value.clone()]))
    };
    parameters.iter().map(written).collect()
}

/// A location that answers 503 to all requests.
pub fn closed(place: &Place<'_>) -> Result<Location, Refused> {
    let mut slots = Slots::default();
    answer::respond(503, &mut slots)?;
    let view = view::Location { statements: slots.statements(&Inherited::default(), None), ..of_place(place)? };
    Ok(Location { view, family: None, request_headers: None, parameters: Vec::new(), owners: Vec::new() })
}

/// The directives of a route that the protocol of its backend has and that the server does not set
/// already, with their origins, in order.
pub fn directives<'a>(
    handler: &'a Handler,
    common: &'a [&Directive],
) -> impl Iterator<Item = (view::Directive, &'a Directive)> {
    let module = handler.action.module();
    let own = |directive: &&Directive| !common.iter().any(|common| common.row == directive.row);
    let own = handler.behaviour.directives.iter().filter(own);
    own.filter_map(move |directive| Some((written(directive.row.name_by(module)?, directive), directive)))
}

/// A directive under its own name, or under that of its counterpart for another protocol.
pub fn written(name: &'static str, directive: &Directive) -> view::Directive {
    let mut arguments: Vec<_> = directive.arguments.iter().collect();
    if name == FASTCGI_NEXT_UPSTREAM {
        arguments.retain(|argument| !OF_GATEWAYS.contains(argument));
        if arguments.is_empty() {
            arguments.push(&Argument::Word("off"));
        }
    }
    let written = arguments.into_iter().enumerate().map(|(number, one)| match one {
        Argument::Target(target) => groups::argument(directive.row, number, target),
        one => argument(one),
    });
    view::Directive { name: Word::fixed(name), arguments: Words::join(written) }
}

/// The directive that says when another FastCGI endpoint is tried.
const FASTCGI_NEXT_UPSTREAM: &str = "fastcgi_next_upstream";
/// Statuses of gateways, which `fastcgi_next_upstream` does not know.
const OF_GATEWAYS: [&Argument; 2] = [&Argument::Word("http_502"), &Argument::Word("http_504")];

/// The directives that all routes of a server set alike, so that the server can set them once:
/// fewer directives make reloads faster.
pub fn common(server: &Server) -> Vec<&Directive> {
    let says = |handler: &Handler, wanted: &Directive| {
        let same = |own: &Directive| own.row == wanted.row && own.arguments == wanted.arguments;
        handler.behaviour.directives.iter().any(same)
            && wanted.row.name_by(handler.action.module()) == Some(wanted.row.name)
    };
    let all = |wanted: &&Directive| server.handlers().all(|handler| says(handler, wanted));
    let candidates = server.fallback.behaviour.directives.iter();
    candidates.filter(|directive| directive.row.is_shared).filter(all).collect()
}

/// nginx derives these two limits from the buffer sizes unless an outer level sets them, as our
/// server does. They must not be smaller than the larger buffers of a route.
fn buffer_limits(handler: &Handler, decisions: &Decisions) -> Vec<view::Directive> {
    let own = &handler.behaviour.directives;
    let size = |directive: &Directive| match directive.row.name {
        "proxy_buffer_size" | "proxy_buffers" => directive.arguments.iter().find_map(|argument| match argument {
            Argument::Size(size) => Some(size.0),
            _ => None,
        }),
        _ => None,
    };
    let Some(largest) = own
        .iter()
        .filter_map(size)
        .max()
        .filter(|_| handler.action.module().is_none_or(|module| module == Module::Proxy))
    else {
        return Vec::new();
    };
    let is_set = |name: &str| decisions.resets.iter().any(|reset| reset.row.name == name);
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

pub fn of_place(place: &Place<'_>) -> Result<view::Location, Refused> {
    Ok(view::Location::new(place.modifier.clone(), place.words()?))
}

/// An argument as it is written.
pub fn argument(argument: &Argument) -> Words {
    let word = match argument {
        Argument::Word(word) => Word::fixed(word),
        Argument::Switch(on) => Word::fixed(if *on { "on" } else { "off" }),
        Argument::Number(number) => Word::number(*number),
        Argument::Size(size) => Word::size(*size),
        Argument::Time(time) => Word::time(*time),
        Argument::Ciphers(ciphers) => Word::ciphers(ciphers),
        Argument::Text(text) => return Text::of(text).into(),
        Argument::Target(text) => return Text::of_target(text).into(),
    };
    word.into()
}
