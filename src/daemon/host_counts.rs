//! Hosts, each with the number of objects that have it, so that it is known without a look at all
//! objects whether a host comes or goes.

use std::collections::HashMap;
use std::sync::Arc;

/// The hosts of objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCounts(HashMap<Arc<str>, usize>);

impl HostCounts {
    /// Adds the hosts of an object.
    pub fn add(&mut self, hosts: &[Arc<str>]) {
        for host in hosts {
            *self.0.entry(Arc::clone(host)).or_default() += 1;
        }
    }

    /// Takes the hosts of an object out that were added. Returns those that no object has any
    /// more.
    pub fn take_out<'h>(&mut self, hosts: &'h [Arc<str>]) -> Vec<&'h Arc<str>> {
        let gone = hosts.iter().filter(|host| {
            let left = self.0.get_mut(*host).map(|count| {
                *count -= 1;
                *count
            });
            left == Some(0) && self.0.remove(*host).is_some()
        });
        gone.collect()
    }

    /// Whether an object has this host.
    pub fn has(&self, host: &str) -> bool {
        self.0.contains_key(host)
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
