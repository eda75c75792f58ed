//! What of this node needs somebody's attention, and what to do about it: the first words of
//! `ingressd status` and of the status page. It must not know how they are shown.

use std::time::Instant;

use serde_json::{Value, json};

use super::Status;
use ingressd_cluster::publish::{Life, Outlook, Peer};
use ingressd_model::finding::{Severity, count, on_one_line};

/// The longest silence of an API server without changes, in seconds: it sends a bookmark about
/// once a minute.
pub const LONGEST_QUIET: u64 = 150;

/// Something that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub struct Need {
    /// What it is, in a sentence.
    pub what: String,
    /// What to do, in a sentence, with commands between backquotes.
    pub remedy: &'static str,
    /// The section of what is shown that has the details.
    pub section: Option<&'static str>,
}

/// Whether all is well, in a few words.
pub fn verdict(needs: usize) -> String {
    match needs {
        0 => "All is well".to_owned(),
        many => format!("{} attention", count(many, "thing needs", "things need")),
    }
}

impl Status {
    /// What needs attention, the most urgent first.
    pub fn needs(&self, now: Instant) -> Vec<Need> {
        let mut found = Vec::new();
        let mut report = |what: String, remedy| found.push(Need { what, remedy, section: None });
        if let Err(why) = self.ready() {
            report(format!("This node is not ready: {}.", on_one_line(&why)), "`ingressd doctor` finds what keeps it.");
        } else if let Some(why) = &self.why {
            let what = format!("The last change is not served: {}.", on_one_line(why));
            report(what, "nginx goes on with the generation before; correct what it names.");
        }
        if let Some(note) = self.pinned_note() {
            report(format!("{note}."), "`ingressd diff` shows what waits.");
        }
        if self.reported.drained {
            report("This node is drained.".to_owned(), "`ingressd undrain` takes it back into service.");
        }
        if let Some(why) = &self.source_failure {
            let what = format!("The source cannot be read: {}.", on_one_line(why));
            report(what, "What is served stays as it is; `ingressd doctor` finds what is in the way.");
        } else if self.data_read.is_none() && self.ready().is_ok() {
            let what = "The cluster was not read since the daemon began: this is what an earlier run has served.";
            report(what.to_owned(), "`ingressd doctor` finds what is in the way.");
        } else if self.data_age(now).is_some_and(|age| age.as_secs() >= LONGEST_QUIET) {
            let what = "What the cluster says may be out of date.".to_owned();
            report(what, "The watches below say why; `ingressd doctor` tells what to do.");
        }
        let findings = self.all_findings();
        for (severity, one, many) in [(Severity::Error, "error", "errors"), (Severity::Warning, "warning", "warnings")]
        {
            let of_it = findings.iter().filter(|finding| finding.severity == severity).count();
            if of_it > 0 {
                let what = format!("{} found in objects and on this node.", count(of_it, one, many));
                let remedy = "The findings below say where, and what to do.";
                found.push(Need { what, remedy, section: Some("findings") });
            }
        }
        let view = self.outlook.as_ref().map(Outlook::view);
        let is_absent = |peer: &&Peer| !peer.member.drained && (peer.life == Life::Expired || !peer.member.serving);
        let absent = view.iter().flat_map(|view| &view.members).filter(is_absent).count();
        if absent > 0 {
            let what = format!("{} of the group not serving.", count(absent, "node is", "nodes are"));
            found.push(Need { what, remedy: "The nodes below say which.", section: Some("nodes") });
        }
        found
    }

    /// The same for `/status.json`. Names of members are a contract.
    pub(super) fn needs_json(&self, now: Instant) -> Value {
        let needs = self.needs(now).into_iter();
        needs.map(|need| json!({ "what": need.what, "remedy": need.remedy })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::status::Phase;

    #[test]
    fn whoever_looks_learns_what_to_do_the_most_urgent_first() {
        let now = Instant::now();
        let well = Status {
            phase: Phase::Serving,
            generation: Some(7),
            served: Some(7),
            data_read: Some(now),
            data_current: true,
            ..Status::default()
        };
        assert_eq!((well.needs(now), verdict(0)), (Vec::new(), "All is well".to_owned()));
        let quiet = Status { data_current: false, ..well.clone() };
        let after = |seconds| quiet.needs(now + std::time::Duration::from_secs(seconds)).len();
        assert_eq!((after(LONGEST_QUIET - 1), after(LONGEST_QUIET)), (0, 1));
        let failed = Status {
            phase: Phase::NginxDown,
            source_failure: Some("away\u{1b}[2J".into()),
            refused_settings: Some("a bad key".into()),
            ..well
        };
        let needs = failed.needs(now);
        let reported: Vec<_> = needs.iter().map(|need| (need.what.as_str(), need.section)).collect();
        let expected = [
            ("This node is not ready: nginx-down.", None),
            ("The source cannot be read: away\\u{1b}[2J.", None),
            ("1 error found in objects and on this node.", Some("findings")),
        ];
        assert_eq!(reported, expected);
        assert_eq!((verdict(1), verdict(3)), ("1 thing needs attention".into(), "3 things need attention".into()));
    }
}
