//! A transaction: its snapshot, its reads, its end.

use std::sync::Arc;

use weft_format::{Code, Error, Result, TableId, Timestamp, TxnId, Value};

use super::ddl::OwnDdl;
use super::journal::{Journal, Mark};
use crate::CancelToken;
use crate::catalog::{TableDef, TableRef};
use crate::engine::{Core, Durability, Engine};
use crate::lock::HeldLocks;
use crate::table::{Newest, ReadView, Staged};

/// Reads one snapshot and stages writes; dropping it rolls back.
pub struct Transaction {
    pub(super) engine: Arc<Engine>,
    pub(super) id: TxnId,
    pub(super) read_ts: Timestamp,
    pub(super) durability: Durability,
    /// Whether the session retries the statement on a fresh snapshot when it meets a newer row.
    pub(super) autocommit: bool,
    pub(super) cancel: Option<CancelToken>,
    pub(super) journal: Journal,
    pub(super) ddl: Vec<OwnDdl>,
    pub(super) locks: HeldLocks,
    /// Staged bytes that were charged to the row budget.
    pub(super) charged_bytes: u64,
    /// The row that [`Transaction::get_for_update`] read last; an update of it need not read it again.
    pub(super) last_read: Option<LastRead>,
    /// Chunks were appended to the log and need an Abort record when the commit fails.
    pub(super) chunked: bool,
    ended: bool,
}

/// A locked row.
pub(super) struct LastRead {
    pub(super) table: TableId,
    pub(super) key: Box<[u8]>,
    pub(super) newest: Newest,
    pub(super) row: Arc<[u8]>,
}

impl Transaction {
    /// Begins: registers a snapshot of everything published.
    pub(crate) fn begin(engine: Arc<Engine>) -> Transaction {
        let id = engine.core.next_txn();
        let read_ts = engine.core.timeline.register();
        let durability = engine.core.options.durability;
        Transaction {
            engine,
            id,
            read_ts,
            durability,
            autocommit: false,
            cancel: None,
            journal: Journal::default(),
            ddl: Vec::new(),
            locks: HeldLocks::default(),
            charged_bytes: 0,
            last_read: None,
            chunked: false,
            ended: false,
        }
    }

    /// The transaction's number, as errors about locks name it.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// The snapshot: everything committed up to this timestamp is seen.
    pub fn read_ts(&self) -> Timestamp {
        self.read_ts
    }

    /// The engine it belongs to.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Whether the commit waits until it is on disk.
    pub fn set_durability(&mut self, durability: Durability) {
        self.durability = durability;
    }

    /// Says that this is a single statement which the session runs again on a fresh snapshot when it fails with
    /// [`Code::SerializationFailure`]; an insert that meets a row newer than the snapshot is then a unique violation.
    pub fn set_autocommit(&mut self, autocommit: bool) {
        self.autocommit = autocommit;
    }

    /// Waits for locks end when this is set off.
    pub fn set_cancel(&mut self, cancel: CancelToken) {
        self.cancel = Some(cancel);
    }

    /// Takes a new snapshot of everything published now. Only while nothing is staged; locks stay.
    pub fn refresh_snapshot(&mut self) {
        assert!(self.is_read_only(), "a snapshot is only refreshed while nothing is staged");
        let fresh = self.core().timeline.register();
        self.core().timeline.release(self.read_ts);
        self.read_ts = fresh;
        self.last_read = None;
    }

    /// Whether nothing is staged: a commit would write no record.
    pub fn is_read_only(&self) -> bool {
        self.ddl.is_empty() && self.journal.is_empty()
    }

    /// The version of the catalog that this transaction sees: equal numbers mean equal tables. None after DDL of its
    /// own, when nothing bound to tables may be kept beyond this transaction.
    pub fn catalog_version(&self) -> Option<u64> {
        self.ddl.is_empty().then(|| self.core().catalog.version_at(self.read_ts).0)
    }

    /// A table by its exact name, own DDL included.
    pub fn table(&self, name: &str) -> Result<TableRef> {
        let found = match OwnDdl::find(&self.ddl, name) {
            Some(own) => own,
            None => self.core().catalog.find(name, self.read_ts),
        };
        found.ok_or_else(|| undefined_table(name))
    }

    /// All tables, by id, own DDL included.
    pub fn tables(&self) -> Vec<Arc<TableDef>> {
        let mut tables: Vec<Arc<TableDef>> =
            self.core().catalog.visible(self.read_ts).into_iter().map(|table| table.def).collect();
        for ddl in &self.ddl {
            match ddl {
                OwnDdl::Create(table) => tables.push(table.def.clone()),
                OwnDdl::Drop(table) => tables.retain(|def| def.id != table.def.id),
            }
        }
        tables
    }

