//! The one place that spawns processes and sends signals: to nginx's binary and its master; it
//! also asks nginx's status address.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::{Duration, Instant};
use std::{fmt, fs};

use procfs::process::StatFlags;
use rayon::prelude::*;

use super::error::{ApplyError, is_shortage};
use super::process::{self, Process, Role, Table};
use ingressd_model::catalogue::Version;

/// How many of the last lines of a program's output are kept.
const LINES: usize = 64;

/// How often a program that has written all is asked whether it has ended.
const END_PAUSE: Duration = Duration::from_millis(1);

/// How long one exchange with the status address may take.
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// Why no master is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoMaster {
    /// None is considered to be running, for this reason.
    Down(String),
    /// It could not be found out, for this reason: a shortage of ours, or it is about to end.
    Unknown(String),
}

/// The host as seen by an apply: nginx's processes, tests and status. Files are not part of it. An
/// error is a shortage of our own and no answer.
pub trait Host {
    /// The running master.
    fn master(&mut self) -> Result<Process, NoMaster>;

    /// The master from before an upgrade of the binary (SIGUSR2), as long as its workers accept
    /// connections beside those of the new master. It reads no configuration any more: a SIGHUP
    /// would have it start further workers with the one that it has.
    fn predecessor(&mut self) -> Result<Option<Process>, ApplyError>;

    /// The master's children now; `None` when the master is gone.
    fn table(&mut self, master: Process) -> Result<Option<Table>, ApplyError>;

    /// Whether a master that is gone was killed, rather than stopped deliberately.
    fn was_killed(&mut self, master: Process) -> Result<bool, ApplyError>;

    /// Tells the master to reload its configuration (SIGHUP).
    fn hang_up(&mut self, master: Process) -> Result<(), ApplyError>;

    /// Tells a worker to accept no new connections and to end after its last one, as its master
    /// does after a reload.
    fn retire(&mut self, worker: Process) -> Result<(), ApplyError>;

    /// Ends a worker, and with it its connections.
    fn end(&mut self, worker: Process) -> Result<(), ApplyError>;

    /// Has nginx test the host's own configuration, or this one instead.
    fn test(&mut self, instead: Option<&Path>) -> Result<Tested, ApplyError>;

    /// Limits the duration of each test from now on; `None` restores the limit of the options.
    fn limit_tests(&mut self, limit: Option<Duration>);

    /// Has nginx test these configurations, in parallel where that is possible. The results are in
    /// the order of the configurations.
    fn test_each(&mut self, configurations: &[PathBuf]) -> Result<Vec<Tested>, ApplyError> {
        configurations.iter().map(|configuration| self.test(Some(configuration))).collect()
    }

    /// The generation that the status address reports.
    fn served(&mut self) -> Result<Option<u64>, ApplyError>;
}

/// The result of a configuration test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tested {
    /// Whether nginx accepts it.
    pub accepted: bool,
    /// The last lines of what it printed.
    pub words: String,
}

/// The paths and addresses of this host's nginx.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemOptions {
    /// The path of nginx's binary.
    pub binary: PathBuf,
    /// Its configuration file, when not the built-in one.
    pub configuration: Option<PathBuf>,
    /// Its prefix, when not the built-in one.
    pub prefix: Option<PathBuf>,
    /// The file with the master's PID.
    pub pid_file: PathBuf,
    /// The systemd unit that runs nginx; it is asked when the PID file does not help.
    pub unit: Option<String>,
    /// The address that reports the generation.
    pub status: SocketAddr,
    /// The path of the request to it.
    pub status_path: String,
    /// How long a test may take.
    pub test_timeout: Duration,
}

impl SystemOptions {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        SystemOptions {
            binary: PathBuf::new(),
            configuration: None,
            prefix: None,
            pid_file: PathBuf::new(),
            unit: None,
            status: SocketAddr::from(([127, 0, 0, 1], 0)),
            status_path: "/generation".to_owned(),
            test_timeout: Duration::ZERO,
        }
    }
}

/// The real host.
#[derive(Debug)]
pub struct System {
    options: SystemOptions,
    /// Whether the binary knows `-e` (since 1.19.5), once a test has asked: without it a test also
    /// opens the built-in log file.
    knows_error_option: OnceLock<bool>,
    /// How long a test may take at present.
    limit: Duration,
}

