//! Traces nginx's error messages to the objects that caused them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::ApplyError;
use super::outcome::Complaint;
use ingressd_model::ObjectId;
use ingressd_nginx::complaint::{Level, parse};
use ingressd_nginx::render::{File, FilePath, FileSet};

/// The folders by which nginx's messages may name the current generation.
#[derive(Debug)]
pub struct GenerationFolders {
    /// The link, which is the path that users know.
    pub link: PathBuf,
    /// Other folders with the same files: the staged generation, the scratch folder.
    pub copies: Vec<PathBuf>,
}

/// Why nginx refused a configuration, as far as its message says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The message, with the folders that users know in the place of ours, and with the place when
    /// it is in a file of the host.
    pub words: String,
    /// The generated file that the message names, and the line in it.
    pub place: Option<(FilePath, Option<u32>)>,
    /// What the failure is about.
    pub scope: Scope,
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A mistake in a file, generated or of the host.
    Writing,
    /// The configuration as a whole.
    Whole,
    /// A resource that the host ran out of: the line that nginx names means nothing.
    Shortage,
}

impl GenerationFolders {
    /// Finds the first failure that names a generated file, or else the first of all. A shortage
    /// on the host goes before both.
    pub fn failure(&self, printed: &str) -> Failure {
        let mut failures = parse(printed);
        failures.retain(|remark| remark.level == Level::Failure);
        if let Some(shortage) = failures.iter().find(|remark| remark.is_shortage()) {
            return Failure { words: self.as_users_know(&shortage.words), place: None, scope: Scope::Shortage };
        }
        let mut found = failures.into_iter().map(|remark| {
            let own = remark.file.as_deref().and_then(|file| self.own(file));
            let words = match (&own, &remark.file, remark.line) {
                (None, Some(file), Some(line)) if !self.is_copy(file) => format!("{} in {file}:{line}", remark.words),
                _ => self.as_users_know(&remark.words),
            };
            let scope = if remark.file.is_some() { Scope::Writing } else { Scope::Whole };
            Failure { words, place: own.map(|path| (path, remark.line)), scope }
        });
        let Some(first) = found.next() else {
            let last = printed.lines().last().unwrap_or("nginx refused it without a message");
            return Failure { words: self.as_users_know(last), place: None, scope: Scope::Whole };
        };
        match first.place {
            Some(_) => first,
            None => found.find(|failure| failure.place.is_some()).unwrap_or(first),
        }
    }

    /// The path within a generation.
    fn own(&self, file: &str) -> Option<FilePath> {
        let folders = self.copies.iter().chain([&self.link]);
        let path = folders.filter_map(|folder| Path::new(file).strip_prefix(folder).ok()).find_map(Path::to_str)?;
        path.contains('/').then(|| path.into())
    }

    /// Whether the file is in a folder that users never see.
    fn is_copy(&self, file: &str) -> bool {
        self.copies.iter().any(|copy| Path::new(file).starts_with(copy))
    }

    fn as_users_know(&self, words: &str) -> String {
        let link = self.link.to_string_lossy();
        self.copies.iter().fold(words.to_owned(), |words, copy| words.replace(&*copy.to_string_lossy(), &link))
    }
}

/// Traces a failure to the objects that own the file. `confirmed` is the folder of the last
/// confirmed generation.
///
/// # Errors
///
/// When the file of then cannot be read: without it, lines that ran before would seem to be new.
pub fn complaint(
    failure: Failure,
    culprit: &FilePath,
    files: &FileSet,
    confirmed: Option<&Path>,
) -> Result<Complaint, ApplyError> {
    let line = failure.place.filter(|(path, _)| path == culprit).and_then(|(_, line)| line);
    let Some(file) = files.files.get(culprit) else {
        return Ok(Complaint { words: failure.words, ..Complaint::default() });
    };
    let origin = match line {
        Some(line) => file.owners.of_line(line).cloned(),
        // A certificate or a password file has one owner; a server file has one only when all of
        // its lines are of one object.
        None => file
            .owners
            .0
            .first()
            .map(|(_, first)| first)
            .filter(|first| file.owners.0.iter().all(|(_, other)| other == *first))
            .cloned(),
    };
    let mut candidates: Vec<Arc<ObjectId>> = origin.iter().map(|origin| Arc::clone(&origin.object)).collect();
    let old = confirmed.map(|folder| folder.join(&**culprit));
    let old = old.map(|path| ApplyError::found("read", &path, std::fs::read(&path))).transpose()?;
    let old = old.flatten().unwrap_or_default();
    let known: HashSet<&[u8]> = old.split(|byte| *byte == b'\n').collect();
    let bytes = file.content.bytes();
    let lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    let index = line.and_then(|line| usize::try_from(line).ok()?.checked_sub(1));
    let ran_before = index.and_then(|index| lines.get(index)).is_some_and(|line| known.contains(line));
    for object in changed_owners(file, &lines, &known).into_iter().chain(file.owners.objects()) {
        if !candidates.contains(&object) {
            candidates.push(object);
        }
    }
    let place = Some((Arc::clone(culprit), line));
    Ok(Complaint { place, words: failure.words, origin, ran_before, candidates })
}

