//! A booted system in a container, which is stopped when this value is dropped.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rig::namespace::Namespace;

/// Longest time that anything here may take; a limit for what is broken, never a measure of speed.
const LIMIT: Duration = Duration::from_secs(120);

/// Longest time that a command may take, in seconds: it may install packages.
const COMMAND_LIMIT: &str = "600";

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Variables of every command, none of which are those of the test process.
const ENVIRONMENT: &[&str] =
    &["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"];

/// A file system with Debian on it, not running.
pub struct Disk {
    folder: PathBuf,
    /// The mark that distinguishes it from machines of other runs.
    mark: String,
    _lock: fs::File,
}

impl Disk {
    /// A copy of a release as it is after its installation.
    pub fn of(release: &str) -> Self {
        let roots = target().join("boot");
        let original = roots.join(release);
        assert!(original.join("complete").exists(), "there is no {}: run `make test-boot`", original.display());
        let (lock, mark) = take(&roots);
        let disk = Disk { folder: roots.join("machine"), mark, _lock: lock };
        disk.remove();
        let mut copy = Command::new("cp");
        let copied = copy.args(["--archive", "--reflink=auto"]).args([&original, &disk.folder]).status().unwrap();
        assert!(copied.success(), "{} cannot be copied", original.display());
        fs::write(disk.folder.join("etc/hostname"), "edge\n").unwrap();
        disk
    }

    /// Runs a command of the shell on it, with nothing else running and no network.
    pub fn run(&self, command: &str) -> Output {
        let mut nspawn = self.nspawn(limited("sh"));
        nspawn
            .args(["--private-network", "--pipe", "--", "/usr/bin/env", "-i"])
            .args(ENVIRONMENT)
            .args(["sh", "-c", command]);
        nspawn.stdin(Stdio::null()).output().unwrap()
    }

