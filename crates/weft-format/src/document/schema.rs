//! The schema of documents, as they themselves tell it: a tree of paths, and what was seen at each.
//!
//! ```text
//!   {"id": 1, "name": "Ann"}                       $ object ─┬─ id    number                      2
//!   {"id": 2, "name": {"first": "Bo"}, "x": [1]}             ├─ x     array ── [] number          1
//!                                                            └─ name  string | object ── first    2
//! ```
//!
//! 1. A schema only grows: [`DocumentSchema::merge`] of two has every path and every branch of both.
//! 2. Members are ordered as jsonb orders keys, by length, then bytes.
//! 3. A path has a stream of levels unless all that was seen there is objects with members, or all is arrays with
//!    elements: then the streams below tell as much.
//! 4. An object that keeps members as text has them in its *rest*, which counts as a member of its own.
//!
//! Source: the tuple compactor's inferred schema, as in Alkowaileet and Carey (VLDB 2022), sections 2.2 and 3.2. There
//! a collection has one schema that each flush extends; here each stretch of rows carries the tree of its own paths, so
//! that nothing has to be taken back when a job fails, and the schema of a file is the merge of those.

use crate::document::levels::{DEPTH_MAX, Tag};
use crate::document::text::compare_keys;
use crate::error::{Error, Result};
use crate::wire::{ByteReader, put_varint};

/// Names that an object's schema has at most; members of other names go to the rest.
const NAMES_MAX: usize = 4_096;
/// Paths that a schema has at most.
const NODES_MAX: usize = 1 << 16;

/// What is known of documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocumentSchema {
    /// The documents themselves.
    pub root: Node,
}

/// What is known of the values at one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// A bit for each [`Tag`] that was seen.
    pub(crate) branches: u16,
    /// How many values there were.
    pub(crate) count: u64,
    /// The members of objects, in the order of their keys.
    pub(crate) members: Vec<(Box<str>, Node)>,
    /// Whether objects have members that are kept as text.
    pub(crate) has_rest: bool,
    /// The elements of arrays.
    pub(crate) element: Option<Box<Node>>,
    /// While it is learned: whether objects take no new names any more.
    pub(crate) is_closed: bool,
}

impl Node {
    /// Whether a value of this kind was seen here.
    pub fn has(&self, tag: Tag) -> bool {
        self.branches & tag.bit() != 0
    }

    /// Everything that was seen here.
    pub fn tags(&self) -> impl Iterator<Item = Tag> {
        Tag::ALL.into_iter().filter(|&tag| self.has(tag))
    }

