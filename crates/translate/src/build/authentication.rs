//! Resolves the external authentication services of a server's routes to endpoints. A service that
//! cannot be resolved closes the route.

use std::collections::HashMap;
use std::sync::Arc;

use super::branches::Conditional;
use super::server::Servers;
use crate::admit::admitted::Admitted;
use crate::build::service::{self, Target};
use crate::claim::claimed::ClaimedHost;
use crate::resolve::reached::{self, UpstreamRole};
use crate::value::ServiceAddress;
use crate::{EndpointMode, Options, RequestedAuthentication};
use ingressd_model::finding::Reason;
use ingressd_model::{
    Action, Behaviour, ExternalAuthentication, ObjectId, PathMatch, Protocol, Route, Server, StandIn, Template,
    TemplatePart, UrlPath, expression,
};

/// The resolved behaviour by the address in memory of the requested one, which the routes of
/// several objects may share, and by the object: its namespace and its class decide which service
/// is asked.
type ResolvedBehaviours = HashMap<(usize, Arc<ObjectId>), Option<Arc<Behaviour>>>;

/// Adds the authentication services that objects or the administrator name to the routes of a
/// server.
pub fn apply<'a>(
    servers: &mut Servers<'a>,
    server: &mut Server,
    claimed: &ClaimedHost<'_, 'a>,
    conditional: &[Conditional],
) {
    let objects = claimed.objects.iter().filter(|object| object.policy.reading.authentication.is_some());
    let objects: HashMap<&ObjectId, &Admitted<'a>> = objects.map(|object| (&**object.id(), *object)).collect();
    if objects.is_empty() {
        return;
    }
    let mut asked = ResolvedBehaviours::new();
    let targets = same_host(server, conditional, &objects, claimed.home());
    for route in server.routes.iter_mut().chain([&mut server.fallback]) {
        let Some(object) = objects.get(&*route.origin.object) else { continue };
        let Some(requested) = &object.policy.reading.authentication else { continue };
        let mode = object.mode(servers.options);
        let target = targets.get(&*route.origin.object);
        protect(servers, route, requested, (mode, object.attached.class.dialect), target, &mut asked);
    }
}

/// Removes passwords from the paths that the administrator exempts.
pub fn exempt(server: &mut Server, options: &Options) {
    let asks = |route: &&mut Route| route.behaviour.basic_authentication.is_some() && is_exempt(&route.path, options);
    for route in server.routes.iter_mut().filter(asks) {
        Arc::make_mut(&mut route.behaviour).basic_authentication = None;
    }
}

/// As [`apply`], for a route that no object defines.
pub fn apply_to(servers: &mut Servers<'_>, route: &mut Route, requested: &Arc<RequestedAuthentication>) {
    let mode = servers.options.endpoints;
    let dialect = &crate::SPECIFICATION;
    protect(servers, route, requested, (mode, dialect), None, &mut ResolvedBehaviours::new());
}

fn protect(
    servers: &mut Servers<'_>,
    route: &mut Route,
    requested: &Arc<RequestedAuthentication>,
    (mode, dialect): (EndpointMode, &'static crate::Dialect),
    target: Option<&Target>,
    asked: &mut ResolvedBehaviours,
) {
    if route.action == Action::Closed || is_exempt(&route.path, servers.options) {
        return;
    }
    let place = (Arc::as_ptr(&route.behaviour).addr(), Arc::clone(&route.origin.object));
    let behaviour = asked.entry(place).or_insert_with(|| {
        let service = match &requested.service.address {
            ServiceAddress::SameHost => match target {
                Some(Ok(upstream)) => {
                    servers.lead(upstream, &requested.service.origin, UpstreamRole::AuthenticationOnHost);
                    Ok(upstream.clone())
                }
                Some(Err(fault)) => Err(fault.clone()),
                None => Err((
                    Reason::MissingService,
                    "no path of the host leads to a backend that could answer the \
                                                      request"
                        .into(),
                )),
            },
            _ => service::resolve(servers, &requested.service, UpstreamRole::Authentication, mode, dialect),
        };
        match service {
            Ok(service) => {
                let (origin, policy) = (requested.service.origin.clone(), Arc::clone(&requested.policy));
                let external = Some(Arc::new(ExternalAuthentication { origin, service, policy }));
                Some(Arc::new(Behaviour { external_authentication: external, ..(*route.behaviour).clone() }))
            }
            Err((reason, note)) => {
                servers.findings.push(reached::closing(reason, &requested.service.origin, &note));
                None
            }
        }
    });
    match behaviour {
        Some(behaviour) => route.behaviour = Arc::clone(behaviour),
        None => route.action = Action::Closed,
    }
}

/// The objects of a host that have a service asked.
type Protected<'m, 'a> = HashMap<&'m ObjectId, &'m Admitted<'a>>;

/// The upstreams of authentication requests to a path of the same host, by the object that asks.
/// `home` is the namespace that owns the host.
fn same_host<'m>(
    server: &Server,
    conditional: &[Conditional],
    objects: &Protected<'m, '_>,
    home: Option<&str>,
) -> HashMap<&'m ObjectId, Target> {
    let asked = |object: &Admitted<'_>| object.policy.reading.authentication.clone();
    let all = objects.iter().filter_map(|(id, object)| Some((*id, asked(object)?)));
    let all = all.filter(|(_, requested)| requested.service.address == ServiceAddress::SameHost);
    all.map(|(id, requested)| (id, target((server, conditional), (&id.namespace, &requested), objects, home))).collect()
}

