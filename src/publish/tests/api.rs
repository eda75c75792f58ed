//! A double of the API server for the few requests of this room, with a switch for each node that asks; it must not know who should ask what.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::api::networking::v1::Ingress;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// How the API treats a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    /// It answers.
    #[default]
    Well,
    /// It never answers, and watches fall silent.
    Away,
    /// It answers that it cannot.
    Broken,
    /// It never answers, and gets what it was asked when all is well again, although nobody waits for the answer any more.
    Late,
}

/// How the API refuses a write.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// The code of the answer.
    pub code: u16,
    /// What the answer gives as the reason.
    pub reason: &'static str,
    /// After how many seconds it asks to be asked again.
    pub after: u32,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Value>,
    /// Objects whose status was applied under our name.
    ours: BTreeSet<String>,
    revision: u64,
    watches: Vec<(String, mpsc::UnboundedSender<Bytes>)>,
    /// Paths of writes of status, with the node that wrote.
    status_writes: Vec<(String, String)>,
    /// Writes to paths that hold this text are refused.
    refusals: Vec<(String, Refusal)>,
    /// Every refusal: when, by the clock of the test, and the path.
    refused: Vec<(Instant, String)>,
}

/// The double; clones are the same one.
#[derive(Clone, Default)]
pub struct FakeApi(Arc<Mutex<State>>);

const INGRESSES: &str = "/apis/networking.k8s.io/v1/namespaces/shop/ingresses";

