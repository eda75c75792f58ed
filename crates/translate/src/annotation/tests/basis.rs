//! Which readings are still valid under other settings.

use super::*;
use crate::DefaultValue;
use crate::annotation::{Basis, Change, NotedOptions, read_with_basis};
use ingressd_model::Origin;

fn reading(annotations: &[(&str, &str)], options: &Options) -> (Reading, Basis) {
    let annotations = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect();
    let object = &Arc::new(ObjectId::new(Kind::Ingress, "default", "shop"));
    let (snapshot, options) = (&snapshot(), &NotedOptions::new(options));
    let (namespace, dialect, table) = ("default", &SPECIFICATION, &ANNOTATIONS);
    read_with_basis(&Context { object, namespace, dialect, table, snapshot, options }, &annotations)
}

fn before() -> Options {
    Options { passthrough: true, ..Options::default() }
}

fn with_default(key: &'static str, value: &str) -> Options {
    let origin = Origin::object(&Arc::new(ObjectId::new(Kind::ConfigMap, "edge", "controller")));
    Options { defaults: [DefaultValue { key, value: value.into(), origin }].into(), ..before() }
}

fn with_limits(change: impl FnOnce(&mut Limits)) -> Options {
    let mut options = before();
    change(&mut options.limits);
    options
}

/// Options with one difference each, by its name.
fn others() -> Vec<(&'static str, Options)> {
    let list = || vec!["192.0.2.0/24".parse().unwrap()];
    vec![
        ("time", Options { now: 7, ..before() }),
        ("addresses", Options { own_addresses: vec!["192.0.2.1:80".parse().unwrap()], ..before() }),
        ("hosts of namespaces", with_limits(|limits| limits.namespace.hosts = 1)),
        ("allowlist", Options { allowlist: list(), ..before() }),
        ("denylist", Options { denylist: list(), ..before() }),
        ("redirects", Options { ssl_redirect: false, ..before() }),
        ("redirects everywhere", Options { force_ssl_redirect: true, ..before() }),
        ("their status", Options { redirect_status: 301, ..before() }),
        ("other namespaces", Options { cross_namespace: true, ..before() }),
        ("no passthrough", Options { passthrough: false, ..before() }),
        ("strict paths", Options { strict_paths: Some(false), ..before() }),
        ("shared rules", Options { shares_firewall_rules: true, ..before() }),
        ("low trust", Options { max_trust: Trust::Low, ..before() }),
        ("medium trust", Options { max_trust: Trust::Medium, ..before() }),
        ("bytes", with_limits(|limits| limits.object.annotation_bytes = 3)),
        ("elements", with_limits(|limits| limits.object.list_entries = 1)),
        ("origins", with_limits(|limits| limits.object.origins = 1)),
        ("passwords", with_limits(|limits| limits.password.users = 0)),
        ("sizes", with_limits(|limits| limits.body_size = ByteSize(1))),
        ("buffers", with_limits(|limits| limits.answer_buffers = ByteSize(1 << 14))),
        ("times", with_limits(|limits| limits.timeout = std::time::Duration::from_secs(1))),
        ("tries", with_limits(|limits| limits.tries = 1)),
    ]
}

/// The annotations of objects: each row's own examples.
fn examples() -> Vec<Vec<(&'static str, &'static str)>> {
    let of = |row: &'static Row| {
        row.tries().into_iter().map(|(value, _)| row.beside.iter().copied().chain([(row.key, value)]).collect())
    };
    ANNOTATIONS.rows().flat_map(of).chain([Vec::new()]).collect()
}

#[test]
fn what_outlasts_other_settings_means_the_same_under_them() {
    let (examples, before) = (examples(), before());
    let known: Vec<_> = examples.iter().map(|annotations| reading(annotations, &before)).collect();
    let mut lasting = 0;
    for (what, after) in others() {
        let (there, back) = (Change::between(&before, &after), Change::between(&after, &before));
        let mut others = 0;
        for (annotations, (reading_before, basis)) in examples.iter().zip(&known) {
            let (reading_after, basis_after) = reading(annotations, &after);
            let is_same = *reading_before == reading_after;
            others += usize::from(!is_same);
            assert!(is_same || !basis.outlasts(&ANNOTATIONS, &there), "{what}: {annotations:?}");
            assert!(is_same || !basis_after.outlasts(&ANNOTATIONS, &back), "back from {what}: {annotations:?}");
            lasting += usize::from(basis.outlasts(&ANNOTATIONS, &there));
        }
        let is_nothing = ["time", "addresses", "hosts of namespaces"].contains(&what);
        assert_eq!(others == 0, is_nothing, "{what} matters for {others} of them");
    }
    assert!(lasting > 0);
}

#[test]
fn a_default_matters_to_objects_without_the_key() {
    let (examples, before) = (examples(), before());
    for row in ANNOTATIONS.rows().filter(|row| row.is_served()) {
        let after = with_default(row.key, row.tries[0].0);
        let change = Change::between(&before, &after);
        let family =
            ANNOTATIONS.families.iter().find(|family| family.rows.iter().any(|own| own.key == row.key)).unwrap();
        let is_of_family = |(key, _): &(&str, &str)| family.rows.iter().any(|own| own.key == *key);
        for annotations in examples.iter().filter(|annotations| annotations.iter().all(is_of_family)) {
            let (known, basis) = reading(annotations, &before);
            let is_same = known == reading(annotations, &after).0;
            assert!(is_same || !basis.outlasts(&ANNOTATIONS, &change), "{}: {annotations:?}", row.key);
            let says = annotations.iter().any(|(key, value)| *key == row.key && !value.trim().is_empty());
            let expected = says && !row.stands_alone;
            assert_eq!(basis.outlasts(&ANNOTATIONS, &change), expected, "{}: {annotations:?}", row.key);
        }
    }
}

#[test]
fn a_ceiling_matters_for_those_that_have_a_value_below_it_and_for_defaults() {
    let lower = |options: &Options| {
        let mut lower = options.clone();
        lower.limits.timeout = std::time::Duration::from_secs(1);
        lower
    };
    let (plain, defaulted) = (before(), with_default("proxy-read-timeout", "7"));
    for (annotations, under, expected) in [
        (&[("proxy-send-timeout", "9")][..], &plain, false),
        (&[("proxy-body-size", "9m")], &plain, true),
        (&[("proxy-body-size", "9m")], &defaulted, false),
        (&[("proxy-read-timeout", "9")], &defaulted, false),
        (&[], &plain, true),
    ] {
        let (_, basis) = reading(annotations, under);
        let after = lower(under);
        assert_eq!(basis.outlasts(&ANNOTATIONS, &Change::between(under, &after)), expected, "{annotations:?}");
    }
}
