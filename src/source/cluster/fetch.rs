//! Requests Secrets that were referred to only after their watch had reported them; it must not
//! know why they are needed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::GetParams;
use kube::core::Request;
use tokio::time::{Instant, sleep_until};

use super::depth;
use super::found::Found;
use super::kind::Item;
use super::references::Name;
use super::sink::Shared;
use super::words::words;

/// How many are asked for at once.
const AT_ONCE: usize = 8;

/// Requests per second: an Ingress can name Secrets that do not exist, and every node would
/// request them.
const PER_SECOND: u32 = 100;

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time to the next attempt after one that failed.
const PAUSE: Duration = Duration::from_secs(1);

const SECOND: Duration = Duration::from_secs(1);

/// Requests whatever is missing, for ever.
pub async fn fetch(client: Client, shared: Arc<Shared>) {
    let mut asked = FuturesUnordered::new();
    let next = || shared.stores().missing().take();
    let (mut second, mut left) = (Instant::now(), PER_SECOND);
    loop {
        if second.elapsed() >= SECOND {
            (second, left) = (Instant::now(), PER_SECOND);
        }
        while asked.len() < AT_ONCE
            && left > 0
            && let Some((name, since)) = next()
        {
            left -= 1;
            let client = &client;
            asked.push(async move {
                let answer = ask(client, &name).await;
                if let Err(why) = &answer {
                    tracing::debug!("the Secret {}/{} cannot be asked for: {why}", name.0, name.1);
                    // A failed request keeps its place meanwhile, so that an API server in trouble
                    // gets no more requests.
                    tokio::time::sleep(PAUSE).await;
                }
                (name, since, answer)
            });
        }
        let answered = tokio::select! {
            Some(answered) = asked.next() => Some(answered),
            () = shared.missing.notified(), if left > 0 => None,
            () = sleep_until(second + SECOND), if left == 0 => None,
        };
        match answered {
            Some((name, since, Ok(item))) => {
                shared.stores().answered(&name, since, item);
                shared.changed.notify_one();
            }
            Some((name, _, Err(_))) => shared.stores().missing().put_back(&name),
            None => {}
        }
    }
}

/// The Secret, `None` when there is none.
async fn ask(client: &Client, (namespace, name): &Name) -> Result<Option<Item<Secret>>, String> {
    let path = <Secret as kube::Resource>::url_path(&(), Some(namespace));
    let mut request = Request::new(path).get(name, &GetParams::default()).map_err(|error| error.to_string())?;
    request.extensions_mut().insert("get");
    let answer = tokio::time::timeout(ANSWER_TIMEOUT, client.request_text(request));
    match answer.await.map_err(|_| "no answer in time".to_owned())? {
        Ok(text) => {
            let value = depth::read(&text).map_err(|error| error.to_string())?;
            Ok(Found::of(value).and_then(Item::of))
        }
        // A Secret that we may not get counts as missing until the watch, which may see it,
        // reports it.
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_forbidden() => Ok(None),
        Err(error) => Err(words(&error)),
    }
}
