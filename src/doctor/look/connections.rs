//! Tries connections to a sample of addresses, each with a time limit.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpStream;

use crate::doctor::facts::Reached;

/// The time limit of a connection attempt.
const PATIENCE: Duration = Duration::from_secs(2);

/// Tries all of them at the same time, without sending anything.
pub async fn attempt(addresses: Vec<SocketAddr>) -> Vec<(SocketAddr, Reached)> {
    join_all(addresses.into_iter().map(async |address| (address, reach(address).await))).await
}

async fn reach(address: SocketAddr) -> Reached {
    match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
        Ok(Ok(_)) => Reached::Yes,
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => Reached::Refused,
        Ok(Err(error)) => Reached::No(error.to_string().into()),
        Err(_) => Reached::No(format!("no answer within {} s", PATIENCE.as_secs()).into()),
    }
}

/// At most this many of the items, evenly distributed.
pub fn spread<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    let step = all.len().div_ceil(most.max(1)).max(1);
    all.iter().copied().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all() {
        let all: Vec<_> = (0..10).collect();
        assert_eq!(spread(&all, 4), [0, 3, 6, 9]);
        assert_eq!(spread(&all, 20), all);
        assert!(spread::<u8>(&[], 4).is_empty());
    }

    #[tokio::test]
    async fn who_answers_is_distinguished_from_who_refuses() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let open = listener.local_addr().unwrap();
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let closed = other.local_addr().unwrap();
        drop(other);
        assert_eq!(attempt(vec![open, closed]).await, [(open, Reached::Yes), (closed, Reached::Refused)]);
    }
}
