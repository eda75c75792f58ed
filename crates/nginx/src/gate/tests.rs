//! What the gate does about missing capabilities, about other sites, and about sockets.

use super::*;
use crate::SiteListen;
use crate::usual;
use ingressd_model::catalogue::Version;
use ingressd_model::{CertificateId, HostListeners, Listener, Presented, Upstream, UpstreamId};

pub fn model() -> Model {
    let id = CertificateId::SelfSigned;
    let presented = Presented { id: id.clone(), origin: host(), responder: None, has_issuer: false };
    let certificates = vec![Arc::new(presented)];
    Model { listeners: listeners(false), certificates, default_certificate: Some(id), ..Model::default() }
}

/// The usual listeners.
pub fn listeners(proxy_protocol: bool) -> Vec<Listener> {
    HostListeners { proxy_protocol, ..usual::listeners() }.all()
}

pub fn listen(address: &str, flags: &[&str]) -> SiteListen {
    let has = |name: &str| flags.contains(&name);
    SiteListen {
        place: "site:1".to_owned(),
        address: address.parse().expect("an address"),
        default_server: has("default_server"),
        ssl: has("ssl"),
        http2: has("http2"),
        proxy_protocol: has("proxy_protocol"),
        dual_stack: has("ipv6only=off"),
        before_ours: has("first"),
    }
}

