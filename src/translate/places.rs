//! The places of the administrator's settings, for findings.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::WrittenAt;

/// The places of settings by their keys; those that are missing are built in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Places(pub Arc<BTreeMap<&'static str, WrittenAt>>);

impl Places {
    /// The place of a setting.
    pub fn of(&self, key: &str) -> WrittenAt {
        self.0.get(key).cloned().unwrap_or(WrittenAt::BuiltIn)
    }

    /// The key for a sentence, with the place if the setting was written.
    pub fn named(&self, key: &str) -> String {
        match self.of(key) {
            WrittenAt::BuiltIn => key.to_owned(),
            at => format!("{key} ({at})"),
        }
    }
}
