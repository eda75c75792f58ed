//! What an object asks for by annotations about a whole host, beside the paths of other
//! namespaces: it has an age like a path.

use super::cluster::{Cluster, of};
use super::{findings, options, routes, shared};
use crate::model::{Field, Kind, ObjectId, Origin};
use crate::translate::{DefaultValue, Options, Translation};

const HOST: &str = "a.example";
const TWIN: &str = "www.a.example";
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
    for (options, told) in [(options(), "e HostOwned"), (shared(), "e PathConflict")] {
        let exclusive = told == "e HostOwned";
        let name = if exclusive { "ingressd" } else { "nginx" };
        let class =
            |document: String| document.replace("ingressClassName: nginx", &format!("ingressClassName: {name}"));
        let shop = class(shop.clone());
        let mut cluster = Cluster::new(options);
        assert_eq!(rest_of(&cluster.now(&[&shop]), TWIN).as_deref(), TO_HOST);
        // Neither a rule of another namespace takes it, nor an older object with the same request.
        for attack in [evil(TWIN, "", &["Prefix /"]), evil(HOST, REDIRECTS, &["Prefix /evil"])].map(class) {
            for _ in 0..2 {
                let old = attack.replace("metadata: {", "metadata: {creationTimestamp: '2001-01-01T00:00:00Z', ");
                let translation = cluster.now(&[&shop, &old]);
                assert_eq!(rest_of(&translation, TWIN).as_deref(), TO_HOST, "{attack}");
                assert!(attack.contains(REDIRECTS) || findings(&translation).contains(&told.to_owned()));
                cluster.advance(301);
            }
        }
        // It stays while the object that asks for it is away for a moment.
        let rule = class(evil(TWIN, "", &["Prefix /"]));
        assert_ne!(rest_of(&cluster.now(&[&rule]), TWIN).as_deref(), TO_HOST);
        assert!(findings(&cluster.now(&[&rule])).iter().any(|line| line.starts_with("e ")), "the host is reserved");
        assert_eq!(rest_of(&cluster.now(&[&shop, &rule]), TWIN).as_deref(), TO_HOST);
        // A host that another namespace has is not redirected.
        let mut cluster = Cluster::new(cluster.options);
        cluster.now(&[&rule]);
        let translation = cluster.now(&[&shop, &rule]);
        assert_ne!(rest_of(&translation, TWIN).as_deref(), TO_HOST);
        let told = if exclusive { "web HostOwned" } else { "web HostRuleConflict" };
        assert!(findings(&translation).contains(&told.to_owned()), "{:?}", findings(&translation));
        // Where neither was there before, a rule goes first.
        let mut cluster = Cluster::new(cluster.options);
        assert_ne!(rest_of(&cluster.now(&[&shop, &rule]), TWIN).as_deref(), TO_HOST);
    }
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
    let asked = |route: &crate::model::Route| match route.behaviour.external_authentication.as_deref() {
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

    // The administrator has it asked, and means whoever owns the host.
    let origin = Origin { object: ObjectId::new(Kind::ConfigMap, "admin", "settings").into(), field: Field::Object };
    let value = "https://$host/oauth2/auth".into();
    let default = DefaultValue { key: "auth-url", value, origin };
    let everywhere = || Options { defaults: [default.clone()].into(), ..shared() };
    let shop = of("default", "web", "nginx", HOST, "", &["Prefix /app"]);
    let open = "enable-global-auth: 'false'";
    let service = of("default", "api", "nginx", HOST, open, &["Prefix /oauth2"]);
    let below = of("team-a", "web", "nginx", HOST, open, &["Exact /oauth2/auth"]);
    let mut cluster = Cluster::new(everywhere());
    cluster.now(&[&shop, &service]);
    assert_eq!(asked(&cluster.now(&[&shop, &service, &below]), "default"), ["default"]);
    let mut cluster = Cluster::new(everywhere());
    cluster.now(&[&shop]);
    let translation = cluster.now(&[&shop, &below]);
    assert_eq!(asked(&translation, "default"), ["Closed"], "nobody but the owner lets clients in");
    // The owner of the host does for others.
    let guest = of("team-a", "web", "nginx", HOST, "", &["Prefix /guest"]);
    let mut cluster = Cluster::new(everywhere());
    cluster.now(&[&service]);
    assert_eq!(asked(&cluster.now(&[&service, &guest]), "team-a"), ["default"]);
}
