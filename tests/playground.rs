//! `make cluster`: an API server, a node with nginx and ingressd, and backends, until Ctrl-C.
#![expect(clippy::unwrap_used, reason = "what cannot be set up may panic")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;

use rig::ECHO_TLS;
use rig::cluster::{self, Cluster};
use rig::manifests::tls_secret;
use rig::signals;

fn main() {
    cluster::run_in_default(async |cluster| {
        serve_backends(cluster).await;
        cluster.start().await;
        let enter = write_enter(cluster);
        print_help(cluster, &enter.display().to_string());
        signals::asked_to_end().await;
    });
}

/// The Services of `examples/demo`, in front of pods as a cluster has them.
async fn serve_backends(cluster: &Cluster) {
    cluster.objects.serve("web", &["10.244.0.1", "10.244.0.2"]).await;
    cluster.objects.serve("api", &["10.244.1.1"]).await;
    cluster
        .objects
        .apply(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "vault"},
            "spec": {"selector": {"app": "vault"}, "ports": [{"name": "https", "port": 443, "targetPort": ECHO_TLS}]}
        }))
        .await;
    cluster.objects.set_pods("vault", &["10.244.2.1"]).await;
    for (secret, host) in [("secure", "secure.localhost"), ("grpc", "grpc.localhost"), ("wildcard", "*.wild.localhost")]
    {
        cluster.objects.apply(tls_secret(&format!("{secret}-certificate"), &[host])).await;
    }
}

/// Writes a script that runs a command where all this is to be reached, with a kubectl that knows
/// the cluster.
fn write_enter(cluster: &Cluster) -> PathBuf {
    let process = format!("/proc/{}/task/{}/ns", std::process::id(), nix::unistd::gettid());
    // A user other than root is root in a user namespace only, and has to enter that as well.
    let user = if rig::namespace::has_users() {
        String::new()
    } else {
        format!("--user={process}/user --preserve-credentials")
    };
    let tools = cluster.folder().join("bin");
    fs::create_dir(&tools).unwrap();
    write_script(&tools.join("kubectl"), &format!("exec {:?} kubectl \"$@\"", cluster::control_plane::binary()));
    let enter = cluster.folder().join("enter");
    let settings = format!("KUBECONFIG={:?} PATH={:?}:\"$PATH\"", cluster.control_plane.kubeconfig(), tools);
    write_script(&enter, &format!("{settings} exec nsenter {user} --net={process}/net -- \"$@\""));
    enter
}

fn write_script(path: &std::path::Path, command: &str) {
    fs::write(path, format!("#!/bin/sh\n{command}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn print_help(cluster: &Cluster, enter: &str) {
    let kubeconfig = cluster.control_plane.kubeconfig();
    println!("The cluster is ready, and ingressd serves its classes `ingressd` and `nginx` through a private nginx.");
    println!("All of it is in a network namespace of its own: put this before commands that are to reach it.");
    println!("\n  enter={enter}\n");
    println!("  kubeconfig   {}", kubeconfig.display());
    println!("  kubectl      $enter kubectl get services,pods,endpointslices");
    println!("  examples     $enter kubectl apply $(printf ' -f %s' examples/demo/[34]*.yaml)");
    println!("  requests     $enter curl http://hello.localhost/    $enter curl -k https://secure.localhost/");
    println!("  status       $enter curl http://127.0.0.1:10254/status.json");
    println!(
        "\nThe Services of the examples are there, with pods that answer with what reached them. Ctrl-C ends everything."
    );
}
