//! The annotations of ingress-nginx, one file for each family. They must not know paths, hosts or
//! backends.

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
mod errors;
pub mod external_authentication;
mod fastcgi;
mod firewall;
mod headers;
mod https;
mod limits;
pub mod mirror;
mod observation;
mod password;
mod proxy;
mod redirect;
mod removed;
mod rewrite;
mod secret;
mod server;
pub mod services;
pub mod snippet;

use super::annotation::{Index, Table};

/// The prefix of all keys of ingress-nginx.
pub const PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// The annotations that classes of both dialects read.
pub static TABLE: Table = Table {
    prefix: PREFIX,
    foreign: &["nginx.org/", "nginx.com/"],
    introduction: &[
        "Classes of both dialects read the annotations of ingress-nginx on Ingresses. A value is parsed into what it \
     means; text is never copied into the configuration. Blanks around a value do not count, except in URLs, where \
     they are refused. An empty value is the same as no annotation. Where a key and its other spelling are both \
     set, the key wins.",
        "A value that cannot be used never disturbs other objects. What follows from it is said with each key: the key \
     alone is skipped, or, where it protects something, the routes of the object answer 503, or, where it changes \
     where requests go, this version of the object is not used. Each case is a finding and an Event.",
        "What asks for more than a ceiling of the administrator (the settings in section `limits`) gets the ceiling, with a \
     finding: a time or a size that is too large is still wanted as large as may be, and an object that was served before \
     a ceiling was set goes on being served.",
        "Keys that are known but not served yet are a finding that says what to use instead. Other keys with the prefix \
     are a finding that names the nearest known key. Strict-Transport-Security has no annotation: it is a setting.",
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
