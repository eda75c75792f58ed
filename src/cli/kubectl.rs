//! The commands of kubectl's plugin: what is served and why, by the rights of whoever asks,
//! without access to a node.

mod cluster;
mod completion;
mod difference;
mod members;

use std::path::PathBuf;

use clap::Subcommand;

use super::check;
use super::exit::{Ended, Exit};
use super::explain;
use super::output::{self, Format, FormatArguments};
use super::page;
use crate::daemon::explain::Address;
use cluster::{Cluster, Reaching};
use ingressd_model::ObjectId;
use ingressd_model::finding::Severity;
use ingressd_objects::CLUSTER;

/// Arguments of `kubectl ingressd`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
    kubectl runs this as `kubectl ingressd` where a program named kubectl-ingressd is in PATH, which the packages bring. It asks the API server alone, with your kubeconfig and your rights: of what you may not read it says that it does not know it. \
    How objects are judged is decided by the settings of the nodes, of which each node tells the decisive ones in its Lease; --config \
    names others. Secrets are never read: of each it is taken that it holds what it should.")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    step: Step,
}

/// One variant for each command.
#[derive(Debug, Subcommand)]
enum Step {
    /// Say why a request is answered as it is.
    Explain(ExplainArguments),
    /// Find the mistakes in manifests, as they would be in this cluster.
    Check(FileArguments),
    /// Show what manifests would change of what is served.
    Diff(FileArguments),
    /// Show the nodes, and what is wrong with the Ingresses of a namespace.
    Status(StatusArguments),
    /// Complete words for kubectl.
    #[command(name = "__complete", hide = true)]
    Complete {
        /// The words, of which the last is begun.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

/// Arguments of `kubectl ingressd explain`.
#[derive(Debug, clap::Args)]
struct ExplainArguments {
    /// The request: scheme, port and query do not matter and may be left out.
    #[arg(value_name = "URL", value_parser = explain::address)]
    address: Address,
    /// Explain it as if these files and folders of manifests were applied.
    #[arg(short, long = "filename", value_name = "FILE|FOLDER")]
    files: Vec<PathBuf>,
    /// Show options too that are as they are built in.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    reaching: Reaching,
}

/// Arguments of the commands about manifests.
#[derive(Debug, clap::Args)]
struct FileArguments {
    /// Files and folders of manifests.
    #[arg(required_unless_present = "more", value_name = "FILE|FOLDER")]
    files: Vec<PathBuf>,
    /// The same, as kubectl takes them.
    #[arg(short = 'f', long = "filename", value_name = "FILE|FOLDER")]
    more: Vec<PathBuf>,
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    reaching: Reaching,
}

/// Arguments of `kubectl ingressd status`.
#[derive(Debug, clap::Args)]
struct StatusArguments {
    #[command(flatten)]
    form: FormatArguments<Format>,
    #[command(flatten)]
    reaching: Reaching,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    match &arguments.step {
        Step::Explain(arguments) => explain(arguments),
        Step::Check(arguments) => check(arguments),
        Step::Diff(arguments) => diff(arguments),
        Step::Status(arguments) => status(arguments),
        Step::Complete { words } => completion::complete(words),
    }
}

fn explain(arguments: &ExplainArguments) -> Ended {
    let cluster = Cluster::read(&arguments.reaching)?;
    let processed = cluster.process(&arguments.files)?;
    let files = check::Files::of(&processed);
    let answer = processed.in_force().explain(&arguments.address, &processed.findings, &|origin| {
        files.place_of(origin).filter(|place| !place.starts_with(&format!("{CLUSTER}:")))
    });
    let end = if explain::is_taken(&answer) { Exit::Success } else { Exit::Findings };
    match arguments.form.format {
        Format::Text => {
            cluster.report_what_is_unknown();
            output::show_styled(&explain::text(&answer, arguments.all, page::width()), end)
        }
        Format::Json => output::show(output::json(&cluster.noted(answer)), end),
    }
}

fn check(FileArguments { files, more, form, reaching }: &FileArguments) -> Ended {
    let files = &[&files[..], more].concat();
    let cluster = Cluster::read(reaching)?;
    let mut processed = cluster.judge(files)?;
    let own = cluster.ids_of(files)?;
    processed.findings.retain(|finding| own.contains(&finding.origin.object) || is_of_file(&finding.origin.object));
    let is_found = processed.findings.iter().any(|finding| finding.severity >= Severity::Error);
    let end = if is_found { Exit::Findings } else { Exit::Success };
    match form.format {
        Format::Text => {
            cluster.report_what_is_unknown();
            output::show(check::lines(&processed), end)
        }
        Format::Json => output::show(output::json(&cluster.noted(check::document(&processed))), end),
    }
}

/// Whether a finding is about a file that cannot be read.
fn is_of_file(id: &ObjectId) -> bool {
    id.kind == ingressd_model::Kind::FILE
}

fn diff(FileArguments { files, more, form, reaching }: &FileArguments) -> Ended {
    let files = &[&files[..], more].concat();
    let cluster = Cluster::read(reaching)?;
    let sides = [cluster.process(&[])?, cluster.process(files)?];
    let difference = difference::Difference::of(&sides);
    let end = if difference.is_empty() { Exit::Success } else { Exit::Findings };
    match form.format {
        Format::Text => {
            cluster.report_what_is_unknown();
            output::show_styled(&difference.text(), end)
        }
        Format::Json => output::show(output::json(&cluster.noted(difference.json())), end),
    }
}

fn status(StatusArguments { form, reaching }: &StatusArguments) -> Ended {
    let cluster = Cluster::read(reaching)?;
    let processed = cluster.process(&[])?;
    let (status, is_well) = members::status(&cluster, &processed);
    let end = if is_well { Exit::Success } else { Exit::Findings };
    match form.format {
        Format::Text => {
            cluster.report_what_is_unknown();
            output::show_styled(&members::text(&status, page::width()), end)
        }
        Format::Json => output::show(output::json(&cluster.noted(status)), end),
    }
}
