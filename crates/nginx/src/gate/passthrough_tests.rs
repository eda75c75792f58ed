//! When TLS of a host can be passed through beside other features of the host, and which hosts are
//! closed where it cannot.

use std::net::SocketAddr;

use super::tests::{listen, listeners, model};
use super::*;
use crate::{ConnectedBy, Inside, StreamListen};
use ingressd_model::catalogue::Version;
use ingressd_model::{
    Action, HostName, Listener, Passthrough, PathMatch, Protocol, Route, Server, ServerName, Transport, Upstream,
    UpstreamId, UpstreamIdentity, UrlPath,
};

/// The hosts `a.example`, whose TLS is passed through, and `b.example`.
fn both() -> Model {
    let origin =
        |name: &str| Origin { object: Arc::new(ObjectId::new(Kind::INGRESS, "default", name)), field: Field::Object };
    let name = |host: &str| ServerName::Exact(HostName::new(host).expect("a host"));
    let server = |host: &str| {
        let path = PathMatch::Prefix { path: UrlPath::new("/").expect("a path"), redirect_to_slash: false };
        let action = Action::Respond { status: 200 };
        let fallback = Route::plain(origin(host), path, action);
        Arc::new(Server::usual(name(host), fallback))
    };
    let mut model = model();
    model.servers = ["a.example", "b.example"].map(server).to_vec();
    let usual = UpstreamIdentity::usual("default", "tls", "443");
    let id = UpstreamId::from(UpstreamIdentity { protocol: Protocol::Tcp, ..usual });
    let upstream = Upstream { id: id.clone(), origin: origin("tls"), uid: None, sharers: 1 };
    model.stream_upstreams = vec![Arc::new(upstream)];
    let passed = Passthrough { name: name("a.example"), origin: origin("a.example"), upstream: Some(id) };
    model.passthroughs.hosts = vec![passed];
    model.listeners = passing(false);
    model
}

/// The listeners of hosts, of which that for TLS passes it on.
fn passing(proxy_protocol: bool) -> Vec<Listener> {
    listeners(proxy_protocol).into_iter().map(Listener::passing).collect()
}

/// The hosts that are closed.
fn closed(plan: &Plan) -> Vec<String> {
    let closed = plan.model.servers.iter().filter(|server| server.fallback.action == Action::Closed);
    closed.map(|server| server.origin.object.name.to_string()).collect()
}

