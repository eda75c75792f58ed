//! Keeps the claims on hosts and paths on disk, for the next start.

use std::path::Path;
use std::sync::Arc;

use super::state_file;
use crate::translate::Claims;
use crate::translate::claims::Line;

/// The file in the state folder.
const FILE: &str = "claims.json";

/// Reads the claims of an earlier run. A failure is logged as a warning; then the creation dates
/// of objects decide.
pub fn kept_in(state: &Path) -> Arc<Claims> {
    let file = state.join(FILE);
    let read = state_file::read::<Vec<Line<'_>>>(&file).map(|lines| Claims::read(lines.unwrap_or_default()));
    Arc::new(read.unwrap_or_else(|why| {
        tracing::warn!(path = %file.display(), "the claims on hosts of the last run are ignored, and the dates of objects decide: {}: {why}", file.display());
        Claims::default()
    }))
}

/// Writes the claims so that they survive a power failure; without them the creation dates of
/// objects decide. A failure is logged as a warning.
pub fn keep(state: &Path, claims: &Claims) {
    let file = state.join(FILE);
    if let Err(why) = state_file::write_synced(&file, &claims.write().collect::<Vec<_>>()) {
        tracing::warn!(path = %file.display(), "the claims on hosts cannot be kept for the next start: {}: {why}", file.display());
    }
}
