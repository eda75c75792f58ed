//! What the host's `http` level would impose on our servers, and how they take it back.
//!
//! A server inherits whatever it does not set itself: what nginx does anyway is said only where the host's `http` level
//! says otherwise, because each directive of each server costs time in each reload. Only what the host really sets is taken back, so that an ordinary
//! host pays nothing, and an nginx is never told a directive that it does not know. What describes the host itself stays:
//! its networks (`set_real_ip_from`), its logs, its limits of time and memory, its choice of ciphers.

use crate::finding::{Finding, Reason};
use crate::model::catalogue::Version;
use crate::nginx::{Http2, OtherSites, Reset};

use super::host;

/// A directive of the `http` level and what our servers say instead.
struct Row {
    name: &'static str,
    reset: Reset,
    /// The host protects its sites with it, and may believe that ours are protected too.
    protects: bool,
}

const fn row(name: &'static str, arguments: &'static str) -> Row {
    Row { name, reset: Reset { name, arguments }, protects: false }
}

const fn protection(name: &'static str, instead: &'static str, arguments: &'static str) -> Row {
    Row { name, reset: Reset { name: instead, arguments }, protects: true }
}

/// A header that nobody sends: a list that names it alone replaces the list of the `http` level and does nothing.
const NO_HEADER: &str = "X-Ingressd-None";
const NO_HEADER_VALUE: &str = "X-Ingressd-None \"\"";

/// A variable that is always empty: from then on until 1.25 nginx takes no word at all for the name of a file.
const NO_CERTIFICATE: &str = "$ingressd\u{2}_nothing";
const CERTIFICATES_BY_VARIABLE: Version = Version(1, 21, 0);

const ROWS: &[Row] = &[
    // Who is let in. Behind `ingressd` the name of the instance is put.
    protection("allow", "allow", "all"),
    protection("deny", "allow", "all"),
    protection("auth_basic", "auth_basic", "off"),
    protection("auth_request", "auth_request", "off"),
    protection("limit_conn", "limit_conn", "ingressd\u{2}_unlimited_connections 1"),
    protection("limit_req", "limit_req", "zone=ingressd\u{2}_unlimited_requests"),
    protection("modsecurity", "modsecurity", "off"),
    protection("ssl_verify_client", "ssl_verify_client", "off"),
    row("ssl_crl", "\"\""),
    row("ssl_ocsp", "off"),
    row("ssl_trusted_certificate", "\"\""),
    row("auth_delay", "0s"),
    row("limit_conn_dry_run", "off"),
    row("limit_req_dry_run", "off"),
    row("satisfy", "all"),
    // What a request is.
    row("client_max_body_size", "1m"),
    row("chunked_transfer_encoding", "on"),
    row("client_body_buffer_size", "16k"),
    row("client_body_in_file_only", "off"),
    row("ignore_invalid_headers", "on"),
    row("merge_slashes", "on"),
    row("mirror", "off"),
    row("ssl", "off"),
    row("ssl_early_data", "off"),
    row("ssl_reject_handshake", "off"),
    row("underscores_in_headers", "off"),
    // What an answer is. No status is 599, and one `error_page` replaces all of the `http` level.
    row("absolute_redirect", "on"),
    row("add_after_body", "\"\""),
    row("add_before_body", "\"\""),
    row("add_header", NO_HEADER_VALUE),
    row("add_header_inherit", "on"),
    row("brotli", "off"),
    row("charset", "off"),
    row("error_page", "599 /"),
    row("expires", "off"),
    row("gunzip", "off"),
    row("gzip", "off"),
    row("limit_rate", "0"),
    row("server_name_in_redirect", "off"),
    row("slice", "0"),
    row("ssi", "off"),
    row("userid", "off"),
    row("zstd", "off"),
    // How backends are asked.
    row("proxy_bind", "off"),
    row("proxy_buffer_size", "4k"),
    row("proxy_buffering", "on"),
    row("proxy_buffers", "8 4k"),
    row("proxy_busy_buffers_size", "8k"),
    row("proxy_cache", "off"),
    row("proxy_cookie_domain", "off"),
    row("proxy_cookie_flags", "off"),
    row("proxy_cookie_path", "off"),
    row("proxy_force_ranges", "off"),
    row("proxy_headers_hash_max_size", "512"),
    row("proxy_hide_header", NO_HEADER),
    row("proxy_ignore_client_abort", "off"),
    // It cannot name nothing; this is the one that no backend sends.
    row("proxy_intercept_errors", "off"),
    row("proxy_limit_rate", "0"),
    row("proxy_max_temp_file_size", "1024m"),
    row("proxy_method", "$request_method"),
    row("proxy_next_upstream", "error timeout"),
    row("proxy_next_upstream_timeout", "0"),
    row("proxy_pass_header", NO_HEADER),
    row("proxy_pass_request_body", "on"),
    row("proxy_pass_request_headers", "on"),
    row("proxy_read_timeout", "60s"),
    row("proxy_request_buffering", "on"),
    row("proxy_send_timeout", "60s"),
    row("proxy_ssl_certificate", NO_CERTIFICATE),
    // Where a variable names the backend, nginx asks for the authority even if nobody speaks TLS.
    row("proxy_ssl_verify", "off"),
    row("proxy_store", "off"),
    row("proxy_temp_file_write_size", "8k"),
    row("grpc_bind", "off"),
    row("grpc_buffer_size", "4k"),
    row("grpc_connect_timeout", "60s"),
    row("grpc_hide_header", NO_HEADER),
    row("grpc_intercept_errors", "off"),
    row("grpc_next_upstream", "error timeout"),
    row("grpc_next_upstream_timeout", "0"),
    row("grpc_next_upstream_tries", "0"),
    row("grpc_pass_header", NO_HEADER),
    row("grpc_read_timeout", "60s"),
    row("grpc_send_timeout", "60s"),
    row("grpc_ssl_certificate", NO_CERTIFICATE),
    row("grpc_ssl_server_name", "off"),
    row("grpc_ssl_verify", "off"),
];

