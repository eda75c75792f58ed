//! The daemon at a real API server, from start to many changes at once.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::churn::Churn;
use crate::common::applications::Application;
use crate::common::changes::Change;
use crate::common::process::processor_time;
use crate::common::report::Figure;
use crate::common::session::Session;
use crate::common::stage::stage;
use crate::common::times::{percentiles, served};
use crate::fleet::fleet;
use crate::objects::{create, published, write};
use crate::withdrawal::withdrawal;
use rig::cluster::objects::Objects;
use rig::cluster::{self, Cluster};
use rig::signals;

/// How long the control plane rests after everything was created.
const SETTLING: Duration = Duration::from_secs(3);

/// How many routes are added while the first statuses are written, when that takes long enough.
const BESIDE: usize = 5;

/// Written statuses, and how many of them there are at least each second.
pub const STATUS_WRITES: &str = "ingressd_status_writes_total{result=\"written\"}";
const STATUS_RATE: u64 = 10;

/// Limits of stages.
const CREATION: Duration = Duration::from_secs(900);
const STATUSES: Duration = Duration::from_secs(120);
const CHURN: Duration = Duration::from_secs(300);
const FLEET: Duration = Duration::from_secs(300);
const WITHDRAWAL: Duration = Duration::from_secs(600);

/// Measures with this many Ingresses, so many changes of each sort, and so long a time of many
/// changes. `None` when this process was asked to end meanwhile.
pub fn measure(size: usize, samples: usize, churn: Duration) -> Option<Vec<Figure>> {
    let (sender, receiver) = mpsc::channel();
    cluster::run_in_default(async move |cluster| {
        tokio::select! {
            figures = figures(cluster, size, samples, churn) => sender.send(figures).unwrap(),
            () = signals::asked_to_end() => {}
        }
    });
    receiver.recv().ok()
}

async fn figures(cluster: &mut Cluster, size: usize, samples: usize, churn: Duration) -> Vec<Figure> {
    let Cluster { daemon, nginx, objects, .. } = cluster;
    let creation = async {
        create(size, objects).await;
        tokio::time::sleep(SETTLING).await;
    };
    stage(size, "creation of the objects", CREATION, creation).await;
    let mut session = Session::new(daemon, nginx, size);
    session.start().await;
    let limit = STATUSES + Duration::from_secs(size as u64 / STATUS_RATE);
    stage(size, "first statuses", limit, first_statuses(&mut session, objects)).await;
    session.idle().await;
    stage(size, "a fleet", FLEET, fleet(&mut session, objects)).await;
    for change in Change::ALL {
        let mut statuses = Statuses::default();
        let make = async |application: &Application| make(change, application, objects, &mut statuses).await;
        session.changes(change, samples, make).await;
        session.figures.extend(statuses.figures("status"));
    }
    let work = async {
        let write = async |change, application: &Application| write(change, application, objects).await.at;
        Churn::new(&mut session, churn).run(&mut session, write).await;
        session.rest().await;
        session.memory("at the end");
    };
    stage(size, "churn", churn + CHURN, work).await;
    stage(size, "withdrawal", WITHDRAWAL, withdrawal(&mut session)).await;
    session.starts().await;
    session.figures
}

/// How long it took until addresses were published.
#[derive(Default)]
struct Statuses {
    after_answer: Vec<Duration>,
    after_served: Vec<Duration>,
}

impl Statuses {
    fn figures(self, name: &str) -> Vec<Figure> {
        if self.after_answer.is_empty() {
            return Vec::new();
        }
        let answer = percentiles(&format!("{name} after the API's answer"), self.after_answer);
        let served = percentiles(&format!("{name} after served"), self.after_served);
        answer.into_iter().chain(served).collect()
    }
}

/// Makes a change and waits until it is served, and a new route until its address is published
/// too.
async fn make(change: Change, application: &Application, objects: &Objects, statuses: &mut Statuses) -> Duration {
    let answer = write(change, application, objects).await;
    let request = change.request(application);
    let served = served(answer.at, &request, |reply| change.is_served(application, reply));
    if change != Change::RouteAdd {
        return served.await;
    }
    let (served, published) = tokio::join!(served, published(&answer, objects));
    let published = published - answer.at;
    statuses.after_answer.push(published);
    statuses.after_served.push(published.saturating_sub(served));
    served
}

/// Every Ingress gets its first address, at a steady pace; routes that are added meanwhile must
/// not wait for that.
async fn first_statuses(session: &mut Session<'_>, objects: &Objects) {
    let (begun, used) = (Instant::now(), processor_time(session.daemon.pid()).own);
    let (mut times, mut statuses) = (Vec::new(), Statuses::default());
    while times.len() < BESIDE && missing(session, times.len()).await {
        let make = async |application: &Application| make(Change::RouteAdd, application, objects, &mut statuses).await;
        times.push(session.sample(Change::RouteAdd, make).await);
    }
    while missing(session, times.len()).await {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (took, used) = (begun.elapsed(), processor_time(session.daemon.pid()).own - used);
    session.figures.push(Figure::time("start to the last of the first statuses", session.begun.elapsed()));
    let share = used.div_f64(took.as_secs_f64());
    session.figures.push(Figure::time("first statuses: processor time of the daemon, per second", share));
    if !times.is_empty() {
        session.figures.extend(percentiles("route add beside first statuses", times));
        session.figures.extend(statuses.figures("beside first statuses: status"));
    }
}

/// Whether some of the Ingresses, and of those that came since, have no address yet.
async fn missing(session: &Session<'_>, added: usize) -> bool {
    session.metric(STATUS_WRITES).await < Figure::count("", session.size + added).value
}
