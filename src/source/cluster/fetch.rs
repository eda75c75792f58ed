//! Asks for Secrets that came to be referred to after their watch had told of them; it must not know why they are wanted.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::GetParams;
use kube::core::Request;

use super::found::Found;
use super::kind::Item;
use super::references::Name;
use super::sink::Shared;
use super::words::words;

/// How many are asked for at once.
const AT_ONCE: usize = 8;

/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Time to the next attempt after one that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks for whatever is missing, for ever.
pub async fn fetch(client: Client, shared: Arc<Shared>) {
    loop {
        let missing = shared.stores().missing();
        if missing.is_empty() {
            shared.missing.notified().await;
            continue;
        }
        let asked = futures_util::stream::iter(missing).map(|name| {
            let client = client.clone();
            async move {
                let answer = ask(&client, &name).await;
                (name, answer)
            }
        });
        let mut answers = asked.buffer_unordered(AT_ONCE);
        let mut failed = false;
        while let Some((name, answer)) = answers.next().await {
            match answer {
                Ok(item) => {
                    shared.stores().answered(&name, item);
                    shared.changed.notify_one();
                }
                Err(why) => {
                    tracing::debug!("the Secret {}/{} cannot be asked for: {why}", name.0, name.1);
                    failed = true;
                }
            }
        }
        if failed {
            tokio::time::sleep(PAUSE).await;
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
            let value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            Ok(Found::of(value).and_then(Item::of))
        }
        // Refused ones are as good as gone until the watch, which may see them, tells of them.
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_forbidden() => Ok(None),
        Err(error) => Err(words(&error)),
    }
}
