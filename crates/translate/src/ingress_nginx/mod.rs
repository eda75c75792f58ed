//! The annotations of ingress-nginx, one file for each family.

mod access;
mod authentication;
mod authentication_keepalive;
mod backend_tls;
mod balancing;
mod buffering;
mod canary;
mod client_certificate;
mod config_map;
mod cors;
pub mod errors;
pub mod external_authentication;
mod fastcgi;
mod firewall;
mod headers;
mod https;
mod limits;
pub mod mirror;
mod misread;
mod observation;
pub mod password;
mod proxy;
mod redirect;
mod removed;
mod rewrite;
mod secret;
mod server;
pub mod services;
pub mod snippet;

use crate::annotation::{Index, Table};

/// The prefix of all keys of ingress-nginx.
pub const PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// The annotations that classes of both dialects read.
pub static TABLE: Table = Table {
    prefix: PREFIX,
    foreign: &["nginx.org/", "nginx.com/"],
    mistaken: misread::PREFIXES,
    invented: misread::INVENTED,
    introduction: &[
        "Classes of both dialects read the annotations of ingress-nginx on Ingresses. ingressd parses a value, and \
         never copies its text into the configuration. Blanks around a value are ignored, except in URLs, where they \
         are refused. An empty value is the same as no annotation. Where a key and its other spelling are both set, \
         the key is used.",
        "A value that cannot be used never affects other objects. The effect is described with each key: the key \
         alone is skipped, or, where it protects something, the routes of the object answer 503, or, where it changes \
         where requests go, this version of the object is not served. In each case there is a finding and an Event.",
        "A value above a ceiling of the administrator (the settings in the section `limits`) is reduced to the \
            ceiling, with a finding. So an object that was served before a ceiling was set stays served.",
        "For a known key that is not served there is a finding that says what to use instead, and for other keys with \
         the prefix a finding that names the nearest known key. Strict-Transport-Security has no annotation: it is a \
         setting.",
    ],
    families: &[
        &rewrite::FAMILY,
        &https::FAMILY,
        &redirect::FAMILY,
        &proxy::FAMILY,
        &fastcgi::FAMILY,
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
    ],
    index: Index::new(),
};
