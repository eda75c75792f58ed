//! Gathers everything about this host's nginx that has to be known before anything is applied.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::error::ApplyError;
use super::host::build_information;
use super::include::included;
use super::tree::{Tree, built_in, workers_group, write};
use ingressd_model::Instance;
use ingressd_model::catalogue::Version;
use ingressd_nginx::render::Digest;
use ingressd_nginx::{Capabilities, GateOptions, HostBlock, OtherSites};

/// What this host's nginx is, and what its own configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The main configuration file.
    pub configuration: PathBuf,
    /// The file with the master's PID.
    pub pid_file: PathBuf,
    /// The group ID of the workers, when they run as another user than we.
    pub workers_group: Option<u32>,
    /// Version and modules.
    pub capabilities: Capabilities,
    /// The installed version, where another one runs.
    pub installed: Option<Version>,
    /// A digest that identifies the program: another build of nginx, or another file of any
    /// module, has another one.
    pub fingerprint: String,
    /// A digest of the host's own configuration, and of the states of files that the settings
    /// name: nginx may refuse under one what it accepts under another.
    pub host: String,
    /// What other sites claim.
    pub other_sites: OtherSites,
    /// Whether the configuration includes files of the current generation: otherwise nginx never
    /// reads them.
    pub includes_ours: bool,
}

impl Survey {
    /// Asks the binary and reads the configuration, without files below `own`, for this instance.
    ///
    /// # Errors
    ///
    /// When the binary cannot be run or is no nginx, and when the main file cannot be read.
    pub fn of(
        binary: &Path,
        configuration: Option<&Path>,
        prefix: Option<&Path>,
        own: &Path,
        instance: &Instance,
    ) -> Result<Survey, ApplyError> {
        let build = build_information(binary)?;
        let flag = |flag| built_in(&build, flag);
        let prefix =
            prefix.map(Path::to_owned).or_else(|| flag("--prefix=")).unwrap_or_else(|| "/usr/local/nginx".into());
        let configuration = configuration
            .map(Path::to_owned)
            .or_else(|| flag("--conf-path="))
            .unwrap_or_else(|| "conf/nginx.conf".into());
        let configuration = prefix.join(configuration);
        let tree = Tree::read(&configuration, own)?;
        let mut text = String::new();
        write(&tree.expanded()?, &mut text);
        let host = tree.survey(instance)?;
        let pid_file = host.pid.map(PathBuf::from).or_else(|| flag("--pid-path="));
        let capabilities = Capabilities::parse(&build, &host.load_modules)
            .map_err(|error| ApplyError::NoNginx { path: binary.to_owned(), what: error.to_string() })?;
        let modules = host.load_modules.iter().map(|file| prefix.join(file));
        let fingerprint = fingerprint(&build, modules.chain([binary.to_owned()]))?;
        Ok(Survey {
            fingerprint,
            host: Digest::of(text.as_bytes()).hexadecimal(16),
            pid_file: prefix.join(pid_file.unwrap_or_else(|| "logs/nginx.pid".into())),
            workers_group: workers_group(host.user.as_ref(), &build)?,
            configuration,
            capabilities,
            installed: None,
            other_sites: host.other_sites,
            includes_ours: host.includes_ours,
        })
    }

    /// What can be used while this version runs: the package of nginx may have been upgraded since
    /// its master was started.
    #[must_use]
    pub fn run_by(mut self, running: Option<Version>) -> Survey {
        let installed = running.map(|running| std::mem::replace(&mut self.capabilities.version, running));
        self.installed = installed.filter(|installed| *installed != self.capabilities.version);
        self
    }

    /// The file of the error log of our sites; `None` where they log elsewhere.
    pub fn error_log(&self) -> Option<PathBuf> {
        let of = |block| {
            let lines =
                self.other_sites.lines.iter().filter(move |line| line.block == block && line.name == "error_log");
            lines.filter_map(|line| line.arguments.first()).collect::<Vec<_>>()
        };
        let named = [of(HostBlock::Http), of(HostBlock::Main)].into_iter().find(|named| !named.is_empty());
        let named = named.unwrap_or_else(|| vec![&self.capabilities.error_log]);
        let file = named.into_iter().map(Path::new).find(|place| place.is_absolute())?;
        (file != "/dev/null").then(|| file.to_owned())
    }

