//! Decoding, translating and rendering as library calls, in this process.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ingressd_model::catalogue::Version;
use ingressd_nginx::render::{FileSet, Renderer};
use ingressd_nginx::{Capabilities, Gate, GateOptions, OtherSites};
use ingressd_objects::directory::ChangedFiles;
use ingressd_objects::{Directory, Snapshot};
use ingressd_translate::{Claims, Options, Translation, Translator, World};

use crate::common::applications::Application;
use crate::common::report::Figure;
use ingressd_config::Usual as _;
use rig::manifests::{Manifests, classes};

/// How often each is measured; the median counts.
const REPETITIONS: usize = 7;

/// Translation, gate and rendering with what they remember.
struct Rooms {
    world: World,
    translator: Translator,
    /// Those of the last translation, as the daemon has them.
    claims: Arc<Claims>,
    gate: Gate,
    renderer: Renderer,
}

/// How long each took.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    read: Duration,
    translate: Duration,
    gate: Duration,
    render: Duration,
}

impl Rooms {
    fn new() -> Self {
        Rooms {
            world: World { now: jiff::Timestamp::now().as_second(), ..World::default() },
            translator: Translator::new(Options::default()),
            claims: Arc::default(),
            gate: Gate::default(),
            renderer: Renderer::default(),
        }
    }

    fn run(&mut self, snapshot: &Snapshot) -> (Times, FileSet) {
        // This is the version of Debian 12.
        let capabilities = Capabilities::profile(Version(1, 22, 1));
        let start = Instant::now();
        let translation = self.translator.translate(snapshot, &self.world, &self.claims);
        let translate = start.elapsed();
        self.claims = Arc::clone(&translation.claims);
        assert!(translation.findings.is_empty(), "{:#?}", translation.findings.first());
        let start = Instant::now();
        let Translation { model, tables, .. } = &translation;
        let gated = self.gate.pass(model, tables, &capabilities, &OtherSites::default(), &GateOptions::usual());
        let gate = start.elapsed();
        let start = Instant::now();
        let files = self.renderer.render(&gated.plan).together();
        (Times { read: Duration::ZERO, translate, gate, render: start.elapsed() }, files)
    }
}

/// Measures with this many Ingresses.
pub fn measure(size: usize) -> Vec<Figure> {
    let folder = tempfile::tempdir().unwrap();
    let manifests = Manifests::new(folder.path());
    write(&manifests, size);
    let mut cold = Vec::new();
    let (mut directory, mut rooms) = (Directory::new(Vec::new()), Rooms::new());
    for _ in 0..REPETITIONS {
        let read;
        (read, directory) = decode(folder.path());
        rooms = Rooms::new();
        let (times, files) = rooms.run(&directory.snapshot());
        assert!(files.files.len() > size, "one file for each host at least");
        cold.push(Times { read, ..times });
    }
    let warm: Vec<_> = (0..REPETITIONS).map(|_| rooms.run(&directory.snapshot()).0).collect();
    let mut change = |application: Application| {
        manifests.write_text(&application.file(), &application.text());
        let start = Instant::now();
        let changes = ChangedFiles::Files(BTreeSet::from([folder.path().join(application.file())]));
        let snapshot = directory.refresh(&changes, &BTreeSet::new(), &mut |_| {}).unwrap();
        let read = start.elapsed();
        Times { read, ..rooms.run(&snapshot).0 }
    };
    let of = |path_revision, endpoint_revision| Application {
        path_revision,
        endpoint_revision,
        ..Application::new(size / 2 + 1)
    };
    let edited: Vec<_> = (1..=REPETITIONS).map(|revision| change(of(revision, 0))).collect();
    let moved: Vec<_> = (1..=REPETITIONS).map(|revision| change(of(REPETITIONS, revision))).collect();
    let mut figures = vec![Figure::new("manifests", "MiB", size_of_files(folder.path()))];
    for (name, times) in [("cold", &cold), ("warm", &warm), ("one edit", &edited), ("other endpoints", &moved)] {
        if name != "warm" {
            figures.push(Figure::time(format!("read and decode, {name}"), median(times, |times| times.read)));
        }
        figures.push(Figure::time(format!("translate, {name}"), median(times, |times| times.translate)));
        figures.push(Figure::time(format!("gate, {name}"), median(times, |times| times.gate)));
        figures.push(Figure::time(format!("render, {name}"), median(times, |times| times.render)));
        let all = median(times, |times| times.translate + times.gate + times.render);
        figures.push(Figure::time(format!("translate and render, {name}"), all));
    }
    figures
}

/// Writes classes and applications, a file each.
pub fn write(manifests: &Manifests, size: usize) {
    manifests.write("classes.yaml", &classes());
    for application in (0..size).map(Application::new) {
        manifests.write_text(&application.file(), &application.text());
        if let Some(secret) = application.secret() {
            manifests.write(&application.secret_file(), &[secret]);
        }
    }
}

fn decode(folder: &Path) -> (Duration, Directory) {
    let mut directory = Directory::new(vec![folder.to_owned()]);
    let start = Instant::now();
    directory.refresh(&ChangedFiles::All, &BTreeSet::new(), &mut |_| {}).unwrap();
    (start.elapsed(), directory)
}

fn median(times: &[Times], of: impl Fn(&Times) -> Duration) -> Duration {
    let mut sorted: Vec<_> = times.iter().map(of).collect();
    sorted.sort();
    sorted[sorted.len() / 2]
}

fn size_of_files(folder: &Path) -> f64 {
    let entries = fs::read_dir(folder).unwrap();
    let bytes: u64 = entries.map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    f64::from(u32::try_from(bytes).unwrap()) / f64::from(1 << 20)
}
