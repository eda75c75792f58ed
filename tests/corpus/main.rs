//! Ingresses of widely used charts and projects, written anew: each is checked, rendered and asked
//! through one nginx.
//!
//! `manifests/NAME.yaml` is what an administrator has; `requests/NAME.yaml` is what comes of it
//! (`project.rs`). What a cluster adds by itself, endpoints and certificates, is made here
//! (`cluster.rs`). The test fails for a finding that is not named there, for a route without a
//! request, and for another answer.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod asking;
mod cluster;
mod commands;
mod coverage;
mod identity;
mod project;
mod reporting;

use std::fs;

use ingressd_echo::Echo;
use rig::Rig;
use rig::authority::Authority;

use cluster::Cluster;

/// Port of GitLab's Service, at which the cluster's proxy answers.
const WORKHORSE: u16 = 8181;

/// The namespace whose snippets the administrator lets count.
const TRUSTED: &str = "[[snippets.allowed]]
namespaces = [\"trusted\"]
kinds = [\"configuration-snippet\", \"server-snippet\", \"auth-snippet\"]
";

/// Settings of an administrator who had ingress-nginx: its class of old, TLS that is passed
/// through, and snippets of one namespace.
fn configure(rig: &Rig) {
    rig.nginx.serve_streams(&rig.daemon.root());
    let file = rig.daemon.folder().join("ingressd.toml");
    let dialect = "dialect = \"ingress-nginx\"\n";
    let settings = fs::read_to_string(&file).unwrap().replace(dialect, &format!("{dialect}legacy-class = \"nginx\"\n"));
    fs::write(&file, format!("{settings}\n[tls]\npassthrough = true\n{TRUSTED}")).unwrap();
}

#[test]
fn every_project_is_served_as_its_manifests_say() {
    rig::run(async |rig| {
        let projects = project::all();
        let clients = Authority::new("of clients");
        let cluster = Cluster::of(&projects, &clients);
        let client = clients.signs("writer", 7);
        configure(rig);
        let _identity = identity::serve().await;
        rig.backends.serve(WORKHORSE, Echo::plain("cluster")).await;
        for project in &projects {
            rig.manifests.write_text(&format!("{}.yaml", project.name), &project.text);
        }
        rig.manifests.write("cluster.yaml", &cluster.objects);
        let mut complaints = commands::check(rig, &projects);
        complaints.extend(commands::render(rig, &projects));
        complaints.extend(reporting::report(rig, &projects));
        complaints.extend(projects.iter().flat_map(coverage::missing));
        rig.start().await;
        for project in &projects {
            for row in &project.expected.requests {
                let wrong = asking::check(row, project, &cluster, &client).await;
                complaints.extend(wrong.into_iter().map(|wrong| format!("{}: {}: {wrong}", project.name, row.ask)));
            }
        }
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    });
}
