//! Asks DNS servers for the addresses of a name. It caches no answers.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;

use ingressd_config::Resolver;
use ingressd_model::HostName;
use ingressd_objects::Family;

/// Where this host says which servers its own programs ask.
const FILE: &str = "/etc/resolv.conf";

/// Servers of that file that are asked, as by the C library, and their port.
const OF_FILE: usize = 3;
const PORT: u16 = 53;

/// How long one server may take to answer, and how often it is asked.
const TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 2;

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupResult {
    /// These addresses, sorted, and how long they are valid; never empty.
    Addresses(Vec<IpAddr>, Duration),
    /// The query for the addresses of one family failed, and what is known of the other.
    Half(Half),
    /// DNS says that there is no address; one clause says how.
    Nothing(&'static str),
    /// No answer; one clause says why.
    Failed(String),
}

/// Half of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    /// The addresses of the other family, sorted; there may be none.
    pub addresses: Vec<IpAddr>,
    /// How long they are valid.
    pub lasts: Duration,
    /// The family whose query failed.
    pub missing: Family,
    /// Why; one clause.
    pub why: String,
}

/// The families, in the order of the queries.
const FAMILIES: [Family; 2] = [Family::Four, Family::Six];

/// The DNS servers.
#[derive(Debug, Clone)]
pub struct Dns {
    resolvers: Arc<[Resolver]>,
    file: PathBuf,
    built: Arc<Mutex<Option<BuiltResolver>>>,
}

/// What asks these servers.
#[derive(Debug)]
struct BuiltResolver {
    servers: Vec<SocketAddr>,
    resolver: Result<TokioResolver, String>,
}

impl Dns {
    /// These servers.
    pub fn of(resolvers: &[Resolver]) -> Self {
        Self::of_file(resolvers, FILE.into())
    }

    fn of_file(resolvers: &[Resolver], file: PathBuf) -> Self {
        Dns { resolvers: resolvers.into(), file, built: Arc::default() }
    }

    /// The servers as they are now: those of this host may be others after a change of its
    /// network.
    fn servers(&self) -> Vec<SocketAddr> {
        let of_host = || {
            let text = std::fs::read_to_string(&self.file).unwrap_or_default();
            of_host(&text).map(|address| SocketAddr::new(address, PORT)).collect()
        };
        let servers = self.resolvers.iter().flat_map(|resolver| match resolver {
            Resolver::OfHost => of_host(),
            Resolver::Server(address) => vec![*address],
        });
        servers.collect()
    }

    fn resolver(&self) -> Result<TokioResolver, String> {
        let servers = self.servers();
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(built) = built.as_ref().filter(|built| built.servers == servers) {
            return built.resolver.clone();
        }
        let resolver = match (servers.is_empty(), self.is_set()) {
            (false, _) => asking(&servers),
            (true, false) => Err("no DNS server is set; name one with upstreams.resolvers".to_owned()),
            (true, true) => {
                let file = self.file.display();
                Err(format!("{file} of this host names no DNS server; name one with upstreams.resolvers"))
            }
        };
        *built = Some(BuiltResolver { servers, resolver: resolver.clone() });
        resolver
    }

    /// Whether there may be a DNS server to ask.
    pub fn is_set(&self) -> bool {
        !self.resolvers.is_empty()
    }

    /// Asks for IPv4 and IPv6 addresses, each for so long at most: many servers answer for one
    /// family only.
    pub async fn ask(&self, name: &HostName, patience: Duration) -> LookupResult {
        let resolver = match self.resolver() {
            Ok(resolver) => resolver,
            Err(why) => return LookupResult::Failed(why),
        };
        // With a trailing dot no search list applies.
        let name = match Name::from_ascii(format!("{}.", name.as_str())) {
            Ok(name) => name,
            Err(_) => return LookupResult::Nothing("it is no name of DNS"),
        };
        let four = tokio::time::timeout(patience, resolver.ipv4_lookup(name.clone()));
        let six = tokio::time::timeout(patience, resolver.ipv6_lookup(name));
        let (four, six) = tokio::join!(four, six);
        let answer = |looked: Result<Result<Lookup, NetError>, _>| looked.unwrap_or(Err(NetError::Timeout));
        merge([answer(four), answer(six)], Instant::now())
    }
}

/// The servers that this text of resolv.conf names. Those of a single interface (`fe80::1%eth0`)
/// are left out.
fn of_host(text: &str) -> impl Iterator<Item = IpAddr> {
    let named = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|word| *word == "nameserver").and(words.next())
    });
    named.filter_map(|address| address.parse().ok()).take(OF_FILE)
}

/// Asks these servers, and looks into no other file of this host: names of tenants mean nothing
/// there.
fn asking(servers: &[SocketAddr]) -> Result<TokioResolver, String> {
    let servers = servers.iter().map(|server| {
        let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
            connection.port = server.port();
            connection
        });
        NameServerConfig::new(server.ip(), true, connections.into())
    });
    let config = ResolverConfig::from_name_servers(servers.collect());
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.timeout = TIMEOUT;
    options.attempts = ATTEMPTS;
    options.use_hosts_file = ResolveHosts::Never;
    // The caller keeps the answer and asks again when it is due.
    options.cache_size = 0;
    builder.build().map_err(|error| error.to_string())
}

