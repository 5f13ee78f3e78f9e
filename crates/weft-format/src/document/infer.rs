//! Learns the schema of a stretch of documents, and decides which paths become columns.
//!
//! ```text
//!   8192 documents ──▶ all paths, with counts ──▶ without rare ones ──▶ at most so many columns, and levels
//!                                                  └── their members are kept as text, in the rest of their object
//! ```
//!
//! Rare paths are left out because real documents have data as keys (a hundred thousand paths, each in one document),
//! and a column that hardly ever has a value costs more than the text does.
//!
//! 1. Every document that is not odd fits the schema that is learned: a path that is there has every kind of value that
//!    was seen at it, from its first occurrence on.
//! 2. What is learned is bounded, whatever the documents are. An object used as a map is noticed after some of its
//!    values, and closed: names that are data go to its rest from then on, and are not learned again (else 1 would
//!    not hold).

use crate::document::decimal::Number;
use crate::document::levels::{DEPTH_MAX, Tag};
use crate::document::limit::limit;
use crate::document::schema::{DocumentSchema, Names, Node};
use crate::document::text::{Part, Walker, unescaped};

/// An object with fewer names is not looked at as a map.
const MAP_NAMES_MIN: usize = 256;
/// Nor one that was seen less often.
const MAP_VALUES_MIN: u64 = 128;
/// A name that fewer than one in so many of its values have is data, when most are.
const MAP_ONE_IN: u64 = 64;

/// Learns the schema of documents, one after the other.
#[derive(Default)]
pub(crate) struct Learner {
    pub(crate) schema: DocumentSchema,
    names: Names,
}

impl Learner {
    /// Takes in a document; None when it is not canonical.
    pub(crate) fn learn(&mut self, text: &str) -> Option<()> {
        let mut walker = Walker::new(text);
        learn(&mut self.schema.root, &mut walker, 0, &mut self.names).filter(|()| walker.is_at_end())
    }
}

/// The schema of documents, and which of them are not canonical: these are kept as texts.
pub(crate) fn infer<'a>(
    texts: impl Iterator<Item = Option<&'a str>>,
    columns_max: usize,
) -> (DocumentSchema, Vec<bool>) {
    let mut learner = Learner::default();
    let mut odd = Vec::new();
    for text in texts {
        let learned = text.map_or(Some(()), |text| learner.learn(text));
        if learned.is_none() {
            learner.schema.root.branches |= Tag::Raw.bit();
        }
        odd.push(learned.is_none());
    }
    let mut schema = learner.schema;
    limit(&mut schema.root, odd.len() as u64, columns_max);
    schema.root.open();
    (schema, odd)
}

/// Takes in one value; None when it is not canonical.
fn learn(node: &mut Node, walker: &mut Walker<'_>, depth: usize, names: &mut Names) -> Option<()> {
    node.count += 1;
    let mut ahead = *walker;
    let tag = match ahead.part()? {
        Part::Object if ahead.key(true)?.is_none() => Tag::EmptyObject,
        Part::Array if !ahead.element(true)? => Tag::EmptyArray,
        Part::Object | Part::Array if depth == DEPTH_MAX => {
            walker.skip()?;
            node.branches |= Tag::Raw.bit();
            return Some(());
        }
        Part::Object => {
            node.branches |= Tag::Object.bit();
            walker.part()?;
            return learn_members(node, walker, depth, names);
        }
        Part::Array => {
            node.branches |= Tag::Array.bit();
            walker.part()?;
            let element = node.element.get_or_insert_default();
            let mut is_first = true;
            while walker.element(std::mem::take(&mut is_first))? {
                learn(element, walker, depth + 1, names)?;
            }
            return Some(());
        }
        Part::Null => Tag::Null,
        Part::Bool(true) => Tag::True,
        Part::Bool(false) => Tag::False,
        Part::String(_) => Tag::String,
        Part::Number(text) => match Number::parse(text)? {
            Number::Small(_) => Tag::Number,
            Number::Numeral => Tag::Numeral,
        },
    };
    node.branches |= tag.bit();
    *walker = ahead;
    Some(())
}

/// Takes in the members of an object that is open.
fn learn_members(node: &mut Node, walker: &mut Walker<'_>, depth: usize, names: &mut Names) -> Option<()> {
    let (mut next, mut is_first) = (0, true);
    let mut last: Option<&str> = None;
    while let Some(quoted) = walker.key(std::mem::take(&mut is_first))? {
        let name = unescaped(quoted)?;
        let follows = last.is_none_or(|last| is_before(last, quoted, &name));
        if !follows {
            return None;
        }
        last = Some(quoted);
        match names.place(node, next, &name) {
            Some(at) => {
                learn(&mut node.members[at].1, walker, depth + 1, names)?;
                next = at + 1;
            }
            None => {
                walker.skip()?;
                node.has_rest = true;
                next = node.members.partition_point(|(known, _)| super::text::compare_keys(known, &name).is_lt());
            }
        }
    }
    if node.count.is_power_of_two() {
        close_map(node);
    }
    Some(())
}

/// Whether a quoted key comes before another.
fn is_before(last: &str, quoted: &str, name: &str) -> bool {
    if last.contains('\\') || quoted.contains('\\') {
        return unescaped(last).is_some_and(|last| super::text::compare_keys(&last, name).is_lt());
    }
    super::text::compare_keys(last, quoted).is_lt()
}

/// Closes an object whose keys are data: names that came once are forgotten, and new ones are not looked at any more
/// (2).
fn close_map(node: &mut Node) {
    if node.is_closed || node.members.len() < MAP_NAMES_MIN || node.count < MAP_VALUES_MIN {
        return;
    }
    let is_rare = |member: &Node| member.count * MAP_ONE_IN < node.count;
    let rare = node.members.iter().filter(|(_, member)| is_rare(member)).count();
    if rare * 2 > node.members.len() {
        let count = node.count;
        node.members.retain(|(_, member)| member.count * MAP_ONE_IN >= count);
        node.is_closed = true;
        node.has_rest = true;
    }
}
