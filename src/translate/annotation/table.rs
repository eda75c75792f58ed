//! All keys of one prefix, as a value that the engine and the documentation are given.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::row::{Family, Row};

/// The keys that whoever speaks one dialect writes.
pub struct Table {
    /// What all keys begin with, for example `nginx.ingress.kubernetes.io/`.
    pub prefix: &'static str,
    /// Prefixes of other dialects' keys: an object with one of them is told that they are not read.
    pub foreign: &'static [&'static str],
    /// What the documentation says before the keys, one paragraph each.
    pub introduction: &'static [&'static str],
    /// The keys, in the order in which people look for them.
    pub families: &'static [&'static Family],
    /// The rows by all their spellings; made when it is first asked for.
    pub index: Index,
}

/// Rows by the names under which they are found.
pub type Index = OnceLock<HashMap<&'static str, &'static Row>>;

impl Table {
    /// The same keys behind another prefix, which ends with `/`. Objects with keys behind this one are told that they are not read.
    ///
    /// Settings are read again at any time, so each prefix is made once and stays.
    pub fn behind(&'static self, prefix: &str) -> &'static Table {
        static OTHERS: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());
        let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = |table: &&&'static Table| table.prefix == prefix && std::ptr::eq(table.families, self.families);
        if let Some(known) = std::iter::once(&self).chain(others.iter()).find(is_known) {
            return known;
        }
        let foreign = self.foreign.iter().copied().chain([self.prefix]).collect::<Vec<_>>();
        let prefix = Box::leak(prefix.to_owned().into_boxed_str());
        let table = Box::leak(Box::new(Table { prefix, foreign: foreign.leak(), index: Index::new(), ..*self }));
        others.push(table);
        table
    }

    /// Every key, family by family.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> + use<> {
        self.families.iter().flat_map(|family| family.rows)
    }

    /// The row of a key or of another spelling of it, without the prefix.
    pub fn find(&self, name: &str) -> Option<&'static Row> {
        self.index().get(name).copied()
    }

    /// Every key and every other spelling, without the prefix.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.index().keys().copied()
    }

    fn index(&self) -> &HashMap<&'static str, &'static Row> {
        let names = |row: &'static Row| std::iter::once(row.key).chain(row.aliases.iter().copied());
        self.index.get_or_init(|| self.rows().flat_map(|row| names(row).map(move |name| (name, row))).collect())
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "keys of {}", self.prefix)
    }
}

/// There is one table for each prefix.
impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.prefix == other.prefix
    }
}

impl Eq for Table {}
