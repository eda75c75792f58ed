//! The package is upgraded while nginx is down, removed with what came for its sake, and purged, beside other sites of the host;
//! this must not know how setup changes files.

use super::machine::{Disk, Machine};
use super::{packages, site};

super::on_each_release!(the_host_is_left_in_order);

fn the_host_is_left_in_order(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    site::put_backend(&disk);
    let machine = Machine::boot(disk);
    machine.run("apt-get install --yes /root/ingressd.deb");
    site::put_manifests(&machine.disk, "/etc/ingressd/manifests", "shop");
    machine.disk.write("/etc/ingressd/conf.d/source.toml", "manifests = '/etc/ingressd/manifests'\n");
    machine.run("ingressd setup --yes --disable-default-site");
    machine.run("systemctl enable --now ingressd.service");
    assert_eq!(machine.get("shop.example", 80), "backend 200");

    an_upgrade_does_not_wait_for_nginx(&machine);
}

/// dpkg is locked meanwhile: whoever would mend nginx with apt could not.
fn an_upgrade_does_not_wait_for_nginx(machine: &Machine) {
    let process = || machine.run("systemctl show --value --property MainPID ingressd");
    let before = process();
    machine.run("systemctl stop nginx");
    // A limit for what never ends, no measure.
    machine.run("timeout 300 apt-get install --yes /root/next.deb");
    assert_ne!(process(), before, "the new one runs");
    machine.run("systemctl start nginx");
    machine
        .until("the daemon to be ready", "curl --silent http://127.0.0.1:10254/readyz", |answer| answer.contains("ok"));
    machine.until("the unit to be up", "systemctl is-active ingressd", |state| state.trim() == "active");
    assert_eq!(machine.get("shop.example", 80), "backend 200");
}
