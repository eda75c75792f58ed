//! Parses URLs of services: for authentication, for signing in, and for mirrored requests.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::ExternalName;
use super::cluster_name::{ClusterName, USUAL_DOMAIN};
use super::template::{TemplateUse, template};
use ingressd_model::{AnswerDuration, HeaderName, HostName, Protocol, Refused, Template, TemplatePart, is_label};

/// The location of a service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ServiceAddress {
    /// The host that the client requested.
    SameHost,
    /// A Service of the cluster.
    Service {
        namespace: Arc<str>,
        name: Arc<str>,
        /// The number of its port.
        port: u16,
    },
    /// A DNS name.
    Name(HostName, u16),
    /// An IP address.
    Address(IpAddr, u16),
}

/// The parsed URL of a service.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ServiceUrl {
    /// Its location.
    pub address: ServiceAddress,
    pub protocol: Protocol,
    /// Its `Host` header.
    pub host: Template,
    /// The path and query.
    pub target: Template,
}

/// Variables for the host that the client requested.
const SAME_HOST: [&str; 4] = ["$host", "$http_host", "$best_http_host", "$server_name"];
/// Variables for the scheme of the request.
const SAME_SCHEME: [&str; 2] = ["$scheme://", "$pass_access_scheme://"];

const NO_URL: Refused = Refused::because("it is not a URL that begins with http:// or https:// and names a host");

/// Parses the URL of an authentication service: `http://` or `https://`, a host that is `$host` or
/// contains no variable, path and query.
pub fn service_url(value: &str) -> Result<ServiceUrl, Refused> {
    let (scheme, authority, rest) = split(value)?;
    let target = match rest.starts_with('/') {
        true => template(rest, TemplateUse::Question)?,
        false => template(&format!("/{rest}"), TemplateUse::Question)?,
    };
    if rest.contains('#') {
        return Err(Refused::because("it holds a #, which no request can"));
    }
    let protocol = if scheme == "https://" { Protocol::Https } else { Protocol::Http };
    if SAME_HOST.contains(&bare(authority).as_str()) {
        let host = Template::new(vec![TemplatePart::ClientHost])?;
        return Ok(ServiceUrl { address: ServiceAddress::SameHost, protocol, host, target });
    }
    if authority.contains('$') {
        return Err(Refused::because("its host holds a variable; only $host, for the same host, may stand there"));
    }
    if SAME_SCHEME.contains(&scheme) {
        return Err(Refused::because("its scheme is a variable, which only goes with $host"));
    }
    let address = address(authority, protocol)?;
    Ok(ServiceUrl { address, protocol, host: Template::text(&authority.to_ascii_lowercase())?, target })
}

/// Variables with the URI of the request.
const WHOLE_TARGET: [&str; 2] = ["$request_uri", "${request_uri}"];

/// Parses the URL of a mirror target: `http://` or `https://`, a host without variables, path and
/// query. Without a path, those of the request are used.
pub fn mirror_url(value: &str) -> Result<ServiceUrl, Refused> {
    let (scheme, authority, _) = split(value)?;
    if SAME_SCHEME.contains(&scheme) {
        return Err(Refused::because("its scheme is a variable"));
    }
    let behind = &value[scheme.len()..];
    // A URI begins with a slash.
    let ends = WHOLE_TARGET.iter().filter_map(|target| authority.find(target));
    let (authority, rest) = behind.split_at(ends.min().unwrap_or(authority.len()));
    if authority.contains('$') {
        return Err(Refused::because("its host holds a variable"));
    }
    if rest.contains('#') {
        return Err(Refused::because("it holds a #, which no request can"));
    }
    let target = match rest {
        "" => template(WHOLE_TARGET[0], TemplateUse::Copy)?,
        _ if rest.starts_with('/') || WHOLE_TARGET.iter().any(|start| rest.starts_with(start)) => {
            template(rest, TemplateUse::Copy)?
        }
        _ => template(&format!("/{rest}"), TemplateUse::Copy)?,
    };
    let protocol = if scheme == "https://" { Protocol::Https } else { Protocol::Http };
    let address = address(authority, protocol)?;
    Ok(ServiceUrl { address, protocol, host: Template::text(&authority.to_ascii_lowercase())?, target })
}

/// Parses the host of mirrored requests: letters, digits, `- . _ :` and variables with the host of
/// the request.
pub fn mirror_host(value: &str) -> Result<Template, Refused> {
    let host = template(value.trim(), TemplateUse::Copy)?;
    let fits = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte)),
        TemplatePart::Variable(name) => matches!(name.as_str(), "host" | "http_host"),
        _ => false,
    };
    match host.parts().iter().all(fits) {
        true => Ok(host),
        false => Err(Refused::because("a host is letters, digits, - . _ : and $host or $http_host")),
    }
}

