//! Finds the entry of an object's `spec.tls` for a host.

use std::collections::{HashMap, HashSet};

use crate::admit::admitted::Admitted;
use crate::options::dialect::UnlistedHost;
use crate::read::intent::TlsSpec;
use crate::secret::certificate::Certificates;
use crate::value::host;
use ingressd_model::{ObjectId, ServerName};
use ingressd_objects::Snapshot;

/// With more names than this an index is used: comparing each host with each name would take
/// minutes.
const FEW: usize = 16;

/// Finds entries.
#[derive(Debug)]
pub struct Entries<'a> {
    snapshot: &'a Snapshot,
    certificates: &'a Certificates,
    indexes: HashMap<&'a ObjectId, Index>,
}

/// The index of an object with many names: the first entry for each name.
#[derive(Debug, Default)]
struct Index {
    listed: HashMap<String, usize>,
    certified: HashMap<String, usize>,
    without_hosts: Option<usize>,
}

impl<'a> Entries<'a> {
    /// An empty cache of indexes.
    pub fn new(snapshot: &'a Snapshot, certificates: &'a Certificates) -> Self {
        Entries { snapshot, certificates, indexes: HashMap::new() }
    }

    /// The entry of `spec.tls` for the host.
    pub fn of_host(&mut self, object: &Admitted<'a>, name: &ServerName) -> Option<(usize, &'a TlsSpec)> {
        let entries = &object.attached.tls;
        let number = match has_few(entries) {
            true => self.compared(entries, object, name),
            false => self.looked_up(entries, object, name),
        };
        number.map(|number| (number, &entries[number]))
    }

    fn compared(&self, entries: &[TlsSpec], object: &Admitted<'_>, name: &ServerName) -> Option<usize> {
        let hosts = |matches: fn(&str, &ServerName) -> bool| {
            entries.iter().position(|entry| entry.hosts.iter().any(|listed| matches(listed, name)))
        };
        let listed = hosts(host::is_listed);
        match object.attached.class.dialect.unlisted_host {
            _ if listed.is_some() => listed,
            UnlistedHost::ByEntry => hosts(host::covers).or_else(|| entries.iter().position(is_without_hosts)),
            UnlistedHost::ByCertificate => entries.iter().position(|entry| {
                let secret = entry.secret.as_deref().unwrap_or_default();
                let secret = self.snapshot.secret(&object.id().namespace, secret);
                secret.is_some_and(|secret| self.certificates.check(secret).is_ok_and(|checked| checked.covers(name)))
            }),
        }
    }

    fn looked_up(&mut self, entries: &[TlsSpec], object: &Admitted<'a>, name: &ServerName) -> Option<usize> {
        if !self.indexes.contains_key(&**object.id()) {
            let index = self.index(entries, object);
            self.indexes.insert(object.id(), index);
        }
        let index = self.indexes.get(&**object.id())?;
        let (own, wildcard) = host::patterns(name);
        let first = |map: &HashMap<String, usize>, pattern: &Option<String>| {
            pattern.as_deref().and_then(|pattern| map.get(pattern)).copied()
        };
        let listed = first(&index.listed, &own);
        match object.attached.class.dialect.unlisted_host {
            _ if listed.is_some() => listed,
            UnlistedHost::ByEntry => first(&index.listed, &wildcard).or(index.without_hosts),
            UnlistedHost::ByCertificate => {
                first(&index.certified, &own).into_iter().chain(first(&index.certified, &wildcard)).min()
            }
        }
    }

    fn index(&self, entries: &[TlsSpec], object: &Admitted<'_>) -> Index {
        let mut index = Index { without_hosts: entries.iter().position(is_without_hosts), ..Index::default() };
        let mut secrets = HashSet::new();
        for (number, entry) in entries.iter().enumerate() {
            for listed in entry.hosts.iter() {
                index.listed.entry(listed.to_ascii_lowercase()).or_insert(number);
            }
            let secret = entry.secret.as_deref().unwrap_or_default();
            if object.attached.class.dialect.unlisted_host != UnlistedHost::ByCertificate || !secrets.insert(secret) {
                continue;
            }
            let secret = self.snapshot.secret(&object.id().namespace, secret);
            let checked = secret.and_then(|secret| self.certificates.check(secret).ok());
            for pattern in checked.iter().flat_map(|checked| checked.names()) {
                index.certified.entry(pattern.to_ascii_lowercase()).or_insert(number);
            }
        }
        index
    }
}

fn is_without_hosts(entry: &TlsSpec) -> bool {
    entry.hosts.is_empty()
}

/// Whether comparing is cheaper than an index; it counts no further than necessary.
fn has_few(entries: &[TlsSpec]) -> bool {
    let names = |entry: &TlsSpec| entry.hosts.len();
    entries.len() <= FEW && entries.iter().map(names).sum::<usize>() <= FEW
}
