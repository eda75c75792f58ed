//! Estimates what parts of a model cost nginx and the disk, before anything is written.
//!
//! The numbers were measured with nginx 1.22 (tests/golden/cost.rs measures them again): they
//! approximate the worst case that objects can ask for, and are rather too high than too low.

mod namespaces;
#[cfg(test)]
mod tests;

use std::ops::{AddAssign, Mul};

pub use self::namespaces::by_namespace;

use super::catalogue::Module;
use super::expression;
use super::{
    AccessList, AuthenticationPolicy, Authority, Behaviour, ByteSize, Cidr, ClientCertificates, ClientLimits, CorsPart,
    Directive, FastCgi, Firewall, MirrorPolicy, RewritePattern, Snippet, TargetPart, Template,
};

/// The resources that a part of a model, an object or a namespace needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    pub hosts: u64,
    /// Paths of hosts.
    pub routes: u64,
    /// Pairs of locations that name an upstream.
    pub passes: u64,
    pub upstreams: u64,
    /// Endpoints of all upstreams.
    pub endpoints: u64,
    pub certificates: u64,
    /// Limits for clients; each has a zone of shared memory.
    pub zones: u64,
    /// Bytes of these zones.
    pub zone_bytes: u64,
    pub files: u64,
    /// Bytes of configuration.
    pub configuration: u64,
    /// Bytes of memory in nginx's master, which workers share until they write to it.
    pub memory: u64,
    /// Variables, of which there may be many.
    pub variables: u64,
    /// How often nginx compares such a name with all others, which [`Cost::among`] adds to the
    /// time of a test: once for each that is made, and once for two uses. It adds the names of
    /// upstreams as well.
    pub searches: u64,
    /// Microseconds of processor time for a test; a reload needs about as much again.
    pub test: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Cost) {
        self.hosts += other.hosts;
        self.routes += other.routes;
        self.passes += other.passes;
        self.upstreams += other.upstreams;
        self.endpoints += other.endpoints;
        self.certificates += other.certificates;
        self.zones += other.zones;
        self.zone_bytes += other.zone_bytes;
        self.files += other.files;
        self.configuration += other.configuration;
        self.memory += other.memory;
        self.variables += other.variables;
        self.searches += other.searches;
        self.test += other.test;
    }
}

impl Mul<u64> for Cost {
    type Output = Cost;

    fn mul(self, number: u64) -> Cost {
        Cost {
            hosts: self.hosts * number,
            routes: self.routes * number,
            passes: self.passes * number,
            upstreams: self.upstreams * number,
            endpoints: self.endpoints * number,
            certificates: self.certificates * number,
            zones: self.zones * number,
            zone_bytes: self.zone_bytes * number,
            files: self.files * number,
            configuration: self.configuration * number,
            memory: self.memory * number,
            variables: self.variables * number,
            searches: self.searches * number,
            test: self.test * number,
        }
    }
}

/// Nanoseconds of processor time to compare the name of one upstream, for each request to a host
/// with a shared server: nginx compares all upstreams before the host's own. The number is from
/// the table "What a request costs" in docs/performance.md.
pub const COMPARISON: u64 = 9;

/// Nanoseconds of processor time to compare a name with that of a variable: most differ in their
/// length or in the first letter.
pub const NAME: u64 = 5;

/// Nanoseconds of processor time to compare the name of an upstream with another one while nginx
/// reads the configuration. Nearly all of it is the access to memory, whatever the names are.
const UPSTREAM_NAME: u64 = 10;

/// The most certificates of a chain.
pub const LONGEST_CHAIN: u64 = 10;

/// The size of a zone when the namespace has few of them.
pub const LARGEST_ZONE: ByteSize = ByteSize(5 << 20);

