//! Tests changed files in a scratch configuration with the host's context, and finds the culprits.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::blame::{Failure, GenerationFolders, Scope, complaint};
use super::error::{ApplyError, unless_missing};
use super::host::{Host, Tested};
use super::outcome::Complaint;
use super::staging::NUMBER_FILE;
use super::tree;
use ingressd_model::catalogue::{self, InTests};
use ingressd_nginx::render::{FilePath, FileSet};
use ingressd_nginx::syntax::{self, Directive};

/// The most changed files that are tested in one configuration: nginx compares each upstream with
/// all others that it reads.
const MOST: usize = 1024;

/// The fewest files that are worth a configuration of their own, tested in parallel.
const LEAST: usize = 128;

/// The size of the next parts after a culprit was found.
const CHUNK: usize = 128;

/// The directives of the host's own configuration that a test needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    main: String,
    http: String,
    /// Only the directives that keep a test from doing harm, for hosts whose configuration cannot
    /// be reused.
    bare_http: String,
}

impl Context {
    /// Takes the directives that a test needs from the main context, in which includes are
    /// expanded.
    pub fn of(directives: &[Directive]) -> Context {
        let http = directives.iter().filter(|directive| directive.name == "http").flat_map(Directive::children);
        let taken = |directive: &Directive, context| {
            catalogue::find(&directive.name, context).map_or(InTests::AsUsual, |row| row.in_tests)
        };
        let (mut context, mut main_names) =
            (Context { main: String::new(), http: String::new(), bare_http: String::new() }, HashSet::new());
        for directive in
            directives.iter().filter(|directive| taken(directive, catalogue::Context::Main) == InTests::Always)
        {
            main_names.insert(directive.name.as_str());
            tree::write(std::slice::from_ref(directive), &mut context.main);
        }
        if !main_names.contains(catalogue::EVENTS.name) {
            context.main.push_str("events {\n}\n");
        }
        for directive in http {
            let in_tests = taken(directive, catalogue::Context::Http);
            if in_tests != InTests::Never {
                tree::write(std::slice::from_ref(directive), &mut context.http);
            }
            if in_tests == InTests::Always {
                tree::write(std::slice::from_ref(directive), &mut context.bare_http);
            }
        }
        context
    }
}

/// The result of testing a generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScratchResult {
    /// nginx accepts the files.
    Accepted,
    /// nginx refuses some files. Never empty.
    Refused(Vec<Complaint>),
    /// The host is short of something; with nginx's message.
    TooMuch(String),
    /// nginx refuses even a configuration without any of our files; with nginx's message.
    HostRefused(String),
}

/// A generation to test.
#[derive(Debug)]
pub struct Scratch<'a> {
    /// The folder to write to; it is created and removed.
    pub folder: PathBuf,
    /// The folder of the staged generation.
    pub staged: PathBuf,
    /// The link by which our files name certificates and password files.
    pub link: PathBuf,
    /// The folder of the last confirmed generation.
    pub confirmed: Option<PathBuf>,
    /// All files of the staged generation.
    pub files: &'a FileSet,
    /// The directives of the host's own configuration.
    pub context: &'a Context,
    /// How many culprits are looked for.
    pub limit: usize,
}

/// Files that are tested together, and why nginx refuses them, where that is known already.
struct Part {
    roots: Vec<FilePath>,
    known: Option<Failure>,
    /// The namespace that owns all of the files, when an earlier file of it was refused.
    namespace: Option<Namespace>,
}

type Namespace = Arc<str>;

/// How many files of each namespace were refused.
#[derive(Default)]
struct Failures(BTreeMap<Namespace, usize>);

impl Failures {
    fn count(&mut self, complaint: &Complaint) {
        let owner = complaint.origin.as_ref().map(|origin| &origin.object).or(complaint.candidates.first());
        if let Some(owner) = owner {
            *self.0.entry(Arc::clone(&owner.namespace)).or_default() += 1;
        }
    }

