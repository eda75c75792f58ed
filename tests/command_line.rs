//! The binary as the shell sees it: exit codes and the first words of its complaints.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Arguments, the exit code, and what standard error has to hold. `DIR` stands for a folder of the
/// test's own.
const ROWS: &[(&[&str], i32, &str)] = &[
    (&["--version"], 0, ""),
    (&["--help"], 0, ""),
    (&["completions", "bash"], 0, ""),
    (&["templates"], 0, ""),
    (&["templates", "location"], 0, ""),
    (&["templates", "place"], 64, "invalid value 'place'"),
    (&[], 64, "Usage"),
    (&["dance"], 64, "unrecognized subcommand"),
    (&["run", "--set", "log.level"], 64, "KEY=VALUE"),
    (&["run", "--config", "DIR/none.toml"], 78, "none.toml cannot be read"),
    (
        &["run", "--config", "DIR/bad.toml"],
        78,
        "bad.toml:2: listen.http-prot: there is no such key; did you mean listen.http-port?",
    ),
    (&["run", "--set", "log.level=a=b=c"], 78, "log.level"),
    (&["run", "--config", "DIR/good.toml"], 78, "make a kubeconfig with `ingressd kubeconfig`"),
    (
        &["run", "--config", "DIR/good.toml", "--kubeconfig", "DIR/none"],
        78,
        "none cannot be read: No such file or directory (os error 2); `ingressd kubeconfig` writes one",
    ),
    (
        &["run", "--config", "DIR/good.toml", "--kubeconfig", "DIR/empty"],
        78,
        "empty cannot be used: it has no current-context; `ingressd kubeconfig` writes one",
    ),
    (&["run", "--set", "nginx.templates=DIR/none"], 78, "none cannot be read: No such file"),
    (&["run", "--set", "nginx.templates=none"], 78, "is not an absolute path"),
    (
        &["run", "--config", "DIR/good.toml", "--manifests", "DIR", "--set", "nginx.binary=/nonexistent/nginx"],
        69,
        "nginx",
    ),
    (&["status", "--config", "DIR/good.toml"], 69, "no daemon runs here"),
    (&["status", "--json", "--config", "DIR/good.toml"], 69, "no daemon runs here"),
    (&["doctor", "--json", "--format", "text"], 64, "cannot be used with"),
    (&["status", "--state", "good"], 64, "last-good"),
    (&["status", "--state", "wrong", "--cluster"], 64, "cannot be used with"),
    (&["status", "--config", "DIR/bad.toml"], 78, "no daemon answers on /run/ingressd/control.sock either"),
    (&["reload", "--config", "DIR/bad.toml"], 69, "did you mean listen.http-port?"),
    (&["reload", "--config", "DIR/good.toml"], 69, "no daemon runs here"),
    (&["doctor", "dance"], 64, "nginx-version"),
    (&["doctor", "--config", "DIR/bad.toml"], 2, ""),
    (&["setup", "--yes", "--undo"], 64, "cannot be used with"),
    (&["setup", "--config", "DIR/bad.toml"], 78, "did you mean listen.http-port?"),
    (&["setup", "--config", "DIR/good.toml", "--set", "nginx.binary=/nonexistent/nginx"], 69, "nginx"),
    (&["status", "--cluster", "--config", "DIR/good.toml"], 69, "no daemon runs here"),
    (&["kubeconfig", "--print"], 0, ""),
    (&["kubeconfig", "--duration", "5m"], 64, "at least 10m"),
    (&["kubeconfig", "--server", "http://10.0.0.1"], 64, "https://"),
    (&["kubeconfig", "--account", "Edge"], 64, "not a name"),
    (&["kubeconfig", "--output", "DIR/good.toml"], 73, "good.toml is there already and stays; --force replaces it"),
    (
        &["kubeconfig", "--admin-kubeconfig", "DIR/none", "--output", "DIR/kubeconfig"],
        78,
        "/none cannot be read: No such file or directory",
    ),
    // That nothing can be written is known before anything is asked of the cluster.
    (
        &["kubeconfig", "--admin-kubeconfig", "DIR/none", "--output", "DIR/good.toml/kubeconfig"],
        69,
        "good.toml/kubeconfig cannot be written",
    ),
];

