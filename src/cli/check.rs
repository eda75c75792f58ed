//! The command `check`: every finding about manifests, without a daemon.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::exit::{Ended, Exit};
use super::offline::{Manifests, Processed};
use super::output;
use crate::finding::{Finding, Severity};
use crate::model::{Field, Kind};
use crate::source::place::Lines;

/// Arguments of `ingressd check`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    manifests: Manifests,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Fail on warnings too.
    #[arg(long)]
    strict: bool,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// A line each, and a summary.
    #[default]
    Text,
    /// An array of objects.
    Json,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Ended {
    let processed = arguments.manifests.process(true)?;
    let written = match arguments.format {
        Format::Text => text(&processed),
        Format::Json => format!("{:#}\n", json(&processed)),
    };
    let least = if arguments.strict { Severity::Warning } else { Severity::Error };
    let is_found = processed.findings.iter().any(|finding| finding.severity >= least);
    output::show(written, if is_found { Exit::Findings } else { Exit::Success })
}

/// A file, and a line of it from 1.
type FileLine = (Arc<str>, u32);

/// The findings with the places in files that they are about, in the order of these; what is about no file comes last.
fn placed(processed: &Processed) -> Vec<(Option<FileLine>, &Finding)> {
    let mut places = Places::default();
    let mut placed: Vec<_> =
        processed.findings.iter().map(|finding| (places.of(processed, finding), finding)).collect();
    placed.sort_by(|(one, _), (other, _)| one.is_none().cmp(&other.is_none()).then_with(|| one.cmp(other)));
    placed
}

pub(super) fn text(processed: &Processed) -> String {
    let mut text = String::new();
    for (place, finding) in placed(processed) {
        if let Some((file, line)) = place {
            text += &format!("{}:{line}: ", file.escape_debug());
        }
        text += &format!("{}: {finding}\n", finding.severity.name());
    }
    let count = |severity| processed.findings.iter().filter(|finding| finding.severity == severity).count();
    let objects: usize = Kind::ALL.iter().map(|kind| processed.snapshot.count(*kind)).sum();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let (ours, ingresses) = (processed.ours, processed.snapshot.ingresses.len());
    text + &format!(
        "{objects} objects read, {ours} of {ingresses} Ingresses are ours: {errors} errors, {warnings} warnings\n"
    )
}

fn json(processed: &Processed) -> Value {
    let finding = |(place, finding): (Option<FileLine>, &Finding)| {
        let object = &finding.origin.object;
        json!({
            "severity": finding.severity.name(),
            "reason": finding.reason.to_string(),
            "kind": object.kind.name(),
            "namespace": &*object.namespace,
            "name": &*object.name,
            "field": finding.origin.field.to_string(),
            "file": place.as_ref().map(|(file, _)| file.to_string()),
            "line": place.map(|(_, line)| line),
            "note": &*finding.note,
        })
    };
    placed(processed).into_iter().map(finding).collect()
}

/// The texts of files with findings.
#[derive(Default)]
struct Places(BTreeMap<Arc<str>, Lines>);

impl Places {
    fn of(&mut self, processed: &Processed, finding: &Finding) -> Option<FileLine> {
        let (object, field) = (&finding.origin.object, &finding.origin.field);
        if object.kind == Kind::File {
            let line = if let Field::Line(line) = field { *line } else { 1 };
            return Some((Arc::clone(&object.name), line));
        }
        let place = processed.snapshot.place(object)?;
        let lines = self.0.entry(Arc::clone(&place.file)).or_insert_with(|| {
            let bytes = std::fs::read(&*place.file).unwrap_or_default();
            Lines::new(&String::from_utf8_lossy(&bytes))
        });
        Some((Arc::clone(&place.file), lines.of(place.line, field)))
    }
}
