//! The input of the take-over: the controller, the Ingresses of the nodes' classes, and the API
//! calls. It must not decide anything.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Arguments;
use crate::cli::exit::Exit;
use crate::cli::migrate::{keep_served, no_answer};
use crate::cli::settings;
use ingressd_cluster::publish::hand_over::{Entry, Failure, HandOver};
use ingressd_cluster::source::cluster::{Administrator, Extent};
use ingressd_migrate::take_over::Running;
use ingressd_migrate::{Controller, drop_in};
use ingressd_model::ObjectId;
use ingressd_objects::Inventory;
use ingressd_translate::is_ours;

/// The annotation that external-dns reads in the place of the status.
pub const TARGET: &str = "external-dns.alpha.kubernetes.io/target";

/// The state of the cluster.
pub struct ClusterState {
    /// The connection to the cluster.
    pub administrator: Administrator,
    /// The calls about nodes and statuses.
    pub hand_over: HandOver,
    controller: Option<Controller>,
    objects: Vec<Value>,
    /// Namespace and name of the Ingresses in the classes and namespaces that the nodes serve.
    ours: BTreeSet<String>,
    /// Those that lead names in DNS somewhere by an annotation, and where.
    pub targets: Vec<(String, String)>,
}

impl ClusterState {
    /// Reads the state.
    pub async fn at(arguments: &Arguments) -> Result<Self, Exit> {
        let (path, context) = (arguments.admin_kubeconfig.as_deref(), arguments.context.as_deref());
        let administrator =
            Administrator::connect(path, context).await.map_err(|error| no_answer(&error, Extent::WhoServes))?;
        let objects = administrator.who_serves().await.map_err(|error| no_answer(&error, Extent::WhoServes))?;
        let mut inventory = Inventory::of_objects(&objects);
        let controller = arguments.origin().controller(&inventory)?;
        let mut sources = arguments.settings.sources([]);
        sources.further = Some(drop_in(&controller.clone().unwrap_or_default()).text);
        let settings = sources.load_without_templates().map_err(|error| settings::complain(&error))?;
        keep_served(&mut inventory, &settings);
        let snapshot = &inventory.snapshot;
        let ours = snapshot.ingresses.iter().filter(|stored| is_ours(stored, snapshot, &settings.translate));
        let name = |id: &ObjectId| format!("{}/{}", id.namespace, id.name);
        let targets = ours.clone().filter_map(|stored| {
            let target = stored.object.annotations.get(TARGET).filter(|target| !target.is_empty())?;
            Some((name(&stored.id), target.to_owned()))
        });
        let targets = targets.collect();
        let ours = ours.map(|stored| name(&stored.id)).collect();
        let hand_over = HandOver::new(&administrator, &settings.publish);
        Ok(ClusterState { administrator, hand_over, controller, objects, ours, targets })
    }

    /// The controller with its workload; `None` when there is none.
    pub fn running(&self) -> Option<Running<'_>> {
        Running::of(self.controller.as_ref()?, &self.objects)
    }

    /// The present status of each Ingress that the nodes may serve.
    pub async fn entries(&self) -> Result<Vec<Entry>, Exit> {
        let all = self.all_entries().await?;
        Ok(all.into_iter().filter(|entry| self.ours.contains(&entry.id())).collect())
    }

    /// The same of every Ingress.
    pub async fn all_entries(&self) -> Result<Vec<Entry>, Exit> {
        let listed = self.administrator.ingresses().await.map_err(|error| no_answer(&error, Extent::WhoServes))?;
        Ok(listed.iter().filter_map(Entry::of).collect())
    }
}

/// Prints an error about nodes or a status.
pub fn failed(failure: Failure) -> Exit {
    complain!("ingressd: {}", failure.to_string().replace(char::is_control, " "));
    let exit = exit_of(&failure);
    if exit == Exit::Permission {
        complain!("ingressd: `ingressd migrate take-over --help` lists the rights that it needs");
    }
    complain!("ingressd: what was done stays; run this again, or the opposite");
    exit
}

/// The exit status for it.
pub fn exit_of(failure: &Failure) -> Exit {
    match failure {
        Failure::Away { code: Some(401 | 403), .. } => Exit::Permission,
        _ => Exit::Unavailable,
    }
}
