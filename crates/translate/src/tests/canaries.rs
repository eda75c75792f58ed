//! Canaries: objects that take a share of the requests for the paths of another one.

use super::manifests::snapshot;
use super::{findings, ingress, options, path, translate, world};
use crate::{Readers, Translation, Translator, effective_annotations, written_host};
use ingressd_model::{Action, Balance, Branch, Choice, HeaderName, Kind, ObjectId, Route, Split, Test};
use ingressd_objects::rows;

/// A canary whose path leads to the Service `api`.
fn canary(name: &str, annotations: &str, paths: &[String]) -> String {
    ingress(name, "nginx", "a.example", &format!("canary: 'true'{annotations}"), paths)
}

fn split(split: &Split) -> String {
    let test = |test: &Test| match test {
        Test::Header(name, value) => format!("{name} is {value}"),
        Test::HeaderMatches(name, pattern) => format!("{name} ~ {pattern}"),
        Test::Cookie(name, value) => format!("cookie {name} is {value}"),
        Test::Query(name, value) => format!("parameter {name} is {value}"),
        Test::Method(name) => format!("method {name}"),
    };
    let tests = |all: &[Test]| all.iter().map(test).collect::<Vec<_>>().join(" and ");
    let branch = |Branch { all, then }: &Branch<Choice>| match then {
        Choice::Forward(upstream) => format!("{}: {}", tests(all), upstream.service),
        answer => format!("{}: {answer:?}", tests(all)),
    };
    let branches = split.branches.iter().map(branch);
    let service = |choice: &Choice| match choice {
        Choice::Forward(upstream) => upstream.service.to_string(),
        answer => format!("{answer:?}"),
    };
    let shares = split.shares.iter().map(|(choice, share)| format!("{share:?}: {}", service(choice)));
    branches.chain(shares).collect::<Vec<_>>().join(", ")
}

/// For each route its Service, and its split as described by [`split`].
fn served(translation: &Translation) -> Vec<String> {
    let line = |route: &Route| match &route.action {
        Action::Proxy { upstream, split: None } => upstream.service.to_string(),
        Action::Proxy { upstream, split: Some(other) } => format!("{} | {}", upstream.service, split(other)),
        other => format!("{other:?}"),
    };
    translation.model.servers.iter().flat_map(|server| &server.routes).map(line).collect()
}

