//! Writes the statuses of a kind while this node leads, at a limited rate.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use kube::Resource as _;
use kube::api::{Patch, PatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::address::Address;
use super::bucket::Bucket;
use super::call::{Failure, call};
use super::counts::StatusWrite;
use super::damper::Damper;
use super::desired::Nodes;
use super::election::Leadership;
use super::ledger::{Ledger, Plan, UnderWay, Write};
use super::member::Member;
use super::members::Members;
use super::order::{Order, Writes};
use super::own_addresses::OwnAddresses;
use super::served::Served;
use super::status::{Content as _, IngressAddresses, StatusStrategy};
use super::statuses::Parts;
use ingressd_model::ObjectId;

/// How long one write may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// The most writes in progress at once.
const MOST_AT_ONCE: usize = 6;

/// First and longest pause after the API failed.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// How often everything is compared again while what is served does not change. Each written
/// status changes an object, and thousands may be written one after the other.
const COMPARISON: Duration = Duration::from_millis(500);

/// The inputs of the writer.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// What this host serves.
    pub served: watch::Receiver<Option<Served>>,
    /// The other nodes.
    pub members: watch::Receiver<Members>,
    /// The leader.
    pub leadership: watch::Receiver<Leadership>,
    /// The addresses of this node.
    pub place: watch::Receiver<Option<Arc<OwnAddresses>>>,
}

/// A write that has ended, with the new version or the failure.
type Ended<C> = (Write<C>, Result<Option<String>, Failure>);

/// Writes the statuses of a kind.
pub struct Writer<S: StatusStrategy = IngressAddresses> {
    parts: Parts,
    ledger: Ledger<S>,
    /// All addresses that this node had since its start.
    former: BTreeSet<Address>,
    plan: Plan<S::Content>,
    /// The input of the present plan, and when it was made.
    planned: Option<(Served, Instant)>,
    /// The nodes of the present plan; `None` when nothing could be planned.
    nodes: Option<Nodes>,
    damper: Damper,
    queue: VecDeque<Write<S::Content>>,
    under_way: UnderWay<S::Content>,
    requests: JoinSet<Ended<S::Content>>,
    bucket: Bucket,
    /// The pause after the next failure of the API, and the end of the present pause.
    pause: Duration,
    paused: Option<Instant>,
    /// The object whose write failed last, when none succeeded since.
    failed: Option<Arc<ObjectId>>,
}

impl<S: StatusStrategy> Writer<S> {
    /// A writer as a node of the group.
    pub fn new(strategy: S, parts: Parts) -> Self {
        Writer {
            ledger: Ledger::new(strategy, parts.options.manager().into()),
            former: BTreeSet::new(),
            plan: Plan::default(),
            planned: None,
            nodes: None,
            damper: Damper::default(),
            queue: VecDeque::new(),
            under_way: UnderWay::new(),
            requests: JoinSet::new(),
            bucket: Bucket::per_second(parts.options.status_rate, parts.options.status_burst),
            pause: PAUSE.0,
            paused: None,
            failed: None,
            parts,
        }
    }

    /// Writes for ever. Writes in progress are cut off when it is dropped.
    pub async fn run(mut self, mut inputs: Inputs) {
        let mut held = false;
        // When the plan has to be made anew; `None` while it is current.
        let mut due = Some(Instant::now());
        loop {
            let now = Instant::now();
            let leadership = inputs.leadership.borrow_and_update().clone();
            let may_write = self.may_write(&inputs.members.borrow());
            let held_before = std::mem::replace(&mut held, leadership.holds(now) && may_write);
            if held && !held_before {
                self.ledger.forget();
                self.damper = Damper::default();
                due = Some(now);
            }
            if !held {
                // From now on the next leader reports failures, also when a write of this node
                // fails late.
                self.parts.trouble.ceased();
            }
            if !held || due.is_some_and(|due| due <= now) {
                self.plan(&mut inputs, held, now);
                due = None;
            }
            self.report(may_write, inputs.members.borrow().is_complete());
            self.look_back();
            let ready = self.send(&leadership, now);
            let expiry = inputs.members.borrow().next_expiry(now);
            let until = leadership.until.filter(|until| *until > now);
            let end = [due, self.plan.next, expiry, self.damper.next(now), until];
            let end = end.into_iter().flatten().min();
            let mut go_on = Ok(());
            let again = tokio::select! {
                biased;
                changed = inputs.served.changed() => {
                    go_on = changed;
                    let served = inputs.served.borrow();
                    Some(next_comparison(self.planned.as_ref(), served.as_ref(), Instant::now()))
                }
                changed = inputs.members.changed() => {
                    go_on = changed;
                    if held { self.compare_nodes(&inputs, Instant::now()) } else { None }
                }
                // Whether this node leads is seen above; that it leads for longer changes nothing.
                changed = inputs.leadership.changed() => { go_on = changed; None }
                changed = inputs.place.changed() => { go_on = changed; Some(now) }
                Some(done) = self.requests.join_next() => match done {
                    Ok((write, result)) => (!self.finish(&write, result)).then_some(now),
                    Err(_) => Some(now),
                },
                () = sleep_until(end.unwrap_or(now)), if end.is_some() => Some(now),
                () = sleep_until(ready.unwrap_or(now)), if ready.is_some() => None,
            };
            due = due.into_iter().chain(again).min();
            if go_on.is_err() {
                return;
            }
        }
    }

