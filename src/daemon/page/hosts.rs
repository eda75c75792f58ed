//! Hosts with their routes, backends and endpoints: a page of them at a time, so that the cost
//! follows what is shown.

use std::sync::Arc;

use maud::{Markup, html};

use super::{Asked, table, text};
use crate::daemon::explain::InForce;
use crate::daemon::status::Status;
use ingressd_model::finding::count;
use ingressd_model::{CertificateId, Field, PathMatch, Route, Server, Standing, TlsTermination};
use ingressd_translate::written_host;

/// How many hosts are shown at a time.
const PER_PAGE: usize = 50;

/// How many routes of a host are shown, and how many where it is the only one.
const MOST_ROUTES: usize = 20;
const MOST_ROUTES_ALONE: usize = 1000;

/// How many endpoints of a route are named.
const MOST_ENDPOINTS: usize = 6;

/// How many Ingresses that are not served, or not as written, are shown.
const MOST_INGRESSES: usize = 100;

pub fn section(asked: &Asked, status: &Status) -> Markup {
    html! {
        section #hosts aria-labelledby="hosts-title" {
            h2 #hosts-title { "Hosts" }
            @match status.in_force.as_deref() {
                None => { p { "Nothing is in force yet, or only what an earlier run has left." } }
                Some(in_force) => { (served(asked, in_force)) }
            }
            (otherwise(asked, status))
        }
    }
}

fn served(asked: &Asked, in_force: &InForce) -> Markup {
    let found: Vec<_> = in_force.servers().iter().filter(|server| is_wanted(asked, server)).collect();
    let pages = found.len().div_ceil(PER_PAGE);
    let page = asked.page(pages);
    let shown = found.iter().skip((page - 1) * PER_PAGE).take(PER_PAGE);
    let most = if found.len() == 1 { MOST_ROUTES_ALONE } else { MOST_ROUTES };
    let rows: Vec<_> = shown.flat_map(|server| rows(in_force, server, most)).collect();
    html! {
        p {
            (count(found.len(), "host", "hosts"))
            @if !asked.wants_all() { " of " (in_force.servers().len()) " with " q { (text(asked.search())) } }
        }
        @if !rows.is_empty() { (table(&["Host", "Path", "Ingress", "A request", "Endpoints"], &rows)) }
        @if pages > 1 {
            nav.pages aria-label="Pages of hosts" {
                @if page > 1 { a rel="prev" href=(asked.to_page(page - 1)) { "Before" } " " }
                "Page " (page) " of " (pages)
                @if page < pages { " " a rel="next" href=(asked.to_page(page + 1)) { "Next" } }
            }
        }
    }
}

/// The routes of a server, and the route for all other requests where an object asks for one or
/// there is no other.
fn routes(server: &Server) -> impl Iterator<Item = &Route> {
    let is_shown = |route: &&Route| route.origin.field == Field::DefaultBackend || server.routes.is_empty();
    server.routes.iter().chain([&server.fallback].into_iter().filter(is_shown))
}

fn is_wanted(asked: &Asked, server: &Server) -> bool {
    if asked.wants_all() {
        return true;
    }
    let host = written_host(&server.name);
    let is_wanted = |route: &Route| {
        let object = &route.origin.object;
        let service = route.action.upstream().map_or("", |upstream| &upstream.service);
        let name = format!("{}/{}", object.namespace, object.name);
        asked.wants(&[&host, &name, service, path_of(route).1])
    };
    routes(server).any(is_wanted)
}

/// How the path of a route is compared, and its text.
fn path_of(route: &Route) -> (&'static str, &str) {
    match &route.path {
        PathMatch::Exact { path, .. } => ("exactly", path.as_str()),
        PathMatch::Prefix { path, .. } => ("", path.as_str()),
        PathMatch::Regex(pattern) => ("expression", pattern.as_str()),
    }
}

