//! The line of the access log in JSON: a documented contract, whose fields are this table. It must
//! not know where lines go.

use super::access_log::LogLine;

/// A field of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonField {
    pub name: &'static str,
    /// The variable, without its dollar sign.
    pub variable: &'static str,
    /// Whether it is a number, and no text.
    pub is_number: bool,
    /// What it is, for people.
    pub about: &'static str,
}

const fn text(name: &'static str, variable: &'static str, about: &'static str) -> JsonField {
    JsonField { name, variable, is_number: false, about }
}

const fn number(name: &'static str, variable: &'static str, about: &'static str) -> JsonField {
    JsonField { name, variable, is_number: true, about }
}

/// The fields, in their order.
pub const JSON_FIELDS: &[JsonField] = &[
    text("time", "time_rfc3339", "when the request ended, as in RFC 3339, with milliseconds and the zone of the host"),
    text("remote_addr", "remote_addr", "address of the client"),
    text("remote_user", "remote_user", "name of the user, where nginx itself asked for a password"),
    text("method", "request_method", "method"),
    text("scheme", "scheme", "`http` or `https`"),
    text("host", "host", "host that was asked for, in small letters and without port"),
    text("uri", "request_uri", "path and query, as the client sent them"),
    text("protocol", "server_protocol", "protocol, such as `HTTP/2.0`"),
    number("status", "status_number", "status of the answer; 0 where there was none"),
    number("bytes_sent", "bytes_sent", "bytes to the client, with the head"),
    number("bytes_received", "request_length", "bytes of the request, with its head"),
    number("request_time", "request_time", "seconds from the first byte of the request to the last one of the answer"),
    text("request_id", "req_id", "request ID, as the backend gets it in `X-Request-ID`"),
    text("namespace", "ingress_namespace", "namespace of the Ingress; `-` where none has the host"),
    text("ingress", "ingress_name", "Ingress that takes the request; `-` where none has the host"),
    text("route", "location_path", "path of its rule, at most 200 characters; `-` where no rule matches"),
    text("service", "service_name", "Service that got the request; `-` where nginx answered itself"),
    text("service_port", "service_port", "its port; `-` where nginx answered itself"),
    text("upstream_addr", "upstream_addr", "endpoints that were asked, with commas between them"),
    text("upstream_status", "upstream_status", "their statuses, in the same order"),
    text("upstream_time", "upstream_response_time", "seconds that each of them took, in the same order"),
    text("upstream_connect_time", "upstream_connect_time", "seconds until each of them accepted a connection"),
    text("user_agent", "http_user_agent", "header `User-Agent`"),
    text("referer", "http_referer", "header `Referer`"),
    text("tls_version", "ssl_protocol", "version of TLS"),
    text("tls_cipher", "ssl_cipher", "cipher of TLS"),
    text("tls_server_name", "ssl_server_name", "name that the client asked for by SNI"),
    text(
        "tls_client_verify",
        "ssl_client_verify",
        "`SUCCESS`, `NONE` or `FAILED:reason`, for the certificate of the client",
    ),
];

impl LogLine {
    /// The line with these fields; its values have to be escaped for JSON.
    pub fn json() -> Option<Self> {
        let fields = JSON_FIELDS.iter().map(|JsonField { name, variable, is_number, .. }| match is_number {
            true => format!("\"{name}\":${{{variable}}}"),
            false => format!("\"{name}\":\"${{{variable}}}\""),
        });
        LogLine::new(&format!("{{{}}}", fields.collect::<Vec<_>>().join(","))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nginx_takes_the_line_and_each_field_is_there_once() {
        let line = LogLine::json().expect("nginx takes it");
        let variables = line.parts().iter().filter(|part| !matches!(part, super::super::LogPart::Text(_)));
        assert_eq!(variables.count(), JSON_FIELDS.len());
        // JSON escapes them.
        assert_eq!(line.decoded().collect::<Vec<_>>(), ["remote_user", "ssl_server_name"]);
        let mut names: Vec<_> = JSON_FIELDS.iter().map(|field| field.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), JSON_FIELDS.len());
    }
}
