//! Sends the request of `ingressd explain` to this node's nginx. It must not know what the answer
//! is compared with.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use http::uri::PathAndQuery;
use serde_json::Value;

use crate::cli::client::{Bounds, Client};
use crate::cli::exit::Exit;
use crate::cli::fields::rows;
use crate::cli::status::ask;
use crate::cli::waiting::waiting;
use crate::daemon::explain::Address;
use crate::daemon::{Counted, TrafficReport};
use ingressd_config::Settings;
use ingressd_migrate::compare::{Answer, Method, Ports, Request, Scheme, Side, Silence};

/// The user agent, by which a log shows where the request is from.
const AGENT: &str = concat!("ingressd/", env!("CARGO_PKG_VERSION"), " (explain)");

/// The time limit of the request with all of its steps.
const DEADLINE: Duration = Duration::from_secs(10);

/// How much of the body is read; nothing of it is shown.
const MOST_BODY: usize = 64 << 10;

/// How long the daemon needs until it has counted every request that was answered before: nginx
/// keeps lines back for a second, the daemon reads them once a second, and what it has read is as
/// old as its last look.
const COUNTED: f64 = 3.5;

/// How often it is asked meanwhile, and how long at most.
const LOOK: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(6);

/// The request, and what became of it.
#[derive(Debug)]
pub struct Sent {
    /// The socket as nginx has it.
    pub socket: String,
    /// The address to which it was sent.
    pub to: SocketAddr,
    pub scheme: Scheme,
    pub host: String,
    pub answer: Answer,
    /// Whose requests were counted meanwhile; `None` where the daemon does not count.
    pub took: Option<Vec<Took>>,
}

/// An Ingress and a Service with requests that were counted meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Took {
    /// As namespace/name; `None` where no object has the route.
    pub ingress: Option<String>,
    pub service: Option<String>,
    /// Whether an endpoint was asked.
    pub is_passed_on: bool,
}

/// Sends the request to a socket that `reported`, the daemon's answer, names.
pub fn send(settings: &Settings, address: &Address, reported: &Value) -> Result<Sent, Exit> {
    if address.host() == "*" || PathAndQuery::try_from(address.target()).is_err() {
        complain!("ingressd: no request can have this URL: --send needs a host, and a path that is encoded");
        return Err(Exit::Usage);
    }
    let (is_https, port) = address.scheme_and_port();
    let sockets = rows(&reported["sockets"]);
    let Some((socket, to, says_client)) = chosen(sockets, is_https, port) else {
        complain!("ingressd: nginx listens nowhere for {}", if is_https { "https" } else { "http" });
        return Err(Exit::Unavailable);
    };
    let scheme = if is_https { Scheme::Https } else { Scheme::Http };
    let request = Request {
        scheme,
        host: address.host().to_owned(),
        target: address.target().to_owned(),
        method: Method::Get,
        origin: None,
    };
    let bounds = Bounds { deadline: DEADLINE, most_body: MOST_BODY, says_client, agent: AGENT };
    let ports = Ports { http: to.port(), https: to.port() };
    let side = Side { address: to.ip().to_string(), ports };
    let before = counts(settings)?;
    let failed = |error: &dyn std::fmt::Display| {
        complain!("ingressd: {error}");
        Exit::Unavailable
    };
    let runtime = crate::cli::runtime::start()?;
    let asking = waiting("nginx to answer");
    let answer = runtime.block_on(async {
        let mut client = Client::new(side, bounds).await.map_err(|error| failed(&error))?;
        Ok(client.ask(&request).await)
    })?;
    drop(asking);
    if matches!(answer, Answer::None(Silence::NoConnection)) {
        return Err(failed(&format_args!("nothing listens at {to}: `ingressd status` says what nginx does")));
    }
    let took = match before.filter(|before| before.counts) {
        Some(before) => Some(took(settings, &before, &answer, reported)?),
        None => None,
    };
    Ok(Sent { socket, to, scheme, host: request.host, answer, took })
}

