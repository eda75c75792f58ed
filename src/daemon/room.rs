//! A limit on concurrent connections, at which slow ones are ended for new ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::AbortHandle;

/// How long every connection is served at least.
const LEAST: Duration = Duration::from_millis(250);

/// The open connections, and how many there may be.
#[derive(Debug)]
pub struct Room {
    most: usize,
    guests: Mutex<Guests>,
}

#[derive(Debug, Default)]
struct Guests {
    next: u64,
    /// The open connections, the oldest first.
    here: BTreeMap<u64, Guest>,
}

#[derive(Debug)]
struct Guest {
    came: Instant,
    /// The task that serves the connection, once it has begun.
    task: Option<AbortHandle>,
    /// Whether its response is being made, so that it waits for the daemon and not the daemon for
    /// it.
    is_answered: bool,
}

/// A place for a connection; it becomes free when this is dropped.
#[derive(Debug)]
pub struct Seat {
    room: Arc<Room>,
    number: u64,
}

impl Room {
    /// A room with so many places.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Room { most, guests: Mutex::default() })
    }

    /// Waits for a place for a new connection. When all are taken, the oldest connection for which
    /// the daemon waits is ended; when there is none, the oldest. But each connection is served
    /// for a minimum time, however many come.
    pub async fn seat(self: &Arc<Self>) -> Seat {
        while let Some(patience) = self.make_room() {
            tokio::time::sleep(patience).await;
        }
        let mut guests = self.guests();
        let number = guests.next;
        guests.next += 1;
        guests.here.insert(number, Guest { came: Instant::now(), task: None, is_answered: false });
        Seat { room: Arc::clone(self), number }
    }

    /// Ends a connection where that is necessary, or returns how long that has to wait.
    fn make_room(&self) -> Option<Duration> {
        let mut guests = self.guests();
        while guests.here.len() >= self.most {
            let waited_for = guests.here.iter().find(|(_, guest)| !guest.is_answered);
            let (number, guest) = waited_for.or_else(|| guests.here.iter().next())?;
            let (number, age) = (*number, guest.came.elapsed());
            if age < LEAST {
                return Some(LEAST - age);
            }
            if let Some(task) = guests.here.remove(&number).and_then(|guest| guest.task) {
                task.abort();
            }
        }
        None
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        // The lock is never held over code that panics.
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Guest)) {
        if let Some(guest) = self.guests().here.get_mut(&number) {
            change(guest);
        }
    }
}

impl Seat {
    /// Serves a connection in this place.
    pub fn serve(self, connection: impl Future<Output = ()> + Send + 'static) {
        let (room, number) = (Arc::clone(&self.room), self.number);
        let task = tokio::spawn(async move {
            connection.await;
            drop(self);
        });
        room.change(number, |guest| guest.task = Some(task.abort_handle()));
    }

    /// A handle that records when responses are made.
    pub fn attention(&self) -> Attention {
        Attention { room: Arc::clone(&self.room), number: self.number }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.room.guests().here.remove(&self.number);
    }
}

/// Records when the response of a connection is being made.
#[derive(Debug)]
pub struct Attention {
    room: Arc<Room>,
    number: u64,
}

impl Attention {
    /// Makes a response, and records that.
    pub async fn pay<T>(&self, answer: impl Future<Output = T>) -> T {
        self.room.change(self.number, |guest| guest.is_answered = true);
        let answer = answer.await;
        self.room.change(self.number, |guest| guest.is_answered = false);
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    /// A connection that never ends by itself, with a channel that reports its end.
    async fn slow(room: &Arc<Room>) -> (oneshot::Receiver<()>, Attention) {
        let (end, ended) = oneshot::channel();
        let seat = room.seat().await;
        let attention = seat.attention();
        seat.serve(async move {
            let _end: oneshot::Sender<()> = end;
            pending::<()>().await;
        });
        (ended, attention)
    }

    /// Whether such a connection was ended; the end of one that is still open would be waited for
    /// in vain.
    async fn ended(connection: oneshot::Receiver<()>) -> bool {
        tokio::time::timeout(Duration::from_secs(60), connection).await.is_ok_and(|end| end.is_err())
    }

    #[tokio::test]
    async fn the_oldest_that_keeps_us_waiting_gives_way() {
        let room = Room::new(3);
        let (first, attention) = slow(&room).await;
        let (second, _) = slow(&room).await;
        let (mut third, _) = slow(&room).await;
        let (answer, answered) = oneshot::channel::<()>();
        let making = tokio::spawn(async move { attention.pay(answered).await });
        tokio::task::yield_now().await;
        let (_fourth, _) = slow(&room).await;
        assert!(ended(second).await, "the first one's answer is being made");
        assert!(third.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        answer.send(()).unwrap();
        making.await.unwrap().unwrap();
        let (_fifth, _) = slow(&room).await;
        assert!(ended(first).await, "its answer is made");
        // A connection that ends leaves a free place, so no other has to be ended.
        drop(room.seat().await);
        assert!(ended(third).await);
        room.seat().await.serve(async {});
        tokio::task::yield_now().await;
        assert_eq!(room.guests().here.len(), 2);
    }
}
