//! The undo of setup as a shell script, for hosts from which the program was removed.

use std::fmt::Write as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::journal::Journal;
use super::run::Error;
use super::state::State;
use super::undo::Group;
use ingressd_config::Settings;

/// The function for each change. The settings define `test_nginx` before it.
const HEAD: &str = include_str!("undo.sh");

/// A shell script that restores the files and links that setup changed, the last change first,
/// unless they were edited since or nginx refuses the result. Folders and permissions stay: the
/// administrator removes the folders with ingressd, and closed files stay closed.
///
/// # Errors
///
/// When the journal cannot be used.
pub fn undo_script(settings: &Settings) -> Result<String, Error> {
    let (nginx, state) = (&settings.nginx, &settings.apply.state);
    let journal = Journal::open(state).map_err(Error::files("use the journal in", state))?;
    let mut test = format!("{} -t -c {}", shell_word(&path(&nginx.binary)), shell_word(&path(&nginx.configuration)));
    if let Some(prefix) = &nginx.prefix {
        let _ = write!(test, " -p {}", shell_word(&path(prefix)));
    }
    let mut script = HEAD.replace("TEST_NGINX", &test);
    for group in Group::all(journal.changes()) {
        if let (Some(before), Some(after)) = (word(&group.before), word(&group.after)) {
            let _ = writeln!(
                script,
                "take_back {} {} {}",
                shell_word(&path(&group.path)),
                shell_word(&before),
                shell_word(&after)
            );
        }
    }
    Ok(script)
}

/// A state as one word; `None` for states that are not restored.
fn word(state: &State) -> Option<String> {
    match state {
        State::Absent => Some("absent".to_owned()),
        State::Link(target) => Some(format!("link:{}", path(target))),
        State::File(file) => {
            let owned = file.owned;
            Some(format!("file:{:o}:{}:{}:{}", owned.mode, owned.user, owned.group, STANDARD.encode(&file.bytes)))
        }
        State::Folder(_) | State::Mode(..) => None,
    }
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
