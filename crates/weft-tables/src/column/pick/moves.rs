//! What an edit alone can do: a bulk load in key order is never rewritten.
//!
//! ```text
//!   bucket 0 (a..g)   baseline [a..b]   transition [b..c]      incremental [d..e]  ─▶ baseline: alone
//!                                                              incremental [a..f]  ─▶ transition: over others
//!                     all rows of [b..c] are dead              ─▶ forgotten
//! ```

use weft_kernel::table::JobKind;

use super::super::borders::{Key, split_keys};
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
    inputs.sort_unstable();
    inputs.dedup();
    inputs.iter().for_each(|&at| view.taken[at] = true);
    let reason = format!(
        "{} tables move, {} have no living row, {} borders more, {} fewer",
        moved.len(),
        dropped.len(),
        added.len(),
        removed.len()
    );
    Some(Pick { kind: JobKind::Move, inputs, work: Work::Change { moved, dropped, added, removed }, reason })
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

/// Tables that overlap nothing become baseline; incremental ones that do become transition.
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
    // By lowest key, as the shapes are.
    let mut tables: Vec<usize> =
        [&in_bucket.transition, &in_bucket.baseline, candidates].into_iter().flatten().copied().collect();
    tables.retain(|&at| !view.taken[at]);
    tables.sort_unstable();
    let mut reach: Option<&[u8]> = None;
    for (place, &at) in tables.iter().enumerate() {
        let shape = &view.shapes[at];
        let is_over = reach.is_some_and(|reach| reach >= shape.key_min);
        let is_under = tables.get(place + 1).is_some_and(|&next| view.shapes[next].key_min <= shape.key_max);
        let is_alone = !is_over && !is_under && !shape.is_dead_by(view.options.dead_percent);
        reach = reach.max(Some(shape.key_max));
        match shape.layer {
            Layer::Incremental | Layer::Transition if is_alone => found.moved.push((at, Layer::Baseline)),
            Layer::Incremental if !whole => found.moved.push((at, Layer::Transition)),
            _ => {}
        }
    }
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
