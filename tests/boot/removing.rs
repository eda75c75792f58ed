//! The package is upgraded while nginx is down, removed with its dependencies, and purged, beside
//! other sites of the host.

use super::machine::{Disk, Machine};
use super::{packages, site};

super::on_each_release!(the_host_is_left_in_order);

const STREAM: &str = "/etc/nginx/modules-enabled/zz-ingressd-stream.conf";
const DEFAULT: &str = "/etc/nginx/sites-enabled/default";

fn the_host_is_left_in_order(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    site::put_backend(&disk);
    let machine = Machine::boot(disk);
    // apt marks in this way what it installs because the package recommends it.
    machine.run("apt-mark auto libnginx-mod-stream");
    machine.run("apt-get install --yes /root/ingressd.deb");
    site::put_manifests(&machine.disk, "/etc/ingressd/manifests", "shop");
    let source = format!("manifests = '/etc/ingressd/manifests'\n{}\n", site::OWN_BACKEND);
    machine.disk.write("/etc/ingressd/conf.d/source.toml", &source);
    machine.run("ingressd setup --yes --disable-default-site");
    machine.run(&format!("test -e {STREAM} -a ! -e {DEFAULT}"));
    machine.run("systemctl enable --now ingressd.service");
    assert_eq!(machine.get("shop.example", 80), "backend 200");

    an_upgrade_does_not_wait_for_nginx(&machine);

    machine.run("apt-get remove --yes --auto-remove ingressd");
    assert!(
        !machine
            .try_run("dpkg-query --show --showformat '${Status}' libnginx-mod-stream | grep ' installed'")
            .status
            .success()
    );
    machine.run(&format!("nginx -t && systemctl restart nginx && ! test -e {STREAM}"));
    assert_eq!(machine.get("shop.example", 80), "backend 200", "the last generation goes on");

    machine.run("apt-get purge --yes ingressd");
    machine.run("nginx -t && systemctl restart nginx");
    assert_eq!(machine.run(&format!("readlink {DEFAULT}")), "/etc/nginx/sites-available/default\n");
    assert!(machine.get("shop.example", 80).ends_with(" 200"), "the default site is back");
    assert!(!machine.get("shop.example", 80).starts_with("backend"), "nothing of the cluster is served");
    assert_eq!(machine.run("find /etc /run /usr /var/lib -xdev -name '*ingressd*'"), "");
}

/// dpkg is locked meanwhile, so an administrator could not repair nginx with apt.
fn an_upgrade_does_not_wait_for_nginx(machine: &Machine) {
    let process = || machine.run("systemctl show --value --property MainPID ingressd");
    let before = process();
    machine.run("systemctl stop nginx");
    // The limit only ends a command that would never end; nothing is measured by it.
    machine.run("timeout 300 apt-get install --yes /root/next.deb");
    assert_ne!(process(), before, "the new one runs");
    machine.run("systemctl start nginx");
    machine
        .until("the daemon to be ready", "curl --silent http://127.0.0.1:10254/readyz", |answer| answer.contains("ok"));
    machine.until("the unit to be up", "systemctl is-active ingressd", |state| state.trim() == "active");
    assert_eq!(machine.get("shop.example", 80), "backend 200");
}
