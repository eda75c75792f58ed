//! Mirrored requests: the directives of locations, and the internal location that sends a copy to
//! its service. It must not know where the service's address comes from.
//!
//! nginx copies a request after access control: refused requests are not copied. It ignores the
//! response to the copy, but keeps the original request open until its copy has ended, so copies
//! have short timeouts.

use std::collections::BTreeMap;

use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::search_order::SearchOrder;
use crate::render::token::{Text, Word, Words};
use ingressd_model::{Handler, HeaderName, Mirror, Protocol, Refused, Template};

use super::empty;
use super::external_authentication::{asked, tls};
use super::location::{Location, Scene};
use super::server::Facts;
use super::slots::{Header, Inherited, Slot, Slots};

/// A service that gets copies, with the headers that an authentication service sets.
pub type Copied<'a> = (&'a Mirror, &'a [HeaderName]);

/// The mirror of a route that has a backend.
fn copied(handler: &Handler) -> Option<Copied<'_>> {
    let mirror = handler.behaviour.mirror.as_deref().filter(|_| handler.action.upstream().is_some())?;
    let reported = asked(handler).map_or(&[][..], |external| &external.policy.response_headers[..]);
    Some((mirror, reported))
}

fn name((mirror, reported): Copied<'_>) -> String {
    names::mirror(&mirror.service, &mirror.policy, reported)
}

/// The mirrors of these routes, by the name of the internal location; each distinct policy has
/// one.
pub fn of_handlers<'r>(handlers: impl IntoIterator<Item = &'r Handler>) -> BTreeMap<String, Copied<'r>> {
    handlers.into_iter().filter_map(copied).map(|copied| (name(copied), copied)).collect()
}

/// The file that a route requires for its mirror.
pub fn requires(handler: &Handler, search_order: &SearchOrder) -> Option<FilePath> {
    copied(handler).map(|(mirror, _)| names::upstream_file(&mirror.service, search_order))
}

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(copied) = copied(scene.handler) else { return Ok(()) };
    slots.say(Slot::Backend, "mirror", Word::new(&name(copied))?);
    if !copied.0.policy.has_body {
        slots.say(Slot::Backend, "mirror_request_body", "off");
    }
    Ok(())
}

/// The internal location that sends copies. Clients cannot request it: the paths of requests begin
/// with a slash, its name does not.
pub fn location(
    name: &str,
    (mirror, reported): Copied<'_>,
    inherited: &Inherited,
    facts: &Facts<'_>,
) -> Result<Location, Refused> {
    let (policy, trusts) = (&mirror.policy, facts.forwarded.trusts_proxies());
    let mut slots = Slots::of_subrequests();
    // Otherwise nginx would write an error to its log for each copy.
    empty::answer(&mirror.service, facts.decisions, &mut slots)?;
    let mut say = |name, arguments: Words| slots.say(Slot::Backend, name, arguments);
    if !policy.has_body {
        say("proxy_pass_request_body", "off".into());
    }
    say("proxy_next_upstream_timeout", "10s".into());
    say("proxy_send_timeout", "10s".into());
    say("proxy_read_timeout", "10s".into());
    let scheme = match mirror.service.protocol {
        Protocol::Https => {
            tls(&mirror.service, &mut say)?;
            "https://"
        }
        _ => "http://",
    };
    let place = [Word::fixed(scheme), Word::own(&names::upstream(&mirror.service))?];
    say("proxy_pass", Text::template(&place, &policy.target, trusts)?.into());
    let text = |template: &Template| Text::template(&[], template, trusts).map(Words::from);
    slots.request_header(Header::fixed("Upgrade", EMPTY));
    slots.request_header(Header::fixed("Connection", Word::fixed("close")));
    if !policy.has_body {
        slots.request_header(Header::fixed("Content-Length", EMPTY));
    }
    // The same headers as the backend gets: those of the client under these names are not passed
    // on.
    for (number, name) in reported.iter().enumerate() {
        let value = Word::variable(&format!("authentication_{number}"))?;
        slots.request_header(Header::new(Word::header_name(name)?, value));
    }
    slots.request_header(Header::fixed("Host", text(&policy.host)?));
    Location::of_subrequests(name, slots, inherited)
}

const EMPTY: Word = Word::fixed("\"\"");
