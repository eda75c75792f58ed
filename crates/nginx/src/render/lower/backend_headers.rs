//! Request headers that a route sets for its backend, in the place of the usual ones.

use std::sync::Arc;

use ingressd_model::{Handler, Refused, RewriteTarget, RouteVariable, TargetPart};

use super::groups;
use super::location::Scene;
use super::slots::{Header, Slots, text};

/// Writes the headers.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let behaviour = &scene.handler.behaviour;
    let (Some(headers), true) = (behaviour.backend_headers.as_deref(), scene.handler.action.upstream().is_some())
    else {
        return Ok(());
    };
    if let Some(host) = &headers.host {
        slots.request_header(Header::fixed("Host", groups::text(groups::HOST, &resolved(host, scene.handler)?)?));
    }
    if let Some(prefix) = headers.prefix.as_ref().filter(|_| behaviour.rewrite.is_some()) {
        slots.request_header(Header::fixed("X-Forwarded-Prefix", groups::text(groups::PREFIX, prefix)?));
    }
    if let Some(connection) = headers.connection {
        slots.request_header(Header::fixed("Connection", text(connection.name())?));
    }
    Ok(())
}

/// The value of a variable that is known from the route, without a request.
pub fn known(handler: &Handler, variable: RouteVariable) -> Option<Arc<str>> {
    let upstream = handler.action.upstream();
    match variable {
        RouteVariable::Namespace => Some(Arc::clone(&handler.origin.object.namespace)),
        RouteVariable::IngressName => Some(Arc::clone(&handler.origin.object.name)),
        RouteVariable::ServiceName => upstream.map(|upstream| Arc::clone(&upstream.service)),
        RouteVariable::ServicePort => upstream.map(|upstream| Arc::clone(&upstream.port)),
    }
}

/// The text with the parts replaced that are known from the route.
pub fn resolved(host: &RewriteTarget, handler: &Handler) -> Result<RewriteTarget, Refused> {
    let part = |part: &TargetPart| match part {
        TargetPart::Variable(variable) => RouteVariable::named(variable.as_str())
            .and_then(|variable| known(handler, variable))
            .map_or_else(|| part.clone(), TargetPart::Literal),
        part => part.clone(),
    };
    RewriteTarget::new(host.parts().iter().map(part).collect())
}
