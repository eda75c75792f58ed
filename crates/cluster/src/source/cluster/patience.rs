//! Copies `Retry-After` of a refusal from the header to the body, where the client library reads
//! it.

use http::header::RETRY_AFTER;
use http::{HeaderMap, Response};
use http_body_util::{BodyExt as _, Limited};
use kube::client::Body;
use kube::core::Status;
use kube::core::response::StatusDetails;

/// The most bytes that are read of a refusal's body.
const LONGEST: usize = 64 * 1024;

/// Rewrites a refusal in plain text as a `Status`. A busy API server responds in plain text with
/// the header `Retry-After`, which the client library drops.
pub async fn worded(answer: Response<Body>) -> Response<Body> {
    let code = answer.status();
    if !code.is_client_error() && !code.is_server_error() {
        return answer;
    }
    let Some(seconds) = seconds(answer.headers()) else { return answer };
    let (mut head, body) = answer.into_parts();
    let said = Limited::new(body, LONGEST).collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut status = serde_json::from_slice(&said).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&said);
        let text = if text.trim().is_empty() { code.to_string() } else { text.trim().to_owned() };
        Status::failure(&text, "").with_code(code.as_u16())
    });
    let details = status.details.get_or_insert_with(|| StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    });
    details.retry_after_seconds = details.retry_after_seconds.max(seconds);
    head.headers.remove(http::header::CONTENT_LENGTH);
    // Serialising strings and numbers cannot fail.
    Response::from_parts(head, Body::from(serde_json::to_vec(&status).unwrap_or_default()))
}

fn seconds(headers: &HeaderMap) -> Option<u32> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_header_of_a_refusal_is_read_and_nothing_else_changes() {
        let object = r#"{"kind":"Status","message":"m","reason":"r","code":429,"details":{"retryAfterSeconds":1}}"#;
        for (code, header, body, expected) in [
            (
                429,
                Some("3"),
                "Too many requests, please try again later.\n",
                Some(("Too many requests, please try again later.", 3)),
            ),
            (503, Some("2"), "", Some(("503 Service Unavailable", 2))),
            (429, Some("7"), object, Some(("m", 7))),
            (429, Some("0"), object, Some(("m", 1))),
            (429, Some("Sat, 21 Nov 2026 19:00:00 GMT"), "text", None),
            (429, None, "text", None),
            (200, Some("3"), "text", None),
        ] {
            let mut answer = Response::builder().status(code);
            if let Some(header) = header {
                answer = answer.header("retry-after", header);
            }
            let answer = worded(answer.body(Body::from(body.as_bytes().to_vec())).unwrap()).await;
            assert_eq!(answer.status(), code);
            let bytes = answer.into_body().collect().await.unwrap().to_bytes();
            let Some((message, seconds)) = expected else {
                assert_eq!(bytes, body, "{code} {header:?}");
                continue;
            };
            let status: Status = serde_json::from_slice(&bytes).unwrap();
            assert_eq!((&*status.message, status.code), (message, code));
            assert_eq!(status.details.unwrap().retry_after_seconds, seconds);
        }
    }
}