    /// Runs this host's rpm on it, with the scripts of packages but not with what they require.
    pub fn rpm(&self, arguments: &[&str]) {
        let within =
            "for folder in proc dev; do mount --rbind /$folder \"$0/$folder\"; done; exec rpm --root \"$0\" \"$@\"";
        let mut rpm = limited("unshare");
        rpm.args(["--mount", "sh", "-e", "-c", within]).arg(&self.folder).args(["--nodeps", "--nosignature"]);
        rpm.args(arguments).env_clear().envs(ENVIRONMENT.iter().filter_map(|pair| pair.split_once('=')));
        let output = rpm.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !text.contains("scriptlet failed"),
            "rpm {arguments:?}: {}\n{text}",
            output.status
        );
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: &str) {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }

    /// Writes a file that only root may read.
    pub fn write_for_owner(&self, path: &str, text: &str) {
        self.write(path, "");
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// Puts a file there.
    pub fn copy(&self, from: &Path, path: &str) {
        fs::copy(from, self.path(path)).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path.trim_start_matches('/'))
    }

    /// The container, in groups of processes of its own, which this shell enters before it becomes
    /// the container.
    fn nspawn(&self, mut shell: Command) -> Command {
        let join = self.groups().into_iter().map(|group| {
            fs::create_dir_all(&group).unwrap();
            format!("echo $$ >{}/cgroup.procs; ", group.display())
        });
        shell.args(["-e", "-c", &(join.collect::<String>() + "exec \"$@\""), "sh"]);
        shell.args(["systemd-nspawn", "--quiet", "--register=no", "--keep-unit"]);
        shell.args(["--hostname=edge", &format!("--machine=edge-{}", self.mark), "--directory"]).arg(&self.folder);
        shell.env("SYSTEMD_NSPAWN_UNIFIED_HIERARCHY", "1");
        shell
    }

    /// Begins to boot it, in a network that is there or in an empty one of its own.
    fn start(&self, network: Option<&Namespace>) -> Child {
        let console = fs::File::create(target().join("boot/console.log")).unwrap();
        let mut command = self.nspawn(Command::new("sh"));
        match network {
            Some(network) => command.arg(format!("--network-namespace-path={}", network.path())),
            None => command.arg("--private-network"),
        };
        command.arg("--boot").stdin(Stdio::null()).stdout(console.try_clone().unwrap()).stderr(console);
        command.spawn().unwrap()
    }

    /// The folders of the container's group of processes: one for each hierarchy in which systemd
    /// keeps them.
    fn groups(&self) -> Vec<PathBuf> {
        let hierarchies = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"].map(Path::new);
        let real = hierarchies.into_iter().filter(|folder| folder.join("cgroup.procs").exists());
        real.map(|folder| folder.join(format!("ingressd-boot-{}", self.mark))).collect()
    }

    fn remove(&self) {
        if self.folder.exists() {
            let removed = Command::new("rm").arg("-rf").arg(&self.folder).status();
            assert!(removed.is_ok_and(|status| status.success()), "{} cannot be removed", self.folder.display());
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.remove();
        // systemd-nspawn leaves this folder on the host.
        let _ = fs::remove_dir(format!("/run/systemd/nspawn/propagate/edge-{}", self.mark));
        for group in self.groups().iter().filter(|group| group.exists()) {
            // A group is removed from the leaves up; it stays as long as something is in it, which
            // is no reason to fail.
            let _ =
                Command::new("find").arg(group).args(["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]).output();
        }
    }
}

/// Waits until no other test or run uses the machine in this folder, because they would take each
/// other's files, memory and processors. Returns the lock, and a mark that no other folder has.
fn take(roots: &Path) -> (fs::File, String) {
    let file = roots.join("lock");
    let mut lock = fs::File::options().create(true).truncate(false).write(true).open(&file).unwrap();
    if lock.try_lock().is_err() {
        let process = format!("{}\n", own_name());
        // The process that has the lock has written its name by then.
        std::thread::sleep(20 * PAUSE);
        if fs::read_to_string(&file).unwrap() != process {
            // Written directly to the terminal, because the user waits for this.
            let _ = writeln!(std::io::stderr(), "another run of the boot tests uses {}: waiting", roots.display());
        }
        lock.lock().unwrap();
    }
    lock.set_len(0).unwrap();
    writeln!(lock, "{}", own_name()).unwrap();
    let mark = lock.metadata().unwrap().ino().to_string();
    (lock, mark)
}

/// A name that no other process has: process ids alone are unique only within a namespace.
fn own_name() -> String {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap();
    format!("{} {}", namespace.display(), std::process::id())
}

/// What cargo builds into.
pub fn target() -> PathBuf {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target"))
}

/// A system that was booted.
pub struct Machine {
    nspawn: Child,
    /// The number of its first process, seen from here; `None` until that is there.
    leader: Option<u32>,
    /// The network that it is in; `None` for an empty one, which ends with it.
    network: Option<Namespace>,
    /// What it runs on.
    pub disk: Disk,
}

impl Machine {
    /// Boots it without a network, and waits until everything is up that starts by itself.
    pub fn boot(disk: Disk) -> Self {
        Machine::start_up(disk, None)
    }

    /// Boots it in a network, and waits until everything is up that starts by itself.
    pub fn boot_in(disk: Disk, network: &Namespace) -> Self {
        Machine::start_up(disk, Some(network.clone()))
    }

    fn start_up(disk: Disk, network: Option<Namespace>) -> Self {
        let mut machine = Machine { nspawn: disk.start(network.as_ref()), leader: None, network, disk };
        machine.wait_for_boot();
        machine
    }

    /// Boots it again.
    pub fn reboot(&mut self) {
        // The answer may be cut off with the system.
        self.try_run("systemctl reboot");
        until("the system to go down", || self.nspawn.try_wait().unwrap());
        // The number may belong to another process by now, which must not be ended.
        self.leader = None;
        self.nspawn = self.disk.start(self.network.as_ref());
        self.wait_for_boot();
    }

    /// Waits for the first process, and until it has started everything.
    fn wait_for_boot(&mut self) {
        let nspawn = self.nspawn.id();
        let leader = until("the system to boot", || {
            let children = fs::read_to_string(format!("/proc/{nspawn}/task/{nspawn}/children")).ok()?;
            let child: u32 = children.split_whitespace().next()?.parse().ok()?;
            let name = fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
            (name.trim() == "systemd").then_some(child)
        });
        self.leader = Some(leader);
        self.until("the system to be up", "systemctl is-system-running --wait", |state| {
            ["running", "degraded"].contains(&state.trim())
        });
    }

    /// Runs a command of the shell there.
    pub fn try_run(&self, command: &str) -> Output {
        let leader = self.leader.expect("the system has booted");
        let mut enter = limited("nsenter");
        enter.args(["--target", &leader.to_string(), "--all", "--", "/usr/bin/env", "-i"]).args(ENVIRONMENT);
        enter.args(["sh", "-c", command]).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs a command of the shell there, which has to succeed, and returns what it prints.
    pub fn run(&self, command: &str) -> String {
        let output = self.try_run(command);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {}\n{out}\n{err}", output.status);
        out.into_owned()
    }

    /// Runs a command until what it prints is right, and returns that.
    pub fn until(&self, what: &str, command: &str, right: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        let answer = try_until(|| {
            last = String::from_utf8_lossy(&self.try_run(command).stdout).into_owned();
            right(&last).then(|| last.clone())
        });
        answer.unwrap_or_else(|| panic!("waited {LIMIT:?} in vain for {what}; last seen: {last}"))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if std::thread::panicking() && self.leader.is_some() {
            let journal = self.try_run("journalctl --no-pager --boot --lines=60");
            println!("--- the end of the journal ---\n{}", String::from_utf8_lossy(&journal.stdout));
        }
        match self.leader {
            // Everything there ends with its first process, and what runs the container with that.
            Some(leader) => drop(Command::new("kill").args(["-KILL", &leader.to_string()]).status()),
            // The container has no first process yet, or none any more.
            None => drop(self.nspawn.kill()),
        }
        if try_until(|| self.nspawn.try_wait().ok().flatten()).is_none() {
            let _ = self.nspawn.kill();
            let _ = self.nspawn.wait();
        }
    }
}

/// A program that is ended when it takes too long, because the test would wait for its output
/// forever.
fn limited(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", COMMAND_LIMIT, program]);
    command
}

/// Asks until there is an answer.
fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    try_until(ask).unwrap_or_else(|| panic!("waited {LIMIT:?} in vain for {what}"))
}

fn try_until<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + LIMIT;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() > end {
            return answer;
        }
        std::thread::sleep(PAUSE);
    }
}
