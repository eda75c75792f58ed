//! Where log lines go, and which findings are logged.

use std::collections::{BTreeSet, HashMap};
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;
use std::os::linux::fs::MetadataExt as _;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tracing_subscriber::layer::{Layered, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

use ingressd_config::{Log, LogFormat};
use ingressd_model::finding::{Finding, Severity, count};

/// Why logging cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The level or filter cannot be read.
    #[error("log.level: {0:?} is no level and no filter of tracing; use error, warn, info, debug or trace")]
    Level(String),
    /// The journal cannot be reached.
    #[error("log.format: the journal cannot be reached: {0}; use \"text\"")]
    Journal(std::io::Error),
}

/// The filter, below the output.
type Filtered = Layered<reload::Layer<EnvFilter, Registry>, Registry>;

/// The output of log lines.
type Output = Box<dyn Layer<Filtered> + Send + Sync>;

/// Handles to change the logging while the process runs.
struct Handles {
    filter: reload::Handle<EnvFilter, Registry>,
    output: reload::Handle<Output, Filtered>,
}

static HANDLES: OnceLock<Handles> = OnceLock::new();

/// Starts logging for the whole process. A second call has no effect.
pub fn start(settings: &Log) -> Result<(), Error> {
    let (filter, filter_handle) = reload::Layer::new(filter(settings)?);
    let (output, output_handle) = reload::Layer::new(output(settings)?);
    // Another caller in this process, such as the demo, may have started it already.
    if Registry::default().with(filter).with(output).try_init().is_ok() {
        let _ = HANDLES.set(Handles { filter: filter_handle, output: output_handle });
    }
    Ok(())
}

/// Changes logging to other settings; without [`start`] nothing happens.
pub fn set(settings: &Log) -> Result<(), Error> {
    let (filter, output) = (filter(settings)?, output(settings)?);
    if let Some(handles) = HANDLES.get() {
        // Both fail only when the process does not log any more.
        let _ = handles.filter.reload(filter);
        let _ = handles.output.reload(output);
    }
    Ok(())
}

fn filter(settings: &Log) -> Result<EnvFilter, Error> {
    // kube reports failures that the watches log themselves once, and would log the contents of
    // Secrets. The resolver reports each DNS query, which does not help administrators.
    let directives =
        format!("kube_client=off,hickory_net=warn,hickory_resolver=warn,hickory_proto=warn,{}", settings.level);
    EnvFilter::try_new(directives).map_err(|_| Error::Level(settings.level.clone()))
}

fn output(settings: &Log) -> Result<Output, Error> {
    Ok(match settings.format {
        LogFormat::Journal => Box::new(journal().map_err(Error::Journal)?),
        LogFormat::Automatic if stderr_is_the_journal() => match journal() {
            Ok(layer) => Box::new(layer),
            Err(_) => Box::new(text()),
        },
        LogFormat::Automatic | LogFormat::Text => Box::new(text()),
        LogFormat::Json => Box::new(fmt::layer().json().with_writer(std::io::stderr)),
    })
}

/// Structured fields keep their own names: OBJECT=, REASON=, GENERATION=.
fn journal() -> std::io::Result<tracing_journald::Layer> {
    Ok(tracing_journald::layer()?.with_field_prefix(None).with_syslog_identifier("ingressd".to_owned()))
}

fn text<S>() -> impl Layer<S> + Send + Sync
where
    S: tracing::Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>,
{
    fmt::layer().with_writer(std::io::stderr).with_target(false).with_ansi(std::io::stderr().is_terminal())
}

/// `JOURNAL_STREAM` has the device and inode of the stream that systemd connected; stderr may have
/// been redirected since.
fn stderr_is_the_journal() -> bool {
    let Some(reported) = std::env::var("JOURNAL_STREAM").ok() else { return false };
    let Some((device, inode)) = reported.split_once(':') else { return false };
    let Ok(stderr) = std::io::stderr().as_fd().try_clone_to_owned() else { return false };
    let Ok(metadata) = std::fs::File::from(stderr).metadata() else { return false };
    device.parse() == Ok(metadata.st_dev()) && inode.parse() == Ok(metadata.st_ino())
}

/// The period in which log lines about one namespace are counted.
const PERIOD: Duration = Duration::from_secs(60);

/// The findings that were logged last: only differences are logged.
#[derive(Debug, Default)]
pub struct FindingLog {
    known: BTreeSet<Finding>,
    /// When the period of each namespace began, and the number of lines since.
    lines: HashMap<Arc<str>, (Instant, usize)>,
}

