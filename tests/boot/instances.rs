//! A second instance beside the first, with settings, ports and files of its own.

use std::path::Path;

use super::machine::{Disk, Machine};
use super::{packages, pages, site};

super::on_each_release!(two_instances);

const KUBECONFIG: &str = "\
apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: here, user: here}}]
clusters: [{name: here, cluster: {server: 'https://127.0.0.1:6443'}}]
users: [{name: here, user: {token: secret}}]
";

fn two_instances(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    site::put_backend(&disk);
    let machine = Machine::boot(disk);
    machine.run("apt-get install --yes /root/ingressd.deb");
    site::put_manifests(&machine.disk, "/etc/ingressd/manifests", "shop");
    let source = |folder: &str| format!("manifests = '{folder}/manifests'\n{}", site::OWN_BACKEND);
    machine.disk.write("/etc/ingressd/conf.d/source.toml", &source("/etc/ingressd"));
    site::put_manifests(&machine.disk, "/etc/ingressd/blue/manifests", "blue");
    let page = pages::page("docs/install.md");
    for file in ["/etc/nginx/blue.conf", "/etc/systemd/system/nginx-blue.service"] {
        machine.disk.write(file, &page.file(file));
    }
    let settings = "/etc/ingressd/blue/ingressd.toml";
    let cluster = "kubeconfig = \"/etc/ingressd/blue/kubeconfig\"";
    let documented = page.file(settings);
    assert!(documented.starts_with(cluster), "{documented}");
    machine.disk.write(settings, &documented.replace(cluster, &source("/etc/ingressd/blue")));
    // Both start at once: neither may see half of what the other writes.
    machine.run("systemctl daemon-reload && systemctl enable --now ingressd nginx-blue ingressd@blue");

    let socket = |name: &str| machine.run(&format!("stat --format %a /run/{name}/control.sock /var/lib/{name}"));
    assert_eq!(socket("ingressd"), socket("ingressd-blue"));
    for (host, port) in [("shop.example", 80), ("blue.example", 8081)] {
        assert_eq!(machine.get(host, port), "backend 200", "{host}");
    }
    assert!(!machine.get("blue.example", 80).starts_with("backend"), "each serves its own");

    // docs/install.md describes these commands.
    let reported = machine.run("ingressd status --instance blue");
    assert!(reported.contains("1 host,"), "{reported}");

    // An instance that ends takes nothing from the other.
    machine.run("systemctl stop ingressd@blue.service");
    machine.run("systemctl restart ingressd.service");
    assert_eq!(machine.get("shop.example", 80), "backend 200");
    assert_eq!(machine.get("blue.example", 8081), "backend 200", "nginx goes on");

    // An instance without settings says so, and systemd does not start it again and again.
    assert!(!machine.try_run("systemctl start ingressd@green.service").status.success());
    for (property, expected) in [("ExecMainStatus", "78"), ("NRestarts", "0")] {
        let value = machine.run(&format!("systemctl show --value --property {property} ingressd@green.service"));
        assert_eq!(value.trim(), expected, "{property}");
    }

    is_given_its_kubeconfig_by_systemd(&machine);

    machine.run("systemctl stop ingressd@green.service && rm -r /run/systemd/system/ingressd@green.service.d");
    all_of_them_end_with_the_package(&machine);
    machine.run("apt-get purge --yes ingressd");
    assert_eq!(machine.run("find /etc /run /usr /var/lib -xdev -name '*ingressd*'"), "");
    machine.run("nginx -t && nginx -t -c /etc/nginx/blue.conf");
}

fn all_of_them_end_with_the_package(machine: &Machine) {
    let running = || machine.run("systemctl list-units --no-legend --state=active,activating 'ingressd*.service'");
    let enabled = || machine.run("find /etc/systemd/system -name 'ingressd*'");
    let start = || machine.run("systemctl enable --now ingressd.service ingressd@blue.service");
    start();
    assert_eq!((running().lines().count(), enabled().lines().count()), (2, 2));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/rpm/preun");
    machine.disk.copy(&script, "/root/preun");
    machine.run("sh -e /root/preun 0");
    assert_eq!((running(), enabled()), (String::new(), String::new()), "when the .rpm is erased");
    start();
    machine.run("apt-get remove --yes ingressd");
    assert_eq!(running(), "", "when the .deb is removed");
}

/// systemd passes a kubeconfig by the lines that the unit has as a comment. There is no cluster
/// behind it, so the first generation never comes.
fn is_given_its_kubeconfig_by_systemd(machine: &Machine) {
    machine.disk.write("/etc/ingressd/green/kubeconfig", KUBECONFIG);
    machine.disk.write(
        "/etc/ingressd/green/ingressd.toml",
        "listen.status = '127.0.0.1:10248'\nhttp.address = '127.0.0.1:10256'\n",
    );
    machine.run(
        "folder=/run/systemd/system/ingressd@green.service.d && mkdir -p $folder && \
         (echo '[Service]'; sed -n 's/^#\\(LoadCredential\\|Environment\\)/\\1/p' /usr/lib/systemd/system/ingressd@.service) \
         >$folder/credential.conf && systemctl daemon-reload && systemctl start --no-block ingressd@green.service",
    );
    let status = "systemctl show --value --property StatusText ingressd@green.service";
    machine.until("the daemon to look for its cluster", status, |line| line.starts_with("starting"));
    let journal = machine.run("journalctl --unit ingressd@green.service --no-pager");
    // Only the remedy names it, for an API server that is not there.
    assert!(!journal.contains("the kubeconfig /"), "{journal}");
}
