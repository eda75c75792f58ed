//! The syntax tree of an expression.

use super::bytes::Bytes;

/// A node of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// One byte of this set.
    Set(Bytes),
    /// Nothing, or an assertion such as `\b` that matches no byte.
    Place,
    /// The end of the subject, or before its last newline.
    End,
    /// One node after the other.
    Sequence(Vec<Node>),
    /// Alternatives, tried in order.
    Choice(Vec<Node>),
    /// A capturing group.
    Capture(Box<Node>),
    /// A look-around assertion, which matches no byte.
    Look(Box<Node>),
    /// An atomic group or possessive quantifier, which gives nothing back.
    Atomic(Box<Node>),
    /// A repetition, greedy or lazy.
    Repeat {
        /// The repeated node.
        node: Box<Node>,
        least: u32,
        /// The most repetitions; `None` means unlimited.
        most: Option<u32>,
    },
}

impl Node {
    /// The number of bytes that it matches, when that is constant.
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

    /// Whether a capturing group is in it.
    pub fn captures(&self) -> bool {
        matches!(self, Node::Capture(_)) || self.children().iter().any(Node::captures)
    }

    /// Whether two capturing groups may hold the same part of a text: one is within the other, or
    /// in a look-around assertion.
    pub fn captures_twice(&self) -> bool {
        let is_around = matches!(self, Node::Capture(_) | Node::Look(_));
        let mut children = self.children().iter();
        children.any(|child| child.captures_twice() || (is_around && child.captures()))
    }

    fn children(&self) -> &[Node] {
        match self {
            Node::Set(_) | Node::Place | Node::End => &[],
            Node::Sequence(nodes) | Node::Choice(nodes) => nodes,
            Node::Capture(node) | Node::Look(node) | Node::Atomic(node) | Node::Repeat { node, .. } => {
                std::slice::from_ref(node)
            }
        }
    }

    /// The sets of the first bytes that it matches, as far as each is certain to come.
    pub fn beginning(&self, longest: usize) -> Vec<Bytes> {
        let mut sets = Vec::new();
        self.begin(longest, &mut sets);
        sets
    }

    /// Whether only a slash or the end can follow the bytes that are certain to come first.
    pub fn begins_with_elements(&self, longest: usize) -> bool {
        let nodes = match self {
            Node::Sequence(nodes) => nodes,
            other => std::slice::from_ref(other),
        };
        let is_literal =
            |node: &&Node| matches!(node, Node::Place) || matches!(node, Node::Set(set) if set.letter().is_some());
        let literal = nodes.iter().take_while(is_literal).count();
        let bytes = nodes[..literal].iter().filter(|node| matches!(node, Node::Set(_))).count();
        // Further certain bytes may be within a group.
        self.beginning(longest).iter().map_while(Bytes::letter).count() == bytes && is_boundary(&nodes[literal..])
    }

    /// Whether it is a slash, the end, or begins with one of them.
    fn is_boundary(&self) -> bool {
        match self {
            Node::End => true,
            Node::Choice(nodes) => nodes.iter().all(Node::is_boundary),
            Node::Capture(node) | Node::Atomic(node) => node.is_boundary(),
            Node::Sequence(nodes) => is_boundary(nodes),
            other => other.beginning(1).first().and_then(Bytes::letter) == Some(b'/'),
        }
    }

    /// Adds the sets of the first bytes; `false` when it is not certain that what follows is next.
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

/// Whether these nodes, one after the other, begin with a slash or are at the end.
fn is_boundary(nodes: &[Node]) -> bool {
    match nodes {
        [Node::Place | Node::Look(_), rest @ ..] => is_boundary(rest),
        [Node::Repeat { node, least: 0, .. }, rest @ ..] => node.is_boundary() && is_boundary(rest),
        [first, ..] => first.is_boundary(),
        [] => false,
    }
}
