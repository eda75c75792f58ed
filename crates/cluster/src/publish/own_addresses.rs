//! Which addresses this node publishes, from the settings and from what is known about host and
//! cluster.

use std::net::IpAddr;

use super::address::Address;
use super::followed::Followed;
use super::host::Host;
use super::member::MOST_ADDRESSES;
use super::options::{Announced, Mode, NodeAddress, Options};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Kind, ObjectId, Origin};

/// The addresses that this node publishes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnAddresses {
    /// The addresses, sorted, without duplicates.
    pub addresses: Vec<Address>,
    /// Entries that give no address: the key of the setting, and one clause that says why.
    pub missing: Vec<(&'static str, String)>,
}

/// The key of the setting that asks for addresses.
const ADDRESSES: &str = "publish.addresses";
const SERVICE: &str = "publish.service";

impl OwnAddresses {
    /// The addresses; `None` while some are not known yet. `node` is the name of the Node object
    /// of this host, or of the Service, and `object` is its state.
    pub fn of(options: &Options, node: &str, host: &Host, object: &Followed) -> Option<Self> {
        let mut found = OwnAddresses::default();
        match &options.service {
            Some((namespace, name)) if options.mode == Mode::Service => {
                found.copy(SERVICE, &format!("Service {namespace}/{name}"), object, |_| true)?;
            }
            _ => {
                for announced in &options.addresses {
                    found.add(announced, options, node, host, object)?;
                }
            }
        }
        found.addresses.sort();
        found.addresses.dedup();
        if found.addresses.len() > MOST_ADDRESSES {
            let note = format!(
                "there are {} addresses, and the first {MOST_ADDRESSES} are \
                published",
                found.addresses.len()
            );
            found.missing.push((ADDRESSES, note));
            found.addresses.truncate(MOST_ADDRESSES);
        }
        found.missing.sort();
        found.missing.dedup();
        Some(found)
    }

    fn add(
        &mut self,
        announced: &Announced,
        options: &Options,
        node: &str,
        host: &Host,
        object: &Followed,
    ) -> Option<()> {
        match announced {
            Announced::Fixed(Address::Ip(address)) if host.has(*address) && !options.listens_on(*address) => {
                self.miss(not_listened(&address.to_string(), &[*address]));
            }
            Announced::Fixed(address) => self.addresses.push(address.clone()),
            Announced::Automatic => {
                let none = "auto: this host has no default route with an address that others can use";
                self.add_own("auto", &mut host.sources.iter().copied(), options, none.to_owned());
            }
            Announced::Interface(name) => match host.interfaces.get(&**name) {
                None => self.miss(format!("there is no interface {name}")),
                Some(interface) if !interface.running => self.miss(format!("interface {name} is down")),
                Some(interface) => {
                    let mut lasting = interface.addresses.iter().filter(|(_, lasts)| *lasts).map(|(ip, _)| *ip);
                    let none = format!("interface {name} has no address that others can use");
                    self.add_own(&format!("interface {name}"), &mut lasting, options, none);
                }
            },
            Announced::Node(sort) => return self.of_node(*sort, node, object),
        }
        Some(())
    }

    /// Adds those of an entry's addresses on which nginx listens.
    fn add_own(&mut self, entry: &str, found: &mut dyn Iterator<Item = IpAddr>, options: &Options, none: String) {
        let sensible = found.filter_map(|ip| Some((ip, Address::try_from(ip).ok()?)));
        let (listened, others): (Vec<_>, Vec<_>) = sensible.partition(|(ip, _)| options.listens_on(*ip));
        if listened.is_empty() {
            let others: Vec<_> = others.iter().map(|(ip, _)| *ip).collect();
            self.miss(if others.is_empty() { none } else { not_listened(entry, &others) });
        }
        self.addresses.extend(listened.into_iter().map(|(_, address)| address));
    }

    fn of_node(&mut self, sort: NodeAddress, node: &str, object: &Followed) -> Option<()> {
        if *object == Followed::Absent {
            self.miss(format!("there is no Node {node:?}; set its name with publish.node-object"));
            return Some(());
        }
        self.copy(ADDRESSES, &format!("{} of Node {node}", sort.name()), object, |found| found == sort.name())
    }

