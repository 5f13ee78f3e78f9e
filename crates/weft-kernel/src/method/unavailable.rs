//! A table that is there and cannot be opened: a file of it is damaged, missing or not readable. Every statement on it
//! fails and says so; other tables know nothing of it.
//!
//! ```text
//!   open    t12-7.data: footer fails its checksum    ─▶ t12 stands in the catalog, and answers "... t12-7.data ..."
//!   redo    update k@41 needs block 3 of t12-7.data  ─▶ the same, from this change on
//!   next open, with the file restored or taken out by `weft check --quarantine`: redo from the same cut
//! ```
//!
//! 1. No answer is given without the part: rows would be missing in it.
//! 2. The log is kept from the table's cut on when it has changes of the table, so the next open misses nothing; for an
//!    index from its cut on, since its table is written meanwhile. So are the table's changes of pages.
//! 3. Its files stay, and its manifest entry; a DROP removes both.
//!
//! Concurrency: immutable but for what redo notes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weft_contract::{
    Blind, Bulk, BulkReplace, Damage, FileSwitch, InPlace, Inspect, JobOffer, LayerStatus, Newest, PartStatus, Read,
    RecoveredTable, ScanOutput, ScanRequest, Table, TableDef, TableStatistics, TableWrites, Upkeep, Versions, Write,
};
use weft_format::{Error, FileId, RecordNo, Result, RowCodec, Schema, Timestamp, Value};

use super::TableContext;
use crate::fault::{Fault, active};

/// See above.
pub(crate) struct Unavailable {
    context: TableContext,
    cut: Timestamp,
    files: Vec<FileId>,
    error: Error,
    /// The log has changes of the table behind its cut (unavailable 2).
    has_changes: AtomicBool,
    /// The first change of its pages in the log; MAX when there is none.
    first_page: AtomicU64,
    /// What was opened before redo met the damage: indexes look at it until the engine is closed.
    opened: Option<Arc<dyn Table>>,
}

impl Unavailable {
    /// The table that could not be opened.
    pub(crate) fn new(context: TableContext, recovered: &RecoveredTable, cause: &Error) -> Unavailable {
        let error = told(&context.def, cause);
        let (cut, files) = (recovered.cut, recovered.files.clone());
        let (has_changes, first_page) = (AtomicBool::new(false), AtomicU64::new(RecordNo::MAX.0));
        Unavailable { context, cut, files, error, has_changes, first_page, opened: None }
    }

    /// Of a table that was opened, and perhaps changed by redo already.
    pub(crate) fn instead_of(self, opened: Arc<dyn Table>, has_changes: bool) -> Unavailable {
        Unavailable { has_changes: AtomicBool::new(has_changes), opened: Some(opened), ..self }
    }

    /// An index: its table is written without it, so it will need the log from its cut on.
    pub(crate) fn keeping_log(self) -> Unavailable {
        let has_changes = AtomicBool::new(!active(Fault::FORGET_UNOPENED));
        Unavailable { has_changes, ..self }
    }

    fn refused<T>(&self) -> Result<T> {
        Err(self.error.clone())
    }
}

/// What every statement on the table is told.
fn told(def: &TableDef, cause: &Error) -> Error {
    let message = format!("table {:?} cannot be used: {}", def.name, cause.message());
    let hint = "restore the file from a backup and open the database again, or go on without it by \
                `weft check --quarantine`";
    Error::new(cause.code(), message).hint(hint)
}

/// What statements on a table are told from a commit on that could not be installed there.
pub(crate) fn told_at_commit(def: &TableDef, ts: Timestamp, cause: &Error) -> Error {
    let message =
        format!("table {:?} cannot be used: commit {ts} could not be installed: {}", def.name, cause.message());
    let hint = "the log has the commit: see to the disk, or restore the file from a backup, and open the database \
                again; or go on without the file by `weft check --quarantine`";
    Error::new(cause.code(), message).hint(hint)
}

