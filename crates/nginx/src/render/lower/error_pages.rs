//! Error pages of another backend: the directives of a location, and the internal locations that
//! request them.

use std::collections::BTreeMap;

use crate::render::family::Family;
use crate::render::names;
use crate::render::token::{Literal, Text, Word, Words};
use crate::render::view::{self, Tables};
use ingressd_model::{ErrorPages, Handler, Origin, Protocol, Refused, Route, StandIn, UpstreamId};

use super::limits;
use super::location::{Location, Scene};
use super::paths::Place;
use super::server::Facts;
use super::slots::{Header, Slot, Slots, text};

/// The headers that tell the other backend about the route, with the variables of their values.
const REPORTED: [(&str, &str); 4] = [
    ("X-Namespace", "$ingressd\u{2}_error_namespace"),
    ("X-Ingress-Name", "$ingressd\u{2}_error_ingress"),
    ("X-Service-Name", "$ingressd\u{2}_error_service"),
    ("X-Service-Port", "$ingressd\u{2}_error_port"),
];

/// Writes the directives.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(pages) = scene.handler.errors.as_deref() else { return Ok(()) };
    let values = values(scene.handler, pages)?;
    if pages.stand_in == StandIn::Always {
        let reported = REPORTED.into_iter().zip(values).map(|((name, _), value)| Header::fixed(name, value));
        reported.chain(of_every_page(503)).for_each(|header| slots.request_header(header));
        return Ok(());
    }
    if let Some(upstream) = scene.handler.action.upstream().filter(|_| intercepts(pages)) {
        slots.say(Slot::Backend, Family::of(upstream.protocol).intercept_errors(), Word::fixed("on"));
    }
    if scene.handler.has_stand_in() {
        // The request keeps the error pages of the location that it is handed to, such as that
        // where clients sign in.
        slots.say(Slot::Backend, "recursive_error_pages", "on");
    }
    let mut hand_over = |status: u16, place: &str| {
        let arguments = [Word::number(u64::from(status)), Word::fixed("="), Word::own(place)?];
        slots.say(Slot::Backend, "error_page", Words::join(arguments));
        Ok(())
    };
    if scene.handler.has_stand_in() {
        hand_over(ErrorPages::WITHOUT_ENDPOINTS, &scene.place.stand_in())?;
    }
    pages.statuses.iter().try_for_each(|status| hand_over(*status, &place(&pages.upstream, *status)))?;
    if !pages.statuses.is_empty() {
        for ((_, variable), value) in REPORTED.into_iter().zip(values) {
            slots.say(Slot::Variables, "set", Words::join([Words::from(Word::fixed(variable)), value]));
        }
    }
    Ok(())
}

/// Whether responses of the route's own backend are replaced.
pub fn intercepts(pages: &ErrorPages) -> bool {
    pages.intercepts && !pages.statuses.is_empty() && pages.stand_in != StandIn::Always
}

/// Writes that the location of the other backend takes the requests.
pub fn take_over(tables: &mut Tables) {
    tables.line(Words::line("return", Word::number(u64::from(ErrorPages::WITHOUT_ENDPOINTS))));
}

/// What handles requests to upstreams without endpoints, by the name of its location.
pub fn stand_ins<'p>(places: &'p [Place<'_>]) -> BTreeMap<String, (&'p Route, Handler)> {
    let writing = places.iter().filter(|place| !place.decides());
    writing.filter_map(|place| Some((place.stand_in(), (place.route, place.handler.stand_in()?)))).collect()
}

/// The internal locations that request error pages for these handlers, by name.
pub fn places<'r>(handlers: &[&'r Handler]) -> BTreeMap<String, (&'r UpstreamId, u16, &'r Origin)> {
    let pages = handlers.iter().filter_map(|handler| handler.errors.as_deref());
    let pages = pages.filter(|pages| pages.stand_in != StandIn::Always);
    let places = pages.flat_map(|pages| {
        let of = |status: &u16| (place(&pages.upstream, *status), (&pages.upstream, *status, &pages.origin));
        pages.statuses.iter().map(of)
    });
    places.collect()
}

/// An internal location for error pages, with the headers of its backend.
pub fn location(
    name: &str,
    (upstream, status, origin): (&UpstreamId, u16, &Origin),
    facts: &Facts<'_>,
) -> Result<Location, Refused> {
    let mut slots = Slots::default();
    // What the administrator names for all of them is trusted.
    if origin.object.kind.asks_for_routes() && origin.object.namespace == upstream.namespace {
        limits::of_error_page(&upstream.namespace, facts, &mut slots)?;
    }
    slots.say(
        Slot::Rewrite,
        "rewrite",
        Words::join([Words::from(Literal::new("^")?), text("/")?, Word::fixed("break").into()]),
    );
    let secure = upstream.protocol == Protocol::Https;
    let pass = view::Pass {
        directive: Word::fixed(Family::Proxy.pass()),
        scheme: Word::fixed(if secure { "https://" } else { "http://" }),
        upstream: Word::own(&names::upstream(upstream))?,
    };
    let view = view::Location {
        statements: slots.statements(&Default::default(), None),
        pass: vec![pass],
        ..view::Location::new(Word::own(name)?, Words::nothing())
    };
    let reported = REPORTED.into_iter().map(|(name, variable)| Header::fixed(name, Word::fixed(variable)));
    Ok(Location::of_nginx(view, Some(reported.chain(of_every_page(status)).collect())))
}

fn of_every_page(status: u16) -> [Header; 3] {
    [
        Header::fixed("X-Code", Word::number(u64::from(status))),
        Header::fixed("X-Format", Word::fixed("$http_accept")),
        Header::fixed("X-Original-URI", Word::fixed("$request_uri")),
    ]
}

fn values(handler: &Handler, pages: &ErrorPages) -> Result<[Words; 4], Refused> {
    let object = &handler.origin.object;
    let value = |text: &str| Text::new(text).map(Words::from);
    Ok([value(&object.namespace)?, value(&object.name)?, value(&pages.service)?, value(&pages.port)?])
}

fn place(upstream: &UpstreamId, status: u16) -> String {
    format!("@ingressd_error_{status}_{}", names::upstream_hash(upstream))
}
