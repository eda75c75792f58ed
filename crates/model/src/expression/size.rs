//! Estimates the size of a compiled expression in PCRE.

use super::tree::Node;

/// The compiled size in bytes, without the header that each expression has.
pub fn size(node: &Node) -> u64 {
    match node {
        Node::Set(set) => match set.iter().nth(2) {
            // A letter in both cases, or a byte.
            None => 2,
            Some(_) => 33,
        },
        Node::Place | Node::End => 1,
        Node::Sequence(nodes) => nodes.iter().map(size).fold(0, u64::saturating_add),
        Node::Choice(nodes) => nodes.iter().map(|node| size(node).saturating_add(3)).fold(6, u64::saturating_add),
        Node::Capture(node) => size(node).saturating_add(8),
        Node::Look(node) | Node::Atomic(node) => size(node).saturating_add(6),
        Node::Repeat { node, least, most } => match **node {
            Node::Set(_) if Some(*least) != *most && *least > 0 => size(node) * 2 + 6,
            Node::Set(_) => size(node) + 6,
            // Groups are copied for each repetition.
            _ => {
                let copies = most.unwrap_or(*least).max(1);
                size(node).saturating_add(9).saturating_mul(u64::from(copies))
            }
        },
    }
}
