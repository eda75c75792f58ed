//! What each variable of nginx may hold, which decides in which texts it may stand. It must not
//! know these texts.

/// The characters that a variable may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariableClass {
    /// nginx makes it, or admits only characters that mean nothing anywhere.
    Fixed,
    /// As a client or a backend has sent it: it may hold quotes and escape sequences, but ends no
    /// line.
    Raw,
    /// nginx has decoded it, or looks at no character of it: it may hold ends of lines.
    Decoded,
}

use VariableClass::{Decoded, Fixed, Raw};

impl VariableClass {
    /// The class of a variable; `None` for one that no text may hold.
    pub fn of(name: &str) -> Option<Self> {
        let is_in = |start: &str| name.strip_prefix(start).is_some_and(|rest| !rest.is_empty());
        let known = VARIABLES.binary_search_by_key(&name, |(known, _)| known);
        let family = || FAMILIES.iter().find(|(start, _)| is_in(start)).map(|(_, class)| *class);
        known.ok().map(|index| VARIABLES[index].1).or_else(family)
    }

    /// Whether a variable holds what only the partner of a client may learn.
    pub fn is_secret(name: &str) -> bool {
        SECRETS.contains(&name)
    }

    /// The names of all variables that texts may hold and that are no secret, and of families as
    /// `http_NAME`.
    pub fn reported() -> impl Iterator<Item = String> {
        let names = VARIABLES.iter().map(|(name, _)| *name).filter(|name| !Self::is_secret(name));
        names.map(str::to_owned).chain(FAMILIES.iter().map(|(start, _)| format!("{start}NAME")))
    }
}

/// Variables with passwords, tokens and what else is between a client and one of its partners;
/// sorted.
const SECRETS: [&str; 7] = [
    "http_authorization",
    "http_cookie",
    "http_proxy_authorization",
    "request_body",
    "sent_http_set_cookie",
    "ssl_session_id",
    "upstream_http_set_cookie",
];

/// All variables, sorted.
const VARIABLES: &[(&str, VariableClass)] = &[
    ("args", Raw),
    // Four or sixteen bytes.
    ("binary_remote_addr", Decoded),
    ("body_bytes_sent", Fixed),
    ("bytes_sent", Fixed),
    ("connection", Fixed),
    ("connection_requests", Fixed),
    ("connection_time", Fixed),
    ("content_length", Raw),
    ("content_type", Raw),
    ("document_root", Fixed),
    ("document_uri", Decoded),
    ("fastcgi_path_info", Decoded),
    ("fastcgi_script_name", Decoded),
    ("gzip_ratio", Fixed),
    // nginx before 1.21.1 admits escape sequences.
    ("host", Raw),
    ("hostname", Fixed),
    ("http2", Fixed),
    ("https", Fixed),
    ("is_args", Fixed),
    ("limit_conn_status", Fixed),
    ("limit_rate", Fixed),
    ("limit_req_status", Fixed),
    ("msec", Fixed),
    ("nginx_version", Fixed),
    ("pid", Fixed),
    ("pipe", Fixed),
    ("proxy_add_x_forwarded_for", Raw),
    ("proxy_host", Fixed),
    ("proxy_port", Fixed),
    ("proxy_protocol_addr", Fixed),
    ("proxy_protocol_port", Fixed),
    ("proxy_protocol_server_addr", Fixed),
    ("proxy_protocol_server_port", Fixed),
    ("query_string", Raw),
    ("realip_remote_addr", Fixed),
    ("realip_remote_port", Fixed),
    ("remote_addr", Fixed),
    ("remote_port", Fixed),
    // What a client sends in base64.
    ("remote_user", Decoded),
    ("request", Raw),
    ("request_body", Decoded),
    ("request_body_file", Fixed),
    ("request_completion", Fixed),
    ("request_filename", Decoded),
    ("request_id", Fixed),
    ("request_length", Fixed),
    ("request_method", Fixed),
    ("request_time", Fixed),
    ("request_uri", Raw),
    ("scheme", Fixed),
    ("server_addr", Fixed),
    ("server_name", Fixed),
    ("server_port", Fixed),
    ("server_protocol", Fixed),
    ("ssl_alpn_protocol", Fixed),
    ("ssl_cipher", Fixed),
    ("ssl_ciphers", Fixed),
    ("ssl_client_escaped_cert", Fixed),
    ("ssl_client_fingerprint", Fixed),
    // OpenSSL escapes control characters in the names of certificates.
    ("ssl_client_i_dn", Raw),
    ("ssl_client_s_dn", Raw),
    ("ssl_client_serial", Fixed),
    ("ssl_client_v_end", Fixed),
    ("ssl_client_v_remain", Fixed),
    ("ssl_client_v_start", Fixed),
    ("ssl_client_verify", Fixed),
    ("ssl_curve", Fixed),
    ("ssl_curves", Fixed),
    ("ssl_early_data", Fixed),
    ("ssl_protocol", Fixed),
    // The name that a client sends in its handshake, whatever it is.
    ("ssl_server_name", Decoded),
    ("ssl_session_id", Fixed),
    ("ssl_session_reused", Fixed),
    ("status", Fixed),
    ("time_iso8601", Fixed),
    ("time_local", Fixed),
    ("upstream_addr", Fixed),
    ("upstream_bytes_received", Fixed),
    ("upstream_bytes_sent", Fixed),
    ("upstream_cache_status", Fixed),
    ("upstream_connect_time", Fixed),
    ("upstream_header_time", Fixed),
    ("upstream_response_length", Fixed),
    ("upstream_response_time", Fixed),
    ("upstream_status", Fixed),
    ("uri", Decoded),
];

/// Families of variables, by their prefixes.
const FAMILIES: [(&str, VariableClass); 9] = [
    ("arg_", Raw),
    ("cookie_", Raw),
    ("http_", Raw),
    ("sent_http_", Raw),
    ("sent_trailer_", Raw),
    ("upstream_cookie_", Raw),
    ("upstream_http_", Raw),
    ("upstream_trailer_", Raw),
    ("tcpinfo_", Fixed),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_has_a_class() {
        assert!(VARIABLES.is_sorted());
        for (name, class) in [
            ("uri", Some(Decoded)),
            ("request_uri", Some(Raw)),
            ("request_id", Some(Fixed)),
            ("http_x", Some(Raw)),
            ("http_", None),
            ("ingressd_dollar", None),
        ] {
            assert_eq!(VariableClass::of(name), class, "{name}");
        }
        assert!(SECRETS.is_sorted() && SECRETS.iter().all(|name| VariableClass::of(name).is_some()));
        assert!(VariableClass::reported().all(|name| VariableClass::of(&name).is_some()));
    }
}