/// A server with the locations of its fallback.
const HOST: Cost = Cost { hosts: 1, files: 1, configuration: 2400, memory: 32_000, test: 80, ..NOTHING };
/// A path, which is usually two locations, also where its requests count for its namespace
/// (`limits.requests-of-namespace`).
const ROUTE: Cost = Cost { routes: 1, passes: 1, configuration: 500, memory: 15_500, test: 30, ..NOTHING };
const NOTHING: Cost = Cost {
    hosts: 0,
    routes: 0,
    passes: 0,
    upstreams: 0,
    endpoints: 0,
    certificates: 0,
    zones: 0,
    zone_bytes: 0,
    files: 0,
    configuration: 0,
    memory: 0,
    variables: 0,
    searches: 0,
    test: 0,
};
/// A use of a variable in each of two locations. The variable is found half-way on average.
const SEARCH: Cost = Cost { searches: 1, ..NOTHING };
/// A block of `if` in each location of a path.
const CONDITION: Cost = Cost { configuration: 150, memory: 15_000, test: 28, ..NOTHING };
/// A compiled expression with the memory for matches, besides what its size adds.
const EXPRESSION: Cost = Cost { memory: 2000, test: 10, ..NOTHING };
const UPSTREAM: Cost = Cost { upstreams: 1, files: 1, configuration: 150, memory: 12_500, test: 15, ..NOTHING };
const ENDPOINT: Cost = Cost { endpoints: 1, configuration: 50, memory: 750, test: 1, ..NOTHING };
const CERTIFICATE: Cost = Cost { certificates: 1, files: 1, ..NOTHING };
/// nginx reads a certificate for each server that names it, and so many microseconds longer for
/// each certificate of its chain.
const TLS_HOST: Cost = Cost { memory: 60_000, test: 700, ..NOTHING };
const LINK: u64 = 200;
/// The memory for each byte of its chain.
const CERTIFICATE_MEMORY: u64 = 5;
/// The memory for each byte of a compiled expression, which nginx also has as machine code, and
/// how many bytes it compiles in a microsecond.
const EXPRESSION_MEMORY: u64 = 7;
const EXPRESSION_BYTES_OF_TIME: u64 = 50;
/// The memory for each byte of CA certificates, and how many bytes nginx reads in a microsecond.
const AUTHORITY_MEMORY: u64 = 12;
const AUTHORITY_BYTES_OF_TIME: u64 = 4;
/// A `geo` table of networks, which is a variable.
const LIST: Cost =
    Cost { files: 1, configuration: 80, memory: 40_000, variables: 1, searches: 1, test: 2500, ..NOTHING };
/// A network in such a table: one node for each bit, of which similar networks share the first.
const NETWORK_OF_4: Cost = Cost { configuration: 26, memory: 1500, test: 1, ..NOTHING };
const NETWORK_OF_6: Cost = Cost { configuration: 50, memory: 6000, test: 5, ..NOTHING };
/// A network in a location.
const WRITTEN_NETWORK: Cost = Cost { configuration: 32, memory: 140, test: 1, ..NOTHING };
/// A set of origins, and a text for allowed ones.
const ORIGINS: Cost =
    Cost { files: 1, configuration: 150, memory: 4000, variables: 1, searches: 1, test: 1000, ..NOTHING };
const REPORTED: Cost = Cost { configuration: 250, test: 300, ..ORIGINS };
/// An expression for an origin.
const ORIGIN: Cost = Cost { configuration: 100, memory: 2500, test: 10, ..NOTHING };
/// An endpoint in a consistent hash, for each unit of its weight.
const HASHED: Cost = Cost { memory: 4000, test: 45, ..NOTHING };
/// An upstream of which cookies name endpoints: its variables besides that of the cookie.
const NAMED: Cost = Cost { configuration: 700, memory: 20_000, variables: 3, searches: 10, test: 9000, ..NOTHING };
/// An endpoint that cookies name: a row with its keys, and one with its name.
const NAMED_ENDPOINT: Cost = Cost { configuration: 400, memory: 1000, test: 5, ..NOTHING };
/// A TCP or UDP service with its sockets.
const STREAM: Cost = Cost { files: 1, configuration: 350, memory: 8_000, test: 40, ..NOTHING };
/// A host with TLS passthrough: a line in each of two tables.
const PASSTHROUGH: Cost = Cost { configuration: 250, memory: 1_500, test: 5, ..NOTHING };
/// The variables that split the requests of a path between two upstreams.
const SPLIT: Cost =
    Cost { files: 1, configuration: 1500, memory: 140_000, variables: 4, searches: 10, test: 10_000, ..NOTHING };
