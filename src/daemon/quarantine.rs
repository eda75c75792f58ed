//! The object versions that nginx refused, kept across restarts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::objects;
use super::state_file;
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Field, Kind, ObjectId, Origin};
use ingressd_objects::{Snapshot, Version};

/// Why a version is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub version: Version,
    /// nginx's message.
    pub words: String,
    /// The field, when it is known.
    pub field: Field,
    /// Whether its last good version was refused too, so that the object is left out.
    pub left_out: bool,
    /// What refused it, see [`Quarantine::keep_in_force`].
    pub judge: Arc<str>,
    pub proof: Proof,
}

/// How it is known that this version is what nginx refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Proof {
    /// It is not proven.
    Missing,
    /// nginx accepts it alone, and refuses it together with what is in force: the verdict may
    /// change with any other object.
    Together,
    /// The same before the last change, after which nginx was not asked again.
    Outdated,
    /// nginx refuses it whatever else there is.
    Alone,
}

/// Object versions that must not be served. A new version of an object is tried again, and all are
/// tried again where something else may decide otherwise.
#[derive(Debug, Default)]
pub struct Quarantine {
    entries: BTreeMap<Arc<ObjectId>, Entry>,
    judge: Arc<str>,
    file: Option<PathBuf>,
    /// Whether the file differs.
    is_changed: bool,
}

/// The form on disk.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    kind: String,
    namespace: String,
    name: String,
    version: String,
    words: String,
    field: String,
    left_out: bool,
    judge: String,
    proof: Proof,
}

impl Quarantine {
    /// Reads what an earlier run left in this folder. Damage is logged as a warning: the versions
    /// are then tried again.
    ///
    /// # Errors
    ///
    /// When there may be entries that cannot be read now.
    pub fn open(state: &Path) -> io::Result<Self> {
        let file = state.join("quarantine.json");
        let lines: Option<Vec<Line>> = state_file::read_kept(&file, "the quarantine of the last run is ignored")?;
        let entries = lines.unwrap_or_default().into_iter().filter_map(Line::read).collect();
        Ok(Quarantine { entries, judge: Arc::default(), file: Some(file), is_changed: false })
    }

    /// Ends the quarantine of objects that are gone or have another version, and of all versions
    /// that another `judge` refused. The judge identifies everything that may decide otherwise
    /// than before, such as another version of nginx or of ingressd.
    pub fn keep_in_force(&mut self, snapshot: &Snapshot, judge: &Arc<str>) {
        let before = self.entries.len();
        self.judge = Arc::clone(judge);
        let in_force = |id: &ObjectId, entry: &Entry| {
            entry.judge == *judge && objects::version(snapshot, id) == Some(&entry.version)
        };
        self.entries.retain(|id, entry| in_force(id, entry));
        self.is_changed |= self.entries.len() != before;
    }

    /// Puts a version into quarantine.
    pub fn put(&mut self, id: Arc<ObjectId>, entry: Entry) {
        let judge = Arc::clone(&self.judge);
        self.entries.insert(id, Entry { judge, ..entry });
        self.is_changed = true;
    }

    /// Records how it is known that the versions of these objects are refused.
    pub fn prove(&mut self, ids: &[Arc<ObjectId>], proof: Proof) {
        for id in ids {
            if let Some(entry) = self.entries.get_mut(id).filter(|entry| entry.proof != proof) {
                entry.proof = proof;
                self.is_changed = true;
            }
        }
    }

    /// Ends the quarantine of this object.
    pub fn release(&mut self, id: &ObjectId) {
        self.is_changed |= self.entries.remove(id).is_some();
    }

    /// Ends the quarantine of all, so that all are tried again.
    pub fn release_all(&mut self) {
        self.restore(BTreeMap::new());
    }

    /// Copies the entries, for [`Quarantine::restore`].
    pub fn clone_entries(&self) -> BTreeMap<Arc<ObjectId>, Entry> {
        self.entries.clone()
    }

    /// Restores earlier entries.
    pub fn restore(&mut self, entries: BTreeMap<Arc<ObjectId>, Entry>) {
        self.is_changed |= self.entries != entries;
        self.entries = entries;
    }

    /// The entry of an object.
    pub fn get(&self, id: &ObjectId) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Every entry, by object.
    pub fn entries(&self) -> impl Iterator<Item = (&Arc<ObjectId>, &Entry)> {
        self.entries.iter()
    }

