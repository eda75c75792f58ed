//! A further instance beside the first, with settings, ports and files of its own; this must not know how they are told apart.

use super::machine::{Disk, Machine};
use super::{packages, site};

super::on_each_release!(two_instances);

const SETTINGS: &str = "\
manifests = '/etc/ingressd/blue/manifests'
listen = { http-port = 8081, https-port = 8444, status = '127.0.0.1:10247' }
http.address = '127.0.0.1:10255'
";

fn two_instances(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    site::put_backend(&disk);
    let machine = Machine::boot(disk);
    machine.run("apt-get install --yes /root/ingressd.deb");
    site::put_manifests(&machine.disk, "/etc/ingressd/manifests", "shop");
    machine.disk.write("/etc/ingressd/conf.d/source.toml", "manifests = '/etc/ingressd/manifests'\n");
    site::put_manifests(&machine.disk, "/etc/ingressd/blue/manifests", "blue");
    machine.disk.write("/etc/ingressd/blue/ingressd.toml", SETTINGS);
    machine
        .disk
        .write("/etc/nginx/conf.d/ingressd-blue.conf", "include /etc/nginx/ingressd-blue/current/http/*.conf;\n");
    machine.run("systemctl enable --now ingressd.service ingressd@blue.service");

    let socket = |name: &str| machine.run(&format!("stat --format %a /run/{name}/control.sock /var/lib/{name}"));
    assert_eq!(socket("ingressd"), socket("ingressd-blue"));
    for (host, port) in [("shop.example", 80), ("blue.example", 8081)] {
        assert_eq!(machine.get(host, port), "backend 200", "{host}");
    }
    assert!(!machine.get("blue.example", 80).starts_with("backend"), "each serves its own");

    // One that ends takes nothing from the other.
    machine.run("systemctl stop ingressd@blue.service");
    machine.run("systemctl restart ingressd.service");
    assert_eq!(machine.get("shop.example", 80), "backend 200");
    assert_eq!(machine.get("blue.example", 8081), "backend 200", "nginx goes on");

    // One without settings says so, and is not tried again and again.
    assert!(!machine.try_run("systemctl start ingressd@green.service").status.success());
    for (property, expected) in [("ExecMainStatus", "78"), ("NRestarts", "0")] {
        let value = machine.run(&format!("systemctl show --value --property {property} ingressd@green.service"));
        assert_eq!(value.trim(), expected, "{property}");
    }

    machine.run("rm /etc/nginx/conf.d/ingressd-blue.conf && apt-get purge --yes ingressd");
    assert_eq!(machine.run("find /etc /run /usr /var/lib -xdev -name '*ingressd*'"), "");
    machine.run("nginx -t");
}
