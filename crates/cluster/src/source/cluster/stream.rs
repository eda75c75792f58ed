//! The list and watch protocol for one kind: a complete list, and then every change.

use std::hash::{BuildHasher as _, RandomState};
use std::marker::PhantomData;
use std::pin::pin;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures_util::TryStreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Client;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::clients::{Clients, History, Line};
use super::found::{Found, Known};
use super::words::words;
use super::{answer, depth, events};

/// The timing of a stream.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// How long a page of a list may be silent, and the time limit for the beginning of a watch.
    pub answer: Duration,
    /// How long a watch may be silent before it counts as dead. API servers send a bookmark about
    /// once a minute.
    pub silence: Duration,
    /// How long a watch has to last to count as working.
    pub lasting: Duration,
    /// The first and the longest pause after failures. Each is extended by a random part up to
    /// twice the time, so that nodes do not ask all at once.
    pub pauses: (Duration, Duration),
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            answer: Duration::from_secs(30),
            silence: Duration::from_secs(90),
            lasting: Duration::from_secs(5),
            pauses: (Duration::from_millis(200), Duration::from_secs(8)),
        }
    }
}

/// The receiver of a stream's reports: a list in pages, then changes, and failures at any time.
pub trait Sink<K>: Send {
    /// A list begins; an unfinished list before it is void.
    fn begin(&mut self);
    /// A page of the list.
    fn page(&mut self, found: Vec<Found<K>>);
    /// The list is complete: objects that were not on it are gone.
    fn end(&mut self);
    /// An object is new or has changed.
    fn applied(&mut self, found: Found<K>);
    /// An object was deleted.
    fn deleted(&mut self, namespace: &str, name: &str);
    /// A bookmark: everything up to this `resourceVersion` was reported.
    fn heard(&mut self, position: Option<&str>);
    /// The stream fails now.
    fn failed(&mut self, failure: &Failure);
}