#[test]
fn what_the_object_says_decides_which_requests_it_takes() {
    let main = ingress("main", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
    for (annotations, expected) in [
        ("", "web"),
        (", canary-weight: '0'", "web"),
        (", canary-weight: '10'", "web | Share(1000): api"),
        (", canary-weight: '1', canary-weight-total: '1000'", "web | Share(10): api"),
        (", canary-weight: '100'", "web | Share(10000): api"),
        (", canary-by-header: X-C", "web | X-C is always: api, X-C is never: web"),
        (", canary-by-header: X-C, canary-by-header-value: beta", "web | X-C is beta: api"),
        (", canary-by-header: X-C, canary-by-header-pattern: '^b'", "web | X-C ~ ^b: api"),
        (
            ", canary-by-header: X-C, canary-by-header-pattern: '^b', canary-by-header-value: beta",
            "web | X-C is beta: api",
        ),
        (", canary-by-cookie: c", "web | cookie c is always: api, cookie c is never: web"),
        (
            ", canary-weight: '5', canary-by-cookie: c, canary-by-header: X-C",
            "web | X-C is always: api, X-C is never: web, cookie c is always: api, cookie c is never: web, Share(500): api",
        ),
    ] {
        let objects = [main.clone(), canary("part", annotations, &[path("/", "Prefix", "api")])];
        let translation = translate(&objects.join("\n---\n"), options());
        assert_eq!(served(&translation), [expected], "{annotations}");
        assert_eq!(findings(&translation), [""; 0], "{annotations}");
        // The canary is of our class, and its share counts as a route.
        let (_, own) = translation.accepted().find(|(id, _)| &*id.name == "part").unwrap();
        assert_eq!((own.routes, own.served, own.closed), (1, 1, 0), "{annotations}");
        assert_eq!(own.hosts, [std::sync::Arc::from("a.example")]);
    }
}

#[test]
fn an_object_without_a_main_one_takes_nothing() {
    let ten = ", canary-weight: '10'";
    let main = ingress("main", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
    let elsewhere =
        canary("part", ten, &[path("/", "Prefix", "web")]).replace("namespace: default", "namespace: team-a");
    for (part, expected) in [
        (canary("part", ten, &[path("/b", "Prefix", "api")]), "part CanaryWithoutMain"),
        (canary("part", ten, &[path("/", "Exact", "api")]), "part CanaryWithoutMain"),
        (
            canary("part", ten, &[path("/", "Prefix", "api")]).replace("a.example", "b.example"),
            "part CanaryWithoutMain",
        ),
        (elsewhere, "part CanaryWithoutMain"),
        (canary("part", ten, &[path("/", "Prefix", "web")]), "part UnsupportedBackend"),
        (canary("part", ten, &[path("/", "Prefix", "nowhere")]), "part MissingService"),
        (canary("part", ", canary-weight: ten", &[path("/", "Prefix", "api")]), "part InvalidValue"),
        (ingress("part", "nginx", "a.example", "canary: 'yes'", &[path("/", "Prefix", "api")]), "part RefusedValue"),
    ] {
        let translation = translate(&[main.clone(), part.clone()].join("\n---\n"), options());
        assert_eq!(served(&translation), ["web"], "{part}");
        assert_eq!(findings(&translation), [expected], "{part}");
    }
    // It is not served alone either: the host has no owner.
    let alone = translate(&canary("part", ten, &[path("/", "Prefix", "api")]), options());
    assert_eq!(alone.model.servers, []);
    assert_eq!(findings(&alone), ["part CanaryWithoutMain"]);
}

#[test]
fn a_canary_is_ours_while_it_takes_nothing() {
    let part = || canary("part", ", canary-weight: '10'", &[path("/", "Prefix", "api")]);
    for (annotations, service) in
        [("permanent-redirect: 'https://b.example/'", "web"), ("auth-type: basic", "web"), ("", "nowhere"), ("", "web")]
    {
        let main = ingress("main", "nginx", "a.example", annotations, &[path("/", "Prefix", service)]);
        let translation = translate(&[main, part()].join("\n---\n"), options());
        let (_, own) = translation.accepted().find(|(id, _)| &*id.name == "part").unwrap();
        assert_eq!((own.routes, own.served), (1, 1), "{annotations} {service}");
        assert!(
            !findings(&translation).iter().any(|reported| reported.starts_with("part ")),
            "{annotations} {service}"
        );
    }
    // A default backend cannot have a canary, which is reported.
    let rest = part().replace("rules: [", "defaultBackend: {service: {name: api, port: {number: 80}}}, rules: [");
    let main = ingress("main", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
    assert_eq!(findings(&translate(&[main, rest].join("\n---\n"), options())), ["part CanaryWithoutMain"]);
}

#[test]
fn a_canary_whose_backend_is_away_is_served_no_more_than_its_routes_are() {
    let bucket = "{path: /, pathType: Prefix, backend: {resource: {apiGroup: x, kind: Bucket, name: b}}}";
    for (weight, backend, unanswered, reported) in [
        ("10", path("/", "Prefix", "api"), 0, None),
        ("10", path("/", "Prefix", "empty"), 1, Some("part NoEndpoints")),
        ("10", path("/", "Prefix", "nowhere"), 1, Some("part MissingService")),
        ("10", bucket.to_owned(), 1, Some("part UnsupportedBackend")),
        // It asks for no request.
        ("0", path("/", "Prefix", "empty"), 0, Some("part NoEndpoints")),
        // Its requests go to the same Service.
        ("10", path("/", "Prefix", "web"), 0, Some("part UnsupportedBackend")),
    ] {
        let main = ingress("main", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
        let part = canary("part", &format!(", canary-weight: '{weight}'"), std::slice::from_ref(&backend));
        let empty =
            "apiVersion: v1\nkind: Service\nmetadata: {name: empty, namespace: default}\nspec: {ports: [{port: 80}]}";
        let translation = translate(&[&main, &part, empty].join("\n---\n"), options());
        let is_empty = |upstream: &ingressd_model::UpstreamId| translation.tables.endpoints(upstream).is_empty();
        let idle: Vec<_> = translation.model.servers.iter().flat_map(|server| server.unanswered(is_empty)).collect();
        let of = |id| u32::try_from(idle.iter().filter(|other| **other == id).count()).unwrap();
        let counted = translation.accepted().map(|(id, served)| (&*id.name, served.unanswered + of(id)));
        assert_eq!(counted.collect::<Vec<_>>(), [("main", 0), ("part", unanswered)], "{backend}");
        assert_eq!(findings(&translation), Vec::from_iter(reported), "{backend}");
        let effects = translation.findings.iter().map(ingressd_model::finding::Finding::effect);
        assert!(effects.eq(reported.map(|_| "the key has no effect")), "the main object's route goes on: {backend}");
    }
}

#[test]
fn of_a_canary_only_the_keys_of_canaries_count() {
    let keys = ", canary-weight: '10', rewrite-target: /x, proxy-body-size: 50m, auth-url: 'http://a.example/'";
    let snapshot = snapshot(&canary("part", keys, &[path("/", "Prefix", "api")]));
    let id = ObjectId::new(Kind::INGRESS, "default", "part");
    let counts = effective_annotations(&id, &snapshot, (Readers::default(), &options()), &|_| None);
    let own = counts.iter().filter(|(.., effective)| effective.counts.is_of(&id));
    assert_eq!(own.map(|(_, row, _)| row.key).collect::<Vec<_>>(), ["canary", "canary-weight"]);
}

#[test]
fn sessions_of_the_main_object_go_on_in_the_canary() {
    for (of_main, of_part, expected) in [
        ("affinity: cookie", "", (Some("INGRESSCOOKIE"), true)),
        ("affinity: cookie, affinity-canary-behavior: legacy", "", (Some("INGRESSCOOKIE"), false)),
        ("affinity: cookie", ", affinity-canary-behavior: legacy", (Some("INGRESSCOOKIE"), false)),
        ("", ", affinity: cookie", (Some("INGRESSCOOKIE"), false)),
        ("affinity: cookie", ", affinity: cookie, session-cookie-name: other", (Some("INGRESSCOOKIE"), true)),
        ("affinity: cookie, affinity-mode: persistent", "", (Some("INGRESSCOOKIE"), true)),
        ("", "", (None, false)),
    ] {
        let main = ingress("main", "nginx", "a.example", of_main, &[path("/", "Prefix", "web")]);
        let part = canary("part", &format!(", canary-weight: '10'{of_part}"), &[path("/", "Prefix", "api")]);
        let translation = translate(&[main, part].join("\n---\n"), options());
        let split = translation.model.servers[0].routes[0].action.split().unwrap();
        let Choice::Forward(part) = &split.shares[0].0 else { panic!("{split:?}") };
        let cookie = part.balance.as_deref().and_then(Balance::cookie).map(HeaderName::as_str);
        assert_eq!((cookie, split.session.is_some()), expected, "{of_main} {of_part}");
        assert_eq!(part.naming_cookie().is_some(), of_main.contains("persistent"));
    }
}

#[test]
fn of_two_the_older_one_counts_and_the_main_object_decides_everything_else() {
    let dated = |object: String, date: &str| {
        object.replace("metadata: {", &format!("metadata: {{creationTimestamp: '{date}', "))
    };
    let list = "allowlist-source-range: 10.0.0.0/8, backend-protocol: HTTPS";
    let main = ingress("main", "nginx", "a.example", list, &[path("/", "Prefix", "web")]);
    let open = ", canary-weight: '10', auth-type: basic, backend-protocol: GRPC";
    let older = dated(canary("older", open, &[path("/", "Prefix", "api")]), "2025-01-01T00:00:00Z");
    let newer = dated(canary("newer", ", canary-weight: '50'", &[path("/", "Prefix", "api")]), "2026-01-01T00:00:00Z");
    let translation = translate(&[newer, older, main].join("\n---\n"), options());
    assert_eq!(served(&translation), ["web | Share(1000): api"]);
    let [route] = &translation.model.servers[0].routes[..] else { panic!("one route") };
    assert!(route.behaviour.access.is_some() && route.behaviour.basic_authentication.is_none());
    let protocols: Vec<_> =
        translation.model.upstreams.iter().map(|upstream| format!("{:?}", upstream.id.protocol)).collect();
    assert_eq!(protocols, ["Https", "Https"]);
    assert!(findings(&translation).contains(&"newer PathConflict".to_owned()));
}

/// What an object says about its hosts is the main object's business, also which hosts it has.
#[test]
fn a_canary_says_nothing_about_hosts() {
    let of_main = "server-alias: b.example";
    let main = |annotations: &str| ingress("main", "nginx", "a.example", annotations, &[path("/", "Prefix", "web")]);
    let part = |annotations: &str, host: &str| {
        canary("part", &format!(", canary-weight: '10'{annotations}"), &[path("/", "Prefix", "api")])
            .replace("a.example", host)
    };
    let shared = "web | Share(1000): api";
    for (of_main, of_part, host, expected) in [
        ("", ", server-alias: b.example", "a.example", &["a.example"][..]),
        ("", ", from-to-www-redirect: 'true'", "a.example", &["a.example"]),
        ("", ", app-root: /start", "a.example", &["a.example"]),
        // The alias of the main object has its canary, and stays where a canary has a rule for it.
        (of_main, "", "a.example", &["a.example", "b.example"]),
        (of_main, "", "b.example", &["a.example", "b.example"]),
    ] {
        let translation = translate(&[main(of_main), part(of_part, host)].join("\n---\n"), options());
        let hosts: Vec<_> = translation.model.servers.iter().map(|server| written_host(&server.name)).collect();
        assert_eq!(hosts, expected, "{of_main} {of_part} {host}");
        let parts = served(&translation);
        assert!(parts.iter().all(|part| [shared, "web"].contains(&&**part)), "{of_main} {of_part} {host}: {parts:?}");
        assert_eq!(parts.contains(&"web".to_owned()), host == "b.example", "{of_main} {of_part} {host}");
    }
}

#[test]
fn a_canary_that_nginx_refuses_reserves_no_host() {
    let part = canary("part", ", auth-tls-secret: none", &[path("/", "Prefix", "api")]);
    let main = ingress("main", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
    let mut all = snapshot(&main.replace("namespace: default", "namespace: team-a"));
    *all.withheld.list_mut::<rows::Ingress>() = snapshot(&part).ingresses;
    let translation = Translator::new(options()).translate(&all, &world(), &Default::default());
    assert!(translation.claims.of(&translation.model.servers[0].name).iter().all(|one| &*one.namespace == "team-a"));
    assert_eq!(served(&translation).len(), 1);
}

#[test]
fn a_host_of_a_canary_that_is_no_host_is_reported() {
    for host in ["bad..host", "192.0.2.7"] {
        let main = ingress("main", "nginx", "a.example", "", &[path("/", "Prefix", "web")]);
        let part = canary("part", ", canary-weight: '10'", &[path("/", "Prefix", "api")]).replace("a.example", host);
        let translation = translate(&[main, part].join("\n---\n"), options());
        assert_eq!(findings(&translation), ["part InvalidHost"], "{host}");
    }
}
