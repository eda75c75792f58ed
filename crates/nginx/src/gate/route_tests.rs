//! What the gate does with routes that an nginx cannot serve or protect as asked.

use super::*;
use crate::usual;
use crate::{RuleFiles, SiteName};
use ingressd_model::catalogue::{CLIENT_MAX_BODY_SIZE, DirectiveRow, PROXY_READ_TIMEOUT, SSL_CIPHERS, Version};
use ingressd_model::{
    AccessList, Action, AuthenticationPolicy, BasicAuthentication, Behaviour, CertificateId, ClientLimits, Directive,
    ExternalAuthentication, Firewall, Handler, HeaderName, HostListeners, HostName, LimitRate, PasswordFileId,
    PathMatch, Protocol, Route, Server, ServerName, Template, Text, Upstream, UpstreamId, UpstreamIdentity, UrlPath,
};

/// A directive that protects and that no nginx knows.
static GUARD: DirectiveRow =
    DirectiveRow { name: "guard", since: Version(9, 0, 0), security: true, ..CLIENT_MAX_BODY_SIZE };
/// A directive that does not protect and that no nginx knows.
static EXTRA: DirectiveRow = DirectiveRow { security: false, ..GUARD };

fn upstream(service: &str, protocol: Protocol) -> UpstreamId {
    UpstreamIdentity { protocol, ..UpstreamIdentity::usual("default", service, "80") }.into()
}

/// A model with one host with this action and behaviour, and the Service `web`.
fn model(action: Action, behaviour: Behaviour) -> Model {
    let origin = host();
    let path = PathMatch::Prefix { path: UrlPath::new("/").unwrap(), redirect_to_slash: false };
    let handler = Handler { origin: origin.clone(), action, behaviour: Arc::new(behaviour), errors: None };
    let fallback = Route::new(path, handler);
    let server = Server::usual(ServerName::Exact(HostName::new("a.example").unwrap()), fallback);
    let upstreams = [Protocol::Http, Protocol::Grpc].map(|protocol| {
        Arc::new(Upstream { id: upstream("web", protocol), origin: origin.clone(), uid: None, sharers: 1 })
    });
    let listeners = HostListeners { https_port: 0, ..usual::listeners() }.all();
    Model { listeners, servers: vec![Arc::new(server)], upstreams: upstreams.into(), ..Model::default() }
}

fn proxy(service: &str, protocol: Protocol) -> Action {
    Action::Proxy { upstream: upstream(service, protocol), split: None }
}

fn limits(rates: Vec<(LimitRate, u32)>, connections: Option<u32>) -> Behaviour {
    let limits = ClientLimits { origin: host(), rates, connections, exempt: Vec::new() };
    Behaviour { limits: Some(Arc::new(limits)), ..Behaviour::default() }
}

fn directive(row: &'static DirectiveRow) -> Behaviour {
    let directives = vec![Directive { row, arguments: Vec::new(), origin: host() }];
    Behaviour { directives, ..Behaviour::default() }
}

fn authentication() -> Behaviour {
    let file = PasswordFileId { secret: Arc::new(ObjectId::new(Kind::SECRET, "default", "users")), map: false };
    let basic = BasicAuthentication { realm: Text::new("realm").unwrap(), file };
    Behaviour { basic_authentication: Some(Arc::new(basic)), ..Behaviour::default() }
}

/// An authentication service of whose answers the backend gets these headers.
fn external(response_headers: &[&str]) -> Behaviour {
    let nothing = || Template::new(Vec::new()).unwrap();
    let policy = AuthenticationPolicy {
        host: nothing(),
        target: nothing(),
        method: HeaderName::new("GET").unwrap(),
        sign_in: None,
        response_headers: response_headers.iter().map(|name| HeaderName::new(name).unwrap()).collect(),
        request_headers: Vec::new(),
        request_redirect: None,
        memory: None,
        always_sets_cookie: false,
    };
    let service = upstream("web", Protocol::Http);
    let external = ExternalAuthentication { origin: host(), service, policy: Arc::new(policy) };
    Behaviour { external_authentication: Some(Arc::new(external)), ..Behaviour::default() }
}