    /// Copies the addresses of these types from an object.
    fn copy(
        &mut self,
        key: &'static str,
        what: &str,
        object: &Followed,
        is_meant: impl Fn(&str) -> bool,
    ) -> Option<()> {
        let entries = match object {
            Followed::Unknown => return None,
            Followed::Refused => {
                self.missing.push((
                    key,
                    format!(
                        "{what}: the credentials do not allow watching it; see \
                                                 docs/kubeconfig.md"
                    ),
                ));
                return Some(());
            }
            Followed::Absent => {
                self.missing.push((key, format!("there is no {what}")));
                return Some(());
            }
            Followed::Present(entries) => entries.iter().filter(|(sort, _)| is_meant(sort)),
        };
        let mut is_empty = true;
        for (_, text) in entries {
            is_empty = false;
            match text.parse() {
                Ok(address) => self.addresses.push(address),
                Err(why) => self.missing.push((key, format!("{what}: {why}"))),
            }
        }
        if is_empty {
            self.missing.push((key, format!("{what}: it has no address")));
        }
        Some(())
    }

    fn miss(&mut self, why: String) {
        self.missing.push((ADDRESSES, why));
    }

    /// The findings about entries that give no address.
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |(key, why): &(&'static str, String)| {
            let settings = std::sync::Arc::new(ObjectId::new(Kind::SETTINGS, "", key));
            Finding::new(Reason::MissingAddress, Origin::object(&settings), why.clone())
        };
        self.missing.iter().map(finding).collect()
    }
}

