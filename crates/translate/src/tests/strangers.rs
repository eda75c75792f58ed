//! What namespaces may have of a host that another namespace has.

use super::cluster::{Cluster, of};
use super::tenants::{HOST, LIST, REGEX, outcome};
use super::{options, routes};
use crate::{AllowedHosts, Options};
use ingressd_model::finding::Reason;

/// What is served, and the findings, when these objects come one after the other: the namespace,
/// which the name of the object begins with, annotations and paths.
fn served(options: Options, objects: &[(&str, &str, &[&str])]) -> (Vec<String>, Vec<String>) {
    let mut cluster = Cluster::new(options);
    let written = objects.iter().enumerate().map(|(number, (namespace, annotations, paths))| {
        of(namespace, &format!("{namespace}{number}"), "nginx", HOST, annotations, paths)
    });
    let written: Vec<_> = written.collect();
    let all: Vec<_> = written.iter().collect();
    (1..all.len()).for_each(|number| drop(cluster.now(&all[..number])));
    let (paths, mut findings) = outcome(&cluster.now(&all));
    findings.retain(|finding| !finding.ends_with("SharedHost"));
    (paths, findings)
}

const SOLVER: &str = "/.well-known/acme-challenge/token";

/// Objects, and then what is served and which findings there are.
type Row = (
    &'static [(&'static str, &'static str, &'static [&'static str])],
    &'static [&'static str],
    &'static [&'static str],
);

fn check(options: impl Fn() -> Options, rows: &[Row]) {
    for (objects, paths, findings) in rows {
        let (served, reported) = served(options(), objects);
        assert_eq!(
            (served, reported),
            (paths.iter().map(ToString::to_string).collect(), findings.iter().map(ToString::to_string).collect()),
            "{objects:?}"
        );
    }
}

#[test]
fn what_a_stranger_protects_is_not_kept_from_whoever_had_the_requests() {
    let rows: &[Row] = &[
        (
            &[("o", "", &["Prefix /"]), ("e", LIST, &["Prefix /api"]), ("o", "", &["Prefix /api/v2"])],
            &["o2 /api/v2", "e1 /api", "o0 /"],
            &[],
        ),
        // The owner needs no older path above it.
        (
            &[("o", "", &["Prefix /x"]), ("e", LIST, &["Prefix /"]), ("o", "", &["Prefix /api"])],
            &["o2 /api", "o0 /x", "e1 /"],
            &[],
        ),
        // Neither does a namespace that had them before.
        (
            &[
                ("o", "", &["Prefix /x"]),
                ("t", "", &["Prefix /team"]),
                ("e", LIST, &["Prefix /team/api"]),
                ("t", "", &["Prefix /team/api/v2"]),
            ],
            &["t3 /team/api/v2", "e2 /team/api", "t1 /team", "o0 /x"],
            &[],
        ),
        (
            &[
                ("o", "", &["Prefix /x"]),
                ("t", REGEX, &["ImplementationSpecific /team(/|$)(.*)"]),
                ("e", LIST, &["Prefix /team/api"]),
                ("t", REGEX, &["ImplementationSpecific /team/api/v2(/|$)(.*)"]),
            ],
            &["t3 ~ /team/api/v2(/|$)(.*)", "e2 /team/api", "t1 ~ /team(/|$)(.*)", "o0 /x"],
            &[],
        ),
        // A path beside it, an exact one, or an expression for some of them are not above it, and
        // younger ones count for nothing.
        (
            &[
                ("o", "", &["Prefix /x"]),
                ("t", REGEX, &["Prefix /te(zzz)", "Exact /team/api/v2/no"]),
                ("e", LIST, &["Prefix /team/api"]),
                ("t", "", &["Prefix /team", "Prefix /team/api/v2/"]),
            ],
            &["t1 ~ /team/api/v2/no", "e2 /team/api", "t1 ~ /te(zzz)", "t3 ~ /team", "o0 /x"],
            &["t3 PathConflict"],
        ),
        (&[("o", LIST, &["Prefix /"]), ("e", "", &["Prefix /api"])], &["o0 /"], &["e1 PathConflict"]),
        // What needs a slash behind its path has everything below, too.
        (
            &[
                ("o", "", &["Prefix /x"]),
                ("t", REGEX, &["ImplementationSpecific /team/(.*)"]),
                ("e", LIST, &["Prefix /team/api"]),
                ("t", "", &["Prefix /team/api/v2"]),
            ],
            &["t3 /team/api/v2", "e2 /team/api", "t1 ~ /team/(.*)", "o0 /x"],
            &[],
        ),
    ];
    check(options, rows);
}

