//! What a user may read of a cluster, and the settings by which its nodes judge it. It must not
//! know what is asked about it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::exit::Exit;
use crate::cli::offline::{self, Host, Processed};
use crate::cli::settings::{complain, key_and_value};
use crate::daemon::to_look_with;
use ingressd_cluster::publish::Member;
use ingressd_cluster::publish::probe::{self, Kept, Leases};
use ingressd_cluster::source::cluster::{Administrator, AdministratorError, Readable};
use ingressd_config::{Settings, Sources, known_of_others};
use ingressd_migrate::stand_in_for_secrets;
use ingressd_model::catalogue::Version;
use ingressd_model::finding::{Reason, on_one_line, printable};
use ingressd_model::{Kind, ObjectId};
use ingressd_objects::directory::Directory;
use ingressd_objects::{Inventory, List, Snapshot};
use ingressd_translate::{Options, World};

/// By how many seconds the clocks of nodes may differ from the one here.
pub const CLOCKS: i64 = 60;

/// How the cluster is reached, and how its objects are judged.
#[derive(Debug, clap::Args)]
pub struct Reaching {
    /// Your kubeconfig. The default is the file that the variable KUBECONFIG names, or
    /// ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. The default is its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Namespace of manifests that name none, and what is read where you may not read all
    /// namespaces. The default is that of the context.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Namespace and name of the leader's Lease: publish.namespace and publish.lease of the nodes.
    /// It is needed where these are not built in.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = group)]
    group: Option<(String, String)>,
    /// Settings file to judge by, instead of the settings that the nodes tell.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set one key of ingressd.toml(5) over those settings. This option may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = key_and_value)]
    set: Vec<(String, String)>,
    /// Judge for this version of nginx instead of the one that the nodes tell.
    #[arg(long, value_name = "X.Y.Z", value_parser = offline::version)]
    nginx_version: Option<Version>,
    /// Name of an IngressClass that is the nodes', where you may not read IngressClasses. This
    /// option may be repeated. Without it all classes count as theirs.
    #[arg(long = "class", value_name = "NAME")]
    classes: Vec<String>,
}

fn group(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("a Lease is named as NAMESPACE/NAME".to_owned()),
    }
}

/// A cluster as one user sees it.
pub struct Cluster {
    pub settings: Settings,
    pub leases: Option<Leases>,
    /// The namespace of manifests that name none.
    pub namespace: String,
    options: Options,
    world: World,
    host: Host,
    inventory: Inventory,
    read: Readable,
    classes: Vec<String>,
    /// By what is judged and what is not known, a sentence each.
    notes: Vec<String>,
}

impl Cluster {
    /// Reads everything once; errors are printed.
    pub fn read(reaching: &Reaching) -> Result<Self, Exit> {
        let runtime = crate::cli::runtime::start()?;
        runtime.block_on(reaching.read())
    }

    /// What the nodes would serve if these files were applied.
    pub fn process(&self, files: &[PathBuf]) -> Result<Processed, Exit> {
        let manifests = (!files.is_empty()).then(|| self.manifests(Directory::new(files.to_vec()))).transpose()?;
        let snapshot = self.with(manifests.as_deref())?;
        self.processed(&snapshot)
    }

    /// The same, with all that can be said of objects which an API server would refuse.
    pub fn judge(&self, files: &[PathBuf]) -> Result<Processed, Exit> {
        let served = self.manifests(Directory::new(files.to_vec()))?;
        let judged = self.manifests(Directory::to_judge(files.to_vec()))?;
        offline::judged(&self.with(Some(&served))?, Some(self.with(Some(&judged))?), |snapshot| {
            self.processed(snapshot)
        })
    }

    /// The objects in these files.
    pub fn ids_of(&self, files: &[PathBuf]) -> Result<BTreeSet<ObjectId>, Exit> {
        let snapshot = self.manifests(Directory::to_judge(files.to_vec()))?;
        Ok(snapshot.ids().map(|id| ObjectId::clone(id)).collect())
    }

    /// The addresses in the status of an Ingress.
    pub fn addresses_of(&self, id: &ObjectId) -> &[String] {
        let name = (id.namespace.to_string(), id.name.to_string());
        self.inventory.published.get(&name).map_or(&[], Vec::as_slice)
    }

    /// Says on standard error by what is judged, and what is not known.
    pub fn report_what_is_unknown(&self) {
        self.notes.iter().for_each(|note| complain!("note: {note}"));
    }

    /// An answer for programs with the same.
    pub fn noted(&self, answer: Value) -> Value {
        json!({ "notes": self.notes, "answer": answer })
    }

    fn manifests(&self, directory: Directory) -> Result<Arc<Snapshot>, Exit> {
        offline::read(directory.within(&self.namespace))
    }

