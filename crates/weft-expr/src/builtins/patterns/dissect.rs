//! Which part of a match each group took, by PostgreSQL's rules.
//!
//! ```text
//!   'abcd' ~ (a|ab)(c|bcd)      the whole is as long as it can be: abcd; then, from the left, the first group is as
//!                               long as it can be so that the second takes what is left: a, bcd
//!   'abab' ~ (a|ab|b)*          the rounds from the left, each as long as it can be: ab, ab; the last is kept
//! ```
//!
//! 1. What a node is given it matches as a whole, so there is always a way to share it among its parts.
//! 2. A part that prefers the shortest takes the shortest with which the parts behind it take what is left.
//! 3. Of branches the first that takes the whole does.

use weft_format::Result;

use super::are::{CAPTURES, SHORTER};
use super::program::{Kind, Node, Part};
use super::sweep::{Places, Sweep};

/// The places where a group begins and ends, from the first group on; None is a group that took no part.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

/// Notes what the groups in a node took, which took the text between two places.
pub(super) fn dissect(sweep: &mut Sweep<'_>, node: &Node, range: (usize, usize), groups: &mut Groups) -> Result<()> {
    if let Some(number) = node.capture {
        groups[number - 1] = Some(range);
    }
    if node.flags & CAPTURES == 0 {
        return Ok(());
    }
    match &node.kind {
        Kind::Plain => Ok(()),
        Kind::Concatenation(nodes) => concatenation(sweep, nodes, range, groups),
        Kind::Alternation(nodes) => {
            for node in nodes {
                if sweep.end(node.part, range, false, |at| at == range.1)?.is_some() {
                    return dissect(sweep, node, range, groups);
                }
            }
            Ok(())
        }
        Kind::Iteration(each, max) => match last_round(sweep, each, *max, range)? {
            Some(range) => dissect(sweep, each, range, groups),
            None => Ok(()),
        },
    }
}

fn concatenation(
    sweep: &mut Sweep<'_>,
    nodes: &[Node],
    (mut from, to): (usize, usize),
    groups: &mut Groups,
) -> Result<()> {
    for (at, node) in nodes.iter().enumerate() {
        let captures_from_here = nodes[at..].iter().any(|node| node.flags & CAPTURES != 0 || node.capture.is_some());
        if !captures_from_here {
            break;
        }
        let end = match (nodes.get(at + 1), nodes.last()) {
            (Some(next), Some(last)) => {
                let rest = Part { lo: next.part.lo, hi: last.part.hi, entry: next.part.entry, exit: last.part.exit };
                let begins = sweep.begins(rest, (from, to), false, |at| at == to)?;
                sweep.end(node.part, (from, to), node.flags & SHORTER != 0, |at| begins.contains(at))?
            }
            _ => Some(to),
        };
        let Some(end) = end else { break };
        dissect(sweep, node, (from, end), groups)?;
        from = end;
    }
    Ok(())
}

/// What the last round of an iteration took; None when there was none. No round but an only one is empty.
fn last_round(
    sweep: &mut Sweep<'_>,
    each: &Node,
    max: Option<u32>,
    (from, to): (usize, usize),
) -> Result<Option<(usize, usize)>> {
    let is_shortest = each.flags & SHORTER != 0;
    if from == to {
        // It need not stand at all. PostgreSQL says that it stood once, empty, unless it prefers the shortest.
        let is_once = !is_shortest && sweep.end(each.part, (from, to), false, |_| true)?.is_some();
        return Ok(is_once.then_some((from, to)));
    }
    let within = within_rounds(sweep, each, max, (from, to))?;
    let mut begin = from;
    let mut round: usize = 1;
    while begin < to {
        let left = match max {
            None => 0,
            Some(max) => (max as usize).saturating_sub(round).min(within.len() - 1),
        };
        let may = |at: usize| at > begin && (at == to || within[left].contains(at));
        let Some(end) = sweep.end(each.part, (begin, to), is_shortest, may)? else { break };
        if end == to {
            return Ok(Some((begin, end)));
        }
        (begin, round) = (end, round + 1);
    }
    Ok(None)
}

/// The places from which so many rounds at most, by the place in the list, lead to the end; without a bound the list
/// has one entry, for any number.
fn within_rounds(
    sweep: &mut Sweep<'_>,
    each: &Node,
    max: Option<u32>,
    (from, to): (usize, usize),
) -> Result<Vec<Places>> {
    let Some(max) = max else { return Ok(vec![sweep.begins(each.part, (from, to), true, |at| at == to)?]) };
    let mut end = Places::none(from, to);
    end.insert(to);
    let mut all = vec![end];
    for round in 1..max as usize {
        let before = &all[round - 1];
        let mut now = sweep.begins(each.part, (from, to), false, |at| before.contains(at))?;
        now.add(before);
        if !before.clone().add(&now) {
            break;
        }
        all.push(now);
    }
    Ok(all)
}