#[test]
fn expressions_of_a_stranger_count_as_the_elements_above_them() {
    const MANY: &[&str] = &["Prefix /a.*", "Prefix /b.*", "Prefix /[.]w.*", "Prefix /0.*", "Prefix /.+"];
    const NONE: &[&str] =
        &["e1 PathConflict", "e1 PathConflict", "e1 PathConflict", "e1 PathConflict", "e1 PathConflict"];
    let rows: &[Row] = &[
        (&[("o", "", &["Prefix /"]), ("e", REGEX, MANY)], &["o0 /"], NONE),
        // Nor in regular expressions alone.
        (&[("o", REGEX, &["Prefix /(.*)"]), ("e", REGEX, MANY)], &["o0 ~ /(.*)"], NONE),
        (
            &[("o", "", &["Prefix /"]), ("e", REGEX, &["Prefix /x/.*"]), ("e", "", &["Prefix /l", "Exact /m"])],
            &["e1 ~ /x/.*", "e2 /m", "e2 /l", "o0 /"],
            &[],
        ),
        // What rewrites plain text is usual, but a path that protects more keeps its meaning.
        (
            &[("o", "", &["Prefix /"]), ("e", "rewrite-target: /", &["Prefix /b", "Prefix /c.d"])],
            &["e1 /b", "o0 /"],
            &["e1 PathConflict"],
        ),
        (
            &[("o", "", &["Prefix /"]), ("e", REGEX, &["Prefix /x/.*"]), ("e", LIST, &["Prefix /l"])],
            &["e1 ~ /x/.*", "o0 /"],
            &["e2 PathConflict"],
        ),
        (
            &[("o", "", &["Prefix /"]), ("e", REGEX, &["Prefix /team(/|$)(.*)", "Prefix /other/[a-z]+"])],
            &["e1 ~ /team(/|$)(.*)", "e1 ~ /other/[a-z]+", "o0 /"],
            &[],
        ),
        // An older expression that begins within the same element keeps its requests.
        (
            &[("o", REGEX, &["Prefix /shop.*"]), ("e", REGEX, &["Prefix /shopping.*", "Prefix /s.*"])],
            &["o0 ~ /shop.*", "e1 ~ /s.*"],
            &["e1 PathConflict"],
        ),
        // What nobody else has is free, and the owner is not held to it.
        (&[("o", "", &["Prefix /shop"]), ("e", REGEX, &["Prefix /a.*"])], &["o0 /shop", "e1 ~ /a.*"], &[]),
        (
            &[("o", "", &["Prefix /x"]), ("e", "", &["Prefix /"]), ("o", REGEX, &["Prefix /a.*"])],
            &["o2 ~ /a.*", "o0 ~ /x", "e1 /"],
            &[],
        ),
    ];
    check(options, rows);
}

