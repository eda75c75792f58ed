//! Keeps the DNS answers for names of Services up to date, beside the main loop.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use self::answer_pacing::AnswerPacing;
use self::schedule::Schedule;
use self::wanted::WantedNames;
use super::dns::{Dns, Half, LookupResult};
use super::state_file;
use ingressd_model::HostName;
use ingressd_model::finding::count;
use ingressd_objects::Family;
use ingressd_translate::{ChosenNames, Limits, NameAnswer, Names, Namespaces, Wanted};

mod answer_pacing;
mod schedule;
mod wanted;

/// The least time between two writes of the known answers, which may be large.
const SAVING: Duration = Duration::from_secs(1);

/// The names and the task that queries them; it stops when this is dropped.
#[derive(Debug)]
pub struct NameWatch {
    state: WantedNames,
    wanted: watch::Sender<Wanted>,
    answers: watch::Receiver<Arc<Names>>,
    task: JoinHandle<()>,
}

/// The answers that are kept for the next start: addresses by name.
type StoredAnswers = BTreeMap<String, Vec<IpAddr>>;

/// The state of the task.
struct Keeper {
    dns: Dns,
    limits: Limits,
    file: PathBuf,
    known: BTreeMap<HostName, NameAnswer>,
    /// Names that are not queried, because there are too many.
    refused: BTreeSet<HostName>,
    schedule: Schedule,
    pacing: AnswerPacing,
    questions: JoinSet<(HostName, LookupResult)>,
    /// The answers that were reported last.
    reported: Arc<Names>,
    kept: StoredAnswers,
    /// When to write the reported answers, unless they are written already; and when they were
    /// last written.
    keeping: Option<Instant>,
    kept_at: Option<Instant>,
}

impl NameWatch {
    /// Begins with the answers that an earlier run left in the state folder: what nginx serves
    /// must not depend on whether DNS answers while the daemon starts. `least` is the least time
    /// between two queries for a name.
    ///
    /// # Errors
    ///
    /// When there may be answers that cannot be read now.
    pub fn start(dns: Dns, least: Duration, limits: &Limits, state: &Path) -> io::Result<Self> {
        let keeper = Keeper::new(dns, least, limits.clone(), state)?;
        let (publish, answers) = watch::channel(Arc::clone(&keeper.reported));
        let (wanted, changes) = watch::channel(Wanted::default());
        let task = tokio::spawn(keeper.run(changes, publish));
        Ok(NameWatch { state: WantedNames::default(), wanted, answers, task })
    }

    /// Sets the names that a newer snapshot contains.
    pub fn read(&mut self, candidates: Wanted) {
        let wanted = self.state.read(candidates);
        self.want(wanted);
    }

    /// Whether the snapshot should be translated before a cycle begins, because something that is
    /// served may refer to a name without any answer.
    pub fn has_unjudged(&self) -> bool {
        self.state.has_unjudged(&self.answers.borrow())
    }

    /// Records that the newest snapshot is being translated.
    pub fn judge(&mut self) {
        self.state.begin();
    }

    /// Sets the names to which served objects refer, after that translation.
    pub fn judged(&mut self, served: BTreeMap<HostName, Namespaces>) {
        let wanted = self.state.judged(served);
        self.want(wanted);
    }

