//! The conditions for moving addresses, line by line. It must not change anything.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

use super::Arguments;
use super::looked::{ClusterState, TARGET};
use crate::cli::exit::Exit;
use ingressd_cluster::publish::{Life, Member, Writes};
use ingressd_migrate::take_over::comparison;
use ingressd_model::finding::printable;

/// The weight of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// The condition is fulfilled.
    Good,
    /// A remark.
    Remark,
    /// A problem that may be overruled.
    Doubtful,
    /// A problem that must be solved: addresses would not stay, or would lead nowhere.
    Bad,
}

/// A result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its weight.
    pub weight: Weight,
    text: String,
    /// The remedy.
    remedy: String,
}

impl Line {
    fn new(weight: Weight, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Line { weight, text: text.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.weight {
            Weight::Good => "ok",
            Weight::Remark => "remark",
            Weight::Doubtful => "in the way",
            Weight::Bad => "in the way, and --force does not help",
        };
        write!(formatter, "{word}: {}", self.text)?;
        if !self.remedy.is_empty() {
            write!(formatter, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// All results.
pub fn lines(arguments: &Arguments, looked: &ClusterState, nodes: &[(Arc<Member>, Life)]) -> Result<Vec<Line>, Exit> {
    let mut lines = vec![compared(arguments)?];
    lines.push(match looked.running().map(|running| running.silence()) {
        None => Line::new(Weight::Remark, "no Deployment or DaemonSet runs an ingress-nginx", ""),
        Some(Ok(text)) => Line::new(Weight::Good, text, ""),
        Some(Err(obstacle)) => Line::new(Weight::Bad, obstacle.why, obstacle.remedy),
    });
    lines.extend(nodes.iter().map(|(member, life)| of_node(member, *life)));
    lines.extend(looked.targets.iter().map(|(ingress, target)| {
        let text = format!(
            "external-dns leads the names of {ingress} to {}, as its annotation {TARGET} says",
            printable(target)
        );
        Line::new(Weight::Remark, text, "take the annotation out when they are to follow the status")
    }));
    if !nodes.iter().any(|(member, life)| of_node(member, *life).weight == Weight::Good) {
        let remedy = "start the daemons, with the settings publish.namespace and publish.lease that this command has";
        lines.push(Line::new(Weight::Bad, "no node is fit to be published", remedy));
    }
    Ok(lines)
}

/// The addresses of the nodes that are ready to be published, or will be.
pub fn addresses(nodes: &[(Arc<Member>, Life)]) -> BTreeSet<String> {
    let fit = nodes.iter().filter(|(member, life)| *life != Life::Expired && member.is_published());
    fit.flat_map(|(member, _)| &member.addresses).map(ToString::to_string).collect()
}

fn compared(arguments: &Arguments) -> Result<Line, Exit> {
    let Some(file) = &arguments.compare else {
        let text = "it is not known whether both give the same answers";
        return Ok(Line::new(Weight::Doubtful, text, "give the report of `ingressd migrate compare` with --compare"));
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        complain!("ingressd: {}: {error}", file.display());
        Exit::NoInput
    })?;
    Ok(match comparison(&text, Timestamp::now(), arguments.compare_age) {
        Ok(text) => Line::new(Weight::Good, text, ""),
        Err(why) => Line::new(
            Weight::Doubtful,
            format!("{}: {}", file.display(), printable(&why)),
            "compare again, or go on with --force",
        ),
    })
}

fn of_node(member: &Member, life: Life) -> Line {
    let node = printable(&member.identity);
    let on_it = "look at `ingressd status` on it";
    match member.writes {
        _ if life == Life::Expired => Line::new(Weight::Remark, format!("node {node} is not there any more"), ""),
        _ if member.drained => Line::new(Weight::Remark, format!("node {node} is drained"), ""),
        _ if !member.serving => Line::new(Weight::Doubtful, format!("node {node} does not serve"), on_it),
        _ if member.addresses.is_empty() => Line::new(Weight::Doubtful, format!("node {node} has no address"), on_it),
        _ if life == Life::Presumed => {
            Line::new(Weight::Doubtful, format!("the daemon of node {node} does not run"), on_it)
        }
        None => Line::new(
            Weight::Doubtful,
            format!("node {node} has version {}, which takes no orders", printable(&member.version)),
            "upgrade it",
        ),
        Some(Writes::Never) => Line::new(
            Weight::Doubtful,
            format!("node {node} has publish.status = false"),
            "let it have publish.hold = true instead, and run `ingressd reload`",
        ),
        Some(Writes::Now | Writes::Held) => Line::new(Weight::Good, format!("node {node} serves"), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member() -> Member {
        let addresses = vec!["192.0.2.1".parse().unwrap()];
        let writes = Some(Writes::Held);
        Member { identity: "one_1".into(), addresses, serving: true, generation: Some(1), writes, ..Member::default() }
    }

    #[test]
    fn a_node_is_fit_that_lives_serves_and_takes_orders() {
        use Life::{Alive, Expired, Presumed};
        for (member, life, expected) in [
            (member(), Alive, Weight::Good),
            (Member { writes: Some(Writes::Now), ..member() }, Alive, Weight::Good),
            (member(), Expired, Weight::Remark),
            (Member { drained: true, ..member() }, Alive, Weight::Remark),
            (member(), Presumed, Weight::Doubtful),
            (Member { serving: false, ..member() }, Alive, Weight::Doubtful),
            (Member { addresses: Vec::new(), ..member() }, Alive, Weight::Doubtful),
            (Member { writes: None, ..member() }, Alive, Weight::Doubtful),
            (Member { writes: Some(Writes::Never), ..member() }, Alive, Weight::Doubtful),
        ] {
            assert_eq!(of_node(&member, life).weight, expected, "{life:?} {member:?}");
        }
        let nodes = [
            (Arc::new(member()), Alive),
            (Arc::new(Member { addresses: vec!["192.0.2.2".parse().unwrap()], ..member() }), Presumed),
            (Arc::new(Member { addresses: vec!["192.0.2.3".parse().unwrap()], ..member() }), Expired),
            (Arc::new(Member { addresses: vec!["192.0.2.4".parse().unwrap()], drained: true, ..member() }), Alive),
        ];
        assert_eq!(addresses(&nodes).into_iter().collect::<Vec<_>>(), ["192.0.2.1", "192.0.2.2"]);
    }
}