impl System {
    /// The nginx of these options; it is asked for its version before its first test.
    pub fn new(options: SystemOptions) -> System {
        System { limit: options.test_timeout, options, knows_error_option: OnceLock::new() }
    }

    /// Where this nginx is.
    pub fn options(&self) -> &SystemOptions {
        &self.options
    }

    fn judge(&self, instead: Option<&Path>) -> Result<Tested, ApplyError> {
        let knows_error_option = match self.knows_error_option.get() {
            Some(knows) => *knows,
            None => {
                let knows = knows_error_option(&build_information(&self.options.binary)?);
                *self.knows_error_option.get_or_init(|| knows)
            }
        };
        let mut arguments = vec![OsString::from("-t"), "-q".into()];
        let mut add = |name: &str, value: Option<&Path>| {
            arguments.extend(value.iter().flat_map(|value| [name.into(), value.as_os_str().to_owned()]));
        };
        add("-p", self.options.prefix.as_deref());
        add("-c", instead.or(self.options.configuration.as_deref()));
        add("-e", knows_error_option.then_some(Path::new("stderr")));
        run(&self.options.binary, &arguments, self.limit)
    }

    /// The process with this PID, provided that it is a master of our binary.
    fn proven(&self, pid: u32) -> Result<Process, NoMaster> {
        let found = self.master_at(pid);
        let Err(NoMaster::Down(_)) = found else { return found };
        // A process that ends has no program and no title as long as its memory is freed. How it
        // ended can be said afterwards.
        match process::stat(pid).map_err(unknown)? {
            None => Err(gone(pid)),
            Some(stat) if StatFlags::from_bits_truncate(stat.flags).contains(StatFlags::PF_EXITING) => {
                Err(NoMaster::Unknown(format!("process {pid} is about to end")))
            }
            Some(_) => found,
        }
    }

    fn master_at(&self, pid: u32) -> Result<Process, NoMaster> {
        let stat = process::stat(pid).map_err(unknown)?.ok_or_else(|| gone(pid))?;
        self.check_binary(pid)?;
        let process = Process { pid, started: stat.starttime };
        // Its title is read first, which costs less.
        let is_titled = process::title(pid).map_err(unknown)?.starts_with("nginx: master process");
        let leads = || -> Result<bool, NoMaster> {
            let table = Table::read(process).map_err(unknown)?;
            Ok(table.is_some_and(|table| table.children.iter().any(|(_, role)| *role != Role::Other)))
        };
        match is_titled || leads()? {
            true => Ok(process),
            false => Err(NoMaster::Down(format!("process {pid} is no nginx master: it has no workers"))),
        }
    }

