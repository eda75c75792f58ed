//! The life of a package, from the installation to the purge, on a booted system with a real
//! cluster.

use serde_json::Value;

use super::machine::Disk;
use super::node::Node;
use super::{failing, packages, setting_up, surroundings, versions};
use rig::client::get;
use rig::manifests::ingress;

super::on_each_release!(from_installation_to_purge);

/// The administrator's addition to the unit, for sites of the host that keep files where others do
/// not.
const OTHER_FOLDERS: &str = "[Service]\nBindReadOnlyPaths=/home/shop/certificates\nReadWritePaths=/srv/logs\n";

fn from_installation_to_purge(release: &'static str) {
    surroundings::run(async move || {
        let disk = Disk::of(release);
        packages::put(&disk);
        let mut node = Node::boot(disk).await;
        versions::installs_beside_a_running_nginx(&node);
        setting_up::nginx_is_set_up_and_can_be_put_back(&node);
        let kubeconfig = is_given_credentials(&node);
        setting_up::the_doctor_finds_no_error(&node);
        starts(&node).await;
        reports_the_journal(&node);
        lives_with_sites_that_keep_files_elsewhere(&node).await;
        takes_new_settings(&node).await;
        is_restarted_unnoticed(&node).await;

        node.other_node = Some(node.around.start_other_node(&kubeconfig).await);
        node.until_published().await;
        is_stopped_for_a_while_unnoticed(&node).await;
        is_withdrawn_after_the_grace_period(&node).await;
        is_drained_and_taken_back(&node).await;
        is_rolled_back_and_goes_on(&node).await;
        failing::comes_back_after_a_crash(&node).await;
        failing::is_ended_when_it_hangs(&node).await;
        failing::follows_nginx(&node).await;
        failing::starts_from_disk_when_the_cluster_is_away(&mut node).await;
        failing::is_withdrawn_when_the_host_goes_down(&mut node).await;
        versions::is_upgraded_and_downgraded_unnoticed(&node).await;
        versions::leaves_nginx_as_it_is_when_it_is_removed(&node).await;
        versions::leaves_nothing_when_it_is_purged(&node).await;
    });
}

/// Returns the kubeconfig.
fn is_given_credentials(node: &Node) -> String {
    let machine = &node.machine;
    machine.disk.write_for_owner("/root/admin.conf", &node.around.administrator());
    machine.run("ingressd kubeconfig --admin-kubeconfig /root/admin.conf && rm /root/admin.conf");
    assert_eq!(machine.run("stat --format '%a %U' /etc/ingressd/kubeconfig"), "600 root\n");
    machine.run("cat /etc/ingressd/kubeconfig")
}

async fn starts(node: &Node) {
    node.machine.run("systemctl enable --now ingressd.service");
    assert_eq!(node.property("ActiveState"), "active", "ready when the command is done");
    // The daemon reports it after it is ready.
    node.until_line("the line to tell what is served", |line| {
        line.starts_with("serving: generation ") && line.contains(", 1 host, 1 route")
    });
    node.serves().await;
    node.until_published().await;
}

fn reports_the_journal(node: &Node) {
    // The journal may be behind the daemon.
    let journal = "journalctl --unit ingressd --output json --no-pager";
    let journal = node.machine.until("the journal", journal, |text| text.contains("UnknownAnnotation"));
    let entries = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reported = entries.filter(|entry| entry["OBJECT"] == "Ingress default/shop").collect::<Vec<_>>();
    let [entry] = &reported[..] else { panic!("{reported:#?}") };
    assert_eq!(entry["REASON"], "UnknownAnnotation");
    assert!(entry["FIELD"].as_str().unwrap().contains("proxy-body-sizes"), "{entry:#}");
    assert!(entry["GENERATION"].as_str().unwrap().parse::<u64>().unwrap() > 0, "{entry:#}");
    assert_eq!((&entry["SYSLOG_IDENTIFIER"], &entry["PRIORITY"]), (&"ingressd".into(), &"4".into()));
    let message = entry["MESSAGE"].as_str().unwrap();
    assert!(message.ends_with("(/usr/share/doc/ingressd/docs/findings.md#unknownannotation)"), "{message}");
    let found = node.machine.run("journalctl --unit ingressd REASON=UnknownAnnotation --output cat --no-pager");
    assert!(found.contains("proxy-body-size"), "{found}");
}

/// The daemon may use what `nginx -t` opens, as docs/install.md describes it.
async fn lives_with_sites_that_keep_files_elsewhere(node: &Node) {
    let machine = &node.machine;
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
    // nginx is tested from the daemon's mount namespace, with no more capabilities than the daemon
    // has.
    machine.run(
        "nsenter --target $(systemctl show --value --property MainPID ingressd) --mount -- \
         setpriv --bounding-set -all,+chown,+dac_override,+kill,+net_bind_service nginx -t",
    );
    node.serves().await;
}

