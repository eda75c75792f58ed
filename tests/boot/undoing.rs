//! Setup is undone on a system that has served, with TCP services, and made again.

use super::machine::{Disk, Machine};
use super::{packages, setting_up, site};

super::on_each_release!(what_served_is_put_back_to_the_byte);

/// A TCP service of the backend.
const TCP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: tcp, namespace: shop}
data: {'9000': shop/web:80}
";

fn what_served_is_put_back_to_the_byte(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    site::put_backend(&disk);
    let machine = Machine::boot(disk);
    machine.run("apt-get install --yes libnginx-mod-stream /root/ingressd.deb");
    site::put_manifests(&machine.disk, "/etc/ingressd/manifests", "shop");
    machine.disk.write("/etc/ingressd/manifests/tcp.yaml", TCP);
    let source = format!(
        "manifests = '/etc/ingressd/manifests'\n{}\ningress-nginx.tcp-services-configmap = 'shop/tcp'\n",
        site::OWN_BACKEND
    );
    machine.disk.write("/etc/ingressd/conf.d/source.toml", &source);
    let before = setting_up::files(&machine);
    serves(&machine);

    machine.run("systemctl disable --now ingressd.service");
    let reported = machine.run("ingressd setup --undo");
    assert!(reported.contains("nothing of the cluster is served any more"), "{reported}");
    assert_eq!(setting_up::files_of_host(&machine), setting_up::of_host(&before), "every byte is back: {reported}");
    machine.run("nginx -t && systemctl reload nginx");
    machine.until("the default site", "curl --silent --header 'Host: shop.example' http://127.0.0.1/", |answer| {
        answer.contains("nginx") && !answer.contains("backend")
    });
    machine.run("systemctl restart nginx");
    assert!(!machine.get("shop.example", 80).starts_with("backend"));
    assert!(!machine.try_run("curl --silent --max-time 5 http://127.0.0.1:9000/").status.success());

    serves(&machine);
}

/// Sets nginx up and starts the daemon; both kinds of services answer.
fn serves(machine: &Machine) {
    machine.run("ingressd setup --yes --disable-default-site && systemctl enable --now ingressd.service");
    assert_eq!(machine.get("shop.example", 80), "backend 200");
    assert_eq!(machine.run("curl --silent --max-time 10 http://127.0.0.1:9000/"), "backend");
}