fn merge(answers: [Result<Lookup, NetError>; 2], now: Instant) -> LookupResult {
    let mut addresses = Vec::new();
    let mut lasts = Duration::MAX;
    let mut failures = Vec::new();
    let mut nothing = "it has no address";
    for (family, answer) in FAMILIES.into_iter().zip(answers) {
        match answer {
            Ok(lookup) => {
                lasts = lasts.min(lookup.valid_until().saturating_duration_since(now));
                addresses.extend(lookup.answers().iter().filter_map(|record| record.data.ip_addr()));
            }
            Err(error) if error.is_nx_domain() => nothing = "there is no such name",
            Err(error) if error.is_no_records_found() => {}
            Err(error) => failures.push((family, error)),
        }
    }
    addresses.sort();
    addresses.dedup();
    match &*failures {
        [(missing, error)] => {
            let why = format!("DNS fails for {} addresses: {error}", missing.name());
            LookupResult::Half(Half { addresses, lasts, missing: *missing, why })
        }
        [(_, error), ..] => LookupResult::Failed(format!("DNS fails: {error}")),
        [] if addresses.is_empty() => LookupResult::Nothing(nothing),
        [] => LookupResult::Addresses(addresses, lasts),
    }
}

#[cfg(test)]
mod tests {
    use hickory_resolver::net::DnsError;
    use hickory_resolver::net::NoRecords;
    use hickory_resolver::proto::op::{Query, ResponseCode};
    use hickory_resolver::proto::rr::{RData, Record};

    use super::*;

    fn found(address: &str, seconds: u32) -> Result<Lookup, NetError> {
        let record = Record::from_rdata(Name::root(), seconds, RData::from(address.parse::<IpAddr>().unwrap()));
        Ok(Lookup::new_with_max_ttl(Query::default(), [record]))
    }

    fn none(code: ResponseCode) -> Result<Lookup, NetError> {
        Err(NetError::Dns(DnsError::NoRecordsFound(NoRecords::new(Query::default(), code))))
    }

    #[test]
    fn servers_of_this_host_are_those_of_its_file_whenever_that_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("resolv.conf");
        let listed = "192.0.2.1:5353".parse().unwrap();
        let dns = Dns::of_file(&[Resolver::OfHost, Resolver::Server(listed)], file.clone());
        let alone = Dns::of_file(&[Resolver::OfHost], file.clone());
        let shown = |dns: &Dns| dns.servers().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert!(alone.resolver().is_err_and(|why| why.contains("resolv.conf") && why.contains("upstreams.resolvers")));
        for (text, expected) in [
            ("", "192.0.2.1:5353"),
            ("# nameserver 10.0.0.1\nsearch a.example\nnameserver 127.0.0.53\n", "127.0.0.53:53 192.0.2.1:5353"),
            (
                "nameserver\t10.0.0.1\nnameserver fe80::1%eth0\n nameserver 2001:db8::1 # two\noptions ndots:5\nnameserver x\n",
                "10.0.0.1:53 [2001:db8::1]:53 192.0.2.1:5353",
            ),
            (
                "nameserver 10.0.0.1\nnameserver 10.0.0.2\nnameserver 10.0.0.3\nnameserver 10.0.0.4",
                "10.0.0.1:53 10.0.0.2:53 10.0.0.3:53 192.0.2.1:5353",
            ),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(shown(&dns), expected, "{text}");
            assert_eq!(alone.resolver().is_ok(), !text.is_empty(), "{text}");
        }
        assert!(!Dns::of(&[]).is_set() && dns.is_set());
    }

    #[test]
    fn what_failed_of_an_answer_is_reported() {
        let shown = |addresses: Vec<IpAddr>| addresses.iter().map(ToString::to_string).collect::<Vec<_>>();
        let addresses = |looked| match looked {
            LookupResult::Addresses(addresses, _) => shown(addresses),
            LookupResult::Half(Half { addresses, why, .. }) => [shown(addresses), vec![why]].concat(),
            LookupResult::Nothing(why) => vec![why.to_owned()],
            LookupResult::Failed(why) => vec![why],
        };
        let late = || Err(NetError::Timeout);
        let rows = [
            ([found("192.0.2.2", 5), found("2001:db8::1", 5)], &["192.0.2.2", "2001:db8::1"][..]),
            ([found("192.0.2.2", 5), none(ResponseCode::NoError)], &["192.0.2.2"]),
            ([late(), found("2001:db8::1", 5)], &["2001:db8::1", "DNS fails for IPv4 addresses: request timed out"]),
            ([found("192.0.2.2", 5), late()], &["192.0.2.2", "DNS fails for IPv6 addresses: request timed out"]),
            ([none(ResponseCode::NoError), none(ResponseCode::NoError)], &["it has no address"]),
            ([none(ResponseCode::NXDomain), none(ResponseCode::NXDomain)], &["there is no such name"]),
            ([none(ResponseCode::NoError), late()], &["DNS fails for IPv6 addresses: request timed out"]),
            ([late(), late()], &["DNS fails: request timed out"]),
        ];
        for (answers, expected) in rows {
            let shown = format!("{answers:?}");
            assert_eq!(addresses(merge(answers, Instant::now())), expected, "{shown}");
        }
    }
}
