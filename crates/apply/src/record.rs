//! The record beside the files of a generation: who caused which line, and what it serves.
//!
//! A record is a list of segments. Each generation hard-links those of the generation before and
//! adds one with the differences, so that the cost of writing follows the change. Now and then a
//! segment holds everything, and the list begins anew.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use itertools::EitherOrBoth;
use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::error::ApplyError;
use ingressd_model::{Field, Kind, ObjectId, ObjectState, Origin, Version, WorkingVersion, differences};
use ingressd_nginx::render::{FilePath, FileSet, Owners};

/// The name of the record's folder within a generation; nginx includes nothing of it.
const FOLDER: &str = "record";

/// The file beside the segments that says why the generation was made; other generations do not
/// link it.
const CAUSE: &str = "cause";

/// When a record has this many segments, the next one holds everything.
const MOST_SEGMENTS: usize = 32;

/// What a generation serves. Lists are sorted by object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The objects that it serves, each with its working version; a record keeps version, hosts
    /// and how many routes are served.
    pub objects: Vec<Arc<ObjectState>>,
    /// Secrets with certificates, and when they expire, in seconds since 1970.
    pub certificates: Vec<(Arc<ObjectId>, i64)>,
    /// The newest `resourceVersion` of the cluster that it takes into account, when the cluster
    /// has numeric ones.
    pub revision: Option<u128>,
}

/// The record of one generation, assembled from its segments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Who caused which line, by file. The fields are unescaped texts.
    pub owners: BTreeMap<FilePath, Arc<Owners>>,
    /// What it serves.
    pub contents: Arc<Contents>,
}

/// The segment that a new generation adds, and the folder of the segments before it.
#[derive(Debug)]
pub struct Segment {
    /// The generation whose segments are linked; `None` when this one holds everything.
    base: Option<PathBuf>,
    lines: Vec<u8>,
    cause: Vec<u8>,
}

/// Kind, namespace and name.
type Id<'a> = (Cow<'a, str>, Cow<'a, str>, Cow<'a, str>);

