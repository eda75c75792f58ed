//! Asks for Secrets that came to be referred to after their watch had told of them; it must not know why they are wanted.

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

/// How many are asked for in a second: whoever writes an Ingress can make up names, for which every node asks.
const PER_SECOND: u32 = 100;

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time to the next attempt after one that failed.
const PAUSE: Duration = Duration::from_secs(1);

const SECOND: Duration = Duration::from_secs(1);

/// Asks for whatever is missing, for ever.
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
                    // It counts as one that is asked for meanwhile: an API server that is in trouble is not asked more often.
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
        // Refused ones are as good as gone until the watch, which may see them, tells of them.
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_forbidden() => Ok(None),
        Err(error) => Err(words(&error)),
    }
}