/// Why a stream fails.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The API server refuses, or cannot be reached.
    #[error("{}", words(.0))]
    Client(#[from] kube::Error),
    /// A request cannot be made.
    #[error("{}", words(.0))]
    Request(#[from] kube::core::request::Error),
    /// The response ended too early.
    #[error("the answer of the API server was cut off: {0}")]
    Cut(#[source] std::io::Error),
    /// There was no response in time.
    #[error(
        "the API server did not answer within {} s: look at its load, at the route to it and at firewalls", .0.as_secs()
    )]
    TooSlow(Duration),
    /// The response is not a list.
    #[error("the API server answered with something that is no list: {0}")]
    NoList(#[source] serde_json::Error),
    /// The API server does not have the changes since then any more (410): a new list is needed.
    #[error("the API server does not know any more what changed")]
    Gone,
    /// The list is older than what was seen before: the store of the API server was restored from
    /// a backup. No revision from before can be compared any more.
    #[error("the API server has older data than before")]
    Restored,
}

impl Failure {
    /// Whether we lack the right to read the kind, or the API server does not have it.
    pub fn is_refusal(&self) -> bool {
        matches!(self.code(), 403 | 404)
    }

    /// The HTTP status of the response; 0 when there was none.
    pub fn code(&self) -> u16 {
        match self {
            Failure::Client(kube::Error::Api(status)) => status.code,
            _ => 0,
        }
    }

    /// How long the API server asks us to wait.
    pub(super) fn retry_after(&self) -> Duration {
        let Failure::Client(kube::Error::Api(status)) = self else { return Duration::ZERO };
        let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        Duration::from_secs(u64::from(seconds)).min(Duration::from_secs(60))
    }
}

/// After a list, changes of namespaces start no other list for this many times as long as the list
/// took.
const REST: u32 = 4;

/// A page that takes longer than this part of the time in which something has to come is slow: the
/// next one is half as large, as long as it has so many objects.
const SLOW: u32 = 3;
const SMALLEST_PAGE: u32 = 8;

/// A stream of one kind in one namespace, or in all.
pub struct Stream<K> {
    client: Client,
    /// The path of its URL, as `/apis/GROUP/VERSION/PLURAL`.
    path: String,
    labels: Option<String>,
    fields: Option<String>,
    /// How many objects a page of a list has at most now, and while none takes long.
    page: u32,
    whole_page: u32,
    timing: Timing,
    /// Changes when everything has to be listed again.
    relist: watch::Receiver<u64>,
    /// Changes when a watch that failed works again.
    revived: watch::Sender<u64>,
    line: watch::Receiver<Line>,
    /// Changes when the API server has older data than before.
    restored: watch::Sender<Option<Instant>>,
    kind: PhantomData<fn() -> K>,
}

/// A pause after a failure.
#[derive(Debug)]
struct Rest {
    /// The API server asked for so long a pause.
    earliest: Duration,
    /// How long the pause is while nothing happens.
    longest: Duration,
}

impl Rest {
    /// How long the pause goes on when it is cut after this time, by a chance below 1.
    fn cut(&self, after: Duration, chance: f64) -> Duration {
        let (left, owed) = (self.longest.saturating_sub(after), self.earliest.saturating_sub(after));
        owed + (left - owed).mul_f64(chance)
    }
}

/// A random number below 1.
fn chance() -> f64 {
    let random = RandomState::new().hash_one(());
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

/// How far a stream has come.
#[derive(Debug, Default)]
struct Position {
    /// The `resourceVersion` to watch from; `None` when everything has to be listed.
    from: Option<String>,
    /// The newest that was seen; `None` when the API server's versions are not numbers.
    reached: Option<u128>,
}

impl Position {
    fn reach(&mut self, version: String) {
        self.reached = version.parse().ok();
        self.from = Some(version);
    }

    fn reach_if_known(&mut self, version: Option<String>) {
        version.into_iter().for_each(|version| self.reach(version));
    }
}

#[derive(Deserialize)]
struct Page<T> {
    metadata: ListMeta,
    #[serde(default = "Option::default")]
    items: Option<Vec<T>>,
}

impl<T> Page<T> {
    fn found<K>(self, found: impl Fn(T) -> Option<Found<K>>) -> (ListMeta, Vec<Found<K>>) {
        (self.metadata, self.items.unwrap_or_default().into_iter().filter_map(found).collect())
    }
}

impl<K: Known> Stream<K> {
    /// A stream of the objects of this kind in a namespace, or in all, with this client.
    pub fn new(clients: &Clients, client: Client, namespace: Option<&str>, timing: Timing) -> Self {
        Stream {
            client,
            path: K::url_path(&(), namespace),
            labels: None,
            fields: None,
            page: 500,
            whole_page: 500,
            timing,
            // Without a sender it never changes.
            relist: watch::channel(0).1,
            revived: watch::Sender::new(0),
            line: clients.line(),
            restored: clients.restored(),
            kind: PhantomData,
        }
    }

    /// Lists everything again when this changes.
    pub fn relist(mut self, relist: watch::Receiver<u64>) -> Self {
        self.relist = relist;
        self
    }

    /// Notifies other streams when the API server responds again, and is notified by them.
    pub fn revived(mut self, revived: watch::Sender<u64>) -> Self {
        self.revived = revived;
        self
    }

    /// Only objects with these labels.
    pub fn labels(mut self, selector: Option<&str>) -> Self {
        self.labels = selector.map(str::to_owned);
        self
    }

    /// Only objects with these fields.
    pub fn fields(mut self, selector: Option<&str>) -> Self {
        self.fields = selector.map(str::to_owned);
        self
    }

    /// How many objects a page of a list has at most.
    pub fn page(mut self, size: u32) -> Self {
        (self.page, self.whole_page) = (size, size);
        self
    }

    /// Reports everything, for ever.
    pub async fn follow(mut self, sink: &mut impl Sink<K>) {
        let mut position = Position::default();
        let mut pauses = self.pauses();
        let mut failing = false;
        // The time before which changes of namespaces start no list.
        let mut rested = Instant::now();
        let mut known = self.history();
        loop {
            let history = self.history();
            if std::mem::replace(&mut known, history.clone()) != history {
                position = Position::default();
            }
            let lists = position.from.is_none();
            if lists {
                self.relist.mark_unchanged();
            }
            let (mut line, mut relist) = (self.line.clone(), self.relist.clone());
            let mut restored = self.restored.subscribe();
            let began = Instant::now();
            // A list is read to its end whatever namespaces come meanwhile, and the next one comes
            // after a pause, so that other requests have their turn.
            let anew = async {
                let asked = relist.changed().await;
                tokio::time::sleep_until(rested.into()).await;
                asked
            };
            let turn = self.turn(&mut position, &mut failing, sink);
            let ended = tokio::select! {
                ended = turn => Some(ended),
                // After an error the selection cannot change any more.
                Ok(_) = line.wait_for(|line| server(line) != history.server) => None,
                Ok(_) = restored.wait_for(|restored| *restored != history.restored) => None,
                Ok(()) = anew, if !lists => None,
            };
            let Some(ended) = ended.filter(|_| self.history() == history) else {
                position.from = None;
                continue;
            };
            if lists && ended.is_ok() {
                rested = Instant::now() + began.elapsed() * REST;
                continue;
            }
            if began.elapsed() >= self.timing.lasting {
                pauses = self.pauses();
            }
            let pause = match &ended {
                Ok(()) if began.elapsed() >= self.timing.lasting => continue,
                Ok(()) => pauses.next(),
                // This is no failure: the watch was interrupted for longer than the API server
                // keeps changes.
                Err(Failure::Gone) => pauses.next(),
                Err(failure) => {
                    failing = true;
                    if failure.code() == 404 {
                        // The sink forgets what the API server does not have. What is there later
                        // may be the same as before, which no change would tell.
                        position.from = None;
                    }
                    sink.failed(failure);
                    pauses.next()
                }
            };
            let earliest = ended.as_ref().err().map_or(Duration::ZERO, Failure::retry_after);
            let rest = Rest { earliest, longest: pause.unwrap_or(self.timing.pauses.1).max(earliest) };
            if self.rest(&rest, failing).await {
                pauses = self.pauses();
            }
        }
    }

    /// Pauses, for less when something says that the problem may be solved. Returns whether there
    /// are new credentials.
    async fn rest(&mut self, rest: &Rest, failing: bool) -> bool {
        let began = tokio::time::Instant::now();
        let mut revived = self.revived.subscribe();
        tokio::select! {
            () = tokio::time::sleep(rest.longest) => false,
            Ok(()) = self.line.changed() => {
                tokio::time::sleep_until(began + rest.earliest).await;
                true
            }
            // Another watch has reached the API server again. All that failed with it see that,
            // and it may have just so much strength.
            Ok(()) = revived.changed(), if failing => {
                tokio::time::sleep(rest.cut(began.elapsed(), chance())).await;
                false
            }
        }
    }

    /// What the revisions that this stream reads belong to.
    fn history(&mut self) -> History {
        History { server: server(&self.line.borrow_and_update()), restored: *self.restored.borrow() }
    }

    fn pauses(&self) -> impl Iterator<Item = Duration> + use<K> {
        let (first, longest) = self.timing.pauses;
        let builder = ExponentialBuilder::default().with_min_delay(first).with_max_delay(longest);
        builder.without_max_times().with_jitter().build()
    }

    /// Makes a list when there is no `resourceVersion` to continue from, otherwise one watch. It
    /// returns when the API server ends that.
    async fn turn(
        &mut self,
        position: &mut Position,
        failing: &mut bool,
        sink: &mut impl Sink<K>,
    ) -> Result<(), Failure> {
        let Some(from) = position.from.clone() else {
            let listed = self.list(position.reached, sink).await?;
            position.reach(listed);
            return Ok(());
        };
        let parameters = WatchParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            bookmarks: true,
            ..WatchParams::default()
        };
        let mut request = Request::new(&self.path).watch(&parameters, &from)?;
        request.extensions_mut().insert("watch");
        let beginning = tokio::time::timeout(self.timing.answer, events::begin(&self.client, request));
        let events = match beginning.await.map_err(|_| Failure::TooSlow(self.timing.answer))? {
            Err(error) if is_gone(&error) => {
                position.from = None;
                return Err(Failure::Gone);
            }
            begun => begun?,
        };
        sink.heard(position.from.as_deref());
        if std::mem::take(failing) {
            self.revived.send_modify(|number| *number += 1);
        }
        let mut events = pin!(events);
        let mut silent = true;
        loop {
            let event = match tokio::time::timeout(self.timing.silence, events.try_next()).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => return Ok(()),
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => {
                    if silent {
                        // The watch may wait for a `resourceVersion` that a server with other data
                        // does not reach for long.
                        position.from = None;
                    }
                    return Ok(());
                }
            };
            silent = false;
            match event {
                WatchEvent::Added(value) | WatchEvent::Modified(value) => {
                    let Some(found) = Found::of(value) else { continue };
                    position.reach_if_known(found.position.clone());
                    sink.applied(found);
                }
                WatchEvent::Deleted(value) => {
                    let Some(gone) = Found::<K>::of(value) else { continue };
                    position.reach_if_known(gone.position);
                    sink.deleted(&gone.namespace, &gone.name);
                }
                WatchEvent::Bookmark(bookmark) => position.reach(bookmark.metadata.resource_version),
                WatchEvent::Error(status) => {
                    let error = kube::Error::Api(status);
                    if is_gone(&error) {
                        position.from = None;
                        return Err(Failure::Gone);
                    }
                    return Err(error.into());
                }
            }
            sink.heard(position.from.as_deref());
        }
    }

    /// Lists everything; returns the `resourceVersion` to watch from. `reached` is the newest that
    /// was seen before.
    async fn list(&mut self, reached: Option<u128>, sink: &mut impl Sink<K>) -> Result<String, Failure> {
        let mut parameters = ListParams {
            label_selector: self.labels.clone(),
            field_selector: self.fields.clone(),
            limit: Some(self.page),
            ..ListParams::default()
        };
        sink.begin();
        let mut is_fast = true;
        loop {
            let mut request = Request::new(&self.path).list(&parameters)?;
            request.extensions_mut().insert("list");
            let began = tokio::time::Instant::now();
            let text = answer::text(&self.client, request, self.timing.answer).await;
            if matches!(text, Err(Failure::TooSlow(_))) || began.elapsed() > self.timing.answer / SLOW {
                is_fast = false;
                self.page = (self.page / 2).max(SMALLEST_PAGE.min(self.whole_page));
                parameters.limit = Some(self.page);
            }
            let text = text?;
            let (metadata, found) = read_page(&text).map_err(Failure::NoList)?;
            sink.page(found);
            match metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters.continue_token = Some(token),
                None => {
                    let version = metadata.resource_version.unwrap_or_default();
                    if version.parse().ok().zip(reached).is_some_and(|(version, reached): (u128, _)| version < reached)
                    {
                        // Every stream lists anew, this one as well.
                        self.restored.send_replace(Some(Instant::now()));
                        return Err(Failure::Restored);
                    }
                    if is_fast {
                        self.page = self.page.saturating_mul(2).min(self.whole_page);
                    }
                    sink.end();
                    return Ok(version);
                }
            }
        }
    }
}

