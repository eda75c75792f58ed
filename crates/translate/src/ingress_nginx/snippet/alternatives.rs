//! Names the alternatives to a snippet, directive by directive. It must not know whether the
//! snippet is allowed.

use std::collections::BTreeSet;

use super::{directives, refused};
use crate::SnippetKind;
use crate::annotation::Table;
use crate::value::excerpt;
use ingressd_model::language::syntax::{self, Directive};

/// The most alternatives for one snippet.
const MOST: usize = 12;

/// What does the same as a snippet about TCP and UDP services.
const OF_STREAMS: &str = "the ConfigMaps of TCP and UDP services and the keys proxy-stream-*, or a snippet that the \
    administrator allows, with its ports (snippets.allowed)";

/// One clause for each directive of the snippet under this key, with keys of this table; or what
/// is wrong with the snippet as a whole.
pub fn alternatives(table: &Table, key: &str, text: &str) -> Vec<String> {
    let tree = match syntax::parse(text.as_bytes()) {
        Ok(_) if key == SnippetKind::Stream.name() => return vec![OF_STREAMS.to_owned()],
        Ok(tree) => tree,
        Err(error) => return vec![format!("it is not valid configuration of nginx: {error}")],
    };
    let (mut reported, mut clauses) = (BTreeSet::new(), Vec::new());
    collect(&tree, table, &mut reported, &mut clauses);
    clauses.truncate(MOST);
    clauses
}

fn collect(tree: &[Directive], table: &Table, reported: &mut BTreeSet<String>, clauses: &mut Vec<String>) {
    for directive in tree {
        if reported.insert(directive.name.clone()) {
            clauses.push(clause(table, &directive.name));
        }
        collect(directive.children(), table, reported, clauses);
    }
}

fn clause(table: &Table, name: &str) -> String {
    let annotation = |instead: &str| match table.find(instead) {
        Some(_) => format!("the annotation {instead}"),
        None => instead.to_owned(),
    };
    match (directives::find(name), refused::find(name)) {
        (Some(allowed), _) if allowed.instead.starts_with("nothing") => {
            format!("{name}: only a snippet, which the administrator may allow (snippets.allowed)")
        }
        (Some(allowed), _) => {
            format!(
                "{name}: {}, or a snippet that the administrator allows \
                (snippets.allowed)",
                annotation(allowed.instead)
            )
        }
        (None, Some((_, _, "nothing"))) => format!("{name}: nothing"),
        (None, Some((_, refused::LUA, instead))) => format!("{name}: Lua is not run; instead: {}", annotation(instead)),
        (None, Some((_, _, instead))) => format!("{name}: {}", annotation(instead)),
        (None, None) => format!("{}: no replacement is known", excerpt(name)),
    }
}
