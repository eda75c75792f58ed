//! What `ingressd check` and `ingressd render` say about the manifests.

use std::process::Command;

use serde_json::Value;

use crate::project::{Project, list};
use rig::Rig;

fn output(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.code().is_some_and(|code| code <= 1), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Checks all manifests: findings that no project names, and those that it names and that are not
/// there.
pub fn check(rig: &Rig, projects: &[Project]) -> Vec<String> {
    let mut command = rig.daemon.command("check");
    command.args(["--format", "json", "--resolve"]).arg(rig.manifests.folder());
    let found: Vec<Value> = serde_json::from_str(&output(command)).unwrap();
    let reported = |finding: &Value| {
        let [file, name, field, reason] =
            ["file", "name", "field", "reason"].map(|member| finding[member].as_str().unwrap_or_default());
        let file = file.rsplit('/').next().unwrap_or_default().trim_end_matches(".yaml").to_owned();
        let key = field.strip_prefix("metadata.annotations[nginx.ingress.kubernetes.io/");
        let field = key.map_or(field, |key| key.trim_end_matches(']'));
        (file, format!("{name}: {field}: {reason}"), finding["note"].to_string())
    };
    // It depends on the age of the nginx that is installed.
    let of_age = |note: &str| note.contains("passes on only the first of several headers");
    let found: Vec<_> = found.iter().map(reported).filter(|(_, _, note)| !of_age(note)).collect();
    let expected = |file: &str| {
        let project = projects.iter().find(|project| project.name == file);
        project.map_or(&[][..], |project| &project.expected.findings)
    };
    let unexpected = found.iter().filter(|(file, finding, _)| !expected(file).contains(finding));
    let mut complaints: Vec<_> =
        unexpected.map(|(file, finding, note)| format!("{file}: a finding: {finding}: {note}")).collect();
    for project in projects {
        let missing =
            project.expected.findings.iter().filter(|expected| {
                !found.iter().any(|(file, finding, _)| (file, finding) == (&project.name, *expected))
            });
        complaints.extend(missing.map(|finding| format!("{}: no finding {finding}", project.name)));
    }
    complaints
}

/// Renders all manifests: lines that are missing in the files of a project's hosts.
pub fn render(rig: &Rig, projects: &[Project]) -> Vec<String> {
    let mut command = rig.daemon.command("render");
    command.arg(rig.manifests.folder());
    let text = output(command);
    let files: Vec<_> = text.split("\n# http/").collect();
    let mut complaints = Vec::new();
    for project in projects {
        let rules = project.of_kind("Ingress").flat_map(|ingress| list(&ingress["spec"]["rules"]));
        let hosts: Vec<_> = rules.filter_map(|rule| rule["host"].as_str()).collect();
        let own = |file: &&&str| {
            let names = file.lines().filter(|line| line.trim_start().starts_with("server_name "));
            names.into_iter().any(|line| hosts.iter().any(|host| line.contains(host)))
        };
        let lines: Vec<_> = files.iter().filter(own).flat_map(|file| file.lines()).map(str::trim).collect();
        let missing = project.expected.configuration.iter().filter(|line| !lines.contains(&line.as_str()));
        complaints.extend(missing.map(|line| format!("{}: nginx is not told {line}", project.name)));
    }
    complaints
}
