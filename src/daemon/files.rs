//! How many files the daemon may have open: as many as the host allows, because each watch of a
//! namespace that is named is a connection of its own.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use ingressd_config::Settings;

/// The kinds that are watched in each namespace that the settings name.
const WATCHES: u64 = 4;

/// Files beside the watches: listeners, clients of these, logs, and files that are written.
const OTHERS: u64 = 256;

/// The files that a daemon with these settings may need at once.
fn needed(settings: &Settings) -> u64 {
    settings.cluster.namespaces.len() as u64 * WATCHES + OTHERS
}

/// Raises the soft limit to the hard one. systemd's soft limit is 1024, for programs that use
/// select(2), which the daemon does not. Returns the limit.
pub fn raise() -> nix::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard)
}

/// Raises the limit, and logs a warning where it is not enough for these settings.
pub fn prepare(settings: &Settings) {
    let needed = needed(settings);
    match raise() {
        Ok(limit) if limit >= needed => {}
        Ok(limit) => tracing::warn!(
            "the daemon may open {limit} files and needs {needed} for the watches of {} namespaces: raise LimitNOFILE= of \
             its unit, or name its namespaces by namespace-selector",
            settings.cluster.namespaces.len()
        ),
        Err(error) => tracing::warn!(
            "the daemon cannot raise the limit of its open files ({error}) and may need {needed}: set LimitNOFILE= of its unit"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_highest_that_the_host_allows() {
        let limit = raise().unwrap();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (limit, limit));
    }
}
