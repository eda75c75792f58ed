//! What locations say about a service that lets clients in, and the location by which it is asked.
//!
//! A question is a request of its own: nginx asks nobody whether it may, and nothing of the location that asks counts for it. So
//! whatever would answer in the place of the service has to be taken back here, because any status from 200 to 299 lets the client in.

use std::collections::BTreeMap;

use crate::model::{
    ExternalAuthentication, Protocol, Refused, Route, Server, Template, TemplatePart, UpstreamId, Variable,
};
use crate::nginx::Plan;
use crate::render::content::Part;
use crate::render::crowds::Crowds;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Path, Text, Word, Words};
use crate::render::view;

use super::location::{Location, Scene};
use super::server::Facts;
use super::slots::{Family, Header, Inherited, Slot, Slots};

/// Headers by which clients could pretend that they ask for something else, whichever of them a service believes.
const CLEARED: [&str; 6] =
    ["X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Proto", "Content-Length", "Upgrade", "Connection"];

const EMPTY: Word = Word::fixed("\"\"");

/// What is asked, where a backend is.
pub fn asked(route: &Route) -> Option<&ExternalAuthentication> {
    route.behaviour.external_authentication.as_deref().filter(|_| route.action.upstream().is_some())
}

/// The services that a server asks, each once for each way in which it is asked, by the names of their locations.
pub fn of_server(server: &Server) -> BTreeMap<String, &ExternalAuthentication> {
    let routes = server.routes.iter().chain([&server.fallback]);
    let mut all = BTreeMap::new();
    for external in routes.filter_map(asked) {
        all.entry(names::authentication(external)).or_insert(external);
    }
    all
}

/// The files that a route needs for it.
pub fn requires(external: &ExternalAuthentication, crowds: &Crowds) -> impl Iterator<Item = FilePath> + use<> {
    let policy = &external.policy;
    let memory = policy.memory.as_ref().map(|_| names::answer_memory_file());
    let escaped = escapes(external).then(names::escaped_uri_file);
    [names::upstream_file(&external.service, crowds)].into_iter().chain(memory).chain(escaped)
}

fn escapes(external: &ExternalAuthentication) -> bool {
    let policy = &external.policy;
    let headers = policy.request_headers.iter().map(|(_, value)| value);
    let all = headers.chain(&policy.sign_in).chain(&policy.request_redirect).chain([&policy.target]);
    all.chain(policy.memory.as_ref().map(|memory| &memory.key)).any(Template::escapes)
}

/// What a location says.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(external) = asked(scene.route) else { return Ok(()) };
    let policy = &external.policy;
    slots.say(Slot::Authentication, "auth_request", Word::new(&names::authentication(external))?);
    let mut take = |variable: &Word, header: &Word| {
        slots.say(Slot::Authentication, "auth_request_set", Words::join([variable.clone(), header.clone()]));
    };
    let cookie = Word::variable("authentication_cookie")?;
    take(&cookie, &Word::fixed("$upstream_http_set_cookie"));
    let told = policy.response_headers.iter().enumerate().map(|(number, name)| {
        let variable = Word::variable(&format!("authentication_{number}"))?;
        take(&variable, &Word::answer_header(name)?);
        Ok(Header::new(Word::header_name(name)?, variable))
    });
    let told = told.collect::<Result<Vec<_>, Refused>>()?;
    told.into_iter().for_each(|header| slots.request_header(header));
    let cookie = Header::fixed("Set-Cookie", cookie);
    match policy.always_sets_cookie {
        true => slots.answer_header(cookie),
        false => slots.answer_header_of_success(cookie),
    }
    if let Some(url) = &policy.sign_in {
        let url = Text::template(&[], url, scene.facts.tells_scheme())?;
        let status = [Word::fixed("401").into(), Words::from(Word::fixed("=302")), url.into()];
        slots.say(Slot::Authentication, "error_page", Words::join(status));
    }
    Ok(())
}

/// The location by which a service is asked. No path of a client leads there: all of those begin with a slash.
pub fn location(
    name: &str,
    external: &ExternalAuthentication,
    inherited: &Inherited,
    facts: &Facts<'_>,
) -> Result<Location, Refused> {
    let trusts = facts.tells_scheme();
    let mut slots = Slots::default();
    let mut say = |name, arguments: Words| slots.say(Slot::Backend, name, arguments);
    let fixed = |word: &'static str| Words::from(Word::fixed(word));
    say("internal", Words::nothing());
    // Whatever the server says of these.
    say("proxy_intercept_errors", fixed("off"));
    say("error_page", fixed("599 /"));
    say("client_max_body_size", fixed("0"));
    say("proxy_method", Word::header_name(&external.policy.method)?.into());
    say("proxy_pass_request_body", fixed("off"));
    say("proxy_send_timeout", fixed("60s"));
    say("proxy_read_timeout", fixed("60s"));
    if facts.decisions.access_log.questions {
        say("log_subrequest", fixed("on"));
    }
    // Cookies of sessions are long.
    say("proxy_buffer_size", fixed("16k"));
    say("proxy_buffers", fixed("4 16k"));
    say("proxy_busy_buffers_size", fixed("32k"));
    say("proxy_temp_file_write_size", fixed("32k"));
    remember(name, external, facts, &mut say)?;
    let scheme = match external.service.protocol {
        Protocol::Https | Protocol::Grpcs => {
            tls(&external.service, &mut say)?;
            "https://"
        }
        Protocol::Http | Protocol::AutoHttp | Protocol::Grpc | Protocol::FastCgi => "http://",
    };
    let place = [Word::fixed(scheme), Word::own(&names::upstream(&external.service))?];
    say("proxy_pass", Text::template(&place, &external.policy.target, trusts)?.into());
    headers(external, trusts, &mut slots)?;
    let request_headers = slots.request_headers(inherited, false);
    let view = view::Location {
        modifier: Word::fixed("="),
        path: Literal::new(name)?.into(),
        directives: Vec::new(),
        strict_paths: false,
        statements: slots.statements(&Inherited::default(), None),
        pass: Vec::new(),
    };
    Ok(Location { view, family: Some(Family::Proxy), request_headers, parameters: Vec::new(), owners: Vec::new() })
}

