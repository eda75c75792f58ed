//! A hand-written implementation of gRPC's health service: `grpc.health.v1.Health/Check` and
//! `Watch`.

use std::convert::Infallible;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::channel::Channel;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;

/// The paths of the methods.
const CHECK: &str = "/grpc.health.v1.Health/Check";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

/// A message `HealthCheckResponse { status: SERVING }`: not compressed, two bytes long, field 1 is
/// 1.
const SERVING: &[u8] = &[0, 0, 0, 0, 2, 0x08, 0x01];

/// Whether a request is a gRPC call.
pub fn is_call(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// After so much time a watcher hears again that the service serves.
const INTERVAL: Duration = Duration::from_secs(1);

/// Responds to a call: `SERVING` for the known methods, `UNIMPLEMENTED` for all others.
pub fn answer(path: &str) -> Response<BoxBody<Bytes, Infallible>> {
    let body = match path {
        CHECK => whole(Bytes::from_static(SERVING), "0"),
        WATCH => watched(),
        _ => whole(Bytes::new(), "12"),
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

fn whole(message: Bytes, status: &'static str) -> BoxBody<Bytes, Infallible> {
    let trailers =
        HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from_static(status))]);
    Full::new(message).with_trailers(std::future::ready(Some(Ok(trailers)))).boxed()
}

/// A stream that goes on until the client ends it.
fn watched() -> BoxBody<Bytes, Infallible> {
    let (mut sender, body) = Channel::new(1);
    tokio::spawn(async move {
        while sender.send_data(Bytes::from_static(SERVING)).await.is_ok() {
            tokio::time::sleep(INTERVAL).await;
        }
    });
    body.boxed()
}