/// A variable that a snippet sets or a text uses: each request stores its value.
const VARIABLE: Cost = Cost { memory: 1000, variables: 1, searches: 2, test: 4000, ..NOTHING };
/// The variables of a session and its cookie.
const SESSION: Cost =
    Cost { files: 2, configuration: 900, memory: 70_000, variables: 4, searches: 12, test: 4000, ..NOTHING };
/// The directives and files about client certificates of a host.
const CLIENT_CERTIFICATES: Cost =
    Cost { files: 1, configuration: 1200, memory: 60_000, variables: 1, searches: 1, test: 1900, ..NOTHING };
/// The directives about TLS to a backend in a location, with certificates and keys of their own in
/// memory.
const BACKEND_TLS: Cost = Cost { configuration: 900, memory: 80_000, test: 2800, ..NOTHING };
/// The rules that a host loads for the firewall, and the OWASP rules (modsecurity-crs 3.3).
const FIREWALL: Cost = Cost { configuration: 100, memory: 500_000, test: 1000, ..NOTHING };
const CORE_RULES: Cost = Cost { configuration: 1100, memory: 20 << 20, test: 70_000, ..NOTHING };
/// The state of the firewall in the locations of a path and their conditions.
const GUARDED: Cost = Cost { configuration: 300, memory: 150_000, test: 500, ..NOTHING };
const LIMITS: Cost =
    Cost { files: 1, configuration: 400, memory: 30_000, variables: 2, searches: 2, test: 500, ..NOTHING };
/// How much of a zone nginx writes before a client is counted.
const ZONE: Cost =
    Cost { zones: 1, zone_bytes: LARGEST_ZONE.0, configuration: 120, memory: 2000, searches: 1, test: 200, ..NOTHING };
/// A limit of a path, in one of its locations.
const LIMIT: Cost = Cost { configuration: 130, memory: 300, test: 2, ..NOTHING };
/// A directive of a path, in its locations.
const DIRECTIVE: Cost = Cost { configuration: 80, memory: 300, test: 2, ..NOTHING };
/// The internal location of an authentication service, with all headers.
const QUESTION: Cost = Cost { passes: 1, configuration: 4500, memory: 30_000, test: 90, ..NOTHING };
/// CORS headers or password settings, which each location repeats.
const HEADERS: Cost = Cost { configuration: 2500, memory: 9000, test: 30, ..NOTHING };

/// The headers of requests to backends, which both locations of a path repeat when they set any of
/// their own.
const REPEATED_HEADERS: Cost = Cost { memory: 28_000, test: 10, ..NOTHING };
/// A response header of an authentication service that is passed to the backend.
const RESPONSE_HEADER: Cost = Cost { memory: 4000, searches: 1, test: 1, ..NOTHING };

impl Cost {
    /// The cost where there are as many variables and upstreams as in all, of which this is a
    /// part: for each name nginx searches among all others.
    pub fn among(self, all: &Cost) -> Self {
        let product = |one: u64, other: u64, each: u64| u128::from(one) * u128::from(other) * u128::from(each);
        // An upstream is found half-way on average, and a new one is compared with those before
        // it.
        let upstreams = self.passes.saturating_add(self.upstreams / 2);
        let time = product(self.searches, all.variables, NAME) + product(upstreams, all.upstreams, UPSTREAM_NAME);
        Cost { test: self.test.saturating_add(u64::try_from(time / 1000).unwrap_or(u64::MAX)), ..self }
    }

    /// The cost where there is nothing of others.
    pub fn alone(self) -> Self {
        self.among(&self)
    }

    pub const fn of_host() -> Self {
        HOST
    }