    /// How many values were seen here.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The members of objects, in the order of their keys.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.members.iter().map(|(name, node)| (&**name, node))
    }

    /// A member of objects.
    pub fn member(&self, name: &str) -> Option<&Node> {
        let found = self.members.binary_search_by(|(known, _)| compare_keys(known, name));
        found.ok().map(|at| &self.members[at].1)
    }

    /// The elements of arrays.
    pub fn element(&self) -> Option<&Node> {
        self.element.as_deref()
    }

    /// Whether the levels of this path are stored (3).
    pub(crate) fn has_stream(&self) -> bool {
        self.branches != Tag::Object.bit() && self.branches != Tag::Array.bit()
    }

    /// How many columns of values, or of levels without values, the path has.
    fn column_count(&self) -> usize {
        let values = Tag::WITH_VALUES.into_iter().filter(|&tag| self.has(tag)).count();
        values.max(usize::from(self.has_stream()))
    }

    fn merge(&mut self, other: &Node) {
        self.branches |= other.branches;
        self.count += other.count;
        self.has_rest |= other.has_rest;
        for (name, node) in &other.members {
            match self.members.binary_search_by(|(known, _)| compare_keys(known, name)) {
                Ok(at) => self.members[at].1.merge(node),
                Err(at) => self.members.insert(at, (name.clone(), node.clone())),
            }
        }
        match (&mut self.element, &other.element) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// Calls `each` with this node and all below it, parents first.
    pub(crate) fn each<'a>(&'a self, each: &mut dyn FnMut(&'a Node)) {
        each(self);
        self.members.iter().for_each(|(_, node)| node.each(each));
        self.element.iter().for_each(|node| node.each(each));
    }

    /// Nothing is learned any more.
    pub(crate) fn open(&mut self) {
        self.is_closed = false;
        self.members.iter_mut().for_each(|(_, node)| node.open());
        self.element.iter_mut().for_each(|node| node.open());
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.branches) << 1 | u64::from(self.has_rest));
        put_varint(out, self.count);
        if self.has(Tag::Object) {
            put_varint(out, self.members.len() as u64);
            for (name, node) in &self.members {
                put_varint(out, name.len() as u64);
                out.extend_from_slice(name.as_bytes());
                node.write(out);
            }
        }
        if let Some(element) = &self.element {
            element.write(out);
        }
    }

    fn read(input: &mut ByteReader<'_>, depth: usize, left: &mut usize) -> Result<Node> {
        let wrong = |what: &str| Err(damaged(what));
        let head = input.varint()?;
        let mut node = Node { branches: (head >> 1) as u16, has_rest: head & 1 == 1, ..Node::default() };
        if head >> 1 >= 1 << Tag::ALL.len() || depth > DEPTH_MAX || *left == 0 {
            return wrong("a path is of no kind, too deep, or one too many");
        }
        *left -= 1;
        node.count = input.varint()?;
        if node.has(Tag::Object) {
            for _ in 0..input.varint()? {
                let len = usize::try_from(input.varint()?).unwrap_or(usize::MAX);
                let name = std::str::from_utf8(input.take(len)?).map_err(|_| damaged("a name is not UTF-8"))?;
                let follows = node.members.last().is_none_or(|(last, _)| compare_keys(last, name).is_lt());
                let member = Node::read(input, depth + 1, left)?;
                if !follows || member.branches == 0 {
                    return wrong("names do not rise, or nothing was seen there");
                }
                node.members.push((name.into(), member));
            }
        }
        if node.has(Tag::Array) {
            node.element = Some(Box::new(Node::read(input, depth + 1, left)?));
        }
        let has_members = !node.members.is_empty() || node.has_rest;
        let has_elements = node.element.as_ref().is_some_and(|element| element.branches != 0);
        if node.has(Tag::Object) != has_members || node.has(Tag::Array) != has_elements {
            return wrong("an object has no members, or an array no elements");
        }
        Ok(node)
    }
}

fn damaged(what: &str) -> Error {
    Error::corrupt(format!("a schema of documents is damaged: {what}"))
}

impl DocumentSchema {
    /// Widens this schema by all that another one has.
    pub fn merge(&mut self, other: &DocumentSchema) {
        self.root.merge(&other.root);
    }

    /// How many columns the documents have.
    pub fn column_count(&self) -> usize {
        let mut count = 0;
        self.root.each(&mut |node| count += node.column_count());
        count
    }

    /// About how many bytes it has in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        let mut bytes = 0;
        self.root.each(&mut |node| {
            bytes += size_of::<Node>();
            bytes += node.members.iter().map(|(name, _)| size_of::<Box<str>>() + name.len()).sum::<usize>();
        });
        bytes
    }

    /// The schema as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.root.write(&mut out);
        out
    }

    /// Reads bytes that may be damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<DocumentSchema> {
        let mut input = ByteReader::new(bytes, damaged);
        let schema = DocumentSchema::read(&mut input)?;
        input.end()?;
        Ok(schema)
    }

    pub(crate) fn read(input: &mut ByteReader<'_>) -> Result<DocumentSchema> {
        Ok(DocumentSchema { root: Node::read(input, 0, &mut { NODES_MAX })? })
    }
}

/// Learns a schema.
#[derive(Default)]
pub(crate) struct Names {
    nodes: usize,
}

impl Names {
    /// The place of a member of an object, looked for from `from` on, where it is as a rule; a new one if it may have
    /// it. Keys come in rising order.
    pub(crate) fn place(&mut self, node: &mut Node, from: usize, name: &str) -> Option<usize> {
        if node.members.get(from).is_some_and(|(known, _)| **known == *name) {
            return Some(from);
        }
        let found = node.members[from..].binary_search_by(|(known, _)| compare_keys(known, name));
        match found {
            Ok(at) => Some(from + at),
            Err(_) if node.is_closed || node.members.len() == NAMES_MAX || self.nodes >= NODES_MAX / 2 => None,
            Err(at) => {
                self.nodes += 1;
                node.members.insert(from + at, (name.into(), Node::default()));
                Some(from + at)
            }
        }
    }
}
