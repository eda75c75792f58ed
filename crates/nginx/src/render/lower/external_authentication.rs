//! External authentication (`auth_request`): the directives of locations, and the internal
//! location that asks the service.
//!
//! The subrequest is a request of its own, to which the directives of the protected location do
//! not apply. Everything that the server sets and that could answer in the place of the service
//! has to be reset here, because any status from 200 to 299 lets the client in.

use std::collections::BTreeMap;

use crate::Plan;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::search_order::SearchOrder;
use crate::render::token::{Path, Text, Word, Words};
use crate::render::view::{Block, Tables};
use ingressd_model::{
    ExternalAuthentication, Handler, Protocol, Refused, Template, TemplatePart, UpstreamId, Variable,
};

use super::access_log;
use super::location::{Location, Scene};
use super::server::Facts;
use super::shared::handlers;
use super::slots::{Header, Inherited, Slot, Slots};
use super::tables::Files;

/// Headers by which clients could pretend to request something else, for services that trust them.
const CLEARED: [&str; 6] =
    ["X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Proto", "Content-Length", "Upgrade", "Connection"];

const EMPTY: Word = Word::fixed("\"\"");

/// The authentication of a route that has a backend.
pub fn asked(handler: &Handler) -> Option<&ExternalAuthentication> {
    handler.behaviour.external_authentication.as_deref().filter(|_| handler.action.upstream().is_some())
}

/// The internal location that asks for a route.
fn name(handler: &Handler, external: &ExternalAuthentication) -> String {
    names::authentication(external, &handler.origin.object.namespace)
}

/// The authentication services of these routes, by the name of the internal location; each
/// distinct policy has one.
pub fn of_handlers<'r>(
    handlers: impl IntoIterator<Item = &'r Handler>,
) -> BTreeMap<String, &'r ExternalAuthentication> {
    let mut all = BTreeMap::new();
    for handler in handlers {
        if let Some(external) = asked(handler) {
            all.entry(name(handler, external)).or_insert(external);
        }
    }
    all
}

/// The files that a route requires for it.
pub fn requires(
    external: &ExternalAuthentication,
    search_order: &SearchOrder,
) -> impl Iterator<Item = FilePath> + use<> {
    let policy = &external.policy;
    let memory = policy.memory.as_ref().map(|_| names::answer_memory_file());
    let escaped = escapes(external).then(names::escaped_uri_file);
    let always = [names::upstream_file(&external.service, search_order), names::authentication_cookies_file()];
    always.into_iter().chain(memory).chain(escaped)
}

fn escapes(external: &ExternalAuthentication) -> bool {
    let policy = &external.policy;
    let headers = policy.request_headers.iter().map(|(_, value)| value);
    let all = headers.chain(&policy.sign_in).chain(&policy.request_redirect).chain([&policy.target]);
    all.chain(policy.memory.as_ref().map(|memory| &memory.key)).any(Template::escapes)
}

/// Writes the directives of a protected location.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(external) = asked(scene.handler) else { return Ok(()) };
    let policy = &external.policy;
    slots.say(Slot::Authentication, "auth_request", Word::new(&name(scene.handler, external))?);
    let mut take = |variable: &Word, header: &Word| {
        slots.say(Slot::Authentication, "auth_request_set", Words::join([variable.clone(), header.clone()]));
    };
    take(&cookies(0)?, &Word::fixed("$upstream_http_set_cookie"));
    let reported = policy.response_headers.iter().enumerate().map(|(number, name)| {
        let variable = Word::variable(&format!("authentication_{number}"))?;
        take(&variable, &Word::answer_header(name)?);
        Ok(Header::new(Word::header_name(name)?, variable))
    });
    let reported = reported.collect::<Result<Vec<_>, Refused>>()?;
    reported.into_iter().for_each(|header| slots.request_header(header));
    for number in 0..COOKIES {
        let cookie = Header::fixed("Set-Cookie", cookie(number)?);
        match policy.always_sets_cookie {
            true => slots.answer_header(cookie),
            false => slots.answer_header_of_success(cookie),
        }
    }
    if let Some(url) = &policy.sign_in {
        let url = Text::template(&[], url, scene.facts.forwarded.trusts_proxies())?;
        let status = [Word::fixed("401").into(), Words::from("=302"), url.into()];
        slots.say(Slot::Authentication, "error_page", Words::join(status));
    }
    Ok(())
}

