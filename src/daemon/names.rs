//! Keeps the answers of DNS about names of Services current, apart from the loop; it must not know what they are used for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::dns::{Dns, Looked};
use super::state_file;
use crate::model::HostName;
use crate::translate::{Answer, Names};

/// Longest time until a name is asked for again, whatever its answer allows.
const LONGEST: Duration = Duration::from_secs(300);

/// How many names are asked for at once.
const MOST_QUESTIONS: usize = 16;

/// The names and the task that asks for them; dropped, it stops.
#[derive(Debug)]
pub struct NameWatch {
    wanted: watch::Sender<BTreeSet<HostName>>,
    answers: watch::Receiver<Arc<Names>>,
    task: JoinHandle<()>,
}

/// What the task knows.
struct Keeper {
    dns: Dns,
    /// Least time between two questions for a name.
    least: Duration,
    file: PathBuf,
    known: BTreeMap<HostName, Answer>,
    /// When each name is asked for next; names that are being asked for are not here.
    due: BTreeMap<HostName, Instant>,
    /// Names that are being asked for.
    asking: BTreeSet<HostName>,
    questions: JoinSet<(HostName, Looked)>,
}

impl NameWatch {
    /// Begins with the answers that an earlier run left in the state folder: what nginx serves must not depend on whether
    /// DNS answers while the daemon starts.
    pub fn start(dns: Dns, least: Duration, state: &Path) -> Self {
        let file = state.join("names.json");
        // Without servers nobody could ever tell that an answer is out of date.
        let known = if dns.is_set() { read(&file) } else { BTreeMap::new() };
        let (publish, answers) = watch::channel(Arc::new(Names(known.clone())));
        let (wanted, wishes) = watch::channel(BTreeSet::new());
        let keeper = Keeper {
            dns,
            least,
            file,
            known,
            due: BTreeMap::new(),
            asking: BTreeSet::new(),
            questions: JoinSet::new(),
        };
        NameWatch { wanted, answers, task: tokio::spawn(keeper.run(wishes, publish)) }
    }

    /// From now on these names are asked for, and no others.
    pub fn want(&self, names: BTreeSet<HostName>) {
        self.wanted.send_if_modified(|wanted| {
            let differs = *wanted != names;
            *wanted = names;
            differs
        });
    }

    /// The answers so far.
    pub fn answers(&self) -> Arc<Names> {
        Arc::clone(&self.answers.borrow())
    }

    /// Whether there is a name about which nothing is known yet, not even that nobody answers.
    pub fn is_waiting(&self) -> bool {
        let answers = self.answers.borrow();
        self.wanted.borrow().iter().any(|name| !answers.0.contains_key(name))
    }

    /// Waits until answers differ.
    pub async fn changed(&mut self) {
        if self.answers.changed().await.is_err() {
            match (&mut self.task).await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                // The task ended with the process.
                _ => std::future::pending::<()>().await,
            }
        }
    }
}

impl Drop for NameWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Keeper {
    async fn run(mut self, mut wishes: watch::Receiver<BTreeSet<HostName>>, publish: watch::Sender<Arc<Names>>) {
        loop {
            let next = self.ask(Instant::now());
            tokio::select! {
                changed = wishes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let wanted = wishes.borrow_and_update().clone();
                    self.want(&wanted, Instant::now());
                }
                Some(answered) = self.questions.join_next() => match answered {
                    Ok((name, looked)) => {
                        self.asking.remove(&name);
                        let wanted = wishes.borrow().contains(&name);
                        if wanted && self.learn(name, looked, Instant::now()) {
                            publish.send_replace(Arc::new(Names(self.known.clone())));
                            self.save().await;
                        }
                    }
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => return,
                },
                () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now).into()), if next.is_some() => {}
            }
        }
    }

    /// Begins questions that are due. Gives the moment of the next; none while it depends on those that run.
    fn ask(&mut self, now: Instant) -> Option<Instant> {
        while self.questions.len() < MOST_QUESTIONS {
            let (name, moment) = self.due.iter().min_by_key(|(_, moment)| **moment)?;
            if *moment > now {
                return Some(*moment);
            }
            let (name, dns) = (name.clone(), self.dns.clone());
            self.due.remove(&name);
            self.asking.insert(name.clone());
            self.questions.spawn(async move {
                let looked = dns.ask(&name).await;
                (name, looked)
            });
        }
        None
    }

    fn want(&mut self, wanted: &BTreeSet<HostName>, now: Instant) {
        self.known.retain(|name, _| wanted.contains(name));
        self.due.retain(|name, _| wanted.contains(name));
        for name in wanted.iter().filter(|name| !self.asking.contains(*name)) {
            self.due.entry(name.clone()).or_insert(now);
        }
    }

    /// Whether the answer differs from the last one.
    fn learn(&mut self, name: HostName, looked: Looked, now: Instant) -> bool {
        let before = self.known.get(&name);
        let (answer, lasts) = judged(before, looked, self.least);
        self.due.insert(name.clone(), now + lasts);
        let differs = before != Some(&answer);
        if differs && let Some(why) = &answer.failure {
            tracing::debug!("{name} is not resolved: {why}");
        }
        self.known.insert(name, answer);
        differs
    }

    async fn save(&self) {
        let file = self.file.clone();
        let addresses = self.known.iter().filter(|(_, answer)| !answer.addresses.is_empty());
        let addresses: BTreeMap<_, _> =
            addresses.map(|(name, answer)| (name.as_str().to_owned(), answer.addresses.clone())).collect();
        let saving = tokio::task::spawn_blocking(move || {
            if let Err(why) = state_file::write(&file, &addresses) {
                tracing::warn!(path = %file.display(), "answers of DNS cannot be kept for the next start: {why}");
            }
        });
        // It ends by itself, with the process at the latest.
        let _ = saving.await;
    }
}

