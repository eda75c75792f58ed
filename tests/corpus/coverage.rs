//! Every backend of the manifests gets a request.

use serde_json::Value;

use crate::project::{Project, annotation, list, takes};

fn host(url: &str) -> String {
    url::Url::parse(url).unwrap().host_str().unwrap().to_owned()
}

/// Backends of hosts that no request has to reach, and hosts with TLS that get no request by
/// https.
pub fn missing(project: &Project) -> Vec<String> {
    let requests = &project.expected.requests;
    let mut complaints = Vec::new();
    for ingress in project.of_kind("Ingress").filter(|ingress| is_served(project, ingress)) {
        for rule in list(&ingress["spec"]["rules"]) {
            let own = rule["host"].as_str().unwrap_or_default();
            if is_unreached(project, own) {
                continue;
            }
            for path in list(&rule["http"]["paths"]) {
                let service = path["backend"]["service"]["name"].as_str();
                let is_asked = requests.iter().any(|row| row.by.as_deref() == service && takes(own, &host(&row.ask)));
                if !is_asked {
                    complaints.push(format!("{}: nobody asks {own} for {service:?}", project.name));
                }
            }
        }
    }
    let by_https =
        |host: &&str| requests.iter().any(|row| row.ask.starts_with("https:") && takes(host, &self::host(&row.ask)));
    let refused = |host: &&str| requests.iter().any(|row| self::host(&row.ask) == **host && row.status == Some(404));
    let silent = project.tls_hosts().into_iter().filter(|host| !by_https(host) && !refused(host));
    complaints.extend(silent.map(|host| format!("{}: nobody asks {host} by https", project.name)));
    complaints
}

/// Whether requests get to its backends: the response is neither a refusal nor a redirect, and no
/// client is kept out.
fn is_served(project: &Project, ingress: &Value) -> bool {
    let name = ingress["metadata"]["name"].as_str().unwrap();
    let is_refused =
        |finding: &String| finding.starts_with(&format!("{name}: ")) && finding.ends_with(": RefusedValue");
    let redirects = ["permanent-redirect", "temporal-redirect"].iter().any(|key| annotation(ingress, key).is_some());
    let closes = annotation(ingress, "denylist-source-range").is_some_and(|networks| networks.contains("0.0.0.0/0"));
    !redirects && !closes && !project.expected.findings.iter().any(is_refused)
}

/// Whether it is said that requests for a host get to no backend, and some request shows it.
fn is_unreached(project: &Project, host: &str) -> bool {
    let mut own = project.expected.requests.iter().filter(|row| self::host(&row.ask) == host).peekable();
    project.expected.unreached.iter().any(|unreached| unreached == host)
        && own.peek().is_some()
        && own.all(|row| row.by.is_none() && row.status.is_some_and(|status| status >= 400))
}
