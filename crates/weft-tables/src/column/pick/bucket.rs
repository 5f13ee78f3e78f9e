//! Buckets: merged with the baseline under them when they are large or rows are dead (formula 2), within themselves
//! before.

use super::super::job_kinds::{MERGE, TO_BASELINE};
use super::super::payload::Layer;
use super::runs::deepest;
use super::view::{Bucket, Pick, View};

/// So many small baseline tables that follow each other are merged.
const SMALL_TABLES: usize = 8;

/// At most one job per bucket (pick 1).
pub(super) fn pick(view: &mut View<'_>, picks: &mut Vec<Pick>) {
    for number in 0..view.buckets.len() {
        let bucket = &view.buckets[number];
        let is_taken = bucket.transition.iter().chain(&bucket.baseline).any(|&at| view.taken[at]);
        if !bucket.busy && !is_taken {
            let pick = view.of_bucket(number);
            picks.extend(pick);
        }
    }
}

impl View<'_> {
    /// The baseline tables that some of the tables overlap.
    pub(super) fn under(&self, baseline: &[usize], tables: &[usize]) -> Vec<usize> {
        let mut hit = vec![false; baseline.len()];
        for &at in tables {
            let table = &self.shapes[at];
            let first = baseline.partition_point(|&under| self.shapes[under].key_max < table.key_min);
            let reached = |&under: &usize| self.shapes[under].key_min <= table.key_max;
            let count = baseline[first..].iter().take_while(|under| reached(under)).count();
            hit[first..first + count].fill(true);
        }
        baseline.iter().zip(hit).filter_map(|(&at, hit)| hit.then_some(at)).collect()
    }

    fn of_bucket(&mut self, number: usize) -> Option<Pick> {
        let bucket = std::mem::take(&mut self.buckets[number]);
        let pick = self.of_contents(number, &bucket);
        self.buckets[number] = bucket;
        pick
    }

    fn of_contents(&mut self, number: usize, bucket: &Bucket) -> Option<Pick> {
        let percent = self.options.dead_percent;
        let tables = bucket.transition.iter().chain(&bucket.baseline).copied();
        let (dead, rows) = self.dead_rows(tables);
        if bucket.transition_bytes >= self.options.bucket_bytes && !bucket.transition.is_empty() {
            let reason = format!("bucket {number} has {} bytes", bucket.transition_bytes);
            let dead = self.dead_tables(bucket, percent, 1);
            return Some(self.with_baseline(bucket, dead, reason));
        }
        let very_dead = self.dead_tables(bucket, percent, 1);
        let half_dead = self.dead_tables(bucket, percent, 2);
        // Tables that are nearly due come along, or each would be rewritten alone soon after.
        let most = self.bytes(&half_dead) * 2 >= bucket.baseline_bytes;
        if (dead > 0 && dead * 100 >= rows * percent) || (!very_dead.is_empty() && most) {
            let reason = format!("{dead} of {rows} rows of bucket {number} are dead");
            return Some(self.with_baseline(bucket, half_dead, reason));
        }
        if !very_dead.is_empty() {
            return Some(self.dead_alone(bucket, &half_dead));
        }
        self.within_bucket(number, bucket)
    }

    /// The baseline tables of which one part in so many of the percentage is dead.
    fn dead_tables(&self, bucket: &Bucket, percent: u64, part: u64) -> Vec<usize> {
        let is_dead = |at: &&usize| {
            let shape = &self.shapes[**at];
            shape.dead > 0 && shape.dead * 100 * part >= shape.rows * percent
        };
        bucket.baseline.iter().filter(is_dead).copied().collect()
    }

    /// The bucket's tables, oldest first as far as G allows, with the baseline under them.
    fn with_baseline(&mut self, bucket: &Bucket, dead: Vec<usize>, reason: String) -> Pick {
        let mut tables = bucket.transition.clone();
        tables.sort_by_key(|&at| self.shapes[at].age);
        let room = self.options.granularity_bytes.saturating_sub(bucket.baseline_bytes);
        let mut inputs = dead;
        if !tables.is_empty() {
            let tables = self.fitting(&tables, room.max(self.options.bucket_bytes));
            inputs.extend(self.under(&bucket.baseline, &tables));
            inputs.extend(tables);
        }
        self.merge(TO_BASELINE, inputs, Layer::Baseline, reason)
    }

    /// Baseline tables with dead rows, and the bucket's tables that lie over no others.
    fn dead_alone(&mut self, bucket: &Bucket, dead: &[usize]) -> Pick {
        let over_these = |&at: &usize| {
            let under = self.under(&bucket.baseline, &[at]);
            !under.is_empty() && under.iter().all(|under| dead.contains(under))
        };
        let tables: Vec<usize> = bucket.transition.iter().copied().filter(over_these).collect();
        let (dead_count, rows) = self.dead_rows(dead.iter().copied());
        let reason = format!("{dead_count} of {rows} rows of {} baseline tables are dead", dead.len());
        let inputs = dead.iter().copied().chain(tables).collect();
        self.merge(TO_BASELINE, inputs, Layer::Baseline, reason)
    }

    /// Many tables over one key, or many small ones.
    fn within_bucket(&mut self, number: usize, bucket: &Bucket) -> Option<Pick> {
        let covering = deepest(self.shapes, &bucket.transition);
        if covering.len() > self.options.overlap_max {
            let reason = format!("{} tables of bucket {number} cover one key", covering.len());
            let inputs = self.smaller_half(covering);
            return Some(self.merge(MERGE, inputs, Layer::Transition, reason));
        }
        let run = self.small_run(&bucket.transition, self.options.overlap_max + 1);
        let (inputs, layer) = match run {
            Some(run) => (run, Layer::Transition),
            None => (self.small_run(&bucket.baseline, SMALL_TABLES)?, Layer::Baseline),
        };
        let (count, bytes) = (inputs.len(), self.bytes(&inputs));
        let reason = format!("{count} {} tables of bucket {number} have {bytes} bytes together", layer.name());
        Some(self.merge(MERGE, inputs, layer, reason))
    }
}
