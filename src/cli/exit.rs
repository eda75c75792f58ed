//! How a command ends, in the numbers of sysexits.h.

use std::process::ExitCode;

/// What the shell and systemd learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Success,
    /// The command did its work and found what is wrong.
    Findings,
    /// The command did its work and found what does not work at all.
    Failures,
    /// The command line is wrong.
    Usage,
    /// An input file or folder cannot be read.
    NoInput,
    /// Something that must be there is not: the daemon, nginx, a port.
    Unavailable,
    /// A file is there already and stays.
    CannotCreate,
    /// A file or socket may not be used.
    Permission,
    /// The settings are wrong.
    Configuration,
}

/// The end of a command; what an error is, has been told already.
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

    /// Fits an error of the operating system: permission or unavailable.
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