#[test]
fn exit_codes_follow_sysexits() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let write = |name: &str, text: &str| std::fs::write(Path::new(directory).join(name), text).unwrap();
    write("bad.toml", "[listen]\nhttp-prot = 80\n");
    write(
        "good.toml",
        &format!(
            "http.address = '127.0.0.1:0'\ncontrol.socket = '{directory}/run/control.sock'\n\
             apply.root = '{directory}/root'\napply.state = '{directory}/state'\n"
        ),
    );
    write("empty", "apiVersion: v1\nkind: Config\n");
    std::fs::set_permissions(folder.path().join("empty"), std::fs::Permissions::from_mode(0o600)).unwrap();
    for (arguments, code, words) in ROWS {
        let arguments: Vec<_> = arguments.iter().map(|argument| argument.replace("DIR", directory)).collect();
        let output = Command::new(env!("CARGO_BIN_EXE_ingressd"))
            .args(&arguments)
            .env_remove("INGRESSD_CONFIG")
            .env_remove("NOTIFY_SOCKET")
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {complaint}");
        assert!(complaint.contains(words), "{arguments:?}: {complaint}");
    }
}

/// A pipe without a reader.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

/// Commands that print, and how they end when their output is read.
const PRINTING: &[(&[&str], i32)] = &[
    (&["--help"], 0),
    (&["completions", "bash"], 0),
    (&["templates", "server"], 0),
    (&["kubeconfig", "--print"], 0),
    // Their backends are on loopback, which is a finding.
    (&["check", "examples/demo"], 1),
    (&["check", "--demo", "--strict", "examples/demo"], 0),
    (&["render", "examples/demo"], 0),
    (&["doctor", "--config", "DIR/bad.toml"], 2),
    (&["setup", "--undo", "--config", "DIR/good.toml"], 0),
    (&["status", "--config", "DIR/bad.toml"], 78),
];

#[test]
fn a_closed_output_is_no_reason_to_complain() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("bad.toml", "[listen]\nhttp-prot = 80\n");
    write("good.toml", &format!("apply.root = '{directory}/root'\napply.state = '{directory}/state'\n"));
    for (arguments, code) in PRINTING {
        let arguments: Vec<_> = arguments.iter().map(|argument| argument.replace("DIR", directory)).collect();
        let run = |output: Stdio, error: Stdio| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
            command.args(&arguments).env_remove("INGRESSD_CONFIG").env_remove("NOTIFY_SOCKET");
            command.stdout(output).stderr(error).spawn().unwrap().wait_with_output().unwrap()
        };
        let unread = run(closed(), Stdio::piped());
        let complaint = String::from_utf8_lossy(&unread.stderr);
        assert_eq!(unread.status.code(), Some(*code), "{arguments:?}: {complaint}");
        assert!(!complaint.contains("panicked") && !complaint.contains("output"), "{arguments:?}: {complaint}");
        assert_eq!(run(closed(), closed()).status.code(), Some(*code), "{arguments:?}, standard error too");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_reported() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ingressd"));
    let ended = command.args(["kubeconfig", "--print"]).stdout(full).output().unwrap();
    assert_eq!(ended.status.code(), Some(69));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("standard output cannot be written: No space left"));
}

