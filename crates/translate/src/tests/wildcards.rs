//! Claims within wildcard hosts, of several objects, and of labels that cannot be read.

use super::cluster::{Cluster, of};
use super::manifests::snapshot;
use super::tenants::{HOST, allowed, dated, outcome};
use super::{options, shared};
use crate::{AllowedHosts, Options};
use ingressd_objects::rows;

#[test]
fn a_host_within_a_wildcard_is_its_owners() {
    let wild = of("victim", "v", "ingressd", "*.example", "", &["Prefix /"]);
    let evil = of("evil", "e", "ingressd", HOST, "", &["Prefix /"]);
    let own = of("victim", "w", "ingressd", HOST, "", &["Prefix /"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&wild]);
    let (_, findings) = outcome(&cluster.now(&[&wild, &evil]));
    assert_eq!(findings, ["e HostOwned"]);
    assert_eq!(cluster.now(&[&wild, &own]).model.servers.len(), 2);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&evil]);
    assert_eq!(cluster.now(&[&wild, &evil]).model.servers.len(), 2, "whoever was there first stays");
    let mut cluster = Cluster::new(shared());
    cluster.now(&[&wild]);
    assert_eq!(cluster.now(&[&wild, &evil]).model.servers.len(), 2, "as the Ingress specification has it");
}

#[test]
fn a_host_that_its_holder_had_by_a_wildcard_stays_when_that_ends() {
    let wild = of("victim", "v", "ingressd", "*.example", "", &["Prefix /"]);
    let evil = dated(&of("evil", "e", "ingressd", HOST, "", &["Prefix /"]), 2020);
    let own = dated(&of("victim", "w", "ingressd", HOST, "", &["Prefix /"]), 2025);
    // The other namespace asks before the holder names the host itself, or both are seen at once.
    for steps in [vec![vec![&wild], vec![&wild, &evil]], vec![vec![&wild]], vec![]] {
        let mut cluster = Cluster::new(options());
        steps.iter().for_each(|step| drop(cluster.now(step)));
        let both = cluster.now(&[&dated(&wild, 2010), &evil, &own]);
        assert_eq!((both.model.servers.len(), outcome(&both).1), (2, vec!["e HostOwned".to_owned()]));
        let mut newcomer = cluster.newcomer();
        newcomer.now(&[&dated(&wild, 2010), &evil, &own]);
        for mut node in [cluster, newcomer] {
            for later in [0, 1000, 1000] {
                node.world.now += later;
                let (paths, findings) = outcome(&node.now(&[&evil, &own]));
                assert_eq!((paths, findings), (vec!["w /".to_owned()], vec!["e HostOwned".to_owned()]), "{later}");
            }
            // What never had anything is the first when nobody else asks.
            node.world.now += 1000;
            node.now(&[&evil]);
            node.world.now += 1000;
            assert_eq!(outcome(&node.now(&[&evil])).0, ["e /"]);
        }
    }
    // Paths of a shared host have no ages of that time either.
    let shared_evil = of("evil", "e", "nginx", HOST, "", &["Prefix /", "Prefix /a"]);
    let shared_own = of("victim", "w", "nginx", HOST, "", &["Prefix /", "Prefix /a"]);
    let mut cluster = Cluster::new(options());
    for step in [vec![&wild], vec![&wild, &shared_evil], vec![&wild, &shared_evil, &shared_own]] {
        cluster.now(&step);
    }
    for later in [0, 1000, 1000] {
        cluster.world.now += later;
        assert_eq!(outcome(&cluster.now(&[&shared_evil, &shared_own])).0, ["w /a", "w /"]);
    }
}

#[test]
fn a_wildcard_host_that_another_had_takes_no_host_that_its_holder_names() {
    let wild = |namespace: &str, name: &str| of(namespace, name, "ingressd", "*.example", "", &["Prefix /"]);
    let (victim, evil) = (wild("victim", "v"), wild("evil", "e"));
    let own = of("victim", "w", "ingressd", HOST, "", &["Prefix /"]);
    let mut cluster = Cluster::new(options());
    for step in [vec![&victim], vec![&victim, &evil], vec![&victim, &evil, &own], vec![&evil, &own]] {
        cluster.now(&step);
    }
    for mut node in [cluster.newcomer(), cluster] {
        node.now(&[&victim, &evil, &own]);
        node.now(&[&evil, &own]);
        node.world.now += 1000;
        let translation = node.now(&[&evil, &own]);
        let served: Vec<_> = translation.accepted().map(|(id, one)| format!("{} {}", id.name, one.routes)).collect();
        assert_eq!(served, ["e 1", "w 1"]);
    }
}

