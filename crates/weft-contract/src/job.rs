//! Background work, priced.

use weft_format::TableId;

/// A kind of job, declared by who offers it: a name for people, and what the scheduler must know of it.
///
/// ```text
///   column   CONVERT        frees memory, one at a time     frozen row table → column tables
///            TO_BASELINE    tidies                          tables of a bucket → baseline
///   index    FLUSH          frees memory, one at a time     frozen memory → a sorted run
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKind {
    name: &'static str,
    frees_memory: bool,
}

impl JobKind {
    /// Jobs that free memory and let the log be cut: they come first, a checkpoint runs them, and a table has one of
    /// the kind running at a time.
    pub const fn freeing(name: &'static str) -> JobKind {
        JobKind { name, frees_memory: true }
    }

    /// Jobs that put files in order; those of one table run side by side.
    pub const fn tidying(name: &'static str) -> JobKind {
        JobKind { name, frees_memory: false }
    }

    /// Words in lower case, unlike those of other kinds of the same table.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Whether the job frees memory and lets the log be cut.
    pub const fn frees_memory(self) -> bool {
        self.frees_memory
    }
}

impl std::fmt::Debug for JobKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
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
