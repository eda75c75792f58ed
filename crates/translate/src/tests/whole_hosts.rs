//! What an object asks for by annotations about a whole host, beside the paths of other
//! namespaces: it has an age like a path.

use super::cluster::{Cluster, of};
use super::{findings, options, routes, shared};
use crate::value::host;
use crate::{ANNOTATIONS, OptionEntry, Options, Translation};
use ingressd_model::{Field, Kind, ObjectId, Origin};

const HOST: &str = "a.example";
const COUNTERPART: &str = "www.a.example";
const REDIRECTS: &str = "from-to-www-redirect: 'true'";

fn victim(annotations: &str, paths: &[&str]) -> String {
    of("victim", "web", "nginx", HOST, annotations, paths)
}

fn evil(host: &str, annotations: &str, paths: &[&str]) -> String {
    of("evil", "e", "nginx", host, annotations, paths)
}

/// The line with what answers requests of a host that no path takes.
fn rest_of(translation: &Translation, host: &str) -> Option<String> {
    let lines = routes(translation);
    let mut lines = lines.iter().skip_while(|line| *line != host).skip(1);
    lines.find(|line| line.starts_with("  else")).map(|line| line.trim().replace("else / -> ", ""))
}

const TO_HOST: Option<&str> = Some("308 to a.example");

#[test]
fn a_redirect_between_hosts_is_a_claim_with_an_age() {
    let shop = victim(REDIRECTS, &["Prefix /"]);
    for (options, reported) in [(options(), "e HostOwned"), (shared(), "e PathConflict")] {
        let exclusive = reported == "e HostOwned";
        let name = if exclusive { "ingressd" } else { "nginx" };
        let class =
            |document: String| document.replace("ingressClassName: nginx", &format!("ingressClassName: {name}"));
        let shop = class(shop.clone());
        let mut cluster = Cluster::new(options);
        assert_eq!(rest_of(&cluster.now(&[&shop]), COUNTERPART).as_deref(), TO_HOST);
        // Neither a rule of another namespace takes it, nor an older object with the same request.
        for attack in [evil(COUNTERPART, "", &["Prefix /"]), evil(HOST, REDIRECTS, &["Prefix /evil"])].map(class) {
            for _ in 0..2 {
                let old = attack.replace("metadata: {", "metadata: {creationTimestamp: '2001-01-01T00:00:00Z', ");
                let translation = cluster.now(&[&shop, &old]);
                assert_eq!(rest_of(&translation, COUNTERPART).as_deref(), TO_HOST, "{attack}");
                assert!(attack.contains(REDIRECTS) || findings(&translation).contains(&reported.to_owned()));
                cluster.advance(301);
            }
        }
        // It stays while the object that asks for it is away for a moment.
        let rule = class(evil(COUNTERPART, "", &["Prefix /"]));
        assert_ne!(rest_of(&cluster.now(&[&rule]), COUNTERPART).as_deref(), TO_HOST);
        assert!(findings(&cluster.now(&[&rule])).iter().any(|line| line.starts_with("e ")), "the host is reserved");
        assert_eq!(rest_of(&cluster.now(&[&shop, &rule]), COUNTERPART).as_deref(), TO_HOST);
        // A host that another namespace has is not redirected.
        let mut cluster = Cluster::new(cluster.options);
        cluster.now(&[&rule]);
        let translation = cluster.now(&[&shop, &rule]);
        assert_ne!(rest_of(&translation, COUNTERPART).as_deref(), TO_HOST);
        let reported = if exclusive { "web HostOwned" } else { "web HostRuleConflict" };
        assert!(findings(&translation).contains(&reported.to_owned()), "{:?}", findings(&translation));
        // It stays reserved for that one, also where a third one has a path of it.
        let guest = class(of("guest", "g", "nginx", COUNTERPART, "", &["Prefix /guest"]));
        for others in [&[&shop][..], &[&shop, &guest]] {
            assert_ne!(rest_of(&cluster.now(others), COUNTERPART).as_deref(), TO_HOST);
        }
        // Where neither was there before, a rule goes first, also before an object that cannot be
        // served.
        let wrong = class(victim(&format!("{REDIRECTS}, {WRONG}"), &["Prefix /"]));
        for shop in [&shop, &wrong] {
            let old = shop.replace("metadata: {", "metadata: {creationTimestamp: '2001-01-01T00:00:00Z', ");
            let translation = Cluster::new(cluster.options.clone()).now(&[&old, &rule]);
            assert_ne!(rest_of(&translation, COUNTERPART).as_deref(), TO_HOST);
            assert!(routes(&translation).contains(&COUNTERPART.to_owned()), "{:?}", findings(&translation));
        }
    }
}

