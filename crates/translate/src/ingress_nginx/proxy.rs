//! Annotations about connections to backends: protocol, timeouts and retries.

use crate::annotation::{Ceiling, Family, Form, Gives, Row, Scope, Trust, Unit, nothing_to_finish, put};
use crate::value::arguments::time;
use crate::value::{LONGEST_SECONDS, excerpt, integer, seconds_or_unlimited};
use ingressd_model::catalogue::{
    PROXY_CONNECT_TIMEOUT, PROXY_HTTP_VERSION, PROXY_NEXT_UPSTREAM, PROXY_NEXT_UPSTREAM_TIMEOUT,
    PROXY_NEXT_UPSTREAM_TRIES, PROXY_READ_TIMEOUT, PROXY_SEND_TIMEOUT,
};
use ingressd_model::{Argument, Protocol, Refused};

/// The ceiling of timeouts. 0, where it does not mean unlimited, is the time for retries, whose
/// number has a ceiling.
const TIMEOUT: Ceiling = Ceiling::Setting {
    key: "limits.timeout",
    unit: Unit::Seconds,
    zero_is_unlimited: false,
    of: |limits| limits.timeout.as_secs(),
};
/// The conditions under which nginx tries another endpoint.
const FAILURES: [&str; 12] = [
    "error",
    "timeout",
    "invalid_header",
    "http_500",
    "http_502",
    "http_503",
    "http_504",
    "http_403",
    "http_404",
    "http_429",
    "non_idempotent",
    "off",
];

/// Seconds, at least one.
const TIME: Form = Form::Integer { least: 1, most: LONGEST_SECONDS };
/// The most retries: a larger value is a mistake.
const MOST_TRIES: u64 = 1000;

/// A row about connections to backends.
const fn row(key: &'static str, form: Form) -> Row {
    Row::new(key, form).scope(Scope::Upstream)
}

