//! The last stage: what belongs to the whole model and to no host.

pub mod left_out;
pub mod states;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::admit::admitted::Admitted;
use super::{ClientRule, Options};
use ingressd_model::{Authority, Listener, Passthrough, PasswordFile};

/// The listeners of hosts.
pub fn listeners(options: &Options, passed: &[Passthrough]) -> Vec<Listener> {
    let all = options.listeners.all();
    if passed.is_empty() { all } else { all.into_iter().map(Listener::passing).collect() }
}

/// The password files of these objects.
pub fn password_files(objects: &[Admitted<'_>]) -> Vec<Arc<PasswordFile>> {
    let files = objects.iter().filter_map(|object| object.policy.reading.password_file.as_ref());
    let by_id: BTreeMap<_, _> = files.map(|file| (&file.id, file)).collect();
    by_id.into_values().map(Arc::clone).collect()
}

/// The authorities by which these objects check clients and backends.
pub fn authorities(objects: &[Admitted<'_>]) -> Vec<Arc<Authority>> {
    let of_clients = objects.iter().filter_map(|object| match &object.policy.reading.host.client_rule {
        Some(ClientRule::Good(rule)) => Some(&rule.authority),
        Some(ClientRule::Broken) | None => None,
    });
    let of_backends =
        objects.iter().filter_map(|object| object.policy.reading.backend_tls.as_ref()?.authority.as_ref());
    let by_id: BTreeMap<_, _> = of_clients.chain(of_backends).map(|authority| (&authority.id, authority)).collect();
    by_id.into_values().map(Arc::clone).collect()
}
