//! Keys that lead to a chosen endpoint through nginx's consistent hashing. It must not know why
//! somebody chooses one.
//!
//! nginx puts each server of a group at 160 points of a ring for each unit of its weight, as its
//! manual documents by naming a library with which its rings are compatible. A request goes to the
//! first point that is not below the CRC-32 of its key. Where the two are equal, no other server
//! can come between them. A CRC is no digest: a key with a given CRC is computed.

use std::collections::HashMap;
use std::net::SocketAddr;

use ingressd_model::Endpoint;

/// How many points an endpoint has for each unit of its weight.
const POINTS: usize = 160;

/// The digits of a key, of which three bits each may differ: the fewest with which every CRC has a
/// key.
const DIGITS: usize = 12;

/// The digits of the key with which the computation begins.
const ZERO: [u8; DIGITS] = [b'0'; DIGITS];

/// For each endpoint of a group, keys that lead to it, at most this many. While the endpoint
/// exists, no other one gets their requests, whichever are added or removed.
pub fn keys(endpoints: &[Endpoint], most: usize) -> Vec<Vec<String>> {
    let rings: Vec<Vec<u32>> = endpoints.iter().map(points).collect();
    let mut owners = HashMap::<u32, u32>::new();
    rings.iter().flatten().for_each(|point| *owners.entry(*point).or_default() += 1);
    let keys = Keys::new();
    // nginx keeps one of several servers at the same point.
    let is_own = |point: &&u32| owners.get(point) == Some(&1);
    let chosen = |ring: &Vec<u32>| match ring.iter().any(|point| is_own(&point)) {
        true => ring.iter().filter(is_own).take(most).map(|point| keys.of(*point)).collect(),
        // All points of two endpoints are the same: with one key, all requests go to one of them.
        false => ring.iter().take(1).map(|point| keys.of(*point)).collect(),
    };
    rings.iter().map(chosen).collect()
}

/// The points of an endpoint, in the order in which nginx computes each from the one before.
fn points(endpoint: &Endpoint) -> Vec<u32> {
    let base = base(endpoint.address);
    let next = |before: &u32| Some(!crc(base, &before.to_le_bytes()));
    let number = POINTS * usize::try_from(endpoint.weight).unwrap_or(1);
    std::iter::successors(next(&0), next).take(number).collect()
}

/// The CRC of host and port as they are written, before it is finished.
fn base(address: SocketAddr) -> u32 {
    let text = address.to_string();
    let (host, port) = text.rsplit_once(':').unwrap_or((&text, ""));
    [host.as_bytes(), &[0], port.as_bytes()].into_iter().fold(!0, crc)
}

/// Continues a CRC-32 with these bytes.
fn crc(before: u32, bytes: &[u8]) -> u32 {
    let shifted = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    bytes.iter().fold(before, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), shifted))
}

/// For each bit of a CRC, from the highest: how the CRC changes, with no higher bit, and which
/// bits of the digits have to change for it. All are independent of the other digits, because a
/// CRC is linear.
struct Keys([(u32, u64); 32]);

impl Keys {
    fn new() -> Self {
        let mut changes = [(0, 0); 32];
        for place in 0..3 * DIGITS {
            let mut changed = ZERO;
            changed[place / 3] ^= 1 << (place % 3);
            let (mut crcs, mut places) = (crc(!0, &changed) ^ crc(!0, &ZERO), 1 << place);
            // Gaussian elimination.
            while crcs != 0 {
                let known = &mut changes[crcs.leading_zeros() as usize];
                if known.0 == 0 {
                    *known = (crcs, places);
                    break;
                }
                (crcs, places) = (crcs ^ known.0, places ^ known.1);
            }
        }
        Keys(changes)
    }

    /// The key with this CRC.
    fn of(&self, point: u32) -> String {
        let start = (point ^ !crc(!0, &ZERO), 0);
        let (_, places) = self.0.iter().fold(start, |(rest, places), (crcs, changed)| {
            let has_bit = rest.leading_zeros() == crcs.leading_zeros();
            if has_bit { (rest ^ crcs, places ^ changed) } else { (rest, places) }
        });
        (0..DIGITS).map(|digit| char::from(b'0' | (places >> (3 * digit) & 7) as u8)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(address: &str, weight: u32) -> Endpoint {
        Endpoint { address: address.parse().unwrap(), weight }
    }

    #[test]
    fn a_key_has_the_crc_of_its_point() {
        assert_eq!(!crc(!0, b"123456789"), 0xcbf4_3926, "the check value of CRC-32");
        let keys = Keys::new();
        let mixed = (0..1000_u32).map(|number| number.wrapping_mul(0x9e37_79b9));
        for point in mixed.chain([0, 1, u32::MAX, 1 << 31]) {
            let key = keys.of(point);
            assert_eq!((key.len(), !crc(!0, key.as_bytes())), (DIGITS, point), "{key}");
            assert!(key.bytes().all(|digit| (b'0'..b'8').contains(&digit)), "{key}");
        }
    }

    #[test]
    fn a_key_leads_to_its_endpoint_whichever_others_there_are() {
        let all: Vec<_> = (1..40)
            .map(|number| match number % 3 {
                0 => endpoint(&format!("[fd00::{number:x}]:8080"), 1),
                _ => endpoint(&format!("10.0.{number}.1:{}", 80 + number), 1 + number % 2),
            })
            .collect();
        let ring = all.iter().flat_map(|one| points(one).into_iter().map(move |point| (point, *one)));
        let mut ring: Vec<_> = ring.collect();
        ring.sort_unstable();
        // The first point that is not below the CRC of the key, as nginx searches it.
        let found = |key: &String| {
            let at = ring.partition_point(|(point, _)| *point < !crc(!0, key.as_bytes()));
            ring[at % ring.len()].1
        };
        for some in [&all[..1], &all[..7], &all[..]] {
            for (one, keys) in some.iter().zip(keys(some, 16)) {
                assert_eq!(keys.len(), 16);
                assert!(keys.iter().all(|key| found(key) == *one), "{one:?}");
            }
        }
    }

    #[test]
    fn a_point_of_two_endpoints_leads_to_neither() {
        let both = ["10.0.8.8:80", "10.0.10.86:80"].map(|address| endpoint(address, 1));
        let shared = points(&both[0])[5];
        assert_eq!(shared, points(&both[1])[15]);
        let shared = Keys::new().of(shared);
        let alone = both.map(|one| keys(&[one], 16).remove(0));
        assert!(alone.iter().all(|keys| keys.len() == 16 && keys.contains(&shared)), "{alone:?}");
        let together = keys(&both, 16);
        assert!(together.iter().all(|keys| keys.len() == 16 && !keys.contains(&shared)), "{together:?}");
        let pair = ["10.0.88.61:80", "10.0.222.163:3000"].map(|address| endpoint(address, 1));
        assert_eq!(points(&pair[0]), points(&pair[1]));
        let [one, other] = &keys(&pair, 16)[..] else { panic!("two endpoints") };
        assert!(one.len() == 1 && one == other, "{one:?} {other:?}");
    }
}
