//! A transaction: its snapshot, its reads, its end.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use weft_contract::{Attachment, Base, Newest, NoteReads, ReadView, Staged, TableWrites};
use weft_env::sync::Mutex;
use weft_format::{Code, Error, Result, TableId, Timestamp, TxnId, Value};

use super::core::Core;
use super::followed::Followed;
use super::held::HeldSnapshot;
use super::journal::{Journal, Mark, TableState};
use super::level::IsolationLevel;
use super::opened::Engine;
use super::overlay::overlay;
use super::own_ddl::OwnDdl;
use super::reads::ReadSet;
use super::speculation::Speculation;
use crate::CancelToken;
use crate::admission::Slot;
use crate::catalog::{ObjectKind, Relation, SchemaId, TableDef, TableRef};
use crate::fault::{self, Fault};
use crate::index::{COLUMNS_METHOD, INDEX_METHOD};
use crate::lock::{ColumnSet, HeldLocks, LockMode};
use crate::options::Durability;
use crate::options::EngineOptions;
use crate::step::{Moment, passed};

/// Keys of rows by unique index and value.
type OwnValues = HashMap<(TableId, Box<[u8]>), Vec<Box<[u8]>>>;

/// Reads one snapshot and stages writes; dropping it rolls back.
pub struct Transaction {
    pub(super) engine: Arc<Engine>,
    pub(super) id: TxnId,
    pub(super) read_ts: Timestamp,
    /// The snapshot that is registered: `read_ts`, or before it after speculative reads.
    registered_ts: Timestamp,
    /// With speculative reads: what is seen beside the snapshot.
    pub(super) speculation: Option<Speculation>,
    pub(super) durability: Durability,
    pub(super) level: IsolationLevel,
    /// What was read, when that is validated at commit.
    pub(super) reads: Option<Arc<ReadSet>>,
    /// The count of locks with two writers when this transaction took its first lock on a row.
    pub(super) mixed_before: Option<u64>,
    /// A row was staged whose newest version, with other columns changed, the snapshot does not show.
    pub(super) staged_behind: bool,
    /// The statement may build on commits that are not published.
    pub(super) may_follow: bool,
    /// The commits that this transaction builds on, and that were not published when it did.
    pub(super) followed: Vec<Followed>,
    pub(super) cancel: Option<CancelToken>,
    pub(super) lock_timeout: Duration,
    pub(super) journal: Journal,
    pub(super) ddl: Vec<OwnDdl>,
    pub(super) locks: HeldLocks,
    /// Staged bytes that were charged to the row budget.
    pub(super) charged_bytes: u64,
    /// The row that [`Transaction::get_for_update`] read last; an update of it need not read it again.
    pub(super) last_read: Option<LastRead>,
    /// For keys of rows, one after the other.
    pub(super) key_buffer: Vec<u8>,
    /// Keys of staged rows by the values that they were given in unique indexes; some may have been taken back.
    pub(super) own_values: OwnValues,
    /// Its place among the open transactions.
    _slot: Slot,
    /// Its place among the long queries, while it runs one.
    pub(super) query_slot: Option<Slot>,
    /// The steps of the journal before this one were tested against foreign keys that are not deferred.
    pub(super) checked_steps: usize,
    /// Chunks were appended to the log and need an Abort record when the commit fails.
    pub(super) chunked: bool,
    ended: bool,
    /// The snapshot was taken of the past ([`Engine::begin_past`]).
    pub(super) is_past: bool,
    /// See [`Transaction::export_snapshot`].
    exported: Vec<HeldSnapshot>,
    /// Where names without a schema are looked for, in this order; the first is where things are made. None:
    /// [`PUBLIC_ONLY`].
    search_path: Option<Arc<[SchemaId]>>,
    /// None before the first number.
    pub(super) numbers_taken: OnceLock<Taken>,
}

/// The last number that a transaction took from each sequence, in the order in which they were asked last.
pub(super) type Taken = Arc<Mutex<Vec<(u32, i64)>>>;

/// The search path of a transaction that was told none, as most are. Made for each, this one and [`Taken`] would be a
/// twentieth of what a transaction that reads one row costs.
static PUBLIC_ONLY: LazyLock<Arc<[SchemaId]>> = LazyLock::new(|| Arc::new([SchemaId::PUBLIC]));