/// The same object with a default backend.
fn taking_the_rest(document: &str) -> String {
    document.replace("rules: [", "defaultBackend: {service: {name: web, port: {number: 80}}}, rules: [")
}

/// Namespace and path of the routes of a host.
fn owners(translation: &Translation, host: &str) -> Vec<String> {
    let name = host::of_rule(Some(host)).unwrap();
    let server = translation.model.servers.iter().find(|server| server.name == name);
    let routes = server.into_iter().flat_map(|server| &server.routes);
    routes.map(|route| format!("{} {:?}", route.origin.object.namespace, route.path)).collect()
}

/// Whether the other namespace has the path `/` of a host.
fn has_root(translation: &Translation, host: &str) -> bool {
    owners(translation, host).iter().any(|line| line.starts_with("evil ") && line.contains("\"/\""))
}

#[test]
fn whatever_takes_all_other_requests_of_a_host_is_a_claim_with_an_age() {
    let (start, shop) = (evil(HOST, "", &["Prefix /evil"]), victim("", &["Prefix /", "Prefix /deep"]));
    // Whoever has the host takes no path that another namespace has, protected or not.
    for protection in ["", "allowlist-source-range: '10.0.0.0/8'"] {
        let mut cluster = Cluster::new(shared());
        cluster.now(&[&start]);
        let before = owners(&cluster.now(&[&start, &shop]), HOST);
        let later = taking_the_rest(&evil(HOST, protection, &["Prefix /evil"]));
        for _ in 0..2 {
            let translation = cluster.now(&[&later, &shop]);
            let reported = findings(&translation);
            assert_eq!(owners(&translation, HOST), before, "{reported:?}");
            assert!(
                reported.contains(&"e PathConflict".to_owned()) && !reported.contains(&"web PathConflict".to_owned())
            );
            cluster.advance(301);
        }
    }
    let on_counterpart =
        |annotations: &str, paths: &[&str]| of("victim", "web", "nginx", COUNTERPART, annotations, paths);
    let (start, shop) = (evil(COUNTERPART, "", &["Prefix /evil"]), on_counterpart("", &["Prefix /", "Prefix /deep"]));
    let mut cluster = Cluster::new(shared());
    cluster.now(&[&start]);
    let of_victim = |translation: &Translation| {
        owners(translation, COUNTERPART).into_iter().filter(|line| line.starts_with("victim ")).collect::<Vec<_>>()
    };
    let before = of_victim(&cluster.now(&[&start, &shop]));
    let later = evil(HOST, REDIRECTS, &["Prefix /"]);
    for _ in 0..2 {
        let translation = cluster.now(&[&later, &shop]);
        assert_eq!((of_victim(&translation), before.len()), (before.clone(), 2));
        assert!(findings(&translation).contains(&"e HostRuleConflict".to_owned()), "{:?}", findings(&translation));
        cluster.advance(301);
    }
}

#[test]
fn a_default_backend_of_whoever_has_not_the_host_claims_nothing() {
    let (start, guest) = (victim("", &["Prefix /a"]), taking_the_rest(&evil(HOST, "", &["Prefix /evil"])));
    let mut cluster = Cluster::new(shared());
    cluster.now(&[&start]);
    cluster.now(&[&start, &guest]);
    // The owner adds the path later, and the guest after that.
    let whole = victim("", &["Prefix /a", "Prefix /"]);
    let both = taking_the_rest(&evil(HOST, "", &["Prefix /evil", "Prefix /"]));
    for guest in [&guest, &both] {
        let translation = cluster.now(&[&whole, guest]);
        assert!(!has_root(&translation, HOST));
        assert_eq!(owners(&translation, HOST).len(), 3, "{:?}", findings(&translation));
    }
}

/// A value for which an object is refused.
const WRONG: &str = "upstream-vhost: 'a;b'";

