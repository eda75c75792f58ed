//! Where the administrator wrote what findings speak of.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::WrittenAt;

/// Where settings were written, by their keys; those that are not among them are built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places(pub Arc<BTreeMap<&'static str, WrittenAt>>);

impl Places {
    /// Where a setting was written.
    pub fn of(&self, key: &str) -> WrittenAt {
        self.0.get(key).cloned().unwrap_or(WrittenAt::BuiltIn)
    }

    /// The key for a sentence, with the place where somebody wrote it.
    pub fn named(&self, key: &str) -> String {
        match self.of(key) {
            WrittenAt::BuiltIn => key.to_owned(),
            at => format!("{key} ({at})"),
        }
    }
}
