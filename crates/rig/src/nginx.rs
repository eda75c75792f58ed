//! The distribution's nginx under a private prefix, started as the service manager would.

use std::cell::RefCell;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::{Instant, sleep};

use super::namespace::{Namespace, has_users};
use super::wait;

/// What Debian's `nginx.conf` sets, with paths below the prefix. `{prefix}` and `{user}` are
/// filled in.
const CONFIGURATION: &str = r#"
user {user};
worker_processes 2;
pid {prefix}/nginx.pid;
error_log {prefix}/log/error.log;

events {
    worker_connections 20480;
}

http {
    sendfile on;
    tcp_nopush on;
    types_hash_max_size 2048;
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
    ssl_prefer_server_ciphers on;
    access_log {prefix}/log/access.log;
    gzip on;
    client_body_temp_path {prefix}/temp/body;
    proxy_temp_path {prefix}/temp/proxy;
    fastcgi_temp_path {prefix}/temp/fastcgi;
    uwsgi_temp_path {prefix}/temp/uwsgi;
    scgi_temp_path {prefix}/temp/scgi;
    include {prefix}/conf.d/*.conf;
    include {prefix}/sites-enabled/*;
}
"#;

/// Each nginx that tests of this process have.
static ALL: Mutex<Vec<Known>> = Mutex::new(Vec::new());

#[derive(Clone)]
struct Known {
    network: u64,
    /// The address by which other networks reach it.
    address: Option<IpAddr>,
    prefix: PathBuf,
}

/// Waits until no nginx of this network, or at this address, has a worker of an earlier
/// configuration that may take a connection. After a reload the kernel gives a connection to any
/// of them for a moment, although another one had an answer of the new configuration already.
pub async fn changed(network: u64, to: IpAddr) {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for Known { prefix, .. } in all.into_iter().filter(|known| known.network == network || known.address == Some(to)) {
        // Spelled out: a closure here would keep the future from moving between threads.
        let end = Instant::now() + wait::LIMIT;
        while taking_workers(&prefix) > usual_workers(&prefix) {
            assert!(
                Instant::now() < end,
                "workers of an earlier configuration of {} take connections",
                prefix.display()
            );
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// How many workers may take a connection: nginx says in the title of a process when it does no
/// longer, or never does. A worker that was just made has the title of the master.
fn taking_workers(prefix: &Path) -> usize {
    let workers = master(&prefix.join("nginx.pid")).map(children_of).unwrap_or_default();
    let title = |pid: &Pid| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let takes_none = |title: String| title.contains("is shutting down") || title.contains("nginx: cache");
    workers.iter().filter(|pid| !takes_none(title(pid))).count()
}

/// How many there are without a reload, by the configuration.
fn usual_workers(prefix: &Path) -> usize {
    let text = fs::read_to_string(prefix.join("nginx.conf")).unwrap_or_default();
    let count = text.lines().find_map(|line| line.trim().strip_prefix("worker_processes")?.trim().strip_suffix(';'));
    count.and_then(|count| count.parse().ok()).unwrap_or(usize::MAX)
}

/// An nginx of the test's own.
pub struct Nginx {
    prefix: PathBuf,
    program: PathBuf,
    /// The network that it was prepared in.
    namespace: Namespace,
    /// Workers whose master was killed, and when each started: another process may get the PID.
    orphans: RefCell<Vec<(Pid, Option<String>)>>,
}

impl Nginx {
    /// Lays out the prefix; nothing runs yet. It will run in the network that this is called in.
    pub fn prepare(prefix: &Path) -> Self {
        for folder in ["conf.d", "sites-enabled", "log", "temp"] {
            fs::create_dir_all(prefix.join(folder)).unwrap();
        }
        // Workers of the distribution's nginx are not root, and must not need to be.
        let user = if has_users() { "www-data" } else { "root root" };
        let nginx = Nginx {
            prefix: prefix.to_owned(),
            program: Self::binary(),
            namespace: Namespace::current(),
            orphans: RefCell::default(),
        };
        let text = CONFIGURATION.replace("{prefix}", prefix.to_str().unwrap()).replace("{user}", user);
        fs::write(nginx.configuration(), text).unwrap();
        ALL.lock().unwrap_or_else(PoisonError::into_inner).push(Known {
            network: nginx.namespace.number(),
            address: None,
            prefix: nginx.prefix.clone(),
        });
        nginx
    }

    /// Tells clients in other networks at which address they reach it.
    pub fn is_at(&self, address: IpAddr) {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().filter(|known| known.prefix == self.prefix).for_each(|known| known.address = Some(address));
    }

    /// The binary.
    pub fn binary() -> PathBuf {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
        let found = folders.map(|folder| folder.join("nginx")).find(|file| file.exists());
        found.expect("nginx is not installed: run `make test`, which installs it")
    }

    /// Makes a copy of the binary the program that is run, in place of the copy before, as the
    /// upgrade of a package does. What runs goes on.
    pub fn replace_program(&mut self) -> &Path {
        let (program, new) = (self.prefix.join("nginx"), self.prefix.join("nginx.new"));
        // A process of its own has it open for writing: one that another test starts now would
        // keep it busy.
        let copied = Command::new("cp").arg(Self::binary()).arg(&new).status().unwrap();
        assert!(copied.success());
        fs::rename(new, &program).unwrap();
        self.program = program;
        &self.program
    }

    /// Puts a shell script in the place of [`Nginx::replace_program`]'s copy: a test of a
    /// configuration runs the script. `{nginx}` is the binary, which a master that was started
    /// before goes on to be.
    pub fn wrap_program(&self, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let new = self.prefix.join("nginx.new");
        fs::write(&new, script.replace("{nginx}", Self::binary().to_str().unwrap())).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, &self.program).unwrap();
    }

    /// `nginx.conf`.
    pub fn configuration(&self) -> PathBuf {
        self.prefix.join("nginx.conf")
    }

    /// The folder of everything.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The pid file.
    pub fn pid_file(&self) -> PathBuf {
        self.prefix.join("nginx.pid")
    }

    /// Adds a site of the administrator's.
    pub fn write_site(&self, name: &str, text: &str) {
        fs::write(self.prefix.join("sites-enabled").join(name), text).unwrap();
    }

    /// Starts master and workers, which go to the background by themselves.
    pub fn start(&self) {
        let mut command = self.command();
        let output = self.namespace.within(|| command.stdin(Stdio::null()).output()).unwrap();
        assert!(output.status.success(), "nginx does not start: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Tests the configuration, and returns what nginx says and whether it agrees.
    pub fn test(&self) -> (bool, String) {
        let output = self.command().arg("-t").output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Loads modules of the distribution, by their files, in the first lines of `nginx.conf`.
    pub fn load_modules(&self, names: &[&str]) {
        let folders = ["/usr/lib/nginx/modules", "/usr/lib64/nginx/modules"].map(Path::new);
        let mut text = String::new();
        for name in names {
            let module = folders.iter().map(|folder| folder.join(name)).find(|file| file.exists());
            let module =
                module.unwrap_or_else(|| panic!("{name} is not installed: run `make test`, which installs it"));
            text += &format!("load_module {};\n", module.display());
        }
        text += &fs::read_to_string(self.configuration()).unwrap();
        fs::write(self.configuration(), text).unwrap();
    }

    /// Adds the module for TCP and UDP, and a block that includes the services of the
    /// generations below `root`.
    pub fn serve_streams(&self, root: &Path) {
        self.load_modules(&["ngx_stream_module.so"]);
        let before = fs::read_to_string(self.configuration()).unwrap();
        let stream = format!("stream {{\n    include {}/current/stream/*.conf;\n}}\n", root.display());
        fs::write(self.configuration(), before + &stream).unwrap();
    }

    /// The master's process, when the pid file names one that lives.
    pub fn master(&self) -> Option<Pid> {
        master(&self.pid_file())
    }

    /// The workers, old ones too: children of the master that have taken a worker's title, which
    /// nginx gives when limits, user and sockets are those of a worker.
    pub fn workers(&self) -> Vec<Pid> {
        let mut workers = self.children();
        workers.retain(|pid| is_worker(*pid));
        workers
    }

    /// All processes that the master started, those too that have no title yet.
    fn children(&self) -> Vec<Pid> {
        self.master().map(children_of).unwrap_or_default()
    }

    /// The workers, when those of earlier configurations have ended.
    pub async fn settled_workers(&self) -> Vec<Pid> {
        wait::until_right("the end of old workers", async || self.workers(), |workers| workers.len() == 2).await
    }

    /// Tells the master something: HUP, QUIT, USR1, ...
    pub fn signal(&self, signal: Signal) {
        kill(self.master().expect("nginx runs"), signal).unwrap();
    }

    /// Stops it and waits until master and workers are gone. A stopped nginx may be stopped again.
    pub async fn stop(&self) {
        self.end(Signal::SIGTERM).await;
    }

    /// Stops it and starts it again: another master with another PID.
    pub async fn restart(&self) {
        self.stop().await;
        self.start();
    }

    /// Kills the master outright, once workers of earlier configurations have ended: one that lets
    /// go would end by itself before it is killed. The workers live on without a master until they
    /// are killed too.
    pub async fn kill_master(&self) -> Vec<Pid> {
        let (master, workers) = (self.master().expect("nginx runs"), self.settled_workers().await);
        kill(master, Signal::SIGKILL).unwrap();
        wait::until("the end of the master", async || (!is_alive(master)).then_some(())).await;
        self.orphans.borrow_mut().extend(workers.iter().map(|pid| (*pid, started(*pid))));
        workers
    }

    async fn end(&self, signal: Signal) {
        let Some(master) = self.master() else { return };
        let processes: Vec<_> = self.children().into_iter().chain([master]).collect();
        let _ = kill(master, signal);
        wait::until("the end of nginx", async || processes.iter().all(|pid| !is_alive(*pid)).then_some(())).await;
    }

    /// What nginx wrote to `error.log`.
    pub fn error_log(&self) -> String {
        fs::read_to_string(self.prefix.join("log/error.log")).unwrap_or_default()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("-p").arg(&self.prefix).arg("-c").arg(self.configuration());
        command.arg("-e").arg(self.prefix.join("log/error.log"));
        command
    }
}

/// The process that the PID file names. Another one may have got the PID of a master that was
/// killed: a master has its prefix in its command line and in its title.
fn master(pid_file: &Path) -> Option<Pid> {
    let pid = Pid::from_raw(fs::read_to_string(pid_file).ok()?.trim().parse().ok()?);
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    (is_alive(pid) && line.contains(pid_file.parent()?.to_str()?)).then_some(pid)
}

fn children_of(master: Pid) -> Vec<Pid> {
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap_or_default();
    let children = children.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap()));
    children.filter(|pid| is_alive(*pid)).collect()
}

/// Whether a process exists and has not ended; one that its parent has not waited for yet has
/// ended.
pub fn is_alive(pid: Pid) -> bool {
    !matches!(field(pid, 3).as_deref(), None | Some("Z" | "X"))
}

/// When a process started, in clock ticks since boot.
fn started(pid: Pid) -> Option<String> {
    field(pid, 22)
}

/// A field of `/proc/<pid>/stat` behind the name, by its number in proc(5).
fn field(pid: Pid, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3).map(str::to_owned)
}

fn is_worker(pid: Pid) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|title| title.starts_with(b"nginx: worker process"))
}

impl Drop for Nginx {
    fn drop(&mut self) {
        ALL.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| known.prefix != self.prefix);
        let orphans = self.orphans.take().into_iter().filter(|(pid, then)| then.is_some() && started(*pid) == *then);
        let workers: Vec<_> = self.children().into_iter().chain(orphans.map(|(pid, _)| pid)).collect();
        if let Some(master) = self.master() {
            let _ = kill(master, Signal::SIGKILL);
        }
        for worker in workers {
            let _ = kill(worker, Signal::SIGKILL);
        }
    }
}