/// What an answer means after the one before, and when to ask again. Addresses stay while nobody knows better.
fn judged(before: Option<&Answer>, looked: Looked, least: Duration) -> (Answer, Duration) {
    match looked {
        Looked::Addresses(addresses, lasts) => (Answer { addresses, failure: None }, lasts.min(LONGEST).max(least)),
        Looked::Nothing(why) => (Answer { addresses: Vec::new(), failure: Some(why.into()) }, least),
        Looked::Failed(why) => {
            let addresses = before.map(|answer| answer.addresses.clone()).unwrap_or_default();
            (Answer { addresses, failure: Some(why.into()) }, least)
        }
    }
}

fn read(file: &Path) -> BTreeMap<HostName, Answer> {
    let read: BTreeMap<String, Vec<IpAddr>> = match state_file::read(file) {
        Ok(read) => read.unwrap_or_default(),
        Err(why) => {
            tracing::warn!(path = %file.display(), "the answers of DNS to the last run are ignored: {why}");
            BTreeMap::new()
        }
    };
    let known = read
        .into_iter()
        .filter_map(|(name, addresses)| Some((HostName::new(&name).ok()?, Answer { addresses, failure: None })));
    known.collect()
}

/// Asks for these names once.
pub async fn look_up(names: BTreeSet<HostName>, dns: &Dns) -> Names {
    let mut questions = JoinSet::new();
    for name in names {
        let dns = dns.clone();
        questions.spawn(async move {
            let looked = dns.ask(&name).await;
            (name, judged(None, looked, Duration::ZERO).0)
        });
    }
    Names(questions.join_all().await.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Duration = Duration::from_secs(5);

    fn answer(addresses: &[&str], failure: Option<&str>) -> Answer {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        Answer { addresses, failure: failure.map(Into::into) }
    }

    #[test]
    fn addresses_stay_while_nobody_knows_better() {
        let known = answer(&["192.0.2.1"], None);
        let found = |seconds| Looked::Addresses(vec!["192.0.2.2".parse().unwrap()], Duration::from_secs(seconds));
        let failed = || Looked::Failed("late".to_owned());
        let rows = [
            (None, found(60), answer(&["192.0.2.2"], None), 60),
            (Some(&known), found(0), answer(&["192.0.2.2"], None), 5),
            (Some(&known), found(86_400), answer(&["192.0.2.2"], None), 300),
            (Some(&known), failed(), answer(&["192.0.2.1"], Some("late")), 5),
            (None, failed(), answer(&[], Some("late")), 5),
            (Some(&known), Looked::Nothing("gone"), answer(&[], Some("gone")), 5),
        ];
        for (before, looked, expected, seconds) in rows {
            let shown = format!("{before:?} {looked:?}");
            assert_eq!(judged(before, looked, LEAST), (expected, Duration::from_secs(seconds)), "{shown}");
        }
    }

    fn keeper(state: &Path) -> Keeper {
        let file = state.join("names.json");
        Keeper {
            dns: Dns::of(&[]),
            least: LEAST,
            known: read(&file),
            file,
            due: BTreeMap::new(),
            asking: BTreeSet::new(),
            questions: JoinSet::new(),
        }
    }

    #[tokio::test]
    async fn answers_are_there_after_a_restart() {
        let state = tempfile::tempdir().unwrap();
        let name = HostName::new("a.example").unwrap();
        let mut first = keeper(state.path());
        let found = Looked::Addresses(vec!["192.0.2.2".parse().unwrap()], LEAST);
        assert!(first.learn(name.clone(), found.clone(), Instant::now()));
        assert!(!first.learn(name.clone(), found, Instant::now()), "the same answer is no change");
        first.save().await;
        assert_eq!(keeper(state.path()).known, [(name, answer(&["192.0.2.2"], None))].into());
        std::fs::write(state.path().join("names.json"), "{").unwrap();
        assert_eq!(keeper(state.path()).known, BTreeMap::new());
    }

    #[tokio::test]
    async fn each_name_is_asked_for_once_at_a_time_and_only_while_it_is_wanted() {
        let state = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let names: BTreeSet<_> = ["a.example", "b.example"].map(|name| HostName::new(name).unwrap()).into();
        let mut keeper = keeper(state.path());
        keeper.want(&names, now);
        assert_eq!(keeper.ask(now), None);
        assert_eq!(keeper.questions.len(), 2);
        keeper.want(&names, now);
        assert_eq!(keeper.ask(now), None);
        assert_eq!(keeper.questions.len(), 2, "both are being asked for");
        for name in &names {
            keeper.asking.remove(name);
            keeper.learn(name.clone(), Looked::Nothing("gone"), now);
        }
        assert_eq!(keeper.ask(now), Some(now + LEAST));
        keeper.want(&BTreeSet::new(), now);
        assert_eq!((keeper.ask(now), keeper.known.len()), (None, 0));
    }

    #[tokio::test]
    async fn without_a_server_every_name_is_known_to_be_unknown() {
        let state = tempfile::tempdir().unwrap();
        let mut watch = NameWatch::start(Dns::of(&[]), LEAST, state.path());
        let name = HostName::new("a.example").unwrap();
        watch.want([name.clone()].into());
        assert!(watch.is_waiting());
        watch.changed().await;
        let failure = watch.answers().0[&name].failure.clone().unwrap();
        assert!(!watch.is_waiting() && failure.contains("upstreams.resolvers"), "{failure}");
    }
}
