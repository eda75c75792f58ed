//! Properties of the table as a whole, and attacks that must be impossible.

mod ceilings;
mod closed;
mod companions;
mod defaults;
mod effective;
mod forms;
mod keys;
mod objects;
mod rows;
mod scopes;

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::tests::objects::{secret, snapshot};
use super::{
    Ceiling, Context, Effect, Gives, OnError, OptionEntry, Row, Scope, Trust, merge, options as own_options, outline,
};
use crate::{ANNOTATIONS, Dialect, INGRESS_NGINX, Limits, Options, PREFIX, Reading, SPECIFICATION};
use ingressd_model::catalogue::{self, AskedFor};
use ingressd_model::finding::{Finding, Reason, Severity};
use ingressd_model::{Argument, ByteSize, Field, HeaderName, Kind, ObjectId, Origin};
use ingressd_objects::{Snapshot, StringMap};

/// Every key that ingress-nginx documents or has documented, with the other spellings.
const KNOWN: &str = include_str!("known_keys.txt");

fn read_all(annotations: &StringMap, dialect: &'static Dialect, options: &Options) -> Reading {
    let object = &Arc::new(ObjectId::new(Kind::INGRESS, "default", "shop"));
    read_of(&Context { object, dialect, table: &ANNOTATIONS, snapshot: &snapshot(), options }, annotations)
}

/// What counts for an object with these annotations, with all findings about them.
fn read_of(context: &Context<'_>, annotations: &StringMap) -> Reading {
    let (own, mut findings) = own_options(context.object, annotations, context.table, &[]);
    let mut reading = merge(context, &own);
    findings.append(&mut reading.findings);
    Reading { findings, ..reading }
}

/// What the administrator says for all objects.
fn said_for_all(key: &str, value: &str) -> OptionEntry {
    let at = Origin::object(&Arc::new(ObjectId::new(Kind::CONFIG_MAP, "edge", "controller")));
    OptionEntry { row: ANNOTATIONS.find(key).unwrap(), value: value.into(), at }
}

/// Reads keys without their prefix in the specification dialect, with default settings that allow
/// everything.
fn given(annotations: &[(&str, &str)]) -> Reading {
    let full = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect();
    let allowed_headers = ["cache-control", "X-Frame-Options"].map(|name| HeaderName::new(name).unwrap()).to_vec();
    let options = Options { passthrough: true, allowed_headers, ..Options::default() };
    read_all(&full, &SPECIFICATION, &options)
}

fn tried(row: &Row, key: &str, value: &str) -> Reading {
    let all: Vec<_> = row.beside.iter().copied().chain([(key, value)]).collect();
    given(&all)
}

/// What happens to the object.
#[derive(Debug, PartialEq)]
enum End {
    Closed,
    Refused,
    Skipped,
}

/// A name for people, the annotations, and what happens to the object.
type Impossible = (&'static str, &'static [(&'static str, &'static str)], End);

