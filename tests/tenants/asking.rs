//! Sends the requests of a row, and reads its findings.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ingressd_echo::ADDRESS_HEADER;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::row::{Ask, Gets, Reported, Side};
use crate::scene::{BACKENDS, Ownership, Scene};
use rig::client::{Reply, Request, get};

/// How long a watcher rests after each request.
const BETWEEN: Duration = Duration::from_millis(2);

/// Sends a request, and says what is wrong with the response.
pub async fn check(ask: &Ask, scene: &Scene) -> Option<String> {
    let is_other = ask.only.is_some_and(|only| only != scene.ownership);
    if is_other || ask.dialect.is_some_and(|dialect| dialect != scene.dialect) {
        return None;
    }
    let request = request(ask, scene);
    let shown = request.to_string();
    match request.try_send().await {
        Ok(reply) => wrong(ask, scene, &reply).map(|wrong| format!("{scene}: {shown}: {wrong}")),
        Err(failure) => Some(format!("{scene}: {shown}: {failure}")),
    }
}

fn request(ask: &Ask, scene: &Scene) -> Request {
    let request = get(&scene.fill(ask.url));
    let request = ask.headers.iter().fold(request, |request, (name, value)| request.header(name, &scene.fill(value)));
    if ask.from.is_empty() { request } else { request.from(ask.from) }
}

fn wrong(ask: &Ask, scene: &Scene, reply: &Reply) -> Option<String> {
    let who = who(reply);
    let expected = match (ask.gets, scene.ownership) {
        (Gets::Is(expected), _) => Some(expected),
        (Gets::By(expected, _), Ownership::Namespace) | (Gets::By(_, expected), Ownership::Shared) => Some(expected),
        (Gets::Not(unwanted), _) if who == unwanted => return Some(format!("{who}, of all")),
        (Gets::Not(_), _) => None,
    };
    if let Some(expected) = expected.filter(|expected| *expected != who) {
        return Some(format!("{who} instead of {expected}"));
    }
    if let Some(name) = ask.certificate {
        let names = reply.peer.as_ref().map(|peer| peer.names.clone()).unwrap_or_default();
        let (unwanted, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name));
        if names.contains(&scene.fill(name)) == unwanted {
            return Some(format!("the certificate is for {names:?}"));
        }
    }
    if let Some((name, value)) = ask.header {
        let value = scene.fill(value);
        if reply.header(name) != Some(&value) {
            return Some(format!("{name} is {:?} instead of {value}", reply.header(name)));
        }
    }
    if let Some((name, attributes)) = ask.cookie {
        let cookie = reply.header("set-cookie").unwrap_or_default();
        let (pair, _) = cookie.split_once(';').unwrap_or_default();
        let (own, _) = pair.split_once('=').unwrap_or_default();
        if (own, &cookie[pair.len()..]) != (name, &scene.fill(attributes)) {
            return Some(format!("the cookie {cookie:?} is set"));
        }
    }
    let seen = reply.try_echo().map(|answer| answer.headers).unwrap_or_default();
    let seen: Vec<_> = seen.into_iter().filter(|(name, _)| ask.unseen.contains(&&**name)).collect();
    (!seen.is_empty()).then(|| format!("the backend sees {seen:?}"))
}

/// Which backend answered, or the status when none did.
pub fn who(reply: &Reply) -> String {
    let Some(address) = reply.header(ADDRESS_HEADER) else { return reply.status.to_string() };
    let address = address.parse::<SocketAddr>().unwrap().ip().to_string();
    let known = BACKENDS.iter().find(|(known, _)| *known == address);
    known.map_or(address, |(_, name)| (*name).to_owned())
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// The findings about objects of a namespace.
pub fn findings<'a>(status: &'a Value, namespace: &str) -> Vec<&'a Value> {
    let all = status["findings"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter(|finding| text(finding, "namespace") == namespace).collect()
}

