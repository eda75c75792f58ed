//! Which ports programs of this host use, as the kernel reports them.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use procfs::net::{TcpState, tcp, tcp6, udp, udp6};

use super::process::reported;
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
    let connections = [reported(tcp())?, reported(tcp6())?].into_iter().flatten().flatten();
    let connections = connections.filter(|entry| entry.state == TcpState::Listen);
    let connections = connections.map(|entry| (Transport::Tcp, entry.local_address));
    let datagrams = [reported(udp())?, reported(udp6())?].into_iter().flatten().flatten();
    let datagrams = datagrams.map(|entry| (Transport::Udp, entry.local_address));
    let is_asked_for = |(transport, address): &(Transport, SocketAddr)| {
        ports.contains(&Port { transport: *transport, number: address.port() })
    };
    Ok(connections.chain(datagrams).filter(is_asked_for).collect())
}

/// How long nginx may have sockets without a PID file: while it starts, and while it ends.
const SETTLING: Duration = Duration::from_secs(2);

/// The time between two looks meanwhile.
const LOOK: Duration = Duration::from_millis(20);

/// What a look at the ports shows: whether nginx runs, and who else listens on them.
pub type Look = io::Result<(bool, BTreeSet<(Transport, SocketAddr)>)>;

/// What is true of the ports when nginx neither starts nor ends: until then its own sockets look
/// like those of another program. What is `known` of other programs is believed at once.
///
/// # Errors
///
/// Those of a look.
pub fn settled(
    known: &BTreeSet<(Transport, SocketAddr)>,
    mut look: impl FnMut() -> Look,
) -> io::Result<BTreeSet<(Transport, SocketAddr)>> {
    let began = Instant::now();
    loop {
        let (runs, occupied) = look()?;
        if runs || occupied.is_subset(known) || began.elapsed() > SETTLING {
            return Ok(occupied);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;

    fn reported(ports: &BTreeSet<Port>) -> BTreeSet<(Transport, SocketAddr)> {
        occupied(ports).unwrap()
    }

    #[test]
    fn what_listens_is_reported_and_nothing_else() {
        let ports = |transport, address: SocketAddr| BTreeSet::from([Port { transport, number: address.port() }]);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = listener.local_addr().unwrap();
        assert_eq!(reported(&ports(Transport::Tcp, there)), BTreeSet::from([(Transport::Tcp, there)]));
        let client = TcpStream::connect(there).unwrap();
        assert_eq!(reported(&ports(Transport::Tcp, client.local_addr().unwrap())), BTreeSet::new());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let there = socket.local_addr().unwrap();
        assert_eq!(reported(&ports(Transport::Udp, there)), BTreeSet::from([(Transport::Udp, there)]));
        drop(socket);
        assert_eq!(reported(&ports(Transport::Udp, there)), BTreeSet::new());
    }

    #[test]
    fn an_nginx_that_starts_or_ends_is_no_other_program() {
        let socket = (Transport::Tcp, SocketAddr::from(([0, 0, 0, 0], 5432)));
        let (nothing, one) = (BTreeSet::new(), BTreeSet::from([socket]));
        let rows: [(&str, &BTreeSet<_>, Vec<_>, &BTreeSet<_>, usize); 5] = [
            ("it runs", &nothing, vec![(true, &one)], &one, 1),
            (
                "it starts: its PID file comes",
                &nothing,
                vec![(false, &one), (false, &one), (true, &nothing)],
                &nothing,
                3,
            ),
            ("it ends: its sockets go", &nothing, vec![(false, &one), (false, &nothing)], &nothing, 2),
            ("it is away, and nobody has the port", &nothing, vec![(false, &nothing)], &nothing, 1),
            ("it is away, and another program has the port", &one, vec![(false, &one)], &one, 1),
        ];
        for (what, known, looks, expected, needed) in rows {
            let mut looks = looks.into_iter();
            let mut count = 0;
            let found = settled(known, || {
                count += 1;
                let (runs, occupied) = looks.next().expect("no more looks than needed");
                Ok((runs, occupied.clone()))
            });
            assert_eq!((found.unwrap(), count), (expected.clone(), needed), "{what}");
        }
        // A program that stays is believed in the end.
        assert_eq!(settled(&nothing, || Ok((false, one.clone()))).unwrap(), one);
    }
}
