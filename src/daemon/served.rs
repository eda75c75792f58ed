//! What a model serves. It must not know how files of it are made and applied.

use std::sync::Arc;

use ingressd_model::{CertificateId, ObjectId, Tables};

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
