//! The command `migrate`: the steps of a migration from ingress-nginx. It must not know how
//! objects are judged.

mod compare;
mod take_over;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;

use super::exit::{Ended, Exit};
use super::offline::{self, Host};
use super::output::{self, FormatArguments};
use super::page;
use super::settings::{SettingsArguments, complain};
use super::waiting::waiting;
use crate::daemon::to_look_with;
use crate::doctor::certificate_names;
use ingressd_cluster::source::cluster::{Administrator, AdministratorError, Extent};
use ingressd_config::{OfNode, Settings};
use ingressd_migrate::compare::{BESIDE, Ports, side_by_side, taken};
use ingressd_migrate::{
    Controller, DropIn, Equivalence, Report, ReportInput, SiteCertificate, controllers, drop_in, judge, page as html,
    stand_in_for_secrets,
};
use ingressd_model::Kind;
use ingressd_model::catalogue::Version;
use ingressd_model::finding::on_one_line;
use ingressd_objects::{Inventory, Selector, Snapshot};

/// Arguments of `ingressd migrate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The step.
    #[command(subcommand)]
    step: Step,
}

/// One variant for each step.
#[derive(Debug, Subcommand)]
enum Step {
    /// Report for each Ingress, flag and key what is equal, stricter, different or refused, and
    /// what to do.
    Report(ReportArguments),
    /// Print settings that do what the controller's flags do, and that read its ConfigMap.
    Settings(SettingsOf),
    /// Send the same requests to the controller and to ingressd, and show what differs and which
    /// annotation explains it.
    Compare(compare::Arguments),
    /// Replace the addresses in statuses by those of the nodes, or put back those from before.
    TakeOver(take_over::Arguments),
}

/// Arguments of `ingressd migrate settings`.
#[derive(Debug, clap::Args)]
struct SettingsOf {
    #[command(flatten)]
    origin: Origin,
    /// Print settings for the time in which both programs serve the same objects: with other
    /// ports, and without writing statuses.
    #[arg(long)]
    side_by_side: bool,
    /// The ports for http and https meanwhile. The controller must not have them.
    #[arg(long, value_name = "HTTP,HTTPS", default_value_t = BESIDE, requires = "side_by_side")]
    ports: Ports,
}

/// Where the objects are.
#[derive(Debug, clap::Args)]
struct Origin {
    /// Files and folders with the output of `kubectl get -o yaml`, or with manifests. Without this
    /// argument the cluster is read.
    #[arg(value_name = "FILE|FOLDER")]
    files: Vec<PathBuf>,
    /// Kubeconfig of an administrator. The default is the file that the variable KUBECONFIG names,
    /// or ~/.kube/config.
    #[arg(long, value_name = "FILE", conflicts_with = "files")]
    admin_kubeconfig: Option<PathBuf>,
    /// Context of the administrator's kubeconfig. The default is its current one.
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    context: Option<String>,
    /// Deployment or DaemonSet of the controller. It is needed where there are several.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    controller: Option<String>,
}

/// Arguments of `ingressd migrate report`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    Objects are judged by the same rules as in `ingressd check` and in the daemon, with the settings that \
    `ingressd migrate settings` prints over those of this host, and for the nginx of this host where there is \
    one. Run the command on a node, so that it knows the other sites of that nginx. Nothing is changed. From \
    a cluster it lists IngressClasses, Ingresses, Deployments, DaemonSets, ConfigMaps, Services, Namespaces, \
    and the names of Secrets, never their contents.\n\n\
    equal: the effect is the same. stricter: fewer requests get through. different: the effect is another \
    one, or something has to be done first. refused: it has no effect.")]
struct ReportArguments {
    #[command(flatten)]
    origin: Origin,
    #[command(flatten)]
    form: FormatArguments<Form>,
    /// Show also what is equal and needs no change.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    judging: Judging,
}

/// The options by which objects are judged.
#[derive(Debug, clap::Args)]
struct Judging {
    /// Judge for this version of nginx instead of the installed one.
    #[arg(long, value_name = "X.Y.Z", value_parser = offline::version)]
    nginx_version: Option<Version>,
    #[command(flatten)]
    settings: SettingsArguments,
}

/// How the report is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// What needs a change, and a summary.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// One page that needs no other files.
    Html,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    match &arguments.step {
        Step::Report(arguments) => report(arguments),
        Step::Settings(arguments) => settings(arguments),
        Step::Compare(arguments) => compare::run(arguments),
        Step::TakeOver(arguments) => take_over::run(arguments),
    }
}