    /// A path of this length, with its behaviour. `texts` is the number of other bytes in its
    /// locations, and `has_tls` says whether its host has a certificate of its own.
    pub fn of_route(path: usize, texts: usize, behaviour: &Behaviour, has_tls: bool) -> Self {
        let mut cost = ROUTE;
        // Each of two locations may contain everything, and quoted characters take two bytes.
        cost.configuration += 2 * bytes(path) + 2 * bytes(texts);
        cost.memory += 4 * (bytes(path) + bytes(texts));
        cost += times(DIRECTIVE, 2 * behaviour.directives.len());
        if behaviour.https_redirect.is_some_and(|redirect| redirect.forced || has_tls) {
            cost += CONDITION;
        }
        if let Some(cors) = behaviour.cors.as_deref() {
            cost += CONDITION;
            cost += HEADERS;
            cost += times(SEARCH, if cors.allows_any() { 0 } else { 6 });
        }
        match behaviour.access.as_deref() {
            Some(_) if behaviour.referred_list().is_some() => {
                cost += CONDITION;
                cost += SEARCH;
            }
            Some(list) => cost += times(WRITTEN_NETWORK, 2 * list.len()),
            None => {}
        }
        if let Some(basic) = behaviour.basic_authentication.as_deref() {
            cost += HEADERS;
            cost += REPEATED_HEADERS;
            cost.configuration += 2 * bytes(basic.realm.as_str().len());
        }
        if let Some(limits) = behaviour.limits.as_deref() {
            cost += times(LIMIT, 2 * zones(limits));
        }
        if behaviour.session.is_some() {
            cost += times(DIRECTIVE, 4);
            cost += times(SEARCH, 2);
        }
        if let Some(headers) = behaviour.backend_headers.as_deref() {
            cost += HEADERS;
            cost += REPEATED_HEADERS;
            let texts = headers.host.iter().chain(&headers.prefix).map(|target| target_length(target.parts()));
            let texts = bytes(texts.sum());
            cost.configuration += 2 * texts;
            cost.memory += 4 * texts;
        }
        if let Some(headers) = behaviour.answer_headers.as_deref() {
            // Each header is set, and that of the backend is hidden; those of all hosts are
            // repeated.
            cost += times(DIRECTIVE, 2 + 4 * headers.len());
            let texts = headers.iter().map(|header| 2 * header.name().as_str().len() + header.value().as_str().len());
            let texts = bytes(texts.sum());
            cost.configuration += 2 * texts;
            cost.memory += 4 * texts;
        }
        if let Some(rewrite) = &behaviour.rewrite {
            cost += match &rewrite.pattern {
                RewritePattern::Unanchored(pattern) | RewritePattern::Anchored(pattern) => {
                    Self::of_expression(pattern.as_str()) * 2
                }
                RewritePattern::Whole => times(EXPRESSION, 2),
            };
        }
        if let Some(firewall) = behaviour.firewall.as_deref() {
            cost += GUARDED;
            cost += times(DIRECTIVE, 2 * firewall.settings.len());
            let texts = bytes(firewall.settings.iter().map(|setting| setting.as_str().len()).sum());
            cost.configuration += 2 * texts;
            cost.memory += 4 * texts;
        }
        behaviour.snippets.iter().for_each(|snippet| cost += Self::of_snippet(snippet));
        cost
    }

    /// The additional cost of a path with a snippet. Because of a header the location may have to
    /// repeat everything that it would inherit.
    pub fn of_snippet(snippet: &Snippet) -> Self {
        let mut cost = HEADERS;
        cost += times(DIRECTIVE, 2 * snippet.lines());
        snippet.patterns().for_each(|pattern| cost += Self::of_expression(pattern.as_str()) * 2);
        cost += times(VARIABLE, snippet.variables());
        cost.configuration += 2 * bytes(snippet.length());
        cost.memory += 4 * bytes(snippet.length());
        cost
    }

    /// A regular expression, as it is written in an object.
    pub fn of_expression(text: &str) -> Self {
        let size = expression::size(text);
        let mut cost = EXPRESSION;
        cost.memory += EXPRESSION_MEMORY * size;
        cost.test += size / EXPRESSION_BYTES_OF_TIME;
        cost
    }

    /// The additional cost of a path with an authentication service.
    pub fn of_asking(policy: &AuthenticationPolicy) -> Self {
        let mut cost = HEADERS;
        cost += times(DIRECTIVE, 2 * (3 + 2 * policy.response_headers.len()));
        if !policy.response_headers.is_empty() {
            cost += REPEATED_HEADERS;
            cost += times(RESPONSE_HEADER, policy.response_headers.len());
        }
        let texts = policy.sign_in.as_ref().map_or(0, Template::length);
        cost.configuration += 2 * bytes(texts);
        cost.memory += 4 * bytes(texts);
        cost
    }