/// Whether a line is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Written,
    /// It is the first line about its namespace that is suppressed.
    FirstLeftOut,
    LeftOut,
}

impl FindingLog {
    /// Logs new findings and findings that are gone: for each namespace at most `most` lines per
    /// minute.
    pub fn update(&mut self, findings: &[Finding], generation: Option<u64>, most: usize, now: Instant) {
        let (new, mended) = self.difference(findings);
        self.lines.retain(|_, (began, _)| now.saturating_duration_since(*began) < PERIOD);
        let prefixed =
            new.iter().map(|finding| (finding, "")).chain(mended.iter().map(|finding| (finding, "mended: ")));
        for (finding, prefix) in prefixed {
            let namespace = &finding.origin.object.namespace;
            match self.line(namespace, most, now) {
                Line::Written => report(finding, generation, prefix),
                Line::FirstLeftOut => tracing::warn!(
                    "the namespace {namespace:?} caused more than {} within a minute, and the rest is left out; \
                     `ingressd status` shows what is wrong (limits.findings-of-namespace)",
                    count(most, "line about findings", "lines about findings")
                ),
                Line::LeftOut => {}
            }
        }
    }

    fn line(&mut self, namespace: &Arc<str>, most: usize, now: Instant) -> Line {
        let (_, lines) = self.lines.entry(Arc::clone(namespace)).or_insert((now, 0));
        *lines += 1;
        match *lines {
            lines if lines <= most => Line::Written,
            lines if lines == most + 1 => Line::FirstLeftOut,
            _ => Line::LeftOut,
        }
    }

    /// The findings that are new and those that are gone, in order; the given findings are known
    /// from now on.
    fn difference(&mut self, findings: &[Finding]) -> (Vec<Finding>, Vec<Finding>) {
        let now: BTreeSet<_> = findings.iter().cloned().collect();
        let new = now.difference(&self.known).cloned().collect();
        let mended = self.known.difference(&now).cloned().collect();
        self.known = now;
        (new, mended)
    }
}

fn report(finding: &Finding, generation: Option<u64>, prefix: &str) {
    let (object, field) = (finding.origin.object.to_string(), finding.origin.place());
    let (reason, page) = (finding.reason.row().name, finding.reason.page());
    let severity = if prefix.is_empty() { finding.severity } else { Severity::Info };
    // Field names in upper case reach the journal unchanged.
    macro_rules! write {
        ($level:ident) => {
            tracing::$level!(
                OBJECT = object,
                FIELD = field,
                REASON = reason,
                GENERATION = generation,
                "{prefix}{finding} ({page})"
            )
        };
    }
    match severity {
        Severity::Error => write!(error),
        Severity::Warning => write!(warn),
        Severity::Info => write!(info),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_model::finding::Reason;
    use ingressd_model::{Kind, ObjectId, Origin};

    #[test]
    fn one_namespace_cannot_fill_the_journal() {
        let (mut log, now) = (FindingLog::default(), Instant::now());
        let mut lines = |namespace: &str, now| [(); 4].map(|()| log.line(&namespace.into(), 2, now));
        let expected = [Line::Written, Line::Written, Line::FirstLeftOut, Line::LeftOut];
        assert_eq!(lines("crowd", now), expected);
        assert_eq!(lines("victim", now), expected);
        assert_eq!(lines("crowd", now), [Line::LeftOut; 4]);
        log.update(&[], None, 2, now + PERIOD);
        assert_eq!(log.line(&"crowd".into(), 2, now + PERIOD), Line::Written);
    }

    #[test]
    fn findings_are_reported_once_and_when_they_are_mended() {
        let finding = |name: &str| {
            let id = Arc::new(ObjectId::new(Kind::INGRESS, "shop", name));
            Finding::new(Reason::InvalidHost, Origin::object(&id), "it is not a DNS name")
        };
        let (a, b) = (finding("a"), finding("b"));
        let mut log = FindingLog::default();
        assert_eq!(log.difference(std::slice::from_ref(&a)), (vec![a.clone()], vec![]));
        assert_eq!(log.difference(&[a.clone(), b.clone()]), (vec![b.clone()], vec![]));
        assert_eq!(log.difference(&[a.clone(), b.clone()]), (vec![], vec![]));
        assert_eq!(log.difference(std::slice::from_ref(&b)), (vec![], vec![a]));
    }
}