fn rows(in_force: &InForce, server: &Arc<Server>, most: usize) -> Vec<Vec<Markup>> {
    let total = routes(server).count();
    let shown = routes(server).take(most).enumerate();
    let mut rows: Vec<_> = shown
        .map(|(number, route)| {
            let (compared, path) = path_of(route);
            let is_fallback = std::ptr::eq(route, &server.fallback);
            let is_of_object = !is_fallback || route.origin.field == Field::DefaultBackend;
            vec![
                html! { @if number == 0 { (host(server)) } },
                html! {
                    @if is_fallback { span.faint { "all else" } } @else {
                        code { (text(path)) } @if !compared.is_empty() { " " span.faint { (compared) } }
                    }
                },
                html! { @if is_of_object { (text(&route.origin.object.to_string())) } },
                html! { (text(&in_force.does(route))) },
                endpoints(in_force, route),
            ]
        })
        .collect();
    if total > most {
        let more = html! { span.faint { (count(total - most, "more route", "more routes")) ": search for the host" } };
        rows.push(vec![html! {}, more, html! {}, html! {}, html! {}]);
    }
    rows
}

fn host(server: &Server) -> Markup {
    let tls = match &server.tls {
        TlsTermination::Own(CertificateId::Secret(secret)) => format!("TLS by {secret}"),
        TlsTermination::Own(CertificateId::SelfSigned) => "TLS by a certificate of its own".to_owned(),
        TlsTermination::DefaultDeclared => "TLS by the default certificate".to_owned(),
        TlsTermination::Default => String::new(),
    };
    html! {
        strong { (text(&written_host(&server.name))) }
        @if !tls.is_empty() { br; span.faint { (text(&tls)) } }
    }
}

fn endpoints(in_force: &InForce, route: &Route) -> Markup {
    let endpoints = route.action.upstream().and_then(|id| in_force.endpoints(id)).unwrap_or_default();
    html! {
        @for endpoint in endpoints.iter().take(MOST_ENDPOINTS) { code { (endpoint.address) } " " }
        @if endpoints.len() > MOST_ENDPOINTS { span.faint { "and " (endpoints.len() - MOST_ENDPOINTS) " more" } }
        @else if endpoints.is_empty() && route.action.upstream().is_some() { span.error { "none" } }
    }
}

/// Ingresses that are not served as their newest version says.
fn otherwise(asked: &Asked, status: &Status) -> Markup {
    let in_force = status.in_force().map(|(state, version)| {
        (state, status.standing(state), version.hosts.iter().map(|host| &**host).collect::<Vec<_>>())
    });
    let without = status.not_served();
    let without = without.map(|state| (state, state.standing(), state.asked_hosts().collect()));
    let found = in_force.chain(without).filter(|(_, standing, _)| *standing != Standing::Served);
    let found: Vec<_> = found
        .filter(|(state, standing, hosts)| {
            let name = state.id.to_string();
            asked.wants(&[&[&name, standing.name()], hosts.as_slice()].concat())
        })
        .collect();
    let rows: Vec<_> = found
        .iter()
        .take(MOST_INGRESSES)
        .map(|(state, standing, hosts)| {
            let reason = state.reason().map(|reason| format!(" ({reason})"));
            vec![
                html! { (text(&state.id.to_string())) },
                html! { strong { (standing.name()) } " " (meaning(*standing)) @if let Some(reason) = reason { (reason) } },
                html! { @for host in hosts.iter().take(MOST_ROUTES) { (text(host)) " " } },
            ]
        })
        .collect();
    html! { @if !rows.is_empty() {
        h3 { "Not served as written" }
        (table(&["Ingress", "State", "Hosts"], &rows))
        @if found.len() > MOST_INGRESSES { p.faint { "and " (found.len() - MOST_INGRESSES) " more" } }
    } }
}

fn meaning(standing: Standing) -> &'static str {
    match standing {
        Standing::Served => "it is served",
        Standing::Partly => "some of its routes answer 503",
        Standing::Closed => "all its routes answer 503",
        Standing::LastGood => "an earlier version is served",
        Standing::Refused => "nothing of it is served",
        Standing::Waiting => "its newest version is not in force yet",
        Standing::NotOurs => "it is another controller's",
    }
}
