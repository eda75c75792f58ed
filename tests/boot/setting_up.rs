//! The steps between installation and start: setup and doctor.

use super::machine::Machine;
use super::node::Node;

/// Every file of nginx, with what it holds or where it points to.
pub fn files(machine: &Machine) -> String {
    machine.run("cd /etc/nginx && find . -type f -exec md5sum {} + | sort && find . -type l -printf '%p %l\\n' | sort")
}

/// Those of them that are not generations of ours.
pub fn files_of_host(machine: &Machine) -> String {
    of_host(&files(machine))
}

/// The lines about files that are not generations of ours.
pub fn of_host(files: &str) -> String {
    let lines = files.lines().filter(|line| !line.contains("./ingressd/"));
    lines.map(|line| format!("{line}\n")).collect()
}

pub fn nginx_is_set_up_and_can_be_put_back(node: &Node) {
    let (machine, before, processes) = (&node.machine, files(&node.machine), node.nginx());
    machine.run("ingressd setup --disable-default-site");
    assert_eq!(files(machine), before, "it is only shown");
    machine.run("ingressd setup --yes --disable-default-site");
    let set_up = files(machine);
    assert_ne!(set_up, before);
    machine.run("ingressd setup --yes --disable-default-site");
    assert_eq!(files(machine), set_up, "once more changes nothing");
    machine.run("ingressd setup --undo");
    assert_eq!(files(machine), before, "every byte is back");
    machine.run("ingressd setup --yes --disable-default-site");
    assert_eq!(files(machine), set_up);
    assert_eq!(node.nginx(), processes, "nginx is left alone");
}

/// With a kubeconfig, and before anything runs, the doctor finds no more than warnings.
pub fn the_doctor_finds_no_error(node: &Node) {
    let output = node.machine.try_run("ingressd doctor");
    let reported = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code().is_some_and(|code| code < 2), "{}\n{reported}", output.status);
}
