//! What DNS says about the names behind Services: an input of the translation, like the snapshot; it must not know who asks DNS.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::Options;
use super::external_name::ExternalName;
use crate::model::HostName;
use crate::source::Snapshot;

/// What is known about one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The addresses of the last answer, sorted; they stay when DNS fails.
    pub addresses: Vec<IpAddr>,
    /// Why there is no newer answer, as one clause.
    pub failure: Option<Arc<str>>,
}

/// Answers by name. A name that is not there was not asked for yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(pub BTreeMap<HostName, Answer>);

impl Names {
    /// The names that a translation of this snapshot may ask for. Whether anything refers to their Services does not count.
    pub fn wanted(snapshot: &Snapshot, options: &Options) -> BTreeSet<HostName> {
        let external = snapshot.services.iter().filter_map(|stored| stored.object.external_name.as_deref());
        let names = external.filter(|_| options.external_names).filter_map(|name| ExternalName::read(name).ok());
        names
            .filter_map(|name| match name {
                ExternalName::Name(name) => Some(name),
                ExternalName::Address(_) => None,
            })
            .collect()
    }
}
