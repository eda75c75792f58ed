//! A private nginx of the distribution for one test.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use ingressd_apply::{Applier, Host, Options, System, SystemOptions};
use ingressd_config::Usual as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long an event may take before a test is given up.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A folder with a configuration, and the nginx that runs on it.
pub struct Nginx {
    pub folder: tempfile::TempDir,
    pub status: SocketAddr,
    pub binary: PathBuf,
}

impl Nginx {
    /// Writes a configuration like a distribution's; nothing is started.
    pub fn prepared() -> Nginx {
        let folder = tempfile::tempdir().unwrap();
        let status = free_port();
        let nginx = Nginx { folder, status, binary: "/usr/sbin/nginx".into() };
        nginx.write_configuration("");
        nginx
    }

    /// Starts it as the distribution does: a daemon with master, workers and pid file.
    pub fn started() -> Nginx {
        let nginx = Nginx::prepared();
        nginx.start();
        nginx
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The main file, with these lines of the host's at http level.
    pub fn write_configuration(&self, http: &str) {
        let folder = self.folder.path().display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {folder}/tmp_{name};\n"))
            .concat();
        let text = format!(
            "worker_processes 2;\npid {folder}/nginx.pid;\nlock_file {folder}/lock;\nerror_log {folder}/error.log notice;\n\
             events {{ worker_connections 64; }}\nhttp {{\naccess_log off;\n{temporary}{http}\n\
             include {folder}/ingressd/current/http/*.conf;\n}}\n"
        );
        fs::write(self.path("nginx.conf"), text).unwrap();
    }

    /// Adds lines of the host's at http level that nginx reads after our files.
    pub fn write_afterwards(&self, http: &str) {
        let text = fs::read_to_string(self.path("nginx.conf")).unwrap();
        let text = text.strip_suffix("}\n").unwrap();
        fs::write(self.path("nginx.conf"), format!("{text}{http}\n}}\n")).unwrap();
    }

    pub fn start(&self) {
        let status = Command::new(&self.binary)
            .args(["-p", self.folder.path().to_str().unwrap(), "-c", self.path("nginx.conf").to_str().unwrap()])
            .args(["-e", self.path("error.log").to_str().unwrap()])
            .status()
            .unwrap();
        assert!(status.success());
        eventually("nginx runs", || {
            let mut system = self.system();
            let master = system.master().ok()?;
            (system.table(master).ok()??.children.len() == 2).then_some(())
        });
    }

    pub fn pid(&self) -> Option<Pid> {
        fs::read_to_string(self.path("nginx.pid")).ok()?.trim().parse().ok().map(Pid::from_raw)
    }

    /// Sends a signal to the master and waits until it is gone.
    pub fn end(&self, signal: Signal) {
        let pid = self.pid().unwrap();
        let children = self.children();
        kill(pid, signal).unwrap();
        if signal == Signal::SIGKILL {
            children.into_iter().for_each(|child| kill(child, Signal::SIGKILL).unwrap_or_default());
        }
        eventually("nginx ended", || (!Path::new(&format!("/proc/{pid}")).exists()).then_some(()));
    }

    pub fn children(&self) -> Vec<Pid> {
        let Some(pid) = self.pid() else { return Vec::new() };
        let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        list.split_whitespace().map(|pid| Pid::from_raw(pid.parse().unwrap())).collect()
    }

    /// The workers, when those before them have ended.
    pub fn only_new_workers(&self) -> Vec<Pid> {
        eventually("old workers ended", || Some(self.children()).filter(|all| all.len() == 2))
    }

    pub fn system(&self) -> System {
        System::new(SystemOptions {
            binary: self.binary.clone(),
            configuration: Some(self.path("nginx.conf")),
            prefix: Some(self.folder.path().to_owned()),
            pid_file: self.path("nginx.pid"),
            unit: None,
            status: self.status,
            ..SystemOptions::usual()
        })
    }

    pub fn options(&self) -> Options {
        Options {
            root: self.path("ingressd"),
            state: self.path("state"),
            nginx_configuration: Some(self.path("nginx.conf")),
            confirm_timeout: Duration::from_secs(20),
            ..Options::usual()
        }
    }

    pub fn applier(&self) -> Applier<System> {
        Applier::open(self.options(), self.system()).unwrap()
    }

    /// The generation that the link names.
    pub fn on_disk(&self) -> Option<u64> {
        fs::read_link(self.path("ingressd/current")).ok()?.file_name()?.to_str()?.parse().ok()
    }

    /// The generation that it says it serves, as soon as it answers: on a slow machine one
    /// question may get none in time.
    pub fn served(&self) -> u64 {
        eventually("nginx says what it serves", || self.system().served().unwrap())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let Some(pid) = self.pid() else { return };
        // Another process may have got the PID of a master that was killed.
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_ours = line.contains(self.folder.path().to_str().unwrap());
        if is_ours && kill(pid, Signal::SIGTERM).is_ok() {
            let begun = Instant::now();
            while Path::new(&format!("/proc/{pid}")).exists() && begun.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// An address that nothing listens on, and that no other test gets: tests that run at the same
/// time get others, and the kernel chooses higher ports.
pub fn free_port() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    loop {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, NEXT.fetch_add(1, Ordering::Relaxed)));
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

/// Waits until this gives something.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Some(found) => return found,
            None => assert!(begun.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A connection that keeps a worker from ending.
pub fn hold(address: SocketAddr) -> TcpStream {
    use std::io::Write as _;
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
    stream
}

/// A request whose body nginx waits for, so that a worker certainly has it.
pub fn hold_body(address: SocketAddr, host: &str) -> TcpStream {
    use std::io::{Read as _, Write as _};
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n").unwrap();
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream
}

/// Whether nginx has not closed it.
pub fn is_open(stream: &mut TcpStream) -> bool {
    use std::io::Read as _;
    stream.set_nonblocking(true).unwrap();
    stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}
