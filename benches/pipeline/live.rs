//! The daemon and a real nginx from start to change after change, timed by requests; it must not know how either works.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::applications::Application;
use crate::changes::{Change, is_right};
use crate::process::{memory, processor_time};
use crate::pure;
use crate::report::Figure;
use crate::rig::client::{Reply, Request};
use crate::rig::{self, Rig, wait};

/// The daemon's pacing: at rest is what has seen no reload for this long.
const SPACING: Duration = Duration::from_secs(1);
/// How long a change that must have no effect is watched.
const NO_OP: Duration = Duration::from_secs(2);
/// Time between two requests that ask whether a change is served.
const PAUSE: Duration = Duration::from_millis(1);
/// How many hosts are asked over one connection; nginx closes it after 1000.
const REQUESTS_OF_A_CONNECTION: usize = 500;

/// The generation that was confirmed last.
const GENERATION: &str = "ingressd_generation";

/// Metrics whose differences tell what a change made the daemon do.
const RELOADS: &str = "ingressd_reloads_total{reason=\"change\",result=\"confirmed\"}";
const TEST_TIME: &str = "ingressd_test_duration_seconds_sum";
const RELOAD_TIME: &str = "ingressd_reload_duration_seconds_sum";

/// Measures with this many Ingresses, and so many changes of each sort.
pub fn measure(size: usize, samples: usize) -> Vec<Figure> {
    let (sender, receiver) = mpsc::channel();
    rig::run(async move |rig| {
        // Its level while tests run would be measured too.
        rig.daemon.set("log.level", "warn");
        pure::write(&rig.manifests, size);
        let mut session = Session { rig, size, figures: Vec::new() };
        session.start().await;
        for change in Change::ALL {
            session.changes(change, samples).await;
        }
        session.no_op().await;
        session.memory("at the end");
        session.restart().await;
        sender.send(session.figures).unwrap();
    });
    receiver.recv().unwrap()
}

struct Session<'a> {
    rig: &'a mut Rig,
    size: usize,
    figures: Vec<Figure>,
}