#[test]
fn what_cannot_be_served_or_protected_is_closed() {
    use Protocol::{Grpc, Http};
    let asked = Origin::object(&Arc::new(ObjectId::new(Kind::INGRESS, "default", "web")));
    let list = || Behaviour {
        access: Some(Arc::new(AccessList::new(asked.clone(), Vec::new(), Vec::new()))),
        ..Behaviour::default()
    };
    let rate = || limits(vec![(LimitRate::PerSecond(1), 0)], None);
    let none = Behaviour::default;
    type Row = (Action, Behaviour, Option<Module>, bool, Option<Reason>);
    let rows: Vec<Row> = vec![
        (proxy("web", Http), none(), None, true, None),
        (proxy("web", Http), list(), None, true, None),
        (proxy("web", Http), list(), Some(Module::Access), false, Some(Reason::ClosedRoute)),
        (proxy("web", Http), rate(), Some(Module::LimitReq), false, Some(Reason::ClosedRoute)),
        (proxy("web", Http), rate(), Some(Module::LimitConn), true, None),
        (proxy("web", Http), limits(Vec::new(), Some(1)), Some(Module::LimitConn), false, Some(Reason::ClosedRoute)),
        (proxy("web", Http), authentication(), Some(Module::AuthBasic), false, Some(Reason::ClosedRoute)),
        // The password file of the route is not in the model.
        (proxy("web", Http), authentication(), None, false, Some(Reason::ClosedRoute)),
        (proxy("web", Grpc), none(), Some(Module::Grpc), false, Some(Reason::MissingCapability)),
        (proxy("web", Http), none(), Some(Module::Grpc), true, None),
        (proxy("nobody", Http), none(), None, false, Some(Reason::MissingService)),
        (proxy("web", Http), directive(&GUARD), None, false, Some(Reason::ClosedRoute)),
        (proxy("web", Http), directive(&EXTRA), None, true, Some(Reason::MissingCapability)),
        (proxy("web", Http), directive(&PROXY_READ_TIMEOUT), None, true, None),
        // This version has only the first of several headers with one name.
        (proxy("web", Http), external(&["X-Groups"]), None, true, Some(Reason::MissingCapability)),
        (proxy("web", Http), external(&[]), None, true, None),
    ];
    for (number, (action, behaviour, lacking, open, reason)) in rows.into_iter().enumerate() {
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        lacking.inspect(|module| _ = capabilities.modules.remove(module));
        let (plan, findings) = gate(
            &model(action, behaviour).into(),
            &Arc::default(),
            &capabilities,
            &OtherSites::default(),
            &GateOptions::default(),
        );
        let fallback = &plan.model.servers[0].fallback;
        let found: Vec<_> = findings.iter().map(|finding| finding.reason).collect();
        assert_eq!(found, Vec::from_iter(reason), "row {number}: {findings:?}");
        assert_eq!(fallback.action != Action::Closed, open, "row {number}");
        assert!(open || *fallback.behaviour == Behaviour::default(), "row {number}");
        let left_out = |directive: &Directive| directive.row.since <= capabilities.version;
        assert!(fallback.behaviour.directives.iter().all(left_out), "row {number}");
    }
}

fn firewall(core_rules: bool) -> Behaviour {
    let firewall = Firewall { core_rules, transaction: None, settings: Vec::new(), shares_rules: false };
    Behaviour { firewall: Some(Arc::new(firewall)), ..Behaviour::default() }
}

#[test]
fn a_route_without_its_firewall_or_its_rules_is_closed() {
    let options = GateOptions::default();
    let (rules, core_rules) = (&options.firewall.rules[0], &options.firewall.core_rules[2]);
    let http = |name: &str| [name.to_owned()].into();
    let sites = |missing: &[&RuleFiles]| OtherSites {
        missing_rules: missing.iter().map(|file| (*file).clone()).collect(),
        ..OtherSites::default()
    };
    // Each row: whether the OWASP rules are asked for, whether nginx has the module, what is
    // missing, and what the finding says.
    let rows = [
        (false, true, sites(&[]), ""),
        (true, true, sites(&[]), ""),
        (false, false, sites(&[]), "libnginx-mod-http-modsecurity"),
        (false, true, sites(&[rules]), "no /etc/nginx/modsecurity.conf"),
        (true, true, sites(&[core_rules]), "modsecurity-crs"),
        (false, true, sites(&[core_rules]), ""),
        (false, true, OtherSites { http_directives: http("modsecurity_rules_file"), ..sites(&[rules]) }, ""),
    ];
    for (core, has_module, other_sites, expected) in rows {
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        capabilities.modules.extend(has_module.then_some(Module::ModSecurity));
        let model = model(proxy("web", Protocol::Http), firewall(core));
        let (plan, findings) = gate(&model.into(), &Arc::default(), &capabilities, &other_sites, &options);
        let is_closed = plan.model.servers[0].fallback.action == Action::Closed;
        assert_eq!(is_closed, !expected.is_empty(), "{other_sites:?}");
        assert_eq!(findings.len(), usize::from(is_closed), "{findings:?}");
        assert!(findings.iter().all(|finding| finding.note.contains(expected)), "{findings:?}");
    }
}

