//! Which namespace gets what of a shared host, by the age of claims.

use std::sync::Arc;

use super::cluster::{Cluster, of};
use super::manifests::snapshot;
use super::{options, routes, shared};
use crate::{AllowedHosts, Claims, Options, Translation};
use ingressd_objects::{Snapshot, rows};

/// The owner of each path of the first host, as `NAME PATH`, and the findings as `NAME REASON`,
/// without those about missing Services, and without what keeps challenges for the host's owner.
pub fn outcome(translation: &Translation) -> (Vec<String>, Vec<String>) {
    let routes = translation.model.servers.iter().take(1).flat_map(|server| &server.routes);
    let owners =
        routes.zip(routes_written(translation)).map(|(route, path)| format!("{} {path}", route.origin.object.name));
    let owners = owners.filter(|owner| !owner.starts_with("default-backend "));
    let mut findings = super::findings(translation);
    findings.retain(|finding| !finding.ends_with("MissingService"));
    (owners.collect(), findings)
}

fn routes_written(translation: &Translation) -> Vec<String> {
    let lines = routes(translation);
    lines.into_iter().skip(1).map(|line| line.trim().split(" -> ").next().unwrap().to_owned()).collect()
}

pub const HOST: &str = "a.example";

pub fn dated(document: &str, year: u16) -> String {
    document.replace("metadata: {", &format!("metadata: {{creationTimestamp: '{year}-01-01T00:00:00Z', "))
}

#[test]
fn a_host_is_the_namespaces_that_asked_first() {
    for (class, other) in [("ingressd", "nginx"), ("ingressd", "ingressd")] {
        let victim = of("victim", "v", class, HOST, "", &["Prefix /"]);
        let evil = of("evil", "e", other, HOST, "", &["Prefix /", "Exact /login"]);
        for order in [[&dated(&victim, 2025), &dated(&evil, 2026)], [&dated(&evil, 2026), &dated(&victim, 2025)]] {
            let (paths, findings) = outcome(&Cluster::new(options()).now(&order));
            assert_eq!((paths, findings), (vec!["v /".to_owned()], vec!["e HostOwned".to_owned()]), "{class} {other}");
        }
        // However old the new object is, served claims stay.
        let mut cluster = Cluster::new(options());
        cluster.now(&[&dated(&victim, 2025)]);
        let translation = cluster.now(&[&dated(&victim, 2025), &dated(&evil, 2020)]);
        assert_eq!(outcome(&translation), (vec!["v /".to_owned()], vec!["e HostOwned".to_owned()]));
        let accepted: Vec<_> = translation.accepted().map(|(_, one)| (one.hosts.len(), one.routes)).collect();
        assert_eq!(accepted, [(0, 0), (1, 1)], "what is refused is not served");
    }
}

#[test]
fn an_old_object_that_asks_today_is_young_there() {
    for options in [options(), shared()] {
        let victim = dated(&of("victim", "v", "ingressd", HOST, "", &["Prefix /"]), 2026);
        let before = dated(&of("evil", "e", "ingressd", "evil.example", "", &["Prefix /"]), 2020);
        let after = dated(&of("evil", "e", "ingressd", HOST, "", &["Prefix /"]), 2020);
        let mut cluster = Cluster::new(options);
        cluster.now(&[&victim, &before]);
        let (paths, _) = outcome(&cluster.now(&[&victim, &after]));
        assert_eq!(paths, ["v /"]);
        // The same after a restart.
        let lines = serde_json::to_string(&cluster.claims.write().collect::<Vec<_>>()).unwrap();
        cluster.claims = Arc::new(Claims::read(serde_json::from_str::<Vec<_>>(&lines).unwrap()));
        assert_eq!(outcome(&cluster.now(&[&victim, &after])).0, ["v /"]);
    }
}

