//! A double of the API server for the tests of this room and of `publish`. It implements lists,
//! watches and writes, in memory or over a socket, and fails as tests ask it to.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::Instant;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// How the API server responds to a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Availability {
    /// It responds normally.
    #[default]
    Well,
    /// It never responds, and watches become silent.
    Away,
    /// It responds with errors.
    Broken,
    /// It does not respond, and executes the request later, when the client no longer waits.
    Late,
}

/// How it refuses a write.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// The `reason` in the response.
    pub reason: &'static str,
    /// The `Retry-After` in seconds.
    pub after: u32,
}

/// The fault of a response.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// The response has this status.
    Status(u16),
    /// The response is that the server is busy, and to ask again after so many seconds.
    Busy(u32),
    /// The response comes in four parts, with a pause before each.
    Slow(Duration),
    /// There is no response.
    Silence,
    /// The watch begins, and reports at once that its position is too old.
    Gone,
    /// The watch begins, and ends at once.
    End,
    /// The response is normal, but another namespace is created before it.
    Bustle,
}

/// The API server; clones share it.
#[derive(Clone, Default)]
pub struct Double(Arc<Mutex<State>>);

/// The plural of the kind, namespace and name.
type Key = (String, String, String);

#[derive(Default)]
struct State {
    version: u64,
    objects: BTreeMap<Key, Value>,
    /// Objects with an applied status.
    applied: BTreeSet<Key>,
    /// The events so far, with object and version.
    log: Vec<(Key, u64, Event)>,
    /// The oldest version from which a watch may begin.
    oldest: u64,
    watches: Vec<Watch>,
    /// The coming faults, by plural and verb.
    faults: BTreeMap<(String, String), VecDeque<Fault>>,
    permanent: BTreeMap<(String, String), Fault>,
    requests: Vec<String>,
    /// The sizes of pages that lists asked for so far, by plural.
    limits: Vec<(String, String)>,
    page: usize,
    /// The writes of statuses so far: node, and name of the object.
    status_writes: Vec<(String, String)>,
    /// Writes to paths that contain this text are refused.
    refusals: Vec<(String, Refusal)>,
    /// Every refusal: when, by the clock of the test, and its path.
    refused: Vec<(Instant, String)>,
    /// Clients with another token get 401; `None` accepts every client.
    token: Option<String>,
}

#[derive(Clone)]
struct Event {
    labels: Value,
    line: Bytes,
}

struct Watch {
    asked: ReceivedRequest,
    lines: UnboundedSender<Bytes>,
}

impl Watch {
    fn report(&self, key: &Key, event: &Event) {
        if self.asked.wants(key, &event.labels) {
            let _ = self.lines.send(event.line.clone());
        }
    }
}

impl Double {
    /// A client of this server.
    pub fn client(&self) -> Client {
        self.client_of("", watch::channel(Availability::Well).1)
    }

