//! The daemon as users run it, with a settings file.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::client::{self, Reply};
use super::manifests::Manifests;
use super::namespace::Namespace;
use super::nginx::Nginx;
use super::wait;

/// Settings for an nginx under a private prefix. `{...}` are filled in.
const SETTINGS: &str = r#"
{source}

[[classes]]
controller = "{specification}"
dialect = "specification"

[[classes]]
controller = "{ingress_nginx}"
dialect = "ingress-nginx"

[nginx]
binary = "{binary}"
configuration = "{configuration}"
prefix = "{prefix}"
pid-file = "{pid_file}"
unit = ""

[apply]
root = "{folder}/ingressd"
state = "{folder}/state"

[control]
socket = "{folder}/control.sock"

[traffic]
enabled = true
folder = "{folder}/traffic"

[log]
format = "text"
level = "debug"

# Tests do not ask the DNS servers of the machine that runs them.
[upstreams]
resolvers = []
"#;

/// Where a daemon has its objects from, and the classes that it serves.
pub struct Source {
    /// Settings, as TOML.
    pub settings: String,
    /// The controller that classes name to get the semantics of the specification.
    pub specification: String,
    /// The controller that classes name to get the semantics of ingress-nginx.
    pub ingress_nginx: String,
}

impl From<&Manifests> for Source {
    fn from(manifests: &Manifests) -> Self {
        Source {
            settings: format!("manifests = {:?}", manifests.folder()),
            specification: "ingressd/nginx".to_owned(),
            ingress_nginx: "k8s.io/ingress-nginx".to_owned(),
        }
    }
}

/// A daemon, which may be stopped and started again over the same folders.
pub struct Daemon {
    folder: PathBuf,
    /// The name of the instance, empty for the only one.
    instance: String,
    /// The port of its own HTTP server.
    port: u16,
    program: PathBuf,
    /// The network that it was prepared in.
    namespace: Namespace,
    /// Keys and values, as TOML, given by `--set`.
    flags: Vec<(String, String)>,
    environment: Vec<(String, String)>,
    process: Option<Child>,
}

impl Daemon {
    /// Writes the settings and the line of `conf.d`; nothing runs yet. It will run in the network
    /// that this is called in.
    pub fn prepare(folder: &Path, nginx: &Nginx, source: Source) -> Self {
        let daemon = Self::prepare_in(folder, nginx, source);
        daemon.include(nginx);
        daemon
    }

    /// The same for one of several that share the nginx, with ports of its own for itself.
    pub fn prepare_instance(instance: &str, number: u16, folder: &Path, nginx: &Nginx, source: Source) -> Self {
        let mut daemon = Self::prepare_in(folder, nginx, source);
        (daemon.instance, daemon.port) = (instance.to_owned(), daemon.port + 10 * number);
        daemon.set("http.address", &format!("127.0.0.1:{}", daemon.port));
        daemon.set("listen.status", &format!("127.0.0.1:{}", 10246 + 10 * number));
        daemon.include(nginx);
        daemon
    }

    fn include(&self, nginx: &Nginx) {
        let include = format!("include {}/current/http/*.conf;\n", self.root().display());
        fs::write(self.included(nginx), include).unwrap();
    }

    /// The file by which nginx reads what it writes.
    pub fn included(&self, nginx: &Nginx) -> PathBuf {
        let mark = if self.instance.is_empty() { String::new() } else { format!("-{}", self.instance) };
        nginx.prefix().join(format!("conf.d/ingressd{mark}.conf"))
    }

    fn prepare_in(folder: &Path, nginx: &Nginx, source: Source) -> Self {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let settings = [
            ("{source}", source.settings),
            ("{specification}", source.specification),
            ("{ingress_nginx}", source.ingress_nginx),
            ("{binary}", text(&Nginx::binary())),
            ("{configuration}", text(&nginx.configuration())),
            ("{prefix}", text(nginx.prefix())),
            ("{pid_file}", text(&nginx.pid_file())),
            ("{folder}", text(folder)),
        ]
        .iter()
        .fold(SETTINGS.to_owned(), |settings, (hole, value)| settings.replace(hole, value));
        fs::write(folder.join("ingressd.toml"), settings).unwrap();
        Daemon {
            folder: folder.to_owned(),
            instance: String::new(),
            port: 10254,
            program: crate::program(),
            namespace: Namespace::current(),
            flags: Vec::new(),
            environment: Vec::new(),
            process: None,
        }
    }

    /// Sets a key of the settings for the next start: `set("pacing.spacing", "100ms")`.
    pub fn set(&mut self, key: &str, value: &str) {
        self.flags.retain(|(earlier, _)| earlier != key);
        self.flags.push((key.to_owned(), value.to_owned()));
    }

    /// Makes another binary the one of the next start, as an upgrade does.
    pub fn set_program(&mut self, program: &Path) {
        program.clone_into(&mut self.program);
    }

