//! A schema with its streams and columns numbered, as shredding and assembling walk it.
//!
//! ```text
//!   $ object ─┬─ id    number           stream 0
//!             ├─ x     array ── []      stream 1          (of x itself none: it is always an array with elements)
//!             └─ name  string | object  stream 2, and 3 of name.first; name's streams are 2..4
//! ```
//!
//! Streams are numbered parents first, so that those of a subtree lie side by side and its own is the first.

use std::ops::Range;

use crate::document::levels::{Level, Tag};
use crate::document::schema::{DocumentSchema, Node};
use crate::document::text::{compare_keys, quote};

/// Rows between two places of a stream that are known, so that a row is found without reading those before it.
pub(crate) const SKIP_ROWS: usize = 1_024;
/// The same of a stream with arrays, which has any number of levels for a row.
pub(crate) const ARRAY_SKIP_ROWS: usize = 128;

/// A numbered schema.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) root: PlanNode,
    pub(crate) streams: Vec<StreamPlan>,
}

/// One path.
#[derive(Debug)]
pub(crate) struct PlanNode {
    /// Steps from the document.
    pub(crate) depth: usize,
    /// Arrays around it.
    pub(crate) arrays: usize,
    /// Whether the first of its streams is its own.
    pub(crate) has_stream: bool,
    /// The streams of this path and all below it.
    pub(crate) streams: Range<usize>,
    pub(crate) members: Vec<Member>,
    pub(crate) rest: Option<Box<PlanNode>>,
    pub(crate) element: Option<Box<PlanNode>>,
    /// Whether objects are among its values.
    pub(crate) has_objects: bool,
}

/// A member of objects.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Box<str>,
    /// The name as it is written before a value.
    pub(crate) quoted: Box<[u8]>,
    pub(crate) node: PlanNode,
}

/// One stream of levels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamPlan {
    /// The kinds of values at its path.
    pub(crate) branches: u16,
    /// The depth of the outermost array around it.
    pub(crate) first_array: Option<usize>,
    pub(crate) depth: usize,
}

impl StreamPlan {
    pub(crate) fn has(&self, tag: Tag) -> bool {
        self.branches & tag.bit() != 0
    }

    /// Rows between two places that are known.
    pub(crate) fn skip_rows(&self) -> usize {
        if self.first_array.is_some() { ARRAY_SKIP_ROWS } else { SKIP_ROWS }
    }

    /// Whether all its levels may have this code.
    pub(crate) fn may_be_all(&self, code: u16) -> bool {
        match Level::of_code(code) {
            Some(Level::Tag(tag)) => self.has(tag) && self.first_array.is_none(),
            Some(Level::Stop(depth)) => depth <= self.first_array.unwrap_or(self.depth),
            Some(Level::End(_)) | None => false,
        }
    }
}

/// Where a path lies.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    arrays: usize,
    first_array: Option<usize>,
}

impl Plan {
    pub(crate) fn new(schema: &DocumentSchema) -> Plan {
        let mut streams = Vec::new();
        let place = Place { depth: 0, arrays: 0, first_array: None };
        let root = PlanNode::new(&schema.root, place, &mut streams);
        Plan { root, streams }
    }

    /// About how many bytes it has in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<StreamPlan>() + self.root.memory_bytes()
    }
}

impl PlanNode {
    fn new(node: &Node, place: Place, streams: &mut Vec<StreamPlan>) -> PlanNode {
        let Place { depth, arrays, first_array } = place;
        let start = streams.len();
        if node.has_stream() {
            streams.push(StreamPlan { branches: node.branches, first_array, depth });
        }
        let below = Place { depth: depth + 1, ..place };
        let member = |name: &str, node: &Node, streams: &mut Vec<StreamPlan>| {
            let mut quoted = Vec::with_capacity(name.len() + 4);
            quote(name, &mut quoted);
            quoted.extend_from_slice(b": ");
            Member { name: name.into(), quoted: quoted.into(), node: PlanNode::new(node, below, streams) }
        };
        let members = node.members.iter().map(|(name, node)| member(name, node, streams)).collect();
        let rest_node = Node { branches: Tag::Raw.bit(), ..Node::default() };
        let rest = node.has_rest.then(|| Box::new(PlanNode::new(&rest_node, below, streams)));
        let within = Place { depth: depth + 1, arrays: arrays + 1, first_array: first_array.or(Some(depth)) };
        let element = node.element.as_ref().map(|element| Box::new(PlanNode::new(element, within, streams)));
        PlanNode {
            depth,
            arrays,
            has_stream: node.has_stream(),
            streams: start..streams.len(),
            members,
            rest,
            element,
            has_objects: node.has(Tag::Object),
        }
    }

    /// The member of a name: members are in the order of their keys.
    pub(crate) fn member(&self, name: &str) -> Option<&PlanNode> {
        let found = self.members.binary_search_by(|member| compare_keys(&member.name, name));
        found.ok().map(|at| &self.members[at].node)
    }

    fn memory_bytes(&self) -> usize {
        let of_member = |member: &Member| {
            member.name.len() + member.quoted.len() + size_of::<Member>() + member.node.memory_bytes()
        };
        let below = |node: &PlanNode| size_of::<PlanNode>() + node.memory_bytes();
        let members: usize = self.members.iter().map(of_member).sum();
        members + self.rest.iter().chain(&self.element).map(|node| below(node)).sum::<usize>()
    }

    /// The streams of what lies below this path.
    pub(crate) fn below(&self) -> Range<usize> {
        self.streams.start + usize::from(self.has_stream)..self.streams.end
    }

    /// The streams of members of its objects, the rest included.
    pub(crate) fn of_members(&self) -> Range<usize> {
        let below = self.below();
        below.start..self.element.as_ref().map_or(below.end, |element| element.streams.start)
    }
}
