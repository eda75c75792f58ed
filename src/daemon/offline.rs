//! Executes commands of the administrator while no daemon runs.

use super::commands::{ControlCommand, NOT_PINNED, execute};
use super::control::Control;
use super::error::Error;
use super::pipeline::Pipeline;
use ingressd_apply::History;
use ingressd_apply::folder::Existing;
use ingressd_config::Settings;

/// The result of a command.
pub type Offline = Result<Result<String, String>, Error>;

/// Executes a command in the place of the daemon, which cannot start meanwhile. The result is a
/// text for people.
///
/// # Errors
///
/// When a daemon is running, or when nginx or a folder cannot be used.
pub fn without_daemon(settings: &Settings, command: ControlCommand) -> Offline {
    if let Some(why) = refused(settings, command)? {
        return Ok(Err(why));
    }
    let path = &settings.control_socket;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let control_error = |source| Error::Control { path: path.clone(), source };
    let runtime = runtime.map_err(control_error)?;
    let _inside = runtime.enter();
    let _control = Control::bind(path, Existing::Shared).map_err(control_error)?;
    let mut pipeline = Pipeline::open(settings, None).map_err(|error| Error::Pipeline(Box::new(error)))?;
    Ok(execute(command, &mut pipeline))
}

/// Why the command cannot be executed, as far as the disk says. This is checked first, so that a
/// refused command leaves no folder behind.
fn refused(settings: &Settings, command: ControlCommand) -> Result<Option<String>, Error> {
    let history = History::read(&settings.apply.root, &settings.apply.state);
    let history = history.map_err(|error| Error::Pipeline(Box::new(error.into())))?;
    Ok(match command {
        ControlCommand::RollBack(wanted) => history.choose(wanted).err(),
        ControlCommand::Resume => history.pinned.is_none().then(|| NOT_PINNED.to_owned()),
        ControlCommand::Reload => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_makes_no_folder() {
        let home = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.apply.root = home.path().join("root");
        settings.apply.state = home.path().join("state");
        settings.control_socket = home.path().join("run/control.sock");
        for (command, why) in [
            (ControlCommand::RollBack(None), "no generation is kept"),
            (ControlCommand::RollBack(Some(3)), "no generation is kept"),
            (ControlCommand::Resume, NOT_PINNED),
        ] {
            let reported = without_daemon(&settings, command).unwrap().unwrap_err();
            assert!(reported.starts_with(why), "{reported}");
            assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "{command:?}");
        }
    }
}
