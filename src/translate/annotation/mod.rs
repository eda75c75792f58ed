//! Reads the annotations of one object by a table of typed rows; it must not know paths, hosts or backends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Dialect, Options, Reading};
use crate::model::ObjectId;
use crate::source::Snapshot;

/// Reads all annotations of the object `id` in `namespace`, whose semantics are those of `dialect`.
pub fn read(
    _id: &Arc<ObjectId>,
    _annotations: &BTreeMap<String, String>,
    _namespace: &str,
    _dialect: Dialect,
    _snapshot: &Snapshot,
    _options: &Options,
) -> Reading {
    Reading::default()
}