    /// The objects of the cluster, with manifests over them.
    fn with(&self, manifests: Option<&Snapshot>) -> Result<Arc<Snapshot>, Exit> {
        let mut inventory = self.inventory.clone();
        let mut own = Snapshot::default();
        if let Some(manifests) = manifests {
            inventory.snapshot = manifests.over(&inventory.snapshot);
            own.secrets = manifests.secrets.clone();
        }
        // Where names of Secrets are not known, each that is named is taken to exist.
        if self.read.is_unread("secrets") {
            inventory.snapshot.secrets = List::default();
        }
        stand_in_for_secrets(&mut inventory, &self.settings.translate).map_err(|error| {
            complain!("ingressd: nothing can stand in for Secrets: {error}");
            Exit::Unavailable
        })?;
        let mut snapshot = own.over(&inventory.snapshot);
        snapshot.unseen.extend(self.read.is_unread("namespaces").then_some(Kind::NAMESPACE));
        if self.read.is_unread("ingressclasses") {
            self.stand_in_for_classes(&mut snapshot);
        }
        Ok(Arc::new(snapshot))
    }

    fn stand_in_for_classes(&self, snapshot: &mut Snapshot) {
        let names: BTreeSet<String> = match self.classes.is_empty() {
            true => snapshot
                .ingresses
                .iter()
                .filter_map(|stored| stored.object.class_name.as_deref().map(str::to_owned))
                .collect(),
            false => self.classes.iter().cloned().collect(),
        };
        offline::stand_in_for_classes(snapshot, names.iter().map(String::as_str), &self.options.classes);
    }

    fn processed(&self, snapshot: &Snapshot) -> Result<Processed, Exit> {
        let (settings, on_node) = (self.settings.clone(), (self.options.clone(), self.world.clone()));
        let mut processed = offline::process(Arc::new(snapshot.clone()), settings, on_node, &self.host, false)?;
        if self.read.is_unread("endpointslices") {
            processed.findings.retain(|finding| finding.reason != Reason::NoEndpoints);
            processed.knows_endpoints = false;
        }
        if self.read.is_unread("configmaps") {
            processed.findings.retain(|finding| finding.reason != Reason::MissingConfigMap);
        }
        Ok(processed)
    }
}

impl Reaching {
    async fn read(&self) -> Result<Cluster, Exit> {
        let administrator = Administrator::connect(self.kubeconfig.as_deref(), self.context.as_deref());
        let administrator = administrator.await.map_err(|error| unanswered(&error))?;
        let namespace = self.namespace.clone().unwrap_or_else(|| administrator.namespace().to_owned());
        let mut notes = Vec::new();
        let leases = self.leases(&administrator, &mut notes).await?;
        let settings = self.settings(leases.as_ref(), &mut notes)?;
        let named = &settings.ingress_nginx;
        let named: Vec<_> =
            [&named.config_map, &named.tcp_services, &named.udp_services].into_iter().flatten().collect();
        let named: Vec<_> = named.iter().map(|(namespace, name)| (&**namespace, &**name)).collect();
        let read = administrator.readable(&namespace, &named).await.map_err(|error| unanswered(&error))?;
        if let Some(resource) = ["ingresses", "services"].into_iter().find(|resource| read.is_unread(resource)) {
            complain!(
                "ingressd: you may not list {resource} in namespace {}: name another one with --namespace, or ask an administrator of \
                 the cluster for the ClusterRole view there",
                printable(&namespace)
            );
            return Err(Exit::Permission);
        }
        self.note_unread(&read, &mut notes);
        let (mut options, mut world) = to_look_with(&settings).map_err(|error| {
            complain!("ingressd: {error}");
            Exit::Unavailable
        })?;
        // Addresses and memory of this machine are none of a node.
        world.own_addresses = settings.own_listeners().to_vec();
        options.limits = settings.translate_options().limits;
        let members = leases.iter().flat_map(|leases| &leases.members);
        world.claim_orders = members.clone().map(|kept| Arc::clone(&kept.what.claim_order)).collect();
        let reported = members.filter_map(|kept| offline::version(&kept.what.nginx).ok()).min();
        let version = self.nginx_version.or(reported).unwrap_or_else(|| {
            notes.push(format!("no node tells the version of its nginx: judging for {}", offline::ASSUMED));
            offline::ASSUMED
        });
        let (host, inventory) = (Host::of(&settings, Some(version)), Inventory::of_objects(&read.objects));
        let classes = self.classes.clone();
        Ok(Cluster { settings, leases, namespace, options, world, host, inventory, read, classes, notes })
    }