#[test]
fn rules_are_shared_unless_a_site_has_its_own() {
    let mut options = GateOptions::default();
    options.firewall.shared = true;
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    for (place, reported) in [(None, 0), (Some("site:7"), 1)] {
        let other_sites = OtherSites { firewall_rules: place.map(str::to_owned), ..OtherSites::default() };
        let model = model(proxy("web", Protocol::Http), Behaviour::default());
        let (plan, findings) = gate(&model.into(), &Arc::default(), &capabilities, &other_sites, &options);
        assert_eq!((plan.decisions.firewall.shared, findings.len()), (reported == 0, reported), "{findings:?}");
    }
}

#[test]
fn what_is_lacking_to_choose_backends_is_reported_and_left_out() {
    use ingressd_model::{Balance, Branch, Choice, HeaderValue, RewriteTarget, Share, Split, Test};
    let test = || Test::Cookie(HeaderName::new("c").unwrap(), HeaderValue::new("always").unwrap());
    let split = |branches: usize, shares: usize| {
        let web = || upstream("web", Protocol::Http);
        Some(Arc::new(Split {
            origin: host(),
            branches: (0..branches).map(|_| Branch { all: vec![test()], then: Choice::Forward(web()) }).collect(),
            session: None,
            shares: (0..shares).map(|_| (Choice::Forward(web()), Share::of(1, 2))).collect(),
        }))
    };
    let left = |split: Option<Arc<Split>>, lacking: Module| {
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        capabilities.modules.remove(&lacking);
        let action = Action::Proxy { upstream: upstream("web", Protocol::Http), split };
        let (plan, findings) = gate(
            &model(action, Behaviour::default()).into(),
            &Arc::default(),
            &capabilities,
            &OtherSites::default(),
            &GateOptions::default(),
        );
        let split =
            plan.model.servers[0].fallback.action.split().map(|split| (split.branches.len(), split.shares.len()));
        (split, findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), plan.decisions.upstream_hash)
    };
    let missing = vec![Reason::MissingCapability];
    assert_eq!(left(split(1, 1), Module::Mirror), (Some((1, 1)), Vec::new(), true));
    assert_eq!(left(split(1, 1), Module::SplitClients), (Some((1, 0)), missing.clone(), true));
    assert_eq!(left(split(0, 1), Module::SplitClients), (None, missing.clone(), true));
    assert_eq!(left(split(1, 0), Module::SplitClients), (Some((1, 0)), Vec::new(), true));
    let key = || RewriteTarget::new(Vec::new()).unwrap();
    for (balance, lacking) in [
        (Balance::SharedKey(key(), 3), Module::UpstreamHash),
        (Balance::SharedKey(key(), 3), Module::SplitClients),
        (Balance::Named(HeaderName::new("a").unwrap()), Module::UpstreamHash),
        (Balance::TwoByChance, Module::UpstreamRandom),
    ] {
        let mut capabilities = Capabilities::profile(Version(1, 22, 1));
        capabilities.modules.remove(&lacking);
        let web = UpstreamIdentity::usual("default", "web", "80");
        let balanced: UpstreamId = UpstreamIdentity { balance: Some(Arc::new(balance)), ..web }.into();
        let mut model = model(Action::Proxy { upstream: balanced.clone(), split: None }, Behaviour::default());
        model.upstreams = vec![Arc::new(Upstream { id: balanced, origin: host(), uid: None, sharers: 1 })];
        let (_, findings) =
            gate(&model.into(), &Arc::default(), &capabilities, &OtherSites::default(), &GateOptions::default());
        assert_eq!(findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), missing, "{lacking:?}");
    }
    let by_key = Balance::Key(key());
    let web = UpstreamIdentity::usual("default", "web", "80");
    let keyed: UpstreamId = UpstreamIdentity { balance: Some(Arc::new(by_key)), ..web }.into();
    let mut model = model(Action::Proxy { upstream: keyed.clone(), split: None }, Behaviour::default());
    model.upstreams.push(Arc::new(Upstream { id: keyed, origin: host(), uid: None, sharers: 1 }));
    model.upstreams.sort_by(|one, other| one.id.cmp(&other.id));
    let mut capabilities = Capabilities::profile(Version(1, 22, 1));
    capabilities.modules.remove(&Module::UpstreamHash);
    let (plan, findings) =
        gate(&model.into(), &Arc::default(), &capabilities, &OtherSites::default(), &GateOptions::default());
    assert_eq!(findings.iter().map(|finding| finding.reason).collect::<Vec<_>>(), missing);
    assert!(!plan.decisions.upstream_hash && plan.model.servers[0].fallback.action.upstream().is_some());
}

