//! A line about a request, as nginx writes it. Clients choose some of its values, so nothing in it
//! is trusted.

/// What a line says of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'l> {
    /// The host that the client asked for, in small letters.
    pub host: &'l str,
    /// The number of the route among those of the host; `None` where nginx answered before it
    /// looked for one.
    pub route: Option<usize>,
    /// The port of a Service that took it, where nginx knows the upstream by name.
    pub service: Option<ServicePort<'l>>,
    pub status: u16,
    pub method: &'l str,
    /// Whether the method may change something.
    pub writes: bool,
    /// Seconds from the first byte of the request to the last one of the response.
    pub seconds: f64,
    /// Bytes to the client, and from it.
    pub sent: u64,
    pub received: u64,
    /// Seconds that backends took, all that were tried together.
    pub upstream: Option<f64>,
    /// Seconds until backends had accepted connections.
    pub connect: Option<f64>,
    /// How many requests it stands for, where not every line is read.
    pub stands_for: u64,
}

/// A port of a Service, as the name of an upstream has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServicePort<'l> {
    pub namespace: &'l str,
    pub name: &'l str,
    pub port: &'l str,
}

/// More than a week is no time of a request.
const LONGEST: f64 = 604_800.0;

impl<'l> Line<'l> {
    /// Reads a line; `None` where it is none of nginx's.
    pub fn read(line: &'l [u8]) -> Option<Self> {
        let mut values = std::str::from_utf8(line).ok()?.splitn(9, ' ');
        let mut next = || values.next();
        let (host, route, service) = (next()?, next()?, next()?);
        let (status, method, seconds) = (next()?, next()?, next()?);
        let (sent, received, upstream) = (next()?, next()?, next()?);
        // The second one is there where it was asked for.
        let (upstream, connect) = upstream.split_once(';').unwrap_or((upstream, "-"));
        Some(Line {
            host,
            route: if route == "-" { None } else { Some(route.parse().ok()?) },
            service: of_upstream(service),
            status: status.parse().ok().filter(|status| *status < 1000)?,
            method,
            writes: !["GET", "HEAD", "OPTIONS", "TRACE"].contains(&method),
            seconds: time(seconds)?,
            sent: sent.parse().ok()?,
            received: received.parse().ok()?,
            upstream: times(upstream)?,
            connect: times(connect)?,
            stands_for: 1,
        })
    }
}

/// The Service in the name of an upstream of ours.
fn of_upstream(name: &str) -> Option<ServicePort<'_>> {
    let mut parts = name.split('.');
    let _digits = parts.next()?;
    parts.next().filter(|ours| ours.starts_with("ingressd"))?;
    let service = ServicePort { namespace: parts.next()?, name: parts.next()?, port: parts.next()? };
    parts.next().is_none().then_some(service)
}

fn time(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    text.parse().ok().filter(|time| is_plain && *time <= LONGEST)
}

/// The sum of the times that nginx lists, with commas between endpoints and colons between
/// upstreams; `None` within where no endpoint was asked.
fn times(text: &str) -> Option<Option<f64>> {
    let all = text.split([',', ':']).map(str::trim).filter(|one| *one != "-");
    let all: Vec<_> = all.map(time).collect::<Option<_>>()?;
    Some((!all.is_empty()).then(|| all.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read() {
        let usual =
            b"shop.example 2 1a.ingressd.shop.web.http 502 POST 0.250 312 97 0.001, 0.200 : 0.040;0.001, - : 0.002";
        let line = Line::read(usual).unwrap();
        let expected = Line {
            host: "shop.example",
            route: Some(2),
            service: Some(ServicePort { namespace: "shop", name: "web", port: "http" }),
            status: 502,
            method: "POST",
            writes: true,
            seconds: 0.25,
            sent: 312,
            received: 97,
            upstream: line.upstream,
            connect: line.connect,
            stands_for: 1,
        };
        assert_eq!(line, expected);
        assert!((line.upstream.unwrap() - 0.241).abs() < 1e-9, "{line:?}");
        assert!((line.connect.unwrap() - 0.003).abs() < 1e-9, "{line:?}");
        // Nothing was found for a request that is none, of a client that names no host.
        let line = Line::read(b" - - 400 - 0.000 150 0 -").unwrap();
        assert_eq!((line.host, line.route, line.service, line.upstream), ("", None, None, None));
        assert_eq!(
            Line::read(b"a 0 - 304 HEAD 0.000 150 0 -, 0.5").map(|line| (line.writes, line.upstream)),
            Some((false, Some(0.5)))
        );
    }

    #[test]
    fn upstreams_of_others_have_no_service_of_ours() {
        for name in ["-", "", "127.0.0.1:80", "backend", "a.b.c.d.e", "1.ingressd.shop.web", "1.ingressd.a.b.c.d"] {
            assert_eq!(of_upstream(name), None, "{name}");
        }
        let port = ServicePort { namespace: "shop", name: "web", port: "8080" };
        assert_eq!(of_upstream("0ab.ingressd__edge.shop.web.8080"), Some(port));
    }

    #[test]
    fn what_no_nginx_of_ours_writes_is_not_read() {
        let parts = ["a.example", "0", "-", "200", "GET", "0.001", "10", "20", "0.001"];
        assert!(Line::read(parts.join(" ").as_bytes()).is_some());
        for (at, wrong) in [
            (1, "x"),
            (1, "-1"),
            (1, "99999999999999999999999"),
            (3, "2e2"),
            (3, "70000"),
            (3, "-"),
            (5, "inf"),
            (5, "NaN"),
            (5, "1e300"),
            (5, "-1"),
            (5, ""),
            (5, "9999999"),
            (6, "-"),
            (6, "18446744073709551616"),
            (7, "1.5"),
            (8, "0.1 0.2"),
            (8, "nan"),
            (8, "0.1; 0.2; 0.3"),
            (8, "0.1;x"),
        ] {
            let mut parts = parts;
            parts[at] = wrong;
            assert_eq!(Line::read(parts.join(" ").as_bytes()), None, "{wrong} at {at}");
        }
        for cut in 0..parts.len() {
            assert_eq!(Line::read(parts[..cut].join(" ").as_bytes()), None, "{cut}");
        }
        for line in [&b""[..], b"\xff\xfe", b"\x00\x00\x00", &[b' '; 4000]] {
            assert_eq!(Line::read(line), None, "{line:?}");
        }
    }
}