/// A locked row.
pub(super) struct LastRead {
    pub(super) table: TableId,
    pub(super) key: Box<[u8]>,
    pub(super) mode: LockMode,
    pub(super) newest: Newest,
    pub(super) row: Arc<[u8]>,
}

impl Transaction {
    /// Begins: registers a snapshot of everything published.
    pub(crate) fn begin(
        engine: Arc<Engine>,
        level: IsolationLevel,
        cancel: Option<CancelToken>,
    ) -> Result<Transaction> {
        let core = &engine.core;
        let slot = core.transaction_slots.enter(core.options.admission_timeout, cancel.as_ref(), &*core.env.clock)?;
        let read_ts = register(core, level)?;
        let id = core.next_txn();
        let reads = read_set(&engine.core, level);
        let EngineOptions { durability, lock_timeout, .. } = engine.core.options;
        Ok(Transaction {
            engine,
            id,
            read_ts,
            registered_ts: read_ts,
            speculation: None,
            durability,
            level,
            reads,
            mixed_before: None,
            staged_behind: false,
            may_follow: false,
            followed: Vec::new(),
            cancel,
            lock_timeout,
            journal: Journal::default(),
            ddl: Vec::new(),
            locks: HeldLocks::default(),
            charged_bytes: 0,
            last_read: None,
            key_buffer: Vec::new(),
            own_values: HashMap::new(),
            _slot: slot,
            query_slot: None,
            checked_steps: 0,
            chunked: false,
            ended: false,
            is_past: false,
            exported: Vec::new(),
            search_path: None,
            numbers_taken: OnceLock::new(),
        })
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

    /// Where names without a schema are looked for.
    pub fn search_path(&self) -> &Arc<[SchemaId]> {
        self.search_path.as_ref().unwrap_or(&PUBLIC_ONLY)
    }

    /// Says where names without a schema are looked for. The kernel's own look-ups do not use it.
    pub fn set_search_path(&mut self, path: Arc<[SchemaId]>) {
        self.search_path = Some(path);
    }

    /// The isolation level.
    pub fn level(&self) -> IsolationLevel {
        self.level
    }

    /// Changes the isolation level, and takes a new snapshot. Only before anything was read or staged.
    pub fn set_level(&mut self, level: IsolationLevel) -> Result<()> {
        assert!(self.is_read_only(), "the isolation level is set before anything is staged");
        self.move_snapshot(level)
    }

    /// How long a lock is waited for; zero: as long as it takes.
    pub fn set_lock_timeout(&mut self, timeout: Duration) {
        self.lock_timeout = timeout;
    }

    /// Waits for locks end when this is set off.
    pub fn set_cancel(&mut self, cancel: CancelToken) {
        self.cancel = Some(cancel);
    }

    /// An error when the statement was asked to stop, or its time is over.
    pub fn check_goes_on(&self) -> Result<()> {
        let now = || self.engine.core.env.clock.monotonic_nanos();
        self.cancel.as_ref().map_or(Ok(()), |cancel| cancel.check(now))
    }

    /// Takes a slot for a query that reads much, waiting for it in order, unless this transaction has one. It is given
    /// back by [`Transaction::end_query`], and while the transaction waits for a lock (admission 3).
    pub fn admit_query(&mut self) -> Result<()> {
        if self.query_slot.is_none() {
            self.query_slot = Some(self.core().admit_query(self.cancel.as_ref())?);
        }
        Ok(())
    }

    /// The query was read to its end, or given up.
    pub fn end_query(&mut self) {
        if !fault::active(Fault::HOLD_SLOT_WHILE_WAITING) {
            self.query_slot = None;
        }
    }

    /// Takes a new snapshot of everything published now: what a READ COMMITTED statement starts with. Staged writes and
    /// locks stay; rows of which this transaction wrote some columns show the other columns as they are now.
    pub fn refresh_snapshot(&mut self) -> Result<()> {
        if fault::active(Fault::KEEP_STATEMENT_SNAPSHOT) {
            return Ok(());
        }
        if self.may_be_behind() {
            // Rows are put together from what is published, which must have what they build on.
            self.settle_followed()?;
        }
        let is_newest = self.speculation.is_none() && self.core().timeline.published() == self.read_ts;
        if is_newest && !self.may_be_behind() {
            return Ok(());
        }
        self.move_snapshot(self.level)?;
        if self.may_be_behind() { self.rebase(self.read_ts) } else { Ok(()) }
    }

    /// Registers a snapshot of a level, and lets the old one go.
    pub(super) fn move_snapshot(&mut self, level: IsolationLevel) -> Result<()> {
        self.end_speculative_snapshot()?;
        let fresh = match self.speculation {
            Some(_) => self.register_speculative(level)?,
            None => register(self.core(), level)?,
        };
        assert!(fresh >= self.read_ts, "a new snapshot shows all that the one before it showed");
        let (old_level, old_ts) = (self.level, self.registered_ts);
        (self.level, self.read_ts, self.registered_ts, self.is_past) = (level, fresh, fresh, false);
        let core = &self.engine.core;
        core.recent.release_of(old_level, old_ts, &core.timeline);
        self.reads = read_set(core, level);
        self.last_read = None;
        self.check();
        Ok(())
    }

    /// Reads from now on what was committed up to `read_ts`, as a transaction at REPEATABLE READ that has been open
    /// since then: what it writes conflicts with all that was committed after. Rights are those of now. It reads
    /// nothing speculatively any more.
    ///
    /// # Errors
    /// [`Code::SnapshotTooOld`] when the catalog is not kept so far, and later from each table that is not;
    /// [`Code::InvalidParameterValue`] when `read_ts` has not been published; [`Code::ActiveTransaction`] at another
    /// level, or once something was written.
    pub fn set_snapshot(&mut self, read_ts: Timestamp) -> Result<()> {
        let held = HeldSnapshot::of_past(&self.engine, read_ts)?;
        self.adopt(held)
    }

    /// Reads from now on what a transaction reads that exports its snapshot; see [`Transaction::set_snapshot`].
    ///
    /// # Errors
    /// [`Code::InvalidParameterValue`] when no open transaction exports it; [`Code::ActiveTransaction`] as there.
    pub fn import_snapshot(&mut self, read_ts: Timestamp) -> Result<()> {
        let held = HeldSnapshot::imported(&self.engine, read_ts).ok_or_else(|| {
            let error = Error::new(Code::InvalidParameterValue, format!("invalid snapshot identifier: \"{read_ts}\""));
            error.hint("the transaction that called pg_export_snapshot() must still be open")
        })?;
        self.adopt(held)
    }

    fn adopt(&mut self, held: HeldSnapshot) -> Result<()> {
        if self.level != IsolationLevel::RepeatableRead || !self.is_read_only() || self.locks.count() > 0 {
            let message = "a snapshot is chosen by a transaction at REPEATABLE READ that has written nothing";
            return Err(Error::new(Code::ActiveTransaction, message));
        }
        self.set_speculative_reads(false)?;
        self.release_snapshot();
        let read_ts = held.into_registered();
        (self.read_ts, self.registered_ts, self.is_past) = (read_ts, read_ts, true);
        self.last_read = None;
        self.check();
        Ok(())
    }

    /// Keeps the snapshot readable by others until this transaction ends, whatever it reads by then itself; returns its
    /// timestamp.
    ///
    /// # Errors
    /// [`Code::FeatureNotSupported`] with speculative reads: nobody else could see the same.
    pub fn export_snapshot(&mut self) -> Result<Timestamp> {
        if self.speculation.is_some() {
            let error = Error::new(Code::FeatureNotSupported, "a snapshot of speculative reads cannot be exported");
            return Err(error.hint("SET speculative_reads = off before the transaction begins"));
        }
        if self.exported.last().is_none_or(|held| held.read_ts() != self.read_ts) {
            self.exported.push(HeldSnapshot::exported(&self.engine, self.read_ts));
        }
        Ok(self.read_ts)
    }

    /// The version of the catalog that rights are read from: the newest when the snapshot was taken of the past, for
    /// what was revoked since is revoked there, too. None after DDL of its own.
    pub fn rights_version(&self) -> Option<u64> {
        if !self.is_past {
            return self.catalog_version();
        }
        self.ddl.is_empty().then(|| self.core().catalog.version_at(self.core().timeline.published()).0)
    }

    /// When objects of a kind are looked up: see [`Transaction::rights_version`].
    pub(super) fn objects_ts(&self, kind: ObjectKind) -> Timestamp {
        if self.is_past && kind == ObjectKind::Other { self.core().timeline.published() } else { self.read_ts }
    }

    /// What holds of a transaction between its steps.
    pub(super) fn check(&self) {
        assert!(self.registered_ts <= self.read_ts, "the snapshot that is read is registered, or one before it is");
        let notes_reads = self.level == IsolationLevel::Serializable;
        assert!(
            self.reads.is_some() == notes_reads,
            "who is validated at commit, and nobody else, notes what it reads"
        );
        assert!(self.charged_bytes <= self.journal.staged_bytes, "what is charged was staged, and is never taken back");
        assert!(
            self.checked_steps <= self.journal.step_count(),
            "steps that were tested and taken back are not counted"
        );
        let shows_pending = self.speculation.as_ref().is_some_and(Speculation::shows_pending);
        assert!(!shows_pending || self.locks.count() == 0, "who has a lock sees no pending commits (speculation 4)");
        assert!(!shows_pending || self.is_read_only(), "own writes and pending ones never meet (speculation 4)");
        assert!(!self.ended, "a transaction that has ended does nothing more");
    }

    fn release_snapshot(&mut self) {
        let core = &self.engine.core;
        core.recent.release_of(self.level, self.registered_ts, &core.timeline);
    }

    /// Whether some lock had two writers since this transaction took its first one.
    pub(super) fn has_mixed(&self) -> bool {
        self.mixed_before.is_some_and(|before| before != self.core().locks.mixed_count())
    }

    /// Whether staged rows may show other columns than the newest versions of their rows.
    pub(super) fn may_be_behind(&self) -> bool {
        self.staged_behind || self.has_mixed()
    }

    /// Puts the columns that this transaction wrote onto the rows as they are at `ts`, where others have committed
    /// other columns of them meanwhile.
    pub(super) fn rebase(&mut self, ts: Timestamp) -> Result<()> {
        self.journal.tables.iter_mut().try_for_each(|state| Transaction::rebase_table(state, ts))
    }

    /// The same of one table; doing it again is harmless. A table that was given up has no rows to look at.
    pub(super) fn rebase_table(state: &mut TableState, ts: Timestamp) -> Result<()> {
        let table = &state.table;
        let is_due = state.writes.rows.values().any(Staged::is_partial) && table.table.unavailable().is_none();
        if !is_due || fault::active(Fault::FORGET_REBASE) {
            return Ok(());
        }
        for (key, staged) in &mut Arc::make_mut(&mut state.writes).rows {
            if let (Base::Version(..), Some(row)) = (staged.base, &staged.row)
                && let Some(onto) = table.table.read_row(key, ts)?
            {
                passed(Moment::Rebased);
                staged.row = Some(overlay(&table.codec, &onto, row, &staged.columns));
            }
        }
        Ok(())
    }

    /// Whether nothing is staged: a commit would write no record.
    pub fn is_read_only(&self) -> bool {
        self.ddl.is_empty() && self.journal.is_empty()
    }

    /// Whether rows of tables are staged.
    pub fn has_changed_rows(&self) -> bool {
        !self.journal.is_empty()
    }

    /// Fails when others have committed DDL that this transaction does not see: what it lists of the catalog may lack
    /// what they made. To be asked when the locks are held that keep more from coming.
    pub fn check_sees_all_ddl(&self) -> Result<()> {
        if self.core().catalog.last_ddl() <= self.core().catalog.version_at(self.read_ts) {
            return Ok(());
        }
        let message = "the catalog was changed by a concurrent transaction";
        Err(Error::new(Code::SerializationFailure, message).hint("run the statement again"))
    }

    /// The version of the catalog that this transaction sees: equal numbers mean equal tables. None after DDL of its
    /// own, when nothing bound to tables may be kept beyond this transaction.
    pub fn catalog_version(&self) -> Option<u64> {
        self.ddl.is_empty().then(|| self.core().catalog.version_at(self.read_ts).0)
    }

    /// A table of the schema `public` by its exact name, own DDL included.
    pub fn table(&self, name: &str) -> Result<TableRef> {
        self.table_in(SchemaId::PUBLIC, name)
    }

    /// A table by its schema and exact name, own DDL included.
    pub fn table_in(&self, namespace: SchemaId, name: &str) -> Result<TableRef> {
        match self.relation(namespace, name) {
            Some(Relation::Table(found)) => Ok(found),
            Some(Relation::Index(_) | Relation::Columns(_)) => {
                Err(Error::new(Code::WrongObjectType, format!("{name:?} is an index")).hint("name its table"))
            }
            None => Err(undefined_table(name)),
        }
    }

    /// A table or an index by its exact name, own DDL included.
    pub(super) fn relation(&self, namespace: SchemaId, name: &str) -> Option<Relation> {
        match OwnDdl::find(&self.ddl, namespace, name) {
            Some(own) => own,
            None => self.core().catalog.find(namespace, name, self.read_ts),
        }
    }

    /// A table by its id as this transaction sees it, own DDL included.
    pub fn table_of(&self, id: TableId) -> Option<TableRef> {
        if OwnDdl::drops(&self.ddl, id) {
            return None;
        }
        let found = OwnDdl::by_id(&self.ddl, id).or_else(|| self.core().catalog.by_id_at(id, self.read_ts));
        found.and_then(Relation::into_table)
    }

    /// All tables, by id, own DDL included.
    pub fn tables(&self) -> Vec<Arc<TableDef>> {
        let mut tables = self.relations();
        tables.retain(|def| def.method != INDEX_METHOD && def.method != COLUMNS_METHOD);
        tables
    }

    /// All tables and indexes, by id, own DDL included.
    pub fn relations(&self) -> Vec<Arc<TableDef>> {
        let mut tables: Vec<Arc<TableDef>> =
            self.core().catalog.visible(self.read_ts).iter().map(|relation| relation.def().clone()).collect();
        for ddl in &self.ddl {
            match ddl {
                OwnDdl::Create(made) => tables.push(made.def().clone()),
                OwnDdl::Drop(dropped) => tables.retain(|def| def.id != dropped.id()),
                OwnDdl::Alter(_, altered) => {
                    for def in tables.iter_mut().filter(|def| def.id == altered.id()) {
                        *def = altered.def().clone();
                    }
                }
                OwnDdl::Object(..) => {}
            }
        }
        tables
    }

    /// Reads some columns of a row into `values` (cleared first), own writes first. False: there is no such row.
    #[inline]
    pub fn get(&self, t: &TableRef, key: &[u8], columns: &[usize], values: &mut Vec<Value>) -> Result<bool> {
        self.check_kept(t)?;
        if let Some(reads) = &self.reads {
            reads.note_key(t.def.id, key, columns.iter().copied().collect());
        }
        let Some(staged) = self.shown_row(t, key)? else {
            return t.read(key, self.read_ts, columns, values);
        };
        values.clear();
        if let Some(row) = &staged.row {
            values.extend(columns.iter().map(|&column| t.codec.get(row, column).to_value()));
        }
        Ok(staged.row.is_some())
    }

    /// Reads a whole row (row codec), own writes first.
    pub fn get_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        self.check_kept(t)?;
        if let Some(reads) = &self.reads {
            reads.note_key(t.def.id, key, ColumnSet::ALL);
        }
        match self.shown_row(t, key)? {
            Some(staged) => Ok(staged.row.clone()),
            None => t.table.read_row(key, self.read_ts),
        }
    }

