//! The table of readers: how the objects of each kind are selected and read, and what they need.

use std::collections::BTreeSet;

use crate::read::intent::Intent;
use crate::select::Select;
use crate::select::seen::Seen;
use crate::{ClassRule, Options};
use ingressd_model::finding::Finding;
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::{Entry, Kept, Snapshot};

/// What one version of an object says.
#[derive(Debug)]
pub struct Declared {
    pub intent: Intent,
    /// The objects that were looked up: with another version of one it says something else.
    pub looked_up: Vec<ObjectId>,
}

/// How the objects of a kind are read.
pub trait ReadKind {
    /// The part of them that is kept.
    type Kept: Kept;
    const KIND: Kind;

    /// The class rule of an object, or the finding that says why it is ignored.
    ///
    /// # Errors
    ///
    /// When it is not of our classes.
    fn select<'o>(
        seen: Seen<'_, Self::Kept>,
        snapshot: &Snapshot,
        options: &'o Options,
    ) -> Result<&'o ClassRule, Box<Finding>>;

    /// What it says.
    fn read(seen: Seen<'_, Self::Kept>, class: &ClassRule, snapshot: &Snapshot, options: &Options) -> Declared;

    /// The Secrets and ConfigMaps that it names: the source keeps them, whatever the class of the
    /// object is.
    fn needs(_seen: Seen<'_, Self::Kept>, _options: &Options) -> BTreeSet<ObjectId> {
        BTreeSet::new()
    }
}

/// Reads an object of any kind; `None` for one of another type.
type Read = fn(Entry<'_>, &ClassRule, &Snapshot, &Options) -> Option<Declared>;

/// A row of the table of readers, as a value.
#[derive(Debug, Clone, Copy)]
pub struct Reader {
    /// The kind.
    pub kind: Kind,
    /// How they are selected.
    pub select: Select,
    read: Read,
    needs: fn(Entry<'_>, &Options) -> Option<BTreeSet<ObjectId>>,
}

impl Reader {
    /// The row of this type.
    pub const fn of<R: ReadKind>() -> Self {
        Reader {
            kind: R::KIND,
            select: |entry, snapshot, options| Some(R::select(Seen::of(entry)?, snapshot, options)),
            read: |entry, class, snapshot, options| Some(R::read(Seen::of(entry)?, class, snapshot, options)),
            needs: |entry, options| Some(R::needs(Seen::of(entry)?, options)),
        }
    }

    /// What an object of this class says.
    pub fn read(
        &self,
        entry: Entry<'_>,
        class: &ClassRule,
        snapshot: &Snapshot,
        options: &Options,
    ) -> Option<Declared> {
        (self.read)(entry, class, snapshot, options)
    }
}

/// A table of readers; the default has that of Ingresses.
#[derive(Debug, Clone, Copy)]
pub struct Readers(pub &'static [Reader]);

impl Readers {
    /// The reader of a kind.
    pub fn of(self, kind: Kind) -> Option<&'static Reader> {
        self.0.iter().find(|reader| reader.kind == kind)
    }

    /// The Secrets and ConfigMaps that an object names.
    pub fn needs(self, entry: Entry<'_>, options: &Options) -> BTreeSet<ObjectId> {
        self.of(entry.id.kind).and_then(|reader| (reader.needs)(entry, options)).unwrap_or_default()
    }
}