/// The answers that nginx remembers, where it can.
fn remember(
    name: &str,
    external: &ExternalAuthentication,
    facts: &Facts<'_>,
    say: &mut impl FnMut(&'static str, Words),
) -> Result<(), Refused> {
    let Some(memory) = external.policy.memory.as_ref().filter(|_| facts.decisions.answer_memory.is_some()) else {
        return Ok(());
    };
    let trusts = facts.tells_scheme();
    say("proxy_cache", Word::own(names::ANSWER_MEMORY)?.into());
    // Whose answer it is, and for which host: what follows is whatever the client sends.
    let whose = [Word::new(name)?, Word::fixed("|$host|")];
    say("proxy_cache_key", Text::template(&whose, &memory.key, trusts)?.into());
    for duration in &memory.durations {
        let statuses = duration.statuses().iter().map(|status| Word::number(u64::from(*status)));
        say("proxy_cache_valid", Words::join(statuses.chain([Word::time(duration.duration())])));
    }
    say("proxy_buffering", Word::fixed("on").into());
    Ok(())
}

/// As in ingress-nginx, the service may show any certificate.
pub fn tls(service: &UpstreamId, say: &mut impl FnMut(&'static str, Words)) -> Result<(), Refused> {
    say("proxy_ssl_verify", Word::fixed("off").into());
    let host = &service.service;
    let is_name = service.mode == "host" && host.parse::<std::net::IpAddr>().is_err();
    if is_name {
        say("proxy_ssl_name", Text::new(host)?.into());
    }
    say("proxy_ssl_server_name", Word::fixed(if is_name { "on" } else { "off" }).into());
    Ok(())
}

/// The headers of the question.
fn headers(external: &ExternalAuthentication, trusts: bool, slots: &mut Slots) -> Result<(), Refused> {
    let policy = &external.policy;
    let text = |template: &Template| Text::template(&[], template, trusts).map(Words::from);
    let url = vec![
        TemplatePart::ClientScheme,
        TemplatePart::Text("://".into()),
        TemplatePart::ClientHost,
        TemplatePart::Variable(Variable::new("request_uri")?),
    ];
    let url = text(&Template::new(url)?)?;
    let redirect = policy.request_redirect.as_ref().map(text).transpose()?;
    CLEARED.into_iter().for_each(|name| slots.request_header(Header::fixed(name, EMPTY)));
    slots.request_header(Header::fixed("Host", text(&policy.host)?));
    slots.request_header(Header::fixed("X-Original-URL", url));
    slots.request_header(Header::fixed("X-Original-URI", Word::fixed("$request_uri")));
    slots.request_header(Header::fixed("X-Original-Method", Word::fixed("$request_method")));
    slots.request_header(Header::fixed("X-Sent-From", Word::fixed("nginx-ingress-controller")));
    let redirect = redirect.unwrap_or_else(|| Word::fixed("$request_uri").into());
    slots.request_header(Header::fixed("X-Auth-Request-Redirect", redirect));
    for (name, value) in &policy.request_headers {
        slots.request_header(Header::new(Word::header_name(name)?, text(value)?));
    }
    Ok(())
}

/// How many characters of a request target are encoded. A longer one brings clients back to the start of the host.
const STAGES: usize = 32;

/// One file with the variable that holds the target of a request encoded, where something refers to it, and one with the place of
/// answers that are remembered.
pub fn files(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let servers = plan.model.servers.iter();
    let routes = servers.flat_map(|server| server.routes.iter().chain([&server.fallback]));
    let all: Vec<_> = routes.filter_map(asked).collect();
    let mut files = BTreeMap::new();
    let mut add = |path: FilePath, text: Option<Part>| {
        files.insert(path, File::plain(text, Owners::default(), []));
    };
    if all.iter().any(|external| escapes(external)) {
        let text = escaped_uri().ok().and_then(|view| engine.fill("escaped_uri", &view).ok());
        add(names::escaped_uri_file(), text.map(Part::Filled));
    }
    if all.iter().any(|external| external.policy.memory.is_some()) {
        let folder = plan.decisions.answer_memory.as_deref().and_then(|folder| Path::new(folder).ok());
        let view =
            folder.and_then(|folder| Some(view::AnswerMemory { folder, zone: Word::own(names::ANSWER_MEMORY).ok()? }));
        let text = view.and_then(|view| engine.fill("answer_memory", &view).ok());
        add(names::answer_memory_file(), text.map(Part::Filled));
    }
    files
}

fn escaped_uri() -> Result<view::EscapedUri, Refused> {
    let variable = |stage: usize| Word::variable(&format!("{}_{stage}", names::ESCAPED_URI));
    let stage = |stage| Ok(view::EscapedStage { from: variable(stage)?, to: variable(stage + 1)? });
    Ok(view::EscapedUri {
        first: variable(0)?,
        stages: (0..STAGES).map(stage).collect::<Result<_, Refused>>()?,
        last: variable(STAGES)?,
        escaped: Word::variable(names::ESCAPED_URI)?,
    })
}
