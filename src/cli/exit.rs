//! The exit statuses of commands, with the numbers of sysexits.h.

use std::process::ExitCode;

/// The exit status for the shell and systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded.
    Success,
    /// The command did its work and found something wrong.
    Findings,
    /// The command did its work and found something that does not work at all.
    Failures,
    /// The command line is wrong.
    Usage,
    /// An input file or folder cannot be read.
    NoInput,
    /// A requirement is missing: the daemon, nginx, a port.
    Unavailable,
    /// A file exists already and is not replaced.
    CannotCreate,
    /// Access to a file or socket is denied.
    Permission,
    /// The settings are wrong.
    Configuration,
}

/// The end of a command; an error has been printed already.
pub type Ended = Result<Exit, Exit>;

impl Exit {
    pub(crate) const fn number(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Findings => 1,
            Exit::Failures => 2,
            Exit::Usage => 64,
            Exit::NoInput => 66,
            Exit::Unavailable => 69,
            Exit::CannotCreate => 73,
            Exit::Permission => 77,
            Exit::Configuration => 78,
        }
    }

    /// The exit status for an error of the operating system: permission or unavailable.
    pub fn of_error(error: &std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::PermissionDenied => Exit::Permission,
            _ => Exit::Unavailable,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.number())
    }
}