    fn want(&self, names: Wanted) {
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

    /// Whether there is a name without any result, not even a failure.
    pub fn is_waiting(&self) -> bool {
        let answers = self.answers.borrow();
        self.wanted.borrow().referred.keys().any(|name| !answers.0.contains_key(name))
    }

    /// Waits until answers change.
    pub async fn changed(&mut self) {
        if self.answers.changed().await.is_err() {
            match (&mut self.task).await {
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                // The task has ended with the process.
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
    fn new(dns: Dns, least: Duration, limits: Limits, state: &Path) -> io::Result<Self> {
        let file = state.join("names.json");
        // Without servers an answer could never be updated.
        let known = if dns.is_set() { read(&file)? } else { BTreeMap::new() };
        let reported = Arc::new(Names(known.clone()));
        Ok(Keeper {
            dns,
            limits,
            file,
            known,
            refused: BTreeSet::new(),
            schedule: Schedule::new(least),
            pacing: AnswerPacing::new(least),
            questions: JoinSet::new(),
            kept: kept(&reported),
            reported,
            keeping: None,
            kept_at: None,
        })
    }

    async fn run(mut self, mut changes: watch::Receiver<Wanted>, publish: watch::Sender<Arc<Names>>) {
        loop {
            let now = Instant::now();
            self.ask(now);
            if self.pacing.due().is_some_and(|due| due <= now) {
                publish.send_replace(self.report(now));
            }
            if self.keeping.is_some_and(|due| due <= now) {
                self.keep(now).await;
            }
            let next = [self.schedule.next(now), self.pacing.due(), self.keeping].into_iter().flatten().min();
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let wanted = changes.borrow_and_update().clone();
                    if self.want(&wanted, Instant::now()) {
                        publish.send_replace(self.report(Instant::now()));
                    }
                }
                Some(answered) = self.questions.join_next() => match answered {
                    Ok((name, looked)) => self.learn(name, looked, Instant::now()),
                    Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                    Err(_) => return,
                },
                () = tokio::time::sleep_until(next.unwrap_or(now).into()), if next.is_some() => {}
            }
        }
    }

    /// Begins the queries that are due.
    fn ask(&mut self, now: Instant) {
        while let Some((name, patience)) = self.schedule.take(now) {
            let dns = self.dns.clone();
            self.questions.spawn(async move {
                let looked = dns.ask(&name, patience).await;
                (name, looked)
            });
        }
    }

    /// Sets the names that are wanted. Returns whether the refused names have changed.
    fn want(&mut self, wanted: &Wanted, now: Instant) -> bool {
        let is_known = |name: &HostName| self.known.get(name).is_some_and(|answer| !answer.addresses.is_empty());
        let ChosenNames { names, refused } = wanted.choose(self.limits.names_of_namespace, is_known);
        self.known.retain(|name, _| {
            let stays = names.contains_key(name);
            if !stays {
                self.pacing.drop(name);
            }
            stays
        });
        self.schedule.want(names, now);
        std::mem::replace(&mut self.refused, refused) != self.refused
    }

    fn learn(&mut self, name: HostName, looked: LookupResult, now: Instant) {
        let lasts = match &looked {
            LookupResult::Addresses(_, lasts) => Some(*lasts),
            LookupResult::Half(half) if !half.addresses.is_empty() => Some(half.lasts.min(schedule::LONGEST_FAILING)),
            LookupResult::Half(_) | LookupResult::Nothing(_) | LookupResult::Failed(_) => None,
        };
        if !self.schedule.answered(&name, lasts, now) {
            return;
        }
        let answer = judged(self.known.get(&name), looked, self.limits.addresses_of_name);
        let reported = self.reported.0.get(&name);
        match self.schedule.namespaces(&name) {
            Some(namespaces) if reported != Some(&answer) => {
                if let Some(why) = &answer.failure {
                    tracing::debug!("{name} is not resolved: {why}");
                }
                self.pacing.differs(&name, namespaces, reported.is_none(), now);
            }
            _ => self.pacing.drop(&name),
        }
        self.known.insert(name, answer);
    }

    /// All known answers; they are written as soon as the time for it has come.
    fn report(&mut self, now: Instant) -> Arc<Names> {
        self.pacing.reported(now);
        let refused = refused_answers(&self.refused, &self.limits);
        self.reported = Arc::new(Names(refused.chain(self.known.clone()).collect()));
        let earliest = self.kept_at.map_or(now, |kept_at| now.max(kept_at + SAVING));
        self.keeping.get_or_insert(earliest);
        Arc::clone(&self.reported)
    }

    /// Writes the reported answers, unless they are written already.
    async fn keep(&mut self, now: Instant) {
        self.keeping = None;
        let addresses = kept(&self.reported);
        if addresses == self.kept {
            return;
        }
        self.kept_at = Some(now);
        self.kept.clone_from(&addresses);
        let file = self.file.clone();
        let saving = tokio::task::spawn_blocking(move || {
            if let Err(why) = state_file::write(&file, &addresses) {
                tracing::warn!(path = %file.display(), "answers of DNS cannot be kept for the next start: {}: {why}", file.display());
            }
        });
        // The write ends by itself, with the process at the latest.
        let _ = saving.await;
    }
}

/// The answers for names that are not queried.
fn refused_answers(names: &BTreeSet<HostName>, limits: &Limits) -> impl Iterator<Item = (HostName, NameAnswer)> {
    let most = limits.names_of_namespace;
    let most = count(most, "name", "names");
    let why = format!(
        "it is not resolved, because the namespace refers to more than {most}, which is what \
         limits.names-of-namespace allows"
    );
    let answer = NameAnswer { failure: Some(why.into()), ..NameAnswer::default() };
    names.iter().map(move |name| (name.clone(), answer.clone()))
}

fn kept(names: &Names) -> StoredAnswers {
    let addresses = names.0.iter().filter(|(_, answer)| !answer.addresses.is_empty());
    addresses.map(|(name, answer)| (name.as_str().to_owned(), answer.addresses.clone())).collect()
}

/// Merges an answer with the previous one. Addresses stay while DNS fails, also those of one
/// family alone; where there are too many, those in use stay. A family of which nothing was known
/// is not missed: many servers never answer for it.
fn judged(before: Option<&NameAnswer>, looked: LookupResult, most: usize) -> NameAnswer {
    let known = before.map(|answer| answer.addresses.as_slice()).unwrap_or_default();
    let stays =
        |half: &Half| known.iter().copied().filter(|address| Family::of(*address) == half.missing).collect::<Vec<_>>();
    match looked {
        LookupResult::Half(half) if !half.addresses.is_empty() && stays(&half).is_empty() => {
            judged(before, LookupResult::Addresses(half.addresses, half.lasts), most)
        }
        LookupResult::Half(half) => {
            let mut addresses = [stays(&half), half.addresses].concat();
            addresses.sort_unstable();
            let failure = Some(half.why.into());
            NameAnswer { failure, ..judged(before, LookupResult::Addresses(addresses, half.lasts), most) }
        }
        LookupResult::Addresses(mut addresses, _) => {
            let is_cut = addresses.len() > most;
            if is_cut {
                addresses.sort_by_key(|address| (!known.contains(address), *address));
                addresses.truncate(most);
                addresses.sort_unstable();
            }
            NameAnswer { addresses, is_cut, ..NameAnswer::default() }
        }
        LookupResult::Nothing(why) => NameAnswer { failure: Some(why.into()), ..NameAnswer::default() },
        LookupResult::Failed(why) => {
            let is_cut = before.is_some_and(|answer| answer.is_cut);
            NameAnswer { addresses: known.to_vec(), is_cut, failure: Some(why.into()), ..NameAnswer::default() }
        }
    }
}

fn read(file: &Path) -> io::Result<BTreeMap<HostName, NameAnswer>> {
    let read: Option<StoredAnswers> = state_file::read_kept(file, "the answers of DNS to the last run are ignored")?;
    let answer = |addresses| NameAnswer { addresses, ..NameAnswer::default() };
    let read = read.unwrap_or_default().into_iter();
    Ok(read.filter_map(|(name, addresses)| Some((HostName::new(&name).ok()?, answer(addresses)))).collect())
}

/// Queries these names once.
pub async fn look_up(wanted: &Wanted, limits: &Limits, dns: &Dns) -> Names {
    let ChosenNames { names, refused } = wanted.choose(limits.names_of_namespace, |_| false);
    let mut answers: BTreeMap<_, _> = refused_answers(&refused, limits).collect();
    let (mut names, mut questions) = (names.into_keys(), JoinSet::new());
    loop {
        while questions.len() < schedule::MOST_QUESTIONS
            && let Some(name) = names.next()
        {
            let dns = dns.clone();
            questions.spawn(async move {
                let looked = dns.ask(&name, schedule::DEADLINE).await;
                (name, looked)
            });
        }
        match questions.join_next().await {
            Some(Ok((name, looked))) => drop(answers.insert(name, judged(None, looked, limits.addresses_of_name))),
            Some(Err(_)) => {}
            None => return Names(answers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_config::Resolver;
    use ingressd_translate::Namespaces;

    const LEAST: Duration = Duration::from_secs(5);

    fn answer(addresses: &[&str], failure: Option<&str>) -> NameAnswer {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        NameAnswer { addresses, failure: failure.map(Into::into), ..NameAnswer::default() }
    }

    fn name(text: &str) -> HostName {
        HostName::new(text).unwrap()
    }

    fn found(addresses: &[&str]) -> LookupResult {
        LookupResult::Addresses(answer(addresses, None).addresses, LEAST)
    }

    #[test]
    fn addresses_stay_while_nobody_knows_better() {
        let known = answer(&["192.0.2.1"], None);
        let (both, six) = (answer(&["192.0.2.1", "2001:db8::1"], None), answer(&["2001:db8::1"], None));
        let failed = || LookupResult::Failed("late".to_owned());
        let half = |addresses: &[&str]| {
            let addresses = answer(addresses, None).addresses;
            LookupResult::Half(Half { addresses, lasts: LEAST, missing: Family::Four, why: "late".to_owned() })
        };
        let rows = [
            (None, found(&["192.0.2.2"]), answer(&["192.0.2.2"], None)),
            (Some(&known), found(&["192.0.2.2"]), answer(&["192.0.2.2"], None)),
            (Some(&known), failed(), answer(&["192.0.2.1"], Some("late"))),
            (None, failed(), answer(&[], Some("late"))),
            (Some(&known), LookupResult::Nothing("gone"), answer(&[], Some("gone"))),
            (Some(&both), half(&["2001:db8::2"]), answer(&["192.0.2.1", "2001:db8::2"], Some("late"))),
            (Some(&both), half(&[]), answer(&["192.0.2.1"], Some("late"))),
            (Some(&six), half(&["2001:db8::2"]), answer(&["2001:db8::2"], None)),
            (None, half(&["2001:db8::2"]), answer(&["2001:db8::2"], None)),
            (None, half(&[]), answer(&[], Some("late"))),
        ];
        for (before, looked, expected) in rows {
            let shown = format!("{before:?} {looked:?}");
            assert_eq!(judged(before, looked, 64), expected, "{shown}");
        }
    }

    #[test]
    fn of_too_many_addresses_those_that_are_in_use_stay() {
        type Row<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], bool);
        let rows: [Row<'_>; 4] = [
            (&[], &["192.0.2.1", "192.0.2.2"], &["192.0.2.1", "192.0.2.2"], false),
            (&[], &["192.0.2.1", "192.0.2.2", "192.0.2.3"], &["192.0.2.1", "192.0.2.2"], true),
            (&["192.0.2.3"], &["192.0.2.1", "192.0.2.2", "192.0.2.3"], &["192.0.2.1", "192.0.2.3"], true),
            (&["192.0.2.2", "192.0.2.9"], &["192.0.2.1", "192.0.2.2", "192.0.2.3"], &["192.0.2.1", "192.0.2.2"], true),
        ];
        for (before, looked, expected, is_cut) in rows {
            let judged = judged(Some(&answer(before, None)), found(looked), 2);
            assert_eq!(judged, NameAnswer { is_cut, ..answer(expected, None) }, "{before:?} {looked:?}");
        }
    }

    fn keeper(state: &Path) -> Keeper {
        let servers = Dns::of(&[Resolver::Server("192.0.2.53:53".parse().unwrap())]);
        Keeper::new(servers, LEAST, Limits { names_of_namespace: 3, ..Limits::default() }, state).unwrap()
    }

    fn wanted(names: &[&str]) -> Wanted {
        let of_shop = |name: &&str| (self::name(name), Namespaces::from([Arc::from("shop")]));
        Wanted { referred: names.iter().map(of_shop).collect(), ..Wanted::default() }
    }

    fn is_reported(keeper: &mut Keeper, now: Instant) -> bool {
        let is_reported = keeper.pacing.due().is_some_and(|due| due <= now);
        if is_reported {
            keeper.report(now);
        }
        is_reported
    }

    #[tokio::test]
    async fn answers_are_there_after_a_restart_and_are_written_only_when_they_differ() {
        let state = tempfile::tempdir().unwrap();
        let file = state.path().join("names.json");
        let (a, now) = (name("a.example"), Instant::now());
        let mut first = keeper(state.path());
        assert!(!first.want(&wanted(&["a.example"]), now));
        first.learn(a.clone(), found(&["192.0.2.2"]), now);
        assert!(is_reported(&mut first, now));
        assert_eq!(first.keeping, Some(now));
        first.keep(now).await;
        assert_eq!(keeper(state.path()).known, [(a.clone(), answer(&["192.0.2.2"], None))].into());
        first.learn(a.clone(), found(&["192.0.2.2"]), now);
        assert!(!is_reported(&mut first, now + LEAST), "the same answer is no change");
        // Changes are written once a second at most, and an unchanged answer is not written.
        first.learn(a.clone(), found(&["192.0.2.3"]), now);
        assert!(is_reported(&mut first, now));
        assert_eq!(first.keeping, Some(now + SAVING));
        first.learn(a, found(&["192.0.2.2"]), now);
        let later = now + LEAST * 2;
        assert!(is_reported(&mut first, later));
        std::fs::remove_file(&file).unwrap();
        first.keep(later).await;
        assert!(!file.exists());
        std::fs::write(&file, "{").unwrap();
        assert_eq!(keeper(state.path()).known, BTreeMap::new());
    }

    #[tokio::test]
    async fn what_is_wanted_no_longer_is_forgotten_and_what_is_too_much_is_reported() {
        let state = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let mut keeper = keeper(state.path());
        assert!(keeper.want(&wanted(&["a.x", "b.x", "c.x", "d.x"]), now));
        keeper.learn(name("a.x"), found(&["192.0.2.2"]), now);
        keeper.learn(name("d.x"), found(&["192.0.2.2"]), now);
        let reported = keeper.report(now);
        assert_eq!(reported.0.keys().map(HostName::as_str).collect::<Vec<_>>(), ["a.x", "d.x"]);
        let failure = reported.0[&name("d.x")].failure.clone().unwrap();
        assert!(failure.contains("limits.names-of-namespace"), "{failure}");
        // A Service that nothing refers to any more keeps its answer: an earlier version of an
        // Ingress may use it.
        let others = wanted(&["a.x", "b.x"]).referred;
        assert!(keeper.want(&Wanted { others, ..Wanted::default() }, now));
        assert_eq!(keeper.known.len(), 1);
        assert!(
            keeper.schedule.namespaces(&name("a.x")).is_some() && keeper.schedule.namespaces(&name("b.x")).is_none()
        );
        keeper.want(&Wanted::default(), now);
        assert!(keeper.known.is_empty() && keeper.report(now).0.is_empty());
    }

    #[tokio::test]
    async fn without_a_server_every_name_is_known_to_be_unknown() {
        let state = tempfile::tempdir().unwrap();
        let mut watch = NameWatch::start(Dns::of(&[]), LEAST, &Limits::default(), state.path()).unwrap();
        watch.want(wanted(&["a.example"]));
        assert!(watch.is_waiting());
        watch.changed().await;
        let failure = watch.answers().0[&name("a.example")].failure.clone().unwrap();
        assert!(!watch.is_waiting() && failure.contains("upstreams.resolvers"), "{failure}");
    }
}
