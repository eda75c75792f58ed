//! A translator that goes on under other settings, or with other Secrets: what it remembers changes no result.

use std::sync::Arc;

use super::manifests::snapshot;
use super::{Options, ingress, options, path};
use crate::model::Server;
use crate::source::{Snapshot, Version};
use crate::translate::annotation::Trust;
use crate::translate::{DefaultValue, Names, Translation, Translator};

fn objects() -> Snapshot {
    let protected = "auth-type: basic, auth-secret: users, auth-realm: 'who is it'";
    let limited = "allowlist-source-range: 10.0.0.0/8, proxy-read-timeout: '7'";
    let all = [("a", ""), ("b", protected), ("c", limited)].map(|(name, annotations)| {
        ingress(name, "nginx", &format!("{name}.example"), annotations, &[path("/", "Prefix", "web")])
    });
    snapshot(&all.join("\n---\n"))
}

fn read(translator: &mut Translator, snapshot: &Snapshot) -> Translation {
    translator.translate(snapshot, &Names::default(), &Default::default())
}

/// What is told apart: the servers and what is wrong.
fn outcome(translation: &Translation) -> (Vec<Server>, Vec<String>) {
    let servers = translation.model.servers.iter().map(|server| Server::clone(server)).collect();
    (servers, translation.findings.iter().map(ToString::to_string).collect())
}

#[test]
fn other_settings_give_what_a_new_translator_gives() {
    let snapshot = objects();
    let default = |key, value: &str| DefaultValue {
        key,
        value: value.into(),
        origin: crate::model::Origin::object(&snapshot.ingresses[0].id),
    };
    let own_addresses = vec!["192.0.2.1:80".parse().unwrap()];
    let mut limited = options();
    limited.limits.object.list_entries = 0;
    let others: [(&str, Options); 6] = [
        ("another address", Options { own_addresses, ..options() }),
        ("another time", Options { now: 1_900_000_000, ..options() }),
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
fn what_other_settings_do_not_concern_stays_the_same_in_memory() {
    let snapshot = objects();
    let mut translator = Translator::new(options());
    let before = read(&mut translator, &snapshot).model.servers;
    translator.set_options(Options { own_addresses: vec!["192.0.2.1:80".parse().unwrap()], ..options() });
    let after = read(&mut translator, &snapshot).model.servers;
    assert!(!before.is_empty() && before.iter().zip(&after).all(|(before, after)| Arc::ptr_eq(before, after)));
    let behaviours = |servers: &[Arc<Server>]| {
        servers.iter().map(|server| Arc::clone(&server.routes[0].behaviour)).collect::<Vec<_>>()
    };
    let same = |one: &[Arc<Server>], other: &[Arc<Server>]| {
        behaviours(one).iter().zip(behaviours(other)).map(|(one, other)| Arc::ptr_eq(one, &other)).collect::<Vec<_>>()
    };
    assert_eq!(same(&before, &after), [true, true, true]);
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
    secret.data = None;
    changed.object = Arc::new(secret);
    let after = read(&mut translator, &snapshot);
    let expected = read(&mut Translator::new(options()), &snapshot);
    assert_eq!(outcome(&after), outcome(&expected));
    assert_ne!(outcome(&after), outcome(&before));
}