#[test]
fn a_host_is_reserved_for_a_while() {
    for options in [options(), shared()] {
        let victim = of("victim", "v", "ingressd", HOST, "", &["Prefix /"]);
        let evil = of("evil", "e", "ingressd", HOST, "", &["Prefix /"]);
        let mut cluster = Cluster::new(options);
        cluster.now(&[&victim]);
        cluster.now(&[&victim, &evil]);
        let waits = |cluster: &mut Cluster| outcome(&cluster.now(&[&evil])).0.is_empty();
        assert!(waits(&mut cluster));
        assert_eq!(cluster.due, Some(1_800_000_300));
        cluster.world.now += 299;
        assert!(waits(&mut cluster));
        assert_eq!(outcome(&cluster.now(&[&victim, &evil])).0, ["v /"], "it comes back to what was its own");
        cluster.now(&[&evil]);
        cluster.world.now += 300;
        assert_eq!(outcome(&cluster.now(&[&evil])).0, ["e /"]);
        assert_eq!(cluster.due, None);
        assert_eq!(outcome(&cluster.now(&[&victim, &evil])).0, ["e /"], "then it is the other's");
    }
}

#[test]
fn a_path_is_reserved_since_nobody_asks_for_it() {
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /a", "Prefix /b"]);
    let fewer = of("evil", "e", "nginx", HOST, "", &["Prefix /b"]);
    let victim = of("victim", "v", "nginx", HOST, "", &["Prefix /a"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&evil]);
    cluster.now(&[&evil, &victim]);
    cluster.now(&[&victim]);
    cluster.world.now += 299;
    assert_eq!(outcome(&cluster.now(&[&victim, &fewer])).0, ["e /b"], "the path is still reserved");
    assert_eq!(cluster.due, Some(1_800_000_300));
    cluster.world.now += 1;
    assert_eq!(outcome(&cluster.now(&[&victim, &fewer])).0, ["v /a", "e /b"]);
}

#[test]
fn a_path_comes_back_to_the_namespace_that_was_alone_on_its_host() {
    let victim = of("victim", "v", "nginx", HOST, "", &["Prefix /a"]);
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /a", "Prefix /b"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&victim]);
    assert_eq!(outcome(&cluster.now(&[&evil])).0, [""; 0]);
    assert_eq!(outcome(&cluster.now(&[&victim, &evil])).0, ["v /a", "e /b"]);
}

#[test]
fn a_claim_that_is_refused_reserves_nothing() {
    // Each row: what the victim has, what the attacker asks for in vain, and what the victim asks
    // for then.
    let rows = [
        ("ingressd", HOST, "", "Prefix /b"),
        ("ingressd", "*.example", "", "Prefix /"),
        ("nginx", "*.example", LIST, "Prefix /"),
    ];
    // What the administrator gives to it, it may protect.
    let given = |namespace: &str, host: &str| AllowedHosts {
        namespaces: vec![namespace.into()],
        items: vec![host.parse().unwrap()],
        ..AllowedHosts::default()
    };
    let allowed_hosts = vec![given("victim", "*.example"), given("*", "*")];
    for (class, host, annotations, path) in rows {
        let victim = of("victim", "v", class, host, annotations, &["Prefix /"]);
        let evil = of("evil", "e", class, HOST, "", &[path]);
        let later = of("victim", "w", class, HOST, "", &[path]);
        let mut cluster = Cluster::new(Options { allowed_hosts: allowed_hosts.clone(), ..options() });
        cluster.now(&[&victim]);
        cluster.now(&[&victim, &evil]);
        let (paths, findings) = outcome(&cluster.now(&[&victim, &evil, &later]));
        assert_eq!(
            (&*paths[0], &findings[..]),
            (&*format!("w {}", &path[7..]), &["e HostOwned".to_owned()][..]),
            "{host}"
        );
    } // Nor does it protect anything.
    let wild = of("victim", "v", "ingressd", "*.example", "", &["Prefix /"]);
    let evil = of("evil", "e", "ingressd", "*.example", LIST, &["Prefix /"]);
    let own = of("victim", "w", "ingressd", HOST, "", &["Prefix /"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&wild]);
    cluster.now(&[&wild, &evil]);
    assert_eq!(cluster.now(&[&wild, &evil, &own]).model.servers.len(), 2);
}

