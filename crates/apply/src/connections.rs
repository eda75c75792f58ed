//! Counts the clients that are connected to ports of this host, including those of old workers.

use std::collections::HashSet;

use procfs::net::{TcpNetEntry, TcpState, tcp, tcp6};
use procfs::{ProcError, ProcResult};

/// Counts the open connections to these ports in the network namespace of this process; `None`
/// when the kernel does not report them.
pub fn established(ports: &[u16]) -> Option<usize> {
    let is_counted =
        |entry: &&TcpNetEntry| entry.state == TcpState::Established && ports.contains(&entry.local_address.port());
    let count = |entries: ProcResult<Vec<TcpNetEntry>>| match entries {
        // The kernel's table is read in parts, and a connection may stand in two of them.
        Ok(entries) => {
            let counted = entries.iter().filter(is_counted).map(|entry| (entry.local_address, entry.remote_address));
            Some(counted.collect::<HashSet<_>>().len())
        }
        // A kernel without IPv4 or IPv6 has no table of it.
        Err(ProcError::NotFound(_)) => Some(0),
        Err(_) => None,
    };
    Some(count(tcp())? + count(tcp6())?)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_is_open_at_a_port_is_counted_and_nothing_else() {
        let mut held = Vec::new();
        for address in ["127.0.0.1", "::1"] {
            // The kernel gives these ports to no client.
            let mut ports = 20_000..30_000;
            let Some(listener) = ports.find_map(|port| TcpListener::bind((address, port)).ok()) else { continue };
            let there = listener.local_addr().unwrap();
            let of_port = |port| established(&[port]).unwrap();
            assert_eq!(of_port(there.port()), 0, "{address}: it only listens");
            let client = TcpStream::connect(there).unwrap();
            let port = client.local_addr().unwrap().port();
            assert_eq!(of_port(there.port()), 1, "{address}");
            assert!(of_port(port) > 0, "{address}: the other end is one of its own port");
            drop(listener.accept().unwrap());
            // One end is closed.
            assert_eq!(of_port(there.port()), 0, "{address}");
            held.push((client, listener));
        }
        assert!(!held.is_empty());
    }
}
