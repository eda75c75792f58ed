//! The commands of the pages, run on a booted system with a cluster.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::machine::Disk;
use super::node::Node;
use super::pages::{self, Block, Page, Place, TRIED};
use super::{packages, surroundings};
use rig::cluster::control_plane;

super::on_each_release!(what_they_say_works);

/// Where commands are run on the node: what pages call "the package" lies there.
const FOLDER: &str = "/root/download";

fn what_they_say_works(release: &'static str) {
    surroundings::run(async move || {
        let disk = Disk::of(release);
        put_packages(&disk);
        let node = Node::boot(disk).await;
        // The network of the nodes, in which documentation has its addresses.
        node.machine.run("ip address add 192.0.2.10/24 dev cluster0");
        node.machine.disk.write_for_owner(&format!("{FOLDER}/admin.conf"), &node.around.administrator());
        for name in TRIED {
            let page = pages::page(name);
            let mut tried = 0;
            for block in page.blocks.iter().filter(|block| block.language() == "sh") {
                let Some(place) = block.place() else { continue };
                run(&node, place, &page, block);
                tried += 1;
            }
            assert!(tried > 0, "{name} has nothing to try");
        }
    });
}

/// This version first, a newer one and this one again for the page about upgrades.
fn put_packages(disk: &Disk) {
    packages::put(disk);
    let make = format!(
        "mkdir -p {FOLDER}/next/earlier && cp /root/ingressd.deb {FOLDER}/ingressd_0-1_amd64.deb && \
         cp /root/ingressd.deb {FOLDER}/next/earlier/ingressd_0-1_amd64.deb && cp /root/next.deb {FOLDER}/next/ingressd_99-1_amd64.deb"
    );
    let made = disk.run(&make);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// Runs what a block says as one script, which ends at the first command that fails.
fn run(node: &Node, place: Place, page: &Page, block: &Block) {
    println!("{}:{}", page.name, block.line);
    match place {
        Place::Node => {
            let folder = if page.name == "docs/upgrade.md" { format!("{FOLDER}/next") } else { FOLDER.to_owned() };
            node.machine.disk.write("/root/block.sh", &block.text);
            node.machine.run(&format!("cd {folder} && sh -e /root/block.sh"));
        }
        Place::Cluster => in_cluster(&node.around.plane.kubeconfig(), pages::root(), &block.text),
    }
}

/// Runs a script in a folder as an administrator of the cluster does, who has kubectl and the
/// program.
pub fn in_cluster(kubeconfig: &Path, folder: &Path, script: &str) {
    let tools = tempfile::tempdir().unwrap();
    let kubectl = tools.path().join("kubectl");
    fs::write(&kubectl, format!("#!/bin/sh\nexec {:?} kubectl \"$@\"\n", control_plane::binary())).unwrap();
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ingressd"), tools.path().join("ingressd")).unwrap();
    let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", script]).current_dir(folder);
    let output = shell.env("PATH", path).env("KUBECONFIG", kubeconfig).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}: {}\n{out}\n{err}", output.status);
}
