//! Caches what was rendered, so that the cost follows the size of a change.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::file_set::{File, FilePath};

/// A cache from sources to their values. The key is the address of the source in memory: unchanged
/// sources keep their `Arc`, and because the cache holds it, no other source gets the same
/// address.
#[derive(Debug)]
pub struct ByAddress<S, V>(HashMap<usize, (Arc<S>, V)>);

/// A cache of the file of each source.
pub type Files<S> = ByAddress<S, (FilePath, Arc<File>)>;

impl<S, V> ByAddress<S, V> {
    /// Drops the values of such sources.
    pub fn forget(&mut self, of: impl Fn(&S) -> bool) {
        self.0.retain(|_, (source, _)| !of(source));
    }
}

impl<S, V> Default for ByAddress<S, V> {
    fn default() -> Self {
        ByAddress(HashMap::new())
    }
}

impl<S: Send + Sync, V: Send> ByAddress<S, V> {
    /// Returns the value of each source: from the cache for a known source, otherwise made anew.
    /// All other entries are dropped. `anew` counts what was made.
    pub fn recall<'m, 's>(
        &'m mut self,
        sources: &'s [Arc<S>],
        make: impl Fn(&S) -> V + Sync,
        anew: &mut usize,
    ) -> impl Iterator<Item = (&'s Arc<S>, &'m V)> {
        let unknown: Vec<_> = sources.iter().filter(|source| !self.0.contains_key(&place(source))).collect();
        *anew += unknown.len();
        let made = unknown.into_par_iter().map(|source| (place(source), (Arc::clone(source), make(source))));
        self.0.extend(made.collect::<Vec<_>>());
        if self.0.len() > sources.len() {
            let wanted: HashSet<_> = sources.iter().map(place).collect();
            self.0.retain(|_, (source, _)| wanted.contains(&place(source)));
        }
        let remembered = &self.0;
        sources.iter().filter_map(move |source| remembered.get(&place(source)).map(|(_, made)| (source, made)))
    }
}

impl<S: Send + Sync> Files<S> {
    /// Adds the file of each source.
    pub fn render(
        &mut self,
        sources: &[Arc<S>],
        path: impl Fn(&S) -> FilePath + Sync,
        make: impl Fn(&S) -> File + Sync,
        files: &mut Vec<(FilePath, Arc<File>)>,
        anew: &mut usize,
    ) {
        let remembered = self.recall(sources, |source| (path(source), Arc::new(make(source))), anew);
        files.extend(remembered.map(|(_, file)| file.clone()));
    }
}

/// A cache of the file of each row of a table: made again when what the row is of or what it says
/// differs.
#[derive(Debug)]
pub struct Rows<S, R: ?Sized>(HashMap<usize, Row<S, R>>);

/// What a row is of, what it says, and its file.
type Row<S, R> = (Arc<S>, Arc<R>, (FilePath, Arc<File>));

impl<S, R: ?Sized> Default for Rows<S, R> {
    fn default() -> Self {
        Rows(HashMap::new())
    }
}

impl<S: Send + Sync, R: PartialEq + Send + Sync + ?Sized> Rows<S, R> {
    /// Adds the file of each row. `anew` counts those that were made.
    pub fn render(
        &mut self,
        rows: &[(&Arc<S>, Arc<R>)],
        path: impl Fn(&S) -> FilePath + Sync,
        make: impl Fn(&S, &R) -> File + Sync,
        files: &mut Vec<(FilePath, Arc<File>)>,
        anew: &mut usize,
    ) {
        let is_known = |(source, row): &(&Arc<S>, Arc<R>)| {
            self.0.get(&place(source)).is_some_and(|(_, known, _)| Arc::ptr_eq(known, row) || **known == **row)
        };
        let unknown: Vec<_> = rows.iter().filter(|row| !is_known(row)).collect();
        *anew += unknown.len();
        let made = unknown.into_par_iter().map(|(source, row)| {
            let file = (path(source), Arc::new(make(source, row)));
            (place(source), (Arc::clone(source), Arc::clone(row), file))
        });
        self.0.extend(made.collect::<Vec<_>>());
        if self.0.len() > rows.len() {
            let wanted: HashSet<_> = rows.iter().map(|(source, _)| place(source)).collect();
            self.0.retain(|_, (source, ..)| wanted.contains(&place(source)));
        }
        files.extend(rows.iter().filter_map(|(source, _)| Some(self.0.get(&place(source))?.2.clone())));
    }
}

fn place<S>(source: &Arc<S>) -> usize {
    Arc::as_ptr(source).addr()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::Files;
    use crate::render::{File, Owners, Part};

    #[test]
    fn only_new_sources_are_made_and_lost_ones_forgotten() {
        let (mut memory, made) = (Files::<String>::default(), AtomicUsize::new(0));
        let mut render = |sources: &[Arc<String>]| {
            let make = |source: &String| {
                made.fetch_add(1, Ordering::Relaxed);
                File::plain([Part::Bytes(source.as_bytes().into())], Owners::default(), [])
            };
            let mut files = Vec::new();
            memory.render(sources, |source| format!("http/{source}").into(), make, &mut files, &mut 0);
            let paths: Vec<_> = files.iter().map(|(path, _)| path.to_string()).collect();
            (paths.join(" "), made.load(Ordering::Relaxed), memory.0.len())
        };
        let [a, b, c] = ["a", "b", "c"].map(|text| Arc::new(text.to_owned()));
        assert_eq!(render(&[Arc::clone(&a), Arc::clone(&b)]), ("http/a http/b".to_owned(), 2, 2));
        assert_eq!(render(&[Arc::clone(&b), c]), ("http/b http/c".to_owned(), 3, 2));
        assert_eq!(render(&[a, b]), ("http/a http/b".to_owned(), 4, 2));
    }
}
