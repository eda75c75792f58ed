//! A translator that continues under other settings, or with other Secrets, gives the same result
//! as a new one.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{Options, at, ingress, options, path, world};
use crate::annotation::Trust;
use crate::attach::Attached;
use crate::memory::Memory;
use crate::read::reader::Readers;
use crate::select;
use crate::{ANNOTATIONS, OptionEntry, Policy, Translation, Translator};
use ingressd_model::Server;
use ingressd_objects::{Snapshot, Version};

fn objects() -> Snapshot {
    let protected = "auth-type: basic, auth-secret: users, auth-realm: 'who is it'";
    let limited = "allowlist-source-range: 10.0.0.0/8, proxy-read-timeout: '7'";
    let all = [("a", ""), ("b", protected), ("c", limited)].map(|(name, annotations)| {
        ingress(name, "nginx", &format!("{name}.example"), annotations, &[path("/", "Prefix", "web")])
    });
    snapshot(&all.join("\n---\n"))
}

fn read(translator: &mut Translator, snapshot: &Snapshot) -> Translation {
    translator.translate(snapshot, &world(), &Default::default())
}

/// The compared result: the servers and the findings.
fn outcome(translation: &Translation) -> (Vec<Server>, Vec<String>) {
    let servers = translation.model.servers.iter().map(|server| Server::clone(server)).collect();
    (servers, translation.findings.iter().map(ToString::to_string).collect())
}

#[test]
fn other_settings_give_what_a_new_translator_gives() {
    let snapshot = objects();
    let default = |key, value| said_for_all(&snapshot, key, value);
    let mut limited = options();
    limited.limits.object.list_entries = 0;
    let others: [(&str, Options); 4] = [
        ("less trust", Options { max_trust: Trust::Low, ..options() }),
        ("a default", Options { defaults: [default("proxy-read-timeout", "9")].into(), ..options() }),
        ("other limits", limited),
        ("none of them", options()),
    ];
    let mut translator = Translator::new(options());
    read(&mut translator, &snapshot);
    for (what, other) in others {
        translator.set_options(other.clone());
        let expected = read(&mut Translator::new(other), &snapshot);
        assert_eq!(outcome(&read(&mut translator, &snapshot)), outcome(&expected), "{what}");
    }
}

#[test]
fn servers_that_other_settings_do_not_concern_stay_the_same_in_memory() {
    let snapshot = objects();
    let mut translator = Translator::new(options());
    let before = read(&mut translator, &snapshot).model.servers.clone();
    let after = translator.translate(&snapshot, &at(&["192.0.2.1:80"]), &Default::default()).model.servers.clone();
    assert!(!before.is_empty() && before.iter().zip(&after).all(|(before, after)| Arc::ptr_eq(before, after)));
}

/// What the administrator says for all objects.
fn said_for_all(snapshot: &Snapshot, key: &str, value: &str) -> OptionEntry {
    let at = ingressd_model::Origin::object(&snapshot.ingresses[0].id);
    OptionEntry { row: ANNOTATIONS.find(key).unwrap(), value: value.into(), at }
}

/// Objects for which something else counts after a change of settings. None of them is read again.
fn changed(snapshot: &Snapshot, before: &Options, after: &Options) -> String {
    let by_kind = |kind| Readers::default().of(kind).map(|reader| reader.select);
    let (ingresses, _) = select::select(snapshot, by_kind, before, &mut Vec::new());
    let attached = |memory: &mut Memory, options: &Options| {
        memory.begin(snapshot, &world(), Readers::default());
        let intents = memory.read_all(&ingresses, Readers::default(), snapshot, options);
        memory.policies.attach(intents, &ingresses, snapshot, options)
    };
    let mut memory = Memory::default();
    let known = attached(&mut memory, before);
    assert_eq!(memory.take_read(), ingresses.len());
    memory.follow(before, after);
    let now = attached(&mut memory, after);
    assert_eq!(memory.take_read(), 0);
    let fresh = attached(&mut Memory::default(), after);
    let said = |object: &Attached<'_>| (object.policy.reading.clone(), object.policy.behaviour.clone());
    assert!(now.iter().map(said).eq(fresh.iter().map(said)));
    let is_same = |one: &Policy, other: &Policy| {
        Arc::ptr_eq(&one.reading, &other.reading) && Arc::ptr_eq(&one.behaviour, &other.behaviour)
    };
    let changed = known.iter().zip(&now).filter(|(known, now)| !is_same(&known.policy, &now.policy));
    changed.map(|(known, _)| &*known.intent.of.id.name).collect::<Vec<_>>().join(" ")
}

#[test]
fn only_for_objects_that_other_settings_concern_something_else_counts() {
    let snapshot = objects();
    let default = |key, value| said_for_all(&snapshot, key, value);
    let defaults = |defaults: &[OptionEntry]| Options { defaults: defaults.into(), ..options() };
    let timeout = defaults(&[default("proxy-read-timeout", "9")]);
    let both = defaults(&[default("proxy-read-timeout", "9"), default("auth-realm", "staff")]);
    let mut users = options();
    users.limits.password.users = 0;
    let mut hosts = options();
    hosts.limits.namespace.hosts = 1;
    for (what, before, after, expected) in [
        ("a default is new", options(), timeout.clone(), "a b"),
        ("a default is gone", timeout.clone(), options(), "a b"),
        ("a realm alone", timeout.clone(), both, ""),
        ("a default has another value", timeout, defaults(&[default("proxy-read-timeout", "8")]), "a b"),
        (
            "a list of clients",
            options(),
            Options { allowlist: vec!["10.0.0.0/8".parse().unwrap()], ..options() },
            "a b",
        ),
        ("redirects", options(), Options { ssl_redirect: false, ..options() }, "a b c"),
        ("less trust", options(), Options { max_trust: Trust::Low, ..options() }, "b c"),
        ("limits of passwords", options(), users, "b"),
        ("limits of namespaces", options(), hosts, ""),
    ] {
        assert_eq!(changed(&snapshot, &before, &after), expected, "{what}");
    }
}

#[test]
fn another_secret_is_read_where_it_is_named_and_nowhere_else() {
    let mut snapshot = objects();
    let mut translator = Translator::new(options());
    let before = read(&mut translator, &snapshot);
    let users = snapshot.secrets.iter().position(|secret| *secret.id.name == *"users").unwrap();
    let changed = &mut snapshot.secrets.edit()[users];
    changed.version = Version("another".into());
    let mut secret = (*changed.object).clone();
    secret.data = Box::default();
    changed.object = Arc::new(secret);
    let after = read(&mut translator, &snapshot);
    let expected = read(&mut Translator::new(options()), &snapshot);
    assert_eq!(outcome(&after), outcome(&expected));
    assert_ne!(outcome(&after), outcome(&before));
}