pub static FAMILY: Family = Family {
    title: "Backends",
    rows: &[
        row("backend-protocol", Form::AnyCase(&["auto_http", "fcgi", "http", "https", "grpc", "grpcs"]))
            .documentation(
                "Protocol towards the backend: HTTP, HTTPS, GRPC, GRPCS, FCGI or AUTO_HTTP, in upper or lower case. \
                 Without it the appProtocol of the Service decides where `upstreams.app-protocol` says so, and \
                 otherwise it is HTTP. AUTO_HTTP is HTTPS for requests that came by https and HTTP for others; no idle \
                 connection is kept to such a backend. FCGI is FastCGI: annotations about times, buffers and headers \
                 apply to it, too, except http_502 and http_504 of proxy-next-upstream. Applications get the usual \
                 parameters except DOCUMENT_ROOT and SCRIPT_FILENAME, which you can set with fastcgi-params-configmap.",
            )
            .tries(&[
                ("HTTPS", Gives::Sets("backends speak HTTPS")),
                ("grpc", Gives::Sets("backends speak GRPC")),
                ("GRPCS", Gives::Sets("backends speak GRPCS")),
                ("HTTP", Gives::Sets("backends speak HTTP")),
                ("AUTO_HTTP", Gives::Sets("backends speak AUTO_HTTP")),
                ("FCGI", Gives::Sets("backends speak FCGI")),
                ("AJP", Gives::Refused("not one of HTTP, HTTPS, GRPC, GRPCS, FCGI, AUTO_HTTP")),
            ])
            .part(|draft, entry| put(&mut draft.reading.protocol, protocol(entry.value))),
        row("proxy-connect-timeout", TIME)
            .default("5")
            .ceiling(TIMEOUT)
            .documentation("Seconds to connect to an endpoint, without a unit.")
            .tries(&[
                ("10", Gives::Sets("proxy_connect_timeout 10s;")),
                ("10s", Gives::Refused("without a unit")),
                ("-1", Gives::Refused("seconds")),
                ("0", Gives::Refused("from 1")),
            ])
            .directive(&PROXY_CONNECT_TIMEOUT, time),
        row("proxy-http-version", Form::Word(&["1.0", "1.1"]))
            .default("1.1")
            .documentation("Protocol version towards the backend: 1.0 or 1.1.")
            .tries(&[
                ("1.0", Gives::Sets("proxy_http_version 1.0;")),
                ("1.1", Gives::Sets("proxy_http_version 1.1;")),
                ("2", Gives::Refused("not 1.0 or 1.1")),
            ])
            .directive(&PROXY_HTTP_VERSION, |value| match value.trim() {
                "1.0" => Ok(vec![Argument::Word("1.0")]),
                "1.1" => Ok(vec![Argument::Word("1.1")]),
                _ => Err(Refused::because("it is not 1.0 or 1.1")),
            }),
        row("proxy-next-upstream", Form::Words(&FAILURES))
            .default("error timeout")
            .trust(Trust::Medium)
            .documentation(
                "When another endpoint is tried: words of error, timeout, invalid_header, http_500, http_502, \
                 http_503, http_504, http_403, http_404, http_429, non_idempotent; or off.",
            )
            .tries(&[
                ("error timeout http_502", Gives::Sets("proxy_next_upstream error timeout http_502;")),
                ("off", Gives::Sets("proxy_next_upstream off;")),
                ("error; deny all", Gives::Refused("\"error;\" is not one of")),
            ])
            .directive(&PROXY_NEXT_UPSTREAM, failures),
        row("proxy-next-upstream-timeout", Form::Integer { least: 0, most: LONGEST_SECONDS })
            .default("0")
            .ceiling(TIMEOUT)
            .documentation("Seconds after which no further endpoint is tried, without a unit; 0 is no limit.")
            .tries(&[
                ("5", Gives::Sets("proxy_next_upstream_timeout 5s;")),
                ("0", Gives::Sets("proxy_next_upstream_timeout 0s;")),
                ("-5", Gives::Refused("seconds")),
            ])
            .directive(&PROXY_NEXT_UPSTREAM_TIMEOUT, |value| Ok(vec![Argument::Time(seconds_or_unlimited(value)?)])),
        row("proxy-next-upstream-tries", Form::Integer { least: 0, most: MOST_TRIES })
            .default("3")
            .ceiling(Ceiling::Setting {
                key: "limits.tries",
                unit: Unit::Count,
                zero_is_unlimited: true,
                of: |limits| limits.tries.into(),
            })
            .documentation("How many endpoints are tried; 0 is as many as the administrator allows.")
            .tries(&[
                ("2", Gives::Sets("proxy_next_upstream_tries 2;")),
                ("0", Gives::Cut("proxy_next_upstream_tries 20;")),
                ("-2", Gives::Refused("whole number")),
            ])
            .directive(&PROXY_NEXT_UPSTREAM_TRIES, |value| Ok(vec![Argument::Number(integer(value, 0, MOST_TRIES)?)])),
        row("proxy-read-timeout", TIME)
            .default("60")
            .ceiling(TIMEOUT)
            .documentation(
                "Seconds between two reads from an endpoint, without a unit. WebSockets and event streams that are \
                 silent for longer are closed.",
            )
            .tries(&[("3600", Gives::Sets("proxy_read_timeout 3600s;")), ("1h", Gives::Refused("without a unit"))])
            .directive(&PROXY_READ_TIMEOUT, time),
        row("proxy-send-timeout", TIME)
            .default("60")
            .ceiling(TIMEOUT)
            .documentation("Seconds between two writes to an endpoint, without a unit.")
            .tries(&[
                ("120", Gives::Sets("proxy_send_timeout 120s;")),
                ("2147483647", Gives::Cut("proxy_send_timeout 86400s;")),
                ("soon", Gives::Refused("seconds")),
            ])
            .directive(&PROXY_SEND_TIMEOUT, time),
    ],
    finish: nothing_to_finish,
};

fn protocol(value: &str) -> Result<Protocol, Refused> {
    match value.trim().to_ascii_uppercase().as_str() {
        "HTTP" => Ok(Protocol::Http),
        "HTTPS" => Ok(Protocol::Https),
        "GRPC" => Ok(Protocol::Grpc),
        "GRPCS" => Ok(Protocol::Grpcs),
        "AUTO_HTTP" => Ok(Protocol::AutoHttp),
        "FCGI" => Ok(Protocol::FastCgi),
        _ => Err(Refused::because("it is not one of HTTP, HTTPS, GRPC, GRPCS, FCGI, AUTO_HTTP")),
    }
}

fn failures(value: &str) -> Result<Vec<Argument>, Refused> {
    let mut words = Vec::new();
    for item in value.split_whitespace() {
        let word = FAILURES.iter().find(|word| **word == item);
        let word =
            word.ok_or_else(|| Refused(format!("{} is not one of {}", excerpt(item), FAILURES.join(", ")).into()))?;
        if !words.contains(&Argument::Word(word)) {
            words.push(Argument::Word(word));
        }
    }
    Ok(words)
}
