//! What the annotations of one Ingress ask for, typed; it must not know paths, hosts or backends.

use std::sync::Arc;

use super::Canary;
use crate::finding::Finding;
use crate::model::{
    Balance, Behaviour, CookiePath, HeaderName, PasswordFile, Protocol, RedirectUrl, RewriteTarget, SameSite, Text,
};

/// A cookie that keeps clients at one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionWish {
    /// Its name.
    pub name: HeaderName,
    /// For which requests clients send it; `None` follows the path of the route.
    pub path: Option<CookiePath>,
    /// For which hosts.
    pub domain: Option<Text>,
    /// For how many seconds.
    pub max_age: Option<u64>,
    /// Whether other sites' requests carry it.
    pub same_site: Option<SameSite>,
    /// Only by https, whatever the request came by.
    pub always_secure: bool,
    /// Whether clients stay on their side of a canary.
    pub keeps_side: bool,
}

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
    /// How an endpoint of its backends is chosen; `None` takes each in its turn.
    pub balance: Option<Arc<Balance>>,
    /// The cookie of its sessions, but for the path; `path` is the one that the object names, if it does.
    pub session: Option<SessionWish>,
    /// Backends are reached by the cluster address of their Service.
    pub by_cluster_address: bool,
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