#[test]
fn an_object_that_cannot_be_served_keeps_what_it_claims_of_whole_hosts() {
    let wrong = |annotations: &str| format!("{annotations}, {WRONG}");
    for (shop, refused, host) in [
        (victim(REDIRECTS, &["Prefix /"]), victim(&wrong(REDIRECTS), &["Prefix /"]), COUNTERPART),
        (taking_the_rest(&victim("", &["Prefix /a"])), taking_the_rest(&victim(WRONG, &["Prefix /a"])), HOST),
    ] {
        for is_there_before in [true, false] {
            let mut cluster = Cluster::new(shared());
            let attack = evil(host, "", &["Prefix /"]);
            cluster.now(&[&shop]);
            if is_there_before {
                assert!(!has_root(&cluster.now(&[&shop, &attack]), host));
            }
            for _ in 0..2 {
                let translation = cluster.now(&[&refused, &attack]);
                assert!(findings(&translation).contains(&"web RefusedValue".to_owned()));
                assert!(!has_root(&translation, host), "{host}: {:?}", routes(&translation));
                // Longer than a claim is reserved that nobody has any more.
                cluster.advance(301);
            }
            assert!(!has_root(&cluster.now(&[&shop, &attack]), host));
        }
    }
}

#[test]
fn a_redirect_of_the_root_is_reserved_while_it_is_away() {
    let (root, start) = ("app-root: /a", ["Prefix /a"]);
    let wrong = format!("{root}, {WRONG}");
    let (shop, refused) = (victim(root, &start), victim(&wrong, &start));
    for (path, reported) in
        [("Prefix /", "e SharedHost"), ("Exact /", "e PathConflict"), ("ImplementationSpecific /(.*)", "e SharedHost")]
    {
        let attack = evil(HOST, if path.contains('*') { "use-regex: 'true'" } else { "" }, &[path]);
        for is_there_before in [true, false] {
            let mut cluster = Cluster::new(shared());
            cluster.now(&[&shop]);
            if is_there_before {
                let translation = cluster.now(&[&shop, &attack]);
                assert_eq!(first(&translation)[0], "= / -> 302 /a");
                assert!(findings(&translation).contains(&reported.to_owned()), "{path}");
            }
            for _ in 0..2 {
                let translation = cluster.now(&[&refused, &attack]);
                assert_eq!(first(&translation)[0], "= / -> 404", "{path}: {:?}", findings(&translation));
                assert!(findings(&translation).contains(&reported.to_owned()), "{path}");
                // Longer than a claim is reserved that nobody has any more.
                cluster.advance(301);
            }
            assert_eq!(first(&cluster.now(&[&shop, &attack]))[0], "= / -> 302 /a");
            // For a while it also outlives its object.
            assert_eq!(first(&cluster.now(&[&attack]))[0], "= / -> 404");
            cluster.advance(301);
            assert_ne!(first(&cluster.now(&[&attack]))[0], "= / -> 404");
        }
    }
}

#[test]
fn a_redirect_of_unknown_hosts_does_not_depend_on_who_is_away() {
    let older = of("victim", "web", "nginx", "", "", &["Prefix /v"]);
    let served = of("evil", "e", "nginx", "", "app-root: /start", &["Prefix /"]);
    let mut cluster = Cluster::new(shared());
    cluster.now(&[&older]);
    cluster.now(&[&older, &served]);
    let translation = cluster.now(&[&served]);
    let redirects = routes(&translation).iter().any(|line| line.ends_with("= / -> 302 /start"));
    assert!(redirects, "{:?}: {:?}", routes(&translation), findings(&translation));
}

/// The actions of the paths of the first host.
fn first(translation: &Translation) -> Vec<String> {
    routes(translation)
        .iter()
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .map(|line| line.trim().into())
        .collect()
}

#[test]
fn a_redirect_of_the_root_is_older_or_younger_than_paths_of_others() {
    const ROOT: &str = "app-root: /start";
    const REDIRECT: &str = "302 /start";
    let redirects = |translation: &Translation| first(translation).iter().any(|line| line.ends_with(REDIRECT));
    let regex = "use-regex: 'true'";
    for (annotations, path) in [
        (regex, "ImplementationSpecific /(.*)"),
        (regex, "ImplementationSpecific /"),
        ("rewrite-target: /$1", "ImplementationSpecific /?(.*)"),
        ("", "Prefix /"),
        ("", "Exact /"),
    ] {
        // Whoever has the host cannot redirect a path that another namespace has.
        let (start, shop) = (evil(HOST, "", &["Prefix /start"]), victim(annotations, &[path]));
        let mut cluster = Cluster::new(shared());
        cluster.now(&[&start]);
        cluster.now(&[&start, &shop]);
        let translation = cluster.now(&[&evil(HOST, ROOT, &["Prefix /start"]), &shop]);
        assert!(!redirects(&translation), "{path} {annotations:?}: {:?}", first(&translation));
        assert!(findings(&translation).contains(&"e HostRuleConflict".to_owned()));
        // Nor does a younger path of another namespace end its redirect.
        let shop = victim(ROOT, &["Prefix /start"]);
        let mut cluster = Cluster::new(shared());
        cluster.now(&[&shop]);
        let translation = cluster.now(&[&shop, &evil(HOST, annotations, &[path])]);
        assert!(redirects(&translation), "{path} {annotations:?}: {:?}", first(&translation));
    }
}

