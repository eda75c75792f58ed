//! Finds listening sockets and their processes, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use procfs::net::{TcpState, tcp, tcp6};
use procfs::process::{FDTarget, Process, all_processes};

use crate::doctor::facts::{Holder, OpenSocket};

/// Every listening TCP socket in our network namespace, by address.
pub fn listeners() -> Vec<OpenSocket> {
    let sockets = [tcp(), tcp6()].into_iter().flatten().flatten();
    let listening: Vec<_> = sockets.filter(|socket| socket.state == TcpState::Listen).collect();
    let holders = holders(&listening.iter().map(|socket| socket.inode).collect());
    let mut by_address = BTreeMap::<SocketAddr, BTreeSet<Holder>>::new();
    for socket in listening {
        let its = holders.get(&socket.inode).into_iter().flatten().cloned();
        by_address.entry(socket.local_address).or_default().extend(its);
    }
    let listener =
        |(address, holders): (SocketAddr, BTreeSet<Holder>)| OpenSocket { address, holders: Vec::from_iter(holders) };
    by_address.into_iter().map(listener).collect()
}

/// The process that listens on this Unix socket; `None` when there is none, or we may not ask.
pub fn behind(path: &Path) -> Option<u32> {
    let stream = UnixStream::connect(path).ok()?;
    let credentials = getsockopt(&stream, PeerCredentials).ok()?;
    // Zero means a process outside of our PID namespace.
    u32::try_from(credentials.pid()).ok().filter(|pid| *pid > 0)
}

/// The processes that have these sockets open, as far as we may see them.
fn holders(inodes: &BTreeSet<u64>) -> BTreeMap<u64, BTreeSet<Holder>> {
    let mut found = BTreeMap::<u64, BTreeSet<Holder>>::new();
    for process in all_processes().into_iter().flatten().flatten() {
        for open in process.fd().into_iter().flatten().flatten() {
            if let FDTarget::Socket(inode) = open.target
                && inodes.contains(&inode)
                && let Some(holder) = holder(&process)
            {
                found.entry(inode).or_default().insert(holder);
            }
        }
    }
    found
}

fn holder(process: &Process) -> Option<Holder> {
    Some(Holder { pid: process.pid().try_into().ok()?, name: process.stat().ok()?.comm })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_of_our_own_is_seen_with_its_holder() {
        let mut seen = 0;
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = std::net::TcpListener::bind(address) else { continue };
            let address = socket.local_addr().unwrap();
            let client = std::net::TcpStream::connect(address).unwrap();
            let found = listeners();
            let listener = found.iter().find(|listener| listener.address == address).expect("it listens");
            assert!(listener.holders.iter().any(|holder| holder.pid == std::process::id()), "{found:?}");
            let other = client.local_addr().unwrap();
            assert!(!found.iter().any(|listener| listener.address == other), "it is connected");
            seen += 1;
        }
        assert!(seen > 0);
    }
}
