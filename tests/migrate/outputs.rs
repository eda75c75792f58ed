//! The settings that `ingressd migrate` writes, and why a comparison cannot begin.

use ingressd_config::Sources;

use super::{CLASS, DUMP, migrate};

#[test]
fn settings_are_a_drop_in() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.yaml");
    std::fs::write(&dump, DUMP).unwrap();
    let written = migrate("settings", &[dump.to_str().unwrap()]);
    assert_eq!(written.code, 0, "{}", written.complaints);
    let file = folder.path().join("ingressd.toml");
    std::fs::create_dir(folder.path().join("conf.d")).unwrap();
    std::fs::write(&file, "").unwrap();
    std::fs::write(folder.path().join("conf.d/50-ingress-nginx.toml"), &written.text).unwrap();
    let read = Sources { file: Some(file), ..Sources::default() }.load().unwrap();
    let map = read.ingress_nginx.config_map.unwrap();
    assert_eq!((&*map.0, &*map.1), ("ingress-nginx", "ingress-nginx-controller"));
    assert_eq!(read.translate.classes.len(), 2);
}

#[test]
fn settings_for_the_time_side_by_side_are_a_drop_in_too() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump.yaml");
    std::fs::write(&dump, DUMP).unwrap();
    let written = migrate("settings", &[dump.to_str().unwrap(), "--side-by-side", "--ports", "81,444"]);
    assert_eq!(written.code, 0, "{}", written.complaints);
    let read = Sources::load_text(&written.text).unwrap();
    assert_eq!(
        (read.translate.listeners.http_port, read.translate.listeners.https_port, read.publish.status),
        (81, 444, false)
    );
    for (wrong, words) in [
        (&["--ports", "81,444"][..], "--side-by-side"),
        (&["--side-by-side", "--ports", "81"], "HTTP,HTTPS"),
        (&["--side-by-side", "--ports", "0,1"], "HTTP,HTTPS"),
        (
            &["--side-by-side", "--ports", "80,443"],
            "80 is the controller's --http-port=80, 443 is the controller's --https-port=443; name others, such as --ports 8080,8444\n",
        ),
        (
            &["--side-by-side", "--ports", "8080,8443"],
            "8443 is the controller's --validating-webhook=:8443; name others",
        ),
        (&["--side-by-side", "--ports", "10264,8444"], "10264 is the setting http.address meanwhile; name others"),
        (&["--side-by-side", "--ports", "81,81"], "81 is the port for http; name others"),
    ] {
        let ended = migrate("settings", &[&[dump.to_str().unwrap()], wrong].concat());
        assert!(
            (ended.code, &*ended.text) == (64, "") && ended.complaints.contains(words),
            "{wrong:?}: {} {}",
            ended.code,
            ended.complaints
        );
    }
    // Where the controller has the ports that are usual meanwhile.
    std::fs::write(&dump, DUMP.replace("--validating-webhook=:8443", "--http-port=8080")).unwrap();
    let taken = migrate("settings", &[dump.to_str().unwrap(), "--side-by-side"]);
    assert_eq!(taken.code, 64, "{}", taken.text);
    assert!(taken.complaints.ends_with("such as --ports 8081,8444\n"), "{}", taken.complaints);
}

/// Nothing is sent in any of these.
#[test]
fn a_comparison_says_why_it_cannot_begin() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (dump, empty, bare) = (file("dump.yaml", DUMP), file("empty.yaml", ""), file("bare.yaml", CLASS));
    let compressed = file("access.log.gz", "\u{1f}");
    std::fs::write(&compressed, [0x1f, 0x8b, 8, 0, b'\n']).unwrap();
    let log = file("access.log", "nonsense\n{\"request\": \"POST / HTTP/1.1\", \"host\": \"shop.example\"}\n");
    let usual = ["--config", "/dev/null", "--nginx-version", "1.22.1", "--controller-address", "192.0.2.1"];
    for (arguments, code, words) in [
        (vec![&*empty], 66, "kubectl get "),
        (vec![&*bare], 66, "there is nothing to ask\n"),
        (
            vec![&*dump, "--log", &*log],
            66,
            "log-format-upstream of the controller's ConfigMap says, which is: $remote_addr",
        ),
        (vec![&*dump, "--log", &*compressed], 66, "zcat "),
        (
            vec![&*dump, "--log", &*log],
            66,
            "format of the log (1), lines with a method that may change something (1)\n",
        ),
        (vec![&*dump, "--log", "/nonexistent"], 66, "/nonexistent: "),
        (vec!["/nonexistent"], 66, "/nonexistent"),
        (vec![&*dump, "--report", "/nonexistent/compare.json"], 69, "/nonexistent/compare.json: "),
        (vec![&*dump, "--rate", "0"], 64, "--rate"),
        (vec![&*dump, "--controller-ports", "80"], 64, "HTTP,HTTPS"),
    ] {
        let ended = migrate("compare", &[&usual[..], &arguments].concat());
        assert!(
            ended.code == code && ended.complaints.contains(words),
            "{arguments:?}: {} {}",
            ended.code,
            ended.complaints
        );
    }
    assert_eq!(migrate("compare", &[&*dump]).code, 64, "where the controller is has to be said");
}
