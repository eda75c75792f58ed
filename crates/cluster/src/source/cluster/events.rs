//! Reads the events of a watch, line by line, however deep their objects are nested.

use std::error::Error;
use std::io;

use futures_util::{AsyncBufReadExt as _, Stream, StreamExt as _};
use http::Request;
use kube::Client;
use kube::api::WatchEvent;
use kube::core::Status;
use serde_json::Value;

use super::depth;

/// How many nested causes of an error are looked at.
const MOST_CAUSES: usize = 16;

/// Begins a watch. Its events end when the connection ends, with or without an error.
///
/// # Errors
///
/// When the watch is refused, or the API server cannot be reached.
pub async fn begin(
    client: &Client,
    request: Request<Vec<u8>>,
) -> Result<impl Stream<Item = Result<WatchEvent<Value>, kube::Error>> + use<>, kube::Error> {
    let lines = client.request_stream(request).await?.lines();
    Ok(lines.filter_map(|line| std::future::ready(read(line))))
}

/// The event in a line; `None` when the end of the connection cut the line.
fn read(line: io::Result<String>) -> Option<Result<WatchEvent<Value>, kube::Error>> {
    let line = match line {
        Ok(line) => line,
        Err(error) if is_end(&error) => return None,
        Err(error) => return Some(Err(kube::Error::ReadEvents(error))),
    };
    match depth::read(&line) {
        Ok(event) => Some(Ok(event)),
        Err(error) if error.is_eof() => None,
        Err(error) => Some(Err(match depth::read::<Status>(&line) {
            Ok(status) => kube::Error::Api(status.boxed()),
            Err(_) => kube::Error::SerdeError(error),
        })),
    }
}

/// Whether the error only means that the connection ended: connections of watches end at any time,
/// even within a line.
fn is_end(error: &io::Error) -> bool {
    let is_end = |error: &io::Error| matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::TimedOut);
    let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
    let mut causes = std::iter::successors(inner, |&cause| cause.source()).take(MOST_CAUSES);
    is_end(error)
        || causes.any(|cause| {
            // The decoder of chunked bodies reports it only as text.
            cause.downcast_ref::<io::Error>().is_some_and(is_end)
                || cause.to_string().contains("unexpected EOF during chunk")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_end_end_the_watch_and_are_no_failure() {
        let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "peer closed");
        for error in [cut(), io::Error::other(cut()), io::Error::other("unexpected EOF during chunk size line")] {
            assert!(read(Err(error)).is_none());
        }
        assert!(matches!(read(Err(io::Error::other("broken"))), Some(Err(kube::Error::ReadEvents(_)))));
    }

    #[test]
    fn a_line_is_an_event_or_says_why_it_is_none() {
        for cut in ["", r#"{"type":"ADDED","obj"#] {
            assert!(read(Ok(cut.to_owned())).is_none());
        }
        let status = r#"{"kind":"Status","status":"Failure","code":410}"#;
        assert!(matches!(read(Ok(status.to_owned())), Some(Err(kube::Error::Api(status))) if status.code == 410));
        assert!(matches!(read(Ok("7".to_owned())), Some(Err(kube::Error::SerdeError(_)))));
        let bookmark =
            r#"{"object":{"apiVersion":"v1","kind":"Service","metadata":{"resourceVersion":"9"}},"type":"BOOKMARK"}"#;
        assert!(matches!(read(Ok(bookmark.to_owned())), Some(Ok(WatchEvent::Bookmark(_)))));
    }
}
