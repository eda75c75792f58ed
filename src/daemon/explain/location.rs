//! The location of a server that nginx chooses for a path: as nginx searches what is rendered.
//! This must not know hosts.

use super::expression::matches;
use ingressd_model::{Action, PathMatch, Route, Server};
use ingressd_nginx::render::{Place, places};

/// The location for a path.
#[derive(Debug, Clone, Copy)]
pub struct Location<'s> {
    /// The route that was written there.
    pub route: &'s Route,
    /// Whether nginx answers 301, to the same path with a slash behind it.
    pub adds_slash: bool,
    /// An expression that nginx tries before. Only PCRE can say whether it matches.
    pub unless: Option<&'s str>,
    /// Another route whose expression matches too, and which nginx would try next.
    pub next: Option<&'s Route>,
}

/// What nginx chooses for a path.
pub fn location<'s>(server: &'s Server, path: &str) -> Location<'s> {
    let places = places(server);
    let found = |place: &Place<'s>, adds_slash| Location { route: place.route, adds_slash, unless: None, next: None };
    let of = |modifier: &'static str| places.iter().filter(move |place| place.modifier.as_str() == modifier);
    if let Some(exact) = of("=").find(|place| place.path == path) {
        return found(exact, exact.to_slash.is_some());
    }
    // nginx does this by itself where requests are passed on.
    let lacks_slash = |place: &&Place<'s>| {
        place.route.branches.is_empty()
            && matches!(place.route.action, Action::Proxy { .. })
            && place.path.strip_suffix('/') == Some(path)
    };
    if let Some(below) = of("=").chain(of("^~")).find(lacks_slash) {
        return found(below, true);
    }
    if let Some(longest) = of("^~").filter(|place| path.starts_with(&*place.path)).max_by_key(|place| place.path.len())
    {
        return found(longest, false);
    }
    let mut unless = None;
    for (number, place) in places.iter().enumerate() {
        match (is_matched(place, path), &place.route.path) {
            (Some(true), _) => {
                let is_one = |next: &Place<'_>, route| std::ptr::eq(next.route, route);
                let is_other = |next: &&Place<'_>| !is_one(next, place.route) && !is_one(next, &server.fallback);
                let next =
                    places[number + 1..].iter().filter(is_other).find(|next| is_matched(next, path) == Some(true));
                let next = next.map(|next| next.route);
                return Location { unless, next, ..found(place, place.to_slash.is_some()) };
            }
            (None, PathMatch::Regex(pattern)) => unless = unless.or(Some(pattern.as_str())),
            (None | Some(false), _) => {}
        }
    }
    Location { route: &server.fallback, adds_slash: false, unless, next: None }
}

/// Whether the path matches an expression; `None` where only PCRE can say that.
fn is_matched(place: &Place<'_>, path: &str) -> Option<bool> {
    match place.modifier.as_str() {
        "~" => matches(&place.path, path, true),
        "~*" => matches(&place.path, path, false),
        _ => Some(false),
    }
}
