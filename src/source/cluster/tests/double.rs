//! A double of the API server that speaks lists and watches, and fails as it is told; it must not know who asks.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

type Answer = Response<BoxBody<Bytes, Infallible>>;

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It is answered with this status.
    Status(u16),
    /// It is not answered.
    Silence,
    /// A watch begins, and says at once that its position is gone.
    Gone,
    /// A watch begins, and ends at once.
    End,
    /// It is answered, but another namespace comes before.
    Bustle,
}

/// The API server; clones are the same one.
#[derive(Clone, Default)]
pub struct Double(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    version: u64,
    /// By plural, namespace and name.
    objects: BTreeMap<(String, String, String), Value>,
    /// Plural, version, namespace and line of every event.
    log: Vec<(String, u64, String, String)>,
    /// The oldest version from which a watch may begin.
    oldest: u64,
    watches: Vec<Watch>,
    /// By plural and verb.
    faults: BTreeMap<(String, String), VecDeque<Fault>>,
    permanent: BTreeMap<(String, String), Fault>,
    requests: Vec<String>,
    page: usize,
}

struct Watch {
    plural: String,
    namespace: Option<String>,
    lines: UnboundedSender<Bytes>,
}

impl Watch {
    fn wants(&self, plural: &str, namespace: &str) -> bool {
        self.plural == plural && self.namespace.as_deref().is_none_or(|own| own == namespace)
    }
}