/// Sockets as `ADDRESS[!][*]`: `!` for TLS, `*` for our default server.
fn sockets(plan: &Plan) -> String {
    let one = |listen: &crate::Listen| {
        let mark = |set: bool, mark: &'static str| if set { mark } else { "" };
        format!("{}{}{}", listen.address, mark(listen.ssl, "!"), mark(listen.default_server, "*"))
    };
    plan.decisions.listens.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn connections_that_cannot_last_are_reported() {
    let upstream = |number: u32| {
        let part = number.to_string();
        let id = UpstreamId::usual(&part, &part, &part);
        Arc::new(Upstream { id, origin: host(), uid: None, sharers: 1 })
    };
    for (upstreams, connections, keepalive, reported) in
        [(384, Some(768), 32, false), (385, Some(768), 32, true), (385, Some(768), 0, false), (385, None, 32, false)]
    {
        let model = Model { upstreams: (0..upstreams).map(upstream).collect(), ..model() };
        let other_sites = OtherSites { worker_connections: connections, ..OtherSites::default() };
        let options = GateOptions { upstream_keepalive: keepalive, ..GateOptions::default() };
        let findings =
            gate(&model.into(), &Arc::default(), &Capabilities::profile(Version(1, 22, 1)), &other_sites, &options).1;
        let notes: Vec<_> = findings.iter().map(|finding| finding.note.to_string()).collect();
        assert_eq!(
            notes.iter().any(|note| note.contains("worker_connections to at least 1540")),
            reported,
            "{notes:?}"
        );
    }
}

#[test]
fn sockets_live_beside_those_of_other_sites() {
    use Http2::{Directive, Off, Parameter};
    const ALL: &str = "0.0.0.0:80* [::]:80* 0.0.0.0:443!* [::]:443!*";
    type Row<'r> = (Version, &'r [(&'r str, &'r [&'r str])], &'r str, Http2, &'r [Reason]);
    let (old, new) = (Version(1, 22, 1), Version(1, 28, 0));
    let table: &[Row<'_>] = &[
        (old, &[], ALL, Parameter, &[]),
        (new, &[], ALL, Directive, &[]),
        (
            old,
            &[("0.0.0.0:80", &["default_server"])],
            "0.0.0.0:80 [::]:80* 0.0.0.0:443!* [::]:443!*",
            Parameter,
            &[Reason::DefaultServerTaken],
        ),
        // Without `default_server`, the first server of a socket is its default server.
        (
            old,
            &[("0.0.0.0:80", &["first"]), ("0.0.0.0:80", &[])],
            "0.0.0.0:80 [::]:80* 0.0.0.0:443!* [::]:443!*",
            Parameter,
            &[Reason::DefaultServerTaken],
        ),
        (
            old,
            &[("[::]:443", &["first", "ssl", "http2"])],
            "0.0.0.0:80* [::]:80* 0.0.0.0:443!* [::]:443!",
            Parameter,
            &[Reason::DefaultServerTaken],
        ),
        (old, &[("0.0.0.0:80", &[])], ALL, Parameter, &[Reason::HostConflict]),
        (
            old,
            &[("0.0.0.0:80", &[]), ("0.0.0.0:80", &["default_server"])],
            "0.0.0.0:80 [::]:80* 0.0.0.0:443!* [::]:443!*",
            Parameter,
            &[Reason::DefaultServerTaken],
        ),
        (old, &[("0.0.0.0:443", &["ssl"])], ALL, Off, &[Reason::MissingCapability, Reason::HostConflict]),
        (old, &[("0.0.0.0:443", &["ssl", "http2"])], ALL, Parameter, &[Reason::HostConflict]),
        (new, &[("0.0.0.0:443", &["ssl"])], ALL, Directive, &[Reason::HostConflict]),
        (old, &[("0.0.0.0:443", &[])], "0.0.0.0:80* [::]:80* [::]:443!*", Parameter, &[Reason::HostConflict]),
        (
            old,
            &[("[::]:80", &["ipv6only=off"])],
            "[::]:80* 0.0.0.0:443!* [::]:443!*",
            Parameter,
            &[Reason::HostConflict, Reason::HostConflict],
        ),
        (old, &[("10.0.0.1:80", &[])], ALL, Parameter, &[Reason::HostConflict]),
        (old, &[("127.0.0.1:8080", &["default_server"])], ALL, Parameter, &[]),
    ];
    for (version, others, expected, http2, reasons) in table {
        let listens = others.iter().map(|(address, flags)| listen(address, flags)).collect();
        let other_sites = OtherSites { listens, ..OtherSites::default() };
        let (plan, findings) = gate(
            &model().into(),
            &Arc::default(),
            &Capabilities::profile(*version),
            &other_sites,
            &GateOptions::default(),
        );
        let found: Vec<_> = findings.iter().map(|finding| finding.reason).collect();
        assert_eq!(
            (sockets(&plan).as_str(), plan.decisions.http2, &*found),
            (*expected, *http2, *reasons),
            "{others:?}"
        );
    }
}

#[test]
fn without_a_default_certificate_or_the_module_there_is_no_tls() {
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    let bare = |model: Model, capabilities: &Capabilities| {
        sockets(&gate(&model.into(), &Arc::default(), capabilities, &OtherSites::default(), &GateOptions::default()).0)
    };
    let mut lacking = capabilities.clone();
    lacking.modules.remove(&Module::Ssl);
    assert_eq!(bare(Model { listeners: listeners(false), ..Model::default() }, &capabilities), "0.0.0.0:80* [::]:80*");
    assert_eq!(bare(model(), &lacking), "0.0.0.0:80* [::]:80*");
}

#[test]
fn without_an_indispensable_module_nothing_is_served_out_loud() {
    for (module, name) in [
        (Module::Proxy, "ngx_http_proxy_module"),
        (Module::Map, "ngx_http_map_module"),
        (Module::Geo, "ngx_http_geo_module"),
        (Module::Rewrite, "ngx_http_rewrite_module"),
    ] {
        let mut lacking = Capabilities::profile(Version(1, 22, 1));
        lacking.modules.remove(&module);
        let (plan, findings) =
            gate(&model().into(), &Arc::default(), &lacking, &OtherSites::default(), &GateOptions::default());
        let notes: Vec<_> = findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
        let words = format!("nginx has no {name}, so nothing can be served; install an nginx with it");
        assert_eq!((plan, notes), (Plan::default(), vec![(Reason::MissingCapability, &*words)]), "{name}");
    }
}

#[test]
fn the_proxy_protocol_is_spoken_on_whole_sockets() {
    type Row<'r> = (bool, &'r [(&'r str, &'r [&'r str])], Option<&'r str>);
    let rows: &[Row<'_>] = &[
        (true, &[], None),
        (true, &[("0.0.0.0:80", &["default_server", "proxy_protocol"])], None),
        (
            true,
            &[("0.0.0.0:80", &["default_server"])],
            Some("shares 0.0.0.0:80 with the cluster's hosts and has no proxy_protocol"),
        ),
        (
            false,
            &[("[::]:443", &["ssl", "http2", "proxy_protocol", "default_server"])],
            Some("has proxy_protocol on [::]:443"),
        ),
        // Sockets with other addresses and ports do not conflict.
        (true, &[("0.0.0.0:8080", &[]), ("127.0.0.1:81", &[])], None),
        (false, &[("0.0.0.0:8080", &["proxy_protocol"])], None),
    ];
    for (proxy_protocol, others, expected) in rows {
        let listens = others.iter().map(|(address, flags)| listen(address, flags)).collect();
        let other_sites = OtherSites { listens, ..OtherSites::default() };
        let model = Model { listeners: listeners(*proxy_protocol), ..model() };
        let capabilities = Capabilities::profile(Version(1, 22, 1));
        let (plan, findings) =
            gate(&model.into(), &Arc::default(), &capabilities, &other_sites, &GateOptions::default());
        assert!(plan.decisions.listens.iter().all(|listen| listen.proxy_protocol == *proxy_protocol));
        assert_eq!(plan.decisions.listens.len(), 4, "{others:?}");
        let conflicts = findings.iter().filter(|finding| finding.reason == Reason::HostConflict);
        let notes: Vec<_> = conflicts.map(|finding| &*finding.note).collect();
        match expected {
            None => assert_eq!(notes, [""; 0], "{others:?}"),
            Some(words) => assert!(matches!(&*notes, [note] if note.contains(words)), "{others:?}: {notes:?}"),
        }
    }
}

#[test]
fn a_load_balancer_that_is_trusted_by_the_proxy_protocol_is_not_trusted_by_headers() {
    let trusted: Vec<ingressd_model::Cidr> = vec!["10.0.0.0/8".parse().expect("a network")];
    let forwarded = ingressd_model::Forwarded { trusted: trusted.clone(), ..Default::default() };
    let gated = |capabilities: &Capabilities, proxy_protocol| {
        let model = Model { listeners: listeners(proxy_protocol), forwarded: forwarded.clone(), ..model() };
        let (plan, findings) =
            gate(&model.into(), &Arc::default(), capabilities, &OtherSites::default(), &GateOptions::default());
        (plan.model.forwarded.trusted.clone(), plan.decisions.proxies.clone(), findings.len())
    };
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    assert_eq!(gated(&capabilities, false), (trusted.clone(), Vec::new(), 0));
    assert_eq!(gated(&capabilities, true), (Vec::new(), trusted, 0));
    let mut lacking = capabilities;
    lacking.modules.remove(&Module::RealIp);
    assert_eq!(gated(&lacking, true), (Vec::new(), Vec::new(), 1));
}
