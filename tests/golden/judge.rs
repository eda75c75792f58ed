//! The real versions of nginx that say whether they would load a configuration.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ingressd_model::catalogue::Version;
use ingressd_nginx::render::FileSet;

/// An nginx that can test configurations.
pub struct Judge {
    /// Its version.
    pub version: Version,
    program: PathBuf,
    /// Its module for TCP and UDP services; where there is none, those are not judged.
    stream: Option<PathBuf>,
}

/// The installed nginx and those that `tests/nginx-versions` unpacked.
pub fn judges() -> Vec<Judge> {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/nginx");
    let others = ["bullseye", "trixie", "forky"].map(|suite| unpacked.join(suite).join("run"));
    let installed = ["/usr/sbin/nginx", "/usr/bin/nginx"].map(PathBuf::from);
    let programs = installed.into_iter().chain(others).filter(|program| program.exists());
    let judge = |program: PathBuf| {
        let root = program.parent().filter(|folder| folder.starts_with(&unpacked)).unwrap_or(Path::new("/"));
        let modules = ["usr/lib/nginx/modules", "usr/lib64/nginx/modules"].map(|folder| root.join(folder));
        let stream = modules.iter().map(|folder| folder.join("ngx_stream_module.so")).find(|file| file.exists());
        Judge { version: version(&program), program, stream }
    };
    programs.map(judge).collect()
}

fn version(program: &Path) -> Version {
    let output = Command::new(program).arg("-v").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let numbers = text.trim().rsplit('/').next().unwrap().split(' ').next().unwrap();
    let numbers: Vec<u16> = numbers.split('.').map(|number| number.parse().unwrap()).collect();
    Version(numbers[0], numbers[1], numbers[2])
}

impl Judge {
    /// Whether `nginx -t` accepts the files; otherwise what it says.
    pub fn accepts(&self, files: &FileSet) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let main = self.write(folder.path(), files, "off");
        let output = Command::new(&self.program).arg("-t").arg("-c").arg(&main).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.success() {
            true => Ok(()),
            false => Err(words),
        }
    }

    /// Bytes of memory that nginx has when it has read the files, and its time of a processor
    /// until then.
    ///
    /// # Panics
    ///
    /// When it does not accept them.
    pub fn weigh(&self, files: &FileSet) -> (u64, Duration) {
        self.accepts(files).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // nginx opens logs when it has read everything, and waits until each has a reader.
        let logs = ["first", "second"].map(|name| folder.path().join(name));
        logs.iter().for_each(|log| nix::unistd::mkfifo(log, nix::sys::stat::Mode::S_IRWXU).unwrap());
        let main =
            self.write(folder.path(), files, &format!("{}; access_log {}", logs[0].display(), logs[1].display()));
        let mut nginx = Command::new(&self.program).arg("-tq").arg("-c").arg(&main).spawn().unwrap();
        let _first = std::fs::File::open(&logs[0]).unwrap();
        let process = procfs::process::Process::new(nginx.id().try_into().unwrap()).unwrap();
        let memory = process.status().unwrap().vmhwm.unwrap() * 1024;
        let stat = process.stat().unwrap();
        let ticks = Duration::from_secs(stat.utime + stat.stime) / u32::try_from(procfs::ticks_per_second()).unwrap();
        let _second = std::fs::File::open(&logs[1]).unwrap();
        assert!(nginx.wait().unwrap().success());
        (memory, ticks)
    }

    /// Writes the files with an nginx.conf around them, and gives its path.
    fn write(&self, folder: &Path, files: &FileSet, access_log: &str) -> PathBuf {
        let root = folder.to_str().unwrap();
        for (path, file) in &files.files {
            let target = folder.join(&**path);
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            // The only absolute paths in generated files are those of the current generation.
            match std::str::from_utf8(&file.content.bytes()) {
                Ok(text) => std::fs::write(target, text.replace("/etc/nginx/ingressd/current", root)).unwrap(),
                Err(_) => std::fs::write(target, file.content.bytes()).unwrap(),
            }
        }
        let has_streams = files.files.keys().any(|path| path.starts_with("stream/"));
        let (module, stream) = match self.stream.as_ref().filter(|_| has_streams) {
            Some(module) => (
                format!("load_module {};\n", module.display()),
                format!("stream {{\ninclude {root}/stream/*.conf;\n}}\n"),
            ),
            None => Default::default(),
        };
        let configuration = format!(
            "{module}pid {root}/pid;\nerror_log stderr;\nevents {{ worker_connections 2048; }}\nhttp {{\naccess_log {access_log};\nclient_body_temp_path {root}/t1;\n\
                 proxy_temp_path {root}/t2;\nfastcgi_temp_path {root}/t3;\nuwsgi_temp_path {root}/t4;\nscgi_temp_path {root}/t5;\n\
                 geo $ingressd_generation {{ default 1; }}\ninclude {root}/http/*.conf;\n}}\n{stream}"
        );
        let main = folder.join("nginx.conf");
        std::fs::write(&main, configuration).unwrap();
        main
    }
}
