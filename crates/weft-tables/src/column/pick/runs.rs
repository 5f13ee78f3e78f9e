//! Tables over one key, and runs of small tables.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::options::Options;
use super::view::{Shape, TABLES_MAX, View};

/// The most covered key's tables, which come by lowest key.
pub(super) fn deepest(shapes: &[Shape<'_>], tables: &[usize]) -> Vec<usize> {
    let mut open: BinaryHeap<Reverse<(&[u8], usize)>> = BinaryHeap::new();
    let (mut depth, mut key) = (0, None);
    for &at in tables {
        while open.peek().is_some_and(|Reverse((end, _))| *end < shapes[at].key_min) {
            open.pop();
        }
        open.push(Reverse((shapes[at].key_max, at)));
        if open.len() > depth {
            (depth, key) = (open.len(), Some(shapes[at].key_min));
        }
    }
    let Some(key) = key else { return Vec::new() };
    let covers = |&at: &usize| shapes[at].key_min <= key && shapes[at].key_max >= key;
    tables.iter().copied().filter(covers).collect()
}

impl View<'_> {
    /// The smaller ones of tables that cover one key: as many as are no larger than those before them together, so
    /// that a row is merged as often as sizes double, and not with every small table that comes.
    pub(super) fn smaller_half(&self, mut tables: Vec<usize>) -> Vec<usize> {
        tables.sort_by_key(|&at| self.shapes[at].bytes);
        let (mut inputs, mut bytes): (Vec<usize>, u64) = (Vec::new(), 0);
        for at in tables {
            let next = self.shapes[at].bytes;
            let is_much_larger = next > bytes || bytes + next > self.options.granularity_bytes;
            if inputs.len() >= 2 && (is_much_larger || inputs.len() == TABLES_MAX) {
                break;
            }
            inputs.push(at);
            bytes += next;
        }
        inputs
    }

    /// At least `count_min` small tables that follow each other, of about one size.
    pub(super) fn small_run(&self, tables: &[usize], count_min: usize) -> Option<Vec<usize>> {
        if tables.len() < count_min {
            return None;
        }
        let Options { column_table_bytes, granularity_bytes, .. } = *self.options;
        for part in [64, 16, 4, 2] {
            let is_small = |at: &usize| !self.shapes[*at].full && self.shapes[*at].bytes <= column_table_bytes / part;
            let runs = tables.split(|at| !is_small(at));
            let run = runs.map(|run| self.fitting_run(run, granularity_bytes)).find(|run| run.len() >= count_min);
            if run.is_some() {
                return run;
            }
        }
        None
    }

    fn fitting_run(&self, run: &[usize], bytes_max: u64) -> Vec<usize> {
        if run.is_empty() { Vec::new() } else { self.fitting(run, bytes_max) }
    }
}
