//! Decides which paths become columns: the most frequent ones, so many.
//!
//! ```text
//!   at most 3 columns           id 8192 · text 8192 · user.name 8000 │ geo 90 · user.url 40
//!   columns                     id, text, user.name
//!   the rest, as text           of the document: {"geo": …}; of user: {"url": …}
//! ```
//!
//! 1. A path that is kept is no rarer than one that is not: in as many documents, or as often within them, or first
//!    in the order of paths. Paths with several kinds of values are kept with what is above them.
//! 2. An array is kept with its elements. An object is kept when anything below it is, else it goes to the rest whole.
//! 3. What is decided depends on the documents alone, in any order of theirs.

use std::cmp::Reverse;

use crate::document::schema::Node;

/// A member that fewer than one in so many values of its object have is rare.
const RARE_ONE_IN: u64 = 512;
/// Most columns of a stretch of rows.
pub(crate) const COLUMNS_MAX: usize = 1_024;
/// Most levels of all paths of a stretch of rows, about.
const LEVELS_MAX: u64 = 1 << 24;

/// A path that is kept or not: itself and, of an array, its elements.
struct Candidate {
    /// The documents that have it, at most.
    share: u64,
    /// How often it occurs.
    count: u64,
    /// The number of its node, in the order of paths.
    node: usize,
    /// The candidate above it.
    above: Option<usize>,
    streams: usize,
    levels: u64,
}

/// Where a node is.
#[derive(Clone, Copy)]
struct Place {
    share: u64,
    /// How many levels each stream here has, about.
    levels: u64,
    above: Option<usize>,
}

/// Leaves out what is rare or too much.
pub(crate) fn limit(root: &mut Node, rows: u64, columns_max: usize) {
    prune(root, &mut |node, member| member.count >= node.count / RARE_ONE_IN);
    let mut candidates = Vec::new();
    let mut nodes = 0;
    collect(root, Place { share: u64::MAX, levels: rows, above: None }, &mut nodes, &mut candidates);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|&at| {
        let candidate: &Candidate = &candidates[at];
        (Reverse(candidate.share), Reverse(candidate.count), candidate.node)
    });
    let (mut streams, mut levels) = (0, 0_u64);
    let (mut is_kept, mut kept_nodes) = (vec![false; candidates.len()], vec![false; nodes]);
    // The document itself is always there, whatever it is.
    if let Some(document) = candidates.first().filter(|candidate| candidate.node == 0) {
        (streams, levels, is_kept[0], kept_nodes[0]) = (document.streams, document.levels, true, true);
    }
    for at in order {
        // With what is above it: none of that is rarer, but it may occur less often within its documents.
        let with_above = || std::iter::successors(Some(at), |&at| candidates[at].above).filter(|&at| !is_kept[at]);
        let (more, more_levels) = with_above()
            .fold((0, 0), |(streams, levels), at| (streams + candidates[at].streams, levels + candidates[at].levels));
        if streams + more <= columns_max && levels + more_levels <= LEVELS_MAX {
            let taken: Vec<usize> = with_above().collect();
            taken.into_iter().for_each(|at| (is_kept[at], kept_nodes[candidates[at].node]) = (true, true));
            (streams, levels) = (streams + more, levels + more_levels);
        }
    }
    if is_kept.iter().all(|&kept| kept) {
        return;
    }
    keep(root, &mut 0, &kept_nodes);
    prune(root, &mut |_, _| true);
}

/// Numbers the nodes, parents first, and finds those that are kept or not.
fn collect(node: &Node, mut place: Place, nodes: &mut usize, found: &mut Vec<Candidate>) {
    let number = *nodes;
    *nodes += 1;
    let own = usize::from(node.has_stream());
    let mut unit = Candidate {
        share: place.share.min(node.count),
        count: node.count,
        node: number,
        above: place.above,
        streams: own,
        levels: own as u64 * place.levels,
    };
    place.share = unit.share;
    // Its elements, theirs where they are arrays, and so on.
    let (mut within, mut instances) = (node.element.as_deref(), place.levels);
    while let Some(element) = within {
        instances += element.count;
        unit.count = unit.count.max(element.count);
        unit.streams += usize::from(element.has_stream());
        unit.levels += u64::from(element.has_stream()) * instances;
        within = element.element.as_deref();
    }
    if unit.streams > 0 {
        place.above = Some(found.len());
        found.push(unit);
    }
    below(node, place, nodes, found);
}

fn below(node: &Node, place: Place, nodes: &mut usize, found: &mut Vec<Candidate>) {
    node.members.iter().for_each(|(_, member)| collect(member, place, nodes, found));
    if let Some(element) = &node.element {
        *nodes += 1;
        below(element, Place { levels: place.levels + element.count, ..place }, nodes, found);
    }
}

/// Empties what is not kept; whether anything here is. `prune` takes it away then.
fn keep(node: &mut Node, number: &mut usize, kept: &[bool]) -> bool {
    let is_kept = kept[*number];
    *number += 1;
    let has_below = keep_below(node, number, kept);
    is_kept || has_below
}

fn keep_below(node: &mut Node, number: &mut usize, kept: &[bool]) -> bool {
    let before = node.members.len();
    let mut is_any = false;
    node.members.retain_mut(|(_, member)| {
        let is_kept = keep(member, number, kept);
        is_any |= is_kept;
        is_kept
    });
    node.has_rest |= node.members.len() < before;
    if let Some(element) = &mut node.element {
        *number += 1;
        is_any |= keep_below(element, number, kept);
    }
    is_any
}

/// Moves members that `is_kept` does not name, given their object, to the rest, and takes away what has no values.
fn prune(node: &mut Node, is_kept: &mut dyn FnMut(&Node, &Node) -> bool) {
    let mut members = std::mem::take(&mut node.members);
    members.retain_mut(|(_, member)| {
        let is_kept_here = is_kept(node, member);
        node.has_rest |= !is_kept_here && member.branches != 0;
        if is_kept_here {
            prune(member, is_kept);
        }
        is_kept_here && member.branches != 0
    });
    node.members = members;
    if let Some(element) = &mut node.element {
        prune(element, is_kept);
        if element.branches == 0 {
            node.element = None;
            node.branches &= !crate::document::levels::Tag::Array.bit();
        }
    }
    if node.members.is_empty() && !node.has_rest {
        node.branches &= !crate::document::levels::Tag::Object.bit();
    }
}