    /// Splits files into parts to test next. Files of a namespace of which one was refused form a
    /// part of their own, so that files of others are not tested again and again.
    fn split(&self, roots: &[FilePath], files: &FileSet) -> Vec<Part> {
        let mut parts: BTreeMap<Option<Namespace>, Vec<FilePath>> = BTreeMap::new();
        for root in roots {
            let owners = files.files.get(root).map(|file| file.owners.objects()).unwrap_or_default();
            let worst = owners.iter().filter_map(|owner| Some((self.0.get(&owner.namespace)?, &owner.namespace))).max();
            parts.entry(worst.map(|(_, namespace)| Arc::clone(namespace))).or_default().push(Arc::clone(root));
        }
        let chunks =
            parts.iter().flat_map(|(namespace, roots)| roots.chunks(CHUNK).map(move |chunk| (namespace, chunk)));
        chunks
            .map(|(namespace, roots)| Part { roots: roots.to_vec(), known: None, namespace: namespace.clone() })
            .collect()
    }

    /// Removes and returns the next part. Parts of namespaces with many failures come last, so
    /// that they do not hide those of others.
    fn next(&self, open: &mut Vec<Part>) -> Option<Part> {
        let failures = |part: &Part| part.namespace.as_ref().and_then(|namespace| self.0.get(namespace)).copied();
        let (index, _) = open.iter().enumerate().rev().min_by_key(|(_, part)| failures(part).unwrap_or_default())?;
        Some(open.remove(index))
    }
}

/// The cause of a failure.
enum Cause {
    /// A file, with the failure that it causes by itself.
    File(Failure, FilePath),
    /// Files that nginx accepts one by one and refuses together, the last added first.
    Clash(Failure, Vec<FilePath>),
    /// The amount of configuration, with nginx's message.
    Amount(String),
    /// The host's own configuration, without any file of ours.
    Host(String),
}

/// A test in progress: what is written already.
struct Run<'a, H> {
    scratch: &'a Scratch<'a>,
    host: &'a mut H,
    places: GenerationFolders,
    /// The path from which each of our files can be included.
    written: BTreeMap<FilePath, PathBuf>,
    bare: bool,
}

impl Scratch<'_> {
    /// Tests these files together with the files that they require.
    pub fn test(&self, changed: Vec<FilePath>, host: &mut impl Host) -> Result<ScratchResult, ApplyError> {
        self.run(host, |run| run.find(changed))
    }

    fn run<H: Host>(
        &self,
        host: &mut H,
        test: impl FnOnce(&mut Run<'_, H>) -> Result<ScratchResult, ApplyError>,
    ) -> Result<ScratchResult, ApplyError> {
        remove(&self.folder)?;
        for folder in [self.folder.clone(), self.folder.join("http"), self.folder.join("stream")] {
            fs::create_dir_all(&folder).map_err(ApplyError::files("create folder", &folder))?;
        }
        let places =
            GenerationFolders { link: self.link.clone(), copies: vec![self.folder.clone(), self.staged.clone()] };
        let mut run = Run { scratch: self, host, places, written: BTreeMap::new(), bare: false };
        let result = test(&mut run);
        remove(&self.folder)?;
        result
    }

    /// Tests all files in one configuration: some are accepted one by one and not together.
    pub fn test_whole(&self, host: &mut impl Host) -> Result<ScratchResult, ApplyError> {
        let all = || self.files.files.keys().filter(|path| is_included(path)).cloned();
        self.run(host, |run| {
            let Some(failure) = run.refusal(&all().collect::<Vec<_>>())? else { return Ok(ScratchResult::Accepted) };
            if failure.scope == Scope::Shortage {
                return Ok(ScratchResult::TooMuch(failure.words));
            }
            let culprit = failure.place.as_ref().map(|(path, _)| Arc::clone(path));
            Ok(ScratchResult::Refused(vec![match culprit {
                Some(culprit) => complaint(failure, &culprit, self.files, self.confirmed.as_deref())?,
                None => clash(failure, &all().collect::<Vec<_>>(), self.files),
            }]))
        })
    }

    /// Splits the files into lists that are tested in parallel. A file that another one requires
    /// is tested with that one.
    fn parts(&self, changed: Vec<FilePath>) -> Vec<Vec<FilePath>> {
        let files = changed.iter().filter_map(|path| self.files.files.get(path));
        let required: HashSet<_> = files.flat_map(|file| &*file.requires).collect();
        let roots: Vec<_> = changed.iter().filter(|path| !required.contains(path)).cloned().collect();
        // Without any file there is still one test: the host's own configuration may be broken.
        if roots.is_empty() {
            return vec![roots];
        }
        let share = roots.len().div_ceil(rayon::current_num_threads()).clamp(LEAST, MOST);
        roots.chunks(share).map(<[FilePath]>::to_vec).collect()
    }

    /// The files of the http and stream contexts that these files need, including themselves, in
    /// order.
    fn closure(&self, roots: &[FilePath]) -> BTreeSet<FilePath> {
        let mut found = BTreeSet::new();
        let mut open: Vec<FilePath> = roots.to_vec();
        while let Some(path) = open.pop() {
            if let Some(file) = self.files.files.get(&path).filter(|_| !found.contains(&path)) {
                open.extend(file.requires.iter().cloned());
                found.insert(path);
            }
        }
        found
    }
}

