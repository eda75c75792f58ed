//! The demo's own nginx: the distribution's binary with a folder of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use ingressd_model::catalogue::Version;

/// How long it may take to stop before it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A usual `nginx.conf` of distributions, with every path in the folder. `{folder}`, `{mime}` and
/// `{user}` are replaced.
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

/// A running nginx. It is stopped when this is dropped.
#[derive(Debug)]
pub struct PrivateNginx {
    process: Child,
}

/// Finds the distribution's binary: in `PATH`, or in folders that are not in the `PATH` of users.
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

/// The version that this nginx reports.
fn version(binary: &Path) -> io::Result<String> {
    let output = Command::new(binary).arg("-v").stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The command that starts an nginx of this version. Since 1.19.5 it has `-e`; without it an older
/// one warns that it may not write the distribution's log, and goes on.
fn command(binary: &Path, folder: &Path, version: &str) -> Command {
    let mut command = Command::new(binary);
    command.arg("-p").arg(folder).arg("-c").arg(configuration(folder));
    let number = version.split_once("nginx version: ").and_then(|(_, rest)| Version::read(rest.split_once('/')?.1));
    if number >= Some(Version(1, 19, 5)) {
        command.arg("-e").arg(folder.join("error.log"));
    }
    command
}

impl PrivateNginx {
    /// Starts it in the foreground, in a process group of its own, so that Ctrl-C on the terminal
    /// reaches only the demo, which then stops it. `root` is the folder of the generations.
    pub fn start(binary: &Path, folder: &Path, root: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder.join("temp"))?;
        let mime = Path::new("/etc/nginx/mime.types");
        let mime = if mime.exists() { format!("include {};\n    ", mime.display()) } else { String::new() };
        // Workers of another user could not read files in a private folder.
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

    /// Asks it to stop, unless it has ended. SIGTERM rather than SIGKILL: a killed master would
    /// leave its workers running.
    fn terminate(&mut self) {
        if let Ok(number) = i32::try_from(self.process.id())
            && !self.has_ended()
        {
            let _ = kill(Pid::from_raw(number), Signal::SIGTERM);
        }
    }

    /// Stops it with its workers, and waits for that.
    pub async fn stop(mut self) {
        self.terminate();
        let end = tokio::time::Instant::now() + PATIENCE;
        while !self.has_ended() && tokio::time::Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

impl Drop for PrivateNginx {
    fn drop(&mut self) {
        self.terminate();
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
