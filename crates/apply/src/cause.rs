//! Why a generation was made: the changed objects that own lines of the files that differ.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ingressd_model::{Kind, ObjectId};

/// How many objects are named; of the others only the number is kept.
const MOST_NAMED: usize = 3;

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    Added,
    /// Its version is another one.
    Changed,
    /// It is gone.
    Removed,
}

/// The objects that changed since the generation before and affected this one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cause {
    /// The first of them.
    pub objects: Vec<(Arc<ObjectId>, Change)>,
    /// How many more there are.
    pub more: usize,
}

/// The form on disk: change, kind, namespace and name of each object.
#[derive(Serialize, Deserialize)]
struct WrittenCause {
    objects: Vec<(Change, String, String, String)>,
    more: usize,
}

impl Cause {
    /// Selects the changed objects that own lines of the files that differ. Objects that never own
    /// lines, such as IngressClasses and Namespaces, count only when no other does.
    pub fn of(changes: &[(Arc<ObjectId>, Change)], owners: &BTreeSet<Arc<ObjectId>>) -> Self {
        let owns =
            |kind: Kind| kind.asks_for_routes() || matches!(kind, Kind::SERVICE | Kind::SECRET | Kind::CONFIG_MAP);
        let mut objects: Vec<_> = changes.iter().filter(|(id, _)| owners.contains(id)).cloned().collect();
        if objects.is_empty() {
            objects = changes.iter().filter(|(id, _)| !owns(id.kind)).cloned().collect();
        }
        objects.sort();
        let more = objects.len().saturating_sub(MOST_NAMED);
        objects.truncate(MOST_NAMED);
        objects.shrink_to_fit();
        Cause { objects, more }
    }

    /// The content of the file beside a generation.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let written = |(id, change): &(Arc<ObjectId>, Change)| {
            (*change, id.kind.name().to_owned(), id.namespace.to_string(), id.name.to_string())
        };
        let written = WrittenCause { objects: self.objects.iter().map(written).collect(), more: self.more };
        // Serialising numbers and texts cannot fail.
        serde_json::to_vec(&written).unwrap_or_default()
    }

    /// Reads the file; `None` when it is missing or not readable.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let WrittenCause { objects, more } = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let read = |(change, kind, namespace, name): (Change, String, String, String)| {
            let kind = Kind::read(&kind)?;
            Some((Arc::new(ObjectId::new(kind, &namespace, &name)), change))
        };
        Some(Cause { objects: objects.into_iter().map(read).collect::<Option<_>>()?, more })
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Change::Added => "added",
            Change::Changed => "changed",
            Change::Removed => "removed",
        })
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.objects.is_empty() {
            return formatter.write_str("no object changed");
        }
        for (place, (id, change)) in self.objects.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(formatter, "{comma}{id} {change}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(kind: Kind, name: &str) -> Arc<ObjectId> {
        Arc::new(ObjectId::new(kind, "shop", name))
    }

    fn reported(changes: &[(Arc<ObjectId>, Change)], owners: &[&Arc<ObjectId>]) -> Cause {
        Cause::of(changes, &owners.iter().map(|owner| Arc::clone(owner)).collect())
    }

    #[test]
    fn what_has_nothing_to_do_with_the_difference_is_no_cause() {
        let (cart, web, other) = (id(Kind::INGRESS, "cart"), id(Kind::SERVICE, "web"), id(Kind::SERVICE, "other"));
        let class = Arc::new(ObjectId::new(Kind::INGRESS_CLASS, "", "nginx"));
        let changes = [
            (Arc::clone(&other), Change::Added),
            (Arc::clone(&class), Change::Changed),
            (Arc::clone(&web), Change::Removed),
            (Arc::clone(&cart), Change::Changed),
        ];
        assert_eq!(
            reported(&changes, &[&cart, &web]).to_string(),
            "Ingress shop/cart changed, Service shop/web removed"
        );
        assert_eq!(reported(&changes, &[]).to_string(), "IngressClass nginx changed");
        assert_eq!(reported(&changes[..1], &[&cart]).to_string(), "no object changed");
    }

    #[test]
    fn many_objects_are_counted_and_names_forge_no_lines() {
        let all: Vec<_> =
            (0..50).map(|number| (id(Kind::INGRESS, &format!("a\n{number:02}")), Change::Added)).collect();
        let cause = reported(&all, &all.iter().map(|(id, _)| id).collect::<Vec<_>>());
        assert_eq!(
            cause.to_string(),
            "Ingress shop/a\\n00 added, Ingress shop/a\\n01 added, Ingress shop/a\\n02 added and 47 more"
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cause");
        assert_eq!(Cause::read(&path), None);
        fs::write(&path, cause.bytes()).unwrap();
        assert_eq!(Cause::read(&path), Some(cause));
        fs::write(&path, r#"{"objects":[["added","an other","a","b"]],"more":0}"#).unwrap();
        assert_eq!(Cause::read(&path), None, "its kind has no name");
    }
}