    /// Whether the process runs our binary, as far as the kernel says.
    fn check_binary(&self, pid: u32) -> Result<(), NoMaster> {
        let link = PathBuf::from(format!("/proc/{pid}/exe"));
        let runs = match fs::read_link(&link) {
            Ok(runs) => runs,
            // Reading the link needs the right to look into any process (CAP_SYS_PTRACE), which
            // the unit does not have. Processes of root have to be trusted then: set-uid programs
            // that others start keep their real user ID.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_root(pid).map_err(unknown)? => {
                return Ok(());
            }
            Err(error) => return Err(unread(&link, &error)),
        };
        let wanted = fs::canonicalize(&self.options.binary).unwrap_or_else(|_| self.options.binary.clone());
        // After an upgrade of the package the old binary still runs, without a name in the file
        // system.
        let name = runs.to_string_lossy();
        match Path::new(name.strip_suffix(" (deleted)").unwrap_or(&name)) == wanted {
            true => Ok(()),
            false => Err(NoMaster::Down(format!("process {pid} is {name}, not {}", wanted.display()))),
        }
    }

    fn master_of_pid_file(&self, path: &Path) -> Result<Process, NoMaster> {
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoMaster::Down(format!("there is no {}", path.display())),
            _ => unread(path, &error),
        })?;
        let no_number = |_| NoMaster::Down(format!("{} does not hold a process number", path.display()));
        self.proven(text.trim().parse().map_err(no_number)?)
    }

    fn master_of_systemd(&self, unit: &str) -> Result<Process, NoMaster> {
        let reported = property(unit, "MainPID").map_err(|error| match error.is_shortage() {
            true => NoMaster::Unknown(error.to_string()),
            false => NoMaster::Down(error.to_string()),
        })?;
        match reported.parse() {
            Ok(0) => Err(NoMaster::Down(format!("{unit} is not running"))),
            Ok(pid) => self.proven(pid),
            Err(_) => Err(NoMaster::Down(format!("systemd does not tell the main process of {unit}"))),
        }
    }

    /// The version that runs, as the status address reports it; `None` when it does not answer.
    pub fn version(&self) -> Option<Version> {
        parse_served(&self.ask().ok()??)?.1
    }

    /// Asks the status address; `None` when it does not answer.
    fn ask(&self) -> io::Result<Option<String>> {
        let SystemOptions { status, status_path, .. } = &self.options;
        let mut stream = match TcpStream::connect_timeout(status, STATUS_TIMEOUT) {
            Err(error) if is_shortage(&error) => return Err(error),
            Err(_) => return Ok(None),
            Ok(stream) => stream,
        };
        let mut exchange = || -> io::Result<String> {
            stream.set_read_timeout(Some(STATUS_TIMEOUT))?;
            stream.set_write_timeout(Some(STATUS_TIMEOUT))?;
            write!(stream, "GET {status_path} HTTP/1.0\r\nHost: {status}\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            (&stream).take(4096).read_to_string(&mut answer)?;
            Ok(answer)
        };
        Ok(exchange().ok())
    }
}

impl Host for System {
    fn master(&mut self) -> Result<Process, NoMaster> {
        // The PID file costs nothing to read and follows an upgrade of the binary; systemd is
        // asked when it does not help.
        self.master_of_pid_file(&self.options.pid_file).or_else(|why| match (why, &self.options.unit) {
            (NoMaster::Down(why), Some(unit)) => self.master_of_systemd(unit).map_err(|also| match also {
                NoMaster::Down(also) => NoMaster::Down(format!("{why}; {also}")),
                unknown => unknown,
            }),
            (why, _) => Err(why),
        })
    }

    fn predecessor(&mut self) -> Result<Option<Process>, ApplyError> {
        let mut path = self.options.pid_file.clone().into_os_string();
        path.push(".oldbin");
        match self.master_of_pid_file(path.as_ref()) {
            Ok(old) => {
                let table = self.table(old)?;
                Ok(table.and_then(|table| table.in_role(Role::Worker).next()).map(|_| old))
            }
            Err(NoMaster::Down(_)) => Ok(None),
            Err(NoMaster::Unknown(why)) => Err(look(Path::new(&path).display(), io::Error::other(why))),
        }
    }

    fn table(&mut self, master: Process) -> Result<Option<Table>, ApplyError> {
        Table::read(master).map_err(|source| look(format!("the nginx master {}", master.pid), source))
    }

    fn was_killed(&mut self, master: Process) -> Result<bool, ApplyError> {
        let result = match self.options.unit.as_deref().map(|unit| property(unit, "Result")) {
            Some(Err(error)) if error.is_shortage() => return Err(error),
            result => result.and_then(Result::ok),
        };
        let path = &self.options.pid_file;
        let pid_file = match fs::read_to_string(path) {
            Err(error) if is_shortage(&error) => return Err(look(path.display(), error)),
            read => read.ok(),
        };
        Ok(was_killed(master, result.as_deref(), pid_file.as_deref()))
    }

    fn hang_up(&mut self, master: Process) -> Result<(), ApplyError> {
        send(master, rustix::process::Signal::HUP)
    }

    fn retire(&mut self, worker: Process) -> Result<(), ApplyError> {
        send(worker, rustix::process::Signal::QUIT)
    }

    fn end(&mut self, worker: Process) -> Result<(), ApplyError> {
        send(worker, rustix::process::Signal::TERM)
    }

    fn test(&mut self, instead: Option<&Path>) -> Result<Tested, ApplyError> {
        self.judge(instead)
    }