fn settings(SettingsOf { origin, side_by_side: is_beside, ports }: &SettingsOf) -> Ended {
    let inventory = origin.read()?;
    unread(&inventory);
    let controller = origin.controller(&inventory)?;
    if controller.is_none() {
        complain!("ingressd: no Deployment or DaemonSet of an ingress-nginx was found: its defaults are taken");
    }
    let controller = controller.unwrap_or_default();
    if let Some(taken) = taken(&controller, *ports).filter(|_| *is_beside) {
        let by = taken.by.iter().map(|(port, by)| format!("{port} is {}", on_one_line(by)));
        complain!(
            "ingressd: the ports {ports} cannot be used beside the controller, which may have the network of the same node: {}; name \
             others, such as --ports {}",
            by.collect::<Vec<_>>().join(", "),
            taken.free
        );
        return Err(Exit::Usage);
    }
    let DropIn { text, .. } = drop_in(&controller);
    let text = if *is_beside { side_by_side(&text, *ports) } else { text };
    output::show(text, Exit::Success)
}

fn report(arguments: &ReportArguments) -> Ended {
    let mut inventory = arguments.origin.read()?;
    let controller = arguments.origin.controller(&inventory)?;
    let report = arguments.judging.report(&mut inventory, controller.as_ref())?;
    let end = if report.verdict() == Equivalence::Refused { Exit::Findings } else { Exit::Success };
    match arguments.form.format {
        Form::Text => output::show_styled(&text::text(&report, arguments.all, page::width()), end),
        Form::Json => output::show(output::json(&report.json()), end),
        Form::Html => output::show(html(&report), end),
    }
}

impl Judging {
    /// Runs the pipeline over the objects, as a daemon would with the settings that replace the
    /// controller's flags.
    fn report(&self, inventory: &mut Inventory, controller: Option<&Controller>) -> Result<Report, Exit> {
        let drop_in = drop_in(&controller.cloned().unwrap_or_default());
        let mut sources = self.settings.sources([]);
        sources.further = Some(drop_in.text.clone());
        let settings = sources.load_without_templates().map_err(|error| complain(&error))?;
        keep_served(inventory, &settings);
        stand_in_for_secrets(inventory, &settings.translate).map_err(|error| {
            complain!("ingressd: nothing can stand in for Secrets: {error}");
            Exit::Unavailable
        })?;
        let on_this_host = to_look_with(&settings).map_err(|error| {
            complain!("ingressd: {error}");
            Exit::Unavailable
        })?;
        let host = Host::of(&settings, self.nginx_version);
        let of_node = of_node(&settings, &inventory.snapshot, &host);
        let of_sites = certificates_of_sites(&settings, &host);
        let processed = offline::process(Arc::new(inventory.snapshot.clone()), settings, on_this_host, &host, false)?;
        let (findings, states) = (&processed.findings[..], &processed.states[..]);
        let (drop_in, is_this_host) = (&drop_in, host.is_this);
        let (of_node, of_sites) = (&of_node, &of_sites[..]);
        let servers = &processed.plan.model.servers[..];
        Ok(judge(&ReportInput {
            inventory,
            findings,
            states,
            controller,
            drop_in,
            is_this_host,
            of_node,
            of_sites,
            servers,
        }))
    }
}

/// What nginx.conf of this host says of keys that belong there; nothing where it is not known.
fn of_node(settings: &Settings, snapshot: &Snapshot, host: &Host) -> BTreeMap<&'static str, OfNode> {
    let main = settings.nginx.configuration.display().to_string();
    let asked = settings.asked_of_nodes(snapshot).into_iter().filter(|_| host.is_this);
    let mut of_node = BTreeMap::new();
    for asked in asked {
        let said = asked.judge(&host.other_sites, &main, None);
        for key in asked.keys {
            // Of several lines of a key the first counts that is not as it should be.
            let known = of_node.entry(key).or_insert_with(|| said.clone());
            if known.is_met {
                *known = said.clone();
            }
        }
    }
    of_node
}

/// The certificates that other sites of this host have on our port for https.
fn certificates_of_sites(settings: &Settings, host: &Host) -> Vec<SiteCertificate> {
    let port = settings.translate.listeners.https_port;
    let folder = settings.nginx.configuration.parent().unwrap_or(Path::new("/"));
    let sites = host.other_sites.certificates.iter().filter(|site| site.ports.contains(&port));
    sites
        .map(|site| {
            let path = folder.join(&site.file);
            let (place, names) = (site.place.clone(), site.names.clone());
            SiteCertificate { place, file: path.display().to_string(), names, within: certificate_names(&path) }
        })
        .collect()
}

