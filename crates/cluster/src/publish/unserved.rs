//! The accepted objects that a node does not serve, in a form short enough for a Lease.

use std::collections::{BTreeMap, BTreeSet};

use super::member::Revision;
use ingressd_model::{Digest, ObjectId, hexadecimal};

/// The most objects and namespaces that are named; all annotations of an object together may have
/// 256 KiB.
const MOST: usize = 4096;

/// The text for everything newer than the generation, where naming each object would take too much
/// space.
const NEWER: &str = "newer";

/// A digest of an object's kind, namespace and name, or of a namespace.
type ShortDigest = [u8; 8];

/// Accepted objects that a node does not serve.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Unserved {
    /// The node serves everything.
    #[default]
    Nothing,
    /// It serves all but these objects and namespaces.
    These(BTreeSet<ShortDigest>),
    /// It may serve nothing that changed since its generation was made.
    Newer,
}

impl Unserved {
    /// Names these objects. On a pinned node (`is_pinned`) they are those that are newer than its
    /// generation.
    ///
    /// When there are too many, the namespaces with the most of them are named instead: a
    /// namespace that fills the list loses the node's address in its own objects only.
    pub fn of(objects: &[&ObjectId], is_pinned: bool) -> Self {
        match objects.len() {
            0 => return Unserved::Nothing,
            1..=MOST => return Unserved::These(objects.iter().map(|id| mark(id)).collect()),
            _ if is_pinned => return Unserved::Newer,
            _ => (),
        }
        let mut namespaces = BTreeMap::<&str, Vec<&ObjectId>>::new();
        for id in objects {
            namespaces.entry(&id.namespace).or_default().push(id);
        }
        let mut namespaces: Vec<_> = namespaces.into_iter().collect();
        namespaces.sort_by_key(|(_, objects)| objects.len());
        let mut named = objects.len();
        let mut marks = BTreeSet::new();
        while let Some((namespace, objects)) = namespaces.pop_if(|_| named > MOST) {
            marks.insert(mark_of_all(namespace));
            named -= objects.len() - 1;
        }
        if named > MOST {
            return Unserved::Newer;
        }
        marks.extend(namespaces.iter().flat_map(|(_, objects)| objects).map(|id| mark(id)));
        Unserved::These(marks)
    }

    /// Whether an object is not served. `needs` is the revision in which its content was first
    /// seen, `observed` the observed revision of the node's generation.
    pub fn has(&self, id: &ObjectId, needs: Option<Revision>, observed: Option<Revision>) -> bool {
        match self {
            Unserved::Nothing => false,
            Unserved::These(marks) => marks.contains(&mark(id)) || marks.contains(&mark_of_all(&id.namespace)),
            Unserved::Newer => needs.is_none_or(|needs| observed.is_none_or(|observed| observed < needs)),
        }
    }

    /// The text for a Lease; `None` when everything is served.
    pub fn text(&self) -> Option<String> {
        match self {
            Unserved::Nothing => None,
            Unserved::These(marks) => Some(marks.iter().map(|mark| hexadecimal(mark)).collect::<Vec<_>>().join(",")),
            Unserved::Newer => Some(NEWER.to_owned()),
        }
    }

    /// Reads the text from a Lease. An invalid one counts as `Newer`.
    pub fn read(text: Option<&str>) -> Self {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Unserved::Nothing };
        let marks = text.split(',').take(MOST + 1).map(|word| {
            let number = u64::from_str_radix(word, 16).ok().filter(|_| word.len() == 16)?;
            Some(number.to_be_bytes())
        });
        match marks.collect::<Option<BTreeSet<ShortDigest>>>() {
            Some(marks) if marks.len() <= MOST => Unserved::These(marks),
            _ => Unserved::Newer,
        }
    }
}

fn mark(id: &ObjectId) -> ShortDigest {
    Digest::of_all([id.kind.name(), "/", &id.namespace, "/", &id.name]).first()
}

fn mark_of_all(namespace: &str) -> ShortDigest {
    Digest::of_all(["/", namespace]).first()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::Kind;

    fn id(namespace: &str, name: &str) -> ObjectId {
        ObjectId::new(Kind::INGRESS, namespace, name)
    }

    fn unserved(objects: &[ObjectId], is_pinned: bool) -> Unserved {
        Unserved::of(&objects.iter().collect::<Vec<_>>(), is_pinned)
    }

    fn bulk(namespace: &str, count: usize) -> impl Iterator<Item = ObjectId> {
        (0..count).map(move |number| id(namespace, &number.to_string()))
    }

    #[test]
    fn what_is_written_is_read_and_nonsense_means_the_most() {
        let many: Vec<_> = bulk("shop", MOST + 1).collect();
        for (count, is_pinned) in [0, 1, MOST, MOST + 1].into_iter().flat_map(|count| [(count, false), (count, true)]) {
            let unserved = self::unserved(&many[..count], is_pinned);
            assert_eq!(Unserved::read(unserved.text().as_deref()), unserved, "{count}");
            let (needs, observed) = (Some(Revision(2)), Some(Revision(1)));
            assert!(many[..count].iter().all(|id| unserved.has(id, needs, observed)), "{count}");
        }
        for text in ["x", "0", "0123456789abcdef,", "0123456789ABCDEG"] {
            assert_eq!(Unserved::read(Some(text)), Unserved::Newer, "{text}");
        }
        assert!(!self::unserved(&many[..1], false).has(&many[1], Some(Revision(2)), Some(Revision(1))));
    }

    #[test]
    fn an_object_of_another_kind_is_another_one() {
        let namesake = ObjectId::new(Kind::SERVICE, "shop", "a");
        assert!(!self::unserved(&[id("shop", "a")], false).has(&namesake, None, None));
    }

    #[test]
    fn a_namespace_with_too_many_is_named_as_a_whole() {
        let objects: Vec<_> = bulk("crowd", MOST).chain(bulk("few", 3)).collect();
        let unserved = self::unserved(&objects, false);
        let has = |namespace, name| unserved.has(&id(namespace, name), Some(Revision(1)), Some(Revision(2)));
        assert!(objects.iter().all(|id| unserved.has(id, Some(Revision(1)), Some(Revision(2)))));
        assert_eq!((has("crowd", "served"), has("few", "served"), has("victim", "cart")), (true, false, false));
        assert!(unserved.text().is_some_and(|text| text.len() < 100), "{unserved:?}");
        let namespaces: Vec<_> = (0..=MOST).map(|number| id(&number.to_string(), "cart")).collect();
        // With too many namespaces none is named, and the content that the generation was made
        // from counts as served.
        let bulks = self::unserved(&namespaces, false);
        assert_eq!(bulks, Unserved::Newer);
        let victim = id("victim", "cart");
        assert!(!bulks.has(&victim, Some(Revision(2)), Some(Revision(2))));
        assert!(bulks.has(&victim, Some(Revision(3)), Some(Revision(2))));
    }

    #[test]
    fn what_is_not_newer_than_the_generation_is_not_lacking() {
        let pinned = self::unserved(&bulk("shop", MOST + 1).collect::<Vec<_>>(), true);
        assert_eq!(pinned, Unserved::Newer);
        for (needs, observed, unserved) in [(2, Some(1), true), (1, Some(1), false), (1, None, true)] {
            assert_eq!(pinned.has(&id("shop", "a"), Some(Revision(needs)), observed.map(Revision)), unserved);
        }
    }
}
