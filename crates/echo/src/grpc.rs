//! A hand-written implementation of one gRPC method: `grpc.health.v1.Health/Check`.

use std::convert::Infallible;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;

/// The path of the method.
pub const CHECK: &str = "/grpc.health.v1.Health/Check";

/// A message `HealthCheckResponse { status: SERVING }`: not compressed, two bytes long, field 1 is
/// 1.
const SERVING: &[u8] = &[0, 0, 0, 0, 2, 0x08, 0x01];

/// Whether a request is a gRPC call.
pub fn is_call(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Responds to a call: `SERVING` for the known method, `UNIMPLEMENTED` for all others.
pub fn answer(path: &str) -> Response<BoxBody<Bytes, Infallible>> {
    let (message, status) = match path {
        CHECK => (Bytes::from_static(SERVING), "0"),
        _ => (Bytes::new(), "12"),
    };
    let trailers =
        HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from_static(status))]);
    let body = Full::new(message).with_trailers(std::future::ready(Some(Ok(trailers)))).boxed();
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}
