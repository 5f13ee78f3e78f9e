//! Background work, priced.

use weft_format::TableId;

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKind {
    /// Frozen row table → column tables.
    Convert,
    /// Tables change their layer, and buckets their borders, by an edit alone.
    Move,
    /// Column tables of one layer → fewer of the same layer, without dead rows.
    Merge,
    /// Incremental column tables → tables of buckets.
    ToTransition,
    /// Tables of a bucket and the baseline under them → baseline.
    ToBaseline,
    /// Frozen memory of an index → a sorted run.
    IndexFlush,
    /// Sorted runs of a range of an index → one, without entries that nobody needs.
    IndexMerge,
}

impl JobKind {
    /// Whether the job frees memory and lets the log be cut: such jobs come first, and a checkpoint runs them.
    pub fn frees_memory(self) -> bool {
        matches!(self, JobKind::Convert | JobKind::IndexFlush)
    }
}

/// What a job costs and what it gives back, estimated; the scheduler picks by it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Core time, microseconds.
    pub cpu_us: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Memory that is free afterwards.
    pub memory_freed_bytes: u64,
    /// Log that need not be kept afterwards.
    pub log_released_bytes: u64,
    /// Rows that scans read in vain until then.
    pub dead_rows: u64,
}

/// A job that could run now.
#[derive(Clone, Debug, PartialEq)]
pub struct JobOffer {
    /// The table.
    pub table: TableId,
    /// What it does.
    pub kind: JobKind,
    /// Which one, in the method's own numbering.
    pub number: u64,
    /// Its price.
    pub price: Price,
    /// Why it is offered, for people.
    pub reason: String,
}
