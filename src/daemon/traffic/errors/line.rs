//! A line of nginx's error log. Clients choose parts of it, which nginx does not escape.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, fmt::strtime};

/// A kind of what nginx complains about.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorKind {
    /// Its name in metrics.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// Parts of messages, any of which is enough.
    marks: &'static [&'static str],
}

const fn kind(name: &'static str, about: &'static str, marks: &'static [&'static str]) -> ErrorKind {
    ErrorKind { name, about, marks }
}

/// All kinds; a message is of the first whose mark it has.
pub const ERROR_KINDS: &[ErrorKind] = &[
    kind("no_live_upstreams", "every endpoint failed lately, and none was asked", &["no live upstreams"]),
    kind("connection_refused", "an endpoint refused the connection", &["connect() failed (111:"]),
    kind(
        "unreachable",
        "no packet reaches an endpoint",
        &["connect() failed (113:", "connect() failed (101:", "connect() to", "connect() failed"],
    ),
    kind("timed_out", "an endpoint did not answer in time", &["upstream timed out"]),
    kind(
        "closed_early",
        "an endpoint closed the connection before its answer was complete",
        &["upstream prematurely closed", "recv() failed (104:", "readv() failed (104:", "writev() failed (32:"],
    ),
    kind("header_too_large", "the head of an answer does not fit into the buffer", &["upstream sent too big header"]),
    kind("invalid_answer", "the answer of an endpoint is no valid one", &["upstream sent"]),
    kind(
        "upstream_tls",
        "TLS to an endpoint failed",
        &["while SSL handshaking to upstream", "upstream SSL certificate", "SSL_do_handshake() failed"],
    ),
    kind("body_too_large", "the body of a request is larger than allowed", &["client intended to send too large"]),
    kind("limited", "a limit of requests or connections was reached", &["limiting requests", "limiting connections"]),
    kind(
        "authentication",
        "a password was wrong, or the authentication service failed",
        &["password mismatch", "was not found in", "no user/password was provided", "auth request unexpected"],
    ),
    kind("client_certificate", "the certificate of a client was refused", &["client SSL certificate"]),
    kind("firewall", "the firewall refused a request", &["ModSecurity:"]),
    kind("buffered", "an answer or a request did not fit into memory, and went through a file", &["is buffered to a"]),
    kind("other", "anything else", &[""]),
];

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorLine<'l> {
    /// When it was written, by the clock of the host.
    time: &'l str,
    pub level: &'l str,
    /// The message, without what it is about.
    pub message: &'l str,
    /// The request that it is about, where that is beyond doubt.
    pub request: Option<AboutRequest<'l>>,
}

/// The request that a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboutRequest<'l> {
    pub client: &'l str,
    /// The host that the client asked for.
    pub host: &'l str,
    /// Path and query.
    pub target: &'l str,
    /// The endpoint.
    pub upstream: Option<&'l str>,
}

/// nginx cuts lines off at 2048 bytes. Of a longer one it is not known what it had.
const WHOLE: usize = 2000;

/// The names of what a line says of a request.
const FIELDS: [&str; 4] = [", server: ", ", request: \"", ", upstream: \"", ", host: \""];

/// The levels that tell of something wrong.
const WRONG: [&str; 5] = ["warn", "error", "crit", "alert", "emerg"];

impl<'l> ErrorLine<'l> {
    /// Reads a line; `None` where it is none of nginx's, or tells of nothing that is wrong.
    pub fn read(line: &'l str) -> Option<Self> {
        let (time, rest) = line.split_at_checked(19)?;
        let is_time = time.bytes().all(|byte| byte.is_ascii_digit() || b"/: ".contains(&byte));
        let (level, rest) = rest.strip_prefix(" [")?.split_once("] ")?;
        let (process, rest) = rest.split_once(": ")?;
        let is_process = process.bytes().all(|byte| byte.is_ascii_digit() || byte == b'#');
        if !is_time || !is_process || !WRONG.contains(&level) {
            return None;
        }
        let of_connection = rest.strip_prefix('*').and_then(|rest| rest.split_once(' '));
        let rest = of_connection.map_or(rest, |(_, rest)| rest);
        let message = rest.split_once(", client: ").map_or(rest, |(message, _)| message);
        Some(ErrorLine { time, level, message, request: request(rest).filter(|_| line.len() < WHOLE) })
    }

    /// When it was written.
    pub fn time(&self) -> Option<Timestamp> {
        let parsed: DateTime = strtime::parse("%Y/%m/%d %H:%M:%S", self.time).ok()?.to_datetime().ok()?;
        Some(parsed.to_zoned(TimeZone::system()).ok()?.timestamp())
    }

