//! Errors of the outside world, with the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Why files, folders or processes could not be handled.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The file system refused.
    #[error("cannot {action} {}: {source}{}", .path.display(), remedy(.source))]
    Files {
        /// The attempted action, as in "write".
        action: &'static str,
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// nginx's own configuration cannot be read.
    #[error("{}: nginx cannot read its configuration: {what}: correct the line, and test it with `nginx -t`", .path.display())]
    Configuration {
        /// The main file.
        path: PathBuf,
        /// The line, and what is wrong with it.
        what: String,
    },
    /// The program is no nginx that we know.
    #[error("{} does not say of itself what nginx says ({what}): name nginx's program with nginx.binary", .path.display())]
    NoNginx {
        /// The program.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// A file is not what we wrote.
    #[error("{} is damaged ({what}): the next change writes a whole generation anew, and `ingressd diff --list` shows the others", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A path of a file set does not fit the layout of a generation.
    #[error("{0:?} is not a path within a generation: it must be http/, stream/, certs/ or auth/ and one plain name")]
    Path(String),
    /// A program could not be run.
    #[error("cannot run {program}: {source}: check that it is installed and may be executed")]
    Program {
        /// Its path, as the settings have it.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program did not end in time.
    #[error("{program} did not end within {seconds} s and was stopped: look for a slow disk or name server")]
    Slow {
        /// The program and its arguments.
        program: String,
        /// The limit.
        seconds: u64,
    },
    /// It could not be asked what nginx does.
    #[error("cannot look at {what}: {source}: raise what this host or `LimitNOFILE=` of ingressd.service allows")]
    Look {
        /// What was asked for.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// Another daemon holds a lock.
    #[error(
        "another ingressd{} holds {} and does not let go of it: end that process where it hangs; each instance needs an \
         apply.root and an apply.state of its own",
        holder.as_ref().map(|pid| format!(" (process {pid})")).unwrap_or_default(), .path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// Its process number, when it wrote it.
        holder: Option<String>,
    },
    /// A signal could not be sent.
    #[error("cannot signal the nginx master {pid}: {source}: ingressd must run as root or as the user of the master")]
    Signal {
        /// The process.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
}

impl ApplyError {
    /// No master could be looked for.
    pub fn unseen(why: String) -> Self {
        ApplyError::Look { what: "nginx".to_owned(), source: io::Error::other(why) }
    }

    /// Whether this is a shortage of ours, see [`is_shortage`].
    pub fn is_shortage(&self) -> bool {
        match self {
            ApplyError::Files { source, .. } | ApplyError::Signal { source, .. } => is_shortage(source),
            // The limit of processes, too.
            ApplyError::Program { source, .. } => is_shortage(source) || source.kind() == io::ErrorKind::WouldBlock,
            ApplyError::Look { .. } => true,
            ApplyError::Configuration { .. }
            | ApplyError::NoNginx { .. }
            | ApplyError::Damaged { .. }
            | ApplyError::Path(_)
            | ApplyError::Slow { .. }
            | ApplyError::Busy { .. } => false,
        }
    }

    /// Whether there is no room left to write to.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, ApplyError::Files { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }

    /// What there is at this place; `None` when there is nothing, or nothing that can be used. A
    /// shortage of our own is an error: it does not tell whether there is something.
    pub fn found<T>(
        action: &'static str,
        path: impl AsRef<Path>,
        read: io::Result<T>,
    ) -> Result<Option<T>, ApplyError> {
        match read {
            Ok(found) => Ok(Some(found)),
            Err(source) if is_shortage(&source) => Err(ApplyError::files(action, path)(source)),
            Err(_) => Ok(None),
        }
    }

    /// For `map_err`: the file system refused this action at this place.
    pub fn files(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> ApplyError {
        move |source| ApplyError::Files { action, path: path.as_ref().to_owned(), source }
    }
}

/// The result of reading or removing something; `None` when it is not there.
///
/// # Errors
///
/// Every other error.
pub fn unless_missing<T>(done: io::Result<T>) -> io::Result<Option<T>> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        done => done.map(Some),
    }
}

/// Whether an error says that this process or its host ran short of something, or that a disk
/// failed. Then it is no answer: it does not tell that a file, a process or an address is absent.
pub fn is_shortage(error: &io::Error) -> bool {
    use nix::errno::Errno;
    let shortages = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS, Errno::EIO, Errno::EADDRNOTAVAIL];
    error.raw_os_error().is_some_and(|raw| shortages.contains(&Errno::from_raw(raw)))
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ": free space there; nothing was switched",
        io::ErrorKind::ReadOnlyFilesystem => {
            ": mount it writable, or add the folder to ReadWritePaths= of ingressd.service"
        }
        io::ErrorKind::PermissionDenied => ": run ingressd as a user that may do so, by default root",
        _ => "",
    }
}
