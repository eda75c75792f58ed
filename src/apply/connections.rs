//! How many clients are connected to ports of this host, old workers' included; it must not know whose connections they are.

use std::fs;
use std::path::Path;

/// The state of a connection that is open at both ends, in the kernel's tables.
const ESTABLISHED: &str = "01";

/// Counts the open connections to these ports in the network of this process; `None` when the kernel does not tell.
pub fn established(proc: &Path, ports: &[u16]) -> Option<usize> {
    let tables = ["tcp", "tcp6"].map(|name| fs::read_to_string(proc.join("self/net").join(name)));
    match tables {
        [Ok(four), Ok(six)] => Some(count(&four, ports) + count(&six, ports)),
        // A kernel without one of the families has no table of it.
        [Ok(one), Err(_)] | [Err(_), Ok(one)] => Some(count(&one, ports)),
        [Err(_), Err(_)] => None,
    }
}

/// Lines are a number, the address here, the address there and the state; addresses end in `:` and the port.
fn count(table: &str, ports: &[u16]) -> usize {
    let is_counted = |line: &&str| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let port = fields.next().and_then(|here| u16::from_str_radix(here.rsplit_once(':')?.1, 16).ok());
        port.is_some_and(|port| ports.contains(&port)) && fields.nth(1) == Some(ESTABLISHED)
    };
    table.lines().skip(1).filter(is_counted).count()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_is_open_at_a_port_is_counted_and_nothing_else() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        let four = "   0: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0 0 1 1\n   \
                    1: 0100007F:0050 0200007F:C350 01 00000000:00000000 00:00000000 00000000     0 0 2 1\n   \
                    2: 0100007F:01BB 0200007F:C351 01 00000000:00000000 00:00000000 00000000     0 0 3 1\n   \
                    3: 0100007F:C350 0100007F:0050 01 00000000:00000000 00:00000000 00000000     0 0 4 1\n   \
                    4: 0100007F:0050 0200007F:C352 06 00000000:00000000 00:00000000 00000000     0 0 0 1\n   \
                    5: 0100007F:1F90 0200007F:C353 01 00000000:00000000 00:00000000 00000000     0 0 5 1";
        assert_eq!(count(&format!("{head}\n{four}\n"), &[80, 443]), 2);
        assert_eq!(count(head, &[80]), 0);
    }

    #[test]
    fn the_kernel_tells_of_both_families() {
        let mut held = Vec::new();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            let of_port = || established(Path::new("/proc"), &[port]).unwrap();
            assert_eq!(of_port(), 0, "{address}");
            held.push((TcpStream::connect(listener.local_addr().unwrap()).unwrap(), listener));
            assert_eq!(of_port(), 1, "{address}");
        }
        assert!(!held.is_empty());
    }
}
