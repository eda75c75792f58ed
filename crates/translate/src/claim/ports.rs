//! Which claim on a port of the host gets it: those of the administrator's ConfigMaps, then those
//! of objects, of which a namespace keeps what it has.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::arbiter::Arbiter;
use super::claims::{Claimant, Update};
use crate::admit::admitted::Admitted;
use crate::attach::Attached;
use crate::read::port::PortReference;
use crate::read::stream::{RequestedStream, StreamClaim};
use crate::{Options, admit, bounds};
use ingressd_model::finding::{Finding, Reason};
use ingressd_model::{Port, Transport, shared_text};

/// The claims of objects.
pub fn of_objects<'s, 'a: 's>(objects: impl Iterator<Item = &'s Admitted<'a>>) -> Vec<StreamClaim<'s>> {
    // What is left of an object that is not served keeps its paths closed, and nothing else.
    let served = objects.filter(|object| object.closed_rules.is_none());
    let all = served.flat_map(|object| object.policy.reading.streams.iter().map(move |asked| (object, asked)));
    let claim = |(object, asked): (&'s Admitted<'a>, &'s RequestedStream)| StreamClaim {
        origin: asked.origin.clone(),
        since: Some(object.since()),
        wanted: asked.wanted,
        accepts_proxy_protocol: asked.accepts_proxy_protocol,
        namespace: &object.id().namespace,
        service: &asked.service,
        port: PortReference::Number(asked.port),
        sends_proxy_protocol: asked.sends_proxy_protocol,
        policy: asked.policy.clone(),
    };
    all.map(claim).collect()
}

impl Arbiter<'_, '_> {
    /// The first round: the claims that get their port, sorted by port. The administrator's come
    /// first, in the order of objects, then those of namespaces that have their port already, then
    /// the oldest. Ports of our own listeners are refused.
    pub fn ports<'c>(
        &mut self,
        mut claims: Vec<StreamClaim<'c>>,
        withheld: &[&Attached<'_>],
        update: &mut Update<'_>,
    ) -> Vec<StreamClaim<'c>> {
        let known = self.known;
        let comes_new = |claim: &StreamClaim<'_>| {
            let holder = known.holder(claim.wanted);
            claim.since.is_some() && holder.is_none_or(|holder| *holder.namespace != *claim.namespace)
        };
        let rank = |claim: &StreamClaim<'c>| (claim.since.is_some(), comes_new(claim), claim.wanted, claim.since);
        claims.sort_by(|one, other| rank(one).cmp(&rank(other)).then_with(|| one.origin.cmp(&other.origin)));
        // The ports of namespaces that ask for them no more, for a while.
        let of_objects = claims.iter().filter(|claim| claim.since.is_some());
        let asked: HashSet<_> = of_objects.map(|claim| (claim.wanted, claim.namespace)).collect();
        let absent = known.ports().filter(|(port, holder)| !asked.contains(&(*port, &*holder.namespace)));
        // An object that cannot be served now keeps what its namespace has.
        let waiting = withheld
            .iter()
            .flat_map(|object| object.policy.reading.streams.iter().map(|asked| (asked.wanted, &**object.namespace())));
        let waiting: HashSet<_> = waiting.collect();
        let kept = absent.filter_map(|(port, holder)| {
            let gone = match waiting.contains(&(port, &*holder.namespace)) {
                true => None,
                false => Some(update.gone(&holder.namespace, holder.gone)?),
            };
            Some((port, Claimant::only(Arc::clone(&holder.namespace), gone)))
        });
        let mut after: BTreeMap<_, _> = kept.collect();
        let mut counts = BTreeMap::<&str, usize>::new();
        let most = self.options.limits.ports_of_namespace;
        let mut settled = BTreeMap::<Port, StreamClaim<'_>>::new();
        for claim in claims {
            let (port, is_of_object) = (claim.wanted, claim.since.is_some());
            let mut refuse = |reason, why: String| {
                let note = format!("the service is not served on {port}, because {why}");
                self.findings.push(Finding::new(reason, claim.origin.clone(), note));
            };
            let why = of_settings(&claim, self.options).or_else(|| match settled.get(&port) {
                // Objects of one namespace are not told to another.
                Some(holder) if is_of_object && holder.namespace != claim.namespace => {
                    Some("another namespace or the administrator has it".to_owned())
                }
                Some(holder) => Some(format!("{} has it", holder.origin)),
                None if is_of_object && after.contains_key(&port) => {
                    let why = "it is reserved for the namespace that had it, whose object cannot be served now or was \
                        deleted less than hosts.grace ago";
                    Some(why.to_owned())
                }
                None => None,
            });
            if let Some(why) = why {
                refuse(Reason::PortConflict, format!("{why}; use another port"));
                continue;
            }
            if is_of_object {
                let count = counts.entry(claim.namespace).or_default();
                if *count >= most {
                    let why =
                        format!("the namespace has the {most} ports already that limits.ports-of-namespace allows");
                    refuse(Reason::OverBudget, why);
                    continue;
                }
                *count += 1;
            }
            settled.insert(port, claim);
        }
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        self.findings.extend(admit::near_of_namespaces(&bounds::PORTS, most, counts.into_iter()));
        for claim in settled.values() {
            // What the administrator has is nobody's.
            match claim.since {
                None => drop(after.remove(&claim.wanted)),
                Some(_) => {
                    drop(after.insert(claim.wanted, Claimant::only(shared_text(claim.namespace), None)));
                }
            }
        }
        update.follow_ports(after);
        settled.into_values().collect()
    }
}

