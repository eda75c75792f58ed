//! The client's end of a WebSocket.

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::connection::{Failure, Version, tcp};
use super::{Request, peer};

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// An open WebSocket.
pub struct WebSocket(WebSocketStream<Box<dyn Stream>>);

pub async fn open(request: Request) -> Result<WebSocket, Failure> {
    let stream = tcp(request.address(), &request.from).await?;
    let stream: Box<dyn Stream> = match request.is_tls() {
        false => Box::new(stream),
        true => {
            let tls = peer::handshake(stream, request.sni.as_deref(), request.shows.as_ref(), Version::Http1);
            Box::new(tls.await.map_err(Failure::Tls)?)
        }
    };
    let refused = |error: tokio_tungstenite::tungstenite::Error| Failure::WebSocket(error.to_string());
    let url = request.uri.to_string().replacen("http", "ws", 1);
    let mut upgrade = url.into_client_request().map_err(refused)?;
    upgrade.headers_mut().extend(request.headers);
    let (socket, _) = client_async(upgrade, stream).await.map_err(refused)?;
    Ok(WebSocket(socket))
}

impl WebSocket {
    /// Sends a text and waits for the next message.
    pub async fn say(&mut self, text: &str) -> Result<String, Failure> {
        let failed = |error: tokio_tungstenite::tungstenite::Error| Failure::WebSocket(error.to_string());
        self.0.send(Message::text(text)).await.map_err(failed)?;
        let message = self.0.next().await.ok_or_else(|| Failure::WebSocket("it was closed".to_owned()))?;
        Ok(message.map_err(failed)?.into_text().map_err(failed)?.to_string())
    }

    /// Waits until the other end closes it.
    pub async fn closed(mut self) {
        while let Some(Ok(_)) = self.0.next().await {}
    }
}
