//! A daemon and a real nginx from start to change after change, timed by requests.

use std::fs;
use std::time::{Duration, Instant};

use super::applications::Application;
use super::changes::{Change, is_right};
use super::process::{memory, processor_time};
use super::report::Figure;
use super::stage::stage;
use super::times::{percentiles, served};
use rig::daemon::Daemon;
use rig::nginx::Nginx;
use rig::wait;

/// The daemon's pacing: at rest is what has seen no reload for this long.
const SPACING: Duration = Duration::from_secs(1);
/// How many hosts are asked over one connection; nginx closes it after 1000.
const REQUESTS_OF_A_CONNECTION: usize = 500;

/// How many restarts and how many cold starts there are after all changes.
const STARTS: u32 = 7;

/// Limits of stages: of the start, of one sample.
const START: Duration = Duration::from_secs(180);
const SAMPLE: Duration = Duration::from_secs(20);

/// The generation that was confirmed last.
const GENERATION: &str = "ingressd_generation";

/// Metrics whose differences tell what a change made the daemon do.
pub const RELOADS: &str = "ingressd_reloads_total{reason=\"change\",result=\"confirmed\"}";
const TEST_TIME: &str = "ingressd_test_duration_seconds_sum";
const RELOAD_TIME: &str = "ingressd_reload_duration_seconds_sum";

/// A daemon under measurement.
pub struct Session<'a> {
    /// The daemon.
    pub daemon: &'a mut Daemon,
    /// The nginx that the daemon configures.
    pub nginx: &'a Nginx,
    /// How many applications there are at first.
    pub size: usize,
    /// When the daemon was started.
    pub begun: Instant,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// How many changes were made: each is another one.
    rounds: usize,
    /// How long all reloads and their tests took, in seconds.
    spent: f64,
}

impl<'a> Session<'a> {
    /// Nothing runs yet.
    pub fn new(daemon: &'a mut Daemon, nginx: &'a Nginx, size: usize) -> Self {
        // Its level while tests run would be measured too.
        daemon.set("log.level", "warn");
        Session { daemon, nginx, size, begun: Instant::now(), figures: Vec::new(), rounds: 0, spent: 0.0 }
    }

    /// Starts nginx and the daemon for the first time, and waits until everything is served.
    pub async fn start(&mut self) {
        let size = self.size;
        let first = async {
            self.start_cold().await;
            self.all_are_served().await;
            self.rest().await;
            self.figures.push(Figure::new("cold start: generations", "", self.metric(GENERATION).await));
            self.memory("at start");
        };
        stage(size, "first start", START, first).await;
    }

    /// Starts nginx and the daemon over empty folders, and returns the time until the last
    /// application is served.
    async fn start_cold(&mut self) -> Duration {
        self.nginx.start();
        self.begun = Instant::now();
        self.daemon.start();
        let last = Application::new(self.size - 1);
        let served = served(self.begun, &Change::RouteAdd.request(&last), |reply| is_right(&last, reply)).await;
        self.daemon.ready().await;
        served
    }

    /// Restarts, then cold starts, one after the other.
    pub async fn starts(&mut self) {
        let size = self.size;
        stage(size, "restarts", START, self.restarts(STARTS)).await;
        stage(size, "cold starts", START * 2, self.cold_starts(STARTS)).await;
    }