/// The setting that needs the port.
fn of_settings(claim: &StreamClaim<'_>, options: &Options) -> Option<String> {
    let Port { transport, number } = claim.wanted;
    if transport != Transport::Tcp {
        return None;
    }
    let own = options.streams.reserved.iter().find(|(reserved, _)| *reserved == number).map(|(_, setting)| *setting);
    // A backend of others on this node.
    let is_backend = || claim.since.is_some() && options.own_upstreams.iter().any(|address| address.port() == number);
    let setting = own.or_else(|| is_backend().then_some("upstreams.own-addresses"));
    setting.map(|setting| format!("the setting {setting} uses it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::claims::Claims;
    use crate::read::intent::Source;
    use crate::read::since::Since;
    use crate::{Allowances, World};
    use ingressd_model::{Kind, ObjectId};
    use ingressd_model::{Origin, StreamPolicy};
    use ingressd_objects::{Snapshot, Version};

    fn source(namespace: &str, second: i64) -> Source {
        let id = Arc::new(ObjectId::new(Kind::INGRESS, namespace, "tcp"));
        let created = Some(jiff::Timestamp::from_second(second).unwrap());
        Source { id, uid: None, created, written: None, version: Version("1".into()) }
    }

    /// What is settled, what is held then, when the next reservation ends, and what is told.
    fn settle<'a>(
        claims: Vec<StreamClaim<'a>>,
        options: &Options,
        known: &Arc<Claims>,
    ) -> (Vec<StreamClaim<'a>>, Arc<Claims>, Option<i64>, Vec<Finding>) {
        let (snapshot, world) = (Snapshot::default(), World { now: 1000, ..World::default() });
        let mut arbiter = Arbiter::new(options, &world, known, Allowances::new(options, &snapshot));
        let mut update = Update::of(known, options, &world);
        let settled = arbiter.ports(claims, &[], &mut update);
        let (claims, due, _) = update.finish();
        (settled, claims, due, arbiter.findings)
    }

    fn held(port: Port, namespace: &str, gone: Option<i64>) -> Arc<Claims> {
        let (none, options, world) = (Arc::default(), Options::default(), World::default());
        let mut update = Update::of(&none, &options, &world);
        update.follow_ports([(port, Claimant::only(namespace.into(), gone))].into());
        update.finish().0
    }

    fn options() -> Options {
        let mut options = Options { host_grace: 300, ..Options::default() };
        options.limits.ports_of_namespace = 2;
        options
    }

    fn of<'a>(kind: Kind, namespace: &'a str, name: &str, transport: Transport, number: u16) -> StreamClaim<'a> {
        StreamClaim {
            origin: Origin::object(&Arc::new(ObjectId::new(kind, namespace, name))),
            since: None,
            wanted: Port { transport, number },
            accepts_proxy_protocol: false,
            namespace,
            service: "b",
            port: PortReference::First,
            sends_proxy_protocol: false,
            policy: StreamPolicy::empty(),
        }
    }

    #[test]
    fn of_two_the_first_in_the_order_of_objects_has_a_port() {
        let claim = |transport, number, name: &str| of(Kind::CONFIG_MAP, "a", name, transport, number);
        let (tcp, udp) = (Transport::Tcp, Transport::Udp);
        let claims = vec![claim(tcp, 7, "two"), claim(udp, 7, "two"), claim(tcp, 7, "one"), claim(tcp, 6, "two")];
        let (settled, _, _, findings) = settle(claims, &options(), &Arc::default());
        let settled: Vec<_> =
            settled.iter().map(|claim| format!("{} {}", claim.wanted, claim.origin.object.name)).collect();
        assert_eq!(settled, ["TCP port 6 two", "TCP port 7 one", "UDP port 7 two"]);
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.reason, &*finding.origin.object.name), (Reason::PortConflict, "two"));
        assert!(finding.note.contains("ConfigMap a/one has it"), "{finding}");
    }

    #[test]
    fn the_administrator_comes_first_then_who_has_the_port_then_the_oldest() {
        let (old, young) = (source("old", 1), source("young", 2));
        fn asked(source: &Source) -> StreamClaim<'_> {
            let claim = of(Kind::INGRESS, &source.id.namespace, "tcp", Transport::Tcp, 7);
            StreamClaim { since: Some(Since::of(source)), ..claim }
        }
        let map = of(Kind::CONFIG_MAP, "z", "tcp", Transport::Tcp, 7);
        let none = Arc::default();
        let young_has_it = held(map.wanted, "young", None);
        let young_had_it = |gone| held(map.wanted, "young", Some(gone));
        for (claims, holders, winner) in [
            (vec![asked(&young), asked(&old)], &none, "old"),
            (vec![asked(&young), asked(&old)], &young_has_it, "young"),
            (vec![asked(&young), asked(&old)], &young_had_it(701), "young"),
            (vec![asked(&young), map.clone(), asked(&old)], &young_has_it, "z"),
            (vec![asked(&old)], &young_has_it, ""),
            (vec![asked(&old)], &young_had_it(701), ""),
            (vec![asked(&old)], &young_had_it(700), "old"),
            // A clock that was set back.
            (vec![asked(&old)], &young_had_it(2000), ""),
        ] {
            let count = claims.len();
            let (settled, after, due, findings) = settle(claims, &options(), holders);
            let holders: Vec<_> = after.ports().collect();
            let namespaces: Vec<_> = settled.iter().map(|claim| claim.namespace).collect();
            assert_eq!(namespaces.join(" "), winner);
            assert_eq!(findings.len(), count - settled.len());
            match winner {
                // The administrator's are nobody's.
                "z" => assert_eq!((holders.len(), due), (0, None)),
                "" => {
                    let [(_, holder)] = holders[..] else { panic!("{holders:?}") };
                    assert_eq!((&*holder.namespace, due), ("young", holder.gone.map(|gone| gone + 300)));
                }
                _ => assert_eq!(*after, *held(map.wanted, winner, None)),
            }
            let reports = |finding: &Finding| ["old", "young", "z"].iter().any(|name| finding.note.contains(name));
            assert!(!findings.iter().any(reports), "objects of others are not told: {findings:?}");
        }
    }

    #[test]
    fn ports_of_backends_and_more_than_a_namespace_may_have_are_refused() {
        let mut options = options();
        options.own_upstreams = vec!["192.0.2.2:9".parse().unwrap()];
        let source = source("a", 1);
        let since = Some(Since::of(&source));
        let object = |number| StreamClaim { since, ..of(Kind::INGRESS, "a", "tcp", Transport::Tcp, number) };
        let map = of(Kind::CONFIG_MAP, "z", "tcp", Transport::Tcp, 9);
        let claims = vec![object(6), object(7), object(8), object(9)];
        let (settled, _, _, mut findings) = settle(claims, &options, &Arc::default());
        assert_eq!(settled.iter().map(|claim| claim.wanted.number).collect::<Vec<_>>(), [6, 7]);
        findings.sort();
        let reported: Vec<_> = findings.iter().map(|finding| (finding.reason, &*finding.note)).collect();
        let [(Reason::OverBudget, many), (Reason::PortConflict, backend), (Reason::NearBudget, near)] = &reported[..]
        else {
            panic!("{reported:?}")
        };
        assert!(
            many.contains("limits.ports-of-namespace") && backend.contains("upstreams.own-addresses"),
            "{reported:?}"
        );
        assert!(near.contains("2 of the 2"), "{near}");
        // What the namespace has counts first.
        let has = held(object(8).wanted, "a", None);
        let (settled, ..) = settle(vec![object(6), object(7), object(8)], &options, &has);
        assert_eq!(settled.iter().map(|claim| claim.wanted.number).collect::<Vec<_>>(), [6, 8]);
        // The administrator may do as it likes.
        assert_eq!(settle(vec![map], &options, &Arc::default()).0.len(), 1);
    }
}
