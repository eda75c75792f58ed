//! The directives of a server about client certificates, and the variables that say which clients
//! are refused.

use std::collections::BTreeMap;

use crate::model::expression::LIMITS;
use crate::model::{ClientCertificates, Demand, PathMatch, Refused};
use crate::nginx::Plan;
use crate::render::content::Part;
use crate::render::engine::Engine;
use crate::render::file_set::{File, FilePath, Owners};
use crate::render::names;
use crate::render::token::{Literal, Number, Path, Text, Word};
use crate::render::view;

use super::location::Scene;
use super::server::Facts;
use super::slots::{Header, Slot, Slots};

/// The path of ACME HTTP-01 challenges, which are requested by plain HTTP: a route with such a
/// path is not protected.
const CHALLENGES: &str = "/.well-known/acme-challenge/";

/// Whether the directives include this one.
pub fn says(certificates: &ClientCertificates, name: &str) -> bool {
    match name {
        "ssl_verify_client" => true,
        "ssl_crl" => certificates.authority.revoked.is_some(),
        "error_page" => certificates.error_page.is_some(),
        _ => false,
    }
}

/// One file for each common name condition.
pub fn strangers(plan: &Plan, engine: &Engine) -> BTreeMap<FilePath, File> {
    let mut files = BTreeMap::new();
    for certificates in plan.model.servers.iter().filter_map(|server| server.client_certificates.as_deref()) {
        if certificates.chooses() {
            let name = names::stranger(certificates);
            files.entry(names::stranger_file(&name)).or_insert_with(|| {
                let view = map(certificates, &name);
                let text = view.ok().and_then(|view| engine.fill("stranger", &view).ok()).map(Part::Filled);
                File::plain(text, Owners(vec![(1, certificates.origin.clone())]), [])
            });
        }
    }
    files
}

/// Without TLS no certificate is verified, and the subject of an unverified certificate can be
/// anything.
fn map(certificates: &ClientCertificates, name: &str) -> Result<view::Stranger, Refused> {
    let pattern = match &certificates.common_name {
        // An attribute of a subject begins after an unescaped comma or plus sign (RFC 2253).
        Some(name) => format!("~{LIMITS}^SUCCESS:(?:|.*(?<!\\\\)[,+])CN=(?:{name})"),
        None => "~^SUCCESS:".to_owned(),
    };
    Ok(view::Stranger { variable: Word::variable(name)?, pattern: Literal::new(&pattern)? })
}

/// The files that the directives name.
pub fn requires(certificates: &ClientCertificates) -> impl Iterator<Item = FilePath> {
    let id = &certificates.authority.id;
    let revoked = certificates.authority.revoked.as_ref().map(|_| names::revoked_file(id));
    let stranger = certificates.chooses().then(|| names::stranger_file(&names::stranger(certificates)));
    [names::authority_file(id)].into_iter().chain(revoked).chain(stranger)
}

/// The directives of the server.
pub fn view(certificates: &ClientCertificates, facts: &Facts<'_>) -> Result<view::ClientCertificates, Refused> {
    let file = |path: FilePath| Path::new(&facts.decisions.current.join(&*path));
    let authority = &certificates.authority;
    let revoked = authority.revoked.as_ref().map(|_| file(names::revoked_file(&authority.id))).transpose()?;
    let error_page = certificates.error_page.as_ref().map(|page| Text::new(page.as_str())).transpose()?;
    Ok(view::ClientCertificates {
        authority: file(names::authority_file(&authority.id))?,
        revoked: revoked.into_iter().collect(),
        verify: Word::fixed(match certificates.demand {
            Demand::Required => "on",
            Demand::Optional => "optional",
            Demand::Unverified => "optional_no_ca",
        }),
        depth: Number(u64::from(certificates.depth)),
        error_page: error_page.into_iter().collect(),
        trusts_proxies: facts.forwarded.trusts_proxies(),
    })
}

/// Writes into a location which clients are refused, where the host has a common name condition.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(certificates) = scene.surroundings.client_certificates else { return Ok(()) };
    let misdirected = Word::fixed("$ingressd\u{2}_misdirected");
    slots.say_if(Slot::ClientCertificates, misdirected, "return", Word::fixed("421"));
    let is_challenge = match &scene.route.path {
        PathMatch::Exact { path, .. } | PathMatch::Prefix { path, .. } => path.as_str().starts_with(CHALLENGES),
        PathMatch::Regex(_) => false,
    };
    if certificates.chooses() && !is_challenge {
        let stranger = Word::variable(&names::stranger(certificates))?;
        slots.say_if(Slot::ClientCertificates, stranger, "return", Word::fixed("403"));
    }
    Ok(())
}

/// Request headers that tell backends about the certificate.
pub fn request_headers(certificates: &ClientCertificates) -> Vec<Header> {
    let certificate = Header::fixed("ssl-client-cert", Word::fixed("$ssl_client_escaped_cert"));
    [
        Header::fixed("ssl-client-verify", Word::fixed("$ssl_client_verify")),
        Header::fixed("ssl-client-subject-dn", Word::fixed("$ssl_client_s_dn")),
        Header::fixed("ssl-client-issuer-dn", Word::fixed("$ssl_client_i_dn")),
    ]
    .into_iter()
    .chain(certificates.is_told.then_some(certificate))
    .collect()
}
