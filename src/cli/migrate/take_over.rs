//! The command `migrate take-over`: writes the nodes' addresses into statuses, and with `--undo`
//! restores the former ones. It must not know how nodes write statuses.

mod checks;
mod looked;
mod record_file;
mod undo;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::checks::Weight;
use self::looked::ClusterState;
use super::Origin;
use crate::cli::exit::{Ended, Exit};
use crate::cli::settings::SettingsArguments;
use ingressd_cluster::publish::hand_over::{Entry, Record};
use ingressd_cluster::publish::{Life, Member, Order};
use ingressd_config::duration;
use ingressd_model::finding::{count, printable};

/// The time between two looks at the statuses.
const LOOK: Duration = Duration::from_millis(500);

/// Arguments of `ingressd migrate take-over`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    Before the take-over, the nodes run with publish.hold = true, the controller has --update-status=false \
    (the command says how to set it), and `ingressd migrate compare` has compared both. The command checks \
    this, and changes nothing where it is not so. It keeps in a file, which only its owner may read, the \
    status of each Ingress of the classes that the nodes serve, and who wrote it. It orders the nodes to \
    write their addresses, and waits until the statuses have all of them. An Ingress that the nodes do not \
    serve keeps its address, and the command names it.\n\n\
    --undo orders the nodes to write nothing any more, waits until each node has confirmed that, and puts \
    back what the file has where the nodes wrote. Then the file is removed. When a take-over or --undo was \
    interrupted at any moment, either of them can be run, and goes on from there.\n\n\
    The order is the Lease LEASE.status in the namespace of publish.namespace. It holds for every node of the \
    group until it is changed. The administrator needs these rights: list of ingresses, ingressclasses, \
    namespaces, deployments and daemonsets in all namespaces; list, create and patch of leases in that \
    namespace; for --undo also patch of ingresses/status.")]
pub struct Arguments {
    /// The result of `ingressd migrate compare`, as JSON.
    #[arg(long, value_name = "FILE", conflicts_with = "undo")]
    compare: Option<PathBuf>,
    /// How old that result may be, such as 24h.
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = duration)]
    compare_age: Duration,
    /// File that keeps what the statuses had before.
    #[arg(long, value_name = "FILE", default_value = "ingressd-take-over.json")]
    record: PathBuf,
    /// Put back what the statuses had before.
    #[arg(long)]
    undo: bool,
    /// Go on although answers differ or were not compared, or although a node is not ready for the
    /// take-over. With --undo: go on although the controller has no pod that is ready, or although
    /// it is not known what the statuses had before: then they stay, and only the nodes stop
    /// writing.
    #[arg(long)]
    force: bool,
    /// Only show what would be done.
    #[arg(long)]
    dry_run: bool,
    /// How long to wait for the nodes, such as 90s or 5m.
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration)]
    timeout: Duration,
    /// Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names,
    /// or ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    admin_kubeconfig: Option<PathBuf>,
    /// Context of the administrator's kubeconfig. The default is its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Deployment or DaemonSet of the controller. It is needed where there are several.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    controller: Option<String>,
    #[command(flatten)]
    settings: SettingsArguments,
}

impl Arguments {
    fn origin(&self) -> Origin {
        Origin {
            files: Vec::new(),
            admin_kubeconfig: self.admin_kubeconfig.clone(),
            context: self.context.clone(),
            controller: self.controller.clone(),
        }
    }
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    crate::cli::runtime::start()?.block_on(async {
        let looked = ClusterState::at(arguments).await?;
        match arguments.undo {
            true => undo::run(arguments, &looked).await,
            false => take(arguments, &looked).await,
        }
    })
}

