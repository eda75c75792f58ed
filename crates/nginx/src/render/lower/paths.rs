//! Maps the paths of a server's routes to nginx locations.
//!
//! nginx tries exact locations first, then the longest prefix, and regular expressions before
//! plain prefixes. As long as a server has no expressions, exact locations and prefixes give the
//! order of the model. Otherwise all paths are written as expressions in the order of the model,
//! because an exact location for the `/p` of a prefix would take precedence over an expression
//! that comes before it.

use std::collections::BTreeSet;

use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use ingressd_model::expression::{LIMITS, literal};
use ingressd_model::{Handler, PathMatch, Pattern, Refused, Route, Server, UrlPath};

/// The longest path of a plain location: some versions of nginx keep the length in one byte.
const LONGEST_PLAIN: usize = 250;

/// Up to so many plain locations stay in the order of the model, in which people look for them.
const FEW: usize = 256;

/// The first line of a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place<'a> {
    /// `=`, `^~`, `~` or `~*`; or the name of an internal location.
    pub modifier: Word,
    /// The path or expression, before quoting; empty behind a name.
    pub path: String,
    /// The route that handles the requests, or that leads to what does.
    pub route: &'a Route,
    /// The handler that is written here.
    pub handler: &'a Handler,
    /// The number of the handler among those that are led to by name.
    pub number: Option<usize>,
    /// The target of the redirect for requests without the slash at the end of the route's path; a
    /// plain location of nginx with a backend redirects by itself.
    pub to_slash: Option<Text>,
}

const EXACT: Word = Word::fixed("=");
const BELOW: Word = Word::fixed("^~");
const CASED: Word = Word::fixed("~");
const CASELESS: Word = Word::fixed("~*");

/// The locations of a server without duplicates, the fallback last.
pub fn places(server: &Server) -> Vec<Place<'_>> {
    let plain = |route: &Route| match &route.path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.as_str().len() <= LONGEST_PLAIN,
        PathMatch::Regex(_) => false,
    };
    match server.routes.iter().all(plain) {
        true => plain_places(server),
        false => expressions(server),
    }
}

fn plain_places(server: &Server) -> Vec<Place<'_>> {
    let mut places = Locations::default();
    // The routes' own paths take precedence over derived ones: with `/a/` and `/a`, the latter
    // handles `/a`.
    for route in &server.routes {
        match &route.path {
            PathMatch::Exact { path, .. } => places.add(EXACT, path.as_str(), route),
            PathMatch::Prefix { path, .. } if path.as_str().ends_with('/') => places.add(BELOW, path.as_str(), route),
            PathMatch::Prefix { path, .. } => places.add(EXACT, path.as_str(), route),
            PathMatch::Regex(_) => {}
        }
    }
    for route in &server.routes {
        match &route.path {
            PathMatch::Prefix { path, redirect_to_slash } => match path.as_str().strip_suffix('/') {
                None => places.add(BELOW, &format!("{path}/"), route),
                Some(bare) if !bare.is_empty() && !redirect_to_slash => places.add(EXACT, bare, route),
                Some(_) => places.redirect_plain(path, *redirect_to_slash, route),
            },
            PathMatch::Exact { path, redirect_to_slash: true } => places.redirect_plain(path, true, route),
            // nginx would redirect the same path without the slash by 301, whichever route it
            // belongs to.
            PathMatch::Exact { path, redirect_to_slash: false } => match path.as_str().strip_suffix('/') {
                Some(bare) if !bare.is_empty() => places.add(EXACT, bare, taker(server, bare)),
                _ => {}
            },
            PathMatch::Regex(_) => {}
        }
    }
    // nginx sorts plain locations by insertion: in its own order it compares each with one other,
    // and in the worst with all. Which of them takes a request does not depend on the order.
    if places.list.len() > FEW {
        places.list.sort_by(|one, other| {
            let by_path = in_order_of_nginx(&one.path).cmp(in_order_of_nginx(&other.path));
            by_path.then_with(|| (other.modifier == EXACT).cmp(&(one.modifier == EXACT)))
        });
    }
    places.add(BELOW, "/", &server.fallback);
    places.list
}

/// The bytes of a path as nginx compares them: a slash is the least. Of equal paths the exact
/// location comes first.
fn in_order_of_nginx(path: &str) -> impl Iterator<Item = u8> {
    path.bytes().map(|byte| if byte == b'/' { 0 } else { byte })
}

/// The route whose prefix matches a path that no route matches exactly.
fn taker<'a>(server: &'a Server, wanted: &str) -> &'a Route {
    let takes = |route: &&Route| route.path.is_above(wanted);
    server.routes.iter().find(takes).unwrap_or(&server.fallback)
}

