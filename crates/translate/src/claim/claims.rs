//! Tracks since when each namespace claims its hosts, paths and ports, across versions of objects
//! and restarts.

mod order;
mod update;
mod within;

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};
use std::iter::Peekable;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use super::claims::update::{Ask, Update};
use super::key::{Frontend, Key};
use ingressd_model::{Port, ServerName, shared_text};

/// A number that is not assigned yet.
const UNNUMBERED: u64 = u64::MAX;

/// All present claims, and those that ended a moment ago. They are an input of the translation
/// and, with new ones added, an output.
///
/// An age is a number in the order in which claims were first seen, not a time: this needs no
/// clock, and no two ages are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Claims {
    next: u64,
    /// Those on paths are kept only while several namespaces claim the host.
    held: BTreeMap<Key, Vec<Claimant>>,
}

/// A namespace that claims something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    pub namespace: Arc<str>,
    /// Its age: lower numbers are older. A port has one claimant, whose age is never asked for.
    pub number: u64,
    /// Whether it claims the host exclusively.
    pub exclusive: bool,
    /// Whether all of its paths have the age of the host, because nobody else claimed that.
    is_whole: bool,
    /// Since when no object of the namespace claims it any more, in seconds since 1970; it stays
    /// reserved for a while.
    pub gone: Option<i64>,
}

impl Claimant {
    /// One that has something for itself alone.
    pub fn only(namespace: Arc<str>, gone: Option<i64>) -> Self {
        Claimant { namespace, number: 0, exclusive: true, is_whole: true, gone }
    }

    /// Whether all paths of the host are reserved for it, of which it is not known what they are.
    pub const fn has_left_alone(&self) -> bool {
        self.is_whole && self.gone.is_some()
    }
}

/// An iterator over claims, see [`Claims::in_order`].
#[derive(Debug)]
pub struct InOrder<'c>(Peekable<btree_map::Range<'c, Key, Vec<Claimant>>>);

impl<'c> InOrder<'c> {
    /// The claimants of a host; hosts must be asked for in order.
    pub fn of(&mut self, host: &ServerName) -> &'c [Claimant] {
        let key = Key::host(host);
        while self.0.next_if(|(known, _)| **known < key).is_some() {}
        self.0.peek().filter(|(known, _)| **known == key).map(|(_, claimants)| claimants.as_slice()).unwrap_or_default()
    }
}

impl Claims {
    /// The claimants of this, present or past ones.
    fn on(&self, key: &Key) -> &[Claimant] {
        self.held.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The claimants of a host, present or past ones.
    pub fn of(&self, host: &ServerName) -> &[Claimant] {
        self.on(&Key::host(host))
    }

    /// The namespaces of objects that have a port, or had it a moment ago.
    pub fn ports(&self) -> impl Iterator<Item = (Port, &Claimant)> {
        self.held.iter().map_while(|(key, claimants)| match key {
            Key::Port(_, port) => Some((*port, claimants.first()?)),
            Key::Host(..) => None,
        })
    }

    /// The one that has this port, or had it a moment ago.
    pub fn holder(&self, port: Port) -> Option<&Claimant> {
        self.on(&Key::port(port)).first()
    }

    /// The claims on hosts and paths, in order.
    fn names(&self) -> btree_map::Range<'_, Key, Vec<Claimant>> {
        self.held.range(Key::host(&ServerName::CatchAll)..)
    }

    /// The claims on hosts, for lookups in the order of hosts.
    pub fn in_order(&self) -> InOrder<'_> {
        InOrder(self.names().peekable())
    }

    /// All claimed hosts, present or past ones, in order, with their claimants.
    fn claimed_hosts(&self) -> impl Iterator<Item = (&ServerName, &[Claimant])> {
        self.names().filter_map(|(key, claimants)| match key {
            Key::Host(_, name, None) => Some((name, claimants.as_slice())),
            Key::Host(..) | Key::Port(..) => None,
        })
    }

    /// All claimed hosts, present or past ones, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &ServerName> {
        self.claimed_hosts().map(|(name, _)| name)
    }

    /// The claims on paths of a host, by objects that are served or not, present or past.
    pub fn paths(&self, host: &ServerName) -> impl Iterator<Item = (&str, &[Claimant])> {
        let below = self.held.range(Key::path(host, "")..);
        below.map_while(move |(key, claimants)| match key {
            Key::Host(Frontend::NODE, name, Some(beginning)) if name == host => Some((&**beginning, &**claimants)),
            Key::Host(..) | Key::Port(..) => None,
        })
    }

    /// The first claimant of a host.
    pub fn owner(&self, host: &ServerName) -> Option<&Claimant> {
        self.of(host).iter().min_by_key(|claimant| claimant.number)
    }

    fn number_of(&self, key: &Key, namespace: &str) -> Option<u64> {
        Some(self.on(key).iter().find(|claimant| *claimant.namespace == *namespace)?.number)
    }

    /// The age of a namespace's claim on a host; the youngest possible when there is none.
    pub fn number(&self, host: &ServerName, namespace: &str) -> u64 {
        self.number_of(&Key::host(host), namespace).unwrap_or(UNNUMBERED)
    }

    /// The age of a path; `None` while no other namespace claims the host.
    pub fn age(&self, host: &ServerName, namespace: &str, beginning: &str) -> Option<u64> {
        self.number_of(&Key::path(host, beginning), namespace)
    }

    /// The lines to keep for the next start.
    pub fn write(&self) -> impl Iterator<Item = Line<'_>> {
        self.held.iter().flat_map(|(key, claimants)| {
            claimants.iter().map(|claimant| Line {
                host: key.to_string().into(),
                path: key.beginning().map(|beginning| (&**beginning).into()),
                namespace: (&*claimant.namespace).into(),
                number: claimant.number,
                exclusive: claimant.exclusive,
                is_shared: !claimant.is_whole,
                gone: claimant.gone,
            })
        })
    }

    /// Reads the lines of an earlier run; a line with an invalid host is dropped.
    pub fn read<'a>(lines: impl IntoIterator<Item = Line<'a>>) -> Self {
        let mut claims = Claims::default();
        for Line { host, path, namespace, number, exclusive, is_shared, gone } in lines {
            let Some(key) = Key::read(&host) else { continue };
            let key = match (key.name(), path) {
                (Some(name), Some(beginning)) => Key::path(name, &*beginning),
                _ => key,
            };
            claims.next = claims.next.max(number.saturating_add(1));
            let (namespace, is_whole) = (shared_text(&namespace), !is_shared);
            claims.held.entry(key).or_default().push(Claimant { namespace, number, exclusive, is_whole, gone });
        }
        claims
    }
}

/// One claimant as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub struct Line<'a> {
    /// A host, or a port.
    host: Cow<'a, str>,
    /// The path of the host, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'a, str>>,
    namespace: Cow<'a, str>,
    number: u64,
    exclusive: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_shared: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone: Option<i64>,
}
