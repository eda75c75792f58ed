//! The effective value of a key, and the values that it overrides.

use super::*;
use crate::annotation::effective;
use ingressd_model::{Effective, Written, WrittenAt};

/// What counts of some settings.
fn setting(key: &str) -> Option<Effective> {
    let written = |value: &str, at| Written { value: value.into(), at };
    let file = |line| WrittenAt::Settings(format!("/etc/ingressd/ingressd.toml:{line}").into());
    match key {
        "limits.timeout" => Effective::of([written("1d", WrittenAt::BuiltIn), written("10m", file(7))]),
        "tls.redirect" => Effective::of([written("true", WrittenAt::BuiltIn), written("false", file(8))]),
        _ => None,
    }
}

/// The effective value with its place, after the values that it overrides.
fn lines(annotations: &[(&str, &str)], default: Option<(&'static str, &str)>, key: &str) -> Vec<String> {
    let annotations = annotations.iter().map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned())).collect();
    let default = default.map(|(key, value)| {
        let said = said_for_all(key, value);
        OptionEntry { at: Origin::field(&said.at.object, Field::Data(key.into())), ..said }
    });
    let options = Options {
        defaults: default.into_iter().collect(),
        limits: Limits { timeout: std::time::Duration::from_secs(600), ..Limits::default() },
        ..Options::default()
    };
    let (object, snapshot) = (&Arc::new(ObjectId::new(Kind::INGRESS, "default", "shop")), &snapshot());
    let dialect = &SPECIFICATION;
    let context = Context { object, dialect, table: &ANNOTATIONS, snapshot, options: &options };
    let (own, _) = own_options(object, &annotations, &ANNOTATIONS, &[]);
    let effective = ANNOTATIONS.find(key).and_then(|row| effective(&context, &own, row, &setting));
    let Some(effective) = effective else { return Vec::new() };
    let all = effective.overridden.iter().chain([&effective.counts]);
    all.map(|written| format!("{} {}", written.value, written.at)).collect()
}

#[test]
fn every_layer_that_says_a_key_is_known() {
    const KEY: &str = "proxy-read-timeout";
    const BUILT_IN: &str = "60 built in";
    const OF_MAP: &str = "30 ConfigMap edge/controller: data[proxy-read-timeout]";
    const OWN: &str = "20 Ingress default/shop: metadata.annotations[nginx.ingress.kubernetes.io/proxy-read-timeout]";
    let map = Some((KEY, "30"));
    assert_eq!(lines(&[], None, KEY), [BUILT_IN]);
    assert_eq!(lines(&[], map, KEY), [BUILT_IN, OF_MAP]);
    assert_eq!(lines(&[(KEY, "20")], map, KEY), [BUILT_IN, OF_MAP, OWN]);
    assert_eq!(lines(&[(KEY, "20")], None, KEY), [BUILT_IN, OWN]);
    // An empty value counts as none; an invalid one leaves the built-in value.
    assert_eq!(lines(&[(KEY, " ")], map, KEY), [BUILT_IN, OF_MAP]);
    assert_eq!(lines(&[(KEY, "soon")], map, KEY), [BUILT_IN]);
    // An empty entry of a list is left out, and the others count.
    let list = ("denylist-source-range", "192.0.2.0/24,,198.51.100.0/24");
    let [own] = &lines(&[list], None, list.0)[..] else { panic!("not what the object says alone") };
    assert!(own.starts_with("192.0.2.0/24,,198.51.100.0/24 Ingress default/shop: "), "{own}");
    assert_eq!(lines(&[(list.0, " , ")], None, list.0), [""; 0]);
    // Ceilings of the administrator are the highest layer.
    let above = lines(&[(KEY, "900")], None, KEY);
    assert_eq!(above.len(), 3);
    assert_eq!(above[2], "600 /etc/ingressd/ingressd.toml:7");
}

#[test]
fn a_setting_is_the_layer_below_the_config_map() {
    const KEY: &str = "ssl-redirect";
    const SETTINGS: [&str; 2] = ["true built in", "false /etc/ingressd/ingressd.toml:8"];
    let of_map = "true ConfigMap edge/controller: data[ssl-redirect]";
    assert_eq!(lines(&[], None, KEY), SETTINGS);
    assert_eq!(lines(&[], Some((KEY, "true")), KEY), [&SETTINGS[..], &[of_map]].concat());
    assert_eq!(lines(&[(KEY, "perhaps")], Some((KEY, "true")), KEY), SETTINGS);
    assert_eq!(lines(&[(KEY, "true")], None, KEY).len(), 3);
}

#[test]
fn what_counts_nowhere_is_nothing() {
    assert_eq!(lines(&[], None, "no-such-key"), [""; 0]);
    assert_eq!(lines(&[], None, "permanent-redirect"), [""; 0]);
    assert_eq!(lines(&[("allowlist-source-range", "10.0.0.0;")], None, "whitelist-source-range"), [""; 0]);
    let by_alias = lines(&[("whitelist-source-range", "10.0.0.0/8")], None, "allowlist-source-range");
    assert!(by_alias[0].starts_with("10.0.0.0/8 Ingress default/shop"), "{by_alias:?}");
}

/// Words of the arguments of a row's default, where it becomes a directive.
fn arguments(row: &Row) -> Option<(&'static catalogue::DirectiveRow, String)> {
    let Effect::Directive(directive, parse) = row.effect else { return None };
    let arguments = parse(row.default).unwrap();
    let written = arguments.iter().map(|argument| match argument {
        Argument::Word(word) => (*word).to_owned(),
        Argument::Number(number) => number.to_string(),
        Argument::Size(size) => size.to_string(),
        Argument::Time(time) if time.is_zero() => "0".to_owned(),
        Argument::Time(time) => format!("{}s", time.as_secs()),
        Argument::Switch(true) => "on".to_owned(),
        Argument::Switch(false) => "off".to_owned(),
        other => panic!("{other:?}"),
    });
    Some((directive, written.collect::<Vec<_>>().join(" ")))
}

#[test]
fn what_is_built_in_is_what_happens_without_the_key() {
    let template = include_str!("../../../../../crates/nginx/templates/server.hbs");
    let mut count = 0;
    for row in ANNOTATIONS.rows().filter(|row| !row.default.is_empty()) {
        count += 1;
        match arguments(row) {
            Some((directive, written)) => {
                let line = format!("    {} {written};\n", directive.name);
                let is_said = directive.in_template != catalogue::InTemplate::Never && template.contains(&line);
                assert!(is_said || directive.default == written, "{}: {written}", row.key);
            }
            None => {
                let (with, without) = (outline(&tried(row, row.key, row.default)), outline(&given(row.beside)));
                assert_eq!(with, without, "{}", row.key);
            }
        }
    }
    assert!(count > 20, "{count}");
}