    /// The additional cost of a host for each distinct use of an authentication service.
    pub fn of_question(policy: &AuthenticationPolicy) -> Self {
        let mut cost = QUESTION;
        cost += times(DIRECTIVE, policy.request_headers.len());
        let headers = policy.request_headers.iter().map(|(name, value)| name.as_str().len() + value.length());
        let key = policy.memory.as_ref().map_or(0, |memory| memory.key.length() + 20 * memory.durations.len());
        let redirect = policy.request_redirect.as_ref().map_or(0, Template::length);
        let texts = headers.sum::<usize>() + key + redirect + policy.host.length() + policy.target.length();
        cost.configuration += bytes(texts);
        cost.memory += 4 * bytes(texts);
        cost
    }

    /// The additional cost of a path with a mirror.
    pub fn of_copying() -> Self {
        times(DIRECTIVE, 4)
    }

    /// The additional cost of a host for each distinct mirror; `reported` is the number of headers
    /// that an authentication service sets.
    pub fn of_copy(policy: &MirrorPolicy, reported: usize) -> Self {
        let mut cost = QUESTION;
        cost += times(DIRECTIVE, reported);
        let texts = policy.host.length() + policy.target.length();
        cost.configuration += bytes(texts);
        cost.memory += 4 * bytes(texts);
        cost
    }

    /// The additional cost of a path with a FastCGI backend: each of its locations sets all
    /// parameters.
    pub fn of_fastcgi(reported: Option<&FastCgi>) -> Self {
        let mut cost = QUESTION * 2;
        let parameters = reported.map_or(&[][..], |reported| &reported.parameters[..]);
        cost += times(DIRECTIVE, 2 * parameters.len());
        let texts: usize = parameters.iter().map(|(name, value)| name.as_str().len() + value.length()).sum();
        cost.configuration += 2 * bytes(texts);
        cost.memory += 4 * bytes(texts);
        cost
    }

    /// The additional cost of a host with this many error pages of another backend: each has a
    /// location.
    pub fn of_error_pages(statuses: usize) -> Self {
        let mut cost = times(ROUTE, statuses);
        cost += times(HEADERS, statuses);
        Cost { routes: 0, ..cost }
    }

    /// The additional cost of a path with such error pages.
    pub fn of_path_with_error_pages(statuses: usize) -> Self {
        times(DIRECTIVE, if statuses == 0 { 0 } else { 2 * (statuses + 5) })
    }

    /// The additional cost of a path with a location for another backend that stands in, beyond
    /// what its own locations cost once more: it tells that backend why it is asked.
    pub fn of_stand_in() -> Self {
        let mut cost = HEADERS;
        cost += REPEATED_HEADERS;
        cost
    }

    /// The additional cost of a path whose locations check for strict paths themselves.
    pub fn of_strict_path() -> Self {
        let mut cost = CONDITION;
        cost += times(EXPRESSION, 2);
        cost
    }

    /// The variables in the texts of a namespace, each counted once.
    pub fn of_variables(number: usize) -> Self {
        times(VARIABLE, number)
    }

    /// An upstream with this many endpoints.
    pub fn of_upstream(endpoints: usize) -> Self {
        let mut cost = UPSTREAM;
        cost += times(ENDPOINT, endpoints);
        cost
    }

    /// The additional cost of a host that requests client certificates.
    pub fn of_client_certificates(asked: &ClientCertificates) -> Self {
        let Authority { certificates, revoked, .. } = &*asked.authority;
        let length = bytes(certificates.len()) + revoked.as_ref().map_or(0, |lists| bytes(lists.len()));
        let mut cost = CLIENT_CERTIFICATES;
        cost.memory += AUTHORITY_MEMORY * length;
        cost.test += length / AUTHORITY_BYTES_OF_TIME;
        cost
    }