/// The internal location that asks a service. Clients cannot request it: the paths of requests
/// begin with a slash, its name does not.
pub fn location(
    name: &str,
    external: &ExternalAuthentication,
    inherited: &Inherited,
    facts: &Facts<'_>,
) -> Result<Location, Refused> {
    let trusts = facts.forwarded.trusts_proxies();
    let mut slots = Slots::of_subrequests();
    let mut say = |name, arguments: Words| slots.say(Slot::Backend, name, arguments);
    say("proxy_method", Word::header_name(&external.policy.method)?.into());
    say("proxy_pass_request_body", "off".into());
    say("proxy_send_timeout", "60s".into());
    say("proxy_read_timeout", "60s".into());
    if facts.decisions.access_log.questions {
        say("log_subrequest", "on".into());
        access_log::of_subrequests(facts.decisions)?.into_iter().for_each(|log| say("access_log", log));
    }
    // Session cookies in responses can be long.
    say("proxy_buffer_size", "16k".into());
    say("proxy_buffers", "4 16k".into());
    say("proxy_busy_buffers_size", "32k".into());
    say("proxy_temp_file_write_size", "32k".into());
    remember(name, external, facts, &mut say)?;
    let scheme = match external.service.protocol {
        Protocol::Https | Protocol::Grpcs => {
            tls(&external.service, &mut say)?;
            "https://"
        }
        _ => "http://",
    };
    let place = [Word::fixed(scheme), Word::own(&names::upstream(&external.service))?];
    say("proxy_pass", Text::template(&place, &external.policy.target, trusts)?.into());
    headers(external, trusts, &mut slots)?;
    Location::of_subrequests(name, slots, inherited)
}

