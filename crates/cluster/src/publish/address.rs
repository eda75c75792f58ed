//! An address at which clients reach a node, as it stands in the status of an Ingress.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::sync::Arc;

use ingressd_model::is_label;

/// Longest host name in bytes.
const LONGEST_NAME: usize = 253;

/// An address of a node, checked to be reachable from other machines in principle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// An IP address.
    Ip(IpAddr),
    /// A DNS name.
    Name(Arc<str>),
}

/// Why an address cannot be published; one clause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

impl Refused {
    pub(super) fn because(why: String) -> Self {
        Refused(why)
    }
}

impl TryFrom<IpAddr> for Address {
    type Error = Refused;

    fn try_from(address: IpAddr) -> Result<Self, Refused> {
        let address = address.to_canonical();
        let (link_local, reserved) = match address {
            IpAddr::V4(four) => (
                four.is_link_local() || four == Ipv4Addr::BROADCAST,
                // "This network", and the range that is reserved for future use.
                four.octets()[0] == 0 || four.octets()[0] >= 240,
            ),
            // Discard-only addresses, and site-local ones, which are deprecated.
            IpAddr::V6(six) => (
                six.is_unicast_link_local(),
                six.segments()[..4] == [0x100, 0, 0, 0] || six.segments()[0] & 0xffc0 == 0xfec0,
            ),
        };
        let why = match () {
            () if address.is_unspecified() => "means every address of a host",
            () if address.is_loopback() => "is a loopback address",
            () if address.is_multicast() => "is a multicast address",
            () if link_local => "means nothing beyond one network segment",
            () if reserved => "is reserved",
            () => return Ok(Address::Ip(address)),
        };
        Err(Refused(format!("{address} {why}: clients on other machines cannot use it")))
    }
}

impl FromStr for Address {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Self, Refused> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return address.try_into();
        }
        // A text whose last label is a number was meant to be an IP address.
        let is_numeric = text.rsplit('.').next().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        match text.len() <= LONGEST_NAME && text.split('.').all(is_label) && !is_numeric && text != "localhost" {
            true => Ok(Address::Name(text.into())),
            false => Err(Refused(format!("{text:?} is neither an IP address nor a lower-case DNS name"))),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(address) => address.fmt(formatter),
            Address::Name(name) => name.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_other_machines_can_use_is_an_address() {
        for (text, expected) in [
            ("192.0.2.1", Some("192.0.2.1")),
            ("10.1.2.3", Some("10.1.2.3")),
            ("2001:db8::1", Some("2001:db8::1")),
            ("::ffff:192.0.2.1", Some("192.0.2.1")),
            ("edge-1.example.com", Some("edge-1.example.com")),
            ("edge", Some("edge")),
            ("0.0.0.0", None),
            ("127.0.0.1", None),
            ("::1", None),
            ("169.254.1.1", None),
            ("fe80::1", None),
            ("224.0.0.1", None),
            ("255.255.255.255", None),
            ("0.1.2.3", None),
            ("240.0.0.1", None),
            ("ff02::1", None),
            ("::", None),
            ("fec0::1", None),
            ("100::1", None),
            ("fd00::1", Some("fd00::1")),
            ("192.0.2.300", None),
            ("192.0.2.1/24", None),
            ("Edge.example.com", None),
            ("edge_1.example.com", None),
            ("-edge.example.com", None),
            ("edge..example.com", None),
            ("*.example.com", None),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Address>().ok().map(|address| address.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn they_are_ordered_by_family_and_names_come_last() {
        let mut addresses: Vec<Address> =
            ["edge.example", "2001:db8::1", "192.0.2.9", "192.0.2.10"].map(|text| text.parse().unwrap()).to_vec();
        addresses.sort();
        let texts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["192.0.2.9", "192.0.2.10", "2001:db8::1", "edge.example"]);
    }
}
