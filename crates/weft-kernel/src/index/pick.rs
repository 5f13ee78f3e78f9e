//! Which runs of a range to merge, and where a range that has grown splits: pure functions that explain themselves.
//!
//! ```text
//!   runs of a range, bytes   1 2 2 3 40 300      six: merge the small ones: 1 2 2 3    ("6 runs")
//!                            30 28 31 35 40 300  merge 28 30 31 35 40     (none larger than the smaller together)
//!   misses 5000, let through 400                 rebuild that run with a better filter
//!   20,000 of 100,000 entries noted as stale     merge the range whole
//! ```
//!
//! 1. At least half of the runs that are too many are merged, the smallest first: so the number falls below the limit,
//!    and a large run is rewritten only when as much has come together beside it.
//! 2. A range splits at separators of its runs, into parts of about half the limit.

use std::sync::Arc;

use super::filter::FILTER_BITS_MAX;
use super::options::IndexOptions;

/// What the picker sees of a run in a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunShape {
    /// Bytes that lie in the range, about.
    pub(crate) bytes: u64,
    /// Entries that lie in the range, about.
    pub(crate) entries: u64,
    /// Lookups of absent values, and those that the filter let through.
    pub(crate) misses: u64,
    pub(crate) false_positives: u64,
    pub(crate) filter_bits: u32,
}

/// A picked merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergePick {
    /// Places of the runs among the shapes, ascending.
    pub(crate) inputs: Vec<usize>,
    /// Whether all the range's runs are merged.
    pub(crate) whole: bool,
    /// Whether the filter is made anew, with more bits.
    pub(crate) rebuilds_filter: bool,
    /// For people.
    pub(crate) reason: String,
}

/// The merge that a range needs most, if any. `stale`: outdated entries that were noted in it.
pub(crate) fn pick_merge(runs: &[RunShape], stale: u64, options: &IndexOptions) -> Option<MergePick> {
    let entries: u64 = runs.iter().map(|run| run.entries).sum();
    if stale >= options.stale_max.max(entries / 5).max(1) && !runs.is_empty() {
        let reason = format!("{stale} of {entries} entries were noted as stale");
        return Some(MergePick { inputs: (0..runs.len()).collect(), whole: true, rebuilds_filter: false, reason });
    }
    if runs.len() >= options.runs_max.max(2) {
        let inputs = small_ones(runs);
        let whole = inputs.len() == runs.len();
        let reason = format!("{} runs, {} of them small", runs.len(), inputs.len());
        return Some(MergePick { inputs, whole, rebuilds_filter: false, reason });
    }
    let bad = |run: &RunShape| {
        run.misses >= options.filter_misses_min
            && run.false_positives * options.filter_false_ratio > run.misses
            && run.filter_bits < FILTER_BITS_MAX
    };
    let worst = runs.iter().position(bad)?;
    let RunShape { misses, false_positives, .. } = runs[worst];
    let reason = format!("the filter let {false_positives} of {misses} absent values through");
    Some(MergePick { inputs: vec![worst], whole: runs.len() == 1, rebuilds_filter: true, reason })
}

fn small_ones(runs: &[RunShape]) -> Vec<usize> {
    debug_assert!(runs.len() >= 2, "one run alone is not merged because it is small");
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&at| (runs[at].bytes, at));
    let least = (runs.len() / 2).max(2);
    let mut inputs: Vec<usize> = Vec::new();
    let mut sum = 0;
    for at in order {
        if inputs.len() >= least && runs[at].bytes > sum {
            break;
        }
        sum += runs[at].bytes;
        inputs.push(at);
    }
    debug_assert!(inputs.len() >= least, "at least half of the runs are merged (pick 1)");
    inputs.sort_unstable();
    inputs
}