/// Whether the host's configuration includes the file itself.
fn is_included(path: &FilePath) -> bool {
    path.starts_with("http/") || path.starts_with("stream/")
}

/// The complaint about files that nginx refuses together only.
pub fn clash(failure: Failure, among: &[FilePath], files: &FileSet) -> Complaint {
    let mut seen = HashSet::new();
    let owners = among.iter().filter_map(|path| files.files.get(path)).flat_map(|file| file.owners.objects());
    let candidates = owners.filter(|owner| seen.insert(Arc::clone(owner))).collect();
    Complaint { words: failure.words, candidates, ..Complaint::default() }
}

/// The files to test for a change: those that differ, and for each changed certificate one file
/// that uses it.
pub fn changed_files<'f>(files: &FileSet, differing: impl Iterator<Item = &'f FilePath>) -> Vec<FilePath> {
    let mut changed: BTreeSet<FilePath> = BTreeSet::new();
    let mut loose: BTreeSet<&FilePath> = BTreeSet::new();
    for path in differing {
        match path.split_once('/') {
            Some(("http" | "stream", _)) => drop(changed.insert(Arc::clone(path))),
            Some(("certs" | "auth", _)) => drop(loose.insert(path)),
            // Answers in the place of upstreams without endpoints, which are the program's own.
            _ => {}
        }
    }
    for required in changed.iter().flat_map(|path| &*files.files[path].requires) {
        loose.remove(required);
    }
    for (path, file) in files.files.iter().filter(|(path, _)| is_included(path)) {
        if loose.is_empty() {
            break;
        }
        let before = loose.len();
        for required in &*file.requires {
            loose.remove(required);
        }
        if loose.len() < before {
            changed.insert(Arc::clone(path));
        }
    }
    changed.into_iter().collect()
}