    /// What the transaction sees beside its snapshot: its own row of a key, or what a pending commit made of it.
    #[inline]
    fn shown_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<Cow<'_, Staged>>> {
        match (self.own_row(t, key)?, &self.speculation) {
            (None, Some(speculation)) => Ok(speculation.row(t.def.id, key).map(Cow::Borrowed)),
            (own, _) => Ok(own),
        }
    }

    /// The writes to a table that the transaction sees beside its snapshot: its own, or those of pending commits.
    pub(super) fn shown_writes(&self, t: &TableRef) -> Option<&Arc<TableWrites>> {
        let own = self.journal.find(t.def.id).map(|state| &state.writes).filter(|writes| !writes.is_empty());
        own.or_else(|| self.speculation.as_ref()?.writes(t.def.id))
    }

    /// What the transaction itself made of a key. An error when it added rows in bulk: those are found by scans only.
    #[inline]
    pub(super) fn own_row(&self, t: &TableRef, key: &[u8]) -> Result<Option<Cow<'_, Staged>>> {
        match self.journal.find(t.def.id) {
            None => Ok(None),
            Some(state) if state.writes.attachments.is_empty() => Ok(state.writes.rows.get(key).map(Cow::Borrowed)),
            Some(state) => self.own_row_beside_files(t, &state.writes, key),
        }
    }

    /// Whether the transaction added rows to the table in bulk ([`Transaction::build`]): until it commits, scans see
    /// them, reads and writes of single keys are refused.
    pub fn has_built(&self, t: &TableRef) -> bool {
        let is_more = |attachment: &Attachment| attachment.replaced.is_none();
        self.journal.find(t.def.id).is_some_and(|state| state.writes.attachments.iter().any(is_more))
    }

    /// Whether the transaction has files of the table that are not attached yet, of rows more or of rows replaced.
    pub(super) fn has_files(&self, t: &TableRef) -> bool {
        self.journal.find(t.def.id).is_some_and(|state| !state.writes.attachments.is_empty())
    }

    /// What a scan of the table sees: the snapshot and the writes staged so far. The view is good until the transaction
    /// takes another snapshot or ends.
    ///
    /// # Errors
    /// [`Code::SnapshotTooOld`] when the table has dropped what the snapshot shows ([`Engine::begin_past`] alone).
    pub fn view(&self, t: &TableRef) -> Result<ReadView> {
        self.check_kept(t)?;
        let reads = self.reads.clone().map(|reads| reads as Arc<dyn NoteReads>);
        Ok(ReadView { read_ts: self.read_ts, own: self.shown_writes(t).cloned(), reads })
    }

    /// Tests that a table has what the snapshot shows.
    #[inline]
    pub(super) fn check_kept(&self, t: &TableRef) -> Result<()> {
        let kept = t.horizon().check(self.registered_ts, || format!("table {:?}", t.def.name));
        debug_assert!(kept.is_ok() || self.is_past, "a snapshot of what is published is at or above every floor");
        kept
    }

    /// What is committed of a table now, and this transaction's own writes, whatever its snapshot shows: for who holds
    /// the table's lock alone ([`Transaction::lock_definition`]) and looks at all rows.
    pub fn newest_view(&self, t: &TableRef) -> Result<ReadView> {
        let timeline = &self.core().timeline;
        timeline.settle()?;
        // The own snapshot, which is registered, is at or before it.
        let newest = timeline.published();
        assert!(newest >= self.registered_ts, "the own snapshot is at or before what is published");
        assert!(t.horizon().floor() <= self.registered_ts, "it is the own snapshot that keeps the table readable");
        let own = self.journal.find(t.def.id).map(|state| &state.writes).filter(|writes| !writes.is_empty());
        Ok(ReadView { read_ts: newest, own: own.cloned(), reads: None })
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
        if fault::active(Fault::FORGET_SAVEPOINT) {
            return;
        }
        self.checked_steps = self.checked_steps.min(mark.step_count);
        let (core, ddl) = (&self.engine.core, &mut self.ddl);
        let mut redefined = Vec::new();
        self.journal.rollback_to(mark, || {
            match ddl.pop().expect("each step of DDL in the journal has its definition") {
                OwnDdl::Create(made) => core.give_up(&made),
                OwnDdl::Alter(Relation::Table(before), _) => redefined.push(before),
                _ => {}
            }
        });
        redefined.iter().for_each(|table| self.journal.redefine(table));
        self.last_read = None;
        self.check();
    }

    /// Undoes everything.
    pub fn rollback(mut self) {
        self.undo();
        self.finish();
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.engine.core
    }

    /// Takes back what staging left outside of memory.
    pub(super) fn undo(&mut self) {
        // Where the engine has stopped in the middle of a commit, the next opening finds what it attached.
        if self.core().poison.check().is_ok() {
            self.journal.discard_attachments();
        }
        for ddl in &self.ddl {
            if let OwnDdl::Create(made) = ddl {
                self.core().give_up(made);
            }
        }
    }

    /// Lets go of locks, snapshot and memory.
    pub(super) fn finish(&mut self) {
        assert!(!self.ended, "a transaction lets go of its snapshot and its locks once");
        self.ended = true;
        self.release_snapshot();
        self.exported.clear();
        let core = &self.engine.core;
        if self.locks.count() > 0 {
            core.locks.release(self.id, &mut self.locks);
        }
        self.journal.discard_unbuilt();
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

/// Takes a snapshot of everything published, for a transaction of a level.
fn register(core: &Core, level: IsolationLevel) -> Result<Timestamp> {
    match level {
        IsolationLevel::Serializable => core.recent.register(&core.timeline, &core.sequencer),
        _ => Ok(core.timeline.register()),
    }
}

/// Where a transaction of a level notes what it reads, when that is validated.
fn read_set(core: &Core, level: IsolationLevel) -> Option<Arc<ReadSet>> {
    (level == IsolationLevel::Serializable).then(|| Arc::new(ReadSet::new(&core.read_sets)))
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
