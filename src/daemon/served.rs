//! What a model serves, object by object. It must not know how files of it are made and applied.

use std::sync::Arc;

use ingressd_apply::ServedObject;
use ingressd_model::{CertificateId, Model, ObjectId, Route, Server};
use ingressd_nginx::Plan;
use ingressd_translate::Accepted;

/// The record of an object.
pub fn served_object(accepted: &Accepted) -> ServedObject {
    ServedObject {
        id: Arc::clone(&accepted.id),
        version: Arc::clone(&accepted.version.0),
        hosts: accepted.hosts.clone(),
        routes: accepted.served,
    }
}

/// Adjusts the number of served routes: routes that the gate left out are not served, and an
/// object without any route is not served either. Whether a route has a backend that answers is
/// known of the whole model only.
pub fn count_served(accepted: &mut [Accepted], plan: &Plan) {
    let served = Server::routes_by_object(plan.model.servers.iter().map(Arc::as_ref));
    let unanswered = plan.model.unanswered_by_object(&plan.tables);
    for accepted in accepted {
        let count = served.get(&*accepted.id).copied().unwrap_or_default();
        accepted.served = count.open + accepted.parts;
        accepted.closed = accepted.closed.max(count.closed);
        let more = unanswered.get(&*accepted.id).copied().unwrap_or_default();
        accepted.unanswered = accepted.unanswered.saturating_add(more).min(accepted.served);
    }
}

/// Whether some route limits the connections of clients.
pub fn counts_connections(model: &Model) -> bool {
    let limits = |route: &Route| route.behaviour.limits.as_deref().is_some_and(|limits| limits.connections.is_some());
    model.servers.iter().flat_map(|server| server.all_routes()).any(limits)
}

/// Secrets with certificates, sorted.
pub fn certificates(model: &Model) -> Vec<(Arc<ObjectId>, i64)> {
    let of_secret = |id: &CertificateId| match id {
        CertificateId::Secret(secret) => Some(Arc::clone(secret)),
        CertificateId::SelfSigned => None,
    };
    let certificates = model.certificates.iter();
    let mut certificates: Vec<_> =
        certificates.filter_map(|certificate| Some((of_secret(&certificate.id)?, certificate.validity.ends))).collect();
    certificates.sort();
    certificates
}