const ASKS: &str = "auth-url: 'https://$host/oauth2/auth'";

/// The namespaces of services that are asked for paths of the object `web` of a namespace, or the
/// actions there.
fn asked(translation: &Translation, namespace: &str) -> Vec<String> {
    let routes = translation.model.servers[0].routes.iter();
    let own =
        routes.filter(|route| (&*route.origin.object.namespace, &*route.origin.object.name) == (namespace, "web"));
    let asked = |route: &ingressd_model::Route| match route.behaviour.external_authentication.as_deref() {
        Some(external) => external.service.namespace.to_string(),
        None => format!("{:?}", route.action),
    };
    own.map(asked).collect()
}

#[test]
fn a_path_of_another_namespace_lets_nobody_in_and_keeps_nobody_out() {
    let shop = of("default", "web", "nginx", HOST, ASKS, &["Prefix /app"]);
    let service = of("default", "api", "nginx", HOST, "", &["Prefix /oauth2"]);
    let below = evil(HOST, "", &["Exact /oauth2/auth"]);
    let mut cluster = Cluster::new(shared());
    cluster.now(&[&shop, &service]);
    assert_eq!(asked(&cluster.now(&[&shop, &service, &below]), "default"), ["default"]);
    // Not even that of the host's owner, who could let in whom the guest keeps out.
    let guest = of("team-a", "web", "nginx", HOST, ASKS, &["Prefix /guest"]);
    let mut cluster = Cluster::new(shared());
    cluster.now(&[&service]);
    assert_eq!(asked(&cluster.now(&[&service, &guest]), "team-a"), ["Closed"]);

    // The administrator has it asked, and means whoever owns the host.
    let at = Origin { object: ObjectId::new(Kind::CONFIG_MAP, "admin", "settings").into(), field: Field::Object };
    let value = "https://$host/oauth2/auth".into();
    let default = OptionEntry { row: ANNOTATIONS.find("auth-url").unwrap(), value, at };
    let common = || Options { defaults: [default.clone()].into(), ..shared() };
    let shop = of("default", "web", "nginx", HOST, "", &["Prefix /app"]);
    let open = "enable-global-auth: 'false'";
    let service = of("default", "api", "nginx", HOST, open, &["Prefix /oauth2"]);
    let below = of("team-a", "web", "nginx", HOST, open, &["Exact /oauth2/auth"]);
    let mut cluster = Cluster::new(common());
    cluster.now(&[&shop, &service]);
    assert_eq!(asked(&cluster.now(&[&shop, &service, &below]), "default"), ["default"]);
    let mut cluster = Cluster::new(common());
    cluster.now(&[&shop]);
    let translation = cluster.now(&[&shop, &below]);
    assert_eq!(asked(&translation, "default"), ["Closed"], "nobody but the owner lets clients in");
    // The owner of the host does for others.
    let guest = of("team-a", "web", "nginx", HOST, "", &["Prefix /guest"]);
    let mut cluster = Cluster::new(common());
    cluster.now(&[&service]);
    assert_eq!(asked(&cluster.now(&[&service, &guest]), "team-a"), ["default"]);
    // Each namespace that has such a path asks its own service, whichever path comes first.
    for paths in [["/app", "/app/guest"], ["/guest/app", "/guest"]] {
        let [shop, guest] = [("default", paths[0]), ("team-a", paths[1])]
            .map(|(namespace, path)| of(namespace, "web", "nginx", HOST, "", &[&format!("Prefix {path}")]));
        let below = of("team-a", "api", "nginx", HOST, open, &["Exact /oauth2/auth"]);
        let below = below.replace("name: api, port", "name: web, port");
        let mut cluster = Cluster::new(common());
        cluster.now(&[&shop, &service]);
        let translation = cluster.now(&[&shop, &service, &guest, &below]);
        assert_eq!(["default", "team-a"].map(|of| asked(&translation, of)), [["default"], ["team-a"]], "{paths:?}");
    }
}