/// A line of a segment; a later line about the same thing replaces an earlier one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line<'a> {
    Owners(Cow<'a, str>, Vec<(u32, Id<'a>, Cow<'a, str>)>),
    /// What is served of an Ingress: version, hosts and routes; `None` when nothing is served any
    /// more.
    Object(Id<'a>, Option<(Cow<'a, str>, Vec<Cow<'a, str>>, u32)>),
    /// A certificate and when it expires; `None` when it is no longer served.
    Certificate(Id<'a>, Option<i64>),
    /// The revision; as a text, because it may be longer than a number of JSON.
    Revision(Option<Cow<'a, str>>),
}

impl Record {
    /// The record of a generation with these files.
    pub fn of(files: &FileSet, contents: &Arc<Contents>) -> Self {
        let owners = files.files.iter().map(|(path, file)| (Arc::clone(path), Arc::clone(&file.owners)));
        Record { owners: owners.collect(), contents: Arc::clone(contents) }
    }

    /// What has to be written after `before`, which is the record of the generation in this
    /// folder, and why the new generation is made.
    pub fn segment(&self, before: Option<(&Record, &Path)>, cause: &Cause) -> Segment {
        let linkable = before.filter(|(_, folder)| {
            let segments = segments(&folder.join(FOLDER)).map(|segments| segments.len()).unwrap_or_default();
            (1..MOST_SEGMENTS).contains(&segments)
        });
        let nothing = Record::default();
        let lines = self.lines(linkable.map_or(&nothing, |(before, _)| before));
        Segment { base: linkable.map(|(_, folder)| folder.join(FOLDER)), lines, cause: cause.bytes() }
    }

    fn lines(&self, before: &Record) -> Vec<u8> {
        let mut text = Vec::new();
        let mut add = |line: Line<'_>| {
            // Serialising numbers and texts cannot fail.
            if serde_json::to_writer(&mut text, &line).is_ok() {
                text.push(b'\n');
            }
        };
        type Entry<'a> = (&'a FilePath, &'a Arc<Owners>);
        let is_one = |(_, one): Entry<'_>, (_, other): Entry<'_>| Arc::ptr_eq(one, other);
        for either in differences(&before.owners, &self.owners, is_one, |(one, _), (other, _)| one.cmp(other)) {
            let (known, now) = either.left_and_right();
            if let Some((path, owners)) = now.filter(|(_, owners)| known.is_none_or(|(_, known)| known != *owners)) {
                let lines = owners.0.iter().map(|(line, origin)| (*line, id(&origin.object), field(origin)));
                add(Line::Owners(Cow::Borrowed(path), lines.collect()));
            }
        }
        let (now, then) = (&*self.contents, &*before.contents);
        for (id_of, object) in new(&then.objects, &now.objects, Arc::ptr_eq, |object| &object.id, is_same) {
            let served = object.and_then(|object| object.working.as_ref()).map(|working| {
                let hosts = working.hosts.iter().map(|host| Cow::Borrowed(&**host)).collect();
                (Cow::Borrowed(&*working.version.0), hosts, working.served)
            });
            add(Line::Object(id(id_of), served));
        }
        for (id_of, certificate) in
            new(&then.certificates, &now.certificates, |_, _| false, |(id, _)| id, PartialEq::eq)
        {
            add(Line::Certificate(id(id_of), certificate.map(|(_, end)| *end)));
        }
        if now.revision != then.revision {
            add(Line::Revision(now.revision.map(|revision| Cow::Owned(revision.to_string()))));
        }
        text
    }

    /// Reads the record of the generation in this folder.
    ///
    /// # Errors
    ///
    /// When it cannot be read or is damaged.
    pub fn read(generation: &Path) -> Result<Record, ApplyError> {
        let folder = generation.join(FOLDER);
        let mut reader = RecordReader::default();
        for segment in segments(&folder).map_err(ApplyError::files("list", &folder))? {
            let path = folder.join(segment.to_string());
            let text = fs::read_to_string(&path).map_err(ApplyError::files("read", &path))?;
            for line in text.lines() {
                let read = serde_json::from_str(line).ok().and_then(|line| reader.read(line));
                read.ok_or_else(|| ApplyError::Damaged {
                    path: path.clone(),
                    what: "a line is not to be read".to_owned(),
                })?;
            }
        }
        Ok(reader.record())
    }

    /// Why the generation in this folder was made; `None` when that was not recorded.
    pub fn cause(generation: &Path) -> Option<Cause> {
        Cause::read(&generation.join(FOLDER).join(CAUSE))
    }
}

/// The numbers of the segments in the folder of a record, in order.
fn segments(folder: &Path) -> io::Result<Vec<u64>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    let mut segments: Vec<u64> = names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect();
    segments.sort_unstable();
    Ok(segments)
}

/// A record that is being read.
#[derive(Default)]
struct RecordReader {
    owners: BTreeMap<FilePath, Arc<Owners>>,
    objects: BTreeMap<Arc<ObjectId>, Arc<ObjectState>>,
    certificates: BTreeMap<Arc<ObjectId>, i64>,
    revision: Option<u128>,
}

impl RecordReader {
    /// Returns `None` for a line that this program cannot have written.
    fn read(&mut self, line: Line<'static>) -> Option<()> {
        match line {
            Line::Owners(file, lines) => {
                let owners = lines.into_iter().map(|(line, id, field)| Some((line, origin(&id, field)?)));
                self.owners.insert(file.into(), Arc::new(Owners(owners.collect::<Option<_>>()?)));
            }
            Line::Object(id, None) => drop(self.objects.remove(&object(&id)?)),
            Line::Object(id, Some((version, hosts, routes))) => {
                let id = Arc::new(object(&id)?);
                let hosts = hosts.into_iter().map(Arc::from).collect();
                let served = WorkingVersion::whole(Version(version.into()), hosts, routes);
                self.objects.insert(Arc::clone(&id), Arc::new(ObjectState::of(&id, served)));
            }
            Line::Certificate(id, None) => drop(self.certificates.remove(&object(&id)?)),
            Line::Certificate(id, Some(end)) => drop(self.certificates.insert(Arc::new(object(&id)?), end)),
            Line::Revision(None) => self.revision = None,
            Line::Revision(Some(revision)) => self.revision = Some(revision.parse().ok()?),
        }
        Some(())
    }

    fn record(self) -> Record {
        let contents = Contents {
            objects: self.objects.into_values().collect(),
            certificates: self.certificates.into_iter().collect(),
            revision: self.revision,
        };
        Record { owners: self.owners, contents: Arc::new(contents) }
    }
}

impl Segment {
    /// Writes the record into the folder of a new generation; returns the files that have to be
    /// flushed.
    pub fn write(&self, generation: &Path, number: u64) -> Result<Vec<File>, ApplyError> {
        let folder = generation.join(FOLDER);
        // Only root may read the names of objects of all tenants.
        DirBuilder::new().mode(0o700).create(&folder).map_err(ApplyError::files("create folder", &folder))?;
        let mut written = Vec::new();
        if let Some(base) = &self.base {
            let link = || -> io::Result<()> {
                let names = segments(base)?.into_iter().map(|segment| segment.to_string());
                names.into_iter().try_for_each(|name| fs::hard_link(base.join(&name), folder.join(&name)))
            };
            link().map_err(ApplyError::files("link files of", base))?;
        }
        let own = (!self.lines.is_empty()).then(|| (number.to_string(), &self.lines));
        for (name, bytes) in own.into_iter().chain([(CAUSE.to_owned(), &self.cause)]) {
            let path = folder.join(name);
            let write = || {
                let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
                file.write_all(bytes).map(|()| file)
            };
            written.push(write().map_err(ApplyError::files("write", &path))?);
        }
        written.push(File::open(&folder).map_err(ApplyError::files("open folder", &folder))?);
        Ok(written)
    }
}

/// The entries of `now` that are new or differ from `then`, and the keys of `then` that are gone;
/// both lists are sorted by object.
fn new<'a, T>(
    then: &'a [T],
    now: &'a [T],
    is_one: impl Fn(&T, &T) -> bool + Copy,
    id: impl Fn(&T) -> &Arc<ObjectId> + Copy,
    is_same: impl Fn(&T, &T) -> bool,
) -> impl Iterator<Item = (&'a Arc<ObjectId>, Option<&'a T>)> {
    let both = differences(then, now, is_one, move |one, other| id(one).cmp(id(other)));
    both.filter_map(move |either| match either {
        EitherOrBoth::Both(known, one) if is_same(known, one) => None,
        EitherOrBoth::Both(_, one) | EitherOrBoth::Right(one) => Some((id(one), Some(one))),
        EitherOrBoth::Left(gone) => Some((id(gone), None)),
    })
}