/// The TLS sockets, as `ADDRESS[<]`: `<` marks those that nginx itself connects to.
fn tls(plan: &Plan) -> String {
    let listens = plan.decisions.listens.iter().filter(|listen| listen.ssl);
    let one = |listen: &crate::Listen| {
        assert_eq!(listen.connected_by.is_inside(), listen.address.port() == 10247, "{listen:?}");
        format!("{}{}", listen.address, if listen.proxy_protocol { "<" } else { "" })
    };
    listens.map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stream_server_stands_in_front_where_a_host_needs_it() {
    let all = Capabilities::profile(Version(1, 22, 1));
    let trusted: Vec<ingressd_model::Cidr> = vec!["10.0.0.0/8".parse().expect("a network")];
    let rows = [
        (Vec::new(), false, "127.0.0.1:10247<"),
        (trusted.clone(), false, "127.0.0.1:10247< 127.0.0.3:10247<"),
        // Only the PROXY protocol is trusted then, and no header.
        (trusted, true, "127.0.0.1:10247<"),
    ];
    for (trusted, proxy_protocol, expected) in rows {
        let with = |model: Model| {
            let mut model = model;
            model.forwarded.trusted.clone_from(&trusted);
            model.listeners = passing(proxy_protocol);
            gate(&model.into(), &Arc::default(), &all, &OtherSites::default(), &GateOptions::default())
        };
        let (plan, findings) = with(both());
        assert_eq!((tls(&plan), findings), (expected.to_owned(), Vec::new()));
        let preread = plan.decisions.preread.as_ref().expect("it is needed");
        assert_eq!(preread.listens, ["0.0.0.0:443", "[::]:443"].map(|address| address.parse::<SocketAddr>().unwrap()));
        assert_eq!((preread.proxy_protocol, preread.sizes_tables), (proxy_protocol, true));
        assert_eq!(plan.model.stream_upstreams.len(), 1);
        // Without a host that asks for passthrough nothing changes.
        let mut model = both();
        model.passthroughs.hosts.clear();
        let (plan, _) = with(model);
        let own = plan.decisions.listens.iter().all(|listen| listen.connected_by == ConnectedBy::Outside);
        assert!(own && plan.decisions.preread.is_none() && plan.model.stream_upstreams.is_empty());
    }
}

#[test]
fn what_is_on_its_way_is_waited_for_when_the_last_host_is_gone() {
    let mut model = both();
    model.passthroughs.hosts.clear();
    let all = Capabilities::profile(Version(1, 22, 1));
    let options = GateOptions { has_passthrough: true, ..GateOptions::default() };
    let listens = |model: Model, capabilities: &Capabilities| {
        let (plan, findings) = gate(&model.into(), &Arc::default(), capabilities, &OtherSites::default(), &options);
        assert!(plan.decisions.preread.is_none() && findings.is_empty(), "{findings:?}");
        tls(&plan)
    };
    assert_eq!(listens(model.clone(), &all), "0.0.0.0:443 [::]:443 127.0.0.1:10247<");
    model.forwarded.trusted = vec!["10.0.0.0/8".parse().expect("a network")];
    assert_eq!(listens(model.clone(), &all), "0.0.0.0:443 [::]:443 127.0.0.1:10247< 127.0.0.3:10247<");
    // Without the module the addresses of clients are unknown.
    model.forwarded.trusted.clear();
    let mut lacking = all;
    lacking.modules.remove(&Module::RealIp);
    assert_eq!(listens(model, &lacking), "0.0.0.0:443 [::]:443");
}

#[test]
fn where_it_cannot_be_had_those_hosts_alone_are_closed() {
    use ingressd_model::catalogue::Module::{RealIp, Stream, StreamMap, StreamRealIp, StreamSslPreread};
    let sites =
        |address: &str| OtherSites { listens: vec![listen(address, &["ssl", "http2"])], ..OtherSites::default() };
    let stream = |address: &str| {
        let address = address.parse().expect("an address");
        let listen = StreamListen { place: "stream.conf:2".to_owned(), transport: Transport::Tcp, address };
        OtherSites { stream_listens: vec![listen], ..OtherSites::default() }
    };
    let program = |address: &str| OtherSites {
        occupied: [(Transport::Tcp, address.parse().expect("an address"))].into(),
        ..OtherSites::default()
    };
    let without_include = OtherSites { leaves_streams_out: true, ..OtherSites::default() };
    let none = OtherSites::default;
    let rows = [
        (none(), None, false, ""),
        (none(), Some(Stream), false, "libnginx-mod-stream"),
        (none(), Some(StreamSslPreread), false, "ngx_stream_ssl_preread_module"),
        (none(), Some(StreamMap), false, "ngx_stream_map_module"),
        (none(), Some(RealIp), false, "ngx_http_realip_module"),
        (none(), Some(StreamRealIp), false, ""),
        (none(), Some(StreamRealIp), true, "ngx_stream_realip_module"),
        (without_include, None, false, "ingressd setup"),
        (sites("0.0.0.0:443"), None, false, "site:1"),
        (sites("192.0.2.1:443"), None, false, "site:1"),
        (sites("192.0.2.1:8443"), None, false, ""),
        (sites("127.0.0.1:10247"), None, false, "listen.passthrough-port"),
        (stream("0.0.0.0:10247"), None, false, "listen.passthrough-port"),
        (stream("192.0.2.1:10247"), None, false, ""),
        (program("127.0.0.3:10247"), None, false, "another program"),
        (program("[::]:10247"), None, false, "another program"),
    ];
    for (other_sites, module, proxy_protocol, words) in rows {
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        if let Some(module) = module {
            capabilities.modules.remove(&module);
        }
        let mut model = Model { listeners: passing(proxy_protocol), ..both() };
        // A route of another object, whose plain requests are closed as well.
        let server = Arc::make_mut(&mut model.servers[0]);
        let object = Arc::new(ObjectId::new(Kind::INGRESS, "default", "beside"));
        let origin = Origin { object, field: Field::Path(0, 0, "") };
        server.routes.push(Route { origin, ..server.fallback.clone() });
        let (plan, findings) =
            gate(&model.into(), &Arc::default(), &capabilities, &other_sites, &GateOptions::default());
        let reported: Vec<_> = findings.iter().filter(|finding| finding.note.contains("passed through")).collect();
        match words.is_empty() {
            true => {
                assert!(
                    reported.is_empty() && closed(&plan).is_empty() && plan.decisions.preread.is_some(),
                    "{reported:?}"
                );
            }
            false => {
                assert_eq!(closed(&plan), ["a.example"], "{words}: {findings:?}");
                let of_host = reported.iter().filter(|finding| finding.reason == Reason::ClosedRoute);
                let of_host: Vec<_> = of_host.map(|finding| &*finding.origin.object.name).collect();
                assert_eq!((reported.len(), of_host), (3, vec!["a.example", "beside"]), "{words}: {findings:?}");
                assert!(reported.iter().all(|finding| finding.note.contains(words)), "{words}: {reported:?}");
                assert!(plan.decisions.preread.is_none() && tls(&plan).contains(":443"), "{words}");
                assert!(plan.model.passthroughs.hosts.is_empty() && plan.model.stream_upstreams.is_empty());
            }
        }
    }
}

#[test]
fn an_address_of_a_foreign_stream_block_is_left_to_it() {
    let listen = |transport, address: &str| StreamListen {
        place: "stream.conf:2".to_owned(),
        transport,
        address: address.parse().expect("an address"),
    };
    let rows = [
        (listen(Transport::Tcp, "0.0.0.0:443"), "[::]:443", 1),
        (listen(Transport::Tcp, "192.0.2.1:443"), "[::]:443", 1),
        (listen(Transport::Tcp, "[::]:443"), "0.0.0.0:443", 1),
        (listen(Transport::Udp, "0.0.0.0:443"), "0.0.0.0:443 [::]:443", 0),
        (listen(Transport::Tcp, "0.0.0.0:8443"), "0.0.0.0:443 [::]:443", 0),
    ];
    for (other, expected, reported) in rows {
        let other_sites = OtherSites { stream_listens: vec![other.clone()], ..OtherSites::default() };
        let (plan, findings) = gate(
            &model().into(),
            &Arc::default(),
            &Capabilities::profile(Version(1, 22, 1)),
            &other_sites,
            &GateOptions::default(),
        );
        assert_eq!(tls(&plan), expected, "{other:?}");
        let conflicts = findings.iter().filter(|finding| finding.note.contains("stream.conf:2"));
        assert_eq!(conflicts.count(), reported, "{findings:?}");
    }
    assert!(Inside::ALL.iter().all(std::net::IpAddr::is_loopback));
}