/// One clause about addresses without a listener.
fn not_listened(entry: &str, addresses: &[IpAddr]) -> String {
    let all: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    format!("{entry}: nginx does not listen on {}, which listen.addresses would have to name", all.join(" and "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::host::Interface;
    use super::*;

    fn host() -> Host {
        let interface = |running, addresses: &[(&str, bool)]| Interface {
            running,
            addresses: addresses.iter().map(|(text, lasts)| (text.parse().unwrap(), *lasts)).collect(),
        };
        let eth0 = [("192.0.2.1", true), ("fe80::1", true), ("2001:db8::1", true), ("2001:db8::9", false)];
        Host {
            sources: vec!["198.51.100.1".parse().unwrap(), "fe80::7".parse().unwrap()],
            interfaces: BTreeMap::from([
                ("eth0".to_owned(), interface(true, &eth0)),
                ("eth1".to_owned(), interface(false, &[("192.0.2.2", true)])),
                ("lo".to_owned(), interface(true, &[("127.0.0.1", true)])),
            ]),
        }
    }

    fn node(entries: &[(&str, &str)]) -> Followed {
        Followed::Present(entries.iter().map(|(sort, text)| ((*sort).to_owned(), (*text).to_owned())).collect())
    }

    /// The addresses, joined, and the complaints.
    fn found(entries: &[&str], object: &Followed) -> Option<(String, Vec<String>)> {
        let addresses = entries.iter().map(|entry| entry.parse().unwrap()).collect();
        let options = Options { addresses, ..Options::default() };
        let found = OwnAddresses::of(&options, "edge-1", &host(), object)?;
        let texts: Vec<_> = found.addresses.iter().map(ToString::to_string).collect();
        Some((texts.join(","), found.missing.into_iter().map(|(_, why)| why).collect()))
    }

    #[test]
    fn entries_give_addresses_or_say_why_not() {
        let object = node(&[
            ("InternalIP", "10.0.0.5"),
            ("InternalIP", "2001:db8::5"),
            ("Hostname", "edge-1"),
            ("ExternalIP", "127.0.0.1"),
        ]);
        for (entries, addresses, complaint) in [
            (&["edge.example", "192.0.2.9", "192.0.2.9"][..], "192.0.2.9,edge.example", ""),
            (&["auto"], "198.51.100.1", ""),
            (&["interface:eth0"], "192.0.2.1,2001:db8::1", ""),
            (&["interface:eth0", "auto"], "192.0.2.1,198.51.100.1,2001:db8::1", ""),
            (&["interface:eth1"], "", "interface eth1 is down"),
            (&["interface:eth9", "192.0.2.9"], "192.0.2.9", "there is no interface eth9"),
            (&["interface:lo"], "", "interface lo has no address"),
            (&["node:InternalIP"], "10.0.0.5,2001:db8::5", ""),
            (&["node:ExternalIP"], "", "127.0.0.1 is a loopback address"),
        ] {
            let (found, complaints) = found(entries, &object).unwrap();
            assert_eq!(found, addresses, "{entries:?}");
            assert_eq!(complaints.len(), usize::from(!complaint.is_empty()), "{complaints:?}");
            assert!(complaints.iter().all(|words| words.contains(complaint)), "{complaints:?}");
        }
    }

    #[test]
    fn an_address_of_this_host_on_which_nginx_does_not_listen_is_not_published() {
        let of = |listened: &str, entry: &str| {
            let options = Options {
                addresses: vec![entry.parse().unwrap()],
                listened: vec![listened.parse().unwrap()],
                ..Options::default()
            };
            let found = OwnAddresses::of(&options, "edge-1", &host(), &Followed::Unknown).unwrap();
            let texts: Vec<_> = found.addresses.iter().map(ToString::to_string).collect();
            (texts.join(","), found.missing.into_iter().map(|(_, why)| why).collect::<String>())
        };
        for (listened, entry, addresses, complaint) in [
            ("::", "auto", "", "auto: nginx does not listen on 198.51.100.1"),
            ("0.0.0.0", "auto", "198.51.100.1", ""),
            ("198.51.100.1", "auto", "198.51.100.1", ""),
            ("::", "interface:eth0", "2001:db8::1", ""),
            ("2001:db8::7", "interface:eth0", "", "interface eth0: nginx does not listen on 192.0.2.1 and 2001:db8::1"),
            ("::", "192.0.2.1", "", "192.0.2.1: nginx does not listen on 192.0.2.1"),
            // The address of another device, which may lead here in its own way.
            ("::", "203.0.113.7", "203.0.113.7", ""),
        ] {
            let (found, why) = of(listened, entry);
            assert_eq!(found, addresses, "{listened} {entry}");
            assert!(why.starts_with(complaint) && why.is_empty() == complaint.is_empty(), "{why}");
        }
    }

    #[test]
    fn what_may_yet_be_reported_is_waited_for() {
        assert_eq!(found(&["node:InternalIP", "192.0.2.9"], &Followed::Unknown), None);
        assert!(found(&["192.0.2.9"], &Followed::Unknown).is_some());
        for (object, words) in [
            (Followed::Refused, "do not allow"),
            (Followed::Absent, "there is no Node \"edge-1\""),
            (node(&[("Hostname", "edge-1")]), "InternalIP of Node edge-1: it has no address"),
        ] {
            let (addresses, complaints) = found(&["node:InternalIP", "192.0.2.9"], &object).unwrap();
            assert_eq!((&*addresses, complaints.len()), ("192.0.2.9", 1));
            assert!(complaints[0].contains(words), "{complaints:?}");
        }
    }

    #[test]
    fn the_addresses_of_a_service_are_copied() {
        let service = Some(("edge".into(), "front".into()));
        let options = Options { mode: Mode::Service, service, ..Options::default() };
        let of = |object: &Followed| OwnAddresses::of(&options, "edge-1", &host(), object);
        assert_eq!(of(&Followed::Unknown), None);
        let object = node(&[("status.loadBalancer", "203.0.113.7"), ("status.loadBalancer", "lb.example")]);
        let texts: Vec<_> = of(&object).unwrap().addresses.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["203.0.113.7", "lb.example"]);
        let missing = of(&Followed::Absent).unwrap();
        assert_eq!(missing.missing, [("publish.service", "there is no Service edge/front".to_owned())]);
        assert_eq!(missing.findings()[0].reason, Reason::MissingAddress);
    }

    #[test]
    fn no_more_are_published_than_other_nodes_accept() {
        let entries: Vec<_> = (1..=20).map(|last| format!("192.0.2.{last}")).collect();
        let entries: Vec<_> = entries.iter().map(String::as_str).collect();
        let (addresses, complaints) = found(&entries, &Followed::Unknown).unwrap();
        assert_eq!((addresses.split(',').count(), complaints.len()), (MOST_ADDRESSES, 1));
    }
}
