//! The command `check`: every finding about manifests, without a daemon.

mod junit;
mod placed;
mod sarif;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::admission::Chosen;
use super::exit::{Ended, Exit};
use super::offline::{Manifests, Processed};
use super::output::{self, FormatArguments};
use super::page;
use crate::cli::explain::option;
use crate::daemon::explain::Reported;
#[cfg(feature = "demo")]
use crate::demo;
use ingressd_model::finding::{Finding, Reason, Severity, count, count_of};
pub(super) use placed::Files;
use placed::{Placed, placed};

/// Arguments of `ingressd check`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    manifests: Manifests,
    #[command(flatten)]
    form: FormatArguments<Format>,
    /// Fail on warnings too.
    #[arg(long)]
    strict: bool,
    /// Judge as `ingressd demo` serves: backends may be on loopback addresses.
    #[cfg(feature = "demo")]
    #[arg(long)]
    demo: bool,
    /// Show also where each value in force was written: of the settings, of the ConfigMap of an
    /// ingress-nginx and of each Ingress.
    #[arg(long)]
    origins: bool,
    /// Show also what an API server with the policies of `ingressd admission` would refuse. The
    /// flags --action, --kubernetes and --name are those of that command.
    #[arg(long)]
    admission: bool,
    #[command(flatten)]
    chosen: Chosen,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A line each, and a summary.
    #[default]
    Text,
    /// An array of objects.
    Json,
    /// SARIF 2.1.0, which code hosts show beside the code.
    Sarif,
    /// JUnit XML: a test for each object.
    Junit,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    if arguments.chosen.has_choices() && !arguments.admission {
        complain!("ingressd: --action says what is done with --admission, which is missing");
        return Err(Exit::Usage);
    }
    if arguments.origins && arguments.form.format != Format::Text {
        complain!(
            "ingressd: --origins is text; `ingressd explain --format json` tells programs what counts of a request"
        );
        return Err(Exit::Usage);
    }
    let mut processed = arguments.manifests.process(true, arguments.named())?;
    report_of_demo(&mut processed);
    #[cfg(feature = "demo")]
    if arguments.demo {
        // The demo makes the certificates that its manifests lack.
        let is_made = |finding: &Finding| {
            finding.reason == Reason::MissingSecret && matches!(finding.origin.field, ingressd_model::Field::Tls(_))
        };
        processed.findings.retain(|finding| !is_made(finding));
    }
    if arguments.admission {
        judge(&mut processed, &arguments.chosen, arguments.manifests.classes());
    }
    let least = if arguments.strict { Severity::Warning } else { Severity::Error };
    let findings = placed(&processed);
    let written = match arguments.form.format {
        Format::Text if arguments.origins => origins(&processed) + &text(&processed),
        Format::Text => text(&processed),
        Format::Json => output::json(&json(&findings)),
        Format::Sarif => {
            let folder = std::env::current_dir().unwrap_or_default();
            output::json(&sarif::log(&findings, &folder))
        }
        Format::Junit => junit::report(&processed, &findings, least).map_err(|error| {
            complain!("ingressd: the report cannot be written: {error}");
            Exit::Unavailable
        })?,
    };
    let is_found = processed.findings.iter().any(|finding| finding.severity >= least);
    let end = if is_found { Exit::Findings } else { Exit::Success };
    match arguments.origins {
        true => output::show_styled(&written, end),
        false => output::show(written, end),
    }
}

impl Arguments {
    /// The settings that other flags than --set set.
    fn named(&self) -> Vec<(&'static str, String)> {
        #[cfg(feature = "demo")]
        if self.demo {
            return demo::settings_to_judge().into();
        }
        Vec::new()
    }
}

/// Manifests of a demonstration have their backends on this host: where an address is refused, the
/// flag is named that allows those.
fn report_of_demo(processed: &mut Processed) {
    let is_of_address = |finding: &&mut Finding| finding.reason == Reason::ForbiddenTarget;
    for finding in processed.findings.iter_mut().filter(is_of_address) {
        let note =
            format!("{}; --demo judges as `ingressd demo` serves, which allows loopback addresses", finding.note);
        finding.note = note.into();
    }
}

/// Adds the findings of the policies about the objects.
fn judge(processed: &mut Processed, chosen: &Chosen, classes: &[String]) {
    let snapshot = &processed.snapshot;
    let admission = chosen.admission(&processed.options, classes);
    if !snapshot.ingresses.is_empty() && admission.count(snapshot) == 0 {
        complain!("ingressd: --admission judges no Ingress of these: name their class with --class");
    }
    let refused = admission.judge(snapshot);
    let all: BTreeSet<_> = processed.findings.drain(..).chain(refused).collect();
    processed.findings = all.into_iter().collect();
}

/// Who wrote what counts, object by object.
fn origins(processed: &Processed) -> String {
    let (in_force, files) = (processed.in_force(), Files::of(processed));
    let mut text = String::new();
    let mut report = |title: &str, reported: Vec<Reported>| {
        if !reported.is_empty() {
            text += &format!("{title}\n");
            let written = reported.iter().map(|reported| reported.json(&|origin| files.place_of(origin)));
            written.for_each(|reported| text += &option(&reported, page::width()));
        }
    };
    report("Settings", in_force.written_settings());
    for stored in &processed.snapshot.ingresses {
        report(&stored.id.to_string(), in_force.written_for(&stored.id, &processed.findings));
    }
    text
}

/// A line for each finding.
pub(super) fn lines(processed: &Processed) -> String {
    let line = |(place, finding): Placed<'_>| {
        let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
        format!("{place}{}: {finding}\n", finding.severity.name())
    };
    placed(processed).into_iter().map(line).collect()
}

/// The findings for programs.
pub(super) fn document(processed: &Processed) -> Value {
    json(&placed(processed))
}

pub(super) fn text(processed: &Processed) -> String {
    let text = lines(processed);
    let unknown = processed.unknown().map(|unknown| format!("note: {unknown}\n"));
    text + unknown.as_deref().unwrap_or_default() + &summary(processed)
}

/// The last line: what was read, and how much was found.
fn summary(processed: &Processed) -> String {
    let of = |severity| processed.findings.iter().filter(|finding| finding.severity == severity).count();
    let objects: usize = processed.snapshot.lists().map(|(_, list)| list.count()).sum();
    let ours = processed.states.iter().filter(|state| state.is_ours()).count();
    let ingresses = processed.snapshot.ingresses.len();
    let hint = match ours {
        0 if ingresses > 0 => {
            " (ours are those of an IngressClass whose controller stands in `classes` of the settings; name one that is not \
             among the manifests with --class)"
        }
        _ => "",
    };
    format!(
        "{} read, {} ours{hint}: {}, {}\n",
        count(objects, "object", "objects"),
        count_of(ours, ingresses, "Ingress", "Ingresses"),
        count(of(Severity::Error), "error", "errors"),
        count(of(Severity::Warning), "warning", "warnings"),
    )
}

fn json(findings: &[Placed<'_>]) -> Value {
    let finding = |(place, finding): &Placed<'_>| {
        let object = &finding.origin.object;
        json!({
            "severity": finding.severity.name(),
            "reason": finding.reason.to_string(),
            "kind": object.kind.name(),
            "namespace": &*object.namespace,
            "name": &*object.name,
            "field": finding.origin.place(),
            "file": place.as_ref().map(|place| place.file.to_string()),
            "line": place.as_ref().map(|place| place.line),
            "column": place.as_ref().map(|place| place.column),
            "note": &*finding.note,
        })
    };
    findings.iter().map(finding).collect()
}