/// Published vulnerabilities of ingress-nginx.
const IMPOSSIBLE: &[Impossible] = &[
    ("CVE-2021-25742", &[("server-snippet", "location /x { alias /; }")], End::Refused),
    ("CVE-2023-5043", &[("configuration-snippet", "content_by_lua_block { }")], End::Refused),
    ("CVE-2021-25746", &[("proxy-read-timeout", "1; } location /x { alias /; } #")], End::Skipped),
    ("CVE-2021-25746", &[("proxy-http-version", "1.1; deny all")], End::Skipped),
    ("CVE-2023-5044", &[("permanent-redirect", "https://a.example;}{")], End::Refused),
    ("CVE-2024-7646", &[("permanent-redirect", "https://a.example\rroot /")], End::Refused),
    ("CVE-2024-7646", &[("rewrite-target", "/a\rroot /")], End::Skipped),
    ("CVE-2025-24513", &[("auth-type", "basic"), ("auth-secret", "../../etc/x")], End::Closed),
    ("CVE-2025-24514", &[("auth-url", "http://a.example/#;}\n")], End::Closed),
    ("CVE-2025-1097", &[("auth-tls-match-cn", "CN=x #(\n){}\n }}")], End::Closed),
    ("CVE-2025-1098", &[("mirror-target", "x\"; }")], End::Skipped),
    ("CVE-2025-15566", &[("auth-proxy-set-headers", "default/x"), ("auth-url", "http://a")], End::Closed),
    ("CVE-2025-15566 with answers", &[("custom-headers", "default/bad-answer-headers")], End::Closed),
    ("CVE-2026-1580", &[("auth-url", "http://a"), ("auth-method", "GET; }")], End::Closed),
    ("CVE-2026-3288", &[("rewrite-target", "/\"; root /; #")], End::Skipped),
    ("a typo beside auth-url", &[("auth-url", "http://a"), ("auth-always-set-cookie", "yes")], End::Closed),
    ("a typo beside auth-url", &[("auth-url", "http://a"), ("auth-cache-duration", "200 5m;")], End::Closed),
    ("a typo beside auth-url", &[("auth-url", "http://a"), ("auth-request-redirect", "/a;b")], End::Closed),
    ("a canary with a typo", &[("canary", "yes")], End::Refused),
    ("an authentication type with more text", &[("auth-type", "xbasicx"), ("auth-secret", "users")], End::Closed),
    ("a secret of another namespace", &[("auth-type", "basic"), ("auth-secret", "elsewhere/users")], End::Closed),
    ("variables that tell secrets", &[("rewrite-target", "/$ssl_client_raw_cert")], End::Skipped),
    ("zero buffers freeze all", &[("proxy-buffers-number", "0")], End::Skipped),
    ("a negative time freezes all", &[("proxy-connect-timeout", "-1")], End::Skipped),
    ("an absurd size freezes all", &[("proxy-body-size", "99999999999999g")], End::Skipped),
    ("an unknown variable freezes all", &[("rewrite-target", "/$nothing")], End::Skipped),
    ("a value beyond a token of nginx", &[("rewrite-target", LONG)], End::Skipped),
    ("a payload under the other spelling", &[("whitelist-source-range", "10.0.0.0/8;}")], End::Closed),
];