    /// The Leases of the nodes, where they may be read.
    async fn leases(&self, administrator: &Administrator, notes: &mut Vec<String>) -> Result<Option<Leases>, Exit> {
        let mut options = Settings::default().publish;
        if let Some((namespace, name)) = &self.group {
            (options.namespace, options.lease) = (namespace.as_str().into(), name.as_str().into());
        }
        match probe::leases(administrator.client(), &options).await {
            Ok(leases) if leases.members.is_empty() => {
                notes.push(format!(
                    "no node tells of itself in Leases of {}/{}: --group names those of the nodes",
                    options.namespace, options.lease
                ));
                Ok(None)
            }
            Ok(leases) => Ok(Some(leases)),
            Err(why) => {
                let (namespace, why) = (&options.namespace, on_one_line(&why));
                notes.push(format!(
                    "the Leases of the nodes in namespace {namespace} cannot be read ({why}); a Role there lets you \
                     (docs/kubectl.md), or --group names others"
                ));
                Ok(None)
            }
        }
    }

    /// The settings of a file, of the nodes, or those built in.
    fn settings(&self, leases: Option<&Leases>, notes: &mut Vec<String>) -> Result<Settings, Exit> {
        let flags = self.set.clone();
        if let Some(file) = &self.config {
            notes.push(format!("judged by the settings of {}", file.display()));
            let sources = Sources { file: Some(file.clone()), flags, ..Sources::default() };
            return sources.load_without_templates().map_err(|error| complain(&error));
        }
        // A renewal that has not come yet was forged, or is by a clock that is wrong.
        let has_been = |kept: &&Kept<Member>| {
            leases.zip(kept.renewed).is_some_and(|(leases, renewed)| renewed.as_second() <= leases.read + CLOCKS)
        };
        let members = leases.map_or(&[][..], |leases| &leases.members);
        let newest = members.iter().filter(has_been).max_by_key(|kept| kept.renewed);
        let text = newest.and_then(|kept| kept.what.settings.clone());
        match newest {
            Some(kept) if text.is_some() => {
                let node = printable(&kept.what.identity);
                notes.push(format!("judged by the settings that node {node} tells"));
                let differ = leases.iter().flat_map(|leases| &leases.members);
                let differ = differ.filter(|other| other.what.settings != text).map(|other| printable(&other.what.identity));
                let differ: Vec<_> = differ.collect();
                if !differ.is_empty() {
                    notes.push(format!("other settings are those of node {}", differ.join(", ")));
                }
            }
            Some(_) => notes.push(
                "judged by the settings that are built in, because the nodes tell none (they are of an earlier version, or \
                 their settings are too long for a Lease): --config names a file with them"
                    .to_owned(),
            ),
            None => notes.push("judged by the settings that are built in: --config names a file with those of the nodes".to_owned()),
        }
        let (further, others) = known_of_others(text.as_deref().unwrap_or_default());
        if !others.is_empty() {
            notes.push(format!(
                "settings of that node which this version does not know, or takes from nobody, are left out: {}; use the \
                 version of the nodes, or --config",
                printable(&others.join(", "))
            ));
        }
        let further = Some(further);
        Sources { flags, further, ..Sources::default() }.load_without_host().map_err(|error| complain(&error))
    }

    fn note_unread(&self, read: &Readable, notes: &mut Vec<String>) {
        if let Some(namespace) = &read.namespace {
            notes.push(format!(
                "you may read namespace {} only: what others have on the same hosts is not known",
                printable(namespace)
            ));
        }
        notes.extend(
            read.unread_objects
                .iter()
                .map(|object| format!("you may not read {object}: it is judged as if it were missing")),
        );
        notes.extend(read.unread().map(|resource| {
            let what = match resource {
                "ingressclasses" if self.classes.is_empty() => {
                    "every class counts as one of the nodes (--class names theirs)"
                }
                "ingressclasses" => "the classes that --class names count as those of the nodes",
                "secrets" => "each Secret is taken to exist",
                "endpointslices" => "whether Services have endpoints is not known",
                "namespaces" => "labels of namespaces are not known",
                "configmaps" => "routes whose annotations name one are judged as if it were missing",
                _ => "what they say is not known",
            };
            format!("you may not list {resource}: {what}")
        }));
    }
}

/// Prints why the cluster could not be asked.
fn unanswered(error: &AdministratorError) -> Exit {
    complain!("ingressd: {}", on_one_line(&error.to_string()));
    match error {
        AdministratorError::Kubeconfig(_) => Exit::Configuration,
        AdministratorError::Api { code: Some(401 | 403), .. } => Exit::Permission,
        AdministratorError::Api { .. } | AdministratorError::NoToken(_) => Exit::Unavailable,
    }
}
