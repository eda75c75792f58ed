//! What is recorded for the next start where the disk fails.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::daemon::{proposed, states};
use ingressd_nginx::render::{File, Owners, Part};

/// An nginx that takes everything, and looks at what is recorded for the files before it does.
struct Recorded {
    state: PathBuf,
    names: Vec<String>,
    states: Vec<Arc<ObjectState>>,
}

impl Stages for Recorded {
    fn judge(&self, _: &Snapshot) -> Arc<str> {
        "nginx".into()
    }

    fn make(&mut self, snapshot: &Snapshot) -> Product {
        let part = Part::Bytes(names(snapshot).join(" ").into_bytes().into());
        let file = ("http/all.conf".into(), Arc::new(File::plain([part], Owners::default(), [])));
        let states = snapshot.ingresses.iter().map(|stored| {
            let version = WorkingVersion::whole(stored.version.clone(), Vec::new(), 1);
            Arc::new(ObjectState::of(&stored.id, version))
        });
        self.states = states::shared(states.collect(), &self.states.clone().into()).to_vec();
        let files = Arc::new(FileSet { files: [file].into() });
        Product { states: self.states.clone(), files, ..Product::default() }
    }

    fn apply(&mut self, files: &FileSet) -> Outcome {
        let lines = proposed::of(&self.state, Some(files.digest())).unwrap();
        let name = |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["name"].to_string();
        self.names = lines.iter().map(name).collect();
        Outcome::Confirmed { generation: 1, test: TEST, reload: TEST, written: 1 }
    }

    fn begin_weighing(&mut self) -> bool {
        true
    }

    fn end_weighing(&mut self) {}

    fn settle(&mut self, _: &Arc<Claims>) {}

    fn stop_sharing(&mut self, _: &str) -> bool {
        false
    }

    fn resume_sharing(&mut self) {}
}

#[test]
fn what_could_not_be_written_is_recorded_with_the_next_files_too() {
    let state = tempfile::tempdir().unwrap();
    let mut cycle = Cycle::open(state.path(), None).unwrap();
    let mut stages = Recorded { state: state.path().to_owned(), names: Vec::new(), states: Vec::new() };
    let mut objects = snapshot(&["a@1", "b@1"]);
    let mut turn = |version: &str| {
        objects.ingresses.edit()[1] = snapshot(&[version]).ingresses[0].clone();
        cycle.turn(&objects, &mut stages);
        // Its end waits for the disk.
        cycle.keeper = Keeper::start(Arc::clone(&cycle.store), state.path());
        stages.names.join(" ")
    };
    let folder = state.path().join("objects");
    fs::remove_dir(&folder).unwrap();
    fs::write(&folder, "").unwrap();
    assert_eq!(turn("b@1"), r#""a" "b""#);
    assert_eq!(turn("b@2"), r#""a" "b""#, "neither is on disk");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    assert_eq!(turn("b@3"), r#""a" "b""#, "nor are they before the next is written");
    assert_eq!(turn("b@4"), r#""b""#);
}
