//! Installing, removing and purging where no systemd runs, as in an image build.

use std::path::Path;

use super::machine::Disk;
use super::packages;

super::on_each_release!(in_an_image);

fn in_an_image(release: &str) {
    let disk = Disk::of(release);
    packages::put(&disk);
    let run = |command: &str| {
        let output = disk.run(&format!("({command}) 2>&1"));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {text}");
        text
    };
    let test = || run("nginx -t 2>/dev/null");
    let files = || run("find / -xdev -type f -newer /root/start -path '/etc/nginx/*' -o -name '*ingressd*'");

    run("touch /root/start && mv /root/ingressd.deb /root/first.deb");
    test();
    run("apt-get install --yes /root/first.deb");
    test();
    assert_eq!(run("ingressd --version").split(' ').next(), Some("ingressd"));
    assert_eq!(run("stat --format %a /etc/nginx/ingressd /var/lib/ingressd"), "755\n700\n");
    // README and man page begin with this command.
    let demo = run("cd /root && ingressd demo --check");
    assert!(demo.contains("ok") && !demo.contains("FAIL"), "{demo}");
    assert_eq!(run("cd / && md5sum --check --quiet /var/lib/dpkg/info/ingressd.md5sums"), "");

    // The scripts of the .rpm, with the number of packages that stay, find the same files.
    for (script, arguments) in
        [("post", "1"), ("preun", "1"), ("postun", "1"), ("preun", "0"), ("postun", "0"), ("post", "1")]
    {
        let file = format!("/root/{script}");
        disk.copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/rpm").join(script), &file);
        assert_eq!(run(&format!("sh -e {file} {arguments}")), "", "{script} {arguments}");
        test();
    }

    // A file that was changed survives an upgrade and a downgrade, and any other file follows the
    // package.
    run("echo '# ours' >>/etc/ingressd/ingressd.toml");
    for package in ["next", "first"] {
        run(&format!("apt-get install --yes --allow-downgrades /root/{package}.deb"));
        test();
        run("grep -q '^# ours$' /etc/ingressd/ingressd.toml && ! ls /etc/ingressd | grep dpkg");
    }

    run("apt-get remove --yes ingressd");
    test();
    run("test -e /etc/ingressd/ingressd.toml -a -e /etc/nginx/conf.d/ingressd.conf");
    run("apt-get purge --yes ingressd");
    test();
    assert_eq!(files(), "", "nothing is left");
}