/// What nginx gives a server no way to take back.
const PERMANENT: &[&str] = &[
    "access_by_lua_block",
    "access_by_lua_file",
    // To replace the list with one that does nothing is possible, but makes every answer chunked.
    "add_trailer",
    "body_filter_by_lua_block",
    "body_filter_by_lua_file",
    "header_filter_by_lua_block",
    "header_filter_by_lua_file",
    "more_clear_headers",
    "more_clear_input_headers",
    "more_set_headers",
    "more_set_input_headers",
    "proxy_set_body",
    "rewrite_by_lua_block",
    "rewrite_by_lua_file",
    "sub_filter",
];

/// What our servers have to say because of what the host's `http` level says, in a fixed order.
pub fn resets(other_sites: &OtherSites, version: Version, http2: Http2, findings: &mut Vec<Finding>) -> Vec<Reset> {
    let sets = |name: &str| other_sites.http_directives.contains(name);
    let mut tell = |words: String| findings.push(Finding::new(Reason::HostConflict, host(), words));
    for row in ROWS.iter().filter(|row| row.protects && sets(row.name)) {
        tell(format!(
            "nginx.conf sets {} for all sites: hosts of the cluster do not inherit it; protect them by the settings of \
             ingressd or by annotations",
            row.name
        ));
    }
    for name in PERMANENT.iter().filter(|name| sets(name)) {
        tell(format!(
            "nginx.conf sets {name} for all sites, and nginx has no way to except ours: it changes hosts of the cluster; \
             move it into the sites that need it"
        ));
    }
    let mut resets: Vec<_> = ROWS.iter().filter(|row| sets(row.name)).map(|row| row.reset).collect();
    if sets("http2") && http2 != Http2::Directive {
        resets.push(Reset { name: "http2", arguments: "off" });
    }
    for reset in resets.iter_mut().filter(|reset| reset.arguments == NO_CERTIFICATE) {
        if version < CERTIFICATES_BY_VARIABLE {
            reset.arguments = "\"\"";
        }
    }
    // Some are taken back by the same words.
    resets.dedup();
    resets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str], http2: Http2) -> (Vec<String>, usize) {
        let http_directives = names.iter().map(|name| (*name).to_owned()).collect();
        let other_sites = OtherSites { http_directives, ..OtherSites::default() };
        let mut findings = Vec::new();
        let resets = resets(&other_sites, Version(1, 22, 1), http2, &mut findings);
        (resets.iter().map(|reset| format!("{} {}", reset.name, reset.arguments)).collect(), findings.len())
    }

    #[test]
    fn only_what_the_host_sets_is_taken_back() {
        type Row = (&'static [&'static str], Http2, &'static [&'static str], usize);
        let rows: &[Row] = &[
            (&[], Http2::Off, &[], 0),
            (&["access_log", "set_real_ip_from", "keepalive_timeout", "ssl_ciphers"], Http2::Off, &[], 0),
            (
                &["proxy_buffering", "proxy_buffers", "proxy_buffer_size"],
                Http2::Off,
                &["proxy_buffer_size 4k", "proxy_buffering on", "proxy_buffers 8 4k"],
                0,
            ),
            (&["gzip", "error_page"], Http2::Off, &["error_page 599 /", "gzip off"], 0),
            (&["allow", "deny"], Http2::Off, &["allow all"], 2),
            (&["sub_filter"], Http2::Off, &[], 1),
            (&["http2"], Http2::Off, &["http2 off"], 0),
            (&["http2"], Http2::Directive, &[], 0),
        ];
        for (names, http2, expected, findings) in rows {
            let (resets, told) = of(names, *http2);
            assert_eq!(
                (resets, told),
                (expected.iter().map(|text| (*text).to_owned()).collect(), *findings),
                "{names:?}"
            );
        }
    }
}