/// Where a range splits: borders inside it, ascending. `blocks`: separators of its runs' blocks and the bytes behind
/// each; those at or below `low` count for the range and are no borders.
pub(crate) fn split_borders(low: &[u8], mut blocks: Vec<(&[u8], u64)>, bytes_max: u64) -> Vec<Arc<[u8]>> {
    let total: u64 = blocks.iter().map(|block| block.1).sum();
    if total <= bytes_max {
        return Vec::new();
    }
    blocks.sort_unstable();
    let parts = total.div_ceil((bytes_max / 2).max(1));
    let mut borders: Vec<Arc<[u8]>> = Vec::new();
    debug_assert!(parts > 1, "a range that splits has two parts at least (pick 2)");
    let mut sum = 0;
    for (separator, bytes) in blocks {
        let part = borders.len() as u64 + 1;
        let above = borders.last().map_or(low, |last| last);
        if part < parts && sum * parts >= total * part && separator > above {
            borders.push(separator.into());
        }
        sum += bytes;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(bytes: &[u64]) -> Option<Vec<u64>> {
        let runs: Vec<RunShape> = bytes.iter().map(|&bytes| RunShape { bytes, ..RunShape::default() }).collect();
        let pick = pick_merge(&runs, 0, &IndexOptions::default())?;
        Some(pick.inputs.into_iter().map(|at| bytes[at]).collect())
    }

    #[test]
    fn small_runs_are_merged_first() {
        assert_eq!(picked(&[1, 2, 3, 4, 5]), None);
        assert_eq!(picked(&[300, 1, 2, 2, 3, 40]), Some(vec![1, 2, 2, 3]));
        assert_eq!(picked(&[30, 28, 31, 35, 40, 300]), Some(vec![30, 28, 31, 35, 40]));
        assert_eq!(picked(&[0; 6]), Some(vec![0; 6]));
        assert_eq!(picked(&[1, 10, 100, 1000, 10_000, 100_000]), Some(vec![1, 10, 100]));
    }

    #[test]
    fn stale_entries_and_bad_filters_are_reasons() {
        let run = RunShape { entries: 100_000, misses: 5000, false_positives: 100, filter_bits: 10, bytes: 9 };
        let options = IndexOptions::default();
        assert_eq!(pick_merge(&[run, run], 19_999, &options), None);
        let whole = pick_merge(&[run, run], 40_000, &options).unwrap();
        assert!(whole.whole && whole.inputs == [0, 1], "{whole:?}");
        let bad = RunShape { false_positives: 400, ..run };
        let rebuilt = pick_merge(&[run, bad], 0, &options).unwrap();
        assert!(rebuilt.rebuilds_filter && rebuilt.inputs == [1] && !rebuilt.whole, "{rebuilt:?}");
        assert_eq!(pick_merge(&[RunShape { filter_bits: 20, ..bad }], 0, &options), None);
        assert_eq!(pick_merge(&[RunShape { misses: 4000, ..bad }], 0, &options), None);
    }

    #[test]
    fn ranges_split_at_separators_into_even_parts() {
        let keys: Vec<[u8; 1]> = (0..20).map(|n| [n]).collect();
        let blocks = |from: usize| keys[from..].iter().map(|key| (&key[..], 10)).collect::<Vec<_>>();
        let borders = |low: &[u8], blocks, max| -> Vec<u8> {
            split_borders(low, blocks, max).iter().map(|border: &Arc<[u8]>| border[0]).collect()
        };
        assert_eq!(borders(&[], blocks(0), 200), Vec::<u8>::new());
        assert_eq!(borders(&[], blocks(0), 199), [7, 14]);
        assert_eq!(borders(&[], blocks(0), 100), [5, 10, 15]);
        // One huge block cannot be split, and a border is above the range's own.
        assert_eq!(borders(&[3], vec![(&[3], 1000)], 100), Vec::<u8>::new());
        assert_eq!(borders(&[3], vec![(&[1], 100), (&[3], 100), (&[7], 100)], 250), [7]);
    }
}
