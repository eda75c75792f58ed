//! An administrator's life with the package, from the installation to the purge, on a booted system; this must not know how the daemon does it.

use std::io::Read as _;

use serde_json::Value;

use super::machine::{Disk, Machine};
use super::{packages, site};

super::on_each_release!(from_installation_to_purge);

const INSTALL: &str = "apt-get install --yes /root/ingressd.deb";

/// The settings that a person writes, in the file that the package brings.
const SETTINGS: &str = "manifests = '/etc/ingressd/manifests'";

/// Of the administrator, for sites of the host that keep files where others do not.
const OTHER_FOLDERS: &str = "[Service]\nBindReadOnlyPaths=/home/shop/certificates\nReadWritePaths=/srv/logs\n";

fn from_installation_to_purge(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    site::put_backend(&disk);
    let mut machine = Machine::boot(disk);
    installs_beside_a_running_nginx(&machine);
    starts(&machine);
    tells_the_journal(&machine);
    lives_with_sites_that_keep_files_elsewhere(&machine);
    takes_new_settings(&machine);
    is_restarted_unnoticed(&machine);
    comes_back_after_a_crash(&machine);
    is_ended_when_it_hangs(&machine);
    follows_nginx(&machine);
    machine.reboot();
    serves(&machine);
    is_upgraded_and_downgraded_unnoticed(&machine);
    leaves_nginx_as_it_is_when_it_is_removed(&machine);
    leaves_nothing_when_it_is_purged(&machine);
}

fn serves(machine: &Machine) {
    machine
        .until("the daemon to be ready", "curl --silent http://127.0.0.1:10254/readyz", |answer| answer.contains("ok"));
    assert_eq!(machine.get(site::HOST, 80), "backend 200");
    assert_eq!(machine.get_over_tls(site::HOST, 443), "backend 200");
}

/// nginx's processes: other numbers mean that it was reloaded or restarted.
fn nginx(machine: &Machine) -> String {
    machine.run("nginx -t 2>&1 && pgrep nginx")
}

/// A property of the unit.
fn property(machine: &Machine, name: &str) -> String {
    machine.run(&format!("systemctl show --value --property {name} ingressd")).trim().to_owned()
}

fn installs_beside_a_running_nginx(machine: &Machine) {
    let before = nginx(machine);
    machine.run(INSTALL);
    assert_eq!(nginx(machine), before, "nginx is left alone");
    assert_eq!(property(machine, "ActiveState"), "inactive");
    assert_eq!(property(machine, "UnitFileState"), "disabled");
    assert_eq!(machine.run("systemd-analyze verify --man=no ingressd.service ingressd@one.service 2>&1"), "");
    // Growing pauses where systemd knows them, and no complaint where it does not.
    let version = machine.run("systemctl --version");
    let version: u32 = version.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert_eq!(property(machine, "DropInPaths").contains("back-off"), version >= 254, "{version}");
}

fn starts(machine: &Machine) {
    site::put_manifests(&machine.disk, "/etc/ingressd/manifests", "shop");
    machine.run(&format!("sed -i \"s|^#manifests = .*|{SETTINGS}|\" /etc/ingressd/ingressd.toml"));
    machine.run("systemctl enable --now ingressd.service");
    assert_eq!(property(machine, "ActiveState"), "active", "ready when the command is done");
    let line = property(machine, "StatusText");
    assert!(line.starts_with("serving: generation 1, 1 hosts, 1 routes"), "{line}");
    serves(machine);
}

fn tells_the_journal(machine: &Machine) {
    let journal = machine.run("journalctl --unit ingressd --output json --no-pager");
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let told = entries.filter(|entry| entry["OBJECT"] == "Ingress shop/shop").collect::<Vec<_>>();
    let [entry] = &told[..] else { panic!("{told:#?}") };
    assert_eq!(entry["REASON"], "UnknownAnnotation");
    assert_eq!(entry["GENERATION"], "1");
    assert_eq!(entry["SYSLOG_IDENTIFIER"], "ingressd");
}

/// As docs/install.md has it: what `nginx -t` opens has to be open to the daemon.
fn lives_with_sites_that_keep_files_elsewhere(machine: &Machine) {
    machine.run(
        "mkdir -p /srv/logs /home/shop/certificates && cd /home/shop/certificates && \
         openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other -keyout key.pem -out certificate.pem",
    );
    machine.disk.write(
        "/etc/nginx/conf.d/other.conf",
        "server { listen 8443 ssl; access_log /srv/logs/access.log; ssl_certificate /home/shop/certificates/certificate.pem; \
         ssl_certificate_key /home/shop/certificates/key.pem; }\n",
    );
    machine.disk.write("/etc/systemd/system/ingressd.service.d/override.conf", OTHER_FOLDERS);
    machine.run("nginx -t && systemctl reload nginx && systemctl daemon-reload && systemctl restart ingressd");
    // From the place of the daemon, with nothing more than it may.
    machine.run(
        "nsenter --target $(systemctl show --value --property MainPID ingressd) --mount -- \
         setpriv --bounding-set -all,+chown,+dac_override,+kill,+net_bind_service nginx -t",
    );
    serves(machine);
}

fn takes_new_settings(machine: &Machine) {
    machine.disk.write("/etc/ingressd/conf.d/port.toml", "listen.http-port = 8081\n");
    machine.run("systemctl reload ingressd");
    machine.until("the new port", "curl --silent --header 'Host: shop.example' http://127.0.0.1:8081/", |answer| {
        answer == "backend"
    });
    machine.run("rm /etc/ingressd/conf.d/port.toml && systemctl reload ingressd");
    machine.until("the old port", "curl --silent --header 'Host: shop.example' http://127.0.0.1/", |answer| {
        answer == "backend"
    });
    assert_eq!(property(machine, "NRestarts"), "0");
}

