//! Sends each request over the current connection, within its deadline, and counts it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::sync::{Notify, watch};
use tower::limit::ConcurrencyLimit;
use tower::{BoxError, Service};

use super::clients::{Line, Purpose};
use super::patience::worded;
use super::requests::{Requests, verb};

/// Why there was no response to a request.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// There are no credentials to send it with.
    #[error("{0}")]
    NotConnected(Arc<str>),
    /// There was no response in time.
    #[error("the API server did not answer within {} s", .0.as_secs())]
    TooSlow(std::time::Duration),
}

/// A service that stays when the connections behind it are replaced.
pub struct Switch {
    purpose: Purpose,
    line: watch::Receiver<Line>,
    requests: Arc<Requests>,
    /// Notified when the API server responds 401.
    unknown: Arc<Notify>,
}

impl Switch {
    /// A client for this purpose.
    pub fn client(
        purpose: Purpose,
        line: watch::Receiver<Line>,
        requests: Arc<Requests>,
        unknown: Arc<Notify>,
    ) -> Client {
        let switch = Switch { purpose, line, requests, unknown };
        Client::new(ConcurrencyLimit::new(switch, purpose.concurrency()), "default")
    }
}

impl Service<Request<Body>> for Switch {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let line = self.line.borrow();
        let Some(connections) = line.connections.clone() else {
            let why = line.failure.clone().unwrap_or_else(|| "there are no credentials yet".into());
            return Box::pin(std::future::ready(Err(SwitchError::NotConnected(why).into())));
        };
        let (purpose, requests, unknown) = (self.purpose, Arc::clone(&self.requests), Arc::clone(&self.unknown));
        let verb = verb(request.method(), request.extensions().get::<&'static str>().copied());
        Box::pin(async move {
            let mut asked = RequestInProgress { requests, verb, answer: None };
            let sent = async { Ok(worded(connections.client(purpose).send(request).await?).await) };
            let answer = match purpose.deadline() {
                None => sent.await.map_err(|error: kube::Error| error.into()),
                Some(deadline) => match tokio::time::timeout(deadline, sent).await {
                    Ok(answer) => answer.map_err(BoxError::from),
                    Err(_) => Err(SwitchError::TooSlow(deadline).into()),
                },
            };
            if answer.as_ref().is_ok_and(|answer| answer.status() == StatusCode::UNAUTHORIZED) {
                unknown.notify_one();
            }
            asked.answer = answer.as_ref().ok().map(Response::status);
            answer
        })
    }
}

/// A request in progress. It is counted when it has ended, also when its caller stops waiting:
/// most deadlines are the callers'.
struct RequestInProgress {
    requests: Arc<Requests>,
    verb: &'static str,
    answer: Option<StatusCode>,
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.requests.count(self.verb, self.answer);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use super::super::clients::Clients;
    use super::*;

    /// The path of requests without a response.
    const SILENT: &str = "/silent";

    #[tokio::test(start_paused = true)]
    async fn a_request_that_nobody_waits_for_any_more_is_counted_once_as_one_without_an_answer() {
        let api = tower::service_fn(async |request: Request<Body>| {
            if request.uri() == SILENT {
                std::future::pending::<()>().await;
            }
            Ok::<_, Infallible>(Response::new(Body::from(b"{}".to_vec())))
        });
        let clients = Clients::of(&Client::new(api, "default"));
        let ask = async |client: &Client, path: &str| {
            let asked = client.request_text(Request::get(path).body(Vec::new()).unwrap());
            tokio::time::timeout(Duration::from_secs(1), asked).await.is_ok()
        };
        for client in [&clients.watch, &clients.write, &clients.lease] {
            assert!(!ask(client, SILENT).await && ask(client, "/").await);
        }
        let counts = clients.requests().counts();
        let counts: Vec<_> = counts.iter().map(|(verb, code, count)| (*verb, code.as_str(), *count)).collect();
        assert_eq!(counts, [("get", "error", 3), ("get", "200", 3)]);
    }
}