    fn limit_tests(&mut self, limit: Option<Duration>) {
        let longest = self.options.test_timeout;
        self.limit = limit.map_or(longest, |limit| limit.min(longest));
    }

    fn test_each(&mut self, configurations: &[PathBuf]) -> Result<Vec<Tested>, ApplyError> {
        configurations.par_iter().map(|configuration| self.judge(Some(configuration))).collect()
    }

    fn served(&mut self) -> Result<Option<u64>, ApplyError> {
        let answer = self.ask().map_err(|source| look(self.options.status, source))?;
        Ok(answer.as_deref().and_then(parse_served).map(|(generation, _)| generation))
    }
}

fn look(what: impl ToString, source: io::Error) -> ApplyError {
    ApplyError::Look { what: what.to_string(), source }
}

fn unknown(error: io::Error) -> NoMaster {
    NoMaster::Unknown(look("processes", error).to_string())
}

/// No master is known because a file cannot be read.
fn gone(pid: u32) -> NoMaster {
    NoMaster::Down(format!("no process {pid} runs"))
}

fn unread(path: &Path, error: &io::Error) -> NoMaster {
    let why = format!("cannot read {}: {error}", path.display());
    if is_shortage(error) { NoMaster::Unknown(why) } else { NoMaster::Down(why) }
}

impl fmt::Display for NoMaster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NoMaster::Down(why) | NoMaster::Unknown(why)) = self;
        formatter.write_str(why)
    }
}

/// A property of a unit, as systemd reports it.
fn property(unit: &str, name: &str) -> Result<String, ApplyError> {
    let arguments = ["show", "-p", name, "--value", "--", unit].map(OsString::from);
    run(Path::new("systemctl"), &arguments, Duration::from_secs(5)).map(|reported| reported.words.trim().to_owned())
}

/// Whether a master was killed, judged from the result of its unit and from the PID file.
fn was_killed(master: Process, result: Option<&str>, pid_file: Option<&str>) -> bool {
    match result {
        // systemd removes the file when it knows how the master ended.
        Some("oom-kill" | "signal") => true,
        // A master that ends normally removes its PID file first. Without a unit nothing else is
        // known.
        None | Some("success" | "") => pid_file.is_some_and(|text| text.trim().parse() == Ok(master.pid)),
        // It was stopped and then killed because it did not end in time, or it crashed.
        Some(_) => false,
    }
}

/// Whether systemd is shutting down the whole host, rather than our unit alone.
pub fn host_stops() -> bool {
    let asked = || run(Path::new("systemctl"), &["is-system-running".into()], Duration::from_secs(10));
    sd_notify::booted().unwrap_or(false) && asked().is_ok_and(|reported| reported.words.trim() == "stopping")
}

/// Whether a process belongs to root by its real, effective and saved user ID. The owner of its
/// folder in `/proc` is no proof, because a process can change it.
fn is_root(pid: u32) -> io::Result<bool> {
    let status = process::reported(process::process(pid).and_then(|process| process.status()))?;
    Ok(status.is_some_and(|status| [status.ruid, status.euid, status.suid] == [0; 3]))
}

/// Sends a signal to this process, and to no other that got its PID meanwhile.
fn send(process: Process, signal: rustix::process::Signal) -> Result<(), ApplyError> {
    let failed = |source| ApplyError::Signal { pid: process.pid, source };
    let stat = || process::stat(process.pid).map_err(failed);
    let gone = || failed(rustix::io::Errno::SRCH.into());
    let pid = i32::try_from(process.pid).ok().and_then(rustix::process::Pid::from_raw).ok_or_else(gone)?;
    // The handle is opened before the check, so the signal cannot reach another process that got
    // the PID later.
    let handle = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    if stat()?.is_none_or(|stat| stat.starttime != process.started) {
        return Err(gone());
    }
    match handle {
        Ok(handle) => rustix::process::pidfd_send_signal(handle, signal),
        // Kernels before 5.3 have no process handles.
        Err(_) => rustix::process::kill_process(pid, signal),
    }
    .map_err(|error| failed(error.into()))
}