#[test]
fn a_host_stays_whose_object_cannot_be_served_now() {
    let victim = of("victim", "v", "ingressd", HOST, "", &["Prefix /"]);
    let evil = of("evil", "e", "ingressd", HOST, "", &["Prefix /"]);
    let broken = of("victim", "v", "ingressd", HOST, "canary: maybe", &["Prefix /"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&victim]);
    for later in [0, 1000, 1000] {
        cluster.world.now += later;
        assert_eq!(outcome(&cluster.now(&[&broken, &evil])).0, [""; 0]);
    }
    // An object that nginx refuses keeps its host, too.
    let mut taken_out = snapshot(&evil);
    *taken_out.withheld.list_mut::<rows::Ingress>() = snapshot(&victim).ingresses;
    for later in [0, 1000, 1000] {
        cluster.world.now += later;
        assert_eq!(outcome(&cluster.read(&taken_out)).0, [""; 0]);
    }
    assert_eq!(outcome(&cluster.now(&[&victim, &evil])).0, ["v /"]);
    // So does one that takes all hosts that no object names.
    let rest = |namespace: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: rest, namespace: {namespace}}}\n\
             spec: {{ingressClassName: ingressd, defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}}}"
        )
    };
    let mut cluster = Cluster::new(options());
    cluster.now(&[&rest("victim")]);
    let mut taken_out = snapshot(&rest("evil"));
    *taken_out.withheld.list_mut::<rows::Ingress>() = snapshot(&rest("victim")).ingresses;
    for later in [0, 1000, 1000] {
        cluster.world.now += later;
        let (_, findings) = outcome(&cluster.read(&taken_out));
        assert_eq!((findings, cluster.due), (vec!["rest HostOwned".to_owned()], None), "{later}");
    }
}

/// Annotations and paths of the victim, then of the later namespace; what is served of both;
/// findings.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

pub const LIST: &str = "allowlist-source-range: 10.0.0.0/8";
pub const REGEX: &str = "use-regex: 'true'";

#[test]
fn paths_of_a_shared_host() {
    let nginx: &[Row] = &[
        ("", &["Prefix /"], "", &["Prefix /login"], &["e /login", "v /"], &["v SharedHost"]),
        (
            "",
            &["Prefix /a"],
            "",
            &["Exact /a", "Prefix /a/", "Prefix /b"],
            &["v /a", "e /b"],
            &["e PathConflict", "e PathConflict"],
        ),
        // Regex mode and expressions apply to one namespace only.
        ("", &["Exact /x", "Prefix /y"], REGEX, &["Prefix /zzz"], &["e ~ /zzz", "v = /x", "v /y"], &[]),
        ("", &["Prefix /"], REGEX, &["Prefix /.*"], &["v /"], &["e PathConflict"]),
        (REGEX, &["Prefix /(.*)"], "", &["Prefix /"], &["v ~ /(.*)"], &["e PathConflict"]),
        (REGEX, &["Prefix /(.*)"], "", &["Prefix /web"], &["e /web", "v ~ /(.*)"], &["v SharedHost"]),
        ("rewrite-target: /$2", &["Prefix /a(/|$)(.*)"], "", &["Prefix /a"], &["v ~ /a(/|$)(.*)"], &["e PathConflict"]),
        (
            "",
            &["Prefix /a"],
            REGEX,
            &["Prefix /a/.*", "Prefix /A/b/"],
            &["e ~ /A/b/", "v /a"],
            &["e PathConflict", "v SharedHost"],
        ),
        // Only paths of objects that ask for it are expressions.
        (REGEX, &["Prefix /v(1)"], "", &["Prefix /("], &["v ~ /v(1)", "e /("], &[]),
        // A protected route loses nothing, and neither does an older one.
        (LIST, &["Prefix /"], "", &["Prefix /login"], &["v /"], &["e PathConflict"]),
        (
            LIST,
            &["Prefix /admin"],
            "",
            &["Prefix /administrator", "Exact /admin/x", "Prefix /"],
            &["e /administrator", "v /admin", "e /"],
            &["e PathConflict"],
        ),
        (LIST, &["Prefix /"], REGEX, &["Prefix /Login"], &["v /"], &["e PathConflict"]),
        (LIST, &["Exact /a"], "", &["Prefix /a/b"], &["v = /a", "e /a/b"], &[]),
        ("", &["Prefix /open"], LIST, &["Prefix /"], &["v /open", "e /"], &[]),
        (
            "allowlist-source-range: nonsense",
            &["Prefix /"],
            "",
            &["Prefix /login"],
            &["v /"],
            &["e PathConflict", "v ClosedRoute", "v InvalidSecurityValue"],
        ),
        (
            REGEX,
            &["Prefix /a/b", "Prefix /a.*long"],
            REGEX,
            &["Prefix /a/c/"],
            &["e ~ /a/c/", "v ~ /a.*long", "v ~ /a/b"],
            &["v SharedHost"],
        ),
        // Expressions that are tried in sequence stay together.
        (
            REGEX,
            &["Prefix /a/b/c", "Prefix /a.*longer"],
            REGEX,
            &["Prefix /a/b"],
            &["v ~ /a.*longer", "v ~ /a/b/c"],
            &["e PathConflict"],
        ),
    ];
    for (number, (annotations, paths, theirs, their_paths, served, reported)) in nginx.iter().enumerate() {
        let victim = of("victim", "v", "nginx", HOST, annotations, paths);
        let evil = dated(&of("evil", "e", "nginx", HOST, theirs, their_paths), 2020);
        let mut cluster = Cluster::new(options());
        cluster.now(&[&victim]);
        let (paths, mut findings) = outcome(&cluster.now(&[&victim, &evil]));
        findings.sort();
        assert_eq!(
            (paths, findings),
            (served.iter().map(ToString::to_string).collect(), reported.iter().map(ToString::to_string).collect()),
            "row {number}"
        );
    }
}