/// Leaves out Ingresses of namespaces that are not served, as the daemon does not see them.
fn keep_served(inventory: &mut Inventory, settings: &Settings) {
    let cluster = &settings.cluster;
    let selector: Option<Selector> = cluster.namespace_selector.as_ref().and_then(|selector| selector.parse().ok());
    if let Some(selector) = selector {
        let namespaces = inventory.snapshot.namespaces.clone();
        let labels = |name: &str| namespaces.find("", name).map(|stored| Arc::clone(&stored.object));
        inventory.keep_namespaces(|name| labels(name).is_some_and(|namespace| selector.selects(&namespace.labels)));
    } else if !cluster.namespaces.is_empty() {
        inventory.keep_namespaces(|name| cluster.namespaces.iter().any(|served| **served == *name));
    }
}

/// Prints why a cluster could not be asked.
fn no_answer(error: &AdministratorError, extent: Extent) -> Exit {
    // The error may quote others: control characters must not reach the terminal.
    complain!("ingressd: {}", error.to_string().replace(char::is_control, " "));
    if let AdministratorError::Kubeconfig(_) | AdministratorError::Api { code: Some(401), .. } = error {
        complain!("ingressd: name another kubeconfig with --admin-kubeconfig, or by the variable KUBECONFIG");
    }
    if let AdministratorError::Api { code: Some(403), .. } = error {
        let secrets = if extent == Extent::WhatIsServed { ",secrets" } else { "" };
        complain!("ingressd: somebody who may grant rights lets USER list all that this command reads:");
        complain!(
            "  kubectl create clusterrole ingressd-migrate --verb=list --resource={}{secrets}",
            extent.resources()
        );
        complain!("  kubectl create clusterrolebinding ingressd-migrate --clusterrole=ingressd-migrate --user=USER");
    }
    match error {
        AdministratorError::Kubeconfig(_) => Exit::Configuration,
        AdministratorError::Api { code: Some(401 | 403), .. } => Exit::Permission,
        AdministratorError::Api { .. } | AdministratorError::NoToken(_) => Exit::Unavailable,
    }
}

fn is_about_nothing(inventory: &Inventory) -> bool {
    let snapshot = &inventory.snapshot;
    snapshot.ingresses.is_empty() && snapshot.ingress_classes.is_empty() && controllers(&inventory.workloads).is_empty()
}

/// Prints what of the files could not be understood.
fn unread(inventory: &Inventory) {
    let of_files = inventory.snapshot.findings.iter().filter(|finding| finding.origin.object.kind == Kind::FILE);
    of_files.for_each(|finding| complain!("ingressd: {}", on_one_line(&finding.to_string())));
}

impl Origin {
    fn read(&self) -> Result<Inventory, Exit> {
        if !self.files.is_empty() {
            let inventory = Inventory::of_files(self.files.clone()).map_err(|error| {
                complain!("ingressd: {error}");
                Exit::NoInput
            })?;
            return if is_about_nothing(&inventory) { Err(self.nothing(&inventory)) } else { Ok(inventory) };
        }
        let _waiting = waiting("the API server to list all objects");
        let objects = crate::cli::runtime::start()?.block_on(async {
            let path = self.admin_kubeconfig.as_deref();
            Administrator::connect(path, self.context.as_deref()).await?.inventory().await
        });
        Ok(Inventory::of_objects(&objects.map_err(|error| no_answer(&error, Extent::WhatIsServed))?))
    }

    /// Prints that files have nothing that a migration is about, and why.
    fn nothing(&self, inventory: &Inventory) -> Exit {
        unread(inventory);
        let files = self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
        complain!(
            "ingressd: no Ingress, no IngressClass and no ingress-nginx (Deployment or DaemonSet) is in {files}; this \
             writes what is read:"
        );
        complain!("  kubectl get {} -A -o yaml > dump.yaml", Extent::WhatIsServed.resources());
        Exit::NoInput
    }

    /// The selected controller; `None` when there is none.
    fn controller(&self, inventory: &Inventory) -> Result<Option<Controller>, Exit> {
        let mut found = controllers(&inventory.workloads);
        if let Some(name) = &self.controller {
            found.retain(|controller| controller.name == *name);
            if found.is_empty() {
                complain!("ingressd: no Deployment or DaemonSet {name} runs an ingress-nginx");
                return Err(Exit::Usage);
            }
        }
        if let [_, _, ..] = &found[..] {
            let names: Vec<_> = found.iter().map(|controller| controller.name.as_str()).collect();
            complain!("ingressd: there are several: name one with --controller: {}", names.join(", "));
            return Err(Exit::Usage);
        }
        Ok(found.pop())
    }
}
