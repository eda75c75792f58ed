//! Properties that hold for any input of what reads text from outside. Here they are tried with a
//! few drawn inputs, and in `fuzz/` with as many as one likes.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../injection/blocks.rs"]
mod blocks;
mod complaints;
#[path = "../injection/confinement.rs"]
mod confinement;
mod control;
mod expressions;
#[expect(dead_code, reason = "it has more inputs than these properties need")]
#[path = "../injection/fields.rs"]
mod fields;
#[path = "../golden/inputs.rs"]
mod inputs;
mod known;
mod kubeconfigs;
mod language;
mod manifests;
mod passwords;
#[expect(dead_code, reason = "it tells more than these properties ask")]
#[path = "../injection/pipeline.rs"]
mod pipeline;
mod snippets;

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;

/// An input, shown as it is written in known.rs.
struct Input(Vec<u8>);

impl fmt::Debug for Input {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}

/// A file of the package.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The names and contents of a folder's files.
fn folder(path: &str) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(file(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut files = Vec::from_iter(entries.map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())
    }));
    files.sort();
    files
}

/// The words of a dictionary of libFuzzer: one between quotes on each line.
fn dictionary(name: &str) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(file(&format!("fuzz/dictionaries/{name}"))).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let word = |line: &str| {
        let mut rest = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap().bytes();
        let mut word = Vec::new();
        while let Some(byte) = rest.next() {
            word.push(match byte {
                b'\\' => match rest.next().unwrap() {
                    b'x' => {
                        let digits = [rest.next().unwrap(), rest.next().unwrap()];
                        u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).unwrap()
                    }
                    escaped @ (b'"' | b'\\') => escaped,
                    _ => panic!("{name}: {line}"),
                },
                byte => byte,
            });
        }
        word
    };
    lines.map(word).collect()
}

/// Pieces of seeds, words of the dictionary and bytes, one after the other.
fn inputs(seeds: Vec<Vec<u8>>, words: Vec<Vec<u8>>) -> impl Strategy<Value = Input> {
    let piece = (select(seeds), any::<(Index, Index)>()).prop_map(|(seed, (a, b))| {
        let (a, b) = (a.index(seed.len() + 1), b.index(seed.len() + 1));
        seed[a.min(b)..a.max(b)].to_vec()
    });
    let any_text = any::<String>().prop_map(String::into_bytes);
    let any_bytes = prop::collection::vec(any::<u8>(), 0..4);
    let pieces = prop_oneof![6 => piece, 6 => select(words), 1 => any_text, 1 => any_bytes];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| Input(pieces.concat()))
}

/// Tries a property with known inputs, with the seeds, and with drawn ones.
fn hold(subject: &str, check: fn(&[u8]), cases: u32) {
    let seeds = folder(&format!("fuzz/seeds/{subject}"));
    let known = known::KNOWN.iter().filter(|(of, _)| *of == subject).map(|(_, input)| ("known.rs", *input));
    for (name, input) in known.chain(seeds.iter().map(|(name, seed)| (name.as_str(), seed.as_slice()))) {
        assert!(catch_unwind(|| check(input)).is_ok(), "{subject}, {name}: b\"{}\"", input.escape_ascii());
    }
    let settings = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let inputs = inputs(seeds.into_iter().map(|(_, seed)| seed).collect(), dictionary(subject));
    let result = TestRunner::new(settings).run(&inputs, |Input(data)| {
        check(&data);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{subject}: {error}"));
}

/// A test for each subject, with the number of inputs that are drawn.
macro_rules! subjects {
    ($($subject:ident: $cases:literal),*) => {
        const SUBJECTS: &[&str] = &[$(stringify!($subject)),*];

        $(#[test]
        fn $subject() {
            hold(stringify!($subject), $subject::check, $cases);
        })*
    };
}

subjects! {
    complaints: 1000,
    control: 1000,
    expressions: 300,
    kubeconfigs: 300,
    language: 1000,
    manifests: 300,
    passwords: 500,
    snippets: 200
}

#[test]
fn every_subject_is_fuzzed() {
    let names = |path: &str| BTreeSet::from_iter(folder(path).into_iter().map(|(name, _)| name));
    let expected = |ending: &str| BTreeSet::from_iter(SUBJECTS.iter().map(|subject| format!("{subject}{ending}")));
    assert_eq!(names("fuzz/fuzz_targets"), expected(".rs"));
    assert_eq!(names("fuzz/dictionaries"), expected(""));
    let manifest = fs::read_to_string(file("fuzz/Cargo.toml")).unwrap();
    for subject in SUBJECTS {
        assert!(manifest.contains(&format!("\nname = \"{subject}\"\n")), "{subject} is no target of fuzz/Cargo.toml");
    }
    assert!(known::KNOWN.iter().all(|(subject, _)| SUBJECTS.contains(subject)), "known.rs names another subject");
}