    /// The additional cost of a host with these directives. A directive about TLS makes the server
    /// name its certificate, which it would share otherwise.
    pub fn of_host_directives(directives: &[Directive]) -> Self {
        let mut cost = NOTHING;
        cost += times(DIRECTIVE, directives.len());
        if directives.iter().any(|directive| directive.row.module == Some(Module::Ssl)) {
            cost += Self::of_tls_host(LONGEST_CHAIN);
        }
        cost
    }

    /// The additional cost of a path on a host that requests client certificates: a condition on
    /// the host name of the handshake, and one on the certificate where it is required.
    pub fn of_guarded_path(asked: &ClientCertificates) -> Self {
        let mut cost = CONDITION * if asked.chooses() { 2 } else { 1 };
        cost += SEARCH;
        cost
    }

    /// The additional cost of a path with TLS settings for its backend.
    pub const fn of_backend_tls() -> Self {
        BACKEND_TLS
    }

    /// The additional cost of a host with TLS passthrough, besides its endpoints.
    pub const fn of_passthrough() -> Self {
        PASSTHROUGH
    }

    /// The additional cost of a host with the firewall: it loads the rules once, however many
    /// paths have the firewall.
    pub fn of_firewall(firewall: &Firewall) -> Self {
        let mut cost = if firewall.shares_rules { NOTHING } else { FIREWALL };
        if firewall.core_rules && !firewall.shares_rules {
            cost += CORE_RULES;
        }
        cost
    }

    /// A certificate, however many hosts use it.
    pub const fn of_certificate() -> Self {
        CERTIFICATE
    }

    /// The additional cost of a host with a chain of so many certificates of its own.
    pub fn of_tls_host(certificates: u64) -> Self {
        Cost { test: TLS_HOST.test + LINK * certificates.min(LONGEST_CHAIN), ..TLS_HOST }
    }

    /// The additional cost of a host with this name, as objects write it: nginx compiles an
    /// expression, which stands behind a `~`.
    pub fn of_name(host: &str) -> Self {
        host.strip_prefix('~').map_or(NOTHING, Self::of_expression)
    }

    /// A long list, counted once however many locations refer to it.
    pub fn of_list(list: &AccessList) -> Self {
        let mut cost = LIST;
        cost += of_networks(list.deny());
        cost += of_networks(list.allow());
        cost
    }

    /// The session cookie of an object.
    pub const fn of_session() -> Self {
        SESSION
    }

    /// The same where it names endpoints of one Service: each has a cookie of its own.
    pub fn of_naming_session() -> Self {
        let mut cost = SESSION;
        cost += NAMED;
        cost
    }

    /// A share of the requests of a path for another upstream; paths with the same upstreams share
    /// it.
    pub const fn of_split() -> Self {
        SPLIT
    }

    /// A variable of CORS, counted once however many routes refer to it.
    pub fn of_cors(part: &CorsPart) -> Self {
        match part {
            CorsPart::Origins(origins) => {
                let mut cost = ORIGINS;
                cost += times(ORIGIN, origins.len());
                cost
            }
            CorsPart::Text(text) => Cost { configuration: REPORTED.configuration + bytes(text.len()), ..REPORTED },
        }
    }

    /// The limits of an object.
    pub fn of_limits(limits: &ClientLimits) -> Self {
        let mut cost = LIMITS;
        cost += of_networks(&limits.exempt);
        cost += times(ZONE, zones(limits));
        cost
    }
}

/// How many zones of shared memory the limits of an object need.
pub fn zones(limits: &ClientLimits) -> usize {
    limits.rates.len() + usize::from(limits.connections.is_some())
}

fn bytes(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn times(cost: Cost, number: usize) -> Cost {
    cost * bytes(number)
}

fn of_networks(networks: &[Cidr]) -> Cost {
    let of_4 = networks.iter().filter(|network| matches!(network, Cidr::V4(_))).count();
    let mut cost = times(NETWORK_OF_4, of_4);
    cost += times(NETWORK_OF_6, networks.len() - of_4);
    cost
}

/// The length of a target as it is written.
pub fn target_length(parts: &[TargetPart]) -> usize {
    let length = |part: &TargetPart| match part {
        TargetPart::Literal(text) => text.len(),
        TargetPart::Capture(_) | TargetPart::Variable(_) => 16,
    };
    parts.iter().map(length).sum()
}