/// Whether a record has the same of both.
fn is_same(one: &Arc<ObjectState>, other: &Arc<ObjectState>) -> bool {
    match (&one.working, &other.working) {
        (Some(one), Some(other)) => {
            Arc::ptr_eq(one, other)
                || (&one.version, one.served, &one.hosts) == (&other.version, other.served, &other.hosts)
        }
        (one, other) => one.is_none() && other.is_none(),
    }
}

fn id(object: &ObjectId) -> Id<'_> {
    (object.kind.name().into(), Cow::Borrowed(&*object.namespace), Cow::Borrowed(&*object.name))
}

fn object((kind, namespace, name): &Id<'_>) -> Option<ObjectId> {
    let kind = Kind::read(kind)?;
    Some(ObjectId::new(kind, namespace, name))
}

/// The field as an unescaped text; the caller escapes it before it is shown.
fn field(origin: &Origin) -> Cow<'_, str> {
    match &origin.field {
        Field::Object => Cow::Borrowed(""),
        Field::Other(text) => Cow::Borrowed(text),
        Field::Annotation(key) => Cow::Owned(format!("metadata.annotations[{key}]")),
        Field::Data(key) => Cow::Owned(format!("data[{key}]")),
        field => Cow::Owned(field.to_string()),
    }
}