/// What `nginx -V` prints.
pub fn build_information(binary: &Path) -> Result<String, ApplyError> {
    run(binary, &["-V".into()], Duration::from_secs(10)).map(|tested| tested.words)
}

/// The generation's number in the body of a successful response, and the version of nginx.
fn parse_served(answer: &str) -> Option<(u64, Option<Version>)> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let mut words = body.split_whitespace();
    let number = words.next()?.parse().ok().filter(|_| head.split(' ').nth(1) == Some("200"))?;
    Some((number, words.next().and_then(Version::read)))
}

/// Whether a version as in `nginx version: nginx/1.22.1` has the option `-e`.
fn knows_error_option(build_information: &str) -> bool {
    let version = |line: &str| Version::read(line.split_once("nginx version: ")?.1.split_once('/')?.1);
    build_information.lines().find_map(version) >= Some(Version(1, 19, 5))
}

/// Runs a program until it ends or the limit passes, and keeps the last lines of its output.
fn run(program: &Path, arguments: &[OsString], limit: Duration) -> Result<Tested, ApplyError> {
    let failed = |source| ApplyError::Program { program: program.display().to_string(), source };
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let (sender, receiver) = mpsc::channel();
    // The receiver is gone when the limit has passed.
    let read = move || drop(sender.send(last_lines(reader)));
    std::thread::Builder::new().spawn(read).map_err(failed)?;
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    // Messages in English; and no sockets inherited from the process that started us.
    command.env("LC_ALL", "C").env_remove("NGINX").env_remove("NGINX_BPF_MAPS");
    let mut child = command.spawn().map_err(failed)?;
    // The command holds the writing end of the pipe: without this the reader would not see its
    // end.
    drop(command);
    if let Ok(mut words) = receiver.recv_timeout(limit)
        && let Some(status) = ended(&mut child, limit.saturating_sub(begun.elapsed())).map_err(failed)?
    {
        if let Some(signal) = status.signal() {
            // A program that is ended by a signal cannot report it; the kernel does so to a
            // process when memory runs out.
            words.push_str(&format!("nginx: [emerg] nginx was ended by signal {signal}\n"));
        }
        return Ok(Tested { accepted: status.success(), words });
    }
    child.kill().map_err(failed)?;
    // One that waits for a disk ends only when that answers, if ever.
    let wait = std::thread::Builder::new().spawn(move || child.wait());
    wait.map_err(failed)?;
    let program = format!("{} {}", program.display(), arguments.join(" ".as_ref()).display());
    Err(ApplyError::Slow { program, seconds: limit.as_secs() })
}

/// How a program ended that has written all of its output: it ends right after that, unless a disk
/// keeps it longer than this.
fn ended(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            None if begun.elapsed() < limit => std::thread::sleep(END_PAUSE),
            status => return Ok(status),
        }
    }
}

/// The last lines, once all are written.
fn last_lines(reader: impl io::Read) -> String {
    let mut last = VecDeque::with_capacity(LINES);
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        if last.len() == LINES {
            last.pop_front();
        }
        last.push_back(String::from_utf8_lossy(&line).into_owned());
        line.clear();
    }
    String::from_iter(last)
}

#[cfg(test)]
mod tests {
    use super::{
        Duration, NoMaster, Path, Process, Stdio, System, SystemOptions, Version, is_root, knows_error_option,
        parse_served, run, was_killed,
    };
    use crate::ApplyError;