    /// The finding about an entry; `served` is the version that takes its place.
    pub fn finding(id: &Arc<ObjectId>, entry: &Entry, served: Option<&Version>) -> Finding {
        let instead = match served {
            Some(_) => "its last good version is served until the object is corrected",
            None => "there is no earlier version, so the object is left out until it is corrected",
        };
        let beside = match entry.proof {
            Proof::Together | Proof::Outdated => " together with other objects, though it accepts it alone",
            Proof::Missing | Proof::Alone => "",
        };
        let note = format!("nginx refuses this version{beside}: {}; {instead}", entry.words);
        Finding::new(Reason::Quarantined, Origin::field(id, entry.field.clone()), note)
    }

    /// Writes the file, if anything changed since: once for all versions that one test of nginx
    /// tells about.
    pub fn save(&mut self) {
        let (true, Some(file)) = (std::mem::take(&mut self.is_changed), &self.file) else { return };
        let lines: Vec<_> = self.entries.iter().map(|(id, entry)| Line::write(id, entry)).collect();
        if let Err(why) = state_file::write(file, &lines) {
            tracing::warn!(path = %file.display(), "the quarantine cannot be kept for the next start: {}: {why}", file.display());
        }
    }
}

impl Line {
    fn write(id: &ObjectId, entry: &Entry) -> Self {
        Line {
            kind: id.kind.name().to_owned(),
            namespace: id.namespace.to_string(),
            name: id.name.to_string(),
            version: entry.version.0.to_string(),
            words: entry.words.clone(),
            field: entry.field.to_string(),
            left_out: entry.left_out,
            judge: entry.judge.to_string(),
            proof: entry.proof,
        }
    }

    fn read(self) -> Option<(Arc<ObjectId>, Entry)> {
        let kind = Kind::read(&self.kind)?;
        let field = if self.field.is_empty() { Field::Object } else { Field::Other(self.field.into()) };
        let entry = Entry {
            version: Version(self.version.into()),
            words: self.words,
            field,
            left_out: self.left_out,
            judge: self.judge.into(),
            proof: self.proof,
        };
        Some((Arc::new(ObjectId::new(kind, &self.namespace, &self.name)), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_written_once_for_all_versions_of_a_test() {
        let folder = tempfile::tempdir().unwrap();
        let ids = ["a", "b"].map(|name| Arc::new(ObjectId::new(Kind::INGRESS, "shop", name)));
        let mut quarantine = Quarantine::open(folder.path()).unwrap();
        let entry = Entry {
            version: Version("7".into()),
            words: String::new(),
            field: Field::Object,
            left_out: false,
            judge: Arc::default(),
            proof: Proof::Missing,
        };
        ids.iter().for_each(|id| quarantine.put(Arc::clone(id), entry.clone()));
        quarantine.prove(&ids, Proof::Alone);
        assert!(!folder.path().join("quarantine.json").exists(), "not for each of them");
        quarantine.save();
        let proven =
            |quarantine: &Quarantine| quarantine.entries().filter(|(_, one)| one.proof == Proof::Alone).count();
        assert_eq!(proven(&Quarantine::open(folder.path()).unwrap()), 2);
        // Nothing changed since.
        std::fs::remove_file(folder.path().join("quarantine.json")).unwrap();
        quarantine.save();
        assert!(!folder.path().join("quarantine.json").exists());
    }

    #[test]
    fn entries_survive_a_restart_and_damage_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", "cart"));
        let mut quarantine = Quarantine::open(folder.path()).unwrap();
        let entry = Entry {
            version: Version("7".into()),
            words: "invalid \"x\"".into(),
            field: Field::Rule(3),
            left_out: false,
            judge: Arc::default(),
            proof: Proof::Together,
        };
        quarantine.put(Arc::clone(&id), entry);
        quarantine.save();
        let again = Quarantine::open(folder.path()).unwrap();
        let entry = again.get(&id).unwrap();
        assert_eq!(
            (&*entry.version.0, entry.field.to_string().as_str(), entry.left_out, entry.proof),
            ("7", "spec.rules[3]", false, Proof::Together)
        );
        std::fs::write(folder.path().join("quarantine.json"), "{").unwrap();
        assert!(Quarantine::open(folder.path()).unwrap().entries().next().is_none());
    }
}
