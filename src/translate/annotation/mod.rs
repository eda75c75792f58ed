//! Reads the annotations of one object by a table of typed rows; it must not know paths, hosts or backends.

mod document;
mod draft;
mod engine;
mod outline;
mod row;
#[cfg(test)]
mod tests;
pub mod value;

pub use document::{document, manual, summary};
pub use draft::{Context, Draft, Entry, SecretReference};
pub use engine::PREFIX;
pub use outline::outline;
pub use row::{
    Ceiling, Effect, Family, Gives, OnError, Row, Scope, Trust, Try, Unit, always, nothing_to_finish, unless_all,
    unless_false, unless_off, unless_true,
};

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ingress_nginx::FAMILIES;
use super::{Dialect, Options, Reading};
use crate::model::ObjectId;
use crate::source::Snapshot;

/// Reads all annotations of the object `id` in `namespace`, whose semantics are those of `dialect`.
///
/// What is wrong with them is in the findings of the reading; a bad value never takes the others with it, except
/// where the reading says `closed` or `refused`.
pub fn read(
    id: &Arc<ObjectId>,
    annotations: &BTreeMap<String, String>,
    namespace: &str,
    dialect: Dialect,
    snapshot: &Snapshot,
    options: &Options,
) -> Reading {
    engine::read(&Context { object: id, namespace, dialect, snapshot, options }, annotations)
}

/// Every annotation that is known, family by family.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().flat_map(|family| family.rows)
}