#[test]
fn every_try_gives_what_the_row_says() {
    for row in ANNOTATIONS.rows() {
        for (value, gives) in row.all_tries() {
            for key in std::iter::once(row.key).chain(row.aliases.iter().copied()) {
                let reading = tried(row, key, value);
                let lines = outline(&reading);
                let is_left_out = matches!(gives, Gives::Refused(_) | Gives::LeftOut(_));
                assert_eq!(reading.falls_short, is_left_out, "{key}: {value:?}");
                match gives {
                    Gives::Sets(line) => {
                        assert!(lines.iter().any(|found| found == line), "{key}: {value:?} gives {lines:#?}");
                        assert_eq!(reading.findings, [], "{key}: {value:?}");
                    }
                    Gives::Cut(line) => {
                        assert!(lines.iter().any(|found| found == line), "{key}: {value:?} gives {lines:#?}");
                        let reasons: Vec<_> = reading.findings.iter().map(|finding| finding.reason).collect();
                        assert_eq!(reasons, [Reason::AboveCeiling], "{key}: {value:?}");
                    }
                    Gives::Near(line) => {
                        assert!(lines.iter().any(|found| found == line), "{key}: {value:?} gives {lines:#?}");
                        let reasons: Vec<_> = reading.findings.iter().map(|finding| finding.reason).collect();
                        assert_eq!(reasons, [Reason::NearestUsed], "{key}: {value:?}");
                    }
                    Gives::Nothing => {
                        assert_eq!(lines, outline(&given(row.beside)), "{key}: {value:?}");
                        assert_eq!(reading.findings, [], "{key}: {value:?}");
                    }
                    Gives::Refused(text) | Gives::LeftOut(text) => {
                        let notes: Vec<_> = reading.findings.iter().map(|finding| &*finding.note).collect();
                        assert!(notes.iter().any(|note| note.contains(text)), "{key}: {value:?} says {notes:#?}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_left_out_has_no_effect() {
    for row in ANNOTATIONS.rows() {
        for (value, _) in row.all_tries().into_iter().filter(|(_, gives)| matches!(gives, Gives::LeftOut(_))) {
            let reading = tried(row, row.key, value);
            assert_eq!(outline(&reading), outline(&given(row.beside)), "{}: {value:?}", row.key);
            assert!(!reading.closed && !reading.refused, "{}: {value:?}", row.key);
        }
    }
}

#[test]
fn a_refused_try_has_the_consequence_of_its_row() {
    for row in ANNOTATIONS.rows() {
        for (value, gives) in row.all_tries() {
            if matches!(gives, Gives::Refused(_)) {
                let reading = tried(row, row.key, value);
                let expected = match row.on_error {
                    OnError::Skip | OnError::WithholdCors | OnError::WithholdCopies => (false, false),
                    OnError::Close => (true, false),
                    OnError::Refuse => (false, true),
                };
                assert_eq!((reading.closed, reading.refused), expected, "{}: {value:?}", row.key);
                if row.on_error == OnError::WithholdCors {
                    assert_eq!(reading.behaviour.cors, None, "{}: {value:?}", row.key);
                }
                if row.on_error == OnError::WithholdCopies {
                    assert_eq!(reading.mirror, None, "{}: {value:?}", row.key);
                }
            }
        }
    }
}

#[test]
fn every_annotation_that_names_a_secret_or_a_config_map_has_a_form_that_says_so() {
    let refers = |row: &Row| row.form.refers_to().is_some();
    for row in ANNOTATIONS.rows() {
        let names_one = row.all_tries().iter().any(|(_, gives)| match gives {
            Gives::Sets(line) => line.contains("Secret "),
            Gives::Refused(text) => text.contains("name of a ConfigMap"),
            _ => false,
        });
        let is_beside_one = row.beside.iter().any(|(key, _)| ANNOTATIONS.find(key).is_some_and(refers));
        assert!(!names_one || is_beside_one || refers(row), "{}", row.key);
    }
}

#[test]
fn rows_are_documented_and_tried() {
    for row in ANNOTATIONS.rows() {
        assert!(row.documentation.len() > 20 && row.documentation.ends_with('.'), "{}", row.key);
        assert!(!row.all_tries().is_empty(), "{}", row.key);
        let refused = row.all_tries().iter().any(|(_, gives)| matches!(gives, Gives::Refused(_)));
        assert!(refused, "{} does not show what it refuses", row.key);
        if let Effect::Unserved { instead, .. } = row.effect {
            assert!(!instead.is_empty() && !instead.ends_with('.'), "{}", row.key);
        }
    }
}

#[test]
fn every_annotation_with_a_size_time_or_count_has_a_ceiling() {
    let is_number = |value: &str| {
        let digits = value.trim().trim_end_matches(|unit: char| "bkmgBKMG".contains(unit));
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        // Values that are refused when they are too small are numbers as well.
        let takes_number =
            row.all_tries().iter().any(|(value, gives)| !matches!(gives, Gives::Refused(_)) && is_number(value));
        assert_eq!(takes_number, !matches!(row.ceiling, Ceiling::NoNumber), "{}", row.key);
        if let Ceiling::NotNeeded(why) = row.ceiling {
            assert!(why.len() > 10, "{}", row.key);
        }
    }
}

#[test]
fn every_key_of_the_dialect_is_known() {
    let ours: BTreeSet<_> =
        ANNOTATIONS.rows().flat_map(|row| std::iter::once(row.key).chain(row.aliases.iter().copied())).collect();
    let known: BTreeSet<_> = KNOWN.split_whitespace().collect();
    assert_eq!(ours, known);
}

#[test]
fn every_directive_of_the_catalogue_is_set_by_a_row() {
    let all_tries = ANNOTATIONS
        .rows()
        .flat_map(|row| row.all_tries().into_iter().map(move |(value, _)| tried(row, row.key, value)));
    let set: BTreeSet<_> = all_tries
        .flat_map(|reading| reading.behaviour.directives.clone())
        .map(|directive| directive.row.name)
        .collect();
    let catalogue: BTreeSet<_> = catalogue::asked_for(AskedFor::ByRoute).map(|row| row.name).collect();
    assert_eq!(set, catalogue);
    for row in ANNOTATIONS.rows() {
        let Effect::Directive(directive, _) = row.effect else { continue };
        let expected = if row.scope == Scope::Server { AskedFor::ByServer } else { AskedFor::ByRoute };
        assert_eq!(directive.asked_for, expected, "{}", row.key);
    }
}

#[test]
fn defaults_follow_dialect_and_settings() {
    let redirect =
        |dialect, options: &Options| read_all(&StringMap::default(), dialect, options).behaviour.https_redirect;
    let options = Options::default();
    let strips = |dialect| redirect(dialect, &options).map(|redirect| redirect.strip_trailing_slash);
    assert_eq!(strips(&INGRESS_NGINX), Some(true));
    assert_eq!(strips(&SPECIFICATION), Some(false));
    let keep = StringMap::from([(format!("{PREFIX}preserve-trailing-slash"), "true")]);
    let kept = read_all(&keep, &INGRESS_NGINX, &options).behaviour.https_redirect;
    assert_eq!(kept.map(|redirect| redirect.strip_trailing_slash), Some(false));
    let forced = Options { force_ssl_redirect: true, ssl_redirect: false, ..Options::default() };
    assert_eq!(redirect(&SPECIFICATION, &forced).map(|redirect| redirect.forced), Some(true));
    let off = Options { ssl_redirect: false, ..Options::default() };
    assert_eq!(redirect(&SPECIFICATION, &off), None);
}

#[test]
fn an_annotation_replaces_the_lists_of_the_administrator() {
    let list = |text: &str| super::value::address_list(text).unwrap();
    let options = Options { allowlist: list("10.0.0.0/8"), denylist: list("10.6.6.6"), ..Options::default() };
    let access = |annotations| read_all(&annotations, &SPECIFICATION, &options).behaviour.access.unwrap();
    assert_eq!(access(StringMap::default()).allow(), list("10.0.0.0/8"));
    let own = access(StringMap::from([(format!("{PREFIX}whitelist-source-range"), "192.0.2.1")]));
    assert_eq!((own.allow().to_vec(), own.deny().to_vec()), (list("192.0.2.1"), list("10.6.6.6")));
}

#[test]
fn an_object_that_is_trusted_less_than_a_row_needs_is_refused_by_it() {
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let given = row.all_tries().into_iter().filter(|(_, gives)| matches!(gives, Gives::Sets(_)));
        for ((value, _), max_trust) in given.zip([Trust::Low, Trust::Medium, Trust::High].into_iter().cycle()) {
            let keys = [(row.key, value)];
            let annotations = keys.map(|(key, value)| (format!("{PREFIX}{key}"), value)).into();
            let options = Options { max_trust, ..Options::default() };
            let reading = read_all(&annotations, &SPECIFICATION, &options);
            let reported = |finding: &Finding| finding.note.contains("access.max-trust is");
            let is_refused = reading.findings.iter().any(reported);
            assert_eq!(is_refused, row.trust > max_trust, "{}: {:#?}", row.key, reading.findings);
            let consequence = (reading.closed, reading.refused);
            if is_refused {
                assert_eq!(
                    consequence,
                    (row.on_error == OnError::Close, row.on_error == OnError::Refuse),
                    "{}",
                    row.key
                );
            }
        }
    }
    let needs = |trust| ANNOTATIONS.rows().any(|row| row.is_served() && row.trust == trust);
    assert!(needs(Trust::Low) && needs(Trust::Medium) && !needs(Trust::Critical));
}

#[test]
fn empty_entries_of_lists_are_left_out_and_reported() {
    let lists: Vec<_> = ANNOTATIONS.rows().filter(|row| row.is_served() && row.form.is_list()).collect();
    assert!(lists.len() > 8);
    for row in lists {
        let tries = row.all_tries().into_iter();
        for (value, _) in tries.filter(|(_, gives)| matches!(gives, Gives::Sets(_) | Gives::Nothing)) {
            let (plain, reading) = (tried(row, row.key, value), tried(row, row.key, &format!("{value}, ,")));
            assert_eq!(outline(&reading), outline(&plain), "{}: {value:?}", row.key);
            let reported = reading.findings.iter().filter(|finding| finding.note.contains("an empty entry"));
            assert_eq!((reported.count(), plain.findings.len()), (1, 0), "{}: {value:?}", row.key);
        }
        let without = tried(row, row.key, " , ");
        assert_eq!(without.closed, row.on_error == OnError::Close, "{}", row.key);
        assert_eq!(without.refused, row.on_error == OnError::Refuse, "{}", row.key);
        assert!(without.findings.iter().any(|finding| finding.note.contains("without an entry")), "{}", row.key);
    }
}

#[test]
fn what_was_possible_elsewhere_is_not_possible_here() {
    for (what, annotations, end) in IMPOSSIBLE {
        let reading = given(annotations);
        let found = match (reading.closed, reading.refused) {
            (true, _) => End::Closed,
            (false, true) => End::Refused,
            (false, false) => End::Skipped,
        };
        assert_eq!(found, *end, "{what}: {annotations:?}");
        assert!(!reading.findings.is_empty(), "{what}: {annotations:?}");
        if *end == End::Skipped {
            assert_eq!(outline(&reading), outline(&given(&[])), "{what}: {annotations:?}");
        }
    }
}

const LONG: &str = {
    const BYTES: [u8; 5000] = [b'a'; 5000];
    match std::str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => "",
    }
};

#[test]
fn cors_has_the_defaults_of_the_dialect() {
    let lines = outline(&given(&[("enable-cors", "true")]));
    let expected = [
        "other origins: *",
        "allowed methods: GET, PUT, POST, DELETE, PATCH, OPTIONS",
        "allowed headers: DNT, Keep-Alive, User-Agent, X-Requested-With, If-Modified-Since, Cache-Control, Content-Type, \
         Range, Authorization",
        "exposed headers: ",
        "credentials: allowed",
        "preflight is good for 1728000 s",
    ];
    assert!(expected.iter().all(|line| lines.iter().any(|found| found == line)), "{lines:#?}");
}

#[test]
fn a_mistake_in_cors_lets_nobody_in() {
    for (key, value) in [("cors-allow-origin", "https://a.example;"), ("cors-allow-credentials", "flase")] {
        let reading = given(&[("enable-cors", "true"), (key, value)]);
        assert_eq!(reading.behaviour.cors, None);
        assert_eq!(reading.findings.len(), 1);
        assert_eq!(reading.findings[0].severity, Severity::Error);
    }
}

#[test]
fn what_ingress_nginx_ignores_as_well_is_no_warning() {
    for (key, severity) in [("secure-backends", Severity::Info), ("enable-opentelemetry", Severity::Warning)] {
        let found = given(&[(key, "true")]).findings;
        let reported: Vec<_> = found.iter().map(|finding| (finding.reason, finding.severity)).collect();
        assert_eq!(reported, [(Reason::UnsupportedAnnotation, severity)], "{key}");
    }
}

#[test]
fn a_bad_realm_keeps_the_default_and_the_password() {
    let reading = given(&[("auth-type", "basic"), ("auth-secret", "users"), ("auth-realm", "off")]);
    let authentication = reading.behaviour.basic_authentication.clone().unwrap();
    assert_eq!(authentication.realm.as_str(), "Authentication Required");
    assert!(!reading.closed);
}

#[test]
fn authentication_is_whole_or_the_routes_are_closed() {
    let reported = |annotations: &[(&str, &str)], options: &Options| {
        let full = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect();
        let reading = read_all(&full, &SPECIFICATION, options);
        assert_eq!(reading.behaviour.basic_authentication.is_some(), reading.password_file.is_some());
        let reasons: Vec<_> = reading.findings.iter().map(|finding| finding.reason).collect();
        (reading.closed, reading.password_file.is_some(), reasons)
    };
    let basic = ("auth-type", "basic");
    let strict = Options::default();
    let open = Options { cross_namespace: true, ..Options::default() };
    assert_eq!(reported(&[basic], &strict), (true, false, vec![Reason::ClosedRoute]));
    assert_eq!(reported(&[basic, ("auth-secret", "none")], &strict), (true, false, vec![Reason::MissingSecret]));
    assert_eq!(reported(&[basic, ("auth-secret", "users-map")], &strict), (true, false, vec![Reason::InvalidSecret]));
    assert_eq!(
        reported(&[basic, ("auth-secret", "elsewhere/users")], &strict),
        (true, false, vec![Reason::CrossNamespace])
    );
    assert_eq!(reported(&[basic, ("auth-secret", "elsewhere/users")], &open), (false, true, vec![]));
    assert_eq!(reported(&[basic, ("auth-secret", "A!")], &strict), (true, false, vec![Reason::InvalidSecurityValue]));
    assert_eq!(reported(&[("auth-secret", "users")], &strict), (false, false, vec![Reason::NoEffectAlone]));
    let digest = [("auth-type", "digest"), ("auth-secret", "users")];
    assert_eq!(reported(&digest, &strict), (true, false, vec![Reason::InvalidSecurityValue]));
}

#[test]
fn password_files_of_colliding_names_differ() {
    let file = |namespace: &str, name: &str| {
        let snapshot =
            Snapshot { secrets: vec![secret(namespace, name, &[("auth", "a:{SHA}h")])].into(), ..Snapshot::default() };
        let annotations = [("auth-type", "basic"), ("auth-secret", name)];
        let annotations = annotations.map(|(key, value)| (format!("{PREFIX}{key}"), value.to_owned())).into();
        let object = &Arc::new(ObjectId::new(Kind::INGRESS, namespace, "shop"));
        let options = Options::default();
        let (dialect, snapshot, options) = (&SPECIFICATION, &snapshot, &options);
        let reading = read_of(&Context { object, dialect, table: &ANNOTATIONS, snapshot, options }, &annotations);
        reading.password_file.unwrap().id.clone()
    };
    assert_ne!(file("a", "b-c"), file("a-b", "c"));
}

#[test]
fn an_empty_value_is_no_annotation_but_is_reported() {
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let reading = tried(row, row.key, " ");
        assert_eq!(outline(&reading), outline(&given(row.beside)), "{}", row.key);
        assert!(reading.findings.iter().any(|finding| finding.note.contains("empty")), "{}", row.key);
    }
}

/// Keys with one of the rows' own values, perhaps with a prefix, or with any text.
fn hostile() -> impl Strategy<Value = (String, String)> {
    let keys: Vec<&'static str> = KNOWN.split_whitespace().chain(["", "no-such-key"]).collect();
    let values: Vec<&'static str> =
        ANNOTATIONS.rows().flat_map(|row| row.all_tries().into_iter().map(|(value, _)| value)).collect();
    let poison = prop::sample::select(vec![
        "", "\r", "\n", "\0", "\t", "\u{b}", "\u{85}", "\u{2028}", ";", "{", "}", "#", "'", "\"", "\\", "$var",
        "${var", "../", "%0a", "(", "é", "\u{feff}", "~*", "@",
    ]);
    let value = (prop::sample::select(values), poison, any::<String>(), any::<bool>()).prop_map(
        |(value, poison, rest, free)| match free {
            true => format!("{rest}{poison}"),
            false => format!("{value}{poison}"),
        },
    );
    (prop::sample::select(keys), value).prop_map(|(key, value)| (format!("{PREFIX}{key}"), value))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_ends_a_line_comes_through(pairs in prop::collection::vec(hostile(), 1..6)) {
        let reading = read_all(&pairs.into_iter().collect(), &INGRESS_NGINX, &Options::default());
        for line in outline(&reading) {
            prop_assert!(!line.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')), "{line:?}");
        }
        for finding in &reading.findings {
            prop_assert!(!finding.note.contains(char::is_control), "{:?}", finding.note);
        }
    }
}

#[test]
fn long_values_are_judged_quickly_and_refused_or_cut() {
    for row in ANNOTATIONS.rows() {
        let reading = tried(row, row.key, &"a".repeat(64 * 1024));
        let longest = outline(&reading).iter().map(String::len).max().unwrap_or_default();
        assert!(longest < 4096, "{}", row.key);
        assert!(reading.findings.iter().all(|finding| finding.note.len() < 1024), "{}", row.key);
    }
}