/// Parses the URL for signing in: an absolute URL whose host contains no variable, or is that of
/// the request. If the query has no parameter of this name yet, it is added, with the URL that the
/// client requested.
pub fn sign_in(value: &str, parameter: &str) -> Result<Template, Refused> {
    let (_, authority, _) = split(value)?;
    if !SAME_HOST.contains(&bare(authority).as_str()) {
        if authority.contains('$') {
            return Err(Refused::because("its host holds a variable besides $host"));
        }
        let (host, _) = host_and_port(authority)?;
        if host.parse::<IpAddr>().is_err() && HostName::new(&host.to_ascii_lowercase()).is_err() {
            return Err(NO_URL);
        }
    }
    let url = template(value, TemplateUse::Redirect)?;
    let query = value.split_once('?').map(|(_, query)| query);
    let has_parameter =
        query.is_some_and(|query| query.split('&').any(|pair| pair.split('=').next() == Some(parameter)));
    if has_parameter {
        return Ok(url);
    }
    let separator = if query.is_some() { '&' } else { '?' };
    let added = [
        TemplatePart::Text(format!("{separator}{parameter}=").into()),
        TemplatePart::ClientScheme,
        TemplatePart::Text("://".into()),
        TemplatePart::ClientHost,
        TemplatePart::EscapedTarget,
    ];
    Template::new(url.parts().iter().cloned().chain(added).collect())
}

/// Parses the name of a query parameter.
pub fn parameter(value: &str) -> Result<Arc<str>, Refused> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    match (1..=64).contains(&value.len()) && value.bytes().all(fits) {
        true => Ok(value.into()),
        false => Err(Refused::because("it is not the name of a parameter: letters, digits and - . _ ~")),
    }
}

/// Parses the method of a subrequest.
pub fn method(value: &str) -> Result<HeaderName, Refused> {
    match value.trim() {
        method @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => HeaderName::new(method),
        _ => Err(Refused::because("it is not one of GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")),
    }
}

/// Parses for how long responses are cached: a comma-separated list of statuses followed by a
/// time, `200 202 5m, 401 10s`.
pub fn answer_durations(value: &str) -> Result<Vec<AnswerDuration>, Refused> {
    super::entries(value)?.into_iter().map(answer_duration).collect()
}

fn answer_duration(item: &str) -> Result<AnswerDuration, Refused> {
    let blamed = || Refused(format!("{} is not statuses with a time behind them", super::excerpt(item.trim())).into());
    let mut words: Vec<_> = item.trim().split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    let time = words.pop().and_then(time).ok_or_else(blamed)?;
    let status = |word: &str| word.parse::<u16>().ok().filter(|_| word.len() == 3);
    let statuses = words.into_iter().map(status).collect::<Option<_>>().ok_or_else(blamed)?;
    AnswerDuration::new(statuses, time)
}

