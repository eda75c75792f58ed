//! Requests single objects that became referenced after their watch had reported them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use kube::Client;
use kube::api::GetParams;
use kube::core::Request;
use tokio::time::{Instant, sleep_until};

use super::found::Found;
use super::item::Item;
use super::sink::Shared;
use super::stream::Failure;
use super::{answer, depth};
use crate::source::watched::Watched;
use ingressd_model::ObjectId;

/// The most requests at once.
const AT_ONCE: usize = 8;

/// The rate of requests per second: an Ingress can name Secrets that do not exist, and every node
/// would request them.
const PER_SECOND: u32 = 100;

/// How long a response may be silent.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The pause after a failed request.
const PAUSE: Duration = Duration::from_secs(1);

const SECOND: Duration = Duration::from_secs(1);

/// Requests missing objects, for ever.
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
            && let Some((id, since)) = next()
        {
            left -= 1;
            let (client, shared) = (&client, &*shared);
            asked.push(async move {
                let row = shared.stores().kinds().of(id.kind);
                if let Some(row) = row {
                    (row.fetch)(client, shared, &id, since).await;
                }
            });
        }
        tokio::select! {
            Some(()) = asked.next() => {}
            () = shared.missing.notified(), if left > 0 => {}
            () = sleep_until(second + SECOND), if left == 0 => {}
        }
    }
}

/// Requests one object and stores the response.
pub async fn fetch_one<K: Watched>(client: &Client, shared: &Shared, id: &ObjectId, since: Instant) {
    match ask::<K>(client, id).await {
        Ok(item) => {
            shared.stores().answered(id, since, item);
            shared.changed.notify_one();
        }
        Err(failure) => {
            tracing::debug!("{id} cannot be asked for: {failure}");
            // A failed request keeps its place meanwhile, so that an overloaded API server does
            // not get more requests.
            tokio::time::sleep(PAUSE.max(failure.retry_after())).await;
            shared.stores().missing().put_back(id);
        }
    }
}

/// Requests an object; `None` when it does not exist.
async fn ask<K: Watched>(client: &Client, id: &ObjectId) -> Result<Option<Item<K>>, Failure> {
    let path = K::url_path(&(), Some(&id.namespace));
    let mut request = Request::new(path).get(&id.name, &GetParams::default())?;
    request.extensions_mut().insert("get");
    match answer::text(client, request, ANSWER_TIMEOUT).await {
        Ok(text) => {
            let value = depth::read(&text).map_err(kube::Error::SerdeError)?;
            Ok(Found::of(value).and_then(Item::of))
        }
        // A Secret that we may not get counts as missing until a watch that may read it reports
        // it.
        Err(Failure::Client(kube::Error::Api(status))) if status.is_not_found() || status.is_forbidden() => Ok(None),
        Err(failure) => Err(failure),
    }
}
