//! What no object asks for: the health check, and the parts of routes that the settings ask for.

use std::sync::Arc;

use crate::Dialect;
use crate::read::path;
use ingressd_model::{Action, Kind, ObjectId, Origin, PathMatch, Route, UrlPath};

/// The health check of load balancers, on hosts that no object names.
pub fn health(dialect: &Dialect) -> Option<Route> {
    let path = UrlPath::new(dialect.health?).ok()?;
    let (path, action) = (PathMatch::Exact { path, redirect_to_slash: false }, Action::Respond { status: 200 });
    Some(Route::plain(Origin::object(&settings()), path, action))
}

/// What asks for routes of the settings.
pub fn settings() -> Arc<ObjectId> {
    Arc::new(ObjectId::new(Kind::SETTINGS, "", "default-backend"))
}

/// All paths.
pub fn root() -> Option<PathMatch> {
    Some(PathMatch::Prefix { path: path::read(None).ok()?, redirect_to_slash: false })
}
