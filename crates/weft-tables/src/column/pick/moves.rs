//! What an edit alone can do: a bulk load in key order is never rewritten, whatever was written over it since.
//!
//! ```text
//!   bucket 0 (a..g)   baseline [a..b]   transition [b..c]      incremental [d..e]  ─▶ baseline: over no other
//!                                                              incremental [a..f]  ─▶ transition: smaller than [d..e]
//!                     all rows of [b..c] are dead              ─▶ forgotten
//! ```

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::super::borders::{Key, split_keys};
use super::super::job_kinds::MOVE;
use super::super::options::Compaction;
use super::super::payload::Layer;
use super::view::{Pick, Standing, View, Work};

/// Two buckets with less than this share of G − T together become one (1 in so many): far from a split.
const JOIN_ONE_IN: u64 = 4;

/// Collects what the edit says.
#[derive(Default)]
struct Found {
    inputs: Vec<usize>,
    moved: Vec<(usize, Layer)>,
    dropped: Vec<usize>,
    added: Vec<Key>,
    removed: Vec<Key>,
}

/// All that one edit can do. Incremental tables move when their layer is due: an edit for each would cost syncs.
pub(super) fn pick(view: &mut View<'_>, is_due: bool) -> Option<Pick> {
    let mut found = Found::default();
    for (at, shape) in view.shapes.iter().enumerate() {
        if shape.standing == Standing::Free && shape.dead == shape.rows {
            found.dropped.push(at);
            view.taken[at] = true;
        }
    }
    let candidates = if is_due { movable(view) } else { vec![Vec::new(); view.buckets.len()] };
    for (bucket, candidates) in candidates.iter().enumerate() {
        let first = found.moved.len();
        move_within(view, bucket, candidates, &mut found);
        if view.options.compaction == Compaction::Fine {
            split(view, bucket, first, &mut found);
        }
    }
    if view.options.compaction == Compaction::Fine {
        join(view, &mut found);
    }
    let Found { mut inputs, moved, dropped, added, removed } = found;
    if moved.is_empty() && dropped.is_empty() && added.is_empty() && removed.is_empty() {
        return None;
    }
    inputs.extend(moved.iter().map(|&(at, _)| at).chain(dropped.iter().copied()));
    debug_assert!(
        moved.iter().all(|(at, _)| !dropped.contains(at)),
        "a table without a living row is forgotten and not moved"
    );
    inputs.sort_unstable();
    inputs.dedup();
    let is_claimed = |at: &usize| view.shapes[*at].standing == Standing::Claimed;
    assert!(!inputs.iter().any(is_claimed), "a move takes no table that another job has (claim 2)");
    inputs.iter().for_each(|&at| view.taken[at] = true);
    let reason = format!(
        "{} tables move, {} have no living row, {} borders more, {} fewer",
        moved.len(),
        dropped.len(),
        added.len(),
        removed.len()
    );
    Some(Pick { kind: MOVE, inputs, work: Work::Change { moved, dropped, added, removed }, reason })
}

/// By bucket: the incremental tables that lie within it.
fn movable(view: &View<'_>) -> Vec<Vec<usize>> {
    let mut movable = vec![Vec::new(); view.buckets.len()];
    for &at in view.incremental.iter().filter(|&&at| !view.taken[at]) {
        if let Some(bucket) = view.borders.bucket_of_range(view.shapes[at].key_min, view.shapes[at].key_max) {
            movable[bucket].push(at);
        }
    }
    movable
}

/// Tables that lie over no baseline become baseline, of those that overlap each other the largest; other incremental
/// ones become transition.
fn move_within(view: &View<'_>, bucket: usize, candidates: &[usize], found: &mut Found) {
    let whole = view.options.compaction == Compaction::Whole;
    let in_bucket = &view.buckets[bucket];
    if candidates.is_empty() && in_bucket.transition.is_empty() {
        return;
    }
    if in_bucket.busy {
        if !whole {
            found.moved.extend(candidates.iter().map(|&at| (at, Layer::Transition)));
        }
        return;
    }
    // Lowest and highest keys of what is baseline, or will be.
    let free = |at: &&usize| !view.taken[**at];
    let range = |&at: &usize| (view.shapes[at].key_min, view.shapes[at].key_max);
    let mut baseline: BTreeMap<&[u8], &[u8]> = in_bucket.baseline.iter().filter(free).map(range).collect();
    let mut tables: Vec<usize> = in_bucket.transition.iter().chain(candidates).filter(free).copied().collect();
    tables.sort_unstable_by_key(|&at| (Reverse(view.shapes[at].bytes), at));
    let first = found.moved.len();
    for at in tables {
        let shape = &view.shapes[at];
        let below = baseline.range(..=shape.key_max).next_back();
        let is_free = below.is_none_or(|(_, key_max)| *key_max < shape.key_min);
        if is_free && !shape.is_dead_by(view.options.dead_percent) {
            baseline.insert(shape.key_min, shape.key_max);
            found.moved.push((at, Layer::Baseline));
        } else if shape.layer == Layer::Incremental && !whole {
            found.moved.push((at, Layer::Transition));
        }
    }
    found.moved[first..].sort_unstable_by_key(|moved| moved.0);
}

/// Borders through a bucket whose baseline has grown (formula 4), by what moves into it from place `first` on, too.
fn split(view: &View<'_>, number: usize, first: usize, found: &mut Found) {
    let bucket = &view.buckets[number];
    let becomes: Vec<usize> =
        found.moved[first..].iter().filter(|moved| moved.1 == Layer::Baseline).map(|&(at, _)| at).collect();
    if bucket.busy || bucket.baseline_bytes + view.bytes(&becomes) <= view.baseline_bytes_max() {
        return;
    }
    let mut baseline: Vec<usize> = bucket.baseline.iter().copied().filter(|&at| !view.taken[at]).collect();
    baseline.extend(becomes);
    baseline.sort_unstable();
    let files: Vec<(&[u8], u64)> =
        baseline.iter().map(|&at| (view.shapes[at].key_min, view.shapes[at].bytes)).collect();
    let keys = split_keys(&files, view.baseline_bytes_max());
    if !keys.is_empty() {
        found.added.extend(keys);
        found.inputs.extend(bucket.transition.iter().chain(&bucket.baseline).copied());
    }
}

/// Neighbours that have shrunk become one bucket.
fn join(view: &View<'_>, found: &mut Found) {
    if !found.added.is_empty() || !found.moved.is_empty() {
        return;
    }
    let bytes_max = view.baseline_bytes_max() / JOIN_ONE_IN;
    let bytes = |number: usize| view.buckets[number].baseline_bytes + view.buckets[number].transition_bytes;
    let mut together = bytes(0);
    for number in 1..view.buckets.len() {
        let pair = &view.buckets[number - 1..=number];
        let is_free = pair.iter().all(|bucket| !bucket.busy);
        if is_free && together + bytes(number) <= bytes_max {
            found.removed.push(view.borders.keys()[number - 1].clone());
            let tables = pair.iter().flat_map(|bucket| bucket.transition.iter().chain(&bucket.baseline));
            found.inputs.extend(tables);
            together += bytes(number);
        } else {
            together = bytes(number);
        }
    }
}
