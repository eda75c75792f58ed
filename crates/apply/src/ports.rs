//! Which ports programs of this host use, as the kernel reports them.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use procfs::net::{TcpState, tcp, tcp6, udp, udp6};

use super::process::told;
use ingressd_model::{Port, Transport};

/// The sockets with these ports in the network namespace of this process that accept connections
/// or datagrams. Empty where the kernel does not report them.
///
/// # Errors
///
/// When that could not be found out, see [`is_shortage`](crate::is_shortage).
pub fn occupied(ports: &BTreeSet<Port>) -> io::Result<BTreeSet<(Transport, SocketAddr)>> {
    if ports.is_empty() {
        return Ok(BTreeSet::new());
    }
    let connections = [told(tcp())?, told(tcp6())?].into_iter().flatten().flatten();
    let connections = connections.filter(|entry| entry.state == TcpState::Listen);
    let connections = connections.map(|entry| (Transport::Tcp, entry.local_address));
    let datagrams = [told(udp())?, told(udp6())?].into_iter().flatten().flatten();
    let datagrams = datagrams.map(|entry| (Transport::Udp, entry.local_address));
    let is_asked_for = |(transport, address): &(Transport, SocketAddr)| {
        ports.contains(&Port { transport: *transport, number: address.port() })
    };
    Ok(connections.chain(datagrams).filter(is_asked_for).collect())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn told(ports: &BTreeSet<Port>) -> BTreeSet<(Transport, SocketAddr)> {
        occupied(ports).unwrap()
    }

    #[test]
    fn what_listens_is_told_and_nothing_else() {
        let ports = |transport, address: SocketAddr| BTreeSet::from([Port { transport, number: address.port() }]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        assert_eq!(told(&ports(Transport::Tcp, there)), BTreeSet::from([(Transport::Tcp, there)]));
        let client = TcpStream::connect(there).unwrap();
        assert_eq!(told(&ports(Transport::Tcp, client.local_addr().unwrap())), BTreeSet::new());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = socket.local_addr().unwrap();
        assert_eq!(told(&ports(Transport::Udp, there)), BTreeSet::from([(Transport::Udp, there)]));
        drop(socket);
        assert_eq!(told(&ports(Transport::Udp, there)), BTreeSet::new());
    }
}
