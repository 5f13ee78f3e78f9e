//! How an engine is opened.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_env::Fs;
use weft_format::{Code, Error, Lsn, Result};

use crate::log::LogOptions;
use crate::sched::SchedulerMode;

/// When a commit is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When it is on disk.
    #[default]
    Full,
    /// When it is in the log's buffer; on disk some 10 ms later. A crash may lose the last commits, never part of one.
    Async,
}

/// Sizes, times and threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// A row table is frozen at this size.
    pub row_table_bytes: u64,
    /// Memory of all row tables; writers slow down from half of it on.
    pub row_memory_bytes: u64,
    /// Memory of the cache pool, with what was evicted and waits to be freed.
    pub cache_bytes: u64,
    /// Whether the cache pool may also keep what row tables leave of their memory.
    pub lend_row_memory: bool,
    /// How many data files are kept open; 0: half of what the process may have open, the rest is for sockets, the log
    /// and what is being written.
    pub open_files: usize,
    /// Memory for what serializable transactions have read and what was committed beside them, of row memory: an eighth
    /// of that, or this if it is less. Beyond, whole tables count instead of rows: more transactions must run again.
    pub serializable_memory_bytes: u64,
    /// A log segment grows to about this size.
    pub log_segment_bytes: u64,
    /// The log's segments are filled with zeros this far ahead of what is written.
    pub log_zero_ahead_bytes: u64,
    /// Records that wait for the disk take about this much memory at most: who adds more waits for a write.
    pub log_batch_bytes: usize,
    /// The changes of a transaction are handed to the log in pieces of about this size, or of a quarter of a segment.
    pub log_chunk_bytes: usize,
    /// Of transactions that wrote to the log ahead of their commit an opening and a follower keep so many bytes of
    /// changes; what is beyond they read again when it commits.
    pub undecided_bytes: usize,
    /// The log is kept at most about this long: more of it makes the tables that hold it freeze and convert.
    pub checkpoint_log_bytes: u64,
    /// The manifest is rewritten when it is longer than this and than four times its first part.
    pub manifest_bytes: u64,
    /// When commits are acknowledged, unless a transaction says otherwise.
    pub durability: Durability,
    /// How long a transaction waits for a lock; zero: as long as it takes.
    pub lock_timeout: Duration,
    /// How many transactions may be open at once; further ones wait in order.
    pub transaction_slots: usize,
    /// How many long queries may run at once; the rest of the transaction slots is for short transactions.
    pub query_slots: usize,
    /// How long a transaction or a query waits for its slot; zero: as long as it takes.
    pub admission_timeout: Duration,
    /// Threads that run jobs; 0: jobs are run by [`Engine::run_jobs`](crate::Engine::run_jobs) only.
    pub workers: usize,
    /// What decides when those jobs start; [`Load::set_mode`](crate::sched::Load::set_mode) changes it.
    pub scheduler: SchedulerMode,
    /// The cores that queries and jobs share; 0: as many as the machine has.
    pub cores: usize,
    /// Opened to be repaired: indexes that cannot be opened keep nobody from their tables, even unique ones.
    pub repairing: bool,
    /// The directory is taken from whoever has it: that one acknowledges nothing more.
    pub takes_over: bool,
    /// Nobody knows whether the writer before is gone: what it may still write once, in the midst of a call, hits
    /// nothing of this one (docs/decisions/2026-11-28-fencing.md). That needs space on the disk. So it is with
    /// [`EngineOptions::takes_over`], too.
    pub apart: bool,
    /// It may take so long to notice that, and let go of its lock: what it has under way ends.
    pub notice: Duration,
    /// Who holds the directory, for the error that others get; none: the process id.
    pub owner: Option<String>,
    /// An archive has the log up to here: what comes after it is kept from the opening on
    /// ([`Engine::keep_log_from`](crate::Engine::keep_log_from)).
    pub archived_to: Option<Lsn>,
    /// Options of WITH for tables that are made without them, as far as their method knows them. A table keeps what it
    /// was made with.
    pub table_options: BTreeMap<String, String>,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            row_table_bytes: 4 << 20,
            row_memory_bytes: 256 << 20,
            cache_bytes: 512 << 20,
            lend_row_memory: false,
            open_files: 0,
            serializable_memory_bytes: u64::MAX,
            log_segment_bytes: 16 << 20,
            log_zero_ahead_bytes: 1 << 20,
            log_batch_bytes: 8 << 20,
            log_chunk_bytes: 256 << 10,
            undecided_bytes: 16 << 20,
            checkpoint_log_bytes: 64 << 20,
            manifest_bytes: 1 << 20,
            durability: Durability::Full,
            lock_timeout: Duration::from_secs(10),
            transaction_slots: 1024,
            query_slots: 64,
            admission_timeout: Duration::from_secs(30),
            workers: 2,
            scheduler: SchedulerMode::Cost,
            cores: 0,
            repairing: false,
            takes_over: false,
            apart: false,
            notice: Duration::from_secs(2),
            owner: None,
            archived_to: None,
            table_options: BTreeMap::new(),
        }
    }
}

/// Data files that are kept open at most, unless the options say so: each takes a little memory of the system, too.
const OPEN_FILES_MAX: u64 = 32_768;
/// Data files that are kept open where nobody knows how many may be.
const OPEN_FILES_UNKNOWN: u64 = 1024;

impl EngineOptions {
    /// How many data files are kept open.
    pub(crate) fn open_files(&self, fs: &dyn Fs) -> usize {
        let derived = || fs.open_files_max().map_or(OPEN_FILES_UNKNOWN, |most| (most / 2).min(OPEN_FILES_MAX)) as usize;
        if self.open_files == 0 { derived() } else { self.open_files }
    }

    /// Sizes of the log's files and buffers.
    pub(crate) fn log(&self) -> LogOptions {
        LogOptions {
            segment_bytes: self.log_segment_bytes,
            zero_ahead_bytes: self.log_zero_ahead_bytes,
            batch_bytes_max: self.log_batch_bytes,
        }
    }

    /// Refuses what cannot work.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |what: &str| Err(Error::new(Code::InvalidParameterValue, what.to_owned()));
        if self.row_table_bytes == 0 {
            return bad("row_table_bytes is 0; it must be at least 1");
        }
        if self.row_memory_bytes < self.row_table_bytes {
            return bad("row_memory_bytes is less than row_table_bytes; raise it to several times that");
        }
        if self.log_segment_bytes < 4096 {
            return bad("log_segment_bytes is less than 4096; raise it");
        }
        if self.log_batch_bytes == 0 || self.log_chunk_bytes == 0 {
            return bad("log_batch_bytes or log_chunk_bytes is 0; each must be at least 1");
        }
        if self.transaction_slots == 0 || self.query_slots == 0 {
            return bad("transaction_slots or query_slots is 0; each must be at least 1");
        }
        if self.workers > 64 {
            return bad("workers is more than 64; lower it");
        }
        Ok(())
    }
}
