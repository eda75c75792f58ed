//! What `ingressd migrate report` says about the manifests, held against what was found and what
//! is answered: nothing that changes is called equal.

use std::process::Command;

use serde_json::Value;

use crate::project::{Project, list};
use rig::Rig;

/// Reasons of findings about what ingress-nginx does as well, and the field; all fields where none
/// is named. It does not know the key either, takes the path as text, has removed the key, or
/// reads the value as no number or as none.
const SAME_THERE: &[(&str, &str)] = &[
    ("UnknownAnnotation", ""),
    ("NoEffectAlone", ""),
    ("LiteralPath", ""),
    ("UnresolvedName", ""),
    ("UnsupportedAnnotation", "secure-backends"),
    ("UnsupportedAnnotation", "session-cookie-hash"),
    ("InvalidValue", "proxy-read-timeout"),
    ("InvalidValue", "custom-http-errors"),
];

/// Statuses by which a path that is there is not served.
const NOT_SERVED: &[u16] = &[400, 503];

/// An Ingress of the report.
struct Reported {
    name: String,
    hosts: Vec<String>,
    /// Names and verdicts.
    items: Vec<(String, String)>,
}

impl Reported {
    fn read(ingress: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let items = list(&ingress["items"]).iter().map(|item| (text(&item["name"]), text(&item["verdict"]))).collect();
        Reported { name: text(&ingress["name"]), hosts: list(&ingress["hosts"]).iter().map(text).collect(), items }
    }

    fn is_equal(&self) -> bool {
        self.items.iter().all(|(_, verdict)| verdict == "equal")
    }
}

fn reported(rig: &Rig) -> Vec<Reported> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
    command.args(["migrate", "report", "--format", "json", "--config"]);
    command.arg(rig.daemon.folder().join("ingressd.toml")).arg(rig.manifests.folder());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let report: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    list(&report["ingresses"]).iter().map(Reported::read).collect()
}

/// Findings and answers that change something, and beside which the report says "equal".
pub fn report(rig: &Rig, projects: &[Project]) -> Vec<String> {
    let reported = reported(rig);
    let mut complaints = Vec::new();
    for project in projects {
        let own: Vec<_> =
            project.of_kind("Ingress").filter_map(|ingress| ingress["metadata"]["name"].as_str()).collect();
        let own: Vec<_> = reported.iter().filter(|one| own.contains(&one.name.as_str())).collect();
        for finding in &project.expected.findings {
            let mut parts = finding.splitn(3, ": ");
            let [name, field, reason] = [(); 3].map(|()| parts.next().unwrap_or_default());
            let is_same = |(same, of): &(&str, &str)| *same == reason && (of.is_empty() || *of == field);
            let field = if field.is_empty() { "the object" } else { field };
            let verdicts = own.iter().filter(|one| one.name == name).flat_map(|one| &one.items);
            let mut verdicts = verdicts.filter(|(item, _)| item == field).map(|(_, verdict)| verdict.as_str());
            let is_reported = own.iter().all(|one| one.name != name) || verdicts.any(|verdict| verdict != "equal");
            if !is_reported && !SAME_THERE.iter().any(is_same) {
                complaints.push(format!("{}: {finding}: the report has nothing, or equal", project.name));
            }
        }
        for row in &project.expected.requests {
            let host = url::Url::parse(&row.ask).unwrap().host_str().unwrap_or_default().to_owned();
            let of_host = || own.iter().filter(|one| one.hosts.contains(&host));
            let is_refused = row.by.is_none() && row.status.is_some_and(|status| NOT_SERVED.contains(&status));
            // Requests for a path that is text in both programs get to no backend in either.
            let is_text = |one: &Reported| {
                let of_it = |finding: &String| finding.starts_with(&format!("{}: ", one.name));
                project.expected.findings.iter().any(|finding| of_it(finding) && finding.ends_with(": LiteralPath"))
            };
            let is_unreached = project.expected.unreached.contains(&host) && !of_host().any(|one| is_text(one));
            let is_unserved = is_refused || is_unreached;
            if is_unserved && of_host().next().is_some() && of_host().all(|one| one.is_equal()) {
                complaints
                    .push(format!("{}: {} is {:?}, and the report says equal", project.name, row.ask, row.status));
            }
        }
    }
    complaints
}