/// What it would apply is what packages bring, and the Secret for a token where one is wanted.
#[test]
fn kubeconfig_prints_the_manifests_of_packages() {
    let print = |more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ingressd")).args(["kubeconfig", "--print"]).args(more).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/rbac/ingressd.yaml");
    let shipped = std::fs::read_to_string(shipped).unwrap();
    let (introduction, manifests) = shipped.split_at(shipped.find("---").unwrap());
    assert!(introduction.lines().all(|line| line.starts_with('#')), "{introduction}");
    assert_eq!(print(&["--duration", "1h"]), manifests);
    let secret = print(&[]);
    let secret = secret.strip_prefix(manifests).expect("the manifests come first");
    assert!(secret.contains("type: kubernetes.io/service-account-token"), "{secret}");
}

/// What may be deleted again: all but the namespace, in which there may be more.
#[test]
fn the_command_that_takes_everything_back_deletes_no_namespace() {
    let ingressd = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_ingressd")).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let kinds = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.strip_prefix("kind: ")).map(str::to_owned).collect()
    };
    let all = kinds(&ingressd(&["kubeconfig", "--print"]));
    assert_eq!(all.iter().filter(|kind| *kind == "Namespace").count(), 1, "{all:?}");
    let without = kinds(&ingressd(&["kubeconfig", "--print", "--without-namespace"]));
    assert_eq!(without, all.into_iter().filter(|kind| kind != "Namespace").collect::<Vec<_>>());
    let help = ingressd(&["kubeconfig", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/kubeconfig.md");
    for text in [help, std::fs::read_to_string(page).unwrap()] {
        assert!(
            text.contains("ingressd kubeconfig --print --without-namespace | kubectl delete --ignore-not-found -f -"),
            "{text}"
        );
    }
}

/// A process that ends with the test, also with one that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn systemd_hears_of_the_start_and_of_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().to_str().unwrap();
    let socket = std::os::unix::net::UnixDatagram::bind(folder.path().join("notify")).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    // The host's nginx stays untouched: there is no master behind this pid file, so the daemon
    // never gets ready.
    std::fs::write(folder.path().join("nginx.conf"), "events {}\nhttp { include root/current/http/*.conf; }\n")
        .unwrap();
    std::fs::create_dir(folder.path().join("manifests")).unwrap();
    let settings = [
        format!("apply.root={directory}/root"),
        format!("apply.state={directory}/state"),
        format!("nginx.configuration={directory}/nginx.conf"),
        format!("nginx.prefix={directory}"),
        format!("nginx.pid-file={directory}/nginx.pid"),
        "nginx.unit=".to_owned(),
        format!("control.socket={directory}/run/control.sock"),
        "http.address=127.0.0.1:0".to_owned(),
    ];
    let daemon = Command::new(env!("CARGO_BIN_EXE_ingressd"))
        .args(["run", "--manifests", &format!("{directory}/manifests")])
        .args(settings.iter().flat_map(|setting| ["--set", setting]))
        .env("NOTIFY_SOCKET", folder.path().join("notify"))
        .env("WATCHDOG_USEC", "3000000")
        .env_remove("JOURNAL_STREAM")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut daemon = Running(daemon.unwrap());
    let mut heard = String::new();
    let mut listen_for = |word: &str| {
        while !heard.contains(word) {
            let mut datagram = [0; 4096];
            let length = socket.recv(&mut datagram).unwrap_or_else(|error| panic!("{word}: {error}; heard {heard}"));
            heard.push_str(std::str::from_utf8(&datagram[..length]).unwrap());
        }
        heard.clone()
    };
    let heard_before_ready = listen_for("STATUS=nginx-down");
    assert!(heard_before_ready.contains("WATCHDOG=1") && heard_before_ready.contains("EXTEND_TIMEOUT_USEC="));
    assert!(!heard_before_ready.contains("READY=1"), "nothing is confirmed: {heard_before_ready}");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(daemon.0.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGHUP).unwrap();
    assert!(listen_for("RELOADING=1").contains("MONOTONIC_USEC="));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    listen_for("STOPPING=1");
    let mut log = String::new();
    daemon.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(daemon.0.wait().unwrap().code(), Some(0), "{log}");
    assert!(log.contains("the settings were read again"), "sockets are free again before they are taken: {log}");
}
