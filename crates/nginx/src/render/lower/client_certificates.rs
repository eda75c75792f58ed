//! The directives of a server about client certificates, and the variables that say which clients
//! are refused.

use crate::Plan;
use crate::render::family::Family;
use crate::render::file_set::FilePath;
use crate::render::names;
use crate::render::token::{Literal, Path, Text, Word, Words};
use crate::render::view::{Block, Statement, Tables};
use ingressd_model::expression::LIMITS;
use ingressd_model::{ClientCertificates, Demand, PathMatch, Refused};

use super::head::{Head, HeadSlots};
use super::location::Scene;
use super::slots::{Header, Slot, Slots};
use super::tables::Files;

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
pub fn tables(plan: &Plan, files: &mut Files<'_>) {
    let asked = plan.model.servers.iter().filter_map(|server| server.client_certificates.as_deref());
    for certificates in asked.filter(|certificates| certificates.chooses()) {
        let name = names::stranger(certificates);
        files.add(names::variable_file(&name), Some(&certificates.origin), [], |tables| {
            map(certificates, &name, tables)
        });
    }
}

/// Without TLS no certificate is verified, and the subject of an unverified certificate can be
/// anything.
fn map(certificates: &ClientCertificates, name: &str, tables: &mut Tables) -> Result<(), Refused> {
    let pattern = match &certificates.common_name {
        // An attribute of a subject begins after an unescaped comma or plus sign (RFC 2253).
        Some(name) => format!("~{LIMITS}^SUCCESS:(?:|.*(?<!\\\\)[,+])CN=(?:{name})"),
        None => "~^SUCCESS:".to_owned(),
    };
    let map = Block::map("$ssl_client_verify:$ssl_client_s_dn", Word::variable(name)?);
    tables.block(map.row("default", "1").row(Literal::new(&pattern)?, r#""""#));
    Ok(())
}

/// The files that the directives name.
pub fn requires(certificates: &ClientCertificates) -> impl Iterator<Item = FilePath> {
    let id = &certificates.authority.id;
    let revoked = certificates.authority.revoked.as_ref().map(|_| names::revoked_file(id));
    let stranger = certificates.chooses().then(|| names::variable_file(&names::stranger(certificates)));
    [names::authority_file(id)].into_iter().chain(revoked).chain(stranger)
}

/// Request headers about certificates, which only this nginx may set.
const REPORTED: [&str; 4] = [
    "$ingressd_trusted_ssl_client_cert",
    "$ingressd_trusted_ssl_client_issuer_dn",
    "$ingressd_trusted_ssl_client_subject_dn",
    "$ingressd_trusted_ssl_client_verify",
];

/// Writes the directives of a server.
pub fn of_server(head: &Head<'_>, slots: &mut HeadSlots) -> Result<(), Refused> {
    let Some(certificates) = head.server.client_certificates.as_deref() else { return Ok(()) };
    let file = |path: FilePath| Path::new(&head.facts.decisions.current.join(&*path));
    let mut say = |name, arguments: Words| slots.say(Statement::plain(name, arguments), &certificates.origin);
    let authority = &certificates.authority;
    say("ssl_client_certificate", file(names::authority_file(&authority.id))?.into());
    if authority.revoked.is_some() {
        say("ssl_crl", file(names::revoked_file(&authority.id))?.into());
    }
    let verify = match certificates.demand {
        Demand::Required => "on",
        Demand::Optional => "optional",
        Demand::Unverified => "optional_no_ca",
    };
    say("ssl_verify_client", verify.into());
    say("ssl_verify_depth", Word::number(u64::from(certificates.depth)).into());
    if let Some(page) = &certificates.error_page {
        say("error_page", Words::join(["495 496 =".into(), Words::from(Text::new(page.as_str())?)]));
    }
    if head.facts.forwarded.trusts_proxies() {
        REPORTED.into_iter().for_each(|variable| say("set", Words::join([Words::from(variable), r#""""#.into()])));
    }
    for Header { name, value, .. } in request_headers(certificates) {
        say(Family::Proxy.set_header(), Words::join([name.into(), value]));
    }
    Ok(())
}

/// Writes into a location which clients are refused, where the host has a common name condition.
pub fn lower(scene: &Scene<'_>, slots: &mut Slots) -> Result<(), Refused> {
    let Some(certificates) = scene.surroundings.client_certificates else { return Ok(()) };
    let misdirected = Word::fixed("$ingressd\u{2}_misdirected");
    slots.say_if(Slot::ClientCertificates, misdirected, "return", Word::fixed("421"));
    let is_challenge = match &scene.place.route.path {
        // Several paths may lead to it.
        _ if scene.place.number.is_some() => false,
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
    .chain(certificates.is_reported.then_some(certificate))
    .collect()
}