impl<H: Host> Run<'_, H> {
    fn find(&mut self, changed: Vec<FilePath>) -> Result<ScratchResult, ApplyError> {
        let mut complaints = Vec::new();
        let mut failures = Failures::default();
        let mut open = self.refused(&self.scratch.parts(changed))?;
        while let Some(Part { mut roots, known, namespace }) = failures.next(&mut open) {
            let failure = match known {
                Some(failure) => Some(failure),
                None => self.refusal(&roots)?,
            };
            let Some(failure) = failure else { continue };
            let (failure, culprit) = match self.culprit(&roots, failure)? {
                Cause::File(failure, culprit) => (failure, culprit),
                Cause::Amount(words) => return Ok(ScratchResult::TooMuch(words)),
                Cause::Clash(failure, among) => {
                    complaints.push(clash(failure, &among, self.scratch.files));
                    break;
                }
                // The host's directives may need something that a test leaves out: try without
                // them before giving up.
                Cause::Host(_) if !self.bare => {
                    self.bare = true;
                    open.push(Part { roots, known: None, namespace });
                    continue;
                }
                Cause::Host(words) => return Ok(ScratchResult::HostRefused(words)),
            };
            let before = roots.len();
            roots.retain(|root| !self.scratch.closure(std::slice::from_ref(root)).contains(&culprit));
            if roots.len() == before {
                return Ok(ScratchResult::HostRefused(failure.words));
            }
            let complaint = complaint(failure, &culprit, self.scratch.files, self.scratch.confirmed.as_deref())?;
            failures.count(&complaint);
            complaints.push(complaint);
            if complaints.len() >= self.scratch.limit {
                break;
            }
            // Parts stay in order: where the limit hides complaints, the same ones are hidden each
            // time, whatever else is mended meanwhile.
            open.extend(failures.split(&roots, self.scratch.files).into_iter().rev());
        }
        Ok(if complaints.is_empty() { ScratchResult::Accepted } else { ScratchResult::Refused(complaints) })
    }

    /// Finds the cause of a failure of these files.
    fn culprit(&mut self, roots: &[FilePath], failure: Failure) -> Result<Cause, ApplyError> {
        if failure.scope == Scope::Shortage {
            return Ok(Cause::Amount(failure.words));
        }
        if let Some((path, _)) = failure.place.clone().filter(|(path, _)| self.scratch.files.files.contains_key(path)) {
            return Ok(Cause::File(failure, path));
        }
        if let Some(failure) = self.refusal(&[])? {
            return Ok(Cause::Host(failure.words));
        }
        // The shortest prefix of the list that is refused ends with a culprit.
        let (mut accepted, mut refused, mut last) = (0, roots.len(), failure);
        while refused - accepted > 1 {
            let middle = accepted.midpoint(refused);
            match self.refusal(&roots[..middle])? {
                Some(failure) => (refused, last) = (middle, failure),
                None => accepted = middle,
            }
        }
        let culprit = &roots[refused - 1];
        if last.scope == Scope::Shortage {
            return Ok(Cause::Amount(last.words));
        }
        let is_alone = refused == 1 || self.refusal(std::slice::from_ref(culprit))?.is_some();
        Ok(match is_alone {
            true => Cause::File(last, Arc::clone(culprit)),
            false => Cause::Clash(last, roots[..refused].iter().rev().cloned().collect()),
        })
    }

    /// Has nginx test these files together with what they require.
    fn refusal(&mut self, roots: &[FilePath]) -> Result<Option<Failure>, ApplyError> {
        let configuration = self.write(roots, 0)?;
        let tested = self.host.test(Some(&configuration))?;
        Ok((!tested.accepted).then(|| self.places.failure(&tested.words)))
    }

    /// Has nginx test each of these lists of files, and returns those that it refuses.
    fn refused(&mut self, parts: &[Vec<FilePath>]) -> Result<Vec<Part>, ApplyError> {
        let written = parts.iter().zip(0..).map(|(roots, number)| self.write(roots, number));
        let configurations = written.collect::<Result<Vec<_>, _>>()?;
        let tested = self.host.test_each(&configurations)?;
        let refused = parts.iter().zip(&tested).rev().filter(|(_, tested)| !tested.accepted);
        let part = |(roots, tested): (&Vec<FilePath>, &Tested)| Part {
            roots: roots.clone(),
            known: Some(self.places.failure(&tested.words)),
            namespace: None,
        };
        Ok(refused.map(part).collect())
    }

    /// Writes a configuration with these files and what they require. Configurations with
    /// different numbers can be tested at the same time.
    fn write(&mut self, roots: &[FilePath], number: usize) -> Result<PathBuf, ApplyError> {
        let folder = &self.scratch.folder;
        let place = |name: &str| quoted(&folder.join(format!("{name}.{number}")));
        let mut http = format!("include {};\n", quoted(&self.scratch.staged.join(NUMBER_FILE)));
        let mut stream = String::new();
        for path in self.scratch.closure(roots) {
            let context = match path.split_once('/') {
                Some(("http", _)) => &mut http,
                Some(("stream", _)) => &mut stream,
                _ => continue,
            };
            context.push_str(&format!("include {};\n", quoted(&self.place(&path)?)));
        }
        let Context { main, http: of_host, bare_http } = self.scratch.context;
        let of_host = if self.bare { bare_http } else { of_host };
        let stream = if stream.is_empty() { stream } else { format!("stream {{\nerror_log stderr;\n{stream}}}\n") };
        let text = format!(
            "pid {};\nerror_log {};\nlock_file {};\n{main}http {{\naccess_log off;\n{of_host}{http}}}\n{stream}",
            place("pid"),
            place("error"),
            place("lock"),
        );
        let path = self.scratch.folder.join(format!("nginx.{number}.conf"));
        fs::write(&path, text).map_err(ApplyError::files("write", &path))?;
        Ok(path)
    }

    /// A file that names certificates or password files through the link is copied, and names the
    /// staged generation instead.
    fn place(&mut self, path: &FilePath) -> Result<PathBuf, ApplyError> {
        if let Some(place) = self.written.get(path) {
            return Ok(place.clone());
        }
        let staged = self.scratch.staged.join(&**path);
        let text = self.scratch.files.files[path].content.text();
        let link = format!("{}/", self.scratch.link.display());
        let names = |folder: &str| text.contains(&[&link, folder].concat());
        let place = match names("certs/") || names("auth/") {
            false => staged,
            true => {
                let place = self.scratch.folder.join(&**path);
                let text = text.replace(&link, &format!("{}/", self.scratch.staged.display()));
                fs::write(&place, text).map_err(ApplyError::files("write", &place))?;
                place
            }
        };
        self.written.insert(Arc::clone(path), place.clone());
        Ok(place)
    }
}

