//! Incremental tables: collected into buckets once they are many (formula 1), merged among each other before.

use super::super::job_kinds::{MERGE, TO_BASELINE, TO_TRANSITION};
use super::super::options::Compaction;
use super::super::payload::Layer;
use super::runs::deepest;
use super::view::{Pick, View};

/// Incremental tables that cross borders are merged for dead rows from so many percent on: they will be merged again.
const DEAD_PERCENT_MIN: u64 = 50;

/// Whether the layer has passed a threshold: its bytes, tables over one key, dead rows of a table.
pub(super) fn is_due(view: &View<'_>) -> bool {
    let options = view.options;
    view.bytes(&view.incremental) >= options.incremental_bytes
        || view.incremental.iter().any(|&at| view.shapes[at].is_dead_by(options.dead_percent))
        || deepest(view.shapes, &view.incremental).len() > options.overlap_max
}

/// Jobs for the tables that no edit can move.
pub(super) fn pick(view: &mut View<'_>, picks: &mut Vec<Pick>) {
    let whole = view.options.compaction == Compaction::Whole;
    let is_left = |view: &View<'_>, at: usize| {
        let shape = &view.shapes[at];
        !view.taken[at] && (whole || view.borders.bucket_of_range(shape.key_min, shape.key_max).is_none())
    };
    let left: Vec<usize> = view.incremental.iter().copied().filter(|&at| is_left(view, at)).collect();
    if view.bytes(&left) >= view.options.incremental_bytes {
        if whole {
            picks.extend(all_at_once(view, left))
        } else {
            collect(view, &left, picks)
        }
        return;
    }
    let covering = deepest(view.shapes, &left);
    if covering.len() > view.options.overlap_max {
        let reason = format!("{} incremental tables cover one key", covering.len());
        let inputs = view.smaller_half(covering);
        picks.push(view.merge(MERGE, inputs, Layer::Incremental, reason));
        return;
    }
    let percent = view.options.dead_percent.max(DEAD_PERCENT_MIN);
    let dead: Vec<usize> = left.into_iter().filter(|&at| view.shapes[at].is_dead_by(percent)).collect();
    if !dead.is_empty() {
        let inputs = view.fitting(&dead, view.options.granularity_bytes);
        let (dead, rows) = view.dead_rows(inputs.iter().copied());
        let reason = format!("{dead} of {rows} rows of incremental tables are dead");
        picks.push(view.merge(MERGE, inputs, Layer::Incremental, reason));
    }
}

/// Neighbours by key, as many as one job takes; jobs of different tables run side by side.
fn collect(view: &mut View<'_>, left: &[usize], picks: &mut Vec<Pick>) {
    let (all, mut rest) = (view.bytes(left), left);
    while !rest.is_empty() {
        let inputs = view.fitting(rest, view.options.granularity_bytes);
        rest = &rest[inputs.len()..];
        let (count, bytes) = (inputs.len(), view.bytes(&inputs));
        let reason = format!("incremental tables have {all} bytes; {count} of them with {bytes}");
        picks.push(view.merge(TO_TRANSITION, inputs, Layer::Transition, reason));
    }
}

/// The traditional way (formula 3): all of them with all baseline tables that they overlap.
fn all_at_once(view: &mut View<'_>, left: Vec<usize>) -> Option<Pick> {
    if view.buckets[0].busy {
        return None;
    }
    let baseline = view.under(&view.buckets[0].baseline, &left);
    let (count, under) = (left.len(), baseline.len());
    let bytes = view.bytes(&left) + view.bytes(&baseline);
    let reason = format!("all {count} incremental tables with {under} baseline tables, {bytes} bytes");
    let inputs = left.into_iter().chain(baseline).collect();
    Some(view.merge(TO_BASELINE, inputs, Layer::Baseline, reason))
}