impl Session<'_> {
    async fn start(&mut self) {
        self.rig.nginx.start();
        let begun = Instant::now();
        self.rig.daemon.start();
        let last = Application::new(self.size - 1);
        let served = served(begun, &Change::RouteAdd.request(&last), |reply| is_right(&last, reply)).await;
        self.figures.push(Figure::time("cold start to served", served));
        self.rig.daemon.ready().await;
        self.all_are_served().await;
        self.rest().await;
        let used = processor_time(self.rig.daemon.pid());
        self.figures.push(Figure::time("cold start: processor time of the daemon", used.own));
        self.figures.push(Figure::time("cold start: processor time of nginx -t", used.children));
        self.figures.push(Figure::new("cold start: generations", "", self.metric(GENERATION).await));
        self.memory("at start");
        self.idle().await;
    }

    /// Asks every host once.
    async fn all_are_served(&self) {
        let applications: Vec<_> = (0..self.size).map(Application::new).collect();
        let (secure, plain): (Vec<_>, Vec<_>) = applications.iter().partition(|application| application.has_tls());
        let ask = |application: &Application| Change::RouteAdd.request(application);
        for application in secure {
            let reply = ask(application).send().await;
            assert!(is_right(application, &reply), "{}: {reply:#?}", application.host());
        }
        for applications in plain.chunks(REQUESTS_OF_A_CONNECTION) {
            let mut connection = ask(applications[0]).connect().await.unwrap();
            for application in applications {
                let reply = connection.send(&ask(application)).await.unwrap();
                assert!(is_right(application, &reply), "{}: {reply:#?}", application.host());
            }
        }
    }

    /// Waits until the last change is confirmed, no old worker drains, and the next change may go at once.
    async fn rest(&mut self) {
        let nginx = &self.rig.nginx;
        wait::until("the end of old workers", async || (nginx.workers().len() == 2).then_some(())).await;
        self.rig.daemon.ready().await;
        // The daemon looks at nginx as often, and only then knows that nothing drains.
        tokio::time::sleep(SPACING + SPACING / 5).await;
    }

    async fn changes(&mut self, change: Change, samples: usize) {
        let pid = self.rig.daemon.pid();
        let (mut times, mut own, mut children) = (Vec::new(), Duration::ZERO, Duration::ZERO);
        let before = [self.metric(RELOADS).await, self.metric(TEST_TIME).await, self.metric(RELOAD_TIME).await];
        for round in 0..samples {
            let application = change.of_round(round, self.size);
            let used = processor_time(pid);
            let generation = self.metric(GENERATION).await;
            let begun = Instant::now();
            change.write(&application, &self.rig.manifests);
            let request = change.request(&application);
            times.push(served(begun, &request, |reply| change.is_served(&application, reply)).await);
            wait::until("the confirmation", async || (self.metric(GENERATION).await > generation).then_some(())).await;
            self.rest().await;
            let now = processor_time(pid);
            own += now.own - used.own;
            children += now.children - used.children;
        }
        let after = [self.metric(RELOADS).await, self.metric(TEST_TIME).await, self.metric(RELOAD_TIME).await];
        let count = u32::try_from(samples).unwrap();
        let name = change.name();
        times.sort();
        self.figures.push(Figure::time(format!("{name}, p50"), percentile(&times, 50)));
        self.figures.push(Figure::time(format!("{name}, p99"), percentile(&times, 99)));
        let mean = |index: usize| Duration::from_secs_f64((after[index] - before[index]) / f64::from(count));
        self.figures.push(Figure::time(format!("{name}: test, mean"), mean(1)));
        self.figures.push(Figure::time(format!("{name}: HUP to confirmation, mean"), mean(2)));
        self.figures.push(Figure::time(format!("{name}: processor time of the daemon"), own / count));
        self.figures.push(Figure::time(format!("{name}: processor time of nginx -t"), children / count));
        self.figures.push(Figure::new(format!("{name}: reloads"), "", after[0] - before[0]));
        self.figures.push(Figure::new(format!("{name}: changes"), "", f64::from(count)));
    }

    /// A file is touched, another gets a comment: nothing may be written, tested or reloaded.
    async fn no_op(&mut self) {
        let before = (self.metric(RELOADS).await, self.tree());
        let [touched, commented] = [Application::new(self.size / 2 + 1), Application::new(self.size / 2 + 2)];
        let path = self.rig.manifests.folder().join(touched.file());
        fs::File::options().append(true).open(path).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
        tokio::time::sleep(NO_OP).await;
        let path = self.rig.manifests.folder().join(commented.file());
        let text = fs::read_to_string(path).unwrap() + "# Nothing changed.\n";
        let used = processor_time(self.rig.daemon.pid());
        self.rig.manifests.write_text(&commented.file(), &text);
        tokio::time::sleep(NO_OP).await;
        let used = processor_time(self.rig.daemon.pid()).own - used.own;
        let after = (self.metric(RELOADS).await, self.tree());
        let differing = after.1.iter().filter(|(path, stamp)| before.1.get(*path) != Some(stamp)).count();
        let gone = before.1.keys().filter(|path| !after.1.contains_key(*path)).count();
        self.figures.push(Figure::new("no-op: files written", "", count(differing + gone)));
        self.figures.push(Figure::new("no-op: reloads", "", after.0 - before.0));
        self.figures.push(Figure::time("no-op: processor time of the daemon", used));
    }

    /// Nothing changes at all.
    async fn idle(&mut self) {
        let before = processor_time(self.rig.daemon.pid());
        tokio::time::sleep(5 * SPACING).await;
        let used = processor_time(self.rig.daemon.pid()).own - before.own;
        self.figures.push(Figure::time("idle: processor time of the daemon, per second", used / 5));
    }

    /// The daemon is stopped and started over what it left: nginx is not touched.
    async fn restart(&mut self) {
        let before = self.metric(GENERATION).await;
        self.rig.daemon.stop().await;
        let begun = Instant::now();
        self.rig.daemon.start();
        self.rig.daemon.ready().await;
        self.figures.push(Figure::time("restart to ready", begun.elapsed()));
        let generations = self.metric(GENERATION).await - before;
        self.figures.push(Figure::new("restart: generations", "", generations));
        self.rest().await;
        self.memory("after a restart");
    }

    fn memory(&mut self, when: &str) {
        let pid = self.rig.daemon.pid();
        self.figures.push(Figure::new(format!("resident memory, {when}"), "MiB", memory(pid, "VmRSS")));
        self.figures.push(Figure::new(
            format!("resident memory, most until then, {when}"),
            "MiB",
            memory(pid, "VmHWM"),
        ));
    }

    async fn metric(&self, series: &str) -> f64 {
        self.rig.daemon.metric(series).await
    }

    /// Every file that the daemon may write, with what differs when it does.
    fn tree(&self) -> BTreeMap<PathBuf, [i64; 3]> {
        let mut tree = BTreeMap::new();
        for folder in [self.rig.daemon.root(), self.rig.daemon.state()] {
            stamps(&folder, &mut tree);
        }
        tree
    }
}

/// Asks until the answer is right, and tells how long that took.
async fn served(begun: Instant, request: &Request, right: impl Fn(&Reply) -> bool) -> Duration {
    let mut last = None;
    while begun.elapsed() < wait::LIMIT {
        match request.clone().try_send().await {
            Ok(reply) if right(&reply) => return begun.elapsed(),
            answer => last = Some(answer),
        }
        tokio::time::sleep(PAUSE).await;
    }
    panic!("never served: {request:?}: {last:#?}");
}

fn stamps(path: &Path, tree: &mut BTreeMap<PathBuf, [i64; 3]>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    tree.insert(path.to_owned(), [metadata.ctime(), metadata.ctime_nsec(), metadata.ino().cast_signed()]);
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| stamps(&entry.unwrap().path(), tree));
    }
}

/// The least of the sorted times that so many of a hundred do not exceed.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent).div_ceil(100).saturating_sub(1)]
}

fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap())
}
