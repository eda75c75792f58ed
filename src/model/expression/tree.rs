//! What an expression is made of.

use super::bytes::Bytes;

/// A part of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// One byte of these.
    Set(Bytes),
    /// Nothing, or a place such as `\b` that takes no byte.
    Place,
    /// The end of the subject, or before its last newline.
    End,
    /// One after the other.
    Sequence(Vec<Node>),
    /// The first that leads on.
    Choice(Vec<Node>),
    /// A group that counts.
    Capture(Box<Node>),
    /// Look-around: takes no byte.
    Look(Box<Node>),
    /// What it took first it keeps: atomic groups and possessive quantifiers.
    Atomic(Box<Node>),
    /// As often as this, greedy or lazy.
    Repeat {
        /// What is repeated.
        node: Box<Node>,
        least: u32,
        /// At most; `None` is without end.
        most: Option<u32>,
    },
}

impl Node {
    /// How many bytes it takes, when that is always as many.
    pub fn length(&self) -> Option<u64> {
        match self {
            Node::Set(_) => Some(1),
            Node::Place | Node::End | Node::Look(_) => Some(0),
            Node::Sequence(nodes) => nodes.iter().map(Node::length).sum(),
            Node::Choice(nodes) => {
                let mut lengths = nodes.iter().map(Node::length);
                let first = lengths.next()??;
                lengths.all(|length| length == Some(first)).then_some(first)
            }
            Node::Capture(node) | Node::Atomic(node) => node.length(),
            Node::Repeat { node, least, most } if Some(*least) == *most => Some(node.length()? * u64::from(*least)),
            Node::Repeat { .. } => None,
        }
    }

    /// The sets of the bytes that it begins with, as far as each is certain to come.
    pub fn beginning(&self, longest: usize) -> Vec<Bytes> {
        let mut sets = Vec::new();
        self.begin(longest, &mut sets);
        sets
    }

    /// Adds to the sets; `false` when what follows is not certain to be next.
    fn begin(&self, longest: usize, sets: &mut Vec<Bytes>) -> bool {
        match self {
            Node::Set(set) => {
                sets.push(*set);
                sets.len() < longest
            }
            Node::Place | Node::End | Node::Look(_) => true,
            Node::Sequence(nodes) => nodes.iter().all(|node| node.begin(longest, sets)),
            Node::Capture(node) | Node::Atomic(node) => node.begin(longest, sets),
            Node::Choice(_) => false,
            Node::Repeat { node, least, most } => {
                (0..*least).all(|_| node.begin(longest, sets)) && Some(*least) == *most
            }
        }
    }
}