    /// Whether the administrator's order lets the nodes of the group write.
    fn may_write(&self, members: &Members) -> bool {
        members.order().map_or(!self.parts.options.hold, |order| order == Order::Publish)
    }

    /// Reports whether this node writes. Restoring former statuses relies on this: after `Held`
    /// was reported nothing may be written.
    fn report(&self, may_write: bool, is_known: bool) {
        let is_held = !may_write && is_known && self.under_way.is_empty();
        let writes = if is_held { Writes::Held } else { Writes::Now };
        self.parts.outputs.report::<S>(None, Some(writes));
    }

    fn plan(&mut self, inputs: &mut Inputs, leads: bool, now: Instant) {
        inputs.place.mark_unchanged();
        inputs.members.mark_unchanged();
        self.planned = inputs.served.borrow_and_update().clone().map(|served| (served, now));
        self.nodes = if leads { self.nodes(inputs, now) } else { None };
        self.plan = match (&self.planned, &self.nodes) {
            (Some((served, _)), Some(nodes)) => self.ledger.plan(served, nodes, &self.under_way, now),
            _ => Plan::default(),
        };
        let contended = std::mem::take(&mut self.plan.contended);
        self.parts.outputs.report::<S>(Some(contended), None);
        self.queue = std::mem::take(&mut self.plan.writes).into();
    }

    /// When the plan has to be made anew after a record changed. Each node renews its own every
    /// few seconds, which alone means nothing, and notes in it each generation that it made.
    fn compare_nodes(&mut self, inputs: &Inputs, now: Instant) -> Option<Instant> {
        let nodes = self.nodes(inputs, now);
        match (&self.planned, &self.nodes, &nodes) {
            (Some((_, at)), Some(planned), Some(nodes)) if planned.is_same(nodes) => {
                (!planned.observe_same(nodes)).then(|| *at + COMPARISON)
            }
            (_, None, None) => None,
            _ => Some(now),
        }
    }

    /// The nodes that may be published now; `None` while not all is known.
    fn nodes(&mut self, inputs: &Inputs, now: Instant) -> Option<Nodes> {
        let served = inputs.served.borrow().clone()?;
        let place = inputs.place.borrow().clone()?;
        let us = Member::of(&self.parts.identity, &served, &place);
        self.former.extend(us.addresses.iter().cloned());
        let members = inputs.members.borrow();
        if !members.is_complete() {
            return None;
        }
        let mut nodes = Nodes::new(&us, members.members(now), &self.former);
        let members = members.members(now).map(|(member, _)| &**member).filter(|member| member.identity != us.identity);
        let drained = members.chain([&us]).filter(|member| member.drained).map(|member| Arc::clone(&member.identity));
        self.damper.hold_back(&mut nodes, &us.identity, &drained.collect(), now);
        Some(nodes)
    }

    /// Sends the writes that may be sent now. Returns when more may be sent.
    fn send(&mut self, leadership: &Leadership, now: Instant) -> Option<Instant> {
        if let Some(until) = self.paused.filter(|until| *until > now) {
            return (!self.queue.is_empty()).then_some(until);
        }
        // After a failure of the API a single write tests whether it is over.
        let most = if self.paused.is_some() { 1 } else { MOST_AT_ONCE };
        while self.requests.len() < most {
            // An address that must not be used any more is withdrawn without a limit of the rate,
            // and restored as fast: far more objects may have it than the rate allows for.
            let next = self.queue.front()?;
            if !next.urgent
                && !next.back
                && let Err(until) = self.bucket.take(now)
            {
                return Some(until);
            }
            let write = self.queue.pop_front()?;
            let timing = self.parts.options.timing();
            // A write that outlasts the term of this leader could undo what the next leader wrote.
            let limit = leadership.until? + (timing.duration - timing.deadline) - now;
            self.ledger.sent(&write, now);
            self.under_way.insert(Arc::clone(&write.id), write.clone());
            let client = self.parts.client.clone();
            let request = request(self.ledger.strategy(), &write, &self.parts.options.manager());
            self.requests.spawn(async move {
                let answer = async { client.request::<Answer>(request.map_err(kube::Error::BuildRequest)?).await };
                let answer = call(DEADLINE.min(limit), answer).await;
                (write, answer.map(|answer| answer.metadata.resource_version))
            });
        }
        None
    }

