//! Which TCP and UDP services this nginx can serve, and which of their ports the host uses
//! already.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::{GateOptions, OtherSites, Plan};
use ingressd_model::catalogue::Module;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Directive, Kind, Listener, Model, ObjectId, Tables, Transport};

use super::routes::left_out;
use super::{Node, host};

/// nginx's default of `worker_connections`.
const CONNECTIONS: u32 = 512;

/// Leaves out the services that cannot be served.
pub fn fit(model: &mut Model, node: &Node<'_>, findings: &mut Vec<Finding>) {
    let Node { capabilities, other_sites, .. } = *node;
    if model.streams.is_empty() {
        return;
    }
    if let Some(words) = impossible(node) {
        let words = format!("{} TCP and UDP services are left out: {words}", model.streams.len());
        findings.push(Finding::new(Reason::MissingCapability, host(), words));
        model.streams.clear();
    }
    model.streams.retain(|stream| {
        let holder = holder(&stream.listener, other_sites);
        if let Some(holder) = &holder {
            let port = stream.listener.port;
            let words = format!(
                "the service is not served on {port}, because {holder}; use another port, or free \
                                 this one"
            );
            findings.push(Finding::new(Reason::PortConflict, stream.origin.clone(), words));
        }
        holder.is_none()
    });
    findings.extend(too_many(model, other_sites));
    let is_known = |directive: &Directive| capabilities.knows(directive.row);
    for stream in &mut model.streams {
        let all = &stream.policy.directives;
        if !all.iter().all(is_known) {
            findings.extend(all.iter().filter(|one| !is_known(one)).map(|one| left_out(one, capabilities)));
            let known = all.iter().filter(|one| is_known(one)).cloned().collect();
            Arc::make_mut(stream).policy.directives = known;
        }
    }
    let accepts = model.streams.iter().any(|stream| stream.listener.proxy_protocol);
    if accepts && !model.forwarded.trusted.is_empty() && !capabilities.has(Module::StreamRealIp) {
        let words = "nginx has no ngx_stream_realip_module, so endpoints of TCP services do not get the client \
            addresses of trusted proxies";
        findings.push(Finding::new(Reason::MissingCapability, host(), words));
    }
}

/// Removes the upstreams that no stream refers to any more.
pub fn leave_out_unused(model: &mut Model) {
    let of_hosts = model.passthroughs.hosts.iter().filter_map(|host| host.upstream.as_ref());
    let used: BTreeSet<_> = model.streams.iter().map(|stream| &stream.upstream).chain(of_hosts).collect();
    model.stream_upstreams.retain(|upstream| used.contains(&upstream.id));
}

/// Why no service can be served at all, and the remedy.
pub fn impossible(node: &Node<'_>) -> Option<String> {
    if !node.capabilities.has_stream() {
        return Some(
            "this nginx has no ngx_stream_module; install it (libnginx-mod-stream on Debian, nginx-mod-stream on Fedora and \
             RHEL) and run `ingressd setup --yes`"
                .to_owned(),
        );
    }
    let include = || {
        format!(
            "no stream block of nginx's configuration includes {}/stream/*.conf; `ingressd setup --yes` adds the line",
            node.options.current.display()
        )
    };
    node.other_sites.leaves_streams_out.then(include)
}