async fn take(arguments: &Arguments, looked: &ClusterState) -> Ended {
    let nodes = looked.hand_over.nodes().await.map_err(looked::failed)?;
    let lines = checks::lines(arguments, looked, &nodes)?;
    lines.iter().for_each(|line| say!("{line}"));
    let worst = lines.iter().map(|line| line.weight).max();
    if worst > Some(if arguments.force { Weight::Doubtful } else { Weight::Remark }) {
        complain!("ingressd: nothing was changed");
        return Ok(Exit::Findings);
    }
    let targets = checks::addresses(&nodes);
    let entries = looked.entries().await?;
    for entry in entries.iter().filter(|entry| !is_moved(entry, &targets)) {
        let to = targets.iter().map(String::as_str).collect::<Vec<_>>();
        say!("{}", change(entry, &to));
    }
    let mut record = match record_file::read(&arguments.record)? {
        Some(record) => record_file::of_this_cluster(record, &arguments.record, looked)?,
        None => Record::new(looked.administrator.server(), &looked.hand_over.manager()),
    };
    let unknown = record.update(&entries);
    for id in unknown {
        say!("remark: {id} is the nodes' already, and what stood there before is not known");
    }
    if arguments.dry_run {
        say!("nothing was changed (--dry-run)");
        return Ok(Exit::Success);
    }
    record_file::write(&arguments.record, &record)?;
    say!("what stands there now is kept in {}", arguments.record.display());
    looked.hand_over.give(Order::Publish).await.map_err(looked::failed)?;
    say!("the nodes are told to write their addresses");
    follow(arguments, looked, &nodes).await
}

/// Waits until every Ingress has the addresses of the nodes and no others, and reports those that
/// have not.
async fn follow(arguments: &Arguments, looked: &ClusterState, nodes: &[(Arc<Member>, Life)]) -> Ended {
    let begun = Instant::now();
    let left = loop {
        let entries = looked.entries().await?;
        let targets = addresses_since(looked, nodes).await?;
        let all = entries.len();
        let left: Vec<_> = entries.into_iter().filter(|entry| !is_moved(entry, &targets)).collect();
        if left.is_empty() {
            let moved = count(all, "Ingress has", "Ingresses have");
            say!("{moved} the addresses of the nodes, {}", list(targets.iter().map(String::as_str)));
            return Ok(Exit::Success);
        }
        if begun.elapsed() >= arguments.timeout {
            break left;
        }
        tokio::time::sleep(LOOK).await;
    };
    for entry in &left {
        let id = entry.id();
        complain!(
            "ingressd: {id} still has {}: `ingressd status {id}` on a node says why",
            list(entry.addresses().into_iter())
        );
    }
    complain!(
        "ingressd: all others have the addresses of the nodes; when the cause is removed, the nodes write the rest without this command"
    );
    Ok(Exit::Findings)
}

/// The addresses of the nodes that are ready, and of nodes that came since.
async fn addresses_since(looked: &ClusterState, nodes: &[(Arc<Member>, Life)]) -> Result<BTreeSet<String>, Exit> {
    let mut addresses = checks::addresses(nodes);
    let is_new = |member: &&Arc<Member>| nodes.iter().all(|(known, _)| known.identity != member.identity);
    let members = looked.hand_over.members().await.map_err(looked::failed)?;
    let came = members.iter().filter(is_new).flat_map(|member| &member.addresses);
    addresses.extend(came.map(ToString::to_string));
    Ok(addresses)
}

/// Whether the status leads clients to the nodes only.
fn is_moved(entry: &Entry, targets: &BTreeSet<String>) -> bool {
    let addresses = entry.addresses();
    !addresses.is_empty() && addresses.iter().all(|address| targets.contains(*address))
}

/// A text about the change from the present addresses to these.
fn change(entry: &Entry, to: &[&str]) -> String {
    format!("{}: {} -> {}", entry.id(), list(entry.addresses().into_iter()), list(to.iter().copied()))
}

fn list<'a>(addresses: impl Iterator<Item = &'a str>) -> String {
    let addresses: Vec<_> = addresses.map(printable).collect();
    if addresses.is_empty() { "no address".to_owned() } else { addresses.join(", ") }
}
