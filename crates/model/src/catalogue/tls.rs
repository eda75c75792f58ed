//! Directives about TLS towards clients.

use super::context::HTTP_SERVER;
use super::{DirectiveRow, Form, Module, Version, rows};

const fn row(name: &'static str, form: Form) -> DirectiveRow {
    DirectiveRow::new(name, HTTP_SERVER, form).of(Module::Ssl)
}

/// Since this version the names of client certificates for backends may contain variables, which
/// until 1.25 is the only way to name none.
pub const CERTIFICATES_BY_VARIABLE: Version = Version(1, 21, 0);

rows! {
    SSL_VERIFY_CLIENT = row("ssl_verify_client", Form::Word).default("off").protection(None, "off");
    SSL_CRL = row("ssl_crl", Form::Path).reset_of_client_certificates("\"\"");
    SSL_OCSP = row("ssl_ocsp", Form::Word).since(Version(1, 19, 0)).default("off").reset_of_client_certificates("off");
    /// Whether the certificate is served with an answer about its revocation.
    pub SSL_STAPLING = row("ssl_stapling", Form::Switch).default("off");
    SSL_STAPLING_RESPONDER = row("ssl_stapling_responder", Form::Text);
    SSL_TRUSTED_CERTIFICATE = row("ssl_trusted_certificate", Form::Path).reset_of_client_certificates("\"\"");
    SSL = row("ssl", Form::Switch).default("off").reset();
    /// Whether requests may come with the first message of TLS 1.3 (early data), which an attacker
    /// can replay.
    pub SSL_EARLY_DATA = row("ssl_early_data", Form::Switch).default("off").reset().by_server();
    /// Whether the handshakes of clients without a known host are rejected.
    pub SSL_REJECT_HANDSHAKE =
        row("ssl_reject_handshake", Form::Switch).since(Version(1, 19, 4)).default("off").reset().by_server();
    /// The size of TLS records.
    pub SSL_BUFFER_SIZE = row("ssl_buffer_size", Form::Size).default("16k").by_server();
    /// The elliptic curves.
    pub SSL_ECDH_CURVE = row("ssl_ecdh_curve", Form::Text).default("auto").by_server();
    SSL_DHPARAM = row("ssl_dhparam", Form::Path);
    SSL_CERTIFICATE = row("ssl_certificate", Form::Path);
    SSL_CERTIFICATE_KEY = row("ssl_certificate_key", Form::Path);
    /// The ciphers up to TLS 1.2.
    pub SSL_CIPHERS = row("ssl_ciphers", Form::Text).default("HIGH:!aNULL:!MD5").by_server();
    SSL_CLIENT_CERTIFICATE = row("ssl_client_certificate", Form::Path);
    /// Whether the server's order of ciphers is preferred to the client's.
    pub SSL_PREFER_SERVER_CIPHERS = row("ssl_prefer_server_ciphers", Form::Switch).default("off").by_server();
    SSL_PROTOCOLS = row("ssl_protocols", Form::Words).default("TLSv1.2 TLSv1.3");
    SSL_SESSION_CACHE = row("ssl_session_cache", Form::Words).default("none");
    SSL_SESSION_TICKET_KEY = row("ssl_session_ticket_key", Form::Path);
    SSL_SESSION_TICKETS = row("ssl_session_tickets", Form::Switch).default("on");
    SSL_SESSION_TIMEOUT = row("ssl_session_timeout", Form::Time).default("5m");
    SSL_VERIFY_DEPTH = row("ssl_verify_depth", Form::Number).default("1");
}
