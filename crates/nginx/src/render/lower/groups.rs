//! Keeps the groups of the path for texts that nginx makes later: expressions of other variables
//! would take their place meanwhile. It must not know what the texts are for.

use crate::render::token::{Text, Word, Words};
use crate::render::view::Comparison;
use ingressd_model::catalogue::{DirectiveRow, PROXY_COOKIE_DOMAIN, PROXY_COOKIE_PATH, PROXY_REDIRECT};
use ingressd_model::{Action, Argument, Handler, Refused, RewriteTarget};

use super::backend_headers::resolved;
use super::location::Scene;
use super::slots::{Slot, Slots};

/// The variables with the texts of the headers for a backend, and of the target of a redirect.
pub const HOST: Word = Word::fixed("$ingressd\u{2}_kept_host");
pub const PREFIX: Word = Word::fixed("$ingressd\u{2}_prefix");
const LOCATION: Word = Word::fixed("$ingressd\u{2}_kept_location");

/// A text of a request, or the variable that keeps it.
pub fn text(kept: Word, text: &RewriteTarget) -> Result<Words, Refused> {
    match text.has_captures() {
        true => Ok(kept.into()),
        false => Text::of_parts(&[], text).map(Words::from),
    }
}

/// The target of a redirect. A path behind which a client writes anything could be that of another
/// host, which begins with two slashes: so it gets its own host.
pub fn location(scene: &Scene<'_>, target: &RewriteTarget) -> Result<Words, Refused> {
    let host = [scene.facts.scheme(), Word::fixed("://$ingressd\u{2}_host")];
    match (is_path(target), target.has_captures()) {
        (true, true) => Ok(Text::of_words([Word::concat(host), LOCATION]).into()),
        (true, false) => Text::of_parts(&host, target).map(Words::from),
        (false, _) => text(LOCATION, target),
    }
}

/// Whether it is a path that differs between requests.
fn is_path(target: &RewriteTarget) -> bool {
    target.is_dynamic() && target.to_string().starts_with('/')
}

/// The variable with an argument of a directive, which nginx evaluates when a backend has
/// answered.
fn of_directive(row: &DirectiveRow, number: usize) -> Result<Word, Refused> {
    Word::variable(&format!("kept_{}_{number}", row.name))
}

/// An argument of a directive.
pub fn argument(row: &DirectiveRow, number: usize, target: &RewriteTarget) -> Words {
    // With `absolute_redirect off` nginx writes a path as it is, also one that begins with two
    // slashes.
    let host = match is_path(target) && (row, number) == (&PROXY_REDIRECT, 1) {
        true => Word::fixed("$scheme://$ingressd\u{2}_host"),
        false => Word::fixed(""),
    };
    let written = match is_kept(row, target) {
        true => of_directive(row, number).map(|kept| Text::of_words([host, kept])),
        false => Text::of_parts(&[host], target),
    };
    let written = written.map(Words::from);
    // Names of directives are letters and _.
    written.unwrap_or_else(|_| Words::from(r#""""#))
}

/// What ends an attribute of a cookie is looked for in what a variable keeps.
fn is_kept(row: &DirectiveRow, target: &RewriteTarget) -> bool {
    target.has_captures() || target.is_dynamic() && OF_COOKIES.contains(&row)
}

/// Directives whose texts become attributes of cookies.
const OF_COOKIES: [&DirectiveRow; 2] = [&PROXY_COOKIE_DOMAIN, &PROXY_COOKIE_PATH];

/// Writes what keeps the groups of the expression that selected the location, and what refuses
/// those that would be more than a part of a line. Behind a name of a location is what the
/// location before has kept; where conditions lead to it, that are only the groups. A rewrite
/// comes last, because nginx may read wrongly what follows one with a query (CVE-2026-42945); its
/// expression has the same groups.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    if scene.place.is_named() && scene.place.number.is_none() {
        return Ok(());
    }
    let here =
        kept(scene.handler)?.into_iter().filter(|kept| scene.place.number.is_none() || !kept.text.has_captures());
    write(here, slots)
}

/// Keeps the groups for the handlers that conditions lead to: those of the path, and of no other
/// one.
pub fn of_branches(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let route = scene.place.route;
    let mut all: Vec<Kept> = Vec::new();
    for handler in route.handlers() {
        for one in kept(handler)?.into_iter().filter(|one| one.text.has_captures()) {
            match all.iter().find(|other| other.variable == one.variable) {
                _ if handler.origin != route.origin => return Err(Refused::because("it has groups of another path")),
                Some(other) if other.text != one.text => return Err(Refused::because("its groups are two texts")),
                Some(_) => {}
                None => all.push(one),
            }
        }
    }
    write(all, slots)
}

fn write(all: impl IntoIterator<Item = Kept>, slots: &mut Slots) -> Result<(), Refused> {
    for Kept { variable, text, is_of_cookie } in all {
        let value = Words::from(Text::of_parts(&[], &text)?);
        slots.say(Slot::Groups, "set", Words::join([variable.clone().into(), value]));
        if is_of_cookie {
            slots.say_compared(Slot::Lines, ends_attribute(variable)?);
        }
    }
    Ok(())
}

/// The texts that have to be kept.
fn kept(handler: &Handler) -> Result<Vec<Kept>, Refused> {
    let mut texts = Vec::new();
    let mut add = |variable: Word, text: RewriteTarget| {
        texts.extend(text.has_captures().then_some(Kept { variable, text, is_of_cookie: false }));
    };
    match &handler.action {
        Action::Redirect { location, .. } => add(LOCATION, location.clone()),
        Action::Proxy { .. } => {
            let headers = handler.behaviour.backend_headers.as_deref();
            if let Some(host) = headers.and_then(|headers| headers.host.as_ref()) {
                add(HOST, resolved(host, handler)?);
            }
            let prefix = headers.and_then(|headers| headers.prefix.as_ref());
            if let Some(prefix) = prefix.filter(|_| handler.behaviour.rewrite.is_some()) {
                add(PREFIX, prefix.clone());
            }
            for directive in &handler.behaviour.directives {
                let is_of_cookie = OF_COOKIES.contains(&directive.row);
                for (number, argument) in directive.arguments.iter().enumerate() {
                    if let Argument::Target(text) = argument
                        && is_kept(directive.row, text)
                    {
                        let (variable, text) = (of_directive(directive.row, number)?, text.clone());
                        texts.push(Kept { variable, text, is_of_cookie });
                    }
                }
            }
        }
        Action::ToRewritten | Action::ToHost { .. } | Action::Respond { .. } | Action::Closed => {}
    }
    Ok(texts)
}

/// A text with the variable that keeps it.
struct Kept {
    variable: Word,
    text: RewriteTarget,
    is_of_cookie: bool,
}

/// Refuses what would end an attribute of a cookie and begin another one.
fn ends_attribute(variable: Word) -> Result<Comparison, Refused> {
    let (operator, name) = (Word::fixed("~"), Word::fixed("return"));
    Ok(Comparison { variable, operator, value: Text::new(";")?.into(), name, arguments: Words::from("400") })
}