    /// Sets a variable of the environment for the next start.
    pub fn set_variable(&mut self, name: &str, value: &str) {
        self.environment.retain(|(earlier, _)| earlier != name);
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the generations.
    pub fn root(&self) -> PathBuf {
        self.folder.join("ingressd")
    }

    /// The folder of the state.
    pub fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// Starts it; see [`Daemon::ready`].
    pub fn start(&mut self) {
        assert!(self.process.is_none(), "the daemon runs already");
        let log = File::options().create(true).append(true).open(self.log_file()).unwrap();
        let mut command = self.command("run");
        for (key, value) in &self.flags {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.process = Some(self.namespace.within(|| command.spawn()).unwrap());
    }

    /// A command of ingressd with the settings of this daemon, and with the umask that its unit
    /// gives it.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "umask 0077 && exec \"$@\"", "sh"]).arg(&self.program);
        command.arg(name).arg("--config").arg(self.folder.join("ingressd.toml"));
        if !self.instance.is_empty() {
            command.args(["--instance", &self.instance]);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Waits until it says that nginx serves its confirmed generation, and that everything asked
    /// for is in it.
    pub async fn ready(&mut self) {
        wait::until("the daemon to be ready", async || {
            self.must_run();
            // The test does not ask /readyz, which sends requests elsewhere when the node is
            // drained.
            let status = self.status().await?;
            // A daemon that waits for its source serves what an earlier run left, and does not
            // know its hosts.
            let is_known = status["hosts"].is_u64();
            (status["ready"] == true && status["phase"] == "serving" && is_known).then_some(())
        })
        .await;
    }

    /// Waits until its status is as it should be.
    pub async fn status_when(&mut self, what: &str, right: impl Fn(&Value) -> bool) -> Value {
        let ask = async || {
            self.must_run();
            Shown(self.status().await.unwrap_or_default())
        };
        wait::until_right(what, ask, |status| right(&status.0)).await.0
    }

    /// Waits until nginx is confirmed to run an Ingress, or nothing of it can be served. Before,
    /// workers of the generation before may still take connections.
    pub async fn confirmed(&mut self, ingress: &str) {
        let names = |status: &Value| {
            let of = |list: &str| status[list].as_array().cloned().unwrap_or_default();
            let refused = of("not_served").into_iter().filter(|object| object["state"] == "refused");
            of("ingresses").into_iter().chain(refused).any(|object| object["name"] == ingress)
        };
        self.status_when(&format!("the confirmation of Ingress {ingress}"), names).await;
    }

    /// `/status.json`, when it answers.
    pub async fn status(&self) -> Option<Value> {
        serde_json::from_slice(&self.get("/status.json").await?.body).ok()
    }

    /// `/metrics`: the value of a time series, written with its labels as it stands there; 0 when
    /// it is not there.
    pub async fn metric(&self, series: &str) -> f64 {
        let reply = self.get("/metrics").await.expect("metrics are served");
        let text = String::from_utf8(reply.body).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.trim().parse().unwrap())
    }

    /// How often nginx was told to read its configuration and did, by the metrics.
    pub async fn reloads(&self) -> u64 {
        let reply = self.get("/metrics").await.expect("metrics are served");
        let text = String::from_utf8(reply.body).unwrap();
        let confirmed = |line: &&str| line.starts_with("ingressd_reloads_total{") && line.contains(r#""confirmed""#);
        let count = |line: &str| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
        text.lines().filter(confirmed).map(count).sum::<f64>() as u64
    }

    /// Any path of its own HTTP server, when it answers.
    pub async fn get(&self, path: &str) -> Option<Reply> {
        client::get(&format!("http://localhost:{}{path}", self.port)).within(&self.namespace).try_send().await.ok()
    }

    /// Kills it outright.
    pub fn kill(&mut self) {
        let mut process = self.process.take().expect("the daemon runs");
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.ended().await
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self) -> ExitStatus {
        // The test stays its owner while it waits, so that it ends with the test in any case.
        let process = self.process.as_mut().expect("the daemon runs");
        let status = wait::until("the end of the daemon", async || process.try_wait().unwrap()).await;
        self.process = None;
        status
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.process.as_ref().expect("the daemon runs").id().try_into().unwrap())
    }

    /// Everything it logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("daemon.log")
    }

    /// Fails at once, with its log, when it ended on its own.
    fn must_run(&mut self) {
        let process = self.process.as_mut().expect("the daemon was started");
        if let Some(status) = process.try_wait().unwrap() {
            panic!("the daemon ended with {status}");
        }
    }
}

/// A status in one line, so that a test that fails shows the daemon's log too where output is cut.
struct Shown(Value);

impl fmt::Debug for Shown {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            let _ = process.kill();
            let _ = process.wait();
        }
        if std::thread::panicking() {
            println!("--- the daemon's log ---\n{}", self.log());
        }
    }
}
