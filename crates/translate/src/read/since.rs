//! The age of an object among those that are first seen together. It must not know what they
//! claim.

use k8s_openapi::jiff::Timestamp;

use super::intent::Source;
use ingressd_model::ObjectId;

/// Decides among claims that are first seen at the same time: by the object's age, then its UID,
/// which its author cannot choose, or when its file was written, and by its name only where
/// nothing else differs. A rule goes before an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since<'a> {
    /// Whether the object claims the host by an annotation, and by no rule.
    is_implied: bool,
    is_undated: bool,
    created: Option<Timestamp>,
    uid: Option<&'a str>,
    is_unwritten: bool,
    written: Option<i64>,
    id: &'a ObjectId,
}

impl<'a> Since<'a> {
    /// The age of an object.
    pub fn of(source: &'a Source) -> Self {
        let Source { id, uid, created, written, .. } = source;
        Since {
            is_implied: false,
            is_undated: created.is_none(),
            created: *created,
            uid: uid.as_deref(),
            is_unwritten: written.is_none(),
            written: *written,
            id,
        }
    }

    /// The same of a claim by an annotation, or by a rule.
    pub fn implied(self, is_implied: bool) -> Self {
        Since { is_implied, ..self }
    }
}