    pub fn kind(&self) -> &'static ErrorKind {
        // The name of a user is the client's.
        let named = self.message.strip_prefix("user \"").and_then(|rest| rest.rsplit_once('"'));
        let said = named.map_or(self.message, |(_, said)| said);
        let is_it = |kind: &&ErrorKind| kind.marks.iter().any(|mark| said.contains(mark));
        // The last one takes every message.
        ERROR_KINDS.iter().find(is_it).unwrap_or(&ERROR_KINDS[ERROR_KINDS.len() - 1])
    }
}

/// The request, unless a client may have written a field: where the line has the name of one
/// twice or within the referrer, which comes last and is the client's, where the request line has
/// no end, and where it names a host of its own, by which nginx goes.
fn request(text: &str) -> Option<AboutRequest<'_>> {
    let text = text.split_once(", referrer: \"").map_or(text, |(own, referrer)| {
        // The names of fields within it make the line doubtful, too.
        if FIELDS.iter().any(|name| referrer.contains(name)) { "" } else { own }
    });
    let after = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        (!rest.contains(name)).then_some(rest)
    };
    let client = after(", client: ")?.split(',').next()?;
    after(", server: ")?;
    let request = after(", request: \"")?;
    let mut words = request.split('"').next()?.split(' ');
    let (_, target) = (words.next()?, words.next().filter(|target| target.starts_with('/'))?);
    words.next().filter(|protocol| protocol.starts_with("HTTP/"))?;
    let host = after(", host: \"")?.split('"').next()?;
    let upstream = text.contains(", upstream: \"").then(|| after(", upstream: \"")).flatten();
    Some(AboutRequest { client, host, target, upstream: upstream.and_then(|rest| rest.split('"').next()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "2026/11/29 05:00:00 [error] 12#12: *5 connect() failed (111: Connection refused) while connecting to \
        upstream, client: 192.0.2.7, server: shop.test, request: \"GET /cart?x=1 HTTP/1.1\", upstream: \
        \"http://10.0.0.1:80/cart?x=1\", host: \"shop.test\"";

    #[test]
    fn a_line_is_read() {
        let line = ErrorLine::read(REFUSED).unwrap();
        assert_eq!((line.level, line.kind().name), ("error", "connection_refused"));
        assert_eq!(line.message, "connect() failed (111: Connection refused) while connecting to upstream");
        let expected = AboutRequest {
            client: "192.0.2.7",
            host: "shop.test",
            target: "/cart?x=1",
            upstream: Some("http://10.0.0.1:80/cart?x=1"),
        };
        assert_eq!(line.request, Some(expected));
        assert!(line.time().is_some());
    }

    #[test]
    fn a_line_of_which_a_client_wrote_fields_is_about_no_request() {
        let (host, host_of_shop) = (", host: \"victim.test\"", ", host: \"shop.test\"");
        for (what, line) in [
            ("the referrer", format!("{REFUSED}, referrer: \"x\"{host}\"")),
            ("the referrer, without a host", REFUSED.replace(host_of_shop, &format!(", referrer: \"x\"{host}"))),
            ("an absolute URL", REFUSED.replacen("GET /cart", "GET http://evil.test/cart", 1)),
            ("a request line without an end", REFUSED.replacen(" HTTP/1.1", "", 1)),
            ("the path", REFUSED.replacen("/cart", &format!("/\"{host}"), 1)),
            ("a long path that nginx cuts off", REFUSED.replacen("/cart", &"x".repeat(WHOLE), 1)),
        ] {
            assert_eq!(ErrorLine::read(&line).map(|line| line.request), Some(None), "{what}");
        }
    }

    #[test]
    fn each_message_has_its_kind_and_what_nginx_does_not_complain_about_has_none() {
        for (message, kind) in [
            ("no live upstreams while connecting to upstream", "no_live_upstreams"),
            ("user \"x upstream timed out:y\": password mismatch", "authentication"),
            ("connect() failed (113: No route to host) while connecting to upstream", "unreachable"),
            ("upstream timed out (110: Connection timed out) while reading response header", "timed_out"),
            ("upstream prematurely closed connection while reading response header from upstream", "closed_early"),
            ("upstream sent too big header while reading response header from upstream", "header_too_large"),
            ("upstream sent invalid header while reading", "invalid_answer"),
            ("SSL_do_handshake() failed (SSL: error:0A) while SSL handshaking to upstream", "upstream_tls"),
            ("client intended to send too large body: 9 bytes", "body_too_large"),
            ("limiting requests, excess: 5.1 by zone \"x\"", "limited"),
            ("something new", "other"),
        ] {
            let line = format!("2026/11/29 05:00:00 [error] 12#12: *5 {message}, client: a");
            assert_eq!(ErrorLine::read(&line).unwrap().kind().name, kind, "{message}");
        }
        for line in ["", "x", "2026/11/29 05:00:00 [notice] 12#12: signal process started", &REFUSED[1..]] {
            assert_eq!(ErrorLine::read(line), None, "{line}");
        }
    }
}
