//! Responses of nginx itself: redirects and statuses; also the rewriting of paths for backends.

use crate::render::token::{Literal, Text, Word, Words};
use ingressd_model::expression::LIMITS;
use ingressd_model::{
    Action, Handler, HttpsRedirect, PathMatch, RedirectUrl, Refused, Rewrite, RewritePattern, Route, UrlPath,
};

use super::groups;
use super::location::Scene;
use super::paths::anchored;
use super::slots::{Slot, Slots, text};

/// Writes the redirect to the same path with a slash at its end.
pub fn to_slash(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if let Some(target) = &scene.place.to_slash {
        slots.say(Slot::ToSlash, "return", Words::join([Words::from("301"), target.clone().into()]));
    }
    Ok(())
}

pub fn https_redirect(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    // Several paths may lead to a handler.
    let is_of_path = scene.place.number.is_none();
    let plain_paths = if is_of_path { &scene.facts.decisions.global.plain_paths[..] } else { &[] };
    if let Some(redirect) = to_https(scene.place.route, scene.handler, scene.surroundings.tls_host, plain_paths) {
        let trusts = scene.facts.forwarded.trusts_proxies();
        let host = if trusts { "$ingressd\u{2}_redirect_host" } else { "$host" };
        let uri = if redirect.strip_trailing_slash { "$ingressd\u{2}_stripped_uri" } else { "$request_uri" };
        let target = Word::https_url(host, scene.facts.decisions.public_https_port, uri);
        let arguments = Words::join([Word::number(u64::from(redirect.status)), target]);
        slots.say_if(Slot::Https, Word::fixed("$ingressd\u{2}_plain"), "return", arguments);
    }
    Ok(())
}

/// The redirect of plain requests that counts, where the host has TLS of its own or not.
pub fn to_https<'r>(
    route: &Route,
    handler: &'r Handler,
    tls_host: bool,
    plain_paths: &[UrlPath],
) -> Option<&'r HttpsRedirect> {
    let stays_plain = plain_paths.iter().any(|start| begins_with(route, start));
    let redirect = handler.behaviour.https_redirect.as_ref();
    redirect.filter(|redirect| !stays_plain && (redirect.forced || tls_host))
}

/// Whether the path of a route has this prefix.
fn begins_with(route: &Route, start: &UrlPath) -> bool {
    match &route.path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.as_str().starts_with(start.as_str()),
        PathMatch::Regex(pattern) => pattern.as_str().starts_with(start.as_str()),
    }
}

/// Writes the response of an action that has no backend.
pub fn answer(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    match &scene.handler.action {
        Action::Proxy { .. } => Ok(()),
        Action::ToRewritten => {
            if let Some(rewrite) = &scene.handler.behaviour.rewrite {
                slots.say(Slot::Answer, "rewrite", Words::join([rewritten(rewrite)?, Words::from("redirect")]));
            }
            // The pattern is that of the location, so nothing gets here.
            respond(404, slots)
        }
        Action::Redirect { status, location } => {
            let place = groups::location(scene, location)?;
            slots.say(Slot::Answer, "return", Words::join([Word::number(u64::from(*status)).into(), place]));
            Ok(())
        }
        Action::ToHost { status, host } => {
            let facts = scene.facts;
            let has_usual_ports = facts.decisions.public_https_port == 443
                && facts.decisions.listens.iter().all(|listen| listen.ssl || listen.address.port() == 80);
            let target =
                Word::to_host(&facts.scheme(), host, if has_usual_ports { "" } else { ":$ingressd\u{2}_port" });
            slots.say(Slot::Answer, "return", Words::join([Word::number(u64::from(*status)), target]));
            Ok(())
        }
        Action::Respond { status } => respond(*status, slots),
        Action::Closed => respond(503, slots),
    }
}

/// Writes a response with this status.
pub fn respond(status: u16, slots: &mut Slots) -> Result<(), Refused> {
    slots.say(Slot::Answer, "return", with_name(status)?);
    Ok(())
}

/// A status with its name.
pub fn with_name(status: u16) -> Result<Words, Refused> {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let words = text(&format!("{status} {}", reason.unwrap_or("Unknown")))?;
    Ok(Words::join([Words::from(Word::number(u64::from(status))), words]))
}

/// A status with a place.
pub fn redirected(status: u16, location: &RedirectUrl) -> Result<Words, Refused> {
    Ok(Words::join([Words::from(Word::number(u64::from(status))), text(location.as_str())?]))
}

/// Writes the rewriting of the path for the backend.
pub fn rewrite(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(rewrite) = &scene.handler.behaviour.rewrite else { return Ok(()) };
    if scene.handler.action.upstream().is_none() {
        return Ok(());
    }
    let arguments = rewritten(rewrite)?;
    slots.say(Slot::Rewrite, "rewrite", Words::join([arguments, Words::from("break")]));
    Ok(())
}

/// The expression for the path, and what takes its place.
fn rewritten(rewrite: &Rewrite) -> Result<Words, Refused> {
    let pattern = match &rewrite.pattern {
        RewritePattern::Unanchored(pattern) => format!("{LIMITS}(?i){pattern}"),
        RewritePattern::Anchored(pattern) => format!("{LIMITS}(?i){}", anchored(pattern)),
        RewritePattern::Whole => "^".to_owned(),
    };
    let (pattern, target) = (Literal::new(&pattern)?, Text::replacement(&rewrite.target)?);
    Ok(Words::join([Words::from(pattern), target.into()]))
}