    /// Adds which of the files that the settings name are missing. Whether nginx can read the
    /// existing ones, its test says.
    ///
    /// # Errors
    ///
    /// When it could not be found out.
    pub fn with_files(mut self, GateOptions { firewall, geo, .. }: &GateOptions) -> Result<Survey, ApplyError> {
        let mut states = Vec::new();
        for rules in firewall.files() {
            // ModSecurity asks for them as a shell does, which has the rules of nginx's includes.
            let found = included(rules.as_str().as_ref()).map_err(ApplyError::files("look for", rules.as_str()))?;
            let before = states.len();
            states.extend(found.into_iter().filter(|path| path.exists()));
            if states.len() == before {
                self.other_sites.missing_rules.insert(rules.clone());
            }
        }
        for path in geo.files.iter().map(|file| &file.path) {
            if !ApplyError::found("look at", path, path.metadata())?.is_some_and(|found| found.is_file()) {
                self.other_sites.missing_databases.insert(path.clone());
            }
        }
        self.host = fingerprint(&self.host, states.into_iter())?;
        Ok(self)
    }
}

/// A digest that stays the same across restarts, as long as the program reports the same and none
/// of its files is replaced.
fn fingerprint(build: &str, files: impl Iterator<Item = PathBuf>) -> Result<String, ApplyError> {
    let mut text = build.to_owned();
    for file in files {
        let metadata = ApplyError::found("look at", &file, file.metadata())?;
        let state = metadata.map(|metadata| (metadata.len(), metadata.mtime(), metadata.mtime_nsec()));
        // Writing to a string does not fail.
        let _ = write!(text, "\n{} {state:?}", file.display());
    }
    Ok(Digest::of(text.as_bytes()).hexadecimal(16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingressd_nginx::{FirewallOptions, GeoFile, GeoOptions, RuleFiles};

    #[test]
    fn rules_that_are_not_there_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("rules")).unwrap();
        for name in ["base.conf", "rules/one.conf"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let files = |names: &[&str]| -> Vec<RuleFiles> {
            names.iter().map(|name| folder.path().join(name).to_str().unwrap().parse().unwrap()).collect()
        };
        let firewall = FirewallOptions {
            rules: files(&["base.conf", "other.conf"]),
            core_rules: files(&["rules/*.conf", "rules/*.data"]),
            shared: false,
        };
        let survey = Survey {
            configuration: PathBuf::new(),
            pid_file: PathBuf::new(),
            workers_group: None,
            capabilities: Capabilities::profile(Version(1, 22, 1)),
            installed: None,
            fingerprint: String::new(),
            host: String::new(),
            other_sites: OtherSites::default(),
            includes_ours: true,
        };
        let database = |name: &str| GeoFile::of(&folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join("GeoLite2-City.mmdb"), "").unwrap();
        let databases = vec![database("GeoLite2-City.mmdb"), database("GeoLite2-ASN.mmdb")];
        let geo = GeoOptions { files: databases, ..GeoOptions::empty() };
        let missing = survey.with_files(&GateOptions { firewall, geo, ..GateOptions::empty() }).unwrap().other_sites;
        assert_eq!(Vec::from_iter(missing.missing_rules), files(&["other.conf", "rules/*.data"]));
        assert_eq!(Vec::from_iter(missing.missing_databases), [folder.path().join("GeoLite2-ASN.mmdb")]);
    }

    #[test]
    fn another_build_and_another_file_of_any_module_have_another_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let module = |name: &str| folder.path().join(name);
        std::fs::write(module("known.so"), "1").unwrap();
        let of = |build: &str, files: &[&str]| fingerprint(build, files.iter().map(|name| module(name))).unwrap();
        let build = "nginx version: nginx/1.22.1\nconfigure arguments: --with-http_v2_module";
        let before = of(build, &["known.so"]);
        assert_eq!(of(build, &["known.so"]), before);
        for (what, found) in [
            ("a module that nobody knows", of(&format!("{build} --add-module=/src/headers-more"), &["known.so"])),
            ("another library", of(&build.replace("1\n", "1\nbuilt with OpenSSL 3.0.20\n"), &["known.so"])),
            ("one more module", of(build, &["known.so", "none.so"])),
            ("one less", of(build, &[])),
        ] {
            assert_ne!(found, before, "{what}");
        }
        std::fs::write(module("known.so"), "22").unwrap();
        assert_ne!(of(build, &["known.so"]), before, "an upgrade of a module");
    }
}
