//! Learns the schema of a stretch of documents, and decides which paths become columns.
//!
//! ```text
//!   8192 documents ──▶ all paths, with counts ──▶ without rare ones ──▶ at most so many columns, and levels
//!                                                  └── their members are kept as text, in the rest of their object
//! ```
//!
//! Rare paths are left out because real documents have data as keys (a hundred thousand paths, each in one document),
//! and a column that hardly ever has a value costs more than the text does.

use crate::document::decimal::Number;
use crate::document::levels::{DEPTH_MAX, Tag};
use crate::document::schema::{DocumentSchema, Names, Node};
use crate::document::text::{Part, Walker, unescaped};

/// A member that fewer than one in so many values of its object have is rare.
const RARE_ONE_IN: u64 = 512;
/// Most columns of a stretch of rows, the most frequent first: one row is put together of all of them.
pub(crate) const COLUMNS_MAX: usize = 128;
/// Most levels of all paths of a stretch of rows, about.
const LEVELS_MAX: u64 = 1 << 24;

/// The schema of documents, and which of them are not canonical: these are kept as texts.
pub(crate) fn infer<'a>(
    texts: impl Iterator<Item = Option<&'a str>>,
    columns_max: usize,
) -> (DocumentSchema, Vec<bool>) {
    let (mut schema, mut names) = (DocumentSchema::default(), Names::default());
    let mut odd = Vec::new();
    let mut rows = 0;
    for text in texts {
        rows += 1;
        let Some(text) = text else {
            odd.push(false);
            continue;
        };
        let mut walker = Walker::new(text);
        let learned = learn(&mut schema.root, &mut walker, 0, &mut names).filter(|()| walker.is_at_end());
        if learned.is_none() {
            schema.root.branches |= Tag::Raw.bit();
        }
        odd.push(learned.is_none());
    }
    limit(&mut schema.root, rows, columns_max);
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
    Some(())
}

/// Whether a quoted key comes before another.
fn is_before(last: &str, quoted: &str, name: &str) -> bool {
    if last.contains('\\') || quoted.contains('\\') {
        return unescaped(last).is_some_and(|last| super::text::compare_keys(&last, name).is_lt());
    }
    super::text::compare_keys(last, quoted).is_lt()
}

/// Leaves out what is rare or too much.
fn limit(root: &mut Node, rows: u64, columns_max: usize) {
    prune(root, 0);
    let mut count_min = 0;
    loop {
        let (mut counts, mut columns) = (Vec::new(), 0);
        root.each(&mut |node| {
            if node.has_stream() {
                counts.push(node.count);
                columns += 1;
            }
        });
        if columns <= columns_max && levels(root, rows) <= LEVELS_MAX || root.members.is_empty() && columns <= 1 {
            return;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let at_limit = counts.get(columns_max).map_or(0, |count| count + 1);
        count_min = at_limit.max(count_min * 2 + 1);
        let before = columns;
        prune(root, count_min);
        if count_min > u64::MAX / 4 || root.members.is_empty() && before == columns && root.element.is_none() {
            return;
        }
    }
}

/// About how many levels all paths have.
fn levels(node: &Node, instances: u64) -> u64 {
    let own = if node.has_stream() { instances } else { 0 };
    let members: u64 = node.members.iter().map(|(_, member)| levels(member, instances)).sum();
    let rest = if node.has_rest { instances } else { 0 };
    let elements = node.element.as_ref().map_or(0, |element| levels(element, instances + element.count));
    own + members + rest + elements
}

/// Moves members that occur too rarely to the rest, and takes away what has no values.
fn prune(node: &mut Node, count_min: u64) {
    let rare_max = (node.count / RARE_ONE_IN).max(count_min);
    let mut has_rest = node.has_rest;
    node.members.retain_mut(|(_, member)| {
        let is_rare = member.count < rare_max;
        has_rest |= is_rare && member.branches != 0;
        if !is_rare {
            prune(member, count_min);
        }
        !is_rare && member.branches != 0
    });
    node.has_rest = has_rest;
    if let Some(element) = &mut node.element {
        prune(element, count_min);
        if element.branches == 0 {
            node.element = None;
            node.branches &= !Tag::Array.bit();
        }
    }
    if node.members.is_empty() && !node.has_rest {
        node.branches &= !Tag::Object.bit();
    }
}