#[test]
fn what_is_taken_for_text_matches_as_text() {
    let victim = of("victim", "v", "nginx", HOST, REGEX, &["Prefix /v(1)"]);
    let plain = of("victim", "w", "nginx", HOST, "", &["Prefix /a.b(", "Exact /c", "ImplementationSpecific /d.*"]);
    let (paths, _) = outcome(&Cluster::new(options()).now(&[&victim, &plain]));
    assert_eq!(paths, ["v ~ /v(1)", "w ~ /a\\.b\\(", "w ~ /d.*", "w ~ /c"]);
}

#[test]
fn the_catch_all_is_the_administrators() {
    let settings = Options { default_backend: Some(("default".into(), "web".into())), ..options() };
    let evil = of("evil", "e", "ingressd", "", "", &["Prefix /", "Prefix /a"]);
    let backend = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: b, namespace: evil}\nspec: {ingressClassName: ingressd, defaultBackend: {service: {name: b, port: {number: 80}}}}\n".to_owned();
    let translation = Cluster::new(settings.clone()).now(&[&evil, &backend]);
    let (paths, findings) = outcome(&translation);
    assert_eq!((paths, findings), (vec!["e /a".to_owned()], vec!["b HostOwned".to_owned(), "e HostOwned".to_owned()]));
    assert!(routes(&translation).contains(&"  else / -> web Http".to_owned()), "{:?}", routes(&translation));
    let named = Options { catch_all: vec!["evil".into()], ..settings };
    assert_eq!(outcome(&Cluster::new(named).now(&[&evil, &backend])).0, ["e /a", "e /"]);
}

#[test]
fn what_is_over_the_limit_of_a_namespace_is_its_own_affair() {
    let mut settings = shared();
    settings.limits.paths_of_host = 2;
    let victim = of("victim", "v", "nginx", HOST, "", &["Prefix /"]);
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /a", "Prefix /b", "Prefix /c"]);
    let listed = of("victim", "w", "nginx", HOST, LIST, &["Prefix /d", "Prefix /e"]);
    let mut cluster = Cluster::new(settings);
    cluster.now(&[&victim]);
    let translation = cluster.now(&[&victim, &evil, &listed]);
    let (paths, findings) = outcome(&translation);
    assert_eq!(paths, ["e /a", "e /b", "w /d", "w /e", "v /"]);
    assert_eq!(findings, ["e TooManyPaths", "v SharedHost", "w TooManyPaths"]);
    assert!(routes(&translation).contains(&"  /e -> 503".to_owned()), "what would be protected is closed");
}