impl FakeApi {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A client of this node.
    pub fn client(&self, node: &str, mood: watch::Receiver<Mood>) -> Client {
        let (api, node) = (self.clone(), node.to_owned());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (api, node, mut mood) = (api.clone(), node.clone(), mood.clone());
            async move {
                let now = *mood.borrow_and_update();
                match now {
                    Mood::Well => Ok::<_, Infallible>(api.answer(&node, request, mood).await),
                    Mood::Broken => Ok(failure(500, "InternalError")),
                    Mood::Away => std::future::pending().await,
                    Mood::Late => {
                        tokio::spawn(async move {
                            let is_well = mood.wait_for(|mood| *mood == Mood::Well).await.is_ok();
                            if is_well {
                                api.answer(&node, request, mood).await;
                            }
                        });
                        std::future::pending().await
                    }
                }
            }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, node: &str, request: Request<Body>, mood: watch::Receiver<Mood>) -> Answer {
        let (head, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = head.uri.path().to_owned();
        let is_watch = head.uri.query().is_some_and(|query| query.contains("watch=true"));
        let is_list = path.ends_with("/leases") && head.method == Method::GET;
        if head.method != Method::GET
            && let Some(refusal) = self.state().refuse(&path)
        {
            return refusal.answer();
        }
        // As an API server does, which takes none that counts for no time.
        if body["kind"] == "Lease" && body["spec"]["leaseDurationSeconds"].as_i64().is_none_or(|seconds| seconds < 1) {
            return failure(422, "Invalid");
        }
        match head.method {
            Method::GET if is_watch => self.watch(path, mood),
            Method::GET if is_list => self.list(&path),
            Method::GET => self.state().objects.get(&path).map_or_else(|| failure(404, "NotFound"), success),
            Method::POST => self.create(&path, body),
            Method::PUT => self.replace(&path, body),
            Method::PATCH => self.apply(node, &path, &body),
            _ => failure(405, "MethodNotAllowed"),
        }
    }

    fn list(&self, path: &str) -> Answer {
        let state = self.state();
        let labelled = |object: &Value| object["metadata"]["labels"]["ingressd/group"].is_string();
        let below = state.objects.iter().filter(|(name, object)| name.starts_with(path) && labelled(object));
        let items: Vec<_> = below.map(|(_, object)| object.clone()).collect();
        success(&json!({
            "kind": "LeaseList", "apiVersion": "coordination.k8s.io/v1",
            "metadata": { "resourceVersion": state.revision.to_string() }, "items": items,
        }))
    }

    fn watch(&self, path: String, mut mood: watch::Receiver<Mood>) -> Answer {
        let (sender, mut lines) = mpsc::unbounded_channel();
        self.state().watches.push((path, sender));
        let lines = futures_util::stream::poll_fn(move |context| lines.poll_recv(context));
        // A connection to an API that goes away tells nothing any more, not even that it is gone.
        let cut = async move {
            let _ = mood.wait_for(|mood| *mood != Mood::Well).await;
        };
        let lines = lines.take_until(Box::pin(cut)).chain(futures_util::stream::pending());
        let frames = lines.map(|line| Ok::<_, Infallible>(Frame::data(line)));
        Response::new(StreamBody::new(frames).boxed_unsync())
    }

    fn create(&self, path: &str, mut object: Value) -> Answer {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let path = format!("{path}/{name}");
        let mut state = self.state();
        if state.objects.contains_key(&path) {
            return failure(409, "AlreadyExists");
        }
        object["metadata"]["uid"] = json!(format!("uid-{name}"));
        success(&state.put(&path, object, "ADDED"))
    }

    fn replace(&self, path: &str, object: Value) -> Answer {
        let mut state = self.state();
        let Some(known) = state.objects.get(path) else { return failure(404, "NotFound") };
        if known["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            return failure(409, "Conflict");
        }
        success(&state.put(path, object, "MODIFIED"))
    }

    fn apply(&self, node: &str, path: &str, patch: &Value) -> Answer {
        let path = path.strip_suffix("/status").unwrap();
        let mut state = self.state();
        let Some(mut object) = state.objects.get(path).cloned() else { return failure(404, "NotFound") };
        let metadata = &patch["metadata"];
        let is_outdated = metadata["resourceVersion"] != object["metadata"]["resourceVersion"];
        if metadata["uid"] != object["metadata"]["uid"] || is_outdated {
            return failure(409, "Conflict");
        }
        state.status_writes.push((node.to_owned(), path.to_owned()));
        let before = object.clone();
        if patch["status"].is_object() {
            object["status"] = patch["status"].clone();
            state.ours.insert(path.to_owned());
        } else if state.ours.remove(path) {
            object["status"] = json!({ "loadBalancer": {} });
        }
        let mut answer = match before == object {
            true => object,
            false => state.put(path, object, "MODIFIED"),
        };
        // Somebody nested managed fields deeper than the library reads.
        let fields = (0..150).fold(json!({}), |inner, _| json!({ "f:x": inner }));
        answer["metadata"]["managedFields"] = json!([{ "fieldsV1": fields }]);
        success(&answer)
    }

    /// Makes an Ingress, as a user would.
    pub fn add_ingress(&self, name: &str) {
        let created = jiff::Timestamp::from_second(self.state().revision as i64).unwrap().to_string();
        self.create(
            INGRESSES,
            json!({
                "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
                "metadata": { "namespace": "shop", "name": name, "creationTimestamp": created },
            }),
        );
    }

    /// Sets the address of an Ingress, as another controller would.
    pub fn overwrite(&self, name: &str, address: &str) {
        let path = format!("{INGRESSES}/{name}");
        let mut state = self.state();
        let mut object = state.objects[&path].clone();
        object["status"] = json!({ "loadBalancer": { "ingress": [{ "ip": address }] } });
        state.ours.remove(&path);
        state.put(&path, object, "MODIFIED");
    }

    /// Changes what an Ingress says, as a user would.
    pub fn change(&self, name: &str, content: &str) {
        let path = format!("{INGRESSES}/{name}");
        let mut state = self.state();
        let mut object = state.objects[&path].clone();
        object["metadata"]["annotations"] = json!({ "content": content });
        state.put(&path, object, "MODIFIED");
    }

    /// Refuses writes to paths that hold this text from now on.
    pub fn refuse(&self, what: &str, refusal: Refusal) {
        self.state().refusals.push((what.to_owned(), refusal));
    }

    /// Refuses nothing any more.
    pub fn relent(&self) {
        self.state().refusals.clear();
    }

    /// When writes to paths that hold this text were refused.
    pub fn refused(&self, what: &str) -> Vec<Instant> {
        let state = self.state();
        let about = state.refused.iter().filter(|(_, path)| path.contains(what));
        about.map(|(when, _)| *when).collect()
    }

    /// All Ingresses.
    pub fn ingresses(&self) -> Vec<Ingress> {
        self.below(INGRESSES)
    }

    /// All Events about objects of one namespace.
    pub fn events(&self) -> Vec<Event> {
        self.below("/apis/events.k8s.io/v1/namespaces/shop/events")
    }

    fn below<K: serde::de::DeserializeOwned>(&self, folder: &str) -> Vec<K> {
        let state = self.state();
        let objects = state.objects.iter().filter(|(path, _)| path.starts_with(folder));
        objects.map(|(_, object)| serde_json::from_value(object.clone()).unwrap()).collect()
    }

    /// Who wrote status so far, in order.
    pub fn status_writers(&self) -> Vec<String> {
        self.state().status_writes.iter().map(|(node, _)| node.clone()).collect()
    }

    /// Which objects status was written to so far, in order.
    pub fn status_writes(&self) -> Vec<String> {
        let last = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        self.state().status_writes.iter().map(|(_, path)| last(path)).collect()
    }
}

impl State {
    fn refuse(&mut self, path: &str) -> Option<Refusal> {
        let (_, refusal) = self.refusals.iter().find(|(what, _)| path.contains(what))?;
        let refusal = *refusal;
        self.refused.push((Instant::now(), path.to_owned()));
        Some(refusal)
    }

    fn put(&mut self, path: &str, mut object: Value, change: &str) -> Value {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.objects.insert(path.to_owned(), object.clone());
        if object["metadata"]["labels"]["ingressd/group"].is_string() {
            let line = format!("{}\n", json!({ "type": change, "object": object }));
            self.watches
                .retain(|(folder, watch)| !path.starts_with(folder) || watch.send(Bytes::from(line.clone())).is_ok());
        }
        object
    }
}

impl Refusal {
    /// As an API server words it.
    fn answer(self) -> Answer {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": self.code, "reason": self.reason,
            "message": self.reason, "details": { "retryAfterSeconds": self.after },
        });
        let mut response = success(&status);
        *response.status_mut() = http::StatusCode::from_u16(self.code).unwrap();
        response
    }
}

fn success(object: &Value) -> Answer {
    Response::new(Full::new(Bytes::from(serde_json::to_vec(object).unwrap())).boxed_unsync())
}

fn failure(code: u16, reason: &'static str) -> Answer {
    Refusal { code, reason, after: 0 }.answer()
}
