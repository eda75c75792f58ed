//! The nodes by their Leases, and the Ingresses of a namespace with what is wrong with them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::cluster::{CLOCKS, Cluster};
use crate::cli::fields::{list, rows, text as word};
use crate::cli::offline::Processed;
use crate::cli::{members, page};
use ingressd_cluster::publish::Life;
use ingressd_cluster::publish::probe::Kept;
use ingressd_model::finding::{Severity, printable};

/// Nodes and Ingresses for programs, and whether all is well. Names of members are a contract.
pub fn status(cluster: &Cluster, processed: &Processed) -> (Value, bool) {
    let mut status = json!({ "ingresses": ingresses(cluster, processed) });
    let mut is_well = status["ingresses"].as_array().is_some_and(|all| all.iter().all(|one| one["state"] != "error"));
    if let Some(leases) = &cluster.leases {
        let read = leases.read;
        let nodes = leases.members.iter().map(|Kept { what, renewed, duration }| {
            let age = renewed.map(|renewed| u64::try_from(read - renewed.as_second()).unwrap_or_default());
            // Two clocks are compared.
            let longest = duration.as_secs() + CLOCKS.unsigned_abs();
            let life = if age.is_some_and(|age| age <= longest) { Life::Alive } else { Life::Expired };
            let addresses: Vec<_> = what.addresses.iter().map(ToString::to_string).collect();
            json!({
                "node": &*what.identity, "state": life.name(), "serving": what.serving, "drained": what.drained,
                "phase": &*what.phase, "pinned": what.pinned, "generation": what.generation, "version": &*what.version,
                "nginx": &*what.nginx, "seen_seconds": age, "addresses": addresses,
            })
        });
        status["members"] = nodes.collect();
        status["leader"] = json!(leases.leader.as_ref().map(|kept| &*kept.what));
        is_well &= members::are_well(&status);
    }
    (status, is_well)
}

/// The Ingresses of the namespace that are the nodes', each with its hosts, addresses and worst
/// finding.
fn ingresses(cluster: &Cluster, processed: &Processed) -> Vec<Value> {
    let in_force = processed.in_force();
    let own = processed.snapshot.ingresses.iter().filter(|stored| *stored.id.namespace == *cluster.namespace);
    let own = own.filter(|stored| !processed.is_foreign(&stored.id));
    own.map(|stored| {
        let findings = processed.findings.iter().filter(|finding| finding.origin.object == stored.id);
        let findings: Vec<_> = findings.filter(|finding| finding.severity >= Severity::Warning).collect();
        let worst = findings.iter().map(|finding| finding.severity).max();
        let hosts: BTreeSet<_> = stored.object.rules.iter().map(|rule| rule.host.as_deref().unwrap_or("*")).collect();
        let routes = in_force.listed().filter(|listed| *listed.object == *stored.id).count();
        json!({
            "name": format!("{}/{}", stored.id.namespace, stored.id.name),
            "state": worst.map_or("ok", |worst| worst.name()),
            "routes": routes,
            "hosts": hosts,
            "addresses": cluster.addresses_of(&stored.id),
            "findings": findings.iter().map(|finding| json!({
                "severity": finding.severity.name(), "reason": finding.reason.to_string(),
                "field": finding.origin.place(), "note": &*finding.note,
            })).collect::<Vec<_>>(),
        })
    })
    .collect()
}

/// The output for people.
pub fn text(status: &Value, width: Option<usize>) -> String {
    let mut text = match status["members"].is_array() {
        true => members::table(status, width) + "\n",
        false => String::new(),
    };
    let all = rows(&status["ingresses"]);
    let mut table = vec![["INGRESS", "STATE", "ROUTES", "HOSTS", "ADDRESSES"].map(str::to_owned)];
    table.extend(all.iter().map(|one| {
        let [name, state, routes] = [&one["name"], &one["state"], &one["routes"]].map(word);
        [name, state, routes, list(&one["hosts"], usize::MAX), list(&one["addresses"], usize::MAX)]
    }));
    text += &match all.is_empty() {
        true => "no Ingress of this namespace is the nodes'\n".to_owned(),
        false => page::aligned(&table, &["ROUTES", "ADDRESSES"], width, page::header).join("\n") + "\n",
    };
    for one in all {
        for finding in rows(&one["findings"]) {
            let field = finding["field"].as_str().filter(|field| !field.is_empty()).map(|field| format!("{field}: "));
            let words = format!(
                "{}: {}: {}{} ({})",
                word(&one["name"]),
                word(&finding["severity"]),
                printable(&field.unwrap_or_default()),
                word(&finding["note"]),
                word(&finding["reason"])
            );
            text += &format!("\n{}\n", page::wrapped(&words, width, 0, 2));
        }
    }
    text
}
