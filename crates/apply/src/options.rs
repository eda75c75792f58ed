//! The administrator's settings for applying.

use std::path::PathBuf;
use std::time::Duration;

use ingressd_model::Instance;

use super::old_workers::Allowance;

/// Folders, limits and waiting times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The folder that holds `current` and `generations`.
    pub root: PathBuf,
    /// The folder for the journal and for scratch configurations.
    pub state: PathBuf,
    /// nginx's main configuration file, from which tests of changed files take the host's context;
    /// `None` switches these tests off.
    pub nginx_configuration: Option<PathBuf>,
    /// The file that is locked while nginx is told to reload, by each daemon that shares it;
    /// `None` where there is no other.
    pub turn: Option<PathBuf>,
    /// How many generations are kept; at least 2.
    pub keep: usize,
    /// How long new workers may take to start after SIGHUP.
    pub confirm_timeout: Duration,
    /// How long the master may be idle after SIGHUP, without new workers, before the whole
    /// configuration is tested to learn whether nginx refused it.
    pub suspicion: Duration,
    /// How long the master may be idle after that test passed. nginx tries for 2.5 s to listen on
    /// an address in use.
    pub resignation: Duration,
    /// How often the process table is read while waiting.
    pub poll: Duration,
    /// How much old workers are given to finish their connections.
    pub draining: Allowance,
    /// How many culprits one apply looks for before it stops and reports those it found.
    pub culprits: usize,
    /// The group ID of nginx's workers: they open password files themselves, so these are readable
    /// for the group.
    pub workers_group: Option<u32>,
    /// Which of several instances on this host this is.
    pub instance: Instance,
}

impl Options {
    /// Before anything is put in: what the rows of the settings say is its default.
    pub fn empty() -> Self {
        Options {
            root: PathBuf::new(),
            state: PathBuf::new(),
            nginx_configuration: None,
            turn: None,
            keep: 0,
            confirm_timeout: Duration::ZERO,
            suspicion: Duration::from_secs(1),
            resignation: Duration::from_secs(5),
            poll: Duration::from_millis(3),
            draining: Allowance::default(),
            culprits: 64,
            workers_group: None,
            instance: Instance::default(),
        }
    }
}