async fn takes_new_settings(node: &Node) {
    let (machine, file) = (&node.machine, "/etc/ingressd/conf.d/port.toml");
    node.unnoticed(async |machine| {
        machine.disk.write(file, "upstreams.keepalive = 33\n");
        machine.run("systemctl reload ingressd");
        let text = machine.run("cat /etc/nginx/ingressd/current/http/*");
        assert!(text.contains("keepalive 33;"), "in force when the command is done: {text}");
        // A mistake is reported, and changes nothing.
        machine.disk.write(file, "upstreams.keepalife = 34\n");
        assert!(!machine.try_run("systemctl reload ingressd").status.success(), "a reload that fails says so");
        let journal = machine.run("journalctl --unit ingressd --output cat --no-pager");
        assert!(journal.contains("keepalife"), "{journal}");
        let status = machine.run("systemctl status ingressd && ingressd status 2>&1");
        assert!(status.contains("active (running)") && status.contains("NEW SETTINGS REFUSED"), "{status}");
        assert!(status.contains("SettingsRefused"), "{status}");
    })
    .await;
    machine.disk.write(file, "listen.http-port = 8081\n");
    machine.run("systemctl reload ingressd");
    let answer = |port: u16| format!("curl --silent --header 'Host: shop.example' http://127.0.0.1:{port}/");
    machine.until("the new port", &answer(8081), |answer| answer.contains("echo"));
    machine.run(&format!("rm {file} && systemctl reload ingressd"));
    machine.until("the old port", &answer(80), |answer| answer.contains("echo"));
    assert_eq!(node.property("NRestarts"), "0");
}

async fn is_restarted_unnoticed(node: &Node) {
    let before = node.property("MainPID");
    node.unnoticed(async |machine| {
        machine.run("systemctl restart ingressd");
        node.serves().await;
    })
    .await;
    assert_ne!(node.property("MainPID"), before);
}

/// Another node leads, and could withdraw this one.
async fn is_stopped_for_a_while_unnoticed(node: &Node) {
    node.unnoticed(async |machine| {
        machine.run("systemctl stop ingressd");
        assert_eq!(node.property("Result"), "success");
        // The other node leads now, and publishes new objects without the node that does not look
        // after them.
        let other_node = node.other_node.as_ref().unwrap();
        let (objects, cart) = (&node.around.objects, ingress("cart"));
        objects.apply(cart.host("cart.example", "web")).await;
        objects.until_published("cart", &[&other_node.address]).await;
        machine.run("systemctl start ingressd");
        node.serves().await;
        objects.delete("Ingress", "cart").await;
    })
    .await;
}

async fn is_withdrawn_after_the_grace_period(node: &Node) {
    let (machine, file) = (&node.machine, "/etc/ingressd/conf.d/grace.toml");
    machine.disk.write(file, "publish.grace-period = \"3s\"\n");
    machine.run("systemctl reload ingressd && systemctl restart ingressd");
    node.until_published().await;
    node.under_load(async |machine| {
        machine.run("systemctl stop ingressd");
        node.until_withdrawn().await;
        machine.run(&format!("rm {file} && systemctl start ingressd"));
    })
    .await;
    node.until_published().await;
}

async fn is_drained_and_taken_back(node: &Node) {
    node.under_load(async |machine| {
        machine.run("ingressd drain --no-wait");
        node.until_withdrawn().await;
        // The drain outlasts a restart.
        machine.run("systemctl restart ingressd");
        machine.until("the status to tell of it", "curl --silent http://127.0.0.1:10254/status.json", |status| {
            let status: Value = serde_json::from_str(status).unwrap_or_default();
            let members = status["members"].as_array().into_iter().flatten();
            members.filter(|member| member["drained"] == true).count() == 1
        });
        machine.run("ingressd undrain");
    })
    .await;
    node.until_published().await;
}

async fn is_rolled_back_and_goes_on(node: &Node) {
    let cart = get("http://cart.example/").to(node.around.address);
    node.unnoticed(async |machine| {
        node.around.objects.apply(ingress("cart").host("cart.example", "web")).await;
        cart.clone().send_until("what is new", |reply| reply.status == 200).await;
        machine.run("ingressd rollback");
        cart.clone().send_until("the generation before", |reply| reply.status != 200).await;
        node.until_line("the line to tell of it", |line| line.starts_with("PINNED"));
        // The rollback outlasts a restart.
        machine.run("systemctl restart ingressd");
        node.until_line("the line to tell of it again", |line| line.starts_with("PINNED"));
        machine.run("ingressd resume");
        cart.clone().send_until("what is new, again", |reply| reply.status == 200).await;
        node.around.objects.delete("Ingress", "cart").await;
    })
    .await;
}
