//! Selects the requests to send: safe requests of a log, without duplicates and by path in turn,
//! or each host and path of Ingresses. It must not know who sends them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::format::Logged;
use super::hosts::{IngressHost, IngressHosts, Route};
use super::request::{AGENT, Method, Request, Scheme};

/// The most different requests that are counted.
const MOST_DISTINCT: usize = 100_000;

/// The statuses of requests that the controller refused to this client: sent again they say
/// nothing about others, and may be an attack.
const REFUSALS: [u16; 4] = [401, 403, 429, 444];

/// The statuses of redirects to https.
const REDIRECTS: [u16; 4] = [301, 302, 307, 308];

/// How many lines or requests are left out, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Lines that do not match the format.
    pub unreadable: u64,
    /// Lines with a method that may change something.
    pub unsafe_method: u64,
    /// Lines of requests that the controller had refused.
    pub refused: u64,
    /// Lines without a known host.
    pub without_host: u64,
    /// Lines with a path or host that cannot be sent.
    pub not_sendable: u64,
    /// Lines of an earlier comparison.
    pub own: u64,
    /// Requests beyond the requested number.
    pub beyond: u64,
}

impl LeftOut {
    /// Each number with its name for machines, and in words.
    pub fn counts(&self) -> [(&'static str, &'static str, u64); 7] {
        [
            ("unreadable", "lines that do not have the format of the log", self.unreadable),
            ("unsafeMethod", "lines with a method that may change something", self.unsafe_method),
            ("refused", "lines with the status 401, 403, 429 or 444, which --all-statuses would include", self.refused),
            ("withoutHost", "lines without a host and without a backend of an Ingress", self.without_host),
            ("notSendable", "lines with a host or path that cannot be sent", self.not_sendable),
            ("own", "lines of an earlier comparison", self.own),
            ("beyond", "requests above the limit of --most", self.beyond),
        ]
    }
}

/// The selected requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// The requests, grouped by host.
    pub requests: Vec<Request>,
    pub left_out: LeftOut,
}

/// Collects requests and selects among them.
#[derive(Debug)]
pub struct Chooser<'a> {
    known_hosts: &'a IngressHosts,
    /// Whether requests of a log that the controller had refused are sent, too.
    all_statuses: bool,
    /// How often each request was found.
    found: HashMap<Request, u64>,
    left_out: LeftOut,
}

impl<'a> Chooser<'a> {
    /// A chooser for requests to these hosts.
    pub fn new(known_hosts: &'a IngressHosts, all_statuses: bool) -> Self {
        Chooser { known_hosts, all_statuses, found: HashMap::new(), left_out: LeftOut::default() }
    }

    /// Adds a line of a log; `None` is a line that could not be parsed.
    pub fn add_line(&mut self, line: Option<&Logged>) {
        let Some(line) = line else {
            self.left_out.unreadable += 1;
            return;
        };
        if line.agent.as_deref() == Some(AGENT) {
            self.left_out.own += 1;
            return;
        }
        let Some(method) = Method::read(&line.method) else {
            self.left_out.unsafe_method += 1;
            return;
        };
        if !self.all_statuses && line.status.is_some_and(|status| REFUSALS.contains(&status)) {
            self.left_out.refused += 1;
            return;
        }
        let path = line.target.split('?').next().unwrap_or_default();
        let hosts = match &line.host {
            Some(host) => vec![host.clone()],
            None => self.known_hosts.hosts_of(line, path),
        };
        if hosts.is_empty() {
            self.left_out.without_host += 1;
            return;
        }
        let requests: Vec<_> = hosts.iter().flat_map(|host| self.of_line(line, method, host)).collect();
        if requests.is_empty() {
            self.left_out.not_sendable += 1;
        }
        requests.into_iter().for_each(|request| self.add(request));
    }

    /// A host with TLS is requested by https, and also by http when the line may be of a redirect
    /// to https.
    fn of_line(&self, line: &Logged, method: Method, host: &str) -> Vec<Request> {
        let has_tls = self.known_hosts.host(host).is_some_and(|known| known.has_tls);
        let is_redirect = line.status.is_some_and(|status| REDIRECTS.contains(&status));
        let schemes: &[Scheme] = match (line.scheme, has_tls, is_redirect) {
            (Some(Scheme::Http), ..) | (None, false, _) => &[Scheme::Http],
            (Some(Scheme::Https), ..) | (None, true, false) => &[Scheme::Https],
            (None, true, true) => &[Scheme::Http, Scheme::Https],
        };
        schemes.iter().filter_map(|scheme| Request::new(method, *scheme, host, &line.target)).collect()
    }

    /// Adds each host and path of the Ingresses.
    pub fn add_ingresses(&mut self) {
        let known_hosts = self.known_hosts;
        for (host, known) in known_hosts.hosts() {
            let schemes = if known.has_tls { &[Scheme::Http, Scheme::Https][..] } else { &[Scheme::Http] };
            for scheme in schemes {
                for request in of_host(&host, *scheme, known) {
                    self.add(request);
                }
            }
        }
    }

    fn add(&mut self, request: Request) {
        let is_full = self.found.len() >= MOST_DISTINCT;
        match self.found.get_mut(&request) {
            Some(times) => *times += 1,
            None if is_full => self.left_out.beyond += 1,
            None => drop(self.found.insert(request, 1)),
        }
    }

    /// Selects at most this many: for each path of each host in turn the most frequent request.
    pub fn choose(self, most: usize) -> Choice {
        let mut left_out = self.left_out;
        let mut of_routes = BTreeMap::<_, Vec<_>>::new();
        for (request, times) in self.found {
            let route = self.known_hosts.host(&request.host).and_then(|known| known.route(request.path()));
            let route = route.map(|route| route.path.clone());
            of_routes.entry((request.host.clone(), request.scheme, route)).or_default().push((Reverse(times), request));
        }
        for requests in of_routes.values_mut() {
            requests.sort();
        }
        let longest = of_routes.values().map(Vec::len).max().unwrap_or_default();
        let in_turn = (0..longest).flat_map(|turn| of_routes.values().filter_map(move |requests| requests.get(turn)));
        let mut requests: Vec<_> = in_turn.take(most).map(|(_, request)| request.clone()).collect();
        let all: usize = of_routes.values().map(Vec::len).sum();
        left_out.beyond += u64::try_from(all - requests.len()).unwrap_or(u64::MAX);
        requests.sort();
        Choice { requests, left_out }
    }
}

/// The requests for a host: each of its paths, a path that none matches, and a CORS preflight.
fn of_host(host: &str, scheme: Scheme, known: &IngressHost) -> Vec<Request> {
    let get = |path: &str| Request::new(Method::Get, scheme, host, path);
    let mut requests: Vec<_> = get("/").into_iter().collect();
    for route in known.routes() {
        let examples = route.examples();
        requests.extend(examples.iter().filter_map(|path| get(path)));
        let Route { origin: Some(origin), .. } = route else { continue };
        for method in [Method::Get, Method::Options] {
            let request = examples.first().and_then(|path| Request::new(method, scheme, host, path));
            requests.extend(request.map(|request| Request { origin: Some(origin.clone()), ..request }));
        }
    }
    requests.sort();
    requests.dedup();
    requests
}
