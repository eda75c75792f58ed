//! TLS towards backends: its settings are not served yet; it must not know which backends there are.

use crate::translate::annotation::{Family, OnError, Scope, Trust, nothing_to_finish, unserved};

const TLS: &str = "TLS towards backends takes no settings yet; backend-protocol: HTTPS encrypts without verifying";

pub static FAMILY: Family = Family {
    title: "TLS towards backends",
    rows: &[
        unserved("proxy-ssl-ciphers", "DEFAULT", "Ciphers towards the backend. Not served yet.", TLS).scope(Scope::Upstream).trust(Trust::Medium),
        unserved("proxy-ssl-name", "backend.example.com", "The name that the certificate of the backend must have. Not served yet.", TLS).scope(Scope::Upstream).trust(Trust::High),
        unserved("proxy-ssl-protocols", "TLSv1.3", "TLS versions towards the backend. Not served yet.", TLS).scope(Scope::Upstream),
        unserved("proxy-ssl-secret", "default/client", "Certificate to show to the backend, and the authority that signed the backend's. Not served yet.", TLS).scope(Scope::Upstream).trust(Trust::Medium),
        unserved("proxy-ssl-server-name", "on", "Whether the name is sent to the backend (SNI). Not served yet.", TLS).unless("off").scope(Scope::Upstream),
        unserved("proxy-ssl-verify", "on", "Whether the certificate of the backend is verified. Not served yet; because a false backend could be asked without it, on closes the routes.", "verifying the certificates of backends is not served yet").unless("off").scope(Scope::Upstream).on_error(OnError::Close),
        unserved("proxy-ssl-verify-depth", "2", "How long the chain of the backend may be. Not served yet.", TLS).scope(Scope::Upstream),
    ],
    finish: nothing_to_finish,
};
