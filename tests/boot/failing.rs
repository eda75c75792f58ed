//! What a node does when its daemon, its nginx, its host or its cluster fails.

use super::machine::Machine;
use super::node::Node;
use rig::client::get;
use rig::cluster::control_plane::API_SERVER;
use rig::manifests::ingress;

pub async fn comes_back_after_a_crash(node: &Node) {
    node.unnoticed(async |machine| {
        machine.run("systemctl kill --kill-who=main --signal=KILL ingressd");
        is_started_again(machine);
        node.serves().await;
    })
    .await;
}

/// Waits until systemd has restarted the daemon. On a slow machine it may take more than one
/// attempt.
fn is_started_again(machine: &Machine) {
    let restarts = "systemctl show --value --property NRestarts ingressd";
    machine.until("systemd to start the daemon again", restarts, |count| {
        count.trim().parse::<u32>().is_ok_and(|count| count > 0)
    });
    machine.until("the daemon", "systemctl is-active ingressd", |state| state.trim() == "active");
}

pub async fn is_ended_when_it_hangs(node: &Node) {
    let machine = &node.machine;
    // The shipped unit says 30 seconds: too long for a test, and longer than the Lease.
    let shorter = "[Service]\\nWatchdogSec=3s\\nTimeoutAbortSec=2s\\n";
    let folder = "/run/systemd/system/ingressd.service.d";
    machine.run(&format!("mkdir {folder} && printf '{shorter}' >{folder}/test.conf"));
    // The end of the Lease is not what this is about: however long the new start takes here, it is
    // not to come before.
    let settings = "/etc/ingressd/conf.d/lease.toml";
    machine.disk.write(settings, "publish.lease-duration = \"30s\"\n");
    machine.run("systemctl daemon-reload && systemctl restart ingressd");
    node.unnoticed(async |machine| {
        machine.run("systemctl kill --kill-who=main --signal=STOP ingressd");
        is_started_again(machine);
        node.serves().await;
    })
    .await;
    let journal = machine.run("journalctl --unit ingressd --no-pager");
    assert!(journal.contains("Watchdog timeout"), "{journal}");
    machine.run(&format!("rm -r {folder} {settings} && systemctl daemon-reload && systemctl restart ingressd"));
    node.serves().await;
}

pub async fn follows_nginx(node: &Node) {
    let machine = &node.machine;
    machine.run("systemctl stop nginx");
    node.until_line("the daemon to see that nginx is down", |line| line.starts_with("nginx-down"));
    assert_eq!(
        machine.run("curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:10254/readyz"),
        "503"
    );
    assert_eq!(node.property("ActiveState"), "active", "ordered, not bound");
    // This is long before any Lease or grace period ends, because nothing answers there.
    node.until_withdrawn().await;
    machine.run("systemctl start nginx");
    node.until_line("the daemon to see that nginx is up", |line| line.starts_with("serving"));
    node.serves().await;
    node.until_published().await;
    // The same package again is what an upgrade does: the unit is restarted, or nginx exchanges
    // its own binary.
    machine.run("dpkg --install /var/cache/apt/archives/nginx_*.deb");
    node.until_line("the daemon to see the new nginx", |line| line.starts_with("serving"));
    node.serves().await;
    node.until_published().await;
}

/// The host reboots while the API server is down: nginx and the daemon start with the files on
/// disk.
pub async fn starts_from_disk_when_the_cluster_is_away(node: &mut Node) {
    node.around.plane.report(&format!("stop {API_SERVER}")).await;
    node.machine.reboot();
    node.serves().await;
    assert_eq!(node.property("ActiveState"), "active", "it is ready when nginx serves");
    node.until_line("the line to tell of it", |line| line.contains("no data"));
    node.around.plane.report(&format!("start {API_SERVER}")).await;
    node.around.objects.apply(ingress("cart").host("cart.example", "web")).await;
    let cart = get("http://cart.example/").to(node.around.address);
    cart.send_until("what came after it", |reply| reply.status == 200).await;
    node.until_published().await;
    node.around.objects.delete("Ingress", "cart").await;
}

/// The whole host shuts down: its address does not stay for the grace period, which is only for a
/// stopped daemon.
pub async fn is_withdrawn_when_the_host_goes_down(node: &mut Node) {
    node.until_published().await;
    let other_node = node.other_node.as_ref().expect("somebody who withdraws it").address.clone();
    let mark = node.shop.mark();
    node.machine.reboot();
    node.serves().await;
    node.until_published().await;
    let seen = node.shop.since(mark);
    assert!(seen.contains(&vec![other_node]), "it stayed published while it was down: {seen:?}");
}