/// Parses a number of seconds, or with a unit. Without a unit, three digits are a status.
fn time(word: &str) -> Option<Duration> {
    let digits = word.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let seconds = match &word[digits.len()..] {
        "" if digits.len() == 3 => return None,
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    let number: u64 = digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.checked_mul(seconds).filter(|seconds| *seconds > 0).map(Duration::from_secs)
}

/// Splits into scheme, authority and the rest.
fn split(value: &str) -> Result<(&str, &str, &str), Refused> {
    let schemes = ["http://", "https://"].into_iter().chain(SAME_SCHEME);
    let mut found = schemes.filter_map(|scheme| Some((scheme, value.strip_prefix(scheme)?)));
    let (scheme, rest) = found.next().ok_or(NO_URL)?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.split_at(end) {
        ("", _) => Err(NO_URL),
        (authority, rest) => Ok((scheme, authority, rest)),
    }
}

/// Converts `${name}` to `$name`, if there is nothing else.
fn bare(authority: &str) -> String {
    match authority.strip_prefix("${").and_then(|name| name.strip_suffix('}')) {
        Some(name) => format!("${name}"),
        None => authority.to_owned(),
    }
}

fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), Refused> {
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (host, rest) = match bracketed {
        Some((host, rest)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, rest),
        Some(_) => return Err(NO_URL),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    match rest.strip_prefix(':').map(str::parse::<u16>) {
        None if rest.is_empty() => Ok((host, None)),
        Some(Ok(port)) if port > 0 && !rest.contains('+') => Ok((host, Some(port))),
        _ => Err(NO_URL),
    }
}

/// Why a name within the cluster is refused that is not a Service's.
pub const OF_POD: &str = "it is the name of a pod; name its Service, NAME.NAMESPACE.svc.cluster.local";

/// The location of a host without variables.
fn address(authority: &str, protocol: Protocol) -> Result<ServiceAddress, Refused> {
    let (host, port) = host_and_port(authority)?;
    let port = port.unwrap_or(if protocol == Protocol::Https { 443 } else { 80 });
    Ok(match ExternalName::read(host).map_err(Refused::because)? {
        ExternalName::Address(address) => ServiceAddress::Address(address, port),
        ExternalName::Name(name) => match ClusterName::of(name.as_str(), USUAL_DOMAIN) {
            Some(ClusterName::Service { name, namespace }) => {
                ServiceAddress::Service { namespace: namespace.into(), name: name.into(), port }
            }
            // Names of pods would bypass the rules about Services of other namespaces.
            Some(ClusterName::Other { .. }) => return Err(Refused::because(OF_POD)),
            None => ServiceAddress::Name(name, port),
        },
    })
}

/// Parses the address of a Service with the number of its port: `NAME.NAMESPACE.svc.cluster.local`
/// or the beginning of this, and `:PORT`. The result has the namespace, the name and the port.
pub fn service_port(text: &str, domain: &str) -> Result<(Arc<str>, Arc<str>, u16), Refused> {
    const FORM: Refused =
        Refused::because("it is not the address of a Service with its port, NAME.NAMESPACE.svc.cluster.local:PORT");
    let (host, port) = host_and_port(text).map_err(|_| FORM)?;
    let port = port.filter(|port| text.ends_with(&format!(":{port}")));
    let name = HostName::new(host).map_err(|_| FORM)?;
    let short = || name.as_str().split_once('.').filter(|(service, rest)| is_label(service) && is_label(rest));
    let service = match ClusterName::of(name.as_str(), domain) {
        Some(ClusterName::Service { name, namespace }) => Some((name, namespace)),
        Some(ClusterName::Other { .. }) => None,
        None => short(),
    };
    match (service, port) {
        (Some((service, namespace)), Some(port)) => Ok((namespace.into(), service.into(), port)),
        _ => Err(FORM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services() {
        let shown = |text: &str| {
            service_url(text).map(|url| {
                let place = match url.address {
                    ServiceAddress::SameHost => "same".to_owned(),
                    ServiceAddress::Service { namespace, name, port } => format!("{namespace}/{name}:{port}"),
                    ServiceAddress::Name(name, port) => format!("{name}:{port}"),
                    ServiceAddress::Address(address, port) => format!("<{address}>:{port}"),
                };
                format!("{place} {} {}", url.host, url.target)
            })
        };
        for (text, expected) in [
            ("http://Auth.example.com", "auth.example.com:80 auth.example.com /"),
            ("https://auth.example.com:8443/a?b=c", "auth.example.com:8443 auth.example.com:8443 /a?b=c"),
            ("https://auth.example.com?x", "auth.example.com:443 auth.example.com /?x"),
            ("http://auth.sso.svc.cluster.local:4180/x", "sso/auth:4180 auth.sso.svc.cluster.local:4180 /x"),
            ("http://auth.sso.svc/x", "sso/auth:80 auth.sso.svc /x"),
            ("http://192.0.2.7/x", "<192.0.2.7>:80 192.0.2.7 /x"),
            ("http://[2001:db8::7]:81/x", "<2001:db8::7>:81 [2001:db8::7]:81 /x"),
            ("https://$host/oauth2/auth", "same ${client_host} /oauth2/auth"),
            ("$scheme://${http_host}/oauth2/auth", "same ${client_host} /oauth2/auth"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "auth.example.com",
            "http://",
            "http:///x",
            "ftp://a.example/",
            "http://a..b/",
            "http://user@a.example/",
            "http://a.example:0/",
            "http://a.example:x/",
            "http://a.example:+80/",
            "http://a.example:99999/",
            "http://localhost/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://[::1/",
            "http://[a]/",
            "http://::1/",
            "http://$http_x.example/",
            "http://auth.$host/",
            "$scheme://a.example/",
            "http://a.example/#x",
            "http://a.example/;}",
            "http://a.example/\nx",
            " http://a.example/",
            "http://a.example /",
            "http://a.example/$undefined",
            "http://ingressd.a.b.80/",
            "http://a.example/x y",
        ] {
            assert!(service_url(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn mirrors() {
        let shown = |text: &str| mirror_url(text).map(|url| format!("{:?} {} {}", url.address, url.host, url.target));
        for (text, expected) in [
            ("https://a.example$request_uri", "Name(HostName(\"a.example\"), 443) a.example ${request_uri}"),
            ("http://A.example:81${request_uri}", "Name(HostName(\"a.example\"), 81) a.example:81 ${request_uri}"),
            ("http://a.example", "Name(HostName(\"a.example\"), 80) a.example ${request_uri}"),
            ("http://a.example/", "Name(HostName(\"a.example\"), 80) a.example /"),
            ("http://a.example?$args", "Name(HostName(\"a.example\"), 80) a.example /?${args}"),
            ("http://a.example/$server_name", "Name(HostName(\"a.example\"), 80) a.example /${host}"),
            ("http://192.0.2.7/x$request_uri", "Address(192.0.2.7, 80) 192.0.2.7 /x${request_uri}"),
        ] {
            assert_eq!(shown(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "a.example",
            "http://",
            "http://$request_uri",
            "http://$host/",
            "$scheme://a.example/",
            "http://$host.$request_uri",
            "http://a.example$uri",
            "http://a.example$args$request_uri",
            "http://a.example/$uri",
            "http://a.example/$http_x",
            "http://p-0.web.victim.svc.cluster.local/",
            "http://10-1-2-3.victim.Pod.cluster.local/",
            "http://p-0.web.victim.svc/",
            "http://a.example/$escaped_request_uri",
            "http://a.example/#x",
            "http://a.example/;}",
            "http://a.example/\nx",
            "http://user@a.example/",
            "http://localhost/",
            "http://0x7f.1/",
            "http://ingressd.a.b.80/",
        ] {
            assert!(shown(text).is_err(), "{text:?}");
        }
        assert_eq!(mirror_host("a_b.example:80").map(|host| host.to_string()), Ok("a_b.example:80".to_owned()));
        assert_eq!(mirror_host("$host").map(|host| host.to_string()), Ok("${host}".to_owned()));
        for text in ["a/b", "a\"; x", "$request_uri", "$best_http_host", "a b", "$1"] {
            assert!(mirror_host(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn ports_of_services() {
        for (text, domain, expected) in [
            ("db.team.svc.cluster.local:1", USUAL_DOMAIN, true),
            ("db.team.svc:1", USUAL_DOMAIN, true),
            ("db.team:1", USUAL_DOMAIN, true),
            ("db.team.svc.corp.example:1", "corp.example", true),
            ("db.team.svc.corp.example:1", USUAL_DOMAIN, false),
            ("10-1-2-3.team.pod:1", USUAL_DOMAIN, false),
            ("db.team", USUAL_DOMAIN, false),
        ] {
            let read = service_port(text, domain).ok();
            assert_eq!(read, expected.then(|| ("team".into(), "db".into(), 1)), "{text} in {domain}");
        }
    }

    #[test]
    fn clients_come_back() {
        let shown = |text: &str| sign_in(text, "rd").map(|url| url.to_string());
        let back = "${client_scheme}://${client_host}${escaped_request_uri}";
        for (text, expected) in [
            ("https://a.example/start", format!("https://a.example/start?rd={back}")),
            ("https://a.example/start?x=1", format!("https://a.example/start?x=1&rd={back}")),
            ("https://a.example/start?rd=/fixed", "https://a.example/start?rd=/fixed".to_owned()),
            (
                "https://$host/oauth2/start?rd=$escaped_request_uri",
                "https://${host}/oauth2/start?rd=${escaped_request_uri}".to_owned(),
            ),
        ] {
            assert_eq!(shown(text), Ok(expected), "{text}");
        }
        for text in [
            "/start",
            "https://",
            "https://$arg_x/",
            "https://a.$host/",
            "//a.example/",
            "javascript:x",
            "https://a.example/$uri",
        ] {
            assert!(shown(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn times_stand_behind_statuses() {
        assert_eq!(answer_durations("200 202 401 5m").map(|all| all.len()), Ok(1));
        assert_eq!(answer_durations("200 5m, 401 10s,10,").map(|all| all.len()), Ok(3));
        for text in [
            "", "200", "5m 200", "200 5m;", "200 5x", "99 5m", "200 0s", "200 8d", ",", "+20 5m", "600 1s", "200 -5m",
            "401\n10s",
        ] {
            assert!(answer_durations(text).is_err(), "{text:?}");
        }
    }
}