#[test]
fn a_namespace_asks_for_what_the_administrator_lets_it() {
    let wild = of("victim", "v", "ingressd", "*.example", "", &["Prefix /"]);
    let evil = of("evil", "e", "ingressd", HOST, "", &["Prefix /"]);
    let settings = |hosts: &[&str]| Options {
        allowed_hosts: vec![allowed("victim", &["*"]), allowed("evil", hosts)],
        ..options()
    };
    let asks = |hosts: &[&str]| {
        let mut cluster = Cluster::new(settings(hosts));
        cluster.now(&[&wild]);
        let translation = cluster.now(&[&wild, &evil]);
        (translation.model.servers.len(), outcome(&translation).1)
    };
    assert_eq!(asks(&["b.example"]), (1, vec!["e HostNotAllowed".to_owned()]));
    assert_eq!(asks(&["*"]), (1, vec!["e HostOwned".to_owned()]), "all hosts are none within another's wildcard");
    assert_eq!(asks(&[HOST]), (2, Vec::new()));
    // Labels that cannot be read for a moment take nothing away.
    let mut cluster = Cluster::new(settings(&[HOST]));
    cluster.now(&[&evil]);
    let selector = Some("team=a".parse().unwrap());
    cluster.options.allowed_hosts = vec![AllowedHosts { selector, ..allowed("evil", &[HOST]) }];
    assert_eq!(outcome(&cluster.now(&[&evil])).0, ["e /"]);
    let (paths, findings) = outcome(&Cluster::new(cluster.options.clone()).now(&[&evil]));
    assert_eq!((paths.len(), findings), (0, vec!["e HostNotAllowed".to_owned()]));
    // A namespace that may not have a host has no claim on it that could age.
    let mut cluster = Cluster::new(settings(&["b.example"]));
    cluster.now(&[&evil]);
    let victim = of("victim", "v", "ingressd", HOST, "", &["Prefix /"]);
    assert_eq!(outcome(&cluster.now(&[&victim, &evil])).0, ["v /"]);
}

pub fn allowed(namespace: &str, hosts: &[&str]) -> AllowedHosts {
    AllowedHosts {
        namespaces: vec![namespace.into()],
        items: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        ..AllowedHosts::default()
    }
}

#[test]
fn a_claim_without_paths_makes_no_path_old() {
    let victim = |paths: &[&str]| of("victim", "v", "nginx", HOST, "", paths);
    let evil = |paths: &[&str]| of("evil", "e", "nginx", HOST, "", paths);
    let listed = of("victim", "w", "nginx", HOST, LIST, &["Prefix /private"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&victim(&["Prefix /"])]);
    cluster.now(&[&victim(&["Prefix /"]), &evil(&[])]);
    cluster.now(&[&victim(&["Prefix /"]), &evil(&[]), &listed]);
    let (paths, findings) = outcome(&cluster.now(&[&victim(&["Prefix /"]), &evil(&["Prefix /private"]), &listed]));
    assert_eq!((paths, findings), (vec!["w /private".to_owned(), "v /".to_owned()], vec!["e PathConflict".to_owned()]));
}

#[test]
fn paths_of_a_shared_host_stay_whose_object_cannot_be_served_now() {
    let victim = of("victim", "v", "nginx", HOST, "", &["Prefix /", "Prefix /a"]);
    let broken = of("victim", "v", "nginx", HOST, "canary: maybe", &["Prefix /", "Prefix /a"]);
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /", "Prefix /a", "Prefix /b"]);
    for with_company in [false, true] {
        let mut cluster = Cluster::new(options());
        cluster.now(&[&victim]);
        if with_company {
            cluster.now(&[&victim, &evil]);
        }
        for later in [0, 1000, 1000] {
            cluster.world.now += later;
            assert_eq!(outcome(&cluster.now(&[&broken, &evil])).0, ["e /b"]);
        }
        assert_eq!(outcome(&cluster.now(&[&victim, &evil])).0, ["v /a", "e /b", "v /"]);
    }
}

#[test]
fn nobody_speaks_for_a_host_whose_owner_is_away() {
    let victim = of("victim", "v", "nginx", HOST, "", &["Prefix /shop"]);
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /b"]).replace(
        "rules: [",
        "defaultBackend: {service: {name: e, port: {number: 80}}}, tls: [{hosts: [a.example], secretName: none}], rules: [",
    );
    let mut cluster = Cluster::new(options());
    cluster.now(&[&victim]);
    cluster.now(&[&victim, &evil]);
    let translation = cluster.now(&[&evil]);
    assert_eq!(routes(&translation)[1..], ["  /b -> 503", "  else / -> 404"]);
}