#[test]
fn one_object_makes_expressions_of_the_paths_of_its_namespace() {
    const ITEMS: (&str, &str, &[&str]) = ("o", REGEX, &["ImplementationSpecific /items/[0-9]+"]);
    let rows: &[Row] = &[
        (
            &[
                ITEMS,
                ("o", "", &["Prefix /doc/v[0-9]+", "Exact /core(/|$)(.*)", "Prefix /c.d", "Exact /e", "Prefix /"]),
            ],
            &["o1 ~ /core(/|$)(.*)", "o0 ~ /items/[0-9]+", "o1 ~ /doc/v[0-9]+", "o1 ~ /c\\.d", "o1 ~ /e", "o1 ~ /"],
            &[],
        ),
        (
            &[("o", "rewrite-target: /", &["Prefix /app"]), ("o", "", &["Prefix /v[0-9]+"])],
            &["o1 ~ /v[0-9]+", "o0 ~ /app"],
            &[],
        ),
        // What nginx would or might refuse stays text, and is told whatever is in it.
        (
            &[ITEMS, ("o", "", &["Prefix /a(b", "Prefix /a$+", "Prefix /a(?<=a+)"])],
            &["o0 ~ /items/[0-9]+", "o1 ~ /a\\(\\?<=a\\+\\)", "o1 ~ /a\\(b", "o1 ~ /a\\$\\+"],
            &["o1 LiteralPath", "o1 LiteralPath", "o1 LiteralPath"],
        ),
        // So does what would take requests of a protected path behind it, whatever that is.
        (
            &[ITEMS, ("o", LIST, &["Prefix /admin"]), ("o", "", &["Prefix /(a|b).*", "Prefix /b[0-9]+"])],
            &["o0 ~ /items/[0-9]+", "o2 ~ /b[0-9]+", "o2 ~ /\\(a\\|b\\)\\.\\*", "o1 ~ /admin"],
            &["o2 LiteralPath"],
        ),
        (
            &[ITEMS, ("o", LIST, &["Prefix /"]), ("o", "", &["Prefix /b[0-9]+"])],
            &["o0 ~ /items/[0-9]+", "o2 ~ /b\\[0-9\\]\\+", "o1 ~ /"],
            &["o2 LiteralPath"],
        ),
        (
            &[ITEMS, ("o", LIST, &["ImplementationSpecific /[a-z]"]), ("o", "", &["Prefix /b[0-9]+"])],
            &["o0 ~ /items/[0-9]+", "o2 ~ /b\\[0-9\\]\\+", "o1 ~ /[a-z]"],
            &["o2 LiteralPath"],
        ),
        // It takes nothing of what comes before it.
        (
            &[ITEMS, ("o", LIST, &["Prefix /doc/v2/internal"]), ("o", "", &["Prefix /doc/v[0-9]+"])],
            &["o1 ~ /doc/v2/internal", "o0 ~ /items/[0-9]+", "o2 ~ /doc/v[0-9]+"],
            &[],
        ),
        // A protected one loses nothing that it took as text.
        (
            &[ITEMS, ("o", LIST, &["Prefix /core(/|$)(.*)"]), ("o", "", &["Prefix /"])],
            &["o1 ~ /core(/|$)(.*)", "o1 ~ /core\\(/\\|\\$\\)\\(\\.\\*\\)", "o0 ~ /items/[0-9]+", "o2 ~ /"],
            &[],
        ),
        // Nobody else makes expressions of them, and they are held to the rules for expressions.
        (
            &[("o", REGEX, &["Prefix /x/.*"]), ("e", "", &["Prefix /b[0-9]+"])],
            &["e1 /b[0-9]+", "o0 ~ /x/.*"],
            &["e1 LiteralPath"],
        ),
        (
            &[
                ("o", "", &["Prefix /"]),
                ("e", REGEX, &["Prefix /x/.*"]),
                ("e", "", &["Prefix /b.*", "Prefix /y/[a-z]+"]),
            ],
            &["e2 ~ /y/[a-z]+", "e1 ~ /x/.*", "o0 /"],
            &["e2 PathConflict"],
        ),
    ];
    check(options, rows);
}