/// Writes the caching of answers, where nginx can do it.
fn remember(
    name: &str,
    external: &ExternalAuthentication,
    facts: &Facts<'_>,
    say: &mut impl FnMut(&'static str, Words),
) -> Result<(), Refused> {
    let Some(memory) = external.policy.memory.as_ref().filter(|_| facts.decisions.answer_memory.is_some()) else {
        return Ok(());
    };
    let trusts = facts.names_scheme();
    say("proxy_cache", Word::own(names::ANSWER_MEMORY)?.into());
    // The service, the namespace and the host come first; the rest of the key is controlled by the
    // client.
    let whose = [Word::new(name)?, Word::fixed("|$host|")];
    say("proxy_cache_key", Text::template(&whose, &memory.key, trusts)?.into());
    for duration in &memory.durations {
        let statuses = duration.statuses().iter().map(|status| Word::number(u64::from(*status)));
        say("proxy_cache_valid", Words::join(statuses.chain([Word::time(duration.duration())])));
    }
    say("proxy_buffering", "on".into());
    Ok(())
}

/// As in ingress-nginx, the certificate of the service is not verified.
pub fn tls(service: &UpstreamId, say: &mut impl FnMut(&'static str, Words)) -> Result<(), Refused> {
    say("proxy_ssl_verify", "off".into());
    let host = &service.service;
    let is_name = service.mode == "host" && host.parse::<std::net::IpAddr>().is_err();
    if is_name {
        say("proxy_ssl_name", Text::new(host)?.into());
    }
    say("proxy_ssl_server_name", if is_name { "on" } else { "off" }.into());
    Ok(())
}

/// The headers of the subrequest.
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

/// How many cookies of a service clients get.
const COOKIES: usize = 6;

/// The variable with the cookies of the service that are left when this many were taken from the
/// front. nginx joins them with commas from 1.23 on, and has only the first one before.
fn cookies(taken: usize) -> Result<Word, Refused> {
    Word::variable(&format!("authentication_cookies_{taken}"))
}

/// The variable with one cookie of the service; empty when it sent fewer.
fn cookie(number: usize) -> Result<Word, Refused> {
    Word::variable(&format!("authentication_cookie_{number}"))
}

/// What stands between two cookies: the comma of a date is followed by no name.
const FIRST_COOKIE: &str = r#""~^(.*?), [!#$%&'*+.^_`|~0-9A-Za-z-]+=""#;
const OTHER_COOKIES: &str = r#""~^.*?, ([!#$%&'*+.^_`|~0-9A-Za-z-]+=.*)$""#;

fn split_cookies(tables: &mut Tables) -> Result<(), Refused> {
    // Locations set it, if there are any.
    tables.block(Block::map("1", cookies(0)?).row("default", r#""""#));
    for number in 0..COOKIES {
        let all = cookies(number)?;
        let first = Block::map(all.clone(), cookie(number)?).row("default", all.clone());
        tables.block(first.row(FIRST_COOKIE, r#""$1""#));
        if number + 1 < COOKIES {
            let rest = Block::map(all, cookies(number + 1)?).row("default", r#""""#);
            tables.block(rest.row(OTHER_COOKIES, r#""$1""#));
        }
    }
    Ok(())
}

/// How many characters of a request URI are encoded. With a longer URI the client is sent back to
/// the start page of the host.
const STAGES: usize = 32;

/// One file with the cookies of services, one with the variable of the encoded request URI, where
/// it is used, and one with the cache of answers.
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let all: Vec<_> = handlers(plan).filter_map(asked).collect();
    if !all.is_empty() {
        files.add(names::authentication_cookies_file(), None, [], split_cookies);
    }
    if all.iter().any(|external| escapes(external)) {
        files.add(names::escaped_uri_file(), None, [], escape);
    }
    if all.iter().any(|external| external.policy.memory.is_some()) {
        files.add(names::answer_memory_file(), None, [], |tables| {
            let folder = plan.decisions.answer_memory.as_deref().ok_or(Refused::because("nginx remembers none"))?;
            let zone =
                Word::concat([Word::setting("keys_zone", &Word::own(names::ANSWER_MEMORY)?), Word::fixed(":10m")]);
            let place = Words::line("proxy_cache_path", Path::new(folder)?);
            let rest = "max_size=64m inactive=1h use_temp_path=off";
            tables.line(Words::join([place, "levels=1:2".into(), zone.into(), rest.into()]));
            Ok(())
        });
    }
}

/// The characters to encode, as they are and as in expressions.
const ESCAPED: [(&str, &str); 6] = [
    (r#""~^(\S*) ([^%&+#; ]*)%(.*)$""#, r#""$1$2%25 $3""#),
    (r#""~^(\S*) ([^%&+#; ]*)&(.*)$""#, r#""$1$2%26 $3""#),
    (r#""~^(\S*) ([^%&+#; ]*)\+(.*)$""#, r#""$1$2%2B $3""#),
    (r#""~^(\S*) ([^%&+#; ]*)#(.*)$""#, r#""$1$2%23 $3""#),
    (r#""~^(\S*) ([^%&+#; ]*);(.*)$""#, r#""$1$2%3B $3""#),
    (r#""~^(\S*) ([^%&+#; ]*) (.*)$""#, r#""$1$2%20 $3""#),
];

/// Each step encodes one character. The encoded part stands before the blank, the rest behind it.
fn escape(tables: &mut Tables) -> Result<(), Refused> {
    let variable = |stage: usize| Word::variable(&format!("{}_{stage}", names::ESCAPED_URI));
    tables.block(Block::map("$request_uri", variable(0)?).row("default", r#"" $request_uri""#));
    for stage in 0..STAGES {
        let from = variable(stage)?;
        let map = Block::map(from.clone(), variable(stage + 1)?).row("default", from);
        tables.block(ESCAPED.into_iter().fold(map, |map, (pattern, value)| map.row(pattern, value)));
    }
    let escaped = Block::map(variable(STAGES)?, Word::variable(names::ESCAPED_URI)?);
    tables.block(escaped.row("default", "%2F").row(r#""~^(\S*) ([^%&+#; ]*)$""#, r#""$1$2""#));
    Ok(())
}
