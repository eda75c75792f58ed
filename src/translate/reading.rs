//! What the annotations of one Ingress ask for, typed; it must not know paths, hosts or backends.

use std::sync::Arc;

use super::Canary;
use crate::finding::Finding;
use crate::model::{Behaviour, PasswordFile, Protocol, RedirectUrl, RewriteTarget};

/// The annotations of one object after every value was proven.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// What applies to every route of the object as it stands. `rewrite` is always `None` here: it needs the path.
    pub behaviour: Behaviour,
    /// Paths of the object are regular expressions.
    pub use_regex: bool,
    /// Paths are replaced by this before the request goes to the backend.
    pub rewrite_target: Option<RewriteTarget>,
    /// How backends are spoken to; `None` follows the Service's `appProtocol`, then HTTP.
    pub protocol: Option<Protocol>,
    /// All requests are redirected instead of being sent to a backend.
    pub redirect: Option<(u16, RedirectUrl)>,
    /// The object takes some of the requests for the paths of another one.
    pub canary: Option<Arc<Canary>>,
    /// The password file that `behaviour.basic_authentication` names.
    pub password_file: Option<Arc<PasswordFile>>,
    /// Something that protects the routes is wrong: they answer 503. The finding says what.
    pub closed: bool,
    /// The object version cannot be served as written.
    pub refused: bool,
    /// What is wrong with the values.
    pub findings: Vec<Finding>,
}
