//! The keys about all hosts: headers, refused clients, TLS sessions, connections to endpoints.
//! They must not know files or layers.

use std::time::Duration;

use config::Value;

use super::table::{SettingRow, row};
use super::value::{Form, Setting, above_zero, on_off_or_dialect, put, text};
use ingressd_model::{ByteSize, HeaderName, LogLine, LogPart, Refused, VariableClass};
use ingressd_nginx::render::headers::{HEADERS, Value as Reported};
use ingressd_nginx::{HeaderTest, OcspResponder, SetHeader};
use ingressd_translate::Scope;
use ingressd_translate::value::byte_size;

/// Their keys.
pub const ROWS: &[SettingRow] = &[
    row!("headers.answers", Scope::Server, "[]", gate.global.answer_headers, |headers, value| {
        put(headers, value)?;
        answer_headers(headers)
    })
        .doc("Headers of all responses, each as `Name: value`; they replace those of backends. A value may contain the variables that docs/configmap.md lists, such as `$host`. With `$uri` or `$document_uri` in one, paths with control characters, such as `%0A`, get 400."),
    row!("headers.allowed", Scope::Route, "[]", translate.allowed_headers)
        .doc("Headers of responses that objects may set by a ConfigMap (`custom-headers`), for example `X-Frame-Options`. Routes that ask for other headers answer 503. Empty allows none."),
    row!("headers.requests", Scope::Server, "[]", gate.global.request_headers, |headers, value| {
        put(headers, value)?;
        request_headers(headers)
    })
        .doc("Headers of all requests to backends, each as `Name: value`, with variables as in `headers.answers`. The headers that every backend gets (docs/security-review.md) cannot be set."),
    row!("headers.original-uri", Scope::Server, "false", gate.global.original_uri)
        .doc("Whether backends are told the path and query as the client sent them, in `X-Original-Uri`."),
    row!("headers.request-ids", Scope::Server, "true", gate.global.request_ids)
        .doc("Whether a request without `X-Request-ID` gets one, for hosts of the ingress-nginx dialect. Other hosts pass on the header of the client."),
    row!("headers.hidden", Scope::Server, "[]", gate.global.hidden_headers)
        .doc("Headers of backends that do not reach clients, for example `X-Powered-By`."),
    row!("headers.server", Scope::Server, "false", gate.global.server_header)
        .doc("Whether responses of hosts of the ingress-nginx dialect have the header `Server: nginx`. With false the header is removed where nginx has the module headers-more (libnginx-mod-http-headers-more-filter on Debian and Ubuntu); without the module it stays. The header never contains the version of nginx."),
    row!("access.client-header", Scope::Server, r#""""#, gate.global.client_header)
        .doc("Header in which trusted proxies (`access.trusted-proxies`) send the address of the client, for example `CF-Connecting-IP`. Empty is `X-Forwarded-For`."),
    row!("access.host-header", Scope::Server, r#""""#, gate.global.host_header)
        .doc("Header in which trusted proxies send the host of the client's request. Empty is `X-Forwarded-Host`."),
    row!("access.blocked-networks", Scope::Server, "[]", gate.global.blocked_networks)
        .doc("Networks of clients that get 403 from all hosts, whatever annotations say."),
    row!("access.blocked-agents", Scope::Server, "[]", gate.global.blocked_agents)
        .doc("Clients that get 403 from all hosts, by their `User-Agent`: a value, or a regular expression behind `~` (`~*` ignores case)."),
    row!("access.blocked-referers", Scope::Server, "[]", gate.global.blocked_referers)
        .doc("Requests that get 403 from all hosts, by their `Referer`, in the same form."),
    row!("access.rate-status", Scope::Route, "503", gate.global.rate_status, error_status)
        .doc("Status of responses to requests above a rate (`limit-rps`, `limit-rpm`), 400 to 599."),
    row!("access.connections-status", Scope::Route, "503", gate.global.connections_status, error_status)
        .doc("Status of responses to clients with too many connections (`limit-connections`), 400 to 599."),
    row!("tls.plain-paths", Scope::Server, "[]", gate.global.plain_paths)
        .doc("Paths of Ingresses, and those below them, that are not redirected to https. `/.well-known/acme-challenge` never is."),
    row!("tls.session-cache", Scope::Server, r#""10m""#, gate.global.session_cache, |size, value| {
        *size = byte_size(text(value)?, 0, 1 << 30).map_err(|refused| refused.to_string())?;
        match size {
            // nginx needs several memory pages.
            ByteSize(1..65_536) => Err("nginx takes 64k at least".to_owned()),
            _ => Ok(()),
        }
    })
        .doc("Shared memory for TLS sessions that clients may resume, for all hosts together, 0 for none."),
    row!("tls.session-timeout", Scope::Server, r#""10m""#, gate.global.session_timeout, whole_seconds)
        .doc("How long a client may resume a TLS session."),
    row!("tls.session-tickets", Scope::Server, "false", gate.global.session_tickets)
        .doc("Whether nginx sends session tickets: clients store their TLS sessions, encrypted with a key that nginx makes when it starts or reloads. Somebody who learns that key can decrypt the connections that used it."),
    row!("tls.ocsp", Scope::Server, "false", gate.global.ocsp)
        .doc("Whether nginx serves certificates with an answer about their revocation (OCSP stapling), where `tls.ocsp-responders` lists the responder that a certificate names. Other certificates are served without, with a finding. The first connections to each worker are without: nginx asks when the first client wants the answer."),
    row!("tls.ocsp-responders", Scope::Server, "[]", gate.global.ocsp_responders)
        .doc("Responders that nginx may ask for `tls.ocsp`, each as `name=address`: the host in the certificates, and the IP address where nginx asks it, each with a port where that is not 80, such as `ocsp.example.com=192.0.2.7`. The author of a certificate chooses the rest of the URL, of http only. nginx would look up a name whenever it starts, and wait for DNS. It sends the address as `Host`: where a responder needs its name there, list the address of a proxy that sends it (docs/security-review.md)."),
    SettingRow::new("upstreams.app-protocol", Scope::Upstream, Form::Text, r#""dialect""#, |settings, value| {
        on_off_or_dialect(&mut settings.translate.app_protocol, value)
    })
        .doc("Whether `appProtocol` of a Service's port says how nginx speaks to the backend where no annotation does: `grpc` and `kubernetes.io/h2c` by HTTP/2, with which no WebSockets pass, `https` and `kubernetes.io/wss` by TLS. `on`, `off`, or `dialect` for what the dialect of the object's class does (ingress-nginx ignores it, the specification does not)."),
    row!("upstreams.keepalive-requests", Scope::Upstream, "10000", gate.global.keepalive_requests, |requests, value| {
        above_zero(requests, value, "with 0 a connection would have no request")
    })
        .doc("How many requests a connection to an endpoint may have."),
    row!("upstreams.keepalive-time", Scope::Upstream, r#""1h""#, gate.global.keepalive_time, whole_seconds)
        .doc("How long such a connection is used at most, since nginx 1.19.10."),
    row!("upstreams.keepalive-timeout", Scope::Upstream, r#""60s""#, gate.global.keepalive_timeout, whole_seconds)
        .doc("How long such a connection may be idle."),
];

fn error_status(status: &mut u16, value: &Value) -> Result<(), String> {
    put(status, value)?;
    match status {
        400..=599 => Ok(()),
        other => Err(format!("{other} is not within 400 to 599")),
    }
}

/// Whole seconds, up to a year.
fn whole_seconds(time: &mut Duration, value: &Value) -> Result<(), String> {
    put(time, value)?;
    match time.subsec_nanos() == 0 && (1..=31_536_000).contains(&time.as_secs()) {
        true => Ok(()),
        false => Err("it is not whole seconds, from 1s to a year".to_owned()),
    }
}

/// Headers that nginx itself sets for each response, or that control its transfer.
const OF_NGINX: [&str; 8] = [
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Date",
    "Server",
    "Strict-Transport-Security",
    "Transfer-Encoding",
];

pub(super) fn answer_headers(headers: &[SetHeader]) -> Result<(), String> {
    let of_nginx = |header: &&SetHeader| OF_NGINX.iter().any(|name| header.name.as_str().eq_ignore_ascii_case(name));
    refuse(headers.iter().find(of_nginx), "nginx makes it of each answer")
}

pub(super) fn request_headers(headers: &[SetHeader]) -> Result<(), String> {
    let is_reported = |header: &&SetHeader| {
        let same = |name: &str| header.name.as_str().eq_ignore_ascii_case(name);
        let framing = ["Content-Length", "Transfer-Encoding", "TE", "X-Original-Uri"].into_iter().any(same);
        framing
            || HEADERS.iter().any(|known| {
                same(known.name) && !matches!((known.usual, known.detailed), (Reported::Passed, Reported::Passed))
            })
    };
    refuse(headers.iter().find(is_reported), "every backend is told it already, or it says how requests are sent")
}

fn refuse(header: Option<&SetHeader>, why: &str) -> Result<(), String> {
    header.map_or(Ok(()), |header| Err(format!("{} is refused: {why}", header.name)))
}

/// A header name that nginx and all others read alike.
pub(super) fn header_name(text: &str) -> Result<HeaderName, Refused> {
    match text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        true => HeaderName::new(text),
        false => Err(Refused::because("a name of a header is letters, digits, - and _")),
    }
}

/// A header of this name and value.
pub(super) fn header(name: &str, value: &str) -> Result<SetHeader, Refused> {
    let (name, value) = (header_name(name.trim())?, LogLine::new(value)?);
    let is_secret = |part: &&LogPart| matches!(part, LogPart::Nginx(name) if VariableClass::is_secret(name));
    match value.parts().iter().find(is_secret) {
        Some(variable) => Err(Refused(format!("{variable} is a secret of the client, and may not be told").into())),
        None => Ok(SetHeader { name, value }),
    }
}

impl Setting for SetHeader {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        let (name, value) = text.split_once(':').ok_or_else(|| format!("{text:?} is not of the form Name: value"))?;
        header(name, value).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

impl Setting for HeaderName {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        header_name(text).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

impl Setting for OcspResponder {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        OcspResponder::new(text).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

impl Setting for HeaderTest {
    fn read(value: &Value) -> Result<Self, String> {
        let text = text(value)?;
        HeaderTest::new(text).map_err(|refused| format!("{text:?} is refused: {refused}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::rows;

    #[test]
    fn only_texts_that_are_kept_in_their_lines_take_what_nginx_has_decoded() {
        let texts = ["$uri", "/$uri", "https://a.test$uri", "X-A: $uri", "a=$uri"];
        let takes = |row: &&SettingRow| {
            let proven = |text: &str| row.form.read_text(text).and_then(|value| row.prove(&Value::new(None, value)));
            // What takes any name behind a dollar sign knows no variables.
            texts.iter().any(|text| proven(text).is_ok() && proven(&text.replace("uri", "nonsense")).is_err())
        };
        let keys: Vec<_> = rows().filter(takes).map(|row| row.key).collect();
        assert_eq!(keys, ["headers.answers", "headers.requests", "access-log.line"]);
    }

    fn reported(key: &str, text: &str) -> Result<(), String> {
        let row = ROWS.iter().find(|row| row.key == key).expect("the key is there");
        row.prove(&Value::new(None, row.form.read_text(text)?))
    }

    #[test]
    fn what_all_hosts_get_is_proven() {
        for (key, text, why) in [
            ("headers.answers", "X-Frame-Options: DENY, X-Host: $host", ""),
            ("headers.answers", "Server: x", "nginx makes it"),
            ("headers.answers", "X-A: $http_authorization", "may not be told"),
            ("headers.answers", "X-A: $ssl_session_id", "may not be told"),
            ("headers.answers", "X-A: $http_cookie", "may not be told"),
            ("headers.answers", "X-A: $namespace/$ingress_name/$service_name/$proxy_upstream_name", ""),
            ("headers.requests", "X-A: t=${msec} $ssl_protocol $ssl_client_escaped_cert $req_id", ""),
            ("headers.requests", "X-A: $nonsense", "no variable of nginx"),
            ("headers.answers", "X-A", "Name: value"),
            ("headers.answers", "X A: b", "letters, digits"),
            ("headers.answers", "X-A: ", "empty"),
            ("headers.requests", "X-Site: edge", ""),
            ("headers.requests", "x-real-ip: 1", "already"),
            ("headers.requests", "X-Request-ID: 1", "already"),
            ("headers.requests", "Transfer-Encoding: chunked", "already"),
            ("headers.allowed", "X-Frame-Options, Content-Security-Policy", ""),
            ("headers.allowed", "X Y", "letters, digits"),
            ("headers.hidden", "X-Powered-By", ""),
            ("headers.hidden", "X;", "letters, digits"),
            ("access.blocked-networks", "10.0.0.0/8, 192.0.2.1", ""),
            ("access.blocked-networks", "x", "not an address or network"),
            ("access.blocked-agents", "~*bot, curl/1", ""),
            ("access.blocked-agents", "~(a*)*(", "refused"),
            ("access.client-header", "CF-Connecting-IP", ""),
            ("access.client-header", "X-A;", "letters, digits"),
            ("access.host-header", "X-Host", ""),
            ("access.host-header", "X-A;", "letters, digits"),
            ("access.rate-status", "429", ""),
            ("access.rate-status", "200", "400 to 599"),
            ("tls.ocsp-responders", "ocsp.test=192.0.2.7, 10.0.0.5:2560=10.0.0.5:2560", ""),
            ("tls.ocsp-responders", "ocsp.test", "name=address"),
            ("tls.plain-paths", "/a, /b", ""),
            ("tls.plain-paths", "a", "begin with /"),
            ("tls.session-cache", "0", ""),
            ("tls.session-cache", "1k", "64k"),
            ("tls.session-timeout", "1500ms", "whole seconds"),
            ("upstreams.keepalive-requests", "0", "no request"),
        ] {
            match reported(key, text) {
                Ok(()) => assert_eq!(why, "", "{key} {text}"),
                Err(reported) => assert!(!why.is_empty() && reported.contains(why), "{key} {text}: {reported}"),
            }
        }
    }
}