/// Decodes a page as typed objects at once, which takes little memory. Only when that fails,
/// values that are nested too deep are cut, and objects are decoded one by one.
fn read_page<K: Known>(text: &str) -> Result<(ListMeta, Vec<Found<K>>), serde_json::Error> {
    let typed = |text: &str| serde_json::from_str::<Page<K>>(text).map(|page| page.found(Found::typed));
    if let Ok(page) = typed(text) {
        return Ok(page);
    }
    let cut = depth::cut(text);
    if let Some(page) = cut.as_deref().and_then(|text| typed(text).ok()) {
        return Ok(page);
    }
    serde_json::from_str::<Page<Value>>(cut.as_deref().unwrap_or(text)).map(|page| page.found(Found::of))
}

fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 410)
}

/// The server of the connection; another one has other versions.
fn server(line: &Line) -> Option<String> {
    line.connections.as_ref().map(|connections| connections.server.clone())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;

    use super::super::double::{Double, Fault};
    use super::*;

    struct Nobody;

    impl Sink<Service> for Nobody {
        fn begin(&mut self) {}
        fn page(&mut self, _: Vec<Found<Service>>) {}
        fn end(&mut self) {}
        fn applied(&mut self, _: Found<Service>) {}
        fn deleted(&mut self, _: &str, _: &str) {}
        fn heard(&mut self, _: Option<&str>) {}
        fn failed(&mut self, _: &Failure) {}
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_comes_back_bit_by_bit_and_never_before_its_time() {
        const STREAMS: usize = 100;
        let pause = Duration::from_secs(8);
        let timing = Timing { pauses: (pause, pause), ..Timing::default() };
        for (fault, early, of_early) in
            [(Fault::Status(503), Duration::from_millis(400), 20), (Fault::Busy(5), Duration::from_millis(4900), 0)]
        {
            let (double, revived) = (Double::default(), watch::Sender::new(0));
            double.fail("services", "list", Some(fault));
            let asked = || double.requests().iter().filter(|request| *request == "list services").count();
            let mut streams = tokio::task::JoinSet::new();
            for _ in 0..STREAMS {
                let client = double.client();
                let stream = Stream::<Service>::new(&Clients::of(&client), client, None, timing);
                let stream = stream.revived(revived.clone());
                streams.spawn(async move { stream.follow(&mut Nobody).await });
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert_eq!(asked(), STREAMS);
            double.fail("services", "list", None);
            revived.send_modify(|number| *number += 1);
            tokio::time::sleep(early).await;
            assert!(asked() - STREAMS <= of_early, "{} at once: {fault:?}", asked() - STREAMS);
            tokio::time::sleep(pause * 2).await;
            assert_eq!(asked(), STREAMS * 2, "{fault:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_the_api_server_did_not_have_is_listed_when_it_is_back() {
        let double = Double::default();
        double.fail_next("services", "watch", Fault::Status(404));
        let client = double.client();
        let stream = Stream::<Service>::new(&Clients::of(&client), client, None, Timing::default());
        // Less than the time after which a silent watch is followed by a list.
        let _ = tokio::time::timeout(Duration::from_secs(60), stream.follow(&mut Nobody)).await;
        let asked = ["list services", "watch services", "list services", "watch services"];
        assert_eq!(double.requests(), asked);
    }

    #[test]
    fn a_pause_is_cut_by_chance_and_never_before_the_time_that_the_server_asked_for() {
        for (earliest, after, chance, expected) in
            [(0, 0, 0.0, 0), (0, 2, 0.5, 3), (4, 1, 0.0, 3), (4, 1, 0.5, 5), (4, 6, 0.5, 1), (8, 9, 0.9, 0)]
        {
            let rest = Rest { earliest: Duration::from_secs(earliest), longest: Duration::from_secs(8) };
            let cut = rest.cut(Duration::from_secs(after), chance);
            assert_eq!(cut, Duration::from_secs(expected), "{earliest} {after} {chance}");
        }
        assert!((0..99).all(|_| (0.0..1.0).contains(&chance())));
        assert!(chance().to_bits() != chance().to_bits());
    }
}