/// What is wrong with the findings: `None` when the expected one is there.
pub fn check_reported(reported: &Reported, scene: &Scene, status: &Value) -> Option<String> {
    if reported.only.is_some_and(|only| only != scene.ownership) {
        return None;
    }
    let namespace = if reported.side == Side::Victim { &scene.victim } else { &scene.evil };
    let all = findings(status, namespace);
    let about = all.iter().filter(|finding| {
        let object = format!("{} {}", text(finding, "kind"), text(finding, "name"));
        let fits = match reported.reasons {
            [] => text(finding, "severity") != "info",
            reasons => reasons.contains(&text(finding, "reason")),
        };
        (reported.object.is_empty() || object == reported.object) && fits
    });
    let mut notes = about.map(|finding| text(finding, "note"));
    let is_reported = match reported.words.strip_prefix('!') {
        Some(unwanted) => {
            let notes: Vec<_> = notes.collect();
            !notes.is_empty() && notes.iter().all(|note| !note.contains(unwanted))
        }
        None => notes.any(|note| note.contains(reported.words)),
    };
    let shown = || all.iter().map(|finding| format!("{}: {}", text(finding, "reason"), text(finding, "note")));
    (!is_reported).then(|| {
        let shown: Vec<_> = shown().map(|line| line.chars().take(150).collect::<String>()).collect();
        format!("{scene}: {} is not told {:?} {:?}: {shown:?}", reported.object, reported.reasons, reported.words)
    })
}

/// What is wrong with the victim's objects: findings of other reasons than these, and objects that
/// are not served.
pub fn check_victim(allowed: &[&str], ingresses: &[Value], scene: &Scene, status: &Value) -> Vec<String> {
    let findings = findings(status, &scene.victim).into_iter();
    let surprises = findings.filter(|finding| !allowed.contains(&text(finding, "reason")));
    let mut wrong: Vec<_> = surprises
        .map(|finding| {
            let object = format!("{} {}", text(finding, "kind"), text(finding, "name"));
            format!("{scene}: the victim's {object} has {}: {}", text(finding, "reason"), text(finding, "note"))
        })
        .collect();
    let known = status["ingresses"].as_array().map_or(&[][..], Vec::as_slice);
    for object in ingresses.iter().filter(|object| object["kind"] == "Ingress") {
        let name = text(&object["metadata"], "name");
        let is_it = |known: &&Value| text(known, "namespace") == scene.victim && text(known, "name") == name;
        let known = known.iter().find(is_it);
        let has = |what: &str| known.and_then(|known| known[what].as_u64()).is_some_and(|count| count > 0);
        let is_served = has("routes") && known.is_some_and(|known| known["served_seconds"].is_u64());
        // A route that an object of the victim closes is closed, and its status never says that it
        // is served.
        let is_closed = allowed.contains(&"ClosedRoute") && has("closed") && !has("routes");
        if !is_served && !is_closed {
            wrong.push(format!("{scene}: the victim's Ingress {name} is not served"));
        }
    }
    wrong
}

/// Sends requests from when it is made until it is stopped.
pub struct Watcher {
    wrong: Arc<Mutex<Vec<(usize, String)>>>,
    task: JoinHandle<()>,
}

impl Watcher {
    /// Sends all these requests in turn; failures are reported under the number of each.
    pub fn start(asks: Vec<(usize, Ask, Scene)>) -> Self {
        let wrong = Arc::<Mutex<Vec<_>>>::default();
        let found = Arc::clone(&wrong);
        let task = tokio::spawn(async move {
            loop {
                for (number, ask, scene) in &asks {
                    if let Some(failure) = check(ask, scene).await {
                        found.lock().unwrap().push((*number, format!("meanwhile: {failure}")));
                    }
                    // A short rest between requests leaves the machine to nginx, and every state
                    // lasts longer.
                    tokio::time::sleep(BETWEEN).await;
                }
            }
        });
        Watcher { wrong, task }
    }

    /// The failures, each once.
    pub async fn stop(self) -> Vec<(usize, String)> {
        self.task.abort();
        let _ = self.task.await;
        let mut wrong = std::mem::take(&mut *self.wrong.lock().unwrap());
        wrong.sort();
        wrong.dedup();
        wrong
    }
}