    #[test]
    fn only_a_good_answer_with_a_number_counts() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\nServer: nginx\r\n\r\n42\n", Some((42, None))),
            ("HTTP/1.1 200 OK\r\n\r\n42 1.22.1", Some((42, Some(Version(1, 22, 1))))),
            ("HTTP/1.1 200 OK\r\n\r\n", None),
            ("HTTP/1.1 404 Not Found\r\n\r\n42", None),
            ("HTTP/1.1 200 OK\r\n\r\nforty", None),
            ("42", None),
        ] {
            assert_eq!(parse_served(answer), expected, "{answer}");
        }
    }

    #[test]
    fn the_option_for_the_log_is_used_where_it_exists() {
        for (version, expected) in [
            ("nginx version: nginx/1.18.0 (Ubuntu)\nbuilt with", false),
            ("nginx version: nginx/1.19.4", false),
            ("nginx version: nginx/1.19.5", true),
            ("nginx version: openresty/1.31.0.1", true),
            ("", false),
        ] {
            assert_eq!(knows_error_option(version), expected, "{version}");
        }
    }

    #[test]
    fn processes_of_root_are_known_by_their_users() {
        use std::os::unix::process::CommandExt as _;
        let ours = nix::unistd::getresuid().unwrap();
        let is_ours = [ours.real, ours.effective, ours.saved].iter().all(|user| user.is_root());
        assert_eq!(is_root(std::process::id()).unwrap(), is_ours);
        // Root without the right to change its user cannot start such a process.
        if let Ok(mut other) = std::process::Command::new("/bin/sleep").arg("60").uid(65_534).spawn() {
            let found = is_root(other.id()).unwrap();
            other.kill().unwrap();
            other.wait().unwrap();
            assert!(!found);
        }
    }

    #[test]
    fn a_process_that_was_stopped_or_crashed_was_not_killed() {
        let master = Process { pid: 7, started: 1 };
        for (result, pid_file, expected) in [
            (Some("oom-kill"), None, true),
            (Some("signal"), None, true),
            (Some("success"), Some("7\n"), true),
            (None, Some("7\n"), true),
            // It ended by itself, for example because it was stopped, or because another one runs
            // already.
            (Some("success"), None, false),
            (None, None, false),
            (None, Some("8\n"), false),
            // It was stopped and had not finished reading its configuration when its time was
            // over.
            (Some("timeout"), Some("7\n"), false),
            (Some("core-dump"), Some("7\n"), false),
        ] {
            assert_eq!(was_killed(master, result, pid_file), expected, "{result:?} {pid_file:?}");
        }
    }

    #[test]
    fn a_master_that_frees_its_memory_is_about_to_end() {
        use std::io::Write as _;
        use std::os::unix::process::CommandExt as _;
        let binary = std::fs::canonicalize("/usr/bin/tail").unwrap();
        let system = System::new(SystemOptions { binary: binary.clone(), ..SystemOptions::empty() });
        // It keeps what it reads until the end of its input.
        let mut large = std::process::Command::new(binary);
        large.arg0("nginx: master process").args(["-c", "300000000"]).stdin(Stdio::piped());
        let mut large = large.spawn().unwrap();
        let mut input = large.stdin.take().unwrap();
        input.write_all(&vec![0; 300_000_000]).unwrap();
        assert!(system.proven(large.id()).is_ok());
        large.kill().unwrap();
        // It waits to be reaped then.
        let last = loop {
            match system.proven(large.id()) {
                Ok(_) => {}
                Err(NoMaster::Unknown(why)) => assert!(why.contains("is about to end"), "{why}"),
                Err(NoMaster::Down(why)) => break why,
            }
        };
        large.wait().unwrap();
        assert_eq!(last, format!("no process {} runs", large.id()));
    }

    #[test]
    fn a_program_is_run_to_its_end_or_stopped() {
        let tested = run(Path::new("/bin/cat"), &["/nowhere".into()], Duration::from_secs(60)).unwrap();
        assert!(!tested.accepted && tested.words.contains("No such file"), "{tested:?}");
        let silent = ["-c".into(), "exec >&- 2>&-; exec sleep 60".into()];
        let silent = run(Path::new("/bin/sh"), &silent, Duration::from_millis(200));
        assert!(matches!(silent, Err(ApplyError::Slow { .. })), "{silent:?}");
        let slow = run(Path::new("/bin/sleep"), &["60".into()], Duration::from_millis(20));
        assert!(matches!(slow, Err(ApplyError::Slow { .. })), "{slow:?}");
        let killed = run(Path::new("/bin/sh"), &["-c".into(), "kill -9 $$".into()], Duration::from_secs(60)).unwrap();
        assert!(!killed.accepted && killed.words.contains("ended by signal 9"), "{killed:?}");
        let missing = run(Path::new("/nowhere/nginx"), &[], Duration::from_secs(60));
        assert!(matches!(missing, Err(ApplyError::Program { .. })), "{missing:?}");
    }
}
