//! What the administrator orders while the daemon runs, and how that is answered; it must not know how it was asked for.

use tokio::sync::{mpsc, oneshot};

use super::pipeline::Pipeline;
use super::reporter::describe;
use crate::apply::Outcome;

/// What the administrator wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Go back to this generation, or to the one before the current, and stay there.
    RollBack(Option<u64>),
    /// Apply again what the cluster says.
    Resume,
}

/// A wish, and whoever waits for the answer.
#[derive(Debug)]
pub struct Order {
    /// The wish.
    pub wish: Wish,
    reply: Reply,
}

/// Where the answer goes; nobody may wait for it any more.
pub type Reply = oneshot::Sender<Result<String, String>>;

/// Takes orders; clones give them to the same daemon.
#[derive(Debug, Clone)]
pub struct Orders(mpsc::Sender<Order>);

impl Orders {
    /// Where orders are given, and where they arrive.
    pub fn channel() -> (Self, mpsc::Receiver<Order>) {
        let (sender, receiver) = mpsc::channel(1);
        (Orders(sender), receiver)
    }

    /// Gives an order and waits until it is carried out, or cannot be.
    pub async fn give(&self, wish: Wish) -> Result<String, String> {
        let (reply, answer) = oneshot::channel();
        let ended = || "the daemon ended before it was done: see `ingressd status` when it runs again".to_owned();
        self.0.send(Order { wish, reply }).await.map_err(|_| ended())?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl Order {
    /// Takes it apart.
    pub fn into_parts(self) -> (Wish, Reply) {
        (self.wish, self.reply)
    }
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
    }
}
