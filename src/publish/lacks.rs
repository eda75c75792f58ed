//! The accepted Ingresses that a node does not serve, short enough for a Lease; it must not know why it does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::member::Revision;
use crate::model::ObjectId;

/// Most objects that are named; annotations of an object may have 256 KiB in all.
const MOST: usize = 4096;

/// The word for all that is newer than the generation, when too many would have to be named.
const NEWER: &str = "newer";

/// Stands for an object, by namespace and name.
type Mark = [u8; 8];

/// What a node does not serve, although it is told to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Lacks {
    /// It serves everything.
    #[default]
    Nothing,
    /// All but these.
    These(BTreeSet<Mark>),
    /// Nothing that changed since the generation was made, for all that is known.
    Newer,
}

impl Lacks {
    /// All but these objects.
    pub fn of(objects: &[Arc<ObjectId>]) -> Self {
        match objects.len() {
            0 => Lacks::Nothing,
            1..=MOST => Lacks::These(objects.iter().map(|id| mark(id)).collect()),
            _ => Lacks::Newer,
        }
    }

    /// Whether an object is not served; `needs` is the revision in which its content was first seen, `carries` the one that
    /// the generation was made from.
    pub fn has(&self, id: &ObjectId, needs: Option<Revision>, carries: Option<Revision>) -> bool {
        match self {
            Lacks::Nothing => false,
            Lacks::These(marks) => marks.contains(&mark(id)),
            Lacks::Newer => needs.is_none_or(|needs| carries.is_none_or(|carries| carries < needs)),
        }
    }

    /// As it stands in a Lease; `None` when there is nothing to say.
    pub fn text(&self) -> Option<String> {
        match self {
            Lacks::Nothing => None,
            Lacks::These(marks) => {
                let hexadecimal = |mark: &Mark| mark.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                Some(marks.iter().map(hexadecimal).collect::<Vec<_>>().join(","))
            }
            Lacks::Newer => Some(NEWER.to_owned()),
        }
    }

    /// What stands in a Lease. What makes no sense counts as the most that it could mean.
    pub fn read(text: Option<&str>) -> Self {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Lacks::Nothing };
        let marks = text.split(',').take(MOST + 1).map(|word| {
            let number = u64::from_str_radix(word, 16).ok().filter(|_| word.len() == 16)?;
            Some(number.to_be_bytes())
        });
        match marks.collect::<Option<BTreeSet<Mark>>>() {
            Some(marks) if marks.len() <= MOST => Lacks::These(marks),
            _ => Lacks::Newer,
        }
    }
}

fn mark(id: &ObjectId) -> Mark {
    let digest = Sha256::digest(format!("{}/{}", id.namespace, id.name).as_bytes());
    let mut mark = Mark::default();
    mark.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    mark
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    fn id(name: &str) -> Arc<ObjectId> {
        Arc::new(ObjectId::new(Kind::Ingress, "shop", name))
    }

    #[test]
    fn what_is_written_is_read_and_nonsense_means_the_most() {
        let many: Vec<_> = (0..=MOST).map(|number| id(&number.to_string())).collect();
        for objects in [&many[..0], &many[..1], &many[..MOST], &many[..]] {
            let lacks = Lacks::of(objects);
            assert_eq!(Lacks::read(lacks.text().as_deref()), lacks, "{}", objects.len());
            let (needs, carries) = (Some(Revision(2)), Some(Revision(1)));
            assert!(objects.iter().all(|id| lacks.has(id, needs, carries)), "{}", objects.len());
        }
        assert_eq!(Lacks::of(&many), Lacks::Newer);
        for text in ["x", "0", "0123456789abcdef,", "0123456789ABCDEG"] {
            assert_eq!(Lacks::read(Some(text)), Lacks::Newer, "{text}");
        }
        assert!(!Lacks::of(&many[..1]).has(&many[1], Some(Revision(2)), Some(Revision(1))));
    }

    #[test]
    fn what_is_not_newer_than_the_generation_is_not_lacking() {
        for (needs, carries, lacks) in [(2, Some(1), true), (1, Some(1), false), (1, None, true)] {
            assert_eq!(Lacks::Newer.has(&id("a"), Some(Revision(needs)), carries.map(Revision)), lacks);
        }
    }
}
