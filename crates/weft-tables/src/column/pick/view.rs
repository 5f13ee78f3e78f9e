//! What the picker looks at, and what it answers.

use weft_contract::JobKind;

use super::super::borders::{Borders, Key};
use super::super::options::Options;
use super::super::payload::Layer;

/// The most tables that one job merges, besides baseline tables (which are read one after the other).
pub(super) const TABLES_MAX: usize = 48;

/// Whether a job may take a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Yes.
    Free,
    /// A job has it.
    Claimed,
    /// The manifest does not name it yet.
    Unlisted,
}

/// What the picker knows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Shape<'a> {
    pub(crate) layer: Layer,
    pub(crate) key_min: &'a [u8],
    pub(crate) key_max: &'a [u8],
    pub(crate) rows: u64,
    /// Rows that a rewrite would drop.
    pub(crate) dead: u64,
    pub(crate) bytes: u64,
    /// Cut for its size: not small, however few bytes it came to.
    pub(crate) full: bool,
    pub(crate) standing: Standing,
    /// Lower is older.
    pub(crate) age: u64,
}

impl Shape<'_> {
    /// Whether so many percent of the rows are dead.
    pub(super) fn is_dead_by(&self, percent: u64) -> bool {
        self.dead > 0 && self.dead * 100 >= self.rows * percent
    }
}

/// What a job does with its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// They become tables meant for this layer.
    Merge(Layer),
    /// An edit says something else of them.
    Change {
        /// Tables that are in another layer.
        moved: Vec<(usize, Layer)>,
        /// Tables that are gone: every row is dead for everyone.
        dropped: Vec<usize>,
        /// Borders more.
        added: Vec<Key>,
        /// Borders fewer.
        removed: Vec<Key>,
    },
}

/// A job: what it claims (by place in the shapes, ascending), what becomes of it, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) kind: JobKind,
    pub(crate) inputs: Vec<usize>,
    pub(crate) work: Work,
    pub(crate) reason: String,
}

/// What is in a bucket.
#[derive(Clone, Debug, Default)]
pub(super) struct Bucket {
    /// By lowest key.
    pub(super) transition: Vec<usize>,
    pub(super) transition_bytes: u64,
    pub(super) baseline: Vec<usize>,
    pub(super) baseline_bytes: u64,
    /// A job has a table in it.
    pub(super) busy: bool,
}

/// Tables in their layers and buckets.
pub(super) struct View<'a> {
    pub(super) shapes: &'a [Shape<'a>],
    pub(super) borders: &'a Borders,
    pub(super) options: &'a Options,
    pub(super) buckets: Vec<Bucket>,
    /// Free incremental tables.
    pub(super) incremental: Vec<usize>,
    /// Inputs of a pick.
    pub(super) taken: Vec<bool>,
}

impl<'a> View<'a> {
    /// Sorts the tables, which come by lowest key, into layers and buckets.
    pub(super) fn new(shapes: &'a [Shape<'a>], borders: &'a Borders, options: &'a Options) -> View<'a> {
        debug_assert!(shapes.is_sorted_by(|a, b| a.key_min <= b.key_min), "tables come by lowest key");
        let mut buckets = vec![Bucket::default(); borders.bucket_count()];
        let mut incremental = Vec::new();
        let (keys, mut next) = (borders.keys(), 0);
        for (at, shape) in shapes.iter().enumerate() {
            // As `Borders::bucket_of_range`, for shapes that come by lowest key.
            while keys.get(next).is_some_and(|border| **border <= *shape.key_min) {
                next += 1;
            }
            let within = keys.get(next).is_none_or(|border| *shape.key_max < **border).then_some(next);
            if let (Some(bucket), Standing::Claimed) = (within, shape.standing) {
                buckets[bucket].busy = true;
            }
            let Some(bucket) = within.filter(|_| shape.layer != Layer::Incremental) else {
                if shape.standing == Standing::Free {
                    incremental.push(at);
                }
                continue;
            };
            let bucket = &mut buckets[bucket];
            let (tables, bytes) = match shape.layer {
                Layer::Baseline => (&mut bucket.baseline, &mut bucket.baseline_bytes),
                _ => (&mut bucket.transition, &mut bucket.transition_bytes),
            };
            tables.push(at);
            *bytes += shape.bytes;
        }
        View { shapes, borders, options, buckets, incremental, taken: vec![false; shapes.len()] }
    }

    /// G − T: the most bytes of a bucket's baseline (formula 4).
    pub(super) fn baseline_bytes_max(&self) -> u64 {
        self.options.granularity_bytes - self.options.bucket_bytes
    }

    pub(super) fn bytes(&self, tables: &[usize]) -> u64 {
        tables.iter().map(|&at| self.shapes[at].bytes).sum()
    }

    /// Dead rows and rows.
    pub(super) fn dead_rows(&self, tables: impl IntoIterator<Item = usize>) -> (u64, u64) {
        tables.into_iter().fold((0, 0), |(dead, rows), at| (dead + self.shapes[at].dead, rows + self.shapes[at].rows))
    }

    /// As many of the tables, in their order, as fit into so many bytes and one job; at least one.
    pub(super) fn fitting(&self, tables: &[usize], bytes_max: u64) -> Vec<usize> {
        let mut bytes = 0;
        let fits = |at: &&usize| {
            bytes += self.shapes[**at].bytes;
            bytes <= bytes_max
        };
        let count = tables.iter().take(TABLES_MAX).take_while(fits).count();
        tables[..count.max(1).min(tables.len())].to_vec()
    }

    /// A job that merges tables.
    pub(super) fn merge(&mut self, kind: JobKind, mut inputs: Vec<usize>, layer: Layer, reason: String) -> Pick {
        inputs.sort_unstable();
        inputs.dedup();
        assert!(!inputs.is_empty(), "a merge has inputs: its number is the file of the first");
        let is_claimed = |at: &usize| self.shapes[*at].standing == Standing::Claimed;
        assert!(!inputs.iter().any(is_claimed), "a job takes no table that another has (claim 2)");
        inputs.iter().for_each(|&at| self.taken[at] = true);
        Pick { kind, inputs, work: Work::Merge(layer), reason }
    }
}
