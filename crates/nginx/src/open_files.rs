//! Configuration files that are being read, one within another, so that reading ends also where
//! they include each other.

/// How deep files may include each other before the rest is left unread.
const DEEPEST: usize = 16;

/// How many files are read in all: some are included by every site. Two lines that include the
/// same files double their number at each level.
const MOST: u32 = 50_000;

/// The files that are open. nginx refuses a file that includes itself on any way.
#[derive(Debug, Clone)]
pub struct OpenFiles {
    paths: Vec<String>,
    left: u32,
}

impl OpenFiles {
    /// The main file alone.
    pub fn of(main: &str) -> Self {
        OpenFiles { paths: vec![main.to_owned()], left: MOST }
    }

    /// Whether further files may be asked for.
    pub fn has_room(&self) -> bool {
        self.left > 0 && self.paths.len() <= DEEPEST
    }

    /// Opens a file that another one includes. It stays closed if it is open already, or if there
    /// is no room.
    pub fn open(&mut self, path: &str) -> bool {
        let may = self.has_room() && self.paths.iter().all(|open| open != path);
        self.left = self.left.saturating_sub(1);
        if may {
            self.paths.push(path.to_owned());
        }
        may
    }

    /// Closes the file that was opened last.
    pub fn close(&mut self) {
        self.paths.pop();
    }
}