impl Double {
    /// A client that asks it.
    pub fn client(&self) -> Client {
        let double = self.clone();
        let answer = move |request: Request<Body>| {
            let double = double.clone();
            let uri = request.uri().clone();
            async move { Ok::<_, Infallible>(double.answer(&uri).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Creates or changes an object, whatever it looks like.
    pub fn put(&self, plural: &str, mut object: Value) {
        let state = &mut *self.state();
        state.version += 1;
        let version = state.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let before = state.objects.insert((plural.to_owned(), namespace.clone(), name), object.clone());
        let event = if before.is_some() { "MODIFIED" } else { "ADDED" };
        state.tell(plural, &namespace, version, &json!({ "type": event, "object": object }));
    }

    /// Deletes an object.
    pub fn delete(&self, plural: &str, namespace: &str, name: &str) {
        let state = &mut *self.state();
        state.version += 1;
        let version = state.version;
        let mut object = state.objects.remove(&(plural.to_owned(), namespace.to_owned(), name.to_owned())).unwrap();
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        state.tell(plural, namespace, version, &json!({ "type": "DELETED", "object": object }));
    }

    /// The next request of this sort goes wrong; faults line up.
    pub fn fail_next(&self, plural: &str, verb: &str, fault: Fault) {
        self.state().faults.entry((plural.to_owned(), verb.to_owned())).or_default().push_back(fault);
    }

    /// Every request of this sort goes wrong from now on, or none any more.
    pub fn fail(&self, plural: &str, verb: &str, fault: Option<Fault>) {
        let key = (plural.to_owned(), verb.to_owned());
        match fault {
            Some(fault) => drop(self.state().permanent.insert(key, fault)),
            None => drop(self.state().permanent.remove(&key)),
        }
    }

    /// Ends the watches of a kind, and forgets what happened before: whoever comes back has to list.
    pub fn end_watches(&self, plural: &str, forget: bool) {
        let state = &mut *self.state();
        state.watches.retain(|watch| watch.plural != plural);
        if forget {
            state.oldest = state.version + 1;
        }
    }

    /// Sends a line to the watches of a kind.
    pub fn send(&self, plural: &str, line: &Value) {
        let state = self.state();
        let watches = state.watches.iter().filter(|watch| watch.plural == plural);
        watches.for_each(|watch| drop(watch.lines.send(format!("{line}\n").into())));
    }

    /// Pages of lists have at most this many objects.
    pub fn page(&self, size: usize) {
        self.state().page = size;
    }

    /// Every request so far, as `VERB plural`.
    pub fn requests(&self) -> Vec<String> {
        self.state().requests.clone()
    }

    async fn answer(&self, uri: &http::Uri) -> Answer {
        let query: BTreeMap<String, String> =
            url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()).into_owned().collect();
        let asked = Asked::of(uri.path(), query.contains_key("watch"));
        let key = (asked.plural.clone(), asked.verb.to_owned());
        let fault = {
            let state = &mut *self.state();
            state.requests.push(format!("{} {}", asked.verb, asked.plural));
            let next = state.faults.get_mut(&key).and_then(VecDeque::pop_front);
            next.or_else(|| state.permanent.get(&key).copied())
        };
        match fault {
            Some(Fault::Status(code)) => return status(code),
            Some(Fault::Silence) => std::future::pending().await,
            Some(Fault::Gone) => {
                let line = json!({ "type": "ERROR", "object": { "kind": "Status", "status": "Failure", "code": 410 } });
                return whole(200, format!("{line}\n"));
            }
            Some(Fault::End) => return whole(200, String::new()),
            Some(Fault::Bustle) => {
                let number = self.requests().len();
                self.put("namespaces", json!({ "metadata": { "name": format!("new-{number}") } }));
                // Those who follow namespaces have learned of it.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            None => {}
        }
        let state = &mut *self.state();
        match asked.verb {
            "watch" => state.watch(&asked, query["resourceVersion"].parse().unwrap()),
            "list" => state.list(&asked, query.get("continue").map(|token| token.parse().unwrap())),
            _ => match state.objects.get(&(asked.plural, asked.namespace.unwrap_or_default(), asked.name)) {
                Some(object) => whole(200, object.to_string()),
                None => status(404),
            },
        }
    }
}

impl State {
    fn tell(&mut self, plural: &str, namespace: &str, version: u64, event: &Value) {
        let line = format!("{event}\n");
        let watches = self.watches.iter().filter(|watch| watch.wants(plural, namespace));
        watches.for_each(|watch| drop(watch.lines.send(line.clone().into())));
        self.log.push((plural.to_owned(), version, namespace.to_owned(), line));
    }

    fn watch(&mut self, asked: &Asked, from: u64) -> Answer {
        if from < self.oldest {
            return status(410);
        }
        let (lines, mut receiver) = unbounded_channel::<Bytes>();
        let watch = Watch { plural: asked.plural.clone(), namespace: asked.namespace.clone(), lines };
        for (plural, version, namespace, line) in &self.log {
            if *version > from && watch.wants(plural, namespace) {
                watch.lines.send(line.clone().into()).unwrap();
            }
        }
        self.watches.push(watch);
        let frames = futures_util::stream::poll_fn(move |context| receiver.poll_recv(context));
        let frames = futures_util::StreamExt::map(frames, |line| Ok(Frame::data(line)));
        Response::new(BoxBody::new(StreamBody::new(frames)))
    }

    fn list(&self, asked: &Asked, from: Option<usize>) -> Answer {
        let wanted = |(plural, namespace, _): &(String, String, String)| {
            *plural == asked.plural && asked.namespace.as_ref().is_none_or(|own| own == namespace)
        };
        let objects: Vec<_> = self.objects.iter().filter(|(key, _)| wanted(key)).map(|(_, object)| object).collect();
        let (from, page) = (from.unwrap_or(0), if self.page == 0 { usize::MAX } else { self.page });
        let until = from.saturating_add(page).min(objects.len());
        let next = (until < objects.len()).then(|| until.to_string());
        let list = json!({
            "metadata": { "resourceVersion": self.version.to_string(), "continue": next.unwrap_or_default() },
            "items": objects[from..until],
        });
        whole(200, list.to_string())
    }
}

struct Asked {
    verb: &'static str,
    plural: String,
    namespace: Option<String>,
    name: String,
}

impl Asked {
    fn of(path: &str, watches: bool) -> Self {
        let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let rest = if parts[0] == "api" { &parts[2..] } else { &parts[3..] };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some((*namespace).to_owned()), rest),
            rest => (None, rest),
        };
        let name = rest.get(1).map_or(String::new(), |name| (*name).to_owned());
        let verb = match (watches, name.is_empty()) {
            (true, _) => "watch",
            (false, true) => "list",
            (false, false) => "get",
        };
        Asked { verb, plural: rest[0].to_owned(), namespace, name }
    }
}

fn whole(code: u16, text: String) -> Answer {
    let body = BoxBody::new(Full::from(text).map_err(|never| match never {}));
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap();
    answer
}

fn status(code: u16) -> Answer {
    let reason = StatusCode::from_u16(code).unwrap();
    let message = format!("it is {}", reason.canonical_reason().unwrap_or_default());
    whole(code, json!({ "kind": "Status", "status": "Failure", "code": code, "message": message }).to_string())
}