/// Sends requests without a pause while something is done, each of which has to be answered.
fn under_load(machine: &Machine, action: impl FnOnce()) {
    machine.run("rm -f /run/stop");
    let mut load = machine.start(
        "while [ ! -e /run/stop ]; do \
         curl --silent --output /dev/null --max-time 10 --write-out '%{http_code}\\n' --header 'Host: shop.example' http://127.0.0.1/; \
         done",
    );
    action();
    machine.run("touch /run/stop");
    let mut answers = String::new();
    load.stdout.take().unwrap().read_to_string(&mut answers).unwrap();
    load.wait().unwrap();
    let failed = Vec::from_iter(answers.lines().filter(|code| *code != "200"));
    assert!(answers.lines().count() > 5, "there was no load: {answers}");
    assert!(failed.is_empty(), "{failed:?}");
}

fn is_restarted_unnoticed(machine: &Machine) {
    under_load(machine, || {
        let before = property(machine, "MainPID");
        machine.run("systemctl restart ingressd");
        assert_ne!(property(machine, "MainPID"), before);
    });
    under_load(machine, || {
        machine.run("systemctl stop ingressd");
        assert_eq!(property(machine, "Result"), "success");
        machine.run("systemctl start ingressd");
    });
    serves(machine);
}

fn comes_back_after_a_crash(machine: &Machine) {
    under_load(machine, || {
        machine.run("systemctl kill --kill-who=main --signal=KILL ingressd");
        is_started_again(machine);
    });
    serves(machine);
}

/// Waits until systemd has started the daemon anew, for the first time since somebody did.
fn is_started_again(machine: &Machine) {
    let restarts = "systemctl show --value --property NRestarts ingressd";
    machine.until("systemd to start the daemon again", restarts, |count| count.trim() == "1");
    machine.until("the daemon", "systemctl is-active ingressd", |state| state.trim() == "active");
}

fn is_ended_when_it_hangs(machine: &Machine) {
    // What is shipped says 30 seconds: too long for a test to wait.
    let shorter = "[Service]\\nWatchdogSec=3s\\nTimeoutAbortSec=2s\\n";
    let folder = "/run/systemd/system/ingressd.service.d";
    machine.run(&format!("mkdir {folder} && printf '{shorter}' >{folder}/test.conf"));
    machine.run("systemctl daemon-reload && systemctl restart ingressd");
    machine.run("systemctl kill --kill-who=main --signal=STOP ingressd");
    is_started_again(machine);
    let journal = machine.run("journalctl --unit ingressd --no-pager");
    assert!(journal.contains("Watchdog timeout"), "{journal}");
    machine.run(&format!("rm -r {folder} && systemctl daemon-reload && systemctl restart ingressd"));
    serves(machine);
}

fn follows_nginx(machine: &Machine) {
    let status = "systemctl show --value --property StatusText ingressd";
    machine.run("systemctl stop nginx");
    machine.until("the daemon to see that nginx is down", status, |line| line.starts_with("nginx-down"));
    assert_eq!(
        machine.run("curl --silent --output /dev/null --write-out '%{http_code}' http://127.0.0.1:10254/readyz"),
        "503"
    );
    assert_eq!(property(machine, "ActiveState"), "active", "ordered, not bound");
    machine.run("systemctl start nginx");
    machine.until("the daemon to see that nginx is up", status, |line| line.starts_with("serving"));
    serves(machine);
    // The same package again is what an upgrade does: the unit is restarted, or nginx exchanges its own binary.
    machine.run("dpkg --install /var/cache/apt/archives/nginx_*.deb");
    machine.until("the daemon to see the new nginx", status, |line| line.starts_with("serving"));
    serves(machine);
}

fn is_upgraded_and_downgraded_unnoticed(machine: &Machine) {
    let version = "dpkg-query --show --showformat '${Version}' ingressd";
    let (before, pid) = (machine.run(version), property(machine, "MainPID"));
    under_load(machine, || drop(machine.run("apt-get install --yes /root/next.deb")));
    assert_ne!(machine.run(version), before);
    assert_ne!(property(machine, "MainPID"), pid, "what ran is restarted");
    let settings = machine.run("cat /etc/ingressd/ingressd.toml");
    assert!(settings.contains(SETTINGS), "what was changed stays");
    serves(machine);
    under_load(machine, || drop(machine.run("apt-get install --yes --allow-downgrades /root/ingressd.deb")));
    assert_eq!(machine.run(version), before);
    assert!(machine.run("cat /etc/ingressd/ingressd.toml").contains(SETTINGS));
    serves(machine);
}

fn leaves_nginx_as_it_is_when_it_is_removed(machine: &Machine) {
    let before = nginx(machine);
    under_load(machine, || drop(machine.run("apt-get remove --yes ingressd")));
    assert_eq!(nginx(machine), before);
    assert!(!machine.try_run("pgrep ingressd").status.success(), "the daemon has ended");
    machine.run("systemctl restart nginx");
    assert_eq!(machine.get(site::HOST, 80), "backend 200", "the last generation goes on");
}

fn leaves_nothing_when_it_is_purged(machine: &Machine) {
    let before = nginx(machine);
    machine.run("apt-get purge --yes ingressd");
    assert_eq!(nginx(machine), before);
    // The administrator's own.
    machine.run("rm -r /etc/systemd/system/ingressd.service.d");
    let left = machine.run("find /etc /run /usr /var/lib /var/cache -xdev -name '*ingressd*'");
    assert_eq!(left, "");
    machine.run("systemctl restart nginx");
    let answer = machine.get(site::HOST, 80);
    assert!(!answer.starts_with("backend"), "{answer}");
}