    /// Nothing is left of the start before but the objects.
    async fn cold_starts(&mut self, samples: u32) {
        let (mut times, mut own, mut children) = (Vec::new(), Duration::ZERO, Duration::ZERO);
        for _ in 0..samples {
            self.daemon.stop().await;
            self.nginx.stop().await;
            for folder in [self.daemon.root(), self.daemon.state()] {
                fs::remove_dir_all(folder).unwrap();
            }
            times.push(self.start_cold().await);
            let used = processor_time(self.daemon.pid());
            own += used.own;
            children += used.children;
        }
        self.figures.extend(percentiles("cold start to served", times));
        self.figures.push(Figure::time("cold start to ready: processor time of the daemon, mean", own / samples));
        self.figures.push(Figure::time("cold start to ready: processor time of nginx -t, mean", children / samples));
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

    /// Waits until the last change is confirmed, no old worker drains, and the next change may go
    /// at once.
    pub async fn rest(&mut self) {
        let nginx = self.nginx;
        nginx.settled_workers().await;
        self.daemon.ready().await;
        let spent = self.metric(RELOAD_TIME).await + self.metric(TEST_TIME).await;
        let last = Duration::from_secs_f64((spent - std::mem::replace(&mut self.spent, spent)).max(0.0));
        // The daemon looks at nginx as often, and only then knows that nothing drains. Reloads
        // take a fifth of the time at most.
        tokio::time::sleep((SPACING + SPACING / 5).max(last * 6)).await;
    }

    /// Makes another change when the daemon is idle, and returns the result of `make`.
    pub async fn sample(&mut self, change: Change, make: impl AsyncFnOnce(&Application) -> Duration) -> Duration {
        let application = self.next(change);
        let generation = self.metric(GENERATION).await;
        let time = make(&application).await;
        wait::until("the confirmation", async || (self.metric(GENERATION).await > generation).then_some(())).await;
        self.rest().await;
        time
    }

    /// The application that changes next, as it is afterwards.
    pub fn next(&mut self, change: Change) -> Application {
        let application = change.of_round(self.rounds, self.size);
        self.rounds += 1;
        application
    }

    /// Makes so many changes one after the other. `make` makes one and returns the time until it
    /// was served.
    pub async fn changes(&mut self, change: Change, samples: usize, make: impl AsyncFnMut(&Application) -> Duration) {
        let limit = SAMPLE * u32::try_from(samples).unwrap() + wait::LIMIT;
        stage(self.size, change.name(), limit, self.change_each(change, samples, make)).await;
    }

    async fn change_each(
        &mut self,
        change: Change,
        samples: usize,
        mut make: impl AsyncFnMut(&Application) -> Duration,
    ) {
        let pid = self.daemon.pid();
        let (mut times, mut own, mut children) = (Vec::new(), Duration::ZERO, Duration::ZERO);
        let before = [self.metric(RELOADS).await, self.metric(TEST_TIME).await, self.metric(RELOAD_TIME).await];
        for _ in 0..samples {
            let used = processor_time(pid);
            times.push(self.sample(change, &mut make).await);
            let now = processor_time(pid);
            own += now.own - used.own;
            children += now.children - used.children;
        }
        let after = [self.metric(RELOADS).await, self.metric(TEST_TIME).await, self.metric(RELOAD_TIME).await];
        let count = u32::try_from(samples).unwrap();
        let name = change.name();
        self.figures.extend(percentiles(name, times));
        let mean = |index: usize| Duration::from_secs_f64((after[index] - before[index]) / f64::from(count));
        self.figures.push(Figure::time(format!("{name}: test, mean"), mean(1)));
        self.figures.push(Figure::time(format!("{name}: HUP to confirmation, mean"), mean(2)));
        self.figures.push(Figure::time(format!("{name}: processor time of the daemon"), own / count));
        self.figures.push(Figure::time(format!("{name}: processor time of nginx -t"), children / count));
        self.figures.push(Figure::new(format!("{name}: reloads"), "", after[0] - before[0]));
        self.figures.push(Figure::new(format!("{name}: changes"), "", f64::from(count)));
    }

    /// Nothing changes at all.
    pub async fn idle(&mut self) {
        let before = processor_time(self.daemon.pid());
        tokio::time::sleep(5 * SPACING).await;
        let used = processor_time(self.daemon.pid()).own - before.own;
        self.figures.push(Figure::time("idle: processor time of the daemon, per second", used / 5));
    }

    /// The daemon is stopped and started over what it left: nginx is not touched.
    async fn restarts(&mut self, samples: u32) {
        let mut times = Vec::new();
        for sample in 0..samples {
            let before = self.metric(GENERATION).await;
            self.daemon.stop().await;
            let begun = Instant::now();
            self.daemon.start();
            self.daemon.ready().await;
            times.push(begun.elapsed());
            if sample == 0 {
                let generations = self.metric(GENERATION).await - before;
                self.figures.push(Figure::new("restart: generations", "", generations));
                self.rest().await;
                self.memory("after a restart");
            }
        }
        self.figures.extend(percentiles("restart to ready", times));
    }

    /// What the daemon holds.
    pub fn memory(&mut self, when: &str) {
        let pid = self.daemon.pid();
        self.figures.push(Figure::new(format!("resident memory, {when}"), "MiB", memory(pid, "VmRSS")));
        self.figures.push(Figure::new(
            format!("resident memory, most until then, {when}"),
            "MiB",
            memory(pid, "VmHWM"),
        ));
    }

    /// A number in the daemon's metrics.
    pub async fn metric(&self, series: &str) -> f64 {
        self.daemon.metric(series).await
    }
}
