//! Keeps the claims on hosts and paths on disk, for the next start.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::state_file;
use ingressd_translate::{ClaimLine, Claims};

/// The file in the state folder.
const FILE: &str = "claims.json";

/// Reads the claims of an earlier run. Damage is logged as a warning; then the creation dates of
/// objects decide.
///
/// # Errors
///
/// When there may be claims that cannot be read now.
pub fn kept_in(state: &Path) -> io::Result<Arc<Claims>> {
    let file = state.join(FILE);
    let ignored = "the claims on hosts of the last run are ignored, and the dates of objects decide";
    let lines: Option<Vec<ClaimLine<'_>>> = state_file::read_kept(&file, ignored)?;
    Ok(lines.map(|lines| Arc::new(Claims::read(lines))).unwrap_or_default())
}

/// Writes the claims so that they survive a power failure; without them the creation dates of
/// objects decide. A failure is logged as a warning.
pub fn keep(state: &Path, claims: &Claims) {
    let file = state.join(FILE);
    if let Err(why) = state_file::write_synced(&file, &claims.write().collect::<Vec<_>>()) {
        tracing::warn!(path = %file.display(), "the claims on hosts cannot be kept for the next start: {}: {why}", file.display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::daemon::certificate;
    use crate::daemon::dns::Dns;
    use crate::daemon::last_good::LastGood;
    use crate::daemon::names::NameWatch;
    use crate::daemon::quarantine::Quarantine;
    use ingressd_config::Resolver;
    use ingressd_translate::Limits;

    #[test]
    fn what_cannot_be_read_now_is_not_taken_to_be_absent() {
        let state = tempfile::tempdir().unwrap();
        keep(state.path(), &Claims::default());
        let before = certificate::kept_in(state.path()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The files that this thread opens are its own, and it opens all that it may.
                nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES).unwrap();
                let held: Vec<_> = std::iter::from_fn(|| std::fs::File::open("/dev/null").ok()).collect();
                assert!(kept_in(state.path()).is_err());
                assert!(certificate::kept_in(state.path()).is_err());
                assert!(Quarantine::open(state.path()).is_err());
                assert!(LastGood::open(state.path(), None).is_err());
                assert!(
                    NameWatch::start(
                        Dns::of(&[Resolver::Server("127.0.0.1:53".parse().unwrap())]),
                        Duration::ZERO,
                        &Limits::default(),
                        state.path()
                    )
                    .is_err()
                );
                drop(held);
            });
        });
        assert_eq!(certificate::kept_in(state.path()).unwrap(), before);
        kept_in(state.path()).unwrap();
    }
}