/// The upstream of the route for the path of an authentication request of a namespace. The rest of
/// that route's behaviour is not applied; where that would be necessary, the request is refused.
///
/// A path of another namespace lets nobody in, and keeps nobody out where it takes the requests of
/// clients. Where the administrator has the service asked, it may be one of the host's owner.
fn target(
    (server, conditional): (&Server, &[Conditional]),
    (own, requested): (&str, &RequestedAuthentication),
    objects: &Protected<'_, '_>,
    home: Option<&str>,
) -> Target {
    let path = literal_path(&requested.policy.target).ok_or((
        Reason::InvalidSecurityValue,
        Arc::from(
            "where its host is $host, its path must not contain \
            variables",
        ),
    ))?;
    let takes = |route: &&Route| match &route.path {
        PathMatch::Exact { path: own, .. } => *own == path,
        PathMatch::Prefix { path: own, .. } => {
            let own = own.as_str().trim_end_matches('/');
            path.as_str().strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        PathMatch::Regex(pattern) => {
            expression::literal(path.as_str()).to_ascii_lowercase().starts_with(&pattern.as_str().to_ascii_lowercase())
        }
    };
    let asks_itself = |route: &Route| {
        let asked = objects.get(&*route.origin.object).and_then(|object| object.policy.reading.authentication.as_ref());
        asked.is_some_and(|other| other.service.address == ServiceAddress::SameHost)
    };
    let all = server.routes.iter().filter(takes);
    let of = |namespace: &str| all.clone().find(|route| *route.origin.object.namespace == *namespace);
    let by_owner = || home.filter(|_| requested.service.is_global).and_then(of);
    let found = of(own).filter(|route| !asks_itself(route)).or_else(by_owner).or_else(|| of(own));
    let Some(route) = found else {
        // The same with and without the paths of others.
        let whose = if requested.service.is_global { "this namespace or the host's owner" } else { "this namespace" };
        let note = format!("no path of {whose} takes {} on the host", path.as_str());
        return Err((Reason::MissingService, note.into()));
    };
    let nobody = || (Reason::MissingService, Arc::from(format!("{} leads to no backend", path.as_str())));
    // What stands in for a Service that does not exist says nothing about who may pass.
    let stands_in = route.errors.as_deref().is_some_and(|pages| pages.stand_in == StandIn::Always);
    match &route.action {
        // In ingress-nginx such a request would loop.
        _ if asks_itself(route) => Err((
            Reason::ClosedRoute,
            format!(
                "{} is a path of an object that needs this service itself; give the service an Ingress of its own in \
                    this namespace",
                path.as_str()
            )
            .into(),
        )),
        Action::Proxy { .. } if stands_in => Err(nobody()),
        Action::Proxy { upstream, split: None }
            if route.behaviour.rewrite.is_none()
                && matches!(upstream.protocol, Protocol::Http | Protocol::Https)
                && !conditional.iter().any(|one| one.is_of(route)) =>
        {
            Ok(upstream.clone())
        }
        Action::Proxy { .. } => Err((
            Reason::UnsupportedBackend,
            format!(
                "{} has a rewrite, a canary, conditions or a backend without HTTP; name its Service in auth-url instead",
                path.as_str()
            )
            .into(),
        )),
        _ => Err(nobody()),
    }
}

/// The path of a target without variables.
fn literal_path(target: &Template) -> Option<UrlPath> {
    let Some(TemplatePart::Text(first)) = target.parts().first() else { return None };
    let path = match first.split_once('?') {
        Some((path, _)) => path,
        None if target.parts().len() == 1 => first,
        None => return None,
    };
    UrlPath::new(path).ok()
}

/// Whether the administrator exempts a path from authentication.
fn is_exempt(path: &PathMatch, options: &Options) -> bool {
    let text = match path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.as_str().into(),
        PathMatch::Regex(pattern) => match plain(pattern.as_str()) {
            Some(text) => text,
            None => return false,
        },
    };
    options.no_authentication.iter().any(|open| {
        let rest = text.strip_prefix(open.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || open.as_str().ends_with('/'))
    })
}

/// The text of an expression that matches only this text, apart from dots.
fn plain(pattern: &str) -> Option<String> {
    let text = pattern.replace("\\.", ".").replace("\\-", "-");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._~-".contains(&byte);
    text.bytes().all(is_plain).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::Pattern;

    #[test]
    fn a_list_opens_whole_parts_of_paths_and_a_slash_at_its_end_only_what_is_below() {
        for (open, path, expected) in [
            ("/open", "/open", true),
            ("/open", "/open/", true),
            ("/open", "/open/a", true),
            ("/open", "/opener", false),
            ("/open", "/Open", false),
            ("/open", "/", false),
            ("/open/", "/open", false),
            ("/open/", "/open/", true),
            ("/open/", "/open/a", true),
            ("/", "/", true),
            ("/", "/anything", true),
        ] {
            let options = Options { no_authentication: vec![UrlPath::new(open).unwrap()], ..Options::default() };
            let literal = PathMatch::Exact { path: UrlPath::new(path).unwrap(), redirect_to_slash: false };
            assert_eq!(is_exempt(&literal, &options), expected, "{open} and {path}");
            let expression = PathMatch::Regex(Pattern::new(path).unwrap());
            assert_eq!(is_exempt(&expression, &options), expected, "{open} and the expression {path}");
            let wide = PathMatch::Regex(Pattern::new(&format!("{path}.*")).unwrap());
            assert!(!is_exempt(&wide, &options), "{open}: what an expression matches is unknown");
        }
    }
}
