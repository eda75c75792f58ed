//! Who listens on this host, from `/proc`; it must not know who should.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::doctor::facts::{Holder, Listener};

/// The state of a socket that takes connections, in the words of `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// Every socket that takes TCP connections in our network, by address.
pub fn listeners(proc: &Path) -> Vec<Listener> {
    let read = |name: &str| fs::read_to_string(proc.join("net").join(name)).unwrap_or_default();
    let sockets: Vec<_> = [read("tcp"), read("tcp6")].iter().flat_map(|text| parse(text)).collect();
    let holders = holders(proc, &sockets.iter().map(|(_, inode)| *inode).collect());
    let mut by_address = BTreeMap::<SocketAddr, BTreeSet<Holder>>::new();
    for (address, inode) in sockets {
        by_address.entry(address).or_default().extend(holders.get(&inode).into_iter().flatten().cloned());
    }
    let listener =
        |(address, holders): (SocketAddr, BTreeSet<Holder>)| Listener { address, holders: Vec::from_iter(holders) };
    by_address.into_iter().map(listener).collect()
}

/// Addresses and numbers of listening sockets in a table of `/proc/net`.
fn parse(table: &str) -> Vec<(SocketAddr, u64)> {
    let line = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (local, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
        (*state == LISTENS).then(|| Some((address(local)?, inode.parse().ok()?)))?
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// An address as the kernel writes it: words of 32 bits, each in the order of this machine's bytes.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |from: usize| Some(u32::from_str_radix(address.get(from..from + 8)?, 16).ok()?.to_ne_bytes());
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for part in 0..4 {
                bytes[4 * part..4 * part + 4].copy_from_slice(&word(8 * part)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

/// The processes that have these sockets open, as far as we may see them.
fn holders(proc: &Path, inodes: &BTreeSet<u64>) -> BTreeMap<u64, BTreeSet<Holder>> {
    let mut found = BTreeMap::<u64, BTreeSet<Holder>>::new();
    for process in fs::read_dir(proc).into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        for open in fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let Some(inode) = fs::read_link(open.path()).ok().and_then(|link| socket(&link)) else { continue };
            if inodes.contains(&inode) {
                let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                found.entry(inode).or_default().insert(Holder { pid, name: name.trim().to_owned() });
            }
        }
    }
    found
}

/// The number in `socket:[4711]`.
fn socket(link: &Path) -> Option<u64> {
    link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_sockets_of_both_families_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:0051 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n\
            2: 00000000000000000000000001000000:01BB 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 4713 1\n";
        assert_eq!(parse(table), [("127.0.0.1:80".parse().unwrap(), 4711), ("[::1]:443".parse().unwrap(), 4713)]);
    }

    #[test]
    fn a_socket_of_our_own_is_seen_with_its_holder() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let found = listeners(Path::new("/proc"));
        let found = found.iter().find(|listener| listener.address == address).expect("it listens");
        assert!(found.holders.iter().any(|holder| holder.pid == std::process::id()), "{found:?}");
    }
}