#[test]
fn a_path_that_cannot_be_an_expression_closes_what_begins_like_it() {
    let victim = of("victim", "v", "nginx", HOST, "", &["Prefix /", "Prefix /admin/x"]);
    let listed = of(
        "victim",
        "w",
        "nginx",
        HOST,
        "use-regex: 'true', allowlist-source-range: 10.0.0.0/8",
        &["ImplementationSpecific /admin/(a+)+x", "ImplementationSpecific /ok.*"],
    );
    let translation = Cluster::new(options()).now(&[&victim, &listed]);
    assert_eq!(outcome(&translation).0, ["v ~ /admin/x", "w ~ /ok.*", "w ~ /admin/a", "v ~ /"]);
    assert!(routes(&translation).contains(&"  ~ /admin/a -> 503".to_owned()));
}

#[test]
fn so_many_claims_are_reserved_and_no_more() {
    let mut claims: Vec<_> = (0..20_000)
        .map(|number| serde_json::json!({"host": format!("h{number}.example"), "namespace": "evil", "number": number, "exclusive": true}))
        .collect();
    claims.push(serde_json::json!({"host": HOST, "namespace": "victim", "number": 20_000, "exclusive": true}));
    let claims = claims.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect::<Vec<_>>();
    let mut cluster = Cluster::new(options());
    cluster.claims = Arc::new(Claims::read(claims));
    cluster.read(&Snapshot::default());
    assert_eq!(cluster.claims.write().count(), 10_001);
}

/// Attacks on shared hosts: what exists before, and which route answers the victim's path
/// afterwards.
#[test]
fn what_an_attacker_tried() {
    let victim = |paths: &[&str]| of("victim", "v", "nginx", HOST, "", paths);
    let listed = of("victim", "w", "nginx", HOST, LIST, &["Prefix /new"]);
    let evil = |annotations: &str, paths: &[&str]| of("evil", "e", "nginx", HOST, annotations, paths);
    // What the attacker claims first and last; the owner of each path then.
    type Attempt = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);
    let rows: &[Attempt] = &[
        (REGEX, &["Prefix /mine/"], &["Prefix /mine/", "Prefix /new.*"], &["e ~ /mine/", "w /new", "v /"]),
        (REGEX, &["Prefix /mine/"], &["Prefix /zzz[x[:alpha:](]|/"], &["w /new", "v /"]),
        (REGEX, &["Prefix /ne(zzz)"], &["Prefix /ne(zzz)", "Prefix /new.*"], &["w /new", "v /"]),
        ("", &[], &["Prefix /new"], &["w /new", "v /"]),
        // The older claim keeps its paths, and the rest of what should be protected is closed.
        ("", &["Exact /new"], &["Exact /new"], &["e = /new", "w /new", "v /"]),
    ];
    for (number, (annotations, first, last, expected)) in rows.iter().enumerate() {
        let mut cluster = Cluster::new(options());
        cluster.now(&[&victim(&["Prefix /"])]);
        cluster.now(&[&victim(&["Prefix /"]), &evil(annotations, first)]);
        cluster.now(&[&victim(&["Prefix /"]), &evil(annotations, first), &listed]);
        let translation = cluster.now(&[&victim(&["Prefix /"]), &evil(annotations, last), &listed]);
        assert_eq!(outcome(&translation).0, *expected, "row {number}");
    }
    // A claim without a path reserves none.
    let mut cluster = Cluster::new(options());
    cluster.now(&[&evil("", &[])]);
    cluster.now(&[&evil("", &[]), &victim(&["Prefix /"])]);
    assert_eq!(outcome(&cluster.now(&[&victim(&["Prefix /"])])).0, ["v /"]);
    // Another class does not make a shared host exclusive.
    let mut cluster = Cluster::new(options());
    cluster.now(&[&evil("", &["Prefix /e"])]);
    cluster.now(&[&evil("", &["Prefix /e"]), &victim(&["Prefix /"])]);
    let switched = of("evil", "e", "ingressd", HOST, "", &["Prefix /e"]);
    assert_eq!(outcome(&cluster.now(&[&switched, &victim(&["Prefix /"])])).0, ["e /e", "v /"]);
    // A default backend is a claim on requests that no path matches.
    let own = victim(&["Prefix /here"])
        .replace("rules: [", "defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [");
    let mut cluster = Cluster::new(options());
    cluster.now(&[&own]);
    for annotations in ["", LIST] {
        let translation = cluster.now(&[&own, &evil(annotations, &["Prefix /"])]);
        assert_eq!(outcome(&translation).0, ["v /here"], "{annotations}");
    }
    // A path that is closed for one namespace takes nothing from another.
    let exact = victim(&["Exact /"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&exact]);
    assert_eq!(outcome(&cluster.now(&[&exact, &evil(LIST, &["Prefix /"])])).0, ["v = /"]);
}

