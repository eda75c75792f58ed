//! Ten changes a second under traffic, each timed until it is served.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::{MissedTickBehavior, interval};

use crate::common::applications::Application;
use crate::common::changes::Change;
use crate::common::process::processor_time;
use crate::common::report::Figure;
use crate::common::session::Session;
use crate::common::times::percentiles;
use rig::client::Request;
use rig::load::Load;
use rig::nginx::Nginx;

/// Time between two changes.
const BETWEEN_CHANGES: Duration = Duration::from_millis(100);

/// How often the change that waits for longest is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// All others are looked at, too, at each look of this number; otherwise only when one was served.
const LOOKS_UNTIL_ALL: usize = 10;

/// Last digits of the numbers of applications whose endpoints change here and nowhere else.
const MOVING: [usize; 7] = [1, 2, 4, 6, 7, 8, 9];
/// Hosts that clients ask for, some of which move.
const HOSTS: usize = 20;
const ASKED: [usize; 2] = [5, 6];

/// A change that the API has accepted and nginx does not serve yet.
#[derive(Clone)]
struct Waiting {
    change: Change,
    application: Application,
    begun: Instant,
}

/// The changes, and what became of them.
pub struct Churn {
    changes: Vec<(Change, Application)>,
    requests: Vec<Request>,
    /// The requests that wait, in the order in which the API answered.
    waiting: RefCell<Vec<Waiting>>,
    times: RefCell<Vec<(Change, Duration)>>,
    most_old_workers: Cell<usize>,
}

impl Churn {
    /// As many changes as fit into this time.
    pub fn new(session: &mut Session<'_>, time: Duration) -> Self {
        let count = (time.as_millis() / BETWEEN_CHANGES.as_millis()) as usize;
        let ten = |number: usize| number % (session.size / 10) * 10;
        let asked = |host: usize| Application::new(ten(host * 7) + ASKED[host % ASKED.len()]);
        Churn {
            requests: (0..HOSTS).map(|host| Change::Endpoint.request(&asked(host))).collect(),
            changes: (0..count).map(|number| change(session, number)).collect(),
            waiting: RefCell::default(),
            times: RefCell::default(),
            most_old_workers: Cell::new(0),
        }
    }

    /// Makes the changes, with `write`, which returns the time of the API server's answer.
    pub async fn run(&self, session: &mut Session<'_>, write: impl AsyncFn(Change, &Application) -> Instant) {
        let reloads = session.daemon.reloads().await;
        let used = processor_time(session.daemon.pid());
        let load = Load::new(&self.requests).right(|reply| reply.status == 200 && reply.try_echo().is_some()).start();
        let is_over = Cell::new(false);
        let make = async {
            self.make(write).await;
            is_over.set(true);
        };
        tokio::join!(make, self.look(session.nginx, &is_over));
        let traffic = load.stop().await;
        let now = processor_time(session.daemon.pid());
        let reloads = session.daemon.reloads().await - reloads;
        for failure in traffic.failures.iter().take(10) {
            eprintln!("a request failed: {failure}");
        }

        let times = self.times.take();
        let count = u32::try_from(times.len()).unwrap();
        let endpoints = times.iter().filter(|(change, _)| *change == Change::Endpoint).map(|(_, time)| *time).collect();
        let figures = &mut session.figures;
        figures.extend(percentiles("churn", times.into_iter().map(|(_, time)| time).collect()));
        figures.extend(percentiles("churn, endpoints", endpoints));
        figures.push(Figure::count("churn: changes", count as usize));
        figures.push(Figure::count("churn: reloads", reloads as usize));
        figures.push(Figure::count("churn: requests", (traffic.kept + traffic.fresh) as usize));
        figures.push(Figure::count("churn: failed requests", traffic.failures.len()));
        figures.push(Figure::count("churn: most old workers", self.most_old_workers.get()));
        figures.push(Figure::time("churn: processor time of the daemon, per change", (now.own - used.own) / count));
        let children = now.children - used.children;
        figures.push(Figure::time("churn: processor time of nginx -t, per change", children / count));
    }

    /// Makes one change after the other, without waiting for the answers of the API.
    async fn make(&self, write: impl AsyncFn(Change, &Application) -> Instant) {
        let mut ticks = interval(BETWEEN_CHANGES);
        let mut writes = FuturesUnordered::new();
        for (change, application) in &self.changes {
            loop {
                tokio::select! {
                    _ = ticks.tick() => break,
                    Some(()) = writes.next() => {}
                }
            }
            let write = &write;
            writes.push(async move {
                let begun = write(*change, application).await;
                self.wait_for(*change, application, begun);
            });
        }
        while writes.next().await.is_some() {}
    }

    fn wait_for(&self, change: Change, application: &Application, begun: Instant) {
        let mut waiting = self.waiting.borrow_mut();
        // One that is overtaken by the next change of the same application is served with it.
        let earlier =
            |waiting: &&mut Waiting| (waiting.change, waiting.application.number) == (change, application.number);
        waiting.iter_mut().filter(earlier).for_each(|waiting| waiting.application = application.clone());
        waiting.push(Waiting { change, application: application.clone(), begun });
    }

    /// Looks until everything is served.
    async fn look(&self, nginx: &Nginx, is_over: &Cell<bool>) {
        let workers = nginx.workers().len();
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for look in 1.. {
            ticks.tick().await;
            let old = nginx.workers().len().saturating_sub(workers);
            self.most_old_workers.set(self.most_old_workers.get().max(old));
            // A generation contains everything that waits, so one change stands for the others.
            if self.take_served(0).await || look % LOOKS_UNTIL_ALL == 0 {
                let mut index = 0;
                while index < self.waiting.borrow().len() {
                    index += usize::from(!self.take_served(index).await);
                }
            }
            if is_over.get() && self.waiting.borrow().is_empty() {
                return;
            }
        }
    }

    /// Asks for one of those that wait; when it is served it waits no longer.
    async fn take_served(&self, index: usize) -> bool {
        let Some(waiting) = self.waiting.borrow().get(index).cloned() else { return false };
        let reply = waiting.change.request(&waiting.application).try_send().await;
        let is_served = reply.is_ok_and(|reply| waiting.change.is_served(&waiting.application, &reply));
        if is_served {
            self.waiting.borrow_mut().remove(index);
            self.times.borrow_mut().push((waiting.change, waiting.begun.elapsed()));
        }
        is_served
    }
}

/// Four of five move the pods of a Service.
fn change(session: &mut Session<'_>, number: usize) -> (Change, Application) {
    let change = match number % 20 {
        0 | 10 => Change::RouteAdd,
        5 => Change::PathEdit,
        15 => Change::Certificate,
        _ => {
            let ten = (number / MOVING.len() * 7) % (session.size / 10) * 10;
            let application = Application::new(ten + MOVING[number % MOVING.len()]);
            return (Change::Endpoint, Application { endpoint_revision: number + 1, ..application });
        }
    };
    (change, session.next(change))
}
