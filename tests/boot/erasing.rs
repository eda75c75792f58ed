//! The .rpm is installed, upgraded and erased, with its scripts, where no systemd runs.

use super::machine::Disk;
use super::packages;

super::on_each_release!(nginx_goes_on_with_what_it_serves);

const STREAM: &str = "/etc/nginx/modules-enabled/zz-ingressd-stream.conf";
const DEFAULT: &str = "/etc/nginx/sites-enabled/default";
const INCLUDE: &str = "/etc/nginx/conf.d/ingressd.conf";

fn nginx_goes_on_with_what_it_serves(release: &str) {
    let disk = Disk::of(release);
    let run = |command: &str| {
        let output = disk.run(&format!("({command}) 2>&1"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {text}");
        text
    };
    let rpm = |what: &str, package: &std::path::Path| disk.rpm(&[what, package.to_str().unwrap()]);

    rpm("--install", &packages::rpm());
    assert_eq!(run(&format!("cat {INCLUDE}")), include_str!("../../packaging/nginx/ingressd.conf"));
    run("ingressd setup --yes --disable-default-site");
    run(&format!("test -e {STREAM} -a ! -e {DEFAULT}"));
    run("systemctl enable ingressd.service ingressd@blue.service");
    disk.write("/etc/nginx/ingressd/generations/1/http/shop.conf", "server { server_name shop.example; }\n");
    run("ln -s generations/1 /etc/nginx/ingressd/current");
    let serves = || run("nginx -T 2>&1").contains("shop.example");
    assert!(serves());

    // An administrator who changed or removed the file wanted that.
    run(&format!("echo '# mine' >>{INCLUDE}"));
    rpm("--upgrade", &packages::next_rpm());
    assert!(run(&format!("cat {INCLUDE}")).ends_with("# mine\n"));
    run(&format!("mv {INCLUDE} /root/include"));
    disk.rpm(&["--upgrade", "--oldpackage", packages::rpm().to_str().unwrap()]);
    run(&format!("! test -e {INCLUDE} && mv /root/include {INCLUDE}"));
    assert!(run("ls /etc/systemd/system/multi-user.target.wants").contains("ingressd@blue.service"), "still enabled");

    disk.rpm(&["--erase", "ingressd"]);
    run(&format!("nginx -t && ! test -e {STREAM}"));
    assert!(serves(), "as packaging/README.md says");
    assert_eq!(
        run("find /etc/systemd /usr -xdev ! -type d -name '*ingressd*'"),
        "",
        "nothing is enabled, nothing is left of the program"
    );

    // packaging/README.md describes these commands for the effect of a purge.
    run(&format!(
        "rm -r /etc/ingressd /etc/nginx/ingressd {INCLUDE} && sh /var/lib/ingressd/undo && rm -r /var/lib/ingressd"
    ));
    run(&format!("nginx -t && test -e {DEFAULT}"));
}
