//! The annotations of ingress-nginx, one file for each family; they must not know paths, hosts or backends.

mod access;
mod authentication;
mod backend_tls;
mod balancing;
mod buffering;
mod canary;
mod client_certificate;
mod cors;
mod errors;
mod external_authentication;
mod firewall;
mod headers;
mod https;
mod limits;
mod mirror;
mod observation;
mod password;
mod proxy;
mod redirect;
mod removed;
mod rewrite;
mod server;
mod snippet;

use super::annotation::Family;

/// Every family, in the order in which people look for them.
pub static FAMILIES: &[&Family] = &[
    &rewrite::FAMILY,
    &https::FAMILY,
    &redirect::FAMILY,
    &proxy::FAMILY,
    &buffering::FAMILY,
    &access::FAMILY,
    &authentication::FAMILY,
    &limits::FAMILY,
    &cors::FAMILY,
    &external_authentication::FAMILY,
    &client_certificate::FAMILY,
    &backend_tls::FAMILY,
    &balancing::FAMILY,
    &canary::FAMILY,
    &headers::FAMILY,
    &errors::FAMILY,
    &server::FAMILY,
    &mirror::FAMILY,
    &observation::FAMILY,
    &firewall::FAMILY,
    &snippet::FAMILY,
    &removed::FAMILY,
];
