//! The queue of the administrator's commands to the running daemon, and their results.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc, oneshot};

use super::options;
use super::pipeline::Pipeline;
use super::reporter::describe;
use ingressd_apply::Outcome;

/// A command of the administrator over the control socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlCommand {
    /// Roll back to this generation, or to the latest before the current one that nginx was seen
    /// to run, and pin it.
    RollBack(Option<u64>),
    /// End the pinning, and apply the cluster's state again.
    Resume,
    /// Reload the settings.
    Reload,
}

/// A command, with the channel for its result.
#[derive(Debug)]
pub struct QueuedCommand {
    command: ControlCommand,
    reply: Reply,
}

/// The channel for a result; the sender of the command may be gone.
type Reply = oneshot::Sender<Result<String, String>>;

/// The longest queue of commands: they must not use up the connections of clients that only ask
/// for the status.
const MOST_COMMANDS: usize = 8;

/// The sending end of the queue of commands; clones share the queue.
#[derive(Debug, Clone)]
pub struct CommandSender {
    sender: mpsc::Sender<QueuedCommand>,
    room: Arc<Semaphore>,
}

impl CommandSender {
    /// Sends a command and waits until it was executed or has failed.
    pub async fn send(&self, command: ControlCommand) -> Result<String, String> {
        let Ok(_place) = self.room.try_acquire() else {
            return Err(format!("{MOST_COMMANDS} commands wait already: repeat it when they are done"));
        };
        let (reply, answer) = oneshot::channel();
        let ended = || "the daemon ended before it was done: see `ingressd status` when it runs again".to_owned();
        self.sender.send(QueuedCommand { command, reply }).await.map_err(|_| ended())?;
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

/// The receiving end of the queue, and the senders that wait for a result.
#[derive(Debug)]
pub struct CommandQueue {
    sender: CommandSender,
    receiver: mpsc::Receiver<QueuedCommand>,
    /// The sender of the command in execution.
    executing: Option<Reply>,
    /// The sender that waits for the next cycle, and what was done so far.
    following: Option<(String, Reply)>,
}

impl CommandQueue {
    /// An empty queue.
    pub fn open() -> Self {
        let (sender, receiver) = mpsc::channel(1);
        CommandQueue {
            sender: CommandSender { sender, room: Arc::new(Semaphore::new(MOST_COMMANDS)) },
            receiver,
            executing: None,
            following: None,
        }
    }

    /// The sending end.
    pub fn sender(&self) -> CommandSender {
        self.sender.clone()
    }

    /// Waits for the next command; never `None`.
    pub async fn next(&mut self) -> Option<QueuedCommand> {
        self.receiver.recv().await
    }

    /// Returns the command to execute now; `None` when its sender has stopped waiting.
    pub fn begin(&mut self, queued: QueuedCommand) -> Option<ControlCommand> {
        let waits = !queued.reply.is_closed();
        self.executing = waits.then_some(queued.reply);
        waits.then_some(queued.command)
    }

    /// Records the result of a command. The sender of `resume` or `reload` waits for the cycle
    /// that applies the cluster's state, if one follows.
    pub fn executed(&mut self, command: ControlCommand, result: Result<String, String>, follows: bool) {
        let Some(reply) = self.executing.take() else { return };
        match (command, result) {
            (ControlCommand::Resume | ControlCommand::Reload, Ok(done)) => {
                if let Some((_, earlier)) = self.following.replace((done, reply)) {
                    answer(earlier, Err("another command followed before it was done".into()));
                }
                if !follows {
                    self.nothing_follows();
                }
            }
            (_, result) => answer(reply, result),
        }
    }

    /// Records that a cycle has ended.
    pub fn concluded(&mut self, outcome: &Outcome) {
        if let Some((done, reply)) = self.following.take() {
            let reported = format!("{done}; {}", describe(outcome));
            // A pinned node takes nothing yet, as it was told.
            let outcome = if let Outcome::Pinned { outcome, .. } = outcome { outcome } else { outcome };
            answer(reply, if outcome.is_in_place() { Ok(reported) } else { Err(reported) });
        }
    }

    /// Records that no cycle follows soon, because the cluster may be unreachable: the sender need
    /// not wait.
    pub fn nothing_follows(&mut self) {
        if let Some((done, reply)) = self.following.take() {
            answer(reply, Ok(format!("{done}; what is wanted now is applied as soon as it has been read")));
        }
    }

    /// Prepares for new settings. Commands that have arrived are executed under them.
    pub fn settings_change(&mut self) {
        if let Some((done, reply)) = self.following.take() {
            let reported = format!("{done}; what is wanted now is applied under the settings that are read again");
            answer(reply, Ok(reported));
        }
    }
}

/// A missing receiver is no error: the sender of the command may be gone.
fn answer(reply: Reply, result: Result<String, String>) {
    drop(reply.send(result));
}

/// Why the pin cannot be taken back.
pub const NOT_PINNED: &str = "no generation is pinned";

/// Executes a command. The result is a text for people.
pub fn execute(command: ControlCommand, pipeline: &mut Pipeline) -> Result<String, String> {
    match command {
        ControlCommand::RollBack(generation) => match pipeline.applier.roll_back_to(generation, options::now()) {
            Outcome::Confirmed { generation, .. } | Outcome::Unchanged { generation } => Ok(format!(
                "nginx runs generation {generation}, and stays there until `ingressd resume`: changes are not \
                 applied, and endpoints may be stale"
            )),
            Outcome::Ready { generation, why } => {
                Ok(format!("generation {generation} is pinned and ready for nginx, which does not run: {why}"))
            }
            outcome => Err(describe(&outcome)),
        },
        ControlCommand::Resume => match pipeline.applier.resume() {
            Ok(Some(generation)) => Ok(format!("generation {generation} is no longer pinned")),
            Ok(None) => Err(NOT_PINNED.to_owned()),
            Err(error) => Err(error.to_string()),
        },
        ControlCommand::Reload => {
            Err("no daemon runs; it reads the settings when it starts: systemctl start ingressd".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends a command and returns when it is in the queue.
    async fn sent(
        queue: &mut CommandQueue,
        command: ControlCommand,
    ) -> (tokio::task::JoinHandle<Result<String, String>>, QueuedCommand) {
        let sender = queue.sender();
        let waiting = tokio::spawn(async move { sender.send(command).await });
        (waiting, queue.next().await.unwrap())
    }

    #[tokio::test]
    async fn senders_of_commands_learn_what_became_of_them() {
        let mut queue = CommandQueue::open();
        let (waiting, queued) = sent(&mut queue, ControlCommand::RollBack(Some(3))).await;
        assert_eq!(queue.begin(queued), Some(ControlCommand::RollBack(Some(3))));
        queue.executed(ControlCommand::RollBack(Some(3)), Ok("done".into()), true);
        assert_eq!(waiting.await.unwrap(), Ok("done".into()));

        let (waiting, queued) = sent(&mut queue, ControlCommand::Resume).await;
        queue.begin(queued);
        queue.executed(ControlCommand::Resume, Ok("unpinned".into()), true);
        queue.concluded(&Outcome::Unchanged { generation: 4 });
        assert!(waiting.await.unwrap().unwrap().contains('4'));

        for (follows, words) in [(false, "unpinned; "), (true, "settings")] {
            let (waiting, queued) = sent(&mut queue, ControlCommand::Resume).await;
            queue.begin(queued);
            queue.executed(ControlCommand::Resume, Ok("unpinned".into()), follows);
            queue.settings_change();
            assert!(waiting.await.unwrap().unwrap().contains(words), "{words}");
        }

        // What nginx does not take under new settings is no success of the reload.
        for (outcome, words) in [
            (Some(Outcome::Unchanged { generation: 4 }), Ok("in force; nginx runs generation 4")),
            (Some(Outcome::Failed { why: "port 80 is taken".into() }), Err("in force; port 80 is taken")),
            (None, Ok("in force; what is wanted now is applied as soon as it has been read")),
        ] {
            let (waiting, queued) = sent(&mut queue, ControlCommand::Reload).await;
            queue.begin(queued);
            queue.executed(ControlCommand::Reload, Ok("in force".into()), true);
            match outcome {
                Some(outcome) => queue.concluded(&outcome),
                None => queue.nothing_follows(),
            }
            assert_eq!(waiting.await.unwrap(), words.map(str::to_owned).map_err(str::to_owned));
        }

        let (first, queued) = sent(&mut queue, ControlCommand::Resume).await;
        queue.begin(queued);
        queue.executed(ControlCommand::Resume, Ok("unpinned".into()), true);
        let (second, queued) = sent(&mut queue, ControlCommand::Resume).await;
        queue.begin(queued);
        queue.executed(ControlCommand::Resume, Ok("unpinned".into()), true);
        assert!(first.await.unwrap().unwrap_err().contains("another command"));
        second.abort();

        // Commands beyond the length of the queue are refused at once, and a command whose sender
        // is gone leaves its place in the queue.
        let sender = queue.sender();
        let waiting: Vec<_> = (0..MOST_COMMANDS).map(|_| Box::pin(sender.send(ControlCommand::Resume))).collect();
        let mut waiting = futures_util::future::join_all(waiting);
        assert!(futures_util::poll!(&mut waiting).is_pending());
        assert!(sender.send(ControlCommand::Resume).await.unwrap_err().contains("wait already"));
        drop((waiting, queue.next().await));

        let (gone, queued) = sent(&mut queue, ControlCommand::RollBack(None)).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        assert_eq!(queue.begin(queued), None, "nobody waits for it");

        let (waiting, queued) = sent(&mut queue, ControlCommand::Resume).await;
        drop((queue, queued));
        assert!(waiting.await.unwrap().unwrap_err().contains("the daemon ended"));
    }
}