    /// Reads some columns of a row into `values` (cleared first), own writes first. False: there is no such row.
    #[inline]
    pub fn get(&self, t: &TableRef, key: &[u8], columns: &[usize], values: &mut Vec<Value>) -> Result<bool> {
        let Some(staged) = self.own_row(t, key)? else {
            return t.table.read(key, self.read_ts, columns, values);
        };
        values.clear();
        if let Some(row) = &staged.row {
            values.extend(columns.iter().map(|&column| t.codec.get(row, column).to_value()));
        }
        Ok(staged.row.is_some())
    }

    /// Reads a whole row (row codec), own writes first.
    pub fn get_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        match self.own_row(t, key)? {
            Some(staged) => Ok(staged.row.clone()),
            None => t.table.read_row(key, self.read_ts),
        }
    }

    /// What the transaction itself made of a key. An error when it added rows in bulk: those are found by scans only.
    #[inline]
    pub(super) fn own_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<&Staged>> {
        match self.journal.find(t.def.id) {
            None => Ok(None),
            Some(state) if state.writes.attachments.is_empty() => Ok(state.writes.rows.get(key)),
            Some(_) => Err(built(t)),
        }
    }

    /// Whether the transaction added rows to the table in bulk ([`Transaction::build`]): until it commits, scans see
    /// them, reads and writes of single keys are refused.
    pub fn has_built(&self, t: &TableRef) -> bool {
        self.journal.find(t.def.id).is_some_and(|state| !state.writes.attachments.is_empty())
    }

    /// What a scan of the table sees: the snapshot and the writes staged so far. The view is good for as long as the
    /// transaction lives.
    pub fn view(&self, t: &TableRef) -> ReadView {
        let writes = self.journal.find(t.def.id).map(|state| &state.writes);
        ReadView { read_ts: self.read_ts, own: writes.filter(|writes| !writes.is_empty()).cloned() }
    }

    /// A hidden row id that no row had; numbers of transactions that roll back are left out.
    pub fn next_row_id(&self, t: &TableRef) -> i64 {
        self.next_row_ids(t, 1)
    }

    /// The first of `count` consecutive hidden row ids.
    pub fn next_row_ids(&self, t: &TableRef, count: u64) -> i64 {
        t.take_row_ids(count)
    }

    /// The present point, to which [`Transaction::rollback_to`] takes it back: the start of a statement.
    pub fn mark(&self) -> Mark {
        self.journal.mark()
    }

    /// Undoes everything staged since the mark; locks stay.
    pub fn rollback_to(&mut self, mark: Mark) {
        let ddl = &mut self.ddl;
        self.journal.rollback_to(mark, || {
            if let Some(OwnDdl::Create(table)) = ddl.pop() {
                table.table.drop_files();
            }
        });
        self.last_read = None;
    }

    /// Undoes everything.
    pub fn rollback(mut self) {
        self.undo();
        self.finish();
    }

    pub(super) fn core(&self) -> &Core {
        &self.engine.core
    }

    /// Takes back what staging left outside of memory.
    pub(super) fn undo(&mut self) {
        self.journal.discard_attachments();
        for ddl in &self.ddl {
            if let OwnDdl::Create(table) = ddl {
                table.table.drop_files();
            }
        }
    }

    /// Lets go of locks, snapshot and memory.
    pub(super) fn finish(&mut self) {
        self.ended = true;
        let core = &self.engine.core;
        if self.locks.count() > 0 {
            core.locks.release(self.id, &mut self.locks);
        }
        core.timeline.release(self.read_ts);
        if self.charged_bytes > 0 {
            core.services.row_budget.release(std::mem::take(&mut self.charged_bytes));
        }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.ended {
            self.undo();
            self.finish();
        }
    }
}

/// No table of this name is visible.
pub(super) fn undefined_table(name: &str) -> Error {
    Error::new(Code::UndefinedTable, format!("table {name:?} does not exist")).about(name, None, None)
}

/// Keys of rows that a bulk statement of the same transaction added are not looked up one by one.
pub(super) fn built(t: &TableRef) -> Error {
    let message = format!("table {:?} has rows of an uncommitted bulk statement of this transaction", t.def.name);
    let error = Error::new(Code::FeatureNotSupported, message).about(&t.def.name, None, None);
    error.hint("commit the bulk statement first, or read the table by a scan")
}
