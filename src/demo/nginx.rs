//! The nginx that the demo owns, from the distribution's binary under a folder of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

/// How long it may take to end when asked to, before it is made to.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a distribution's `nginx.conf` says, with every path in the folder. `{folder}`, `{mime}` and `{user}` are filled in.
const CONFIGURATION: &str = "\
{user}worker_processes 2;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {
    worker_connections 512;
}
http {
    {mime}default_type application/octet-stream;
    access_log off;
    client_body_temp_path {folder}/temp/body;
    proxy_temp_path {folder}/temp/proxy;
    fastcgi_temp_path {folder}/temp/fastcgi;
    uwsgi_temp_path {folder}/temp/uwsgi;
    scgi_temp_path {folder}/temp/scgi;
    include {root}/current/http/*.conf;
}
";

/// A running nginx. It ends when it is dropped.
#[derive(Debug)]
pub struct PrivateNginx {
    process: Child,
}

/// Finds the distribution's binary: in the path, or where distributions put it and users' paths do not reach.
pub fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    folders.map(|folder| folder.join("nginx")).find(|file| file.is_file())
}

/// The main configuration file of an nginx with this folder.
pub fn configuration(folder: &Path) -> PathBuf {
    folder.join("nginx.conf")
}

/// The pid file of an nginx with this folder.
pub fn pid_file(folder: &Path) -> PathBuf {
    folder.join("nginx.pid")
}

/// What this nginx says of its version.
fn version(binary: &Path) -> io::Result<String> {
    let output = Command::new(binary).arg("-v").stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The start of an nginx that says this of its version. It knows `-e` since 1.19.5; without it an older one complains that it
/// may not write the distribution's log, and goes on.
fn command(binary: &Path, folder: &Path, version: &str) -> Command {
    let mut command = Command::new(binary);
    command.arg("-p").arg(folder).arg("-c").arg(configuration(folder));
    if is_since_1_19_5(version) {
        command.arg("-e").arg(folder.join("error.log"));
    }
    command
}

fn is_since_1_19_5(words: &str) -> bool {
    let version = words.split_once("nginx version: ").and_then(|(_, rest)| rest.split_whitespace().next());
    let numbers = version.and_then(|version| version.split('/').nth(1)).unwrap_or_default();
    let numbers: Vec<u32> = numbers.split('.').map_while(|number| number.parse().ok()).collect();
    numbers.as_slice() >= [1, 19, 5].as_slice()
}

impl PrivateNginx {
    /// Starts it in the foreground, in a process group of its own: a Ctrl-C on the terminal is for the demo alone, which
    /// then stops it. `root` is the folder of the generations.
    pub fn start(binary: &Path, folder: &Path, root: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder.join("temp"))?;
        let mime = Path::new("/etc/nginx/mime.types");
        let mime = if mime.exists() { format!("include {};\n    ", mime.display()) } else { String::new() };
        // A worker of another user could not read what is in a private folder.
        let user = if geteuid().is_root() { "user root;\n" } else { "" };
        let text = CONFIGURATION
            .replace("{user}", user)
            .replace("{mime}", &mime)
            .replace("{root}", &root.display().to_string())
            .replace("{folder}", &folder.display().to_string());
        std::fs::write(configuration(folder), text)?;
        let mut command = command(binary, folder, &version(binary)?);
        let process =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
        Ok(PrivateNginx { process })
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Asks it to end and waits for that; it takes its workers with it.
    pub async fn stop(mut self) {
        if let Ok(number) = i32::try_from(self.process.id())
            && !self.has_ended()
        {
            let _ = kill(Pid::from_raw(number), Signal::SIGTERM);
        }
        let end = tokio::time::Instant::now() + PATIENCE;
        while !self.has_ended() && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for PrivateNginx {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        // SIGTERM rather than SIGKILL: a killed master would leave its workers behind.
        if let Ok(number) = i32::try_from(self.process.id()) {
            let _ = kill(Pid::from_raw(number), Signal::SIGTERM);
        }
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_nginx_is_not_given_an_option_that_it_does_not_know() {
        for (words, expected) in [
            ("nginx version: nginx/1.18.0 (Ubuntu)\n", false),
            ("nginx version: nginx/1.19.4\n", false),
            ("nginx version: nginx/1.19.5\n", true),
            ("nginx version: nginx/1.22.1\n", true),
            ("nginx version: openresty/1.31.4.1\n", true),
            ("", false),
        ] {
            let command = command(Path::new("nginx"), Path::new("/demo"), words);
            let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
            let (common, rest) = arguments.split_at(4);
            assert_eq!(common, ["-p", "/demo", "-c", "/demo/nginx.conf"]);
            let expected: &[&str] = if expected { &["-e", "/demo/error.log"] } else { &[] };
            assert_eq!(rest, expected, "{words}");
        }
    }
}