#[test]
fn challenges_belong_to_whoever_has_the_host() {
    const SOLVES: &[&str] = &["Exact /.well-known/acme-challenge/token"];
    const ABOVE: &[&str] = &["Prefix /.well-known/acme-challenge", "Prefix /.well-known", "Prefix /.well-known/other"];
    let rows: &[Row] = &[
        (&[("o", "", &["Prefix /"]), ("e", "", SOLVES)], &["o0 /"], &["e1 PathConflict"]),
        (
            &[("o", "", &["Prefix /x"]), ("e", LIST, ABOVE)],
            &["e1 /.well-known/other", "o0 /x"],
            &["e1 PathConflict", "e1 PathConflict"],
        ),
        // The owner's are served beside anything of others.
        (
            &[("o", "", &["Prefix /x"]), ("e", LIST, &["Prefix /"]), ("o", "", SOLVES)],
            &["o2 = /.well-known/acme-challenge/token", "o0 /x", "e1 /"],
            &[],
        ),
        (
            &[
                ("o", REGEX, &["ImplementationSpecific /x/(.*)"]),
                ("e", "", &["Prefix /"]),
                ("o", "", &["ImplementationSpecific /.well-known/acme-challenge/token"]),
            ],
            &["o2 = /.well-known/acme-challenge/token", "o0 ~ /x/(.*)", "e1 /"],
            &[],
        ),
    ];
    check(options, rows);
    let named = || Options { challenges: vec!["e".into()], ..options() };
    let rows: &[Row] = &[
        (&[("o", LIST, &["Prefix /"]), ("e", "", SOLVES)], &["e1 = /.well-known/acme-challenge/token", "o0 /"], &[]),
        (&[("o", LIST, &["Prefix /"]), ("e", "", &["Prefix /.well-known"])], &["o0 /"], &["e1 PathConflict"]),
        (&[("o", "", SOLVES), ("e", "", SOLVES)], &["o0 = /.well-known/acme-challenge/token"], &["e1 PathConflict"]),
    ];
    check(named, rows);
}

#[test]
fn nobody_else_answers_a_challenge_that_the_owner_has_no_path_for() {
    let of = |namespace: &str, paths: &[&str]| of(namespace, namespace, "nginx", HOST, "", paths);
    let lines = |options: Options, all: &[&String]| {
        let mut cluster = Cluster::new(options);
        (1..=all.len()).map(|number| routes(&cluster.now(&all[..number]))).last().unwrap()
    };
    let (owner, evil) = (of("o", &["Prefix /x"]), of("e", &["Prefix /"]));
    let expected =
        ["a.example", "  /.well-known/acme-challenge -> 404", "  /x -> 503", "  / -> 503", "  else / -> 404"];
    let mut shown = lines(options(), &[&owner, &evil]);
    shown[1..].sort();
    let mut sorted = expected.map(str::to_owned);
    sorted[1..].sort();
    assert_eq!(shown, sorted);
    // Where the owner has one, it answers; and a namespace that the administrator names may.
    let known = of("o", &["Prefix /x", "Prefix /.well-known"]);
    assert!(!lines(options(), &[&known, &evil]).contains(&expected[1].to_owned()));
    let named = Options { challenges: vec!["e".into()], ..options() };
    assert!(!lines(named, &[&owner, &evil]).contains(&expected[1].to_owned()));
}

#[test]
fn a_solver_that_is_named_has_challenges_of_a_host_with_one_owner() {
    let owner = of("o", "o", "ingressd", HOST, "", &["Prefix /"]);
    let solver = of("e", "e", "ingressd", HOST, "", &[&format!("Exact {SOLVER}")]);
    let other = of("e", "f", "ingressd", HOST, "", &["Prefix /e", &format!("Exact {SOLVER}2")]);
    let outcome = |options: Options, all: &[&String]| {
        let mut cluster = Cluster::new(options);
        cluster.now(&[&owner]);
        outcome(&cluster.now(all))
    };
    let paths = |paths: &[&str]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(outcome(options(), &[&owner, &solver]), (paths(&["o /"]), paths(&["e HostOwned"])));
    let named = || Options { challenges: vec!["e".into()], ..options() };
    let expected = [&*format!("e = {SOLVER}"), "o /"];
    assert_eq!(outcome(named(), &[&owner, &solver]), (paths(&expected), Vec::new()));
    assert_eq!(outcome(named(), &[&owner, &solver, &other]), (paths(&expected), paths(&["f HostOwned"])));
    // The host stays the owner's while it has no object there.
    assert_eq!(outcome(named(), &[&solver]).0, paths(&expected[..1]));
}

