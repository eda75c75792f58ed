//! Bytes as they are, for requests that no decent client would send; it must not know HTTP.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connection::{Start, tcp};
use crate::rig::wait;

/// Sends bytes and returns everything that comes back until the other end closes.
///
/// # Panics
///
/// When it does not close in time.
pub async fn raw(to: SocketAddr, bytes: &[u8]) -> Vec<u8> {
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