impl Read for Unavailable {
    fn read(&self, _: &RowCodec, _: &[u8], _: Timestamp, _: &[usize], _: &mut Vec<Value>) -> Result<bool> {
        self.refused()
    }

    fn read_row(&self, _: &[u8], _: Timestamp) -> Result<Option<Arc<[u8]>>> {
        self.refused()
    }

    fn newest(&self, _: &[u8]) -> Result<Option<Newest>> {
        self.refused()
    }

    fn newest_row(&self, _: &[u8]) -> Result<Option<(Newest, Arc<[u8]>)>> {
        self.refused()
    }

    /// Nobody gets a row id: who wants one is refused.
    fn greatest_key(&self) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn scan(&self, _: &Arc<Schema>, _: ScanRequest) -> Result<ScanOutput> {
        self.refused()
    }

    fn statistics(&self) -> TableStatistics {
        let ranges = vec![None; self.context.def.schema.columns.len()];
        TableStatistics { row_count: 0, bytes: 0, ranges }
    }
}

impl Write for Unavailable {
    /// Recovery's alone: who writes is refused before.
    fn apply(&self, ts: Timestamp, _: &TableWrites) -> Result<()> {
        if ts > self.cut {
            self.has_changes.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// No commit comes here: who writes is refused before.
    fn give_up(&self, _: Timestamp, _: &Error) -> bool {
        false
    }
}

/// None, so that every writer looks at the rows one by one, and is refused.
impl Table for Unavailable {
    fn bulk(&self) -> Option<&dyn Bulk> {
        None
    }

    fn bulk_replace(&self) -> Option<&dyn BulkReplace> {
        None
    }

    fn blind(&self) -> Option<&dyn Blind> {
        None
    }

    fn in_place(&self) -> Option<&dyn InPlace> {
        Some(self)
    }

    fn versions(&self) -> Option<&dyn Versions> {
        None
    }
}

/// Whatever its method does with its pages, the log keeps it.
impl InPlace for Unavailable {
    fn redo(&self, number: RecordNo, _: &[u8]) -> Result<()> {
        self.first_page.fetch_min(number.0, Ordering::AcqRel);
        Ok(())
    }

    fn redone(&self) -> Result<()> {
        Ok(())
    }

    fn opened(&self) {}

    fn last_found(&self) -> RecordNo {
        RecordNo(0)
    }

    fn needs_from(&self) -> Option<RecordNo> {
        let opened = self.opened.as_ref().and_then(|opened| opened.in_place()?.needs_from());
        let first = Some(RecordNo(self.first_page.load(Ordering::Acquire))).filter(|first| *first < RecordNo::MAX);
        first.into_iter().chain(opened).min()
    }
}

impl Upkeep for Unavailable {
    fn jobs(&self) -> Vec<JobOffer> {
        Vec::new()
    }

    fn run(&self, _: &JobOffer) -> Result<()> {
        Ok(())
    }

    fn freeze(&self) {}

    fn durable_cut(&self) -> Timestamp {
        if self.has_changes.load(Ordering::Acquire) { self.cut } else { Timestamp::MAX }
    }

    fn evolve(&self, _: &Arc<TableDef>) {}

    fn drop_files(&self) {
        let TableContext { services, def, .. } = &self.context;
        self.files.iter().for_each(|file| services.files.remove(def.id, *file));
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(vec![self.error.to_string()])
    }

    fn damage(&self) -> Vec<Damage> {
        vec![Damage { file: None, error: self.error.clone() }]
    }

    fn unavailable(&self) -> Option<&Error> {
        Some(&self.error)
    }

    /// It stays as it is until the follower joins anew.
    fn follow(&self, _: &FileSwitch) -> Result<()> {
        Ok(())
    }
}

impl Inspect for Unavailable {
    fn layers(&self) -> Vec<LayerStatus> {
        Vec::new()
    }

    fn parts(&self) -> Vec<PartStatus> {
        Vec::new()
    }
}