fn origin(id: &Id<'_>, field: Cow<'static, str>) -> Option<Origin> {
    let field = if field.is_empty() { Field::Object } else { Field::Other(field) };
    Some(Origin { object: Arc::new(object(id)?), field })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::Change;
    use ingressd_nginx::render::{File as RenderedFile, Part};

    fn ingress(name: &str) -> Arc<ObjectId> {
        Arc::new(ObjectId::new(Kind::INGRESS, "shop", name))
    }

    fn files(owners: &[(&str, &str)]) -> FileSet {
        let file = |owner: &str| {
            let origin = Origin::field(&ingress(owner), Field::Annotation(Cow::Borrowed("a \"b\"")));
            Arc::new(RenderedFile::plain([Part::Fixed("x;\n")], Owners(vec![(1, origin)]), []))
        };
        FileSet { files: owners.iter().map(|(path, owner)| (FilePath::from(*path), file(owner))).collect() }
    }

    fn contents(objects: &[(&str, &str)], revision: u128) -> Arc<Contents> {
        let object = |(name, version): &(&str, &str)| {
            let (version, hosts) = (Version((*version).into()), vec![format!("{name}.example").into()]);
            Arc::new(ObjectState::of(&ingress(name), WorkingVersion::whole(version, hosts, 2)))
        };
        let certificates = objects.iter().map(|(name, _)| (ingress(name), 5)).collect();
        Arc::new(Contents { objects: objects.iter().map(object).collect(), certificates, revision: Some(revision) })
    }

    fn cause(number: u64) -> Cause {
        Cause { objects: vec![(ingress(&format!("cart-{number}")), Change::Changed)], more: 3 }
    }

    /// The lines of files with their owners, in the form on disk, where fields are texts.
    type LinesOnDisk = Vec<(String, Vec<(u32, String)>)>;

    fn reported(record: &Record) -> (LinesOnDisk, Contents) {
        let owners = record.owners.iter().map(|(path, owners)| {
            (path.to_string(), owners.0.iter().map(|(line, origin)| (*line, origin.to_string())).collect())
        });
        (owners.collect(), Contents::clone(&record.contents))
    }

    #[test]
    fn a_row_of_segments_is_what_was_recorded_last_and_each_holds_only_what_changed() {
        let folder = tempfile::tempdir().unwrap();
        let place = |number: u64| folder.path().join(number.to_string());
        let paths = ["http/a", "http/b", "http/c"];
        let mut before: Option<Record> = None;
        let latest = MOST_SEGMENTS as u64 + 3;
        for number in 1..=latest {
            let owner = format!("owner-{number}");
            let version = number.to_string();
            let all = [(paths[0], "same"), (paths[1], owner.as_str()), (paths[2], "gone-later")];
            let objects = [("cart", "1"), ("new", version.as_str()), ("old", "1")];
            let count = if number % 2 == 0 { 2 } else { 3 };
            let record =
                Record::of(&files(&all[..count]), &contents(&objects[..count], u128::MAX - u128::from(number)));
            fs::create_dir(place(number)).unwrap();
            let earlier = place(number - 1);
            let segment = record.segment(before.as_ref().map(|before| (before, &*earlier)), &cause(number));
            segment.write(&place(number), number).unwrap();
            let (mut expected, found) = (reported(&record), reported(&Record::read(&place(number)).unwrap()));
            // Owners of a file that is gone may stay: they are never looked up.
            expected.0.retain(|(path, _)| path != paths[2]);
            let owners: Vec<_> = found.0.into_iter().filter(|(path, _)| path != paths[2]).collect();
            assert_eq!((owners, found.1), expected, "{number}");
            assert_eq!(Record::cause(&place(number)), Some(cause(number)), "its own, not that of the one before");
            before = Some(record);
        }
        // The owner of the first file does not change, so it is written with full segments alone.
        let reports = |number: u64| fs::read_to_string(place(number).join(FOLDER).join(number.to_string())).unwrap();
        let with_the_first: Vec<_> = (1..=latest).filter(|number| reports(*number).contains(paths[0])).collect();
        assert_eq!(with_the_first, [1, MOST_SEGMENTS as u64 + 1]);
        let count = |number: u64| segments(&place(number).join(FOLDER)).unwrap().len();
        assert_eq!([MOST_SEGMENTS as u64, MOST_SEGMENTS as u64 + 1].map(count), [MOST_SEGMENTS, 1]);
    }

    #[test]
    fn what_did_not_change_costs_links_alone() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::of(&files(&[("http/a", "a")]), &contents(&[("a", "1")], 7));
        for number in [1, 2] {
            let place = folder.path().join(number.to_string());
            fs::create_dir(&place).unwrap();
            let before = folder.path().join("1");
            record.segment((number == 2).then_some((&record, &*before)), &cause(number)).write(&place, number).unwrap();
        }
        let place = folder.path().join("2").join(FOLDER);
        let found: Vec<_> = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(found.len(), 2, "a segment, and the cause: {found:?}");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let modes = (mode(&place), mode(&found[0]), mode(&found[1]));
        assert_eq!(modes, (0o700, 0o600, 0o600), "names of all tenants' objects");
        assert_eq!(reported(&Record::read(&folder.path().join("2")).unwrap()).1, *record.contents);
    }

    #[test]
    fn a_damaged_record_is_reported_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::of(&files(&[("http/a", "a")]), &contents(&[("a", "1")], 7));
        record.segment(None, &Cause::default()).write(folder.path(), 1).unwrap();
        fs::write(folder.path().join("record/1"), "{\"object\":[[\"Ing\"").unwrap();
        let error = Record::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("record/1"), "{error}");
    }
}
