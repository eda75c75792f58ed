//! The daemon over a folder with a real nginx, from start to change after change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::applications::Application;
use crate::common::changes::Change;
use crate::common::process::processor_time;
use crate::common::report::Figure;
use crate::common::session::{RELOADS, Session};
use crate::common::stage::stage;
use crate::common::times::served;
use crate::pure;
use rig::Rig;
use rig::manifests::Manifests;

/// How long a change that must have no effect is watched.
const NO_OP: Duration = Duration::from_secs(2);

/// The longest time that what follows the changes may take.
const REST: Duration = Duration::from_secs(60);

/// Measures with this many Ingresses, and so many changes of each sort.
pub fn measure(size: usize, samples: usize) -> Vec<Figure> {
    let (sender, receiver) = mpsc::channel();
    rig::run(async move |rig| {
        let Rig { daemon, nginx, manifests, .. } = rig;
        let mut session = Session::new(daemon, nginx, size);
        pure::write(manifests, size);
        session.start().await;
        session.idle().await;
        for change in Change::ALL {
            let make = async |application: &Application| {
                let begun = Instant::now();
                write(change, application, manifests);
                let request = change.request(application);
                served(begun, &request, |reply| change.is_served(application, reply)).await
            };
            session.changes(change, samples, make).await;
        }
        let rest = async {
            no_op(&mut session, manifests).await;
            session.memory("at the end");
        };
        stage(size, "no change", REST, rest).await;
        session.starts().await;
        sender.send(session.figures).unwrap();
    });
    receiver.recv().unwrap()
}

/// Puts the file in place that carries a change.
fn write(change: Change, application: &Application, manifests: &Manifests) {
    match (change, application.secret()) {
        (Change::Certificate, Some(secret)) => manifests.write(&application.secret_file(), &[secret]),
        _ => manifests.write_text(&application.file(), &application.text()),
    }
}

/// A file is touched, another gets a comment: nothing may be written, tested or reloaded.
async fn no_op(session: &mut Session<'_>, manifests: &Manifests) {
    let before = (session.metric(RELOADS).await, tree(session));
    let [touched, commented] = [Application::new(session.size / 2 + 1), Application::new(session.size / 2 + 2)];
    let path = manifests.folder().join(touched.file());
    fs::File::options().append(true).open(path).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    tokio::time::sleep(NO_OP).await;
    let path = manifests.folder().join(commented.file());
    let text = fs::read_to_string(path).unwrap() + "# Nothing changed.\n";
    let used = processor_time(session.daemon.pid());
    manifests.write_text(&commented.file(), &text);
    tokio::time::sleep(NO_OP).await;
    let used = processor_time(session.daemon.pid()).own - used.own;
    let after = (session.metric(RELOADS).await, tree(session));
    let differing = after.1.iter().filter(|(path, stamp)| before.1.get(*path) != Some(stamp)).count();
    let gone = before.1.keys().filter(|path| !after.1.contains_key(*path)).count();
    session.figures.push(Figure::count("no-op: files written", differing + gone));
    session.figures.push(Figure::new("no-op: reloads", "", after.0 - before.0));
    session.figures.push(Figure::time("no-op: processor time of the daemon", used));
}

/// Every file that the daemon may write, with what differs when it does.
fn tree(session: &Session<'_>) -> BTreeMap<PathBuf, [i64; 3]> {
    let mut tree = BTreeMap::new();
    for folder in [session.daemon.root(), session.daemon.state()] {
        stamps(&folder, &mut tree);
    }
    tree
}

fn stamps(path: &Path, tree: &mut BTreeMap<PathBuf, [i64; 3]>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    tree.insert(path.to_owned(), [metadata.ctime(), metadata.ctime_nsec(), metadata.ino().cast_signed()]);
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| stamps(&entry.unwrap().path(), tree));
    }
}