fn expressions(server: &Server) -> Vec<Place<'_>> {
    let mut places = Locations::default();
    let named: BTreeSet<&str> = server
        .routes
        .iter()
        .filter_map(|route| match &route.path {
            PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => Some(path.as_str()),
            PathMatch::Regex(_) => None,
        })
        .collect();
    for route in &server.routes {
        match &route.path {
            PathMatch::Exact { path, redirect_to_slash } => {
                places.add(CASED, &format!("^{}\\z", literal(path.as_str())), route);
                places.redirect(path, *redirect_to_slash, route);
            }
            PathMatch::Prefix { path, redirect_to_slash } => {
                let bare = path.as_str().strip_suffix('/');
                let end = match bare {
                    Some(bare) if bare.is_empty() || *redirect_to_slash || named.contains(bare) => "/",
                    _ => "(?:/|\\z)",
                };
                places.add(CASED, &format!("^{}{end}", literal(bare.unwrap_or(path.as_str()))), route);
                places.redirect(path, *redirect_to_slash, route);
            }
            PathMatch::Regex(pattern) => places.add(CASELESS, &format!("{LIMITS}{}", anchored(pattern)), route),
        }
    }
    places.add(CASED, "^/", &server.fallback);
    places.list
}

/// The expression, anchored at the start of the path; as a group when it has alternatives.
pub fn anchored(pattern: &Pattern) -> String {
    match pattern.as_str().contains('|') {
        true => format!("^(?:{pattern})"),
        false => format!("^{pattern}"),
    }
}

#[derive(Default)]
struct Locations<'a> {
    list: Vec<Place<'a>>,
    taken: BTreeSet<(bool, String)>,
}

impl<'a> Locations<'a> {
    /// Adds a location unless it exists: nginx refuses a server with the same location twice.
    fn add(&mut self, modifier: Word, path: &str, route: &'a Route) {
        self.put(Place { modifier, path: path.to_owned(), route, handler: route, number: None, to_slash: None });
    }

    /// Does what nginx does for a request that equals a plain location without its trailing slash.
    fn redirect(&mut self, path: &UrlPath, redirect_to_slash: bool, route: &'a Route) {
        let written = |bare: &str| (CASED, format!("^{}\\z", literal(bare)));
        self.redirect_at(path, redirect_to_slash, route, written);
    }

    /// The same for a plain location, where nginx does it only if the location has a backend.
    fn redirect_plain(&mut self, path: &UrlPath, redirect_to_slash: bool, route: &'a Route) {
        let passes = route.branches.is_empty() && route.action.upstream().is_some();
        let is_missing = redirect_to_slash && !passes;
        self.redirect_at(path, is_missing, route, |bare| (EXACT, bare.to_owned()));
    }

    fn redirect_at(&mut self, path: &UrlPath, is_asked: bool, route: &'a Route, written: fn(&str) -> (Word, String)) {
        let bare = path.as_str().strip_suffix('/').filter(|bare| is_asked && !bare.is_empty());
        // The encoded target may be too long: then the request is handled as without the redirect.
        if let (Some(bare), Ok(target)) = (bare, Text::redirection(path)) {
            let (modifier, path) = written(bare);
            self.put(Place { modifier, path, route, handler: route, number: None, to_slash: Some(target) });
        }
    }

    fn put(&mut self, place: Place<'a>) {
        if self.taken.insert((place.modifier == EXACT, place.path.clone())) {
            self.list.push(place);
        }
    }
}

impl<'a> Place<'a> {
    /// An internal location, by a name of ours.
    pub fn named(name: &str, route: &'a Route, handler: &'a Handler) -> Result<Self, Refused> {
        Ok(Place { modifier: Word::own(name)?, path: String::new(), route, handler, number: None, to_slash: None })
    }

    /// Whether it leads to other locations, and does nothing else.
    pub fn decides(&self) -> bool {
        !self.is_named() && !self.route.branches.is_empty()
    }

    /// The name of the location for its requests while its upstream has no endpoints.
    pub fn stand_in(&self) -> String {
        self.number.map_or_else(|| names::stand_in(self.route), names::stand_in_of_handler)
    }

    /// Whether it is an internal location.
    pub fn is_named(&self) -> bool {
        self.path.is_empty()
    }

    /// The path as a quoted word; nothing behind a name.
    pub fn words(&self) -> Result<Words, Refused> {
        if self.is_named() { Ok(Words::nothing()) } else { Ok(Literal::new(&self.path)?.into()) }
    }
}
