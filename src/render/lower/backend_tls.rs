//! What a location says about TLS to its backend; it must not know what else is in the location.

use crate::model::{BackendTls, Refused, UpstreamId};
use crate::nginx::Decisions;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::token::{Number, Path, Text, Word, Words};
use crate::render::view;

/// The files that it needs.
pub fn requires(tls: &BackendTls) -> impl Iterator<Item = FilePath> {
    let certificate = tls.has_certificate.then(|| names::client_file(&tls.secret));
    certificate.into_iter().chain(tls.verify_depth.map(|_| names::authority_file(&tls.secret)))
}

/// What is said. Sessions of TLS may be resumed: nginx keeps them by endpoint of an upstream, and upstreams of which anything of this
/// differs are others.
pub fn view(upstream: &UpstreamId, decisions: &Decisions) -> Result<Option<view::BackendTls>, Refused> {
    let Some(tls) = upstream.tls.as_deref() else { return Ok(None) };
    let file = |path: FilePath| Path::new(&decisions.current.join(&*path));
    let certificate = tls.has_certificate.then(|| file(names::client_file(&tls.secret))).transpose()?;
    let verified = |depth: u32| {
        let authority = file(names::authority_file(&tls.secret))?;
        Ok(view::Verified { authority, depth: Number(u64::from(depth)) })
    };
    let name = match &tls.name {
        Some(name) => Text::new(name.as_str())?,
        None => Text::new(&format!("{}.{}.svc", upstream.service, upstream.namespace))?,
    };
    let ciphers = tls.ciphers.as_ref().map(|ciphers| Text::new(ciphers.as_str())).transpose()?;
    Ok(Some(view::BackendTls {
        certificate: certificate.into_iter().collect(),
        verified: tls.verify_depth.map(verified).transpose()?.into_iter().collect(),
        name,
        tells_name: tls.tells_name,
        protocols: Words::join(tls.protocols.names().iter().map(|word| Word::fixed(word))),
        ciphers: ciphers.into_iter().collect(),
    }))
}
