//! What a model serves. It must not know how files of it are made and applied.

use std::sync::Arc;

use ingressd_model::{CertificateId, Handler, Model, ObjectId, Tables};

/// Whether some route limits the connections of clients.
pub fn counts_connections(model: &Model) -> bool {
    let limits =
        |handler: &Handler| handler.behaviour.limits.as_deref().is_some_and(|limits| limits.connections.is_some());
    model.servers.iter().flat_map(|server| server.handlers()).any(limits)
}

/// Secrets with certificates, sorted.
pub fn certificates(tables: &Tables) -> Vec<(Arc<ObjectId>, i64)> {
    let of_secret = |id: &CertificateId| match id {
        CertificateId::Secret(secret) => Some(Arc::clone(secret)),
        CertificateId::SelfSigned => None,
    };
    let certificates = tables.certificates.iter();
    let mut certificates: Vec<_> =
        certificates.filter_map(|(id, certificate)| Some((of_secret(id)?, certificate.validity.ends))).collect();
    certificates.sort();
    certificates
}