#[test]
fn challenges_of_unknown_hosts_are_the_administrators() {
    let evil = of("e", "e", "nginx", "", "", &["Prefix /a", "Prefix /.well-known", "Prefix /b.*"]);
    let settings = || Options { default_backend: Some(("default".into(), "web".into())), ..options() };
    let (paths, findings) = outcome(&Cluster::new(settings()).now(&[&evil]));
    assert_eq!(
        (&*paths, &*findings),
        (&["e /b.*".to_owned(), "e /a".to_owned()][..], &["e HostOwned".to_owned(), "e LiteralPath".to_owned()][..])
    );
    let named = Options { challenges: vec!["e".into()], ..settings() };
    assert!(outcome(&Cluster::new(named).now(&[&evil])).0.contains(&"e /.well-known".to_owned()));
}

#[test]
fn an_object_whose_certificate_cannot_be_renewed_is_reported() {
    const ISSUER: &str = "cert-manager.io/cluster-issuer: letsencrypt";
    let with = |name: &str, annotations: &str| {
        let object = of("e", name, "nginx", HOST, "", &["Prefix /e"]);
        let tls = "spec: {tls: [{hosts: [a.example, e.example, '*.example'], secretName: pair}], ";
        object.replace("annotations: {", &format!("annotations: {{{annotations}")).replace("spec: {", tls)
    };
    let owner = of("o", "o", "nginx", HOST, "", &["Prefix /"]);
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: pair, namespace: e, annotations: {cert-manager.io/certificate-name: pair}}\ntype: kubernetes.io/tls\n".to_owned();
    let reported = |options: Options, all: &[&String]| {
        let mut cluster = Cluster::new(options);
        cluster.now(&[&owner]);
        let reported = cluster.now(all).findings;
        let reported =
            reported.iter().map(ToString::to_string).filter(|reported| reported.contains("ForeignChallenge"));
        reported.collect::<Vec<_>>()
    };
    let (plain, issued) = (with("p", ""), with("i", ISSUER));
    assert_eq!(reported(options(), &[&owner, &plain]), [""; 0]);
    let found = reported(options(), &[&owner, &issued]);
    assert!(
        found.len() == 1
            && found[0].contains("asked first for a.example, and")
            && found[0].contains("hosts.challenges"),
        "{found:?}"
    );
    assert_eq!(reported(options(), &[&owner, &plain, &secret]).len(), 1, "a Certificate that is made by itself");
    let named = Options { challenges: vec!["e".into()], ..options() };
    assert_eq!(reported(named, &[&owner, &issued]), [""; 0]);
    let alone = Cluster::new(options()).now(&[&issued]).findings;
    assert!(!alone.iter().any(|reported| reported.reason == Reason::ForeignChallenge), "a host of its own: {alone:?}");
}

#[test]
fn a_wildcard_that_is_protected_keeps_hosts_where_the_administrator_gives_it() {
    let wild = of("victim", "v", "nginx", "*.example", LIST, &["Prefix /"]);
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /"]);
    let entry = |namespace: &str, host: &str| AllowedHosts {
        namespaces: vec![namespace.into()],
        items: vec![host.parse().unwrap()],
        ..AllowedHosts::default()
    };
    let everybody = entry("*", "*");
    for (allowed_hosts, is_kept) in [
        (Vec::new(), false),
        (vec![everybody.clone()], false),
        (vec![entry("*", "*.example"), everybody.clone()], false),
        (vec![entry("victim", "*"), everybody.clone()], false),
        (vec![entry("victim", "*.example"), everybody.clone()], true),
        // Whoever is given the host itself has it.
        (vec![entry("victim", "*.example"), entry("evil", HOST)], false),
    ] {
        let mut cluster = Cluster::new(Options { allowed_hosts: allowed_hosts.clone(), ..options() });
        cluster.now(&[&wild]);
        let findings = outcome(&cluster.now(&[&wild, &evil])).1;
        assert_eq!(findings.contains(&"e HostOwned".to_owned()), is_kept, "{allowed_hosts:?}");
        let open = of("victim", "v", "nginx", "*.example", "", &["Prefix /"]);
        assert_eq!(cluster.now(&[&open, &evil]).model.servers.len(), 2);
    }
}
