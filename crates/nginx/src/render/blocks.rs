//! Decides which hosts share a `server` block, and remembers the blocks of the previous call.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::engine::Engine;
use super::file_set::{File, FilePath};
use super::lower::{self, Digests, Facts, Likeness};
use super::memory::ByAddress;
use super::names;
use ingressd_model::{Server, UpstreamId};

/// The fewest hosts that share a block. With fewer, sharing gains too little for a file with
/// several hosts.
const FEWEST: usize = 16;

/// The most hosts that share a block. Each block has a `map`, for which nginx clears 0.7 MB in
/// every reload; but a change of one host rewrites the block, and a `map` of the default size
/// gives no warning below about 130 names.
const MOST: usize = 120;

/// Blocks with the hosts that they were rendered from.
#[derive(Debug, Default)]
pub struct Blocks {
    likenesses: ByAddress<Server, Option<Likeness>>,
    made: HashMap<FilePath, Block>,
}

#[derive(Debug)]
struct Block {
    servers: Vec<Arc<Server>>,
    /// The prefix of its variables.
    variables: String,
    /// `None` when these servers cannot share a block, which would be a fault of the program.
    file: Option<Arc<File>>,
}

/// Servers that share a block, with the prefix of the block's variables.
type SharedServers = (String, Vec<Arc<Server>>);

impl Blocks {
    /// Adds the blocks of servers that are alike, and returns the other servers in order. `anew`
    /// counts the blocks that were made.
    pub fn render(
        &mut self,
        servers: Vec<Arc<Server>>,
        facts: &Facts<'_>,
        engine: &Engine,
        files: &mut Vec<(FilePath, Arc<File>)>,
        anew: &mut usize,
    ) -> Vec<Arc<Server>> {
        if servers.len() < FEWEST || !facts.decisions.shared_servers {
            *self = Blocks::default();
            return servers;
        }
        let digests = Digests::default();
        let likeness = |server: &Server| lower::likeness(server, facts, engine, &digests);
        let wanted = wanted(self.likenesses.recall(&servers, likeness, &mut 0));
        let mut before = std::mem::take(&mut self.made);
        let make = |(path, (variables, servers)): (FilePath, SharedServers)| {
            let references: Vec<_> = servers.iter().map(|server| &**server).collect();
            let file = lower::block(&references, &variables, facts, engine).ok().map(Arc::new);
            (path, Block { servers, variables, file })
        };
        let (kept, new): (Vec<_>, Vec<_>) = wanted
            .into_iter()
            .partition(|(path, (_, servers))| before.get(path).is_some_and(|block| same(&block.servers, servers)));
        *anew += new.len();
        self.made = new.into_par_iter().map(make).collect();
        self.made.extend(kept.into_iter().filter_map(|(path, _)| before.remove_entry(&path)));
        let shared: HashSet<_> = self
            .made
            .values()
            .filter(|block| block.file.is_some())
            .flat_map(|block| &block.servers)
            .map(place)
            .collect();
        let made = self
            .made
            .iter()
            .filter_map(|(path, block)| Some((FilePath::clone(path), Arc::clone(block.file.as_ref()?))));
        files.extend(made);
        servers.into_iter().filter(|server| !shared.contains(&place(server))).collect()
    }

    /// Drops what was made of such servers.
    pub fn forget(&mut self, of: impl Fn(&Server) -> bool) {
        self.made.retain(|_, block| !block.servers.iter().any(|server| of(server)));
        self.likenesses.forget(of);
    }

    /// Adds the tables of hosts of the last blocks that have an upstream without endpoints.
    pub fn render_tables(&self, empty: &HashSet<&UpstreamId>, engine: &Engine, files: &mut Vec<(FilePath, Arc<File>)>) {
        let written = self.made.values().filter(|block| block.file.is_some() && !empty.is_empty());
        let written: Vec<_> = written.collect();
        let of_block = |block: &&Block| {
            let servers: Vec<_> = block.servers.iter().map(|server| &**server).collect();
            lower::empty_hosts(&servers, &block.variables, empty, engine)
        };
        files.par_extend(written.par_iter().flat_map_iter(of_block));
    }
}

fn place(server: &Arc<Server>) -> usize {
    Arc::as_ptr(server).addr()
}

fn same(one: &[Arc<Server>], other: &[Arc<Server>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

/// Groups servers by the file of the block that they share.
fn wanted<'a>(
    servers: impl Iterator<Item = (&'a Arc<Server>, &'a Option<Likeness>)>,
) -> HashMap<FilePath, SharedServers> {
    let mut alike: BTreeMap<&str, Vec<(&Arc<Server>, u32)>> = BTreeMap::new();
    for (server, likeness) in servers {
        if let Some(likeness) = likeness {
            alike.entry(&likeness.digest).or_default().push((server, likeness.spread));
        }
    }
    let mut wanted: HashMap<FilePath, SharedServers> = HashMap::new();
    for (likeness, servers) in alike {
        wanted.extend(parts(servers).into_iter().map(|(part, servers)| {
            let servers = servers.into_iter().map(|(server, _)| Arc::clone(server)).collect();
            (names::block_file(likeness, part), (names::block_variables(likeness, part), servers))
        }));
    }
    wanted
}

/// Divides hosts that are alike, by their hashes, into numbered parts of [`FEWEST`] to [`MOST`].
/// Only a part that has more is divided, so a further host moves none outside of its part. Names
/// that somebody chose by their hashes may not fit into any part.
fn parts<T>(hosts: Vec<(T, u32)>) -> Vec<(u64, Vec<(T, u32)>)> {
    let mut parts = Vec::new();
    let mut open = vec![(1, 0, hosts)];
    while let Some((number, bit, hosts)) = open.pop() {
        if hosts.len() <= MOST || bit == u32::BITS {
            parts.push((number, hosts));
            continue;
        }
        let (ones, zeros) = hosts.into_iter().partition(|(_, spread)| spread >> bit & 1 == 1);
        open.extend([(number * 2, bit + 1, zeros), (number * 2 + 1, bit + 1, ones)]);
    }
    parts.retain(|(_, hosts)| (FEWEST..=MOST).contains(&hosts.len()));
    parts
}

#[cfg(test)]
mod tests;
