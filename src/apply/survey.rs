//! Everything to know about this host's nginx before anything is applied; it must not know what will be.

use std::path::{Path, PathBuf};

use super::error::ApplyError;
use super::host::build_information;
use super::tree::{Tree, built_in, workers_group};
use crate::nginx::{Capabilities, Neighbours};

/// What this host's nginx is, and what its own configuration says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The main configuration file.
    pub configuration: PathBuf,
    /// The file with the master's number.
    pub pid_file: PathBuf,
    /// The group of the workers, when they run as another user than we.
    pub workers_group: Option<u32>,
    /// Version and modules.
    pub capabilities: Capabilities,
    /// What other sites claim.
    pub neighbours: Neighbours,
    /// Whether the configuration includes files of the current generation: otherwise nginx never runs it.
    pub includes_ours: bool,
}

impl Survey {
    /// Asks the binary and reads the configuration, files below `own` left out.
    ///
    /// # Errors
    ///
    /// When the binary cannot be run or is no nginx, and when the main file cannot be read.
    pub fn of(
        binary: &Path,
        configuration: Option<&Path>,
        prefix: Option<&Path>,
        own: &Path,
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
        let host = Tree::read(&configuration, own)?.survey();
        let pid_file = host.pid.map(PathBuf::from).or_else(|| flag("--pid-path="));
        let capabilities = Capabilities::parse(&build, &host.load_modules)
            .map_err(|error| ApplyError::Damaged { path: binary.to_owned(), what: error.to_string() })?;
        Ok(Survey {
            pid_file: prefix.join(pid_file.unwrap_or_else(|| "logs/nginx.pid".into())),
            workers_group: workers_group(host.user.as_ref(), &build),
            configuration,
            capabilities,
            neighbours: host.neighbours,
            includes_ours: host.includes_ours,
        })
    }
}
