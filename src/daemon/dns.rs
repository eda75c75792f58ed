//! Asks DNS servers for the addresses of a name. It caches no answers.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;

use crate::model::HostName;

/// The time limit of one query, and the number of attempts.
const TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 2;

/// The result of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Looked {
    /// These addresses, sorted, and how long they are valid; never empty.
    Addresses(Vec<IpAddr>, Duration),
    /// DNS says that there is no address; one clause says how.
    Nothing(&'static str),
    /// No answer; one clause says why.
    Failed(String),
}

/// The DNS servers.
#[derive(Debug, Clone)]
pub struct Dns {
    resolver: Result<TokioResolver, String>,
}

impl Dns {
    /// Uses these servers, and no file of this host, because names of tenants must not depend on
    /// it.
    pub fn of(servers: &[SocketAddr]) -> Self {
        if servers.is_empty() {
            let why = "no DNS server is set; name one with upstreams.resolvers";
            return Dns { resolver: Err(why.to_owned()) };
        }
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
        // The caller keeps the answer and asks again when it has expired.
        options.cache_size = 0;
        Dns { resolver: builder.build().map_err(|error| error.to_string()) }
    }

    /// Whether there are servers to ask.
    pub fn is_set(&self) -> bool {
        self.resolver.is_ok()
    }

    /// Asks for IPv4 and IPv6 addresses.
    pub async fn ask(&self, name: &HostName) -> Looked {
        let resolver = match &self.resolver {
            Ok(resolver) => resolver,
            Err(why) => return Looked::Failed(why.clone()),
        };
        // With a trailing dot no search list applies.
        let name = match Name::from_ascii(format!("{}.", name.as_str())) {
            Ok(name) => name,
            Err(_) => return Looked::Nothing("it is no name of DNS"),
        };
        let (four, six) = tokio::join!(resolver.ipv4_lookup(name.clone()), resolver.ipv6_lookup(name));
        merge([four, six], Instant::now())
    }
}

/// An answer for one address family is enough: many servers cannot answer for the other.
fn merge(answers: [Result<Lookup, NetError>; 2], now: Instant) -> Looked {
    let mut addresses = Vec::new();
    let mut lasts = Duration::MAX;
    let mut failure = None;
    let mut nothing = "it has no address";
    for answer in answers {
        match answer {
            Ok(lookup) => {
                lasts = lasts.min(lookup.valid_until().saturating_duration_since(now));
                addresses.extend(lookup.answers().iter().filter_map(|record| record.data.ip_addr()));
            }
            Err(error) if error.is_nx_domain() => nothing = "there is no such name",
            Err(error) if error.is_no_records_found() => {}
            Err(error) => failure = Some(format!("DNS fails: {error}")),
        }
    }
    addresses.sort();
    addresses.dedup();
    match (addresses.is_empty(), failure) {
        (false, _) => Looked::Addresses(addresses, lasts),
        (true, Some(why)) => Looked::Failed(why),
        (true, None) => Looked::Nothing(nothing),
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
    fn one_family_is_enough() {
        let addresses = |looked| match looked {
            Looked::Addresses(addresses, _) => addresses.iter().map(ToString::to_string).collect(),
            Looked::Nothing(why) => vec![why.to_owned()],
            Looked::Failed(why) => vec![why],
        };
        let late = || Err(NetError::Timeout);
        let rows = [
            ([found("192.0.2.2", 5), found("2001:db8::1", 5)], &["192.0.2.2", "2001:db8::1"][..]),
            ([found("192.0.2.2", 5), none(ResponseCode::NoError)], &["192.0.2.2"]),
            ([late(), found("2001:db8::1", 5)], &["2001:db8::1"]),
            ([none(ResponseCode::NoError), none(ResponseCode::NoError)], &["it has no address"]),
            ([none(ResponseCode::NXDomain), none(ResponseCode::NXDomain)], &["there is no such name"]),
            ([none(ResponseCode::NoError), late()], &["DNS fails: request timed out"]),
        ];
        for (answers, expected) in rows {
            let shown = format!("{answers:?}");
            assert_eq!(addresses(merge(answers, Instant::now())), expected, "{shown}");
        }
    }
}
