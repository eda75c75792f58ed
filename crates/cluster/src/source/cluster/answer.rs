//! Reads a response of any size: how long it takes is for network and API server to say, but not
//! how long nothing comes.

use std::time::Duration;

use futures_util::{AsyncBufRead as _, AsyncBufReadExt as _};
use http::Request;
use kube::Client;
use tokio::time::timeout;

use super::stream::Failure;

/// Sends a request and reads the text of the response.
///
/// # Errors
///
/// When it is refused, or cut off, or when nothing of it comes for so long.
pub async fn text(client: &Client, request: Request<Vec<u8>>, silence: Duration) -> Result<String, Failure> {
    let late = |_| Failure::TooSlow(silence);
    let body = timeout(silence, client.request_stream(request)).await.map_err(late)??;
    let mut body = std::pin::pin!(body);
    let mut text = Vec::new();
    loop {
        let part = timeout(silence, body.fill_buf()).await.map_err(late)?.map_err(Failure::Cut)?;
        let length = part.len();
        if length == 0 {
            return String::from_utf8(text).map_err(|error| kube::Error::FromUtf8(error).into());
        }
        text.extend_from_slice(part);
        body.as_mut().consume(length);
    }
}
