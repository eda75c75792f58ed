//! Certificates of clients: not served yet, and closed rather than left out; it must not know how they are verified.

use crate::translate::annotation::{Family, OnError, Scope, Trust, nothing_to_finish, unserved};

const BELONGS: &str = "it belongs to auth-tls-secret, which is not served yet";
const CLIENT_CERTIFICATES: &str = "client certificates are not served yet; use auth-type: basic or an address list";

pub static FAMILY: Family = Family {
    title: "Client certificates",
    rows: &[
        unserved("auth-tls-error-page", "https://example.com/sorry", "Where clients without a good certificate are sent. It has no effect without auth-tls-secret.", BELONGS).scope(Scope::Server).trust(Trust::High),
        unserved("auth-tls-match-cn", "CN=client", "Demands a certificate with this common name. Not served yet; because the routes would be open without it, they answer 503.", CLIENT_CERTIFICATES).scope(Scope::Server).trust(Trust::High).on_error(OnError::Close),
        unserved("auth-tls-pass-certificate-to-upstream", "true", "Tells the backend the certificate. It has no effect without auth-tls-secret.", BELONGS).unless("false").scope(Scope::Server),
        unserved("auth-tls-secret", "default/authority", "Demands a certificate that the authority in this Secret has signed. Not served yet; because the routes would be open without it, the routes of this object answer 503.", CLIENT_CERTIFICATES).scope(Scope::Server).trust(Trust::Medium).on_error(OnError::Close),
        unserved("auth-tls-verify-client", "on", "Whether a certificate is demanded. Not served yet: off asks for nothing, all else closes the routes.", CLIENT_CERTIFICATES).unless("off").scope(Scope::Server).trust(Trust::Medium).on_error(OnError::Close),
        unserved("auth-tls-verify-depth", "1", "How long a chain may be. It has no effect without auth-tls-secret.", BELONGS).scope(Scope::Server),
    ],
    finish: nothing_to_finish,
};
