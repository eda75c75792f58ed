//! Which route a line is about, by the host that the client asked for and the number that nginx
//! writes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::daemon::explain::{InForce, matches_host};
use ingressd_model::{Route, Server, ServerName};

/// Where a request came.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'t> {
    pub server: &'t Server,
    /// `None` where nginx answered before it looked for one.
    pub route: Option<&'t Route>,
}

/// The hosts of the generation in force.
#[derive(Debug)]
pub struct Table {
    in_force: Arc<InForce>,
    exact: HashMap<Arc<str>, usize>,
    wildcards: HashMap<Arc<str>, usize>,
    /// In the order in which nginx tries them.
    expressions: Vec<usize>,
    rest: Option<usize>,
    found: Mutex<Found>,
}

/// How many expressions are compared at a time: each is read anew, and whoever sends requests
/// chooses the hosts. Beyond it, and for further hosts, it is not known who takes a request.
const MOST_COMPARED: usize = 2000;

/// Of how many hosts it is remembered which expression takes them.
const MOST_FOUND: usize = 1000;

#[derive(Debug, Default)]
struct Found {
    by_host: HashMap<Box<str>, Option<usize>>,
    compared: usize,
}

impl Table {
    pub fn of(in_force: Arc<InForce>) -> Self {
        let (mut exact, mut wildcards, mut expressions, mut rest) = (HashMap::new(), HashMap::new(), Vec::new(), None);
        for (number, server) in in_force.servers().iter().enumerate() {
            match &server.name {
                ServerName::Exact(host) => drop(exact.insert(host.text(), number)),
                ServerName::Wildcard(host) => drop(wildcards.insert(host.text(), number)),
                ServerName::Expression(_) => expressions.push(number),
                ServerName::CatchAll => rest = Some(number),
            }
        }
        expressions.sort_by_key(|number| in_force.servers()[*number].order);
        Table { in_force, exact, wildcards, expressions, rest, found: Mutex::default() }
    }

    /// Begins with further lines.
    pub fn begin(&self) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).compared = 0;
    }

    /// Whether it was made of this.
    pub fn is_of(&self, in_force: &Arc<InForce>) -> bool {
        Arc::ptr_eq(&self.in_force, in_force)
    }

    /// The host, and its route with this number; `None` where no host of ours takes it.
    pub fn destination(&self, host: &str, number: Option<usize>) -> Option<Destination<'_>> {
        let server = self.server(host)?;
        Some(Destination { server, route: number.and_then(|number| server.all_routes().nth(number)) })
    }

    fn server(&self, host: &str) -> Option<&Server> {
        let servers = self.in_force.servers();
        let parent = host.split_once('.').map_or("", |(_, parent)| parent);
        let number = self.exact.get(host).or_else(|| self.wildcards.get(parent));
        let number = match number.copied() {
            None if !self.expressions.is_empty() => self.by_expression(host)?,
            number => number,
        };
        number.or(self.rest).map(|number| &*servers[number])
    }

    /// The first host that is an expression which takes this one; `None` where that is not known.
    fn by_expression(&self, host: &str) -> Option<Option<usize>> {
        let matches = |number: &&usize| match &self.in_force.servers()[**number].name {
            ServerName::Expression(source) => matches_host(source.as_str(), host) == Some(true),
            _ => false,
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.look(host, self.expressions.len(), || self.expressions.iter().find(matches).copied())
    }
}

impl Found {
    /// What is known of this host, or what comparing it with so many expressions finds.
    fn look(&mut self, host: &str, cost: usize, find: impl FnOnce() -> Option<usize>) -> Option<Option<usize>> {
        if let Some(known) = self.by_host.get(host) {
            return Some(*known);
        }
        if self.compared >= MOST_COMPARED {
            return None;
        }
        self.compared += cost;
        let number = find();
        if self.by_host.len() < MOST_FOUND {
            self.by_host.insert(host.into(), number);
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_sends_requests_for_ever_other_hosts_causes_few_comparisons() {
        let (mut found, mut compared) = (Found::default(), 0);
        for number in 0..10 * MOST_COMPARED {
            found.look(&number.to_string(), 100, || {
                compared += 100;
                None
            });
        }
        assert_eq!((compared, found.by_host.len()), (MOST_COMPARED, MOST_COMPARED / 100));
        assert_eq!(found.look("0", 100, || Some(7)), Some(None), "what was found is known");
        assert_eq!(found.look("new", 100, || Some(7)), None);
        found.compared = 0;
        assert_eq!(found.look("new", 100, || Some(7)), Some(Some(7)));
    }
}