/// Leaves out services where nginx has no room for all sockets: each takes one of the connections
/// of a worker, and with too few nginx refuses the whole configuration. The administrator's come
/// before those of objects, and namespaces get one port each before any gets a second one.
fn too_many(model: &mut Model, other_sites: &OtherSites) -> Vec<Finding> {
    let connections = other_sites.worker_connections.unwrap_or(CONNECTIONS);
    let addresses = model.streams.iter().map(|stream| stream.listener.addresses.len());
    let (all, addresses) = (model.streams.len(), addresses.max().unwrap_or(1).max(1));
    let room = usize::try_from(connections / 2).unwrap_or(usize::MAX) / addresses;
    if all <= room {
        return Vec::new();
    }
    let mut counts = BTreeMap::<Arc<str>, usize>::new();
    let mut ranked: Vec<_> = std::mem::take(&mut model.streams)
        .into_iter()
        .map(|stream| {
            let ObjectId { kind, namespace, .. } = &*stream.origin.object;
            let of_object = (*kind != Kind::CONFIG_MAP).then(|| {
                let count = counts.entry(Arc::clone(namespace)).or_default();
                *count += 1;
                *count
            });
            (of_object, stream)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let left_out = ranked.split_off(room);
    model.streams = ranked.into_iter().map(|(_, stream)| stream).collect();
    model.streams.sort_by_key(|stream| stream.listener.port);
    let words = format!(
        "{} of {all} TCP and UDP services are left out: nginx.conf allows each worker {connections} connections, and \
         listening sockets may use half of them; set worker_connections to at least {}",
        left_out.len(),
        2 * all * addresses
    );
    let of_service = left_out.iter().map(|(_, stream)| {
        let note = format!(
            "the service is not served on {}, because nginx has no room for more sockets; the administrator can raise \
             worker_connections in nginx.conf",
            stream.listener.port
        );
        Finding::new(Reason::PortConflict, stream.origin.clone(), note)
    });
    std::iter::once(Finding::new(Reason::HostConflict, host(), words)).chain(of_service).collect()
}

/// How many connections of each worker one namespace with TLS passthrough, or one service, may
/// take.
pub fn share(other_sites: &OtherSites, options: &GateOptions) -> u32 {
    let connections = other_sites.worker_connections.unwrap_or(CONNECTIONS);
    let share = u64::from(connections) * u64::from(options.stream_percent) / 100;
    u32::try_from(share).unwrap_or(connections)
}

/// Leaves out endpoints where a service has more of them than it may have connections: each
/// endpoint that is written gets one at least.
pub fn bound_endpoints(plan: &Plan, tables: &Arc<Tables>) -> (Arc<Tables>, Vec<Finding>) {
    let (mut bounded, mut findings) = (Arc::clone(tables), Vec::new());
    for (upstream, endpoints) in tables.rows(&plan.model.stream_upstreams) {
        let most = upstream.connections(plan.decisions.stream_connections);
        let Some(used) = usize::try_from(most).ok().and_then(|most| endpoints.get(..most)) else { continue };
        if used.len() == endpoints.len() {
            continue;
        }
        let words = format!(
            "{} endpoints are more than the {most} connections that a worker may have to one TCP or UDP service, so \
             the first {most} are used; raise worker_connections in nginx.conf, or limits.stream-connections",
            endpoints.len()
        );
        findings.push(Finding::new(Reason::TooManyEndpoints, upstream.origin.clone(), words));
        Arc::make_mut(&mut bounded).endpoints.insert(upstream.id.clone(), used.into());
    }
    (bounded, findings)
}

/// Who uses the port on one of our addresses.
fn holder(listener: &Listener, other_sites: &OtherSites) -> Option<String> {
    let port = listener.port;
    let meets = |other: SocketAddr| {
        other.port() == port.number && listener.addresses.iter().any(|own| overlap(*own, other.ip()))
    };
    let mut sites = other_sites.listens.iter().filter(|_| port.transport == Transport::Tcp);
    if let Some(site) = sites.find(|site| meets(site.address)) {
        return Some(format!("{} listens on {}", site.place, site.address));
    }
    let mut streams = other_sites.stream_listens.iter().filter(|other| other.transport == port.transport);
    if let Some(other) = streams.find(|other| meets(other.address)) {
        return Some(format!("{} listens on {}", other.place, other.address));
    }
    let mut programs = other_sites.occupied.iter().filter(|(transport, _)| *transport == port.transport);
    let (_, address) = programs.find(|(_, address)| meets(*address))?;
    Some(format!("another program of this host uses {address}"))
}

/// Whether two `listen` directives of nginx conflict. Its IPv6 sockets accept no IPv4 unless
/// `ipv6only=off` is set.
pub fn meet(one: SocketAddr, other: SocketAddr) -> bool {
    let (own, ip) = (one.ip(), other.ip());
    let covers = own.is_ipv4() == ip.is_ipv4() && (own.is_unspecified() || ip.is_unspecified());
    one.port() == other.port() && (own == ip || covers)
}

/// Whether two sockets of one port conflict. An IPv6 socket for all addresses may accept IPv4 too.
pub fn overlap(own: IpAddr, other: IpAddr) -> bool {
    let (own, other) = (own.to_canonical(), other.to_canonical());
    let is_same_family = own.is_ipv4() == other.is_ipv4();
    own == other
        || (is_same_family && (own.is_unspecified() || other.is_unspecified()))
        || (other.is_unspecified() && other.is_ipv6())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capabilities;
    use crate::{Decisions, SiteListen, StreamListen};
    use ingressd_model::catalogue::Version;
    use ingressd_model::{
        Cidr, Endpoint, Origin, Port, Protocol, Serves, Stream, StreamPolicy, Upstream, UpstreamId, UpstreamIdentity,
    };

    /// A model with TCP and UDP services on the port 53 and a TCP service on the port 5432.
    fn model(addresses: &[&str]) -> Model {
        let addresses: Arc<[IpAddr]> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        let mut model = Model::default();
        for (transport, number) in [(Transport::Tcp, 53), (Transport::Tcp, 5432), (Transport::Udp, 53)] {
            let origin = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "a", "services")));
            let port = Port { transport, number };
            let protocol = if transport == Transport::Tcp { Protocol::Tcp } else { Protocol::Udp };
            let usual = UpstreamIdentity::usual("a", "b", &number.to_string());
            let upstream = UpstreamId::from(UpstreamIdentity { protocol, ..usual });
            let group = Upstream { id: upstream.clone(), origin: origin.clone(), uid: None, sharers: 1 };
            let (addresses, policy) = (Arc::clone(&addresses), StreamPolicy::empty());
            let listener = Listener { addresses, port, serves: Serves::Stream, proxy_protocol: number == 5432 };
            model.streams.push(Arc::new(Stream { listener, origin, upstream, sends_proxy_protocol: false, policy }));
            model.stream_upstreams.push(Arc::new(group));
        }
        model
    }

    fn fitted(capabilities: &Capabilities, other_sites: &OtherSites, addresses: &[&str]) -> (String, Vec<Finding>) {
        let mut model = model(addresses);
        model.forwarded.trusted = vec!["10.0.0.0/8".parse::<Cidr>().unwrap()];
        let options = GateOptions::default();
        let mut findings = Vec::new();
        fit(&mut model, &Node { capabilities, other_sites, options: &options }, &mut findings);
        leave_out_unused(&mut model);
        assert_eq!(model.streams.len(), model.stream_upstreams.len(), "no endpoints without a service");
        let left: Vec<_> = model.streams.iter().map(|stream| stream.listener.port.to_string()).collect();
        (left.join(", "), findings)
    }

    const ALL: &str = "TCP port 53, TCP port 5432, UDP port 53";

    #[test]
    fn what_nginx_lacks_is_reported_with_its_remedy() {
        let all = Capabilities::profile(Version(1, 22, 1));
        let both = ["0.0.0.0", "::"];
        assert_eq!(fitted(&all, &OtherSites::default(), &both), (ALL.to_owned(), Vec::new()));
        let without = |module| {
            let mut capabilities = all.clone();
            capabilities.modules.remove(&module);
            fitted(&capabilities, &OtherSites::default(), &both)
        };
        let reported = |findings: &[Finding]| match findings {
            [finding] if finding.reason == Reason::MissingCapability => finding.note.to_string(),
            _ => panic!("{findings:?}"),
        };
        let (left, findings) = without(Module::Stream);
        assert!(left.is_empty() && reported(&findings).contains("3 TCP and UDP services"), "{findings:?}");
        assert!(reported(&findings).contains("libnginx-mod-stream"), "{findings:?}");
        let (left, findings) = without(Module::StreamRealIp);
        assert!(left == ALL && reported(&findings).contains("ngx_stream_realip_module"), "{findings:?}");
        let (left, findings) = fitted(&all, &OtherSites { leaves_streams_out: true, ..OtherSites::default() }, &both);
        assert!(left.is_empty() && reported(&findings).contains("ingressd setup"), "{findings:?}");
        let nothing = &mut Model::default();
        let mut findings = Vec::new();
        let options = GateOptions::default();
        let other_sites = OtherSites { leaves_streams_out: true, ..OtherSites::default() };
        fit(nothing, &Node { capabilities: &all, other_sites: &other_sites, options: &options }, &mut findings);
        assert_eq!(findings, [], "whoever serves none needs nothing");
    }

    #[test]
    fn sockets_leave_room_for_connections() {
        let all = Capabilities::profile(Version(1, 22, 1));
        let of = |connections, addresses: &[&str]| {
            fitted(&all, &OtherSites { worker_connections: Some(connections), ..OtherSites::default() }, addresses)
        };
        let both = ["0.0.0.0", "::"];
        assert_eq!(of(12, &both), (ALL.to_owned(), Vec::new()));
        assert_eq!(of(6, &["0.0.0.0"]), (ALL.to_owned(), Vec::new()));
        let (left, findings) = of(11, &both);
        assert_eq!(
            (&*left, findings.len(), findings[0].reason),
            ("TCP port 53, TCP port 5432", 2, Reason::HostConflict)
        );
        assert!(findings[0].note.contains("1 of 3") && findings[0].note.contains("at least 12"), "{findings:?}");
    }

    #[test]
    fn those_of_the_administrator_have_room_first_and_then_each_namespace() {
        let mut model = model(&["0.0.0.0"]);
        let [dns, database, udp] = &*std::mem::take(&mut model.streams) else { panic!() };
        let of_object = |namespace: &str, number| {
            let mut stream = Stream::clone(dns);
            stream.origin = Origin::object(&Arc::new(ObjectId::new(Kind::INGRESS, namespace, "ports")));
            stream.listener.port.number = number;
            Arc::new(stream)
        };
        let greedy = (1..=9).map(|number| of_object("greedy", number));
        model.streams = greedy.chain([Arc::clone(dns), of_object("modest", 4000), Arc::clone(database)]).collect();
        model.streams.push(Arc::clone(udp));
        let other_sites = OtherSites { worker_connections: Some(12), ..OtherSites::default() };
        let mut findings = Vec::new();
        let options = GateOptions::default();
        let capabilities = &Capabilities::profile(Version(1, 22, 1));
        fit(&mut model, &Node { capabilities, other_sites: &other_sites, options: &options }, &mut findings);
        let left: Vec<_> = model.streams.iter().map(|stream| stream.listener.port.to_string()).collect();
        assert_eq!(left.join(", "), format!("TCP port 1, TCP port 2, TCP port 53, TCP port 4000, {}", &ALL[13..]));
        let reported = findings.iter().filter(|finding| finding.reason == Reason::PortConflict);
        assert_eq!(reported.filter(|finding| &*finding.origin.object.namespace == "greedy").count(), 7);
    }

    #[test]
    fn a_service_has_no_more_endpoints_than_it_may_have_connections() {
        let fitted = |connections, endpoints: u8| {
            let model = model(&["0.0.0.0"]);
            let all = (0..endpoints).map(|last| format!("10.244.0.{last}:80").parse().unwrap());
            let all = all.map(|address| Endpoint { address, weight: 1 });
            let upstream = Arc::clone(&model.stream_upstreams[0]);
            let tables = Tables { endpoints: [(upstream.id.clone(), all.collect())].into(), ..Tables::default() };
            let other_sites = OtherSites { worker_connections: connections, ..OtherSites::default() };
            let options = GateOptions { stream_percent: 25, ..GateOptions::default() };
            let decisions = Decisions { stream_connections: share(&other_sites, &options), ..Decisions::default() };
            let plan = Plan { model: model.into(), decisions: decisions.into(), ..Plan::default() };
            let (bounded, findings) = bound_endpoints(&plan, &tables.into());
            let left = bounded.endpoints(&upstream.id).len();
            (left, upstream.connections_of_endpoint(plan.decisions.stream_connections, left), findings)
        };
        // A quarter of 512, and two for each connection.
        assert_eq!(fitted(None, 60), (60, 2, Vec::new()));
        assert_eq!(fitted(Some(512), 64), (64, 1, Vec::new()));
        assert_eq!(fitted(Some(512), 0), (0, 64, Vec::new()));
        let (left, each, findings) = fitted(Some(512), 65);
        assert_eq!((left, each), (64, 1));
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.reason, Reason::TooManyEndpoints);
        assert!(finding.note.contains("65 endpoints") && finding.note.contains("worker_connections"), "{finding}");
        assert_eq!(fitted(Some(8), 1), (1, 1, Vec::new()), "nginx takes 0 for no ceiling");
    }

    #[test]
    fn ports_of_others_stay_theirs() {
        let site = |address: &str| SiteListen {
            place: "site:1".to_owned(),
            address: address.parse().unwrap(),
            default_server: false,
            ssl: false,
            http2: false,
            proxy_protocol: false,
            dual_stack: false,
            before_ours: false,
        };
        let stream = |transport, address: &str| StreamListen {
            place: "stream.conf:2".to_owned(),
            transport,
            address: address.parse().unwrap(),
        };
        let program = |transport, address: &str| OtherSites {
            occupied: BTreeSet::from([(transport, address.parse().unwrap())]),
            ..OtherSites::default()
        };
        let of_site = |address| OtherSites { listens: vec![site(address)], ..OtherSites::default() };
        let of_stream = |transport, address| OtherSites {
            stream_listens: vec![stream(transport, address)],
            ..OtherSites::default()
        };
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        let (both, one) = (&["0.0.0.0", "::"][..], &["192.0.2.1"][..]);
        let rows = [
            (of_site("0.0.0.0:53"), both, "TCP port 5432, UDP port 53", "site:1"),
            (of_site("127.0.0.1:5432"), both, "TCP port 53, UDP port 53", "127.0.0.1:5432"),
            (of_site("127.0.0.1:5433"), both, ALL, ""),
            (of_site("127.0.0.1:5432"), one, ALL, ""),
            (of_stream(tcp, "0.0.0.0:53"), one, "TCP port 5432, UDP port 53", "stream.conf:2"),
            (of_stream(udp, "[::]:53"), both, "TCP port 53, TCP port 5432", "stream.conf:2"),
            (program(tcp, "127.0.0.1:5432"), both, "TCP port 53, UDP port 53", "another program"),
            (program(udp, "192.0.2.1:53"), one, "TCP port 53, TCP port 5432", "another program"),
            // The IPv6 socket may accept IPv4 as well.
            (program(tcp, "[::]:5432"), one, "TCP port 53, UDP port 53", "another program"),
            (program(tcp, "[::1]:5432"), one, ALL, ""),
            (program(tcp, "[::ffff:192.0.2.1]:5432"), one, "TCP port 53, UDP port 53", "another program"),
            (program(udp, "0.0.0.0:5432"), both, ALL, ""),
        ];
        for (other_sites, addresses, expected, words) in rows {
            let (left, findings) = fitted(&Capabilities::profile(Version(1, 22, 1)), &other_sites, addresses);
            assert_eq!(left, expected, "{other_sites:?}");
            let notes: Vec<_> = findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
            match words {
                "" => assert_eq!(notes, []),
                _ => assert!(
                    matches!(&*notes, [(Reason::PortConflict, note)] if note.contains(words)),
                    "{words}: {notes:?}"
                ),
            }
        }
    }
}
