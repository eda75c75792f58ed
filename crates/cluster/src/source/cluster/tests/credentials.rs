//! Credentials on disk, and a server that requires them.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::clients::Line;
use super::*;

/// An API server that accepts this token only.
async fn server(token: &str) -> (Double, std::net::SocketAddr) {
    let double = Double::default();
    double.put("namespaces", json!({ "metadata": { "name": "edge" } }));
    double.admit(token);
    let address = double.listen().await;
    (double, address)
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn kubeconfig(server: std::net::SocketAddr, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'http://{server}'}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
    )
}

async fn code(clients: &Clients) -> u16 {
    let request = http::Request::get("/api/v1/namespaces/edge").body(kube::client::Body::empty()).unwrap();
    match clients.write.send(request).await {
        Ok(answer) => answer.status().as_u16(),
        Err(error) => panic!("{error:?}"),
    }
}

/// Sends requests until one is accepted: credentials are renewed by a task of their own.
async fn until_let_in(clients: &Clients) {
    let mut line = clients.line();
    tokio::time::timeout(PATIENCE, async {
        while code(clients).await != 200 {
            line.changed().await.unwrap();
        }
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn tokens_are_renewed_from_every_place_that_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let (double, address) = server("one").await;
    fs::write(folder.path().join("token"), "one").unwrap();
    write(&path, &kubeconfig(address, "tokenFile: token"));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    assert_eq!(code(clients).await, 200);
    // The token file is replaced as a whole.
    double.admit("two");
    assert_eq!(code(clients).await, 401);
    fs::write(folder.path().join("token.new"), "two").unwrap();
    fs::rename(folder.path().join("token.new"), folder.path().join("token")).unwrap();
    until_let_in(clients).await;
    // The kubeconfig is changed.
    double.admit("three");
    write(&path, &kubeconfig(address, "token: three"));
    until_let_in(clients).await;
    // The token comes from a plugin.
    double.admit("four");
    let credential =
        r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"four"}}"#;
    let plugin = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, command: echo, args: ['{credential}'], interactiveMode: Never}}"
    );
    write(&path, &kubeconfig(address, &plugin));
    until_let_in(clients).await;
    assert!(clients.requests().counts().iter().any(|(verb, code, _)| *verb == "get" && code == "401"));
}

#[tokio::test]
async fn credentials_that_are_of_no_use_leave_the_old_ones_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let (_, address) = server("one").await;
    write(&path, &kubeconfig(address, "token: one"));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    let mut line = clients.line();
    for (text, mode, expected) in [("{", 0o600, "cannot be used"), ("", 0o644, "chmod 600")] {
        line.borrow_and_update();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let failed = line.wait_for(|line| line.failure.as_ref().is_some_and(|why| why.contains(expected)));
        tokio::time::timeout(PATIENCE, failed).await.unwrap().unwrap();
        assert_eq!(code(clients).await, 200);
    }
    write(&path, &kubeconfig(address, "token: one"));
    let mended = line.wait_for(|line| line.failure.is_none());
    tokio::time::timeout(PATIENCE, mended).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_cannot_be_used_at_the_start_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let refusal = async |text: Option<&str>, mode: u32| {
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let error = connect(&path).await.unwrap_err().to_string();
        assert!(error.contains(&*path.to_string_lossy()), "{error}");
        error
    };
    assert!(refusal(None, 0).await.contains("cannot be read"));
    assert!(refusal(Some(""), 0o640).await.contains("chmod 600"));
    assert!(refusal(Some(""), 0o604).await.contains("mode 0604"));
    assert!(refusal(Some("{}"), 0o600).await.contains("cannot be used"));
}

/// A plugin: an executable made of these lines of a shell script.
fn plugin(folder: &Path, name: &str, lines: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    let fresh = folder.join(format!("{name}.new"));
    // A separate process writes the file: a child that another test forks now would inherit an
    // open handle and keep the file busy.
    let mut shell = Command::new("/bin/sh");
    let mut shell = shell.args(["-c", "cat >\"$0\""]).arg(&fresh).stdin(Stdio::piped()).spawn().unwrap();
    write!(shell.stdin.take().unwrap(), "#!/bin/sh\n{lines}\n").unwrap();
    assert!(shell.wait().unwrap().success());
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(fresh, &path).unwrap();
    path
}

fn user(plugin: &Path) -> kube::config::AuthInfo {
    serde_json::from_value(json!({"exec": {
        "apiVersion": VERSION, "command": plugin, "args": ["one", "two"], "env": [{"name": "WHO", "value": "edge"}],
        "installHint": "get it at the counter"
    }}))
    .unwrap()
}

const VERSION: &str = "client.authentication.k8s.io/v1";