    /// A client of this server for a node, with its availability.
    pub fn client_of(&self, node: &str, availability: watch::Receiver<Availability>) -> Client {
        let (double, node) = (self.clone(), node.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (double, node, mut availability) = (double.clone(), node.clone(), availability.clone());
            async move {
                let now = *availability.borrow_and_update();
                match now {
                    Availability::Well => Ok::<_, Infallible>(double.answer(&node, request, availability).await),
                    Availability::Broken => Ok(status(500)),
                    Availability::Away => std::future::pending().await,
                    Availability::Late => {
                        tokio::spawn(async move {
                            if availability.wait_for(|availability| *availability == Availability::Well).await.is_ok() {
                                double.answer(&node, request, availability).await;
                            }
                        });
                        std::future::pending().await
                    }
                }
            }
        });
        Client::new(service, "default")
    }

    /// Its address for clients over a socket.
    pub async fn listen(&self) -> std::net::SocketAddr {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (double, address) = (self.clone(), listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let double = double.clone();
                let service = service_fn(move |request| {
                    let double = double.clone();
                    async move {
                        Ok::<_, Infallible>(double.answer("", request, watch::channel(Availability::Well).1).await)
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        address
    }

    /// From now on accepts only clients with this token.
    pub fn admit(&self, token: &str) {
        self.state().token = Some(token.to_owned());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates or replaces an object, without checking it.
    pub fn put(&self, plural: &str, object: Value) {
        self.state().put(key(plural, &object), object);
    }

    /// Deletes an object.
    pub fn delete(&self, plural: &str, namespace: &str, name: &str) {
        let state = &mut *self.state();
        let key = (plural.to_owned(), namespace.to_owned(), name.to_owned());
        let object = state.objects.remove(&key).unwrap();
        state.report("DELETED", key, object);
    }

    /// The objects as they are now.
    pub fn back_up(&self) -> (u64, BTreeMap<Key, Value>) {
        let state = self.state();
        (state.version, state.objects.clone())
    }

    /// Replaces the objects by those of a backup. Watches go on, and report what is newer than
    /// what they asked for.
    pub fn restore(&self, (version, objects): (u64, BTreeMap<Key, Value>)) {
        let state = &mut *self.state();
        state.log.retain(|(_, reported, _)| *reported <= version);
        (state.version, state.objects) = (version, objects);
        state.applied.clear();
        state.oldest = 0;
    }

    /// The number of changes so far.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// Changes an object, as another client would.
    pub fn edit(&self, plural: &str, namespace: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let state = &mut *self.state();
        let key = (plural.to_owned(), namespace.to_owned(), name.to_owned());
        let mut object = state.objects[&key].clone();
        let before = object["status"].clone();
        change(&mut object);
        if object["status"] != before {
            state.applied.remove(&key);
        }
        state.put(key, object);
    }

    /// The objects of a kind in a namespace.
    pub fn objects<K: serde::de::DeserializeOwned>(&self, plural: &str, namespace: &str) -> Vec<K> {
        let state = self.state();
        let wanted = |(key, _): &(&Key, &Value)| key.0 == plural && key.1 == namespace;
        let objects = state.objects.iter().filter(wanted);
        objects.map(|(_, object)| serde_json::from_value(object.clone()).unwrap()).collect()
    }

    /// From now on refuses writes to paths that contain this text.
    pub fn refuse(&self, what: &str, refusal: Refusal) {
        self.state().refusals.push((what.to_owned(), refusal));
    }

    /// Ends all refusals.
    pub fn relent(&self) {
        self.state().refusals.clear();
    }

    /// When writes to paths that contain this text were refused.
    pub fn refused(&self, what: &str) -> Vec<Instant> {
        let state = self.state();
        let about = state.refused.iter().filter(|(_, path)| path.contains(what));
        about.map(|(when, _)| *when).collect()
    }

    /// The nodes that wrote statuses so far, in order.
    pub fn status_writers(&self) -> Vec<String> {
        self.state().status_writes.iter().map(|(node, _)| node.clone()).collect()
    }

    /// The objects whose statuses were written so far, in order.
    pub fn status_writes(&self) -> Vec<String> {
        self.state().status_writes.iter().map(|(_, name)| name.clone()).collect()
    }

    /// Lets the next request of this kind fail; several faults form a queue.
    pub fn fail_next(&self, plural: &str, verb: &str, fault: Fault) {
        self.state().faults.entry((plural.to_owned(), verb.to_owned())).or_default().push_back(fault);
    }

    /// Lets every request of this kind fail from now on, or none any more.
    pub fn fail(&self, plural: &str, verb: &str, fault: Option<Fault>) {
        let key = (plural.to_owned(), verb.to_owned());
        match fault {
            Some(fault) => drop(self.state().permanent.insert(key, fault)),
            None => drop(self.state().permanent.remove(&key)),
        }
    }

    /// Ends the watches of a kind. With `forget` it also drops the history, so that clients have
    /// to list again.
    pub fn end_watches(&self, plural: &str, forget: bool) {
        let state = &mut *self.state();
        state.watches.retain(|watch| watch.asked.plural != plural);
        if forget {
            state.oldest = state.version + 1;
        }
    }

    /// Sends a line to the watches of a kind.
    pub fn send(&self, plural: &str, line: &Value) {
        let state = self.state();
        let watches = state.watches.iter().filter(|watch| watch.asked.plural == plural);
        watches.for_each(|watch| drop(watch.lines.send(format!("{line}\n").into())));
    }

    /// Limits the pages of lists to this many objects.
    pub fn page(&self, size: usize) {
        self.state().page = size;
    }

    /// Every request so far, as `VERB plural`.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    /// The sizes of pages that lists of this kind asked for so far.
    pub fn limits(&self, plural: &str) -> Vec<String> {
        let state = self.state();
        let of_kind = state.limits.iter().filter(|(kind, _)| kind == plural);
        of_kind.map(|(_, limit)| limit.clone()).collect()
    }

    async fn answer<B>(&self, node: &str, request: Request<B>, availability: watch::Receiver<Availability>) -> Answer
    where
        B: hyper::body::Body<Error: Debug>,
    {
        let (head, body) = request.into_parts();
        if !self.state().knows(&head) {
            return status(401);
        }
        let asked = ReceivedRequest::of(&head.method, &head.uri);
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if let Some(refusal) = self.state().refuse(&head) {
            return refusal.answer();
        }
        let key = (asked.plural.clone(), asked.verb.to_owned());
        let fault = {
            let state = &mut *self.state();
            state.requests.push(format!("{} {}", asked.verb, asked.plural));
            let limit = asked.query.get("limit").map(|limit| (asked.plural.clone(), limit.clone()));
            state.limits.extend(limit);
            let next = state.faults.get_mut(&key).and_then(VecDeque::pop_front);
            next.or_else(|| state.permanent.get(&key).copied())
        };
        match fault {
            Some(Fault::Status(code)) => return status(code),
            Some(Fault::Busy(after)) => return Refusal { code: 429, reason: "TooManyRequests", after }.answer(),
            Some(Fault::Silence) => std::future::pending().await,
            Some(Fault::Gone) => {
                let line = json!({ "type": "ERROR", "object": { "kind": "Status", "status": "Failure", "code": 410 } });
                return whole(200, format!("{line}\n"));
            }
            Some(Fault::End) => return whole(200, String::new()),
            Some(Fault::Bustle) => {
                let name = format!("new-{}", self.requests().len());
                self.put("namespaces", json!({ "metadata": { "name": name, "labels": { "team": "a" } } }));
                // Afterwards, the sources that follow namespaces have seen it.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Some(Fault::Slow(_)) | None => {}
        }
        let state = &mut *self.state();
        if let Some(Fault::Slow(pause)) = fault {
            return state.list(&asked).map(|body| slow(body, pause));
        }
        let key = asked.key();
        match asked.verb {
            "watch" => state.watch(asked, availability),
            "list" => state.list(&asked),
            "get" => state.objects.get(&key).map_or_else(|| status(404), success),
            // Like a real API server, it refuses a Lease with a duration of 0.
            _ if body["kind"] == "Lease"
                && body["spec"]["leaseDurationSeconds"].as_i64().is_none_or(|time| time < 1) =>
            {
                status(422)
            }
            "create" => state.create(&asked, body),
            "update" => state.update(key, body),
            _ => state.apply(node, key, &body),
        }
    }
}

impl State {
    fn knows(&self, head: &http::request::Parts) -> bool {
        let given = head.headers.get("authorization").and_then(|value| value.to_str().ok());
        self.token.as_ref().is_none_or(|token| given == Some(&format!("Bearer {token}")))
    }

    fn refuse(&mut self, head: &http::request::Parts) -> Option<Refusal> {
        let path = head.uri.path();
        let (_, refusal) = self.refusals.iter().find(|(what, _)| head.method != Method::GET && path.contains(what))?;
        let refusal = *refusal;
        self.refused.push((Instant::now(), path.to_owned()));
        Some(refusal)
    }

    fn put(&mut self, key: Key, object: Value) -> Value {
        let change = if self.objects.contains_key(&key) { "MODIFIED" } else { "ADDED" };
        let object = self.report(change, key.clone(), object);
        self.objects.insert(key, object.clone());
        object
    }

    fn report(&mut self, change: &str, key: Key, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let line = format!("{}\n", json!({ "type": change, "object": object }));
        let event = Event { labels: object["metadata"]["labels"].clone(), line: line.into() };
        self.watches.iter().for_each(|watch| watch.report(&key, &event));
        self.log.push((key, self.version, event));
        object
    }

    fn watch(&mut self, asked: ReceivedRequest, mut availability: watch::Receiver<Availability>) -> Answer {
        let from: u64 = asked.query["resourceVersion"].parse().unwrap();
        if from < self.oldest {
            return status(410);
        }
        let (lines, mut receiver) = unbounded_channel::<Bytes>();
        let watch = Watch { asked, lines };
        let later = self.log.iter().filter(|(_, version, _)| *version > from);
        later.for_each(|(key, _, event)| watch.report(key, event));
        self.watches.push(watch);
        // When the server becomes unreachable, its connections report nothing any more, not even
        // their end.
        let is_cut = Arc::new(AtomicBool::new(false));
        let reported = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        let cut = Arc::clone(&is_cut);
        let reported = reported.take_until(Box::pin(async move {
            if availability.wait_for(|availability| *availability != Availability::Well).await.is_err() {
                std::future::pending::<()>().await;
            }
            cut.store(true, Ordering::Relaxed);
        }));
        let silence = futures_util::stream::poll_fn(move |_| match is_cut.load(Ordering::Relaxed) {
            true => Poll::Pending,
            false => Poll::Ready(None),
        });
        let frames = reported.chain(silence).map(|line| Ok::<_, Infallible>(Frame::data(line)));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn list(&self, asked: &ReceivedRequest) -> Answer {
        let wanted = |(key, object): &(&Key, &Value)| asked.wants(key, &object["metadata"]["labels"]);
        let objects: Vec<_> = self.objects.iter().filter(wanted).map(|(_, object)| object).collect();
        let from: usize = asked.query.get("continue").map_or(0, |token| token.parse().unwrap());
        let page = if self.page == 0 { usize::MAX } else { self.page };
        let until = from.saturating_add(page).min(objects.len());
        let next = (until < objects.len()).then(|| until.to_string());
        success(&json!({
            "metadata": { "resourceVersion": self.version.to_string(), "continue": next.unwrap_or_default() },
            "items": objects[from..until],
        }))
    }

    fn create(&mut self, asked: &ReceivedRequest, mut object: Value) -> Answer {
        object["metadata"]["namespace"] = json!(asked.namespace.clone().unwrap_or_default());
        let key = key(&asked.plural, &object);
        if self.objects.contains_key(&key) {
            return Refusal { code: 409, reason: "AlreadyExists", after: 0 }.answer();
        }
        object["metadata"]["uid"] = json!(format!("uid-{}", key.2));
        success(&self.put(key, object))
    }

    fn update(&mut self, key: Key, object: Value) -> Answer {
        let Some(known) = self.objects.get(&key) else { return status(404) };
        if known["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            return Refusal { code: 409, reason: "Conflict", after: 0 }.answer();
        }
        success(&self.put(key, object))
    }

    /// Applies a status by server-side apply: fields that were applied before and are missing now
    /// are removed.
    fn apply(&mut self, node: &str, key: Key, patch: &Value) -> Answer {
        let Some(mut object) = self.objects.get(&key).cloned() else { return status(404) };
        let metadata = &patch["metadata"];
        let is_outdated = metadata["resourceVersion"] != object["metadata"]["resourceVersion"];
        if metadata["uid"] != object["metadata"]["uid"] || is_outdated {
            return Refusal { code: 409, reason: "Conflict", after: 0 }.answer();
        }
        self.status_writes.push((node.to_owned(), key.2.clone()));
        let before = object.clone();
        if patch["status"].is_object() {
            object["status"] = patch["status"].clone();
            self.applied.insert(key.clone());
        } else if self.applied.remove(&key) {
            object["status"] = json!({ "loadBalancer": {} });
        }
        let mut answer = match before == object {
            true => object,
            false => self.put(key, object),
        };
        // Managed fields may be nested deeper than the library can parse.
        let fields = (0..150).fold(json!({}), |inner, _| json!({ "f:x": inner }));
        answer["metadata"]["managedFields"] = json!([{ "fieldsV1": fields }]);
        success(&answer)
    }
}

struct ReceivedRequest {
    verb: &'static str,
    plural: String,
    namespace: Option<String>,
    name: String,
    query: BTreeMap<String, String>,
}

impl ReceivedRequest {
    fn of(method: &Method, uri: &http::Uri) -> Self {
        let query = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let query: BTreeMap<String, String> = query.into_owned().collect();
        let parts: Vec<_> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let rest = if parts[0] == "api" { &parts[2..] } else { &parts[3..] };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
            rest => (None, rest),
        };
        let name = rest.get(1).map_or(String::new(), |name| (*name).to_owned());
        let verb = match *method {
            Method::GET if query.contains_key("watch") => "watch",
            Method::GET if name.is_empty() => "list",
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            _ => "patch",
        };
        ReceivedRequest { verb, plural: rest[0].to_owned(), namespace, name, query }
    }

    fn key(&self) -> Key {
        (self.plural.clone(), self.namespace.clone().unwrap_or_default(), self.name.clone())
    }

    /// Whether the request selects an object with these labels.
    fn wants(&self, (plural, namespace, _): &Key, labels: &Value) -> bool {
        let selector = self.query.get("labelSelector").map_or("", String::as_str);
        let has = |label: &str| match label.split_once('=') {
            Some((key, value)) => labels[key] == value,
            None => labels[label].is_string(),
        };
        *plural == self.plural
            && self.namespace.as_ref().is_none_or(|own| own == namespace)
            && selector.split(',').filter(|label| !label.is_empty()).all(has)
    }
}

impl Refusal {
    /// The response in the form of an API server.
    fn answer(self) -> Answer {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": self.code, "reason": self.reason,
            "message": self.reason, "details": { "retryAfterSeconds": self.after },
        });
        whole(self.code, status.to_string())
    }
}

/// The body in four parts, with a pause before each.
fn slow(body: UnsyncBoxBody<Bytes, Infallible>, pause: Duration) -> UnsyncBoxBody<Bytes, Infallible> {
    let frames = futures_util::stream::once(body.collect()).flat_map(move |whole| {
        let Ok(whole) = whole.map(http_body_util::Collected::to_bytes);
        let quarter = whole.len() / 4;
        let parts = [0, 1, 2, 3].map(|part| match part {
            3 => whole.slice(quarter * 3..),
            part => whole.slice(quarter * part..quarter * (part + 1)),
        });
        futures_util::stream::iter(parts).then(move |part| async move {
            tokio::time::sleep(pause).await;
            Ok::<_, Infallible>(Frame::data(part))
        })
    });
    StreamBody::new(frames).boxed_unsync()
}

fn key(plural: &str, object: &Value) -> Key {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
    (plural.to_owned(), text("namespace"), text("name"))
}

fn success(object: &Value) -> Answer {
    whole(200, object.to_string())
}

fn whole(code: u16, text: String) -> Answer {
    let mut answer = Response::new(Full::from(text).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    answer
}

fn status(code: u16) -> Answer {
    let words = StatusCode::from_u16(code).unwrap().canonical_reason().unwrap_or_default();
    let (message, reason) = (format!("it is {words}"), words.replace(' ', ""));
    let status = json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message });
    whole(code, status.to_string())
}
