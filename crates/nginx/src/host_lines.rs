//! What nginx.conf of the host says outside of servers, line by line.

use std::fmt;

use super::syntax::Directive;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostBlock {
    /// Outside of every block.
    Main,
    /// In the block `events`.
    Events,
    /// In the block `http`, outside of its servers.
    Http,
}

impl fmt::Display for HostBlock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            HostBlock::Main => "outside of every block",
            HostBlock::Events => "in the block events",
            HostBlock::Http => "in the block http",
        })
    }
}

/// A directive without a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLine {
    /// The file and line, for messages.
    pub place: String,
    /// Where in it.
    pub block: HostBlock,
    /// The directive.
    pub name: String,
    /// What is behind its name.
    pub arguments: Vec<String>,
}

impl HostLine {
    /// A directive of this file; `None` for one with a block, and for an `include` that is not
    /// followed.
    pub(super) fn of(block: HostBlock, path: &str, directive: &Directive) -> Option<Self> {
        (directive.block.is_none() && directive.name != "include").then(|| HostLine {
            place: format!("{path}:{}", directive.line),
            block,
            name: directive.name.clone(),
            arguments: directive.arguments.clone(),
        })
    }
}