/// A path as an argument of nginx. Arguments of `include` are glob patterns; our folders and names
/// contain no wildcards.
fn quoted(path: &Path) -> String {
    syntax::quoted(&path.display().to_string())
}

/// Removes what a killed predecessor or this test left.
fn remove(folder: &Path) -> Result<(), ApplyError> {
    unless_missing(fs::remove_dir_all(folder)).map(drop).map_err(ApplyError::files("remove", folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_nginx::render::{File, Owners, Part};

    #[test]
    fn a_changed_certificate_is_tested_with_one_file_that_uses_it() {
        let file = |requires: &[&str]| {
            let requires = requires.iter().map(|path| FilePath::from(*path));
            Arc::new(File::plain([Part::Fixed("x;\n")], Owners(Vec::new()), requires))
        };
        let files = [
            ("certs/shared.pem", file(&[])),
            ("certs/single.pem", file(&[])),
            ("certs/unused.pem", file(&[])),
            ("http/a.conf", file(&["certs/shared.pem"])),
            ("http/b.conf", file(&["http/u.conf", "certs/shared.pem"])),
            ("http/c.conf", file(&["certs/single.pem", "certs/shared.pem"])),
            ("http/u.conf", file(&[])),
        ];
        let files = FileSet { files: files.into_iter().map(|(path, file)| (path.into(), file)).collect() };
        for (changed, expected) in [
            (&["certs/shared.pem"][..], &["http/a.conf"][..]),
            (&["certs/shared.pem", "http/b.conf"], &["http/b.conf"]),
            (&["certs/shared.pem", "certs/single.pem"], &["http/a.conf", "http/c.conf"]),
            (&["certs/unused.pem"], &[]),
            (&["http/u.conf"], &["http/u.conf"]),
        ] {
            let tested = changed_files(&files, files.files.keys().filter(|path| changed.contains(&&***path)));
            assert_eq!(tested.iter().map(|path| &**path).collect::<Vec<_>>(), expected, "{changed:?}");
        }
    }
}
