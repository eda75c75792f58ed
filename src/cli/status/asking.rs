//! How commands ask the daemon, and what they print when none responds.

use std::io;

use serde_json::Value;

use crate::cli::exit::Exit;
use crate::daemon::control;
use ingressd_config::Settings;
use ingressd_model::finding::printable;

/// Asks the daemon; errors are printed.
pub fn ask(settings: &Settings, request: &str) -> Result<(String, Value), Exit> {
    let path = &settings.control_socket;
    let answer = control::ask(path, request, control::PATIENCE).map_err(|error| unanswered(settings, &error))?;
    understood(settings, answer)
}

/// Prints that the daemon could not be asked.
pub fn unanswered(settings: &Settings, error: &io::Error) -> Exit {
    complain!("ingressd: {}", nobody(settings, error));
    Exit::of_error(error)
}

/// A sentence that no daemon responds.
pub fn nobody(settings: &Settings, error: &io::Error) -> String {
    let path = settings.control_socket.display();
    let unit = match settings.instance.name() {
        "" => "ingressd".to_owned(),
        name => format!("ingressd@{name}"),
    };
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => format!(
            "no daemon runs here: nobody answers on {path}; nginx goes on with what it has, and nothing that changes is \
             served: `systemctl status {unit}` says why"
        ),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!(
            "the daemon does not answer on {path} in time: it is busy or stopped; try again, and see \
             `systemctl status {unit}`"
        ),
        io::ErrorKind::PermissionDenied => {
            format!("the daemon cannot be asked on {path}: {error}; root and the group of the socket may ask it")
        }
        _ => format!("the daemon cannot be asked on {path}: {error}"),
    }
}

/// Complains that the daemon does not understand what it was asked, or is not understood.
pub fn of_another_version(error: &str) -> Exit {
    complain!(
        "ingressd: the running daemon is of another version; restart it (systemctl restart ingressd): {}",
        printable(error)
    );
    Exit::Unavailable
}

/// Parses a response.
pub fn understood(settings: &Settings, answer: String) -> Result<(String, Value), Exit> {
    let path = &settings.control_socket;
    match serde_json::from_str(&answer) {
        Ok(value) => Ok((answer, value)),
        Err(_) => {
            complain!(
                "ingressd: the answer on {} cannot be understood; if the daemon is of another version, restart it \
                 (systemctl restart ingressd)",
                path.display()
            );
            Err(Exit::Unavailable)
        }
    }
}
