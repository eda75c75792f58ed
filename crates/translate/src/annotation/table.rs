//! A table of all keys with one prefix, as a value for the engine and the documentation.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::row::{Family, Row};

/// The keys of one dialect.
pub struct Table {
    /// The prefix of all keys, for example `nginx.ingress.kubernetes.io/`.
    pub prefix: &'static str,
    /// Prefixes of other dialects: an object with such a key gets a finding that it is not read.
    pub foreign: &'static [&'static str],
    /// Prefixes behind which keys of this table are written by mistake. A key with one of them is
    /// told where the object does not have it with the right one.
    pub mistaken: &'static [&'static str],
    /// Names that are no keys and are written nevertheless, with what to do instead.
    pub invented: &'static [(&'static [&'static str], &'static str)],
    /// The introduction of the documentation, as paragraphs.
    pub introduction: &'static [&'static str],
    /// The keys by family, in the order of the documentation.
    pub families: &'static [&'static Family],
    /// The rows by all their spellings, computed on first use.
    pub index: Index,
}

/// Rows by the names under which they are found, with the whole key.
pub type Index = OnceLock<HashMap<&'static str, (&'static Row, &'static str)>>;

impl Table {
    /// The same keys with another prefix, which ends with `/`. Objects with keys of the present
    /// prefix then get a finding that they are not read.
    ///
    /// Settings may be reloaded at any time, so the table for each prefix is made once and stays.
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

    /// All rows, by family.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> + use<> {
        self.families.iter().flat_map(|family| family.rows)
    }

    /// The row with this key or spelling, without the prefix.
    pub fn find(&self, name: &str) -> Option<&'static Row> {
        self.index().get(name).map(|(row, _)| *row)
    }

    /// The row with this key or spelling, given with the prefix, and that key.
    pub fn entry(&self, key: &str) -> Option<(&'static Row, &'static str)> {
        self.index().get(key.strip_prefix(self.prefix)?).copied()
    }

    /// What to do instead of an invented key.
    pub fn instead_of(&self, name: &str) -> Option<&'static str> {
        self.invented.iter().find(|(names, _)| names.contains(&name)).map(|(_, instead)| *instead)
    }

    /// The row of which this is a key behind a mistaken prefix.
    pub fn mistaken(&self, key: &str) -> Option<&'static Row> {
        self.mistaken.iter().find_map(|prefix| self.find(key.strip_prefix(prefix)?))
    }

    /// All keys and spellings, without the prefix.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.index().keys().copied()
    }

    fn index(&self) -> &HashMap<&'static str, (&'static Row, &'static str)> {
        // Tables stay, and there are few; so origins need no text of their own.
        let key = |name| &*format!("{}{name}", self.prefix).leak();
        let names = |row: &'static Row| std::iter::once(row.key).chain(row.aliases.iter().copied());
        let all = || self.rows().flat_map(|row| names(row).map(move |name| (name, row)));
        self.index.get_or_init(|| all().map(|(name, row)| (name, (row, key(name)))).collect())
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