/// The socket for this scheme: that with the port of the URL, where there is one. Also the address
/// to connect to, and whether a client begins with the PROXY protocol there.
fn chosen(sockets: &[Value], is_https: bool, port: Option<u16>) -> Option<(String, SocketAddr, bool)> {
    let of_scheme = sockets.iter().filter(|socket| socket["tls"] == is_https).filter_map(|socket| {
        let written = socket["address"].as_str()?;
        let mut to: SocketAddr = written.parse().ok()?;
        match to.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => to.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => to.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        Some((written.to_owned(), to, socket["proxy_protocol"] == true))
    });
    let of_scheme: Vec<_> = of_scheme.collect();
    let of_port = of_scheme.iter().position(|(_, to, _)| Some(to.port()) == port);
    of_scheme.into_iter().nth(of_port.unwrap_or(0))
}

/// What the daemon has counted; `None` where it cannot say.
fn counts(settings: &Settings) -> Result<Option<TrafficReport>, Exit> {
    let (answer, _) = ask(settings, "traffic")?;
    Ok(serde_json::from_str(&answer).ok())
}

/// Waits until the request is counted.
fn took(settings: &Settings, before: &TrafficReport, answer: &Answer, reported: &Value) -> Result<Vec<Took>, Exit> {
    let class = match answer {
        Answer::Some(answered) => usize::from(answered.status / 100),
        Answer::None(_) => 0,
    };
    let (began, _waiting) = (Instant::now(), waiting("the daemon to count the request"));
    loop {
        let Some(now) = counts(settings)? else { return Ok(Vec::new()) };
        let all = more(before, &now, class);
        let expected = &reported["route"]["answer"];
        let services = rows(&expected["services"]);
        let is_expected = |took: &Took| {
            expected["ingress"].as_str() == took.ingress.as_deref()
                && (services.is_empty() || services.iter().any(|service| service.as_str() == took.service.as_deref()))
        };
        if all.iter().any(is_expected) || now.seconds - before.seconds > COUNTED || began.elapsed() > LONGEST {
            return Ok(all);
        }
        std::thread::sleep(LOOK);
    }
}

/// What has more requests with a status of this class.
fn more(before: &TrafficReport, now: &TrafficReport, class: usize) -> Vec<Took> {
    let is_same = |one: &Counted, other: &Counted| {
        (&one.namespace, &one.ingress, &one.service) == (&other.namespace, &other.ingress, &other.service)
    };
    let none = Counted::default();
    let of = |counts: &[u64]| counts.get(class).copied().unwrap_or(0);
    let rose = now.objects.iter().filter_map(|counted| {
        let earlier = before.objects.iter().find(|earlier| is_same(earlier, counted)).unwrap_or(&none);
        let name = |name: &String| (!name.is_empty()).then(|| format!("{}/{name}", counted.namespace));
        let sum = |counted: &Counted| counted.upstream.iter().sum::<u64>();
        (of(&counted.requests) > of(&earlier.requests)).then(|| Took {
            ingress: name(&counted.ingress),
            service: name(&counted.service),
            is_passed_on: sum(counted) > sum(earlier),
        })
    });
    rose.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_goes_to_nginx_of_this_node_alone() {
        let sockets = json!([
            {"address": "192.0.2.1:81", "tls": false, "proxy_protocol": true},
            {"address": "0.0.0.0:80", "tls": false, "proxy_protocol": false},
            {"address": "[::]:443", "tls": true, "proxy_protocol": false},
        ]);
        let to = |is_https, port| {
            let chosen = chosen(sockets.as_array().unwrap(), is_https, port);
            chosen.map(|(socket, to, says_client)| format!("{socket} {to} {says_client}"))
        };
        for (is_https, port, expected) in [
            (false, None, "192.0.2.1:81 192.0.2.1:81 true"),
            (false, Some(80), "0.0.0.0:80 127.0.0.1:80 false"),
            (false, Some(8080), "192.0.2.1:81 192.0.2.1:81 true"),
            (true, Some(8443), "[::]:443 [::1]:443 false"),
        ] {
            assert_eq!(to(is_https, port).as_deref(), Some(expected));
        }
        assert_eq!(chosen(&[], true, None), None);
    }
}