/// Owners of lines that are not among the known ones, in the order of the lines.
fn changed_owners(file: &File, lines: &[&[u8]], known: &HashSet<&[u8]>) -> Vec<Arc<ObjectId>> {
    let mut owners = Vec::new();
    for (_, number) in lines.iter().zip(1..).filter(|(line, _)| !known.contains(*line)) {
        if let Some(origin) = file.owners.of_line(number)
            && owners.last() != Some(&origin.object)
        {
            owners.push(Arc::clone(&origin.object));
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Failure, GenerationFolders, Scope, complaint};
    use ingressd_model::{Field, Kind, ObjectId, Origin};
    use ingressd_nginx::render::{File, FileSet, Owners, Part};

    fn places() -> GenerationFolders {
        GenerationFolders { link: "/r/current".into(), copies: vec!["/s/scratch".into(), "/r/generations/7".into()] }
    }

    #[test]
    fn words_name_our_files_as_users_know_them() {
        use Scope::{Shortage, Whole, Writing};
        for (printed, words, place, scope) in [
            (
                "nginx: [warn] x in /r/generations/7/http/a.conf:2\nnginx: [emerg] bad \"y\" in /s/scratch/http/b.conf:3",
                { "bad \"y\"" },
                Some(("http/b.conf", Some(3))),
                Writing,
            ),
            (
                "nginx: [emerg] malloc(99) failed (12: Cannot allocate memory)\nnginx: [emerg] no \"y\" in /s/scratch/http/b.conf:3",
                { "malloc(99) failed (12: Cannot allocate memory)" },
                None,
                Shortage,
            ),
            (
                "nginx: [emerg] cannot load certificate \"/r/generations/7/certs/c.pem\": PEM failed",
                { "cannot load certificate \"/r/current/certs/c.pem\": PEM failed" },
                Some(("certs/c.pem", None)),
                Writing,
            ),
            ("nginx: [emerg] \"a\" must be less in /s/scratch/nginx.conf:9", "\"a\" must be less", None, Writing),
            ("nginx: [emerg] x in /etc/nginx/sites/a:1", "x in /etc/nginx/sites/a:1", None, Writing),
            ("nginx: [emerg] bind() to 0.0.0.0:80 failed", "bind() to 0.0.0.0:80 failed", None, Whole),
            ("something else", "something else", None, Whole),
            ("", "nginx refused it without a message", None, Whole),
        ] {
            let failure = places().failure(printed);
            assert_eq!((failure.words.as_str(), failure.scope), (words, scope), "{printed}");
            let place = place.map(|(path, line): (&str, _)| (path.into(), line));
            assert_eq!(failure.place, place, "{printed}");
        }
    }

    #[test]
    fn owners_of_changed_lines_are_the_first_candidates() {
        let origin = |name: &str| Origin::field(&Arc::new(ObjectId::new(Kind::INGRESS, "n", name)), Field::Rule(0));
        let bytes: &[u8] = b"server {\n a 1;\n b 2;\n c 3;\n}\n";
        let owners = Owners(vec![(1, origin("first")), (3, origin("second")), (4, origin("third"))]);
        let file = File::plain([Part::Bytes(bytes.into())], owners, []);
        let files = FileSet { files: [("http/s.conf".into(), Arc::new(file))].into() };
        let confirmed = tempfile::tempdir().unwrap();
        std::fs::create_dir(confirmed.path().join("http")).unwrap();
        std::fs::write(confirmed.path().join("http/s.conf"), "server {\n a 1;\n c 3;\n}\n").unwrap();
        for (line, ran_before, expected) in [
            (None, false, ["second", "first", "third"]),
            (Some(3), false, ["second", "first", "third"]),
            (Some(4), true, ["third", "second", "first"]),
        ] {
            let place = line.map(|line| ("http/s.conf".into(), Some(line)));
            let failure = Failure { words: "no".to_owned(), place, scope: Scope::Writing };
            let found = complaint(failure, &"http/s.conf".into(), &files, Some(confirmed.path())).unwrap();
            let names: Vec<_> = found.candidates.iter().map(|object| object.name.to_string()).collect();
            assert_eq!(names, expected);
            assert_eq!(found.place, Some(("http/s.conf".into(), line)), "the file is known without a line, too");
            assert_eq!((found.origin.is_some(), found.ran_before), (line.is_some(), ran_before));
        }
    }
}
