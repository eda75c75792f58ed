//! Raw bytes, for requests that no well-behaved client would send.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connection::{Start, Version, tcp};
use super::peer;
use crate::namespace::Namespace;
use crate::{nginx, wait};

/// Sends bytes and returns everything that comes back until the other end closes.
///
/// # Panics
///
/// When it does not close in time.
pub async fn raw(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    nginx::changed(Namespace::current().number(), to.ip()).await;
    let exchange = async {
        let mut stream = tcp(to, &Start::default()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        // A reset after the answer is an end too.
        let _ = stream.read_to_end(&mut answer).await;
        answer
    };
    tokio::time::timeout(wait::LIMIT, exchange).await.expect("the other end closes the connection")
}

/// Sends bytes over TLS on which both ends agree to speak HTTP/2, and returns what comes back
/// until it is `enough`, or the other end closes.
///
/// # Panics
///
/// When it is not in time.
pub async fn raw_http2(to: SocketAddr, sni: &str, bytes: &[u8], enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    nginx::changed(Namespace::current().number(), to.ip()).await;
    let exchange = async {
        let stream = tcp(to, &Start::default()).await.unwrap();
        let mut stream = peer::handshake(stream, Some(sni), None, Version::Http2).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        while !enough(&answer) && stream.read_buf(&mut answer).await.unwrap_or_default() > 0 {}
        answer
    };
    tokio::time::timeout(wait::LIMIT, exchange).await.expect("the other end answers, or closes the connection")
}
