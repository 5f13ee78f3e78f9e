//! A column table in a layout: the open file, its delete marks, and when its rows came in.
//!
//! ```text
//!   part t12-7   rows 0..900   marks {17 @ 41}   insert timestamps: in the file, 11..=40
//!   part t12-8   rows 0..5000  marks {}          attached at 44: every row was inserted at 44
//! ```
//!
//! 1. Rows are ordered by key, versions of a key oldest first; at most one version of a key is unmarked.
//! 2. The file is retired only after a durable manifest edit forgot it, or when none ever named it (DESIGN invariant
//!    7); it goes with the last reference.
//! 3. Insert timestamps are tested by readers unless the greatest is at or below theirs (DESIGN invariant 9).
//! 4. A part that a job could not read is left out of jobs for a while, and then tried again.
//!
//! Concurrency: all but the marks and the flags is immutable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_env::Env;
use weft_format::table::{BlockCache, ColumnTable};
use weft_format::{Code, FileId, Result, Timestamp};
use weft_kernel::account::{Charge, Kept};
use weft_kernel::files::DataFile;
use weft_kernel::method::TableContext;
use weft_kernel::sched::Setback;
use weft_kernel::services::Services;

use super::key_probe::KeyProbe;
use super::marks::Marks;
use super::payload::{Layer, PartEntry};

/// One column table of a table.
pub(crate) struct Part {
    pub(crate) file: FileId,
    pub(crate) data: DataFile,
    pub(crate) table: ColumnTable,
    pub(crate) marks: Marks,
    /// 0: the file has its own insert timestamps; MAX: built, its commit is still to come.
    attached_at: AtomicU64,
    /// Named by a durable manifest edit.
    listed: AtomicBool,
    /// Taken by a job.
    busy: AtomicBool,
    /// Cut for its size: however few bytes it came to, merging would not make it larger.
    full: AtomicBool,
    /// It could not be read by a job.
    setback: Setback,
    services: Arc<Services>,
    env: Env,
    _charge: Charge,
}

impl Part {
    /// Wraps an open file. `attached_at`: all its rows were inserted then.
    pub(crate) fn new(
        table: ColumnTable,
        data: DataFile,
        attached_at: Option<Timestamp>,
        context: &TableContext,
    ) -> Part {
        assert_eq!(table.file_id(), data.number(), "a part is of the file that it reads");
        let account = context.services.account();
        Part {
            _charge: account.charge(Kept::Files, (size_of::<Part>() + table.memory_bytes()) as u64),
            file: data.number(),
            data,
            marks: Marks::new(table.row_count() as usize, account),
            table,
            attached_at: AtomicU64::new(attached_at.unwrap_or_default().0),
            listed: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            full: AtomicBool::new(false),
            setback: Setback::default(),
            services: context.services.clone(),
            env: context.env.clone(),
        }
    }

    pub(crate) fn key_min(&self) -> &[u8] {
        self.table.min_key()
    }

    pub(crate) fn key_max(&self) -> &[u8] {
        self.table.max_key()
    }

    pub(crate) fn row_count(&self) -> u32 {
        self.table.row_count()
    }

    pub(crate) fn cache(&self) -> &dyn BlockCache {
        &**self.services.cache()
    }

    /// The timestamp of the commit that attached the file, if one did.
    pub(crate) fn attached_at(&self) -> Option<Timestamp> {
        match self.attached_at.load(Ordering::Acquire) {
            0 => None,
            ts => Some(Timestamp(ts)),
        }
    }

    /// The commit of the statement that built the file; before the part enters a layout.
    pub(crate) fn attach_at(&self, ts: Timestamp) {
        assert!(ts > Timestamp(0) && ts < Timestamp::MAX, "a file is attached at the timestamp of a commit");
        let before = self.attached_at.swap(ts.0, Ordering::AcqRel);
        assert_eq!(before, Timestamp::MAX.0, "a file that was built is attached once");
    }

    /// Whether all its versions began before one that is in a row table: nothing but what a bulk statement attached is
    /// newer than the layout's row tables.
    pub(crate) fn is_older_than(&self, began: Timestamp) -> bool {
        self.attached_at().is_none_or(|at| at <= began)
    }

    pub(crate) fn insert_ts_min(&self) -> Timestamp {
        self.attached_at().unwrap_or(self.table.min_insert_ts())
    }

    pub(crate) fn insert_ts_max(&self) -> Timestamp {
        self.attached_at().unwrap_or(self.table.max_insert_ts())
    }

    /// When a row was inserted.
    pub(crate) fn insert_ts(&self, position: u32) -> Result<Timestamp> {
        match self.attached_at() {
            Some(ts) => Ok(ts),
            None => self.table.insert_ts(self.cache(), position),
        }
    }

    /// The version of the key that a reader at `read_ts` sees ([`Timestamp::MAX`]: the one that is alive).
    pub(crate) fn find(&self, probe: &KeyProbe<'_>, read_ts: Timestamp) -> Result<Option<u32>> {
        if self.insert_ts_min() > read_ts || !self.table.may_contain_key(probe.hash) {
            return Ok(None);
        }
        let versions = self.table.find_unfiltered(self.cache(), probe.key)?;
        for position in versions.rev() {
            if self.insert_ts_max() > read_ts && self.insert_ts(position)? > read_ts {
                continue;
            }
            // Older versions of the key ended before this one began.
            return Ok((!self.marks.is_dead_at(position, read_ts)).then_some(position));
        }
        Ok(None)
    }

    /// What a manifest payload says of this part when it appears in a layer.
    pub(crate) fn entry(&self, layer: Layer) -> PartEntry {
        let attached_at = self.attached_at().unwrap_or_default();
        PartEntry { file: self.file, row_count: self.row_count(), attached_at, layer, full: self.is_full() }
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Acquire)
    }

    pub(crate) fn set_listed(&self) {
        self.listed.store(true, Ordering::Release);
    }

    /// Takes the part for a job; false when another has it.
    pub(crate) fn claim(&self) -> bool {
        !self.busy.swap(true, Ordering::AcqRel)
    }

    /// Lets another job take the part.
    pub(crate) fn unclaim(&self) {
        self.busy.store(false, Ordering::Release);
    }

    pub(crate) fn is_claimed(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Whether no job should read it now: one could not.
    pub(crate) fn is_set_back(&self) -> bool {
        self.setback.is_near(self.env.clock.monotonic_nanos())
    }

    /// A job failed that read this part, which had failed so many loads before it.
    pub(crate) fn note_job_failure(&self, failures_before: u64, code: Code) {
        if self.table.failures().0 > failures_before {
            self.setback.note(code, self.env.clock.monotonic_nanos());
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire)
    }

    pub(crate) fn set_full(&self) {
        self.full.store(true, Ordering::Release);
    }

    /// The file goes with the last reference.
    pub(crate) fn retire(&self) {
        self.data.retire();
    }
}
