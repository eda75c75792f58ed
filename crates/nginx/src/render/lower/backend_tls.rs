//! The directives of a location about TLS to its backend.

use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::token::{Path, Word, Words};
use ingressd_model::{BackendTls, Protocol, Refused};

use super::location::Scene;
use super::slots::{Slot, Slots, text};

const ON: Word = Word::fixed("on");
const OFF: Word = Word::fixed("off");

/// The files that the directives name.
pub fn requires(tls: &BackendTls) -> impl Iterator<Item = FilePath> {
    let certificate = tls.has_certificate.then(|| names::client_file(&tls.secret));
    certificate.into_iter().chain(tls.verify_depth.map(|_| names::authority_file(&tls.secret)))
}

/// Writes the directives. TLS sessions may be resumed: nginx stores them per endpoint of an
/// upstream, and routes with different TLS settings use different upstreams.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(upstream) = scene.handler.action.upstream() else { return Ok(()) };
    let grpc = matches!(upstream.protocol, Protocol::Grpc | Protocol::Grpcs);
    let mut say = |of_http: &'static str, of_grpc: &'static str, arguments: Words| {
        slots.say(Slot::Backend, if grpc { of_grpc } else { of_http }, arguments);
    };
    let Some(tls) = upstream.tls.as_deref() else {
        if matches!(upstream.protocol, Protocol::Https | Protocol::AutoHttp) {
            say("proxy_ssl_server_name", "grpc_ssl_server_name", OFF.into());
            say("proxy_ssl_verify", "grpc_ssl_verify", OFF.into());
        }
        return Ok(());
    };
    let file = |path: FilePath| Path::new(&scene.facts.decisions.current.join(&*path));
    if tls.has_certificate {
        let certificate = file(names::client_file(&tls.secret))?;
        say("proxy_ssl_certificate", "grpc_ssl_certificate", certificate.clone().into());
        say("proxy_ssl_certificate_key", "grpc_ssl_certificate_key", certificate.into());
    }
    if let Some(depth) = tls.verify_depth {
        let authority = file(names::authority_file(&tls.secret))?;
        say("proxy_ssl_trusted_certificate", "grpc_ssl_trusted_certificate", authority.into());
        say("proxy_ssl_verify", "grpc_ssl_verify", ON.into());
        say("proxy_ssl_verify_depth", "grpc_ssl_verify_depth", Word::number(u64::from(depth)).into());
    }
    let name = match &tls.name {
        Some(name) => text(name.as_str())?,
        None => text(&format!("{}.{}.svc", upstream.service, upstream.namespace))?,
    };
    say("proxy_ssl_name", "grpc_ssl_name", name);
    say("proxy_ssl_server_name", "grpc_ssl_server_name", if tls.sends_name { ON } else { OFF }.into());
    let protocols = Words::join(tls.protocols.names().iter().map(|word| Word::fixed(word)));
    say("proxy_ssl_protocols", "grpc_ssl_protocols", protocols);
    if let Some(ciphers) = &tls.ciphers {
        say("proxy_ssl_ciphers", "grpc_ssl_ciphers", text(ciphers.as_str())?);
    }
    Ok(())
}
