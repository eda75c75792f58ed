//! The set of generated files, with digests and the owner of every line.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::content::{Content, Part};
pub use ingressd_model::Digest;
use ingressd_model::{ObjectId, Origin};

/// A path relative to the generation's folder: `http/...`, `stream/...`, `certs/...` or
/// `auth/...`.
pub type FilePath = Arc<str>;

/// Which field caused which lines: sorted pairs of a first line (from 1) and its origin. Each
/// reaches to the next pair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owners(pub Vec<(u32, Origin)>);

impl Owners {
    /// The field that caused this line.
    pub fn of_line(&self, line: u32) -> Option<&Origin> {
        let after = self.0.partition_point(|(first, _)| *first <= line);
        after.checked_sub(1).map(|index| &self.0[index].1)
    }

    /// Every object that owns a line, sorted, without duplicates.
    pub fn objects(&self) -> Vec<Arc<ObjectId>> {
        let mut objects: Vec<_> = self.0.iter().map(|(_, origin)| Arc::clone(&origin.object)).collect();
        objects.sort();
        objects.dedup();
        objects
    }
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its bytes.
    pub content: Content,
    /// The digest of its content.
    pub digest: Digest,
    /// Which field caused which line.
    pub owners: Arc<Owners>,
    /// Files without which nginx refuses this one: upstreams, certificates, password files.
    pub requires: Arc<[FilePath]>,
    /// Routes that could not be written. They answer 503, or are missing. The types of the model
    /// should prevent this; if it happens, the routes are reported and not counted as served.
    pub unwritten: Arc<[Origin]>,
}

impl File {
    /// A configuration file.
    pub fn plain(
        parts: impl IntoIterator<Item = Part>,
        owners: Owners,
        requires: impl IntoIterator<Item = FilePath>,
    ) -> Self {
        File { requires: requires.into_iter().collect(), ..File::of(Content::plain(parts), owners) }
    }

    /// A file with a key or password hashes, which has one owner.
    pub fn secret(parts: impl IntoIterator<Item = Part>, origin: Origin) -> Self {
        File::of(Content::secret(parts), Owners(vec![(1, origin)]))
    }

    fn of(content: Content, owners: Owners) -> Self {
        let digest = Digest::of_all(content.pieces());
        File { digest, content, owners: Arc::new(owners), requires: Arc::default(), unwritten: Arc::default() }
    }
}

/// All files of a configuration, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileSet {
    pub files: BTreeMap<FilePath, Arc<File>>,
}

impl FileSet {
    /// How many bytes each object caused.
    pub fn weights(&self) -> HashMap<Arc<ObjectId>, usize> {
        let mut weights: HashMap<Arc<ObjectId>, usize> = HashMap::new();
        for file in self.files.values() {
            let bytes = file.content.bytes();
            let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len);
            let mut known = 1;
            let firsts = file.owners.0.iter().map(|(first, _)| *first);
            let ends = firsts.skip(1).map(Some).chain([None]);
            for ((first, origin), end) in file.owners.0.iter().zip(ends) {
                let count = |from: u32, to: u32| usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
                lines.by_ref().take(count(known, *first)).for_each(drop);
                known = known.max(*first);
                let bytes: usize = match end {
                    Some(end) => lines.by_ref().take(count(known, end)).sum(),
                    None => lines.by_ref().sum(),
                };
                known = end.unwrap_or(known);
                *weights.entry(Arc::clone(&origin.object)).or_default() += bytes;
            }
        }
        weights
    }

    /// Every route that could not be written.
    pub fn unwritten(&self) -> impl Iterator<Item = &Origin> {
        self.files.values().flat_map(|file| file.unwritten.iter())
    }

    /// One digest for all paths and contents.
    pub fn digest(&self) -> Digest {
        Digest::of_all(self.files.iter().flat_map(|(path, file)| [path.as_bytes(), &[0], &file.digest.0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::{Field, Kind};

    #[test]
    fn each_object_weighs_what_it_caused() {
        let origin = |name: &str| Origin::field(&Arc::new(ObjectId::new(Kind::INGRESS, "n", name)), Field::Rule(0));
        let bytes: &[u8] = b"server {\n a 1;\n b 22;\n c 3;\n}\n";
        let file = |owners| Arc::new(File::plain([Part::Bytes(bytes.into())], Owners(owners), []));
        let one = file(vec![(1, origin("a")), (3, origin("b")), (4, origin("a"))]);
        let two = file(vec![(4, origin("c"))]);
        let none = file(Vec::new());
        let files = [("http/1".into(), one), ("http/2".into(), two), ("http/3".into(), none)].into();
        let weights = FileSet { files }.weights();
        let mut weights: Vec<_> = weights.iter().map(|(id, bytes)| (&*id.name, *bytes)).collect();
        weights.sort_unstable();
        assert_eq!(weights, [("a", 23), ("b", 7), ("c", 8)]);
    }
}
