//! Reads Secrets that annotations name, and their CA certificates; any mistake closes the routes.

use std::sync::Arc;

use crate::annotation::{Context, Draft, Entry, Form, SecretReference};
use crate::secret::authority;
use crate::value::{SECRET_REFERENCE, secret_reference};
use ingressd_model::finding::Reason;
use ingressd_model::{Authority, Origin, Refused};
use ingressd_objects::{Secret, Stored};

/// The form of [`reference()`].
pub const REFERENCE: Form =
    Form::Partly(&Form::Text(&SECRET_REFERENCE), "whether the Secret is there, may be named and holds what is needed");

/// Parses a reference to a Secret.
pub fn reference(entry: &Entry<'_>) -> Result<SecretReference, Refused> {
    let (namespace, name) = secret_reference(entry.value)?;
    let (namespace, name) = (namespace.map(str::to_owned), name.to_owned());
    Ok(SecretReference { namespace, name, origin: entry.origin() })
}

/// The Secret; `None` after the routes were closed with a finding.
pub fn find<'a>(draft: &mut Draft, context: &Context<'a>, wanted: &SecretReference) -> Option<&'a Stored<Secret>> {
    let namespace = wanted.namespace.as_deref().unwrap_or(context.namespace());
    if namespace != context.namespace() && !context.options.cross_namespace {
        let note = "the Secret is in another namespace, which the administrator does not allow (`cross-namespace`); the routes answer 503";
        draft.close(Reason::CrossNamespace, wanted.origin.clone(), note);
        return None;
    }
    let secret = context.snapshot.secret(namespace, &wanted.name);
    if secret.is_none() {
        let note = format!("Secret {namespace}/{} does not exist; the routes answer 503 until it does", wanted.name);
        draft.close(Reason::MissingSecret, wanted.origin.clone(), note);
    }
    secret
}

/// Whether the routes are closed when the Secret has no CA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// They are closed.
    Required,
    /// They are not closed.
    Optional,
}

/// The CA in a Secret, if it has one; `None` also after the routes were closed with a finding.
pub fn authority(
    draft: &mut Draft,
    secret: &Stored<Secret>,
    origin: &Origin,
    presence: Presence,
) -> Option<Option<Arc<Authority>>> {
    let fault = match authority::of_secret(secret) {
        Ok(None) if presence == Presence::Required => {
            "it has no key ca.crt; use a Secret of the type Opaque, with the certificates of the authorities as ca.crt"
        }
        Ok(None) => return Some(None),
        Ok(Some((authority, doubts))) => {
            let (namespace, name) = (&secret.id.namespace, &secret.id.name);
            let notes = doubts.into_iter().map(|doubt| format!("Secret {namespace}/{name}: {doubt}"));
            notes.for_each(|note| draft.find(Reason::DoubtfulCertificate, origin.clone(), note));
            return Some(Some(Arc::new(authority)));
        }
        Err(fault) => fault,
    };
    unusable(draft, secret, origin, fault);
    None
}

/// Adds a finding why a Secret cannot be used, and closes the routes.
pub fn unusable(draft: &mut Draft, secret: &Stored<Secret>, origin: &Origin, fault: &str) {
    let note = format!(
        "Secret {}/{}: {fault}; the routes answer 503 until that is corrected",
        secret.id.namespace, secret.id.name
    );
    draft.close(Reason::InvalidSecret, origin.clone(), note);
}
