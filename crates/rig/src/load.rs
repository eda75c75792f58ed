//! Steady traffic, with a count of failures as clients see them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::client::{Connection, Failure, Reply, Request};

/// Connections that are kept and used in turn.
const KEPT_CONNECTIONS: usize = 20;

/// The results of the requests.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Requests on kept connections.
    pub kept: u64,
    /// Requests on connections of their own.
    pub fresh: u64,
    /// Kept connections that nginx closed at the very moment of a request; the request was sent
    /// again on a new one.
    pub cuts: u64,
    /// The failures: no response, or a wrong one.
    pub failures: Vec<String>,
}

impl Report {
    fn add(&mut self, other: Report) {
        self.kept += other.kept;
        self.fresh += other.fresh;
        self.cuts += other.cuts;
        self.failures.extend(other.failures);
    }
}

/// Traffic in the making.
#[derive(Clone)]
pub struct Load {
    requests: Arc<[Request]>,
    right: Arc<dyn Fn(&Reply) -> bool + Send + Sync>,
    kept_rate: u32,
    fresh_rate: u32,
}

/// Traffic that runs until [`Running::stop`].
pub struct Running {
    ending: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Report>>,
}

impl Load {
    /// 200 requests a second on kept connections and 50 on new ones, taking the requests in turn;
    /// an answer is right when its status is 200.
    pub fn new(requests: &[Request]) -> Self {
        Load { requests: requests.into(), right: Arc::new(|reply| reply.status == 200), kept_rate: 200, fresh_rate: 50 }
    }

    /// Another idea of what is right.
    pub fn right(mut self, right: impl Fn(&Reply) -> bool + Send + Sync + 'static) -> Self {
        self.right = Arc::new(right);
        self
    }

    /// Other rates, in requests a second.
    pub fn rates(mut self, kept: u32, fresh: u32) -> Self {
        (self.kept_rate, self.fresh_rate) = (kept, fresh);
        self
    }

    /// Begins.
    pub fn start(self) -> Running {
        let ending = Arc::new(AtomicBool::new(false));
        let kept = (0..KEPT_CONNECTIONS).map(|number| {
            // Each connection has its share of the rate, and begins at another place of the list.
            let period = Duration::from_secs(1) * KEPT_CONNECTIONS as u32 / self.kept_rate;
            tokio::spawn(self.clone().keep_asking(number, period, Arc::clone(&ending)))
        });
        let mut tasks: Vec<_> = kept.collect();
        tasks.push(tokio::spawn(self.clone().keep_connecting(Arc::clone(&ending))));
        Running { ending, tasks }
    }

    async fn keep_asking(self, first: usize, period: Duration, ending: Arc<AtomicBool>) -> Report {
        let (mut report, mut ticks) = (Report::default(), interval(period));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut connection: Option<Connection> = None;
        for request in self.requests.iter().cycle().skip(first % self.requests.len()) {
            ticks.tick().await;
            if ending.load(Ordering::Relaxed) {
                break;
            }
            report.kept += 1;
            let mut answer = None;
            if let Some(open) = connection.as_mut().filter(|connection| connection.is_open()) {
                match open.send(request).await {
                    // The connection was closed before a byte of the answer: clients send the
                    // request again.
                    Err(Failure::Http(error)) if is_cut(&error) => report.cuts += 1,
                    other => answer = Some(other),
                }
            }
            let answer = match answer {
                Some(answer) => answer,
                None => self.reconnect(request, &mut connection).await,
            };
            self.judge(request, answer, &mut report);
        }
        report
    }

    async fn reconnect(&self, request: &Request, connection: &mut Option<Connection>) -> Result<Reply, Failure> {
        let open = connection.insert(request.connect_to_any().await?);
        open.send(request).await
    }

    async fn keep_connecting(self, ending: Arc<AtomicBool>) -> Report {
        let (mut report, mut ticks) = (Report::default(), interval(Duration::from_secs(1) / self.fresh_rate));
        let mut running = tokio::task::JoinSet::new();
        for request in self.requests.iter().cycle() {
            ticks.tick().await;
            if ending.load(Ordering::Relaxed) {
                break;
            }
            let (load, request) = (self.clone(), request.clone());
            running.spawn(async move {
                let mut report = Report { fresh: 1, ..Report::default() };
                let answer = request.clone().try_send().await;
                load.judge(&request, answer, &mut report);
                report
            });
            while let Some(finished) = running.try_join_next() {
                report.add(finished.unwrap());
            }
        }
        for finished in running.join_all().await {
            report.add(finished);
        }
        report
    }

    fn judge(&self, request: &Request, answer: Result<Reply, Failure>, report: &mut Report) {
        match answer {
            Ok(reply) if (self.right)(&reply) => {}
            Ok(reply) => report.failures.push(format!("{request:?}: {} {}", reply.status, reply.text())),
            Err(failure) => report.failures.push(format!("{request:?}: {failure}")),
        }
    }
}

/// Whether the other end closed the connection instead of answering: with an end when it had not
/// seen the request yet, with a reset when the request came after it had closed.
fn is_cut(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    let source = std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    let reset = source.is_some_and(|error| matches!(error.kind(), BrokenPipe | ConnectionReset));
    // After the head of an answer an error is one of its body.
    error.is_closed()
        || error.is_incomplete_message()
        || error.is_canceled()
        || (reset && error.to_string() == "connection error")
}

impl Running {
    /// Ends the traffic and tells what became of it.
    pub async fn stop(self) -> Report {
        self.ending.store(true, Ordering::Relaxed);
        let mut report = Report::default();
        for task in self.tasks {
            report.add(task.await.unwrap());
        }
        report
    }
}
