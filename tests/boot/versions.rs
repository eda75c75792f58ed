//! The package is installed, upgraded to another version, and removed.

use super::node::Node;
use rig::client::get;

const INSTALL: &str = "apt-get install --yes /root/ingressd.deb";

/// What a person writes, in the file that the package brings.
const CHANGED: &str = "gather = \"30ms\"";

pub fn installs_beside_a_running_nginx(node: &Node) {
    let (machine, before) = (&node.machine, node.nginx());
    machine.run(INSTALL);
    assert_eq!(node.nginx(), before, "nginx is left alone");
    assert_eq!(node.property("ActiveState"), "inactive");
    assert_eq!(node.property("UnitFileState"), "disabled");
    assert_eq!(machine.run("systemd-analyze verify --man=no ingressd.service ingressd@one.service 2>&1"), "");
    // The pauses between restarts grow where systemd can do that, and nothing complains where it
    // cannot.
    let version = machine.run("systemctl --version");
    let version: u32 = version.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!(node.property("DropInPaths").contains("back-off"), version >= 254, "{version}");
    machine.run(&format!("sed -i 's|^#gather = .*|{CHANGED}|' /etc/ingressd/ingressd.toml"));
}

pub async fn is_upgraded_and_downgraded_unnoticed(node: &Node) {
    let version = || node.machine.run("dpkg-query --show --showformat '${Version}' ingressd");
    let first = version();
    for package in ["next", "ingressd"] {
        let (before, pid) = (version(), node.property("MainPID"));
        node.unnoticed(async |machine| {
            machine.run(&format!("apt-get install --yes --allow-downgrades /root/{package}.deb"));
            node.serves().await;
        })
        .await;
        assert_ne!(version(), before);
        assert_ne!(node.property("MainPID"), pid, "what ran is restarted");
        let settings = node.machine.run("cat /etc/ingressd/ingressd.toml");
        assert!(settings.contains(CHANGED), "what was changed stays");
    }
    assert_eq!(version(), first);
}

/// The administrator drains the node before, so that the test need not wait for the grace period.
pub async fn leaves_nginx_as_it_is_when_it_is_removed(node: &Node) {
    let machine = &node.machine;
    let reported = machine.run("ingressd drain 2>&1");
    assert!(
        reported.contains("no status of the cluster has an address") && reported.contains("no client is connected"),
        "{reported}"
    );
    node.until_withdrawn().await;
    let before = node.nginx();
    node.under_load(async |machine| drop(machine.run("apt-get remove --yes ingressd"))).await;
    assert_eq!(node.nginx(), before);
    assert!(!machine.try_run("pgrep ingressd").status.success(), "the daemon has ended");
    machine.run("systemctl restart nginx");
    for request in node.requests() {
        assert_eq!(request.send().await.status, 200, "the last generation goes on");
    }
}

pub async fn leaves_nothing_when_it_is_purged(node: &Node) {
    let (machine, before) = (&node.machine, node.nginx());
    machine.run("apt-get purge --yes ingressd");
    assert_eq!(node.nginx(), before);
    // This folder is the administrator's own.
    machine.run("rm -r /etc/systemd/system/ingressd.service.d");
    let left = machine.run("find /etc /run /usr /var/lib /var/cache -xdev -name '*ingressd*'");
    assert_eq!(left, "");
    machine.run("systemctl restart nginx");
    // No process listens there, or another site of the host does.
    let answer = get("http://shop.example/").to(node.around.address).try_send().await;
    assert!(answer.as_ref().map_or(true, |reply| reply.try_echo().is_none()), "{answer:?}");
}
