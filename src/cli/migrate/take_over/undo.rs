//! The undo: the nodes stop writing, and each status gets its former content. It must not know how
//! nodes write statuses.

use super::looked::{self, ClusterState};
use super::{Arguments, change, list, record_file};
use crate::cli::exit::{Ended, Exit};
use ingressd_cluster::publish::Order;
use ingressd_cluster::publish::hand_over::{Entry, Failure, Record};
use ingressd_model::finding::{count, printable};

/// How often a status is tried while others write it at the same time.
const ATTEMPTS: usize = 5;

/// Runs the undo.
pub async fn run(arguments: &Arguments, looked: &ClusterState) -> Ended {
    if looked.running().is_none_or(|running| running.ready() == 0) && !arguments.force {
        complain!(
            "ingressd: no pod of the controller is ready: nobody would answer at its addresses; start it, or use --force"
        );
        complain!("ingressd: nothing was changed");
        return Ok(Exit::Findings);
    }
    let record = match record_file::read(&arguments.record)? {
        Some(record) => Some(record_file::of_this_cluster(record, &arguments.record, looked)?),
        None => None,
    };
    let present = of_nodes(looked).await?;
    let is_back = looked.hand_over.order().await.map_err(looked::failed)? == Some(Order::Hold);
    if record.is_none() && !present.is_empty() && !is_back && !arguments.force {
        let path = arguments.record.display();
        complain!(
            "ingressd: {path} does not exist, so it is not known what the statuses had before; name the file with --record, or let the nodes keep them \
             with --force"
        );
        return Err(Exit::NoInput);
    }
    let before = |entry: &Entry| record.as_ref().and_then(|record| known(record, entry)).cloned();
    let unknown = if record.is_some() { "was not there before" } else { "had before nobody knows what" };
    let report = |entry: &Entry| match before(entry) {
        Some(before) => say!("{}", change(entry, &before.addresses())),
        None => say!("{} {unknown}: it keeps {}", entry.id(), list(entry.addresses().into_iter())),
    };
    present.iter().for_each(report);
    if arguments.dry_run {
        say!("nothing was changed (--dry-run)");
        return Ok(Exit::Success);
    }
    hold(arguments, looked).await?;
    // Until the nodes held, they went on with a take-over that was broken off.
    let of_nodes = of_nodes(looked).await?;
    of_nodes.iter().filter(|entry| present.iter().all(|known| known.uid != entry.uid)).for_each(report);
    if record.is_none() && !of_nodes.is_empty() {
        return Ok(remains(arguments, looked, of_nodes.len()));
    }
    let mut left = 0;
    for entry in of_nodes {
        let Some(before) = before(&entry) else { continue };
        if let Err(failure) = put_back(looked, &before, entry).await {
            complain!("ingressd: {}: {}", before.id(), printable(&failure.to_string()));
            if looked::exit_of(&failure) == Exit::Permission {
                return Err(looked::failed(failure));
            }
            left += 1;
        }
    }
    if left > 0 {
        let left = count(left, "Ingress still has", "Ingresses still have");
        complain!("ingressd: {left} the addresses of the nodes; run this again");
        return Ok(Exit::Findings);
    }
    record_file::remove(&arguments.record)?;
    say!("the statuses are as they were; the nodes write none until `ingressd migrate take-over` is run again");
    if looked.running().is_some_and(|running| running.silence().is_ok()) {
        say!("the controller has to write them again: take --update-status=false out of its arguments");
    }
    Ok(Exit::Success)
}

/// Says what is left to do where nothing is known of what was there before.
fn remains(arguments: &Arguments, looked: &ClusterState, number: usize) -> Exit {
    let number = count(u64::try_from(number).unwrap_or(u64::MAX), "Ingress keeps", "Ingresses keep");
    let path = arguments.record.display();
    complain!(
        "ingressd: no status was put back, because {path} does not exist: {number} the addresses of the nodes, which write none any more"
    );
    match looked.running().is_some_and(|running| running.silence().is_ok()) {
        true => complain!(
            "ingressd: what remains to do: take --update-status=false out of the arguments of the controller, which then writes its own addresses"
        ),
        false => complain!(
            "ingressd: what remains to do: let the controller write its own addresses, for example by a restart, and look at them with \
             `kubectl get ingresses -A`"
        ),
    }
    complain!(
        "ingressd: DNS and load balancers that follow the statuses lead to the nodes until then: leave the nodes running"
    );
    Exit::Findings
}

/// The Ingresses with a status that the nodes wrote.
async fn of_nodes(looked: &ClusterState) -> Result<Vec<Entry>, Exit> {
    let manager = looked.hand_over.manager();
    let mut entries = looked.all_entries().await?;
    entries.retain(|entry| entry.is_applied_by(&manager));
    Ok(entries)
}

/// The record of exactly this object.
fn known<'a>(record: &'a Record, entry: &Entry) -> Option<&'a Entry> {
    record.ingresses.iter().find(|known| known.uid == entry.uid)
}

/// Orders the nodes to stop writing, and waits for that.
async fn hold(arguments: &Arguments, looked: &ClusterState) -> Result<(), Exit> {
    looked.hand_over.give(Order::Hold).await.map_err(looked::failed)?;
    let loud = looked.hand_over.until_held(arguments.timeout).await.map_err(looked::failed)?;
    if loud.is_empty() {
        say!("the nodes write nothing any more");
        return Ok(());
    }
    for member in loud {
        let why = match member.writes {
            None => "has a version that takes no orders: upgrade it, or stop its daemon",
            Some(_) => "does not say that it writes nothing any more: look at `ingressd status` on it",
        };
        complain!("ingressd: node {} {why}", printable(&member.identity));
    }
    complain!("ingressd: the nodes are told to write nothing, and no status was put back; run this again");
    Err(Exit::Unavailable)
}

/// Restores a status, even while others write the object.
async fn put_back(looked: &ClusterState, before: &Entry, mut now: Entry) -> Result<(), Failure> {
    let manager = looked.hand_over.manager();
    for _ in 1..ATTEMPTS {
        match looked.hand_over.put_back(before, &now).await {
            Err(Failure::Conflict(_)) => {}
            // The object was deleted.
            Err(Failure::Missing(_)) => return Ok(()),
            ended => return ended,
        }
        let entries = looked.all_entries().await.unwrap_or_default();
        match entries.into_iter().find(|entry| entry.uid == before.uid) {
            Some(entry) if entry.is_applied_by(&manager) => now = entry,
            // Another controller has written the status.
            _ => return Ok(()),
        }
    }
    looked.hand_over.put_back(before, &now).await
}
