//! Lists of addresses and networks.

use std::net::IpAddr;

use ingressd_model::{Cidr, Refused};

/// Parses a comma-separated list of addresses and networks; sorted, without duplicates and without
/// host bits.
pub fn address_list(value: &str) -> Result<Vec<Cidr>, Refused> {
    let mut list = super::entries(value)?.into_iter().map(network).collect::<Result<Vec<_>, _>>()?;
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

/// Parses one address or network, without host bits.
pub fn network(item: &str) -> Result<Cidr, Refused> {
    let item = item.trim();
    let network = item.parse::<Cidr>().ok().or_else(|| item.parse::<IpAddr>().ok().map(Cidr::from));
    network
        .map(|network| without_mapping(network.trunc()))
        .ok_or_else(|| Refused(format!("{} is not an address or network", super::excerpt(item)).into()))
}

/// IPv4 addresses that are written as IPv6 ones become IPv4 addresses: nginx would compare them
/// with no client, so a list would deny none.
fn without_mapping(network: Cidr) -> Cidr {
    let mapped = match network.addr() {
        IpAddr::V6(address) => address.to_ipv4_mapped().zip(network.prefix_len().checked_sub(96)),
        IpAddr::V4(_) => None,
    };
    mapped.and_then(|(address, length)| Cidr::new(address.into(), length).ok()).unwrap_or(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let shown = |text| address_list(text).map(|list| list.iter().map(Cidr::to_string).collect::<Vec<_>>()).ok();
        for (text, expected) in [
            ("10.0.0.5/8", Some(vec!["10.0.0.0/8"])),
            ("192.0.2.1 , 10.0.0.0/8,10.0.0.0/8", Some(vec!["10.0.0.0/8", "192.0.2.1/32"])),
            ("2001:db8::1,::/0", Some(vec!["::/0", "2001:db8::1/128"])),
            ("::ffff:192.0.2.0/120,::ffff:10.1.2.3", Some(vec!["10.1.2.3/32", "192.0.2.0/24"])),
            ("::ffff:0:0/96,::ffff:0:0/95", Some(vec!["0.0.0.0/0", "::fffe:0:0/95"])),
            ("10.0.0.0/33", None),
            ("10.0.0.0/8,, 192.0.2.1, ", Some(vec!["10.0.0.0/8", "192.0.2.1/32"])),
            (",", None),
            (" , ,", None),
            ("10.0.0.0/8;deny all", None),
            ("10.0.0.0/8 192.0.2.1", None),
            ("fe80::1%eth0", None),
            ("all", None),
        ] {
            let expected = expected.map(|list| list.into_iter().map(String::from).collect::<Vec<_>>());
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }
}