    /// Records how a write ended. Returns whether the plan is still current.
    fn finish(&mut self, write: &Write<S::Content>, result: Result<Option<String>, Failure>) -> bool {
        let now = Instant::now();
        self.under_way.remove(&write.id);
        match result {
            Ok(version) => {
                self.parts.counts.status(StatusWrite::Written);
                self.ledger.wrote(write, version.as_deref());
                self.went_on();
                // The plan skipped the object while it was being written.
                !self.plan.left_out
            }
            Err(failure) => {
                tracing::debug!("the status of {} was not written: {failure}", write.id);
                let is_outdated = self.ledger.is_outdated(write, &failure);
                if !is_outdated {
                    self.parts.trouble.failed(failure.sort(), &format_args!("{}: {failure}", write.id));
                }
                self.ledger.failed(write, &failure, now);
                match failure {
                    Failure::Away { retry_after, .. } => {
                        self.parts.counts.status(StatusWrite::Failed);
                        self.wait(write, retry_after, now);
                    }
                    _ => {
                        self.parts.counts.status(if is_outdated {
                            StatusWrite::Outdated
                        } else {
                            StatusWrite::Refused
                        });
                        self.went_on();
                    }
                }
                false
            }
        }
    }

    /// Ends the failure when no failed write is left: each was written, or is not desired any
    /// more.
    fn look_back(&mut self) {
        if self.parts.trouble.is_reported() && self.ledger.is_clear() {
            self.parts.trouble.worked();
        }
    }

    /// Records that the API accepts writes.
    fn went_on(&mut self) {
        (self.pause, self.paused, self.failed) = (PAUSE.0, None, None);
    }

    /// Pauses after a failure, which may concern every object or this one alone: an object that
    /// fails repeatedly, with no other in between, pauses by itself.
    fn wait(&mut self, write: &Write<S::Content>, retry_after: Duration, now: Instant) {
        let is_alone = self.failed.replace(Arc::clone(&write.id)).as_ref() == Some(&write.id);
        // Failures of writes that ran at the same time count once.
        let is_known = self.paused.is_some_and(|until| until > now);
        let mut pause = retry_after;
        if !is_alone && !is_known {
            pause = pause.max(self.pause);
            self.pause = (self.pause * 2).min(PAUSE.1);
        }
        if !pause.is_zero() {
            self.paused = self.paused.max(Some(now + pause));
        }
    }
}

/// When the plan has to be made anew after `Served` changed; `planned` is the input of the present
/// plan and its time.
fn next_comparison(planned: Option<&(Served, Instant)>, served: Option<&Served>, now: Instant) -> Instant {
    match (planned, served) {
        (Some((planned, at)), Some(served)) if planned.serves_same(served) => *at + COMPARISON,
        _ => now,
    }
}

/// The fields of a response that are read. Managed fields may be nested deeper than the library
/// reads.
#[derive(Deserialize)]
struct Answer {
    metadata: Position,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Position {
    resource_version: Option<String>,
}

/// The body to apply. Without a status it withdraws everything that was applied before, and
/// nothing else; an empty status replaces whatever stands there.
fn request<S: StatusStrategy>(
    strategy: &S,
    write: &Write<S::Content>,
    manager: &str,
) -> Result<http::Request<Vec<u8>>, kube::core::request::Error> {
    let mut body = json!({
        "apiVersion": S::Kind::api_version(&()),
        "kind": S::Kind::kind(&()),
        "metadata": {
            "namespace": &*write.id.namespace, "name": &*write.id.name, "uid": &*write.uid, "resourceVersion": &*write.at,
        },
    });
    if !write.content.is_empty() || write.theirs {
        body["status"] = strategy.status(&write.content);
    }
    let request = Request::new(S::Kind::url_path(&(), Some(&write.id.namespace)));
    let parameters = PatchParams::apply(manager).force();
    let mut request = request.patch_subresource("status", &write.id.name, &parameters, &Patch::Apply(body))?;
    request.extensions_mut().insert("patch_status");
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_write_is_compared_now_and_then_and_what_is_served_at_once() {
        let (made, now) = (Instant::now(), Instant::now() + Duration::from_millis(1));
        let served = Served { confirmed: true, ..Served::default() };
        let written = Served { snapshot: Arc::default(), ..served.clone() };
        let confirmed = Served { generation: Some(2), ..served.clone() };
        let planned = Some((served, made));
        for (what, planned, reported, expected) in [
            ("a status was written", planned.as_ref(), Some(&written), made + COMPARISON),
            ("another generation", planned.as_ref(), Some(&confirmed), now),
            ("nothing was planned yet", None, Some(&written), now),
            ("nothing is known any more", planned.as_ref(), None, now),
        ] {
            assert_eq!(next_comparison(planned, reported, now), expected, "{what}");
        }
    }
}
