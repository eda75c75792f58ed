//! Executes commands of the administrator while no daemon runs.

use super::commands::{ControlCommand, execute};
use super::control::Control;
use super::error::Error;
use super::pipeline::Pipeline;
use crate::apply::folder::Existing;
use crate::config::Settings;

/// The result of a command.
pub type Offline = Result<Result<String, String>, Error>;

/// Executes a command in the place of the daemon, which cannot start meanwhile. The result is a
/// text for people.
///
/// # Errors
///
/// When a daemon is running, or when nginx or a folder cannot be used.
pub fn without_daemon(settings: &Settings, command: ControlCommand) -> Offline {
    let path = &settings.control_socket;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let control_error = |source| Error::Control { path: path.clone(), source };
    let runtime = runtime.map_err(control_error)?;
    let _inside = runtime.enter();
    let _control = Control::bind(path, Existing::Shared).map_err(control_error)?;
    let mut pipeline = Pipeline::open(settings, None).map_err(|error| Error::Pipeline(Box::new(error)))?;
    Ok(execute(command, &mut pipeline))
}