#[test]
fn directives_of_a_host_are_left_out_where_nginx_does_not_know_them() {
    let with = |row: &'static DirectiveRow| {
        let mut model = model(proxy("web", Protocol::Http), Behaviour::default());
        let directives = vec![Directive { row, arguments: Vec::new(), origin: host() }];
        model.servers = vec![Arc::new(Server { directives, ..Server::clone(&model.servers[0]) })];
        let capabilities = Capabilities::profile(Version(1, 22, 1));
        let (plan, findings) =
            gate(&model.into(), &Arc::default(), &capabilities, &OtherSites::default(), &GateOptions::default());
        let server = &plan.model.servers[0];
        (server.directives.len(), server.fallback.action == Action::Closed, findings.first().map(|found| found.reason))
    };
    assert_eq!(with(&SSL_CIPHERS), (1, false, None));
    assert_eq!(with(&EXTRA), (0, false, Some(Reason::MissingCapability)));
    assert_eq!(with(&GUARD), (0, true, Some(Reason::ClosedRoute)));
}

#[test]
fn a_name_that_another_site_has_stays_with_it() {
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    // On a port that is not ours the name does not matter.
    for (name, port, taken) in
        [("a.example", 80, true), ("a.example", 8080, false), ("b.example", 80, false), ("*.example", 80, true)]
    {
        let sockets = [([0, 0, 0, 0], port).into()].into();
        let site = SiteName { place: "site:1".to_owned(), name: name.to_owned(), sockets, before_ours: false };
        let other_sites = OtherSites { server_names: vec![site], ..OtherSites::default() };
        let model = model(proxy("web", Protocol::Http), Behaviour::default());
        let (plan, findings) =
            gate(&model.into(), &Arc::default(), &capabilities, &other_sites, &GateOptions::default());
        let found: Vec<_> = findings.iter().map(|finding| finding.reason).collect();
        assert_eq!(found, Vec::from_iter(taken.then_some(Reason::HostConflict)), "{name} on port {port}");
        assert_eq!(plan.model.servers.is_empty(), taken, "{name} on port {port}");
    }
}

#[test]
fn every_server_names_its_certificate_when_the_host_names_one_for_all_sites() {
    for (directive, expected) in [("gzip", false), ("ssl_certificate", true)] {
        let other_sites = OtherSites { http_directives: [directive.to_owned()].into(), ..OtherSites::default() };
        let capabilities = Capabilities::profile(Version(1, 22, 1));
        let (plan, _) = gate(&Arc::default(), &Arc::default(), &capabilities, &other_sites, &GateOptions::default());
        assert_eq!(plan.decisions.explicit_certificates, expected, "{directive}");
    }
}

#[test]
fn a_certificate_that_is_not_there_is_replaced_by_the_default() {
    let mut lost = model(proxy("web", Protocol::Http), Behaviour::default());
    let mut server = (*lost.servers[0]).clone();
    server.tls = TlsTermination::Own(CertificateId::SelfSigned);
    lost.servers = vec![Arc::new(server)];
    let capabilities = Capabilities::profile(Version(1, 22, 1));
    let (plan, _) = gate(&lost.into(), &Arc::default(), &capabilities, &OtherSites::default(), &GateOptions::default());
    assert_eq!(plan.model.servers[0].tls, TlsTermination::DefaultDeclared);
}
