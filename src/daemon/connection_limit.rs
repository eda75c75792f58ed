//! A limit on concurrent connections, at which slow ones are ended for new ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

/// How long every connection is served at least.
const LEAST: Duration = Duration::from_millis(250);

/// The open connections, and how many there may be.
#[derive(Debug)]
pub struct ConnectionLimit {
    most: usize,
    connections: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    /// The open connections, the oldest first.
    open: BTreeMap<u64, OpenConnection>,
}

#[derive(Debug)]
struct OpenConnection {
    accepted: Instant,
    /// The task that serves the connection, once it has begun.
    task: Option<AbortHandle>,
    /// Whether its response is being made, so that it waits for the daemon and not the daemon for
    /// it.
    is_answered: bool,
}

/// A place for a connection; it becomes free when this is dropped.
#[derive(Debug)]
pub struct Permit {
    limit: Arc<ConnectionLimit>,
    number: u64,
}

impl ConnectionLimit {
    /// A limit of so many connections.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(ConnectionLimit { most, connections: Mutex::default() })
    }

    /// Waits for a place for a new connection. When all are taken, the oldest connection for which
    /// the daemon waits is ended; when there is none, the oldest. But each connection is served
    /// for a minimum time, however many come.
    pub async fn permit(self: &Arc<Self>) -> Permit {
        while let Some(patience) = self.make_way() {
            tokio::time::sleep(patience).await;
        }
        let mut connections = self.connections();
        let number = connections.next;
        connections.next += 1;
        connections.open.insert(number, OpenConnection { accepted: Instant::now(), task: None, is_answered: false });
        Permit { limit: Arc::clone(self), number }
    }

    /// Ends a connection where that is necessary, or returns how long that has to wait.
    fn make_way(&self) -> Option<Duration> {
        let mut connections = self.connections();
        while connections.open.len() >= self.most {
            let waited_for = connections.open.iter().find(|(_, connection)| !connection.is_answered);
            let (number, connection) = waited_for.or_else(|| connections.open.iter().next())?;
            let (number, age) = (*number, connection.accepted.elapsed());
            if age < LEAST {
                return Some(LEAST - age);
            }
            if let Some(task) = connections.open.remove(&number).and_then(|served| served.task) {
                task.abort();
            }
        }
        None
    }

    fn connections(&self) -> MutexGuard<'_, OpenConnections> {
        // The lock is never held over code that panics.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut OpenConnection)) {
        if let Some(connection) = self.connections().open.get_mut(&number) {
            change(connection);
        }
    }
}

impl Permit {
    /// Serves a connection in this place.
    pub fn serve(self, connection: impl Future<Output = ()> + Send + 'static) {
        let (limit, number) = (Arc::clone(&self.limit), self.number);
        let task = tokio::spawn(async move {
            connection.await;
            drop(self);
        });
        limit.change(number, |served| served.task = Some(task.abort_handle()));
    }

    /// A handle that records when responses are made.
    pub fn answering(&self) -> Answering {
        Answering { limit: Arc::clone(&self.limit), number: self.number }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.limit.connections().open.remove(&self.number);
    }
}

/// Records when the response of a connection is being made.
#[derive(Debug)]
pub struct Answering {
    limit: Arc<ConnectionLimit>,
    number: u64,
}

impl Answering {
    /// Makes a response, and records that.
    pub async fn respond<T>(&self, answer: impl Future<Output = T>) -> T {
        self.limit.change(self.number, |served| served.is_answered = true);
        let answer = answer.await;
        self.limit.change(self.number, |served| served.is_answered = false);
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    /// A connection that never ends by itself, with a channel that reports its end.
    async fn slow(limit: &Arc<ConnectionLimit>) -> (oneshot::Receiver<()>, Answering) {
        let (end, ended) = oneshot::channel();
        let permit = limit.permit().await;
        let answering = permit.answering();
        permit.serve(async move {
            let _end: oneshot::Sender<()> = end;
            pending::<()>().await;
        });
        (ended, answering)
    }

    /// Whether such a connection was ended; the end of one that is still open would be waited for
    /// in vain.
    async fn ended(connection: oneshot::Receiver<()>) -> bool {
        tokio::time::timeout(Duration::from_secs(60), connection).await.is_ok_and(|end| end.is_err())
    }

    #[tokio::test]
    async fn the_oldest_that_keeps_us_waiting_gives_way() {
        let limit = ConnectionLimit::new(3);
        let (first, answering) = slow(&limit).await;
        let (second, _) = slow(&limit).await;
        let (mut third, _) = slow(&limit).await;
        let (answer, answered) = oneshot::channel::<()>();
        let making = tokio::spawn(async move { answering.respond(answered).await });
        tokio::task::yield_now().await;
        let (_fourth, _) = slow(&limit).await;
        assert!(ended(second).await, "the first one's answer is being made");
        assert!(third.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        answer.send(()).unwrap();
        making.await.unwrap().unwrap();
        let (_fifth, _) = slow(&limit).await;
        assert!(ended(first).await, "its answer is made");
        // A connection that ends leaves a free place, so no other has to be ended.
        drop(limit.permit().await);
        assert!(ended(third).await);
        limit.permit().await.serve(async {});
        tokio::task::yield_now().await;
        assert_eq!(limit.connections().open.len(), 2);
    }
}