#[tokio::test]
async fn a_plugin_that_gives_nothing_of_use_is_named_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let credential = |status: &str| format!(r#"echo '{{"apiVersion":"{VERSION}","status":{status}}}'"#);
    for (what, lines, expected) in [
        (
            "it fails",
            "echo secret; echo \"no way, $WHO $1 $2\" >&2; exit 3".to_owned(),
            "failed (exit status: 3): no way, edge one two",
        ),
        ("it is killed", "kill -9 $$".to_owned(), "failed (signal: 9 (SIGKILL)): "),
        ("it says nothing", ":".to_owned(), "gave nothing"),
        ("it prints garbage", "echo secret garbage".to_owned(), "gave something that is no ExecCredential"),
        (
            "it prints too much",
            "head -c 2000000 /dev/zero | tr '\\0' 'x'; echo secret".to_owned(),
            "gave something that is no ExecCredential",
        ),
        ("bytes that are no text", "printf '\\377'".to_owned(), "gave something that is no text"),
        ("no status", credential("null"), "gave an ExecCredential without a status"),
        ("nothing in it", credential("{}"), "gave neither a token nor a certificate with its key"),
        ("half a pair", credential(r#"{"clientKeyData":"k"}"#), "gave neither a token nor a certificate with its key"),
        (
            "a time that is none",
            credential(r#"{"token":"t","expirationTimestamp":"soon"}"#),
            "gave something that is no ExecCredential",
        ),
        (
            "another version",
            r#"echo '{"apiVersion":"v0","status":{"token":"t"}}'"#.to_owned(),
            "gave an ExecCredential of another version than the kubeconfig asks for",
        ),
    ] {
        let path = plugin(folder.path(), "plugin", &lines);
        let error = plugin::replace(&mut user(&path)).await.unwrap_err().to_string();
        assert_eq!(error, format!("the credential plugin {} {expected}", path.display()), "{what}");
    }
    let error = plugin::replace(&mut user(Path::new("/nowhere/plugin"))).await.unwrap_err().to_string();
    assert!(error.starts_with("the credential plugin /nowhere/plugin cannot be run: No such file"), "{error}");
    assert!(error.ends_with("; get it at the counter"), "{error}");
}

#[tokio::test]
async fn a_plugin_may_open_as_many_files_as_is_usual() {
    let (_, limit) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(limit > 1024, "what was to be tested");
    setrlimit(Resource::RLIMIT_NOFILE, limit, limit).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let credential = format!(r#"echo '{{"apiVersion":"{VERSION}","status":{{"token":"t"}}}}'"#);
    let lines = format!("until [ $(ulimit -n) = 1024 ]; do :; done\n{credential}");
    plugin::replace(&mut user(&plugin(folder.path(), "plugin", &lines))).await.unwrap();
}

#[tokio::test]
async fn a_plugin_may_complain_as_long_as_it_likes() {
    let folder = tempfile::tempdir().unwrap();
    // The output is more than a pipe holds, and then some.
    let complaint = "head -c 300000 /dev/zero | tr '\\0' 'x' >&2 || exit 7";
    let credential = format!(r#"echo '{{"apiVersion":"{VERSION}","status":{{"token":"t"}}}}'"#);
    let lines = format!("{complaint}\n{complaint}\n{credential}");
    let mut talkative = user(&plugin(folder.path(), "plugin", &lines));
    plugin::replace(&mut talkative).await.unwrap();
    assert!(talkative.token.is_some());
    // The beginning of the output of a failed plugin is reported.
    let path = plugin(folder.path(), "plugin", &format!("{complaint}\nexit 3"));
    let error = plugin::replace(&mut user(&path)).await.unwrap_err().to_string();
    let expected = format!("failed (exit status: 3): {}", "x".repeat(400));
    assert_eq!(error, format!("the credential plugin {} {expected}", path.display()));
}

#[tokio::test]
async fn a_plugin_is_asked_and_what_it_gives_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let reported = folder.path().join("told");
    let status =
        r#"{"token":"t","clientCertificateData":"c","clientKeyData":"k","expirationTimestamp":"2030-01-01T00:00:00Z"}"#;
    let lines = format!(
        "printf %s \"$KUBERNETES_EXEC_INFO\" > {}; echo '{{\"apiVersion\":\"{VERSION}\",\"status\":{status}}}'",
        reported.display()
    );
    let mut user = user(&plugin(folder.path(), "plugin", &lines));
    assert!(plugin::is_needed(&user));
    let end = plugin::replace(&mut user).await.unwrap();
    assert_eq!(end, Some("2030-01-01T00:00:00Z".parse().unwrap()));
    assert_eq!((user.client_certificate_data.as_deref(), user.token.is_some()), (Some("Yw=="), true));
    assert!(user.exec.is_none() && user.client_key_data.is_some() && !plugin::is_needed(&user));
    let reported: serde_json::Value = serde_json::from_str(&fs::read_to_string(reported).unwrap()).unwrap();
    assert_eq!(reported, json!({"apiVersion": VERSION, "kind": "ExecCredential", "spec": {"interactive": false}}));
}

#[tokio::test]
async fn a_plugin_that_hangs_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let lines = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", started.display());
    let mut user = user(&plugin(folder.path(), "plugin", &lines));
    let mut hanging = Box::pin(plugin::replace(&mut user));
    let (began, mut child) = (std::time::Instant::now(), String::new());
    while child.is_empty() {
        assert!(began.elapsed() < PATIENCE, "the plugin never began");
        // It is still running when it is asked whether it has ended.
        let _ = tokio::time::timeout(Duration::from_millis(5), &mut hanging).await;
        child = fs::read_to_string(&started).unwrap_or_default();
    }
    tokio::time::pause();
    let error = hanging.await.unwrap_err().to_string();
    assert!(error.ends_with("did not end within 60 s"), "{error}");
    // The kernel takes a moment to kill it, and its new parent another to reap it.
    let status = format!("/proc/{}/stat", child.trim());
    let lives = || fs::read_to_string(&status).is_ok_and(|text| !text.contains(") Z "));
    let end = std::time::Instant::now() + PATIENCE;
    while lives() {
        assert!(std::time::Instant::now() < end, "what the plugin started still runs");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A plugin that returns the token `run-N` at its N-th run, valid for so many seconds. After
/// `most` runs it fails.
fn counting(folder: &Path, seconds: u32) -> std::path::PathBuf {
    let lines = format!(
        r#"cd {}
        test $(wc -l < runs) -lt $(cat most) || {{ echo out of order >&2; exit 1; }}
        echo >> runs
        end=$(date -u -d '+{seconds} seconds' +%Y-%m-%dT%H:%M:%SZ)
        echo "{{apiVersion: {VERSION}, status: {{token: run-$(wc -l < runs), expirationTimestamp: '$end'}}}}""#,
        folder.display()
    );
    fs::write(folder.join("runs"), "").unwrap();
    plugin(folder, "plugin", &lines)
}

fn exec(plugin: &Path) -> String {
    format!("exec: {{apiVersion: {VERSION}, command: {}, interactiveMode: Never}}", plugin.display())
}

#[tokio::test]
async fn a_plugin_is_run_again_before_what_it_gave_ends_and_the_old_stays_when_it_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let (double, address) = server("run-2").await;
    fs::write(folder.path().join("most"), "2").unwrap();
    write(&path, &kubeconfig(address, &exec(&counting(folder.path(), 4))));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    until_let_in(clients).await;
    // The next run fails, and only that is reported.
    let mut line = clients.line();
    let failed = line.wait_for(|line| line.failure.as_ref().is_some_and(|why| why.ends_with("out of order")));
    tokio::time::timeout(PATIENCE, failed).await.unwrap().unwrap();
    assert_eq!(code(clients).await, 200);
    let runs = fs::read_to_string(folder.path().join("runs")).unwrap().len();
    assert_eq!(runs, 2, "one run is for all connections");
    double.admit("run-3");
    fs::write(folder.path().join("most"), "9").unwrap();
    until_let_in(clients).await;
    assert_eq!(clients.line().borrow().failure, None);
}

#[tokio::test]
async fn a_plugin_is_run_again_when_the_server_does_not_know_us_but_not_all_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let (double, address) = server("run-1").await;
    fs::write(folder.path().join("most"), "9").unwrap();
    write(&path, &kubeconfig(address, &exec(&counting(folder.path(), 3600))));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    let (began, mut line) = (std::time::Instant::now(), clients.line());
    assert_eq!(code(clients).await, 200);
    let runs = || fs::read_to_string(folder.path().join("runs")).unwrap().len();
    double.admit("none");
    for _ in 0..20 {
        assert_eq!(code(clients).await, 401);
        let _ = tokio::time::timeout(Duration::from_millis(20), line.changed()).await;
    }
    let most = 1 + began.elapsed().as_secs() as usize / 10;
    assert!(runs() <= most, "{} runs in {:?}", runs(), began.elapsed());
    double.admit(&format!("run-{}", runs() + 1));
    while code(clients).await != 200 {
        assert!(began.elapsed() < PATIENCE);
        // Several 401 are needed: the plugin was run just now.
        let _ = tokio::time::timeout(Duration::from_millis(200), line.changed()).await;
    }
}

#[tokio::test]
async fn the_start_does_not_wait_for_a_plugin_that_hangs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let (_, address) = server("late").await;
    let lines = format!(
        "while test ! -e {}/go; do sleep 0.01; done; echo '{{\"apiVersion\":\"{VERSION}\",\"status\":{{\"token\":\"late\"}}}}'",
        folder.path().display()
    );
    write(&path, &kubeconfig(address, &exec(&plugin(folder.path(), "plugin", &lines))));
    let connected = connect(&path).await.unwrap();
    let clients = connected.clients();
    // The connection has neither credentials nor a failure: a plugin that hangs is killed after a
    // minute, and the connection has not waited for that.
    let is_undecided = |line: &Line| line.connections.is_none() && line.failure.is_none();
    assert!(is_undecided(&clients.line().borrow()));
    fs::write(folder.path().join("go"), "").unwrap();
    let mut line = clients.line();
    let connected = line.wait_for(|line| line.connections.is_some());
    tokio::time::timeout(PATIENCE, connected).await.unwrap().unwrap();
    assert_eq!(code(clients).await, 200);
}
