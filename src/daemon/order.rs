//! Orders of the administrator while the daemon runs, and their answers; it must not know how an
//! order arrives.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};

use super::pipeline::Pipeline;
use super::reporter::describe;
use crate::apply::Outcome;

/// What the administrator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Go back to this generation, or to the latest before the current that nginx was seen to run, and stay there.
    RollBack(Option<u64>),
    /// Apply again what the cluster says.
    Resume,
    /// Read the settings again.
    Reload,
}

/// An order and where its answer goes.
#[derive(Debug)]
pub struct Order {
    /// The wish.
    pub wish: Wish,
    reply: Reply,
}

/// Where the answer goes; the sender of the order may be gone.
type Reply = oneshot::Sender<Result<String, String>>;

/// The longest queue of orders: they must not use up the connections of those who only ask for the
/// status.
const MOST_ORDERS: usize = 8;

/// The sending end of the queue of orders; clones share the queue.
#[derive(Debug, Clone)]
pub struct Orders {
    sender: mpsc::Sender<Order>,
    room: Arc<Semaphore>,
}

impl Orders {
    /// Gives an order and waits until it is carried out, or cannot be.
    pub async fn give(&self, wish: Wish) -> Result<String, String> {
        let Ok(_place) = self.room.try_acquire() else {
            return Err(format!("{MOST_ORDERS} orders wait already: repeat it when they are done"));
        };
        let (reply, answer) = oneshot::channel();
        let ended = || "the daemon ended before it was done: see `ingressd status` when it runs again".to_owned();
        self.sender.send(Order { wish, reply }).await.map_err(|_| ended())?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// The receiving end of the queue of orders, and those that wait for an answer.
#[derive(Debug)]
pub struct Desk {
    orders: Orders,
    arriving: mpsc::Receiver<Order>,
    /// Those that wait for the work that is under way, or for the cycle after it.
    obeyed: Option<Reply>,
    resumed: Option<Reply>,
}

impl Desk {
    /// One at which nobody waits.
    pub fn open() -> Self {
        let (sender, arriving) = mpsc::channel(1);
        Desk {
            orders: Orders { sender, room: Arc::new(Semaphore::new(MOST_ORDERS)) },
            arriving,
            obeyed: None,
            resumed: None,
        }
    }

    /// For those who give orders.
    pub fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Waits for the next order; never `None`.
    pub async fn next(&mut self) -> Option<Order> {
        self.arriving.recv().await
    }

    /// The order to carry out now; none when its sender has stopped waiting.
    pub fn begin(&mut self, order: Order) -> Option<Wish> {
        let waits = !order.reply.is_closed();
        self.obeyed = waits.then_some(order.reply);
        waits.then_some(order.wish)
    }

    /// The order was carried out, or failed. The sender of `--resume` waits for the cycle that
    /// applies the cluster's state, if one follows.
    pub fn obeyed(&mut self, wish: Wish, result: Result<String, String>, follows: bool) {
        let Some(reply) = self.obeyed.take() else { return };
        match (wish, result) {
            (Wish::Resume, Ok(_)) if follows => {
                if let Some(earlier) = self.resumed.replace(reply) {
                    answer(earlier, Err("another order followed before it was done".into()));
                }
            }
            // Nothing waits for a cluster that may be away.
            (Wish::Resume, Ok(done)) => {
                answer(reply, Ok(format!("{done}; what is wanted now is applied as soon as it has been read")));
            }
            (_, result) => answer(reply, result),
        }
    }

    /// A cycle ended.
    pub fn concluded(&mut self, outcome: &Outcome) {
        if let Some(reply) = self.resumed.take() {
            let told = describe(outcome);
            answer(reply, if outcome.is_in_place() { Ok(told) } else { Err(told) });
        }
    }

    /// The settings are read again. Orders that have arrived are carried out under the new ones.
    pub fn settings_change(&mut self) {
        if let Some(reply) = self.resumed.take() {
            answer(
                reply,
                Ok("no generation is pinned; what is wanted now is applied under the settings that are read again"
                    .into()),
            );
        }
    }
}

/// The sender may be gone.
fn answer(reply: Reply, result: Result<String, String>) {
    drop(reply.send(result));
}

/// Carries it out; the answer is for people.
pub fn carry_out(wish: Wish, pipeline: &mut Pipeline) -> Result<String, String> {
    match wish {
        Wish::RollBack(generation) => match pipeline.roll_back_to(generation) {
            Outcome::Confirmed { generation, .. } | Outcome::Unchanged { generation } => Ok(format!(
                "nginx runs generation {generation}, and stays there until `ingressd rollback --resume`: changes are not \
                 applied, and endpoints may be stale"
            )),
            Outcome::Ready { generation, why } => {
                Ok(format!("generation {generation} is pinned and ready for nginx, which does not run: {why}"))
            }
            outcome => Err(describe(&outcome)),
        },
        Wish::Resume => match pipeline.resume() {
            Ok(Some(generation)) => Ok(format!("generation {generation} is no longer pinned")),
            Ok(None) => Err("no generation is pinned".to_owned()),
            Err(error) => Err(error.to_string()),
        },
        Wish::Reload => Err("settings are read again by a daemon that runs, and at its start".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives an order that has arrived when this returns.
    async fn given(desk: &mut Desk, wish: Wish) -> (tokio::task::JoinHandle<Result<String, String>>, Order) {
        let orders = desk.orders();
        let waiting = tokio::spawn(async move { orders.give(wish).await });
        (waiting, desk.next().await.unwrap())
    }

    #[tokio::test]
    async fn whoever_gives_an_order_is_told_what_became_of_it() {
        let mut desk = Desk::open();
        let (waiting, order) = given(&mut desk, Wish::RollBack(Some(3))).await;
        assert_eq!(desk.begin(order), Some(Wish::RollBack(Some(3))));
        desk.obeyed(Wish::RollBack(Some(3)), Ok("done".into()), true);
        assert_eq!(waiting.await.unwrap(), Ok("done".into()));

        let (waiting, order) = given(&mut desk, Wish::Resume).await;
        desk.begin(order);
        desk.obeyed(Wish::Resume, Ok("unpinned".into()), true);
        desk.concluded(&Outcome::Unchanged { generation: 4 });
        assert!(waiting.await.unwrap().unwrap().contains('4'));

        for (follows, words) in [(false, "unpinned; "), (true, "settings")] {
            let (waiting, order) = given(&mut desk, Wish::Resume).await;
            desk.begin(order);
            desk.obeyed(Wish::Resume, Ok("unpinned".into()), follows);
            desk.settings_change();
            assert!(waiting.await.unwrap().unwrap().contains(words), "{words}");
        }

        let (first, order) = given(&mut desk, Wish::Resume).await;
        desk.begin(order);
        desk.obeyed(Wish::Resume, Ok("unpinned".into()), true);
        let (second, order) = given(&mut desk, Wish::Resume).await;
        desk.begin(order);
        desk.obeyed(Wish::Resume, Ok("unpinned".into()), true);
        assert!(first.await.unwrap().unwrap_err().contains("another order"));
        second.abort();

        // Orders beyond the length of the queue are refused at once, and an order whose sender is
        // gone gives up its place.
        let orders = desk.orders();
        let waiting: Vec<_> = (0..MOST_ORDERS).map(|_| Box::pin(orders.give(Wish::Resume))).collect();
        let mut waiting = futures_util::future::join_all(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert!(orders.give(Wish::Resume).await.unwrap_err().contains("wait already"));
        drop((waiting, desk.next().await));

        let (gone, order) = given(&mut desk, Wish::RollBack(None)).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(desk.begin(order), None, "nobody waits for it");

        let (waiting, order) = given(&mut desk, Wish::Resume).await;
        drop((desk, order));
        assert!(waiting.await.unwrap().unwrap_err().contains("the daemon ended"));
    }
}