#[test]
fn a_wildcard_host_that_let_others_in_does_not_become_exclusive() {
    let wild = |class: &str| of("evil", "e", class, "*.example", "", &["Prefix /"]);
    for class in ["nginx", "ingressd"] {
        let victim = of("victim", "v", class, HOST, "", &["Prefix /"]);
        let mut cluster = Cluster::new(options());
        cluster.now(&[&wild("nginx")]);
        for evil in ["nginx", "ingressd", "ingressd"] {
            assert_eq!(cluster.now(&[&wild(evil), &victim]).model.servers.len(), 2, "{class} {evil}");
        }
    }
    // Where nobody is within it, it does.
    let mut cluster = Cluster::new(options());
    cluster.now(&[&wild("nginx")]);
    cluster.now(&[&wild("ingressd")]);
    let late = of("late", "l", "ingressd", HOST, "", &["Prefix /"]);
    assert_eq!(outcome(&cluster.now(&[&wild("ingressd"), &late])).1, ["l HostOwned"]);
}

#[test]
fn a_host_stays_exclusive_whose_oldest_object_cannot_be_served_now() {
    let first = dated(&of("victim", "v", "ingressd", HOST, "", &["Prefix /"]), 2020);
    let second = dated(&of("victim", "w", "nginx", HOST, "", &["Prefix /w"]), 2021);
    let evil = of("evil", "e", "nginx", HOST, "", &["Prefix /e"]);
    let mut cluster = Cluster::new(options());
    cluster.now(&[&first, &second]);
    let mut taken_out = snapshot(&[&*second, &*evil].join("\n---\n"));
    *taken_out.withheld.list_mut::<rows::Ingress>() = snapshot(&first).ingresses;
    for later in [0, 1000] {
        cluster.world.now += later;
        assert_eq!(outcome(&cluster.read(&taken_out)).0, ["w /w"]);
    }
    assert_eq!(outcome(&cluster.now(&[&first, &second, &evil])).0, ["w /w", "v /"]);
}

/// What a namespace may claim by labels that cannot be read.
fn by_labels(hosts: &[&str]) -> AllowedHosts {
    AllowedHosts { selector: Some("team=a".parse().unwrap()), ..allowed("evil", hosts) }
}

#[test]
fn while_labels_cannot_be_read_no_broken_object_makes_a_claim() {
    let evil = of("evil", "e", "ingressd", HOST, "", &["Prefix /"]);
    let broken = of("evil", "e", "ingressd", HOST, "canary: maybe", &["Prefix /"]);
    let mut cluster = Cluster::new(Options { allowed_hosts: vec![by_labels(&[HOST])], ..options() });
    cluster.now(&[&broken]);
    assert_eq!(outcome(&cluster.now(&[&evil])), (vec![], vec!["e HostNotAllowed".to_owned()]));
}

#[test]
fn labels_that_cannot_be_read_take_nothing_within_a_wildcard_host_away() {
    let wild = of("victim", "v", "ingressd", "*.example", "", &["Prefix /"]);
    let other = of("evil", "e", "ingressd", HOST, "", &["Prefix /"]);
    let all = allowed("victim", &["*"]);
    let allowed_hosts = vec![all.clone(), allowed("evil", &[HOST])];
    let mut cluster = Cluster::new(Options { allowed_hosts, ..options() });
    cluster.now(&[&wild]);
    assert_eq!(cluster.now(&[&wild, &other]).model.servers.len(), 2);
    cluster.options.allowed_hosts = vec![all, by_labels(&[HOST])];
    assert_eq!(cluster.now(&[&wild, &other]).model.servers.len(), 2);
}

#[test]
fn what_the_administrator_gives_within_a_wildcard_host_is_reserved_as_elsewhere() {
    let wild = of("victim", "v", "ingressd", "*.example", "", &["Prefix /"]);
    let own = of("victim", "w", "ingressd", HOST, "", &["Prefix /"]);
    let given = of("given", "g", "ingressd", HOST, "", &["Prefix /"]);
    let allowed_hosts = vec![allowed("victim", &["*"]), allowed("given", &[HOST])];
    let mut cluster = Cluster::new(Options { allowed_hosts, ..options() });
    for step in [vec![&wild], vec![&wild, &given], vec![&wild], vec![&wild, &own]] {
        cluster.now(&step);
    }
    let translation = cluster.now(&[&wild, &own, &given]);
    let served: Vec<_> = translation.accepted().map(|(id, one)| format!("{} {}", id.name, one.routes)).collect();
    assert_eq!(served, ["g 1", "v 1", "w 0"]);
}