#[test]
fn what_may_not_be_asked_for_is_not_kept_either() {
    let allowed = |namespace: &str, hosts: &[&str]| AllowedHosts {
        namespaces: vec![namespace.into()],
        items: hosts.iter().map(|host| host.parse().unwrap()).collect(),
        ..AllowedHosts::default()
    };
    let broken = of("evil", "e", "ingressd", HOST, "canary: maybe", &["Prefix /"]);
    let victim = of("victim", "v", "ingressd", HOST, "", &["Prefix /"]);
    let hosts = vec![allowed("victim", &["*"]), allowed("evil", &["given.example"])];
    let mut cluster = Cluster::new(Options { allowed_hosts: hosts, ..options() });
    cluster.now(&[&broken]);
    assert_eq!(outcome(&cluster.now(&[&broken, &victim])).0, ["v /"]);
}
#[test]
fn nothing_passes_what_is_protected() {
    let evil = of("evil", "e", "nginx", HOST, "", &["Exact /A"]);
    for (annotations, served) in
        [("", ["w ~ /a/b/", "e = /A", "v ~ /(a|b)"].as_slice()), (LIST, &["e = /A", "v ~ /(a|b)"])]
    {
        let victim = of("victim", "v", "nginx", HOST, &format!("{REGEX}, {annotations}"), &["Prefix /(a|b)"]);
        let open = of("victim", "w", "nginx", HOST, "", &["Prefix /a/b/"]);
        let mut cluster = Cluster::new(options());
        cluster.now(&[&evil]);
        cluster.now(&[&evil, &victim]);
        assert_eq!(outcome(&cluster.now(&[&evil, &victim, &open])).0, served, "{annotations}");
    }
}

#[test]
fn what_is_closed_takes_nothing_from_others() {
    // What the victim protects or has first, what the attacker has, and which protected path of
    // the attacker is refused.
    type Closed = (
        &'static str,
        &'static [&'static str],
        &'static str,
        &'static [&'static str],
        &'static str,
        &'static [&'static str],
    );
    let rows: &[Closed] = &[
        (LIST, &["Prefix /a"], "", &["Prefix /"], "Prefix /a/b", &["v /a", "e /"]),
        (LIST, &["Prefix /a"], "", &["Prefix /"], "Exact /a/b", &["v /a", "e /"]),
        ("", &["Exact /a"], "", &["Prefix /"], "Exact /a", &["v = /a", "e /"]),
        ("", &["Exact /a"], "", &["Prefix /"], "Prefix /a", &["v = /a", "f /a", "e /"]),
        (LIST, &["Prefix /a"], "", &["Prefix /a/b"], "Prefix /a/b/c", &["v /a"]),
        (LIST, &["Prefix /a"], REGEX, &["Prefix /.*"], "Prefix /a/b", &["v /a", "e ~ /.*"]),
    ];
    for (number, (annotations, paths, theirs, their_paths, refused, served)) in rows.iter().enumerate() {
        let victim = of("victim", "v", "nginx", HOST, annotations, paths);
        let evil = of("evil", "e", "nginx", HOST, theirs, their_paths);
        let closed = of("evil", "f", "nginx", HOST, LIST, &[refused]);
        let mut cluster = Cluster::new(options());
        cluster.now(&[&victim]);
        cluster.now(&[&victim, &evil]);
        assert_eq!(outcome(&cluster.now(&[&victim, &evil, &closed])).0, *served, "row {number}");
    }
}
