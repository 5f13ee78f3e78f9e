//! What a statement holds of a table.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Weak};

use weft_contract::{Attachment, Bulk, BulkReplace, Table, TableDef};
use weft_env::Env;
use weft_env::sync::RwLock;
use weft_format::key::KeyCodec;
use weft_format::row::RowCodec;
use weft_format::{Code, Error, Result, TableId, Timestamp, Value};

use super::columns_ref::ColumnsRef;
use super::index_ref::IndexRef;
use super::life::Life;
use super::looked::Looked;
use crate::fault::{Fault, active};
use crate::index::{Feeder, Index, Indexed};
use crate::lock::ColumnSet;
use crate::method::TableContext;
use crate::services::Services;
use crate::timeline::Horizon;

/// A table as a statement uses it. Cheap to clone; valid for as long as it is held, even after a drop.
#[derive(Clone)]
pub struct TableRef {
    /// Name, schema, options.
    pub def: Arc<TableDef>,
    /// Scans and point reads.
    pub table: Arc<dyn Table>,
    /// Rows of the table.
    pub codec: Arc<RowCodec>,
    /// Keys of the table.
    pub keys: Arc<KeyCodec>,
    /// What all references to one table share.
    pub(super) shared: Arc<TableShared>,
}

/// A table that may be gone: who keeps this keeps neither its files nor its memory.
#[derive(Clone)]
pub struct WeakTableRef {
    def: Arc<TableDef>,
    table: Weak<dyn Table>,
    codec: Arc<RowCodec>,
    keys: Arc<KeyCodec>,
    shared: Weak<TableShared>,
}

impl WeakTableRef {
    /// The table, if it is still there.
    pub fn upgrade(&self) -> Option<TableRef> {
        let (table, shared) = (self.table.upgrade()?, self.shared.upgrade()?);
        Some(TableRef { def: self.def.clone(), table, codec: self.codec.clone(), keys: self.keys.clone(), shared })
    }
}

/// The mutable state of a table that the kernel keeps.
pub(super) struct TableShared {
    /// The indexes that installations feed, those under construction too.
    indexes: RwLock<Arc<[IndexRef]>>,
    /// The column indexes that installations feed, by id.
    columns: RwLock<Arc<[ColumnsRef]>>,
    /// The tables with foreign keys to this one, by id.
    referencing: RwLock<Arc<[TableId]>>,
    /// Whether there is one; looked at for each row that is staged.
    is_referenced: AtomicBool,
    /// The next hidden row id.
    next_row_id: AtomicI64,
    /// Whether an index of it could not be opened.
    leaves_index_alone: AtomicBool,
    /// What was seen of the values in its columns.
    pub(super) looked: Looked,
    life: Life,
    horizon: Arc<Horizon>,
}

impl TableRef {
    /// A reference to a table that is alive.
    pub(crate) fn new(context: &TableContext, table: Arc<dyn Table>) -> TableRef {
        let def = context.def.clone();
        let codec = Arc::new(RowCodec::new(&def.schema));
        let keys = Arc::new(KeyCodec::new(&def.schema));
        let shared = Arc::new(TableShared {
            indexes: RwLock::new(Arc::new([])),
            columns: RwLock::new(Arc::new([])),
            referencing: RwLock::new(Arc::new([])),
            is_referenced: AtomicBool::new(false),
            next_row_id: AtomicI64::new(1),
            leaves_index_alone: AtomicBool::new(false),
            looked: Looked::new(context),
            life: Life::new(def.schema.version),
            horizon: context.horizon.clone(),
        });
        TableRef { def, table, codec, keys, shared }
    }

    /// The same for who may keep it for long.
    pub fn downgrade(&self) -> WeakTableRef {
        let (table, shared) = (Arc::downgrade(&self.table), Arc::downgrade(&self.shared));
        WeakTableRef { def: self.def.clone(), table, codec: self.codec.clone(), keys: self.keys.clone(), shared }
    }

    /// The same table under a later definition.
    pub(crate) fn with_def(&self, def: Arc<TableDef>) -> TableRef {
        let codec = Arc::new(RowCodec::new(&def.schema));
        TableRef { def, codec, ..self.clone() }
    }

    /// The table as it would be under another definition: to plan with, not to write.
    pub fn redefined(&self, def: TableDef) -> TableRef {
        self.with_def(Arc::new(def))
    }

    /// The version of the newest schema that is committed: another than that of `def` when the table was altered since.
    pub(crate) fn committed_version(&self) -> u32 {
        self.shared.life.version()
    }

    /// How far back it is read.
    pub fn horizon(&self) -> &Horizon {
        &self.shared.horizon
    }

    /// What an index of it gets to be built or reopened.
    pub(crate) fn context_of_index(&self, def: Arc<TableDef>, env: &Env, services: &Arc<Services>) -> TableContext {
        let horizon = self.shared.horizon.clone();
        TableContext { def, env: env.clone(), services: services.clone(), horizon }
    }

    /// The table as an index of it knows it.
    pub(crate) fn as_indexed(&self) -> Indexed {
        let TableRef { def, table, codec, keys, shared, .. } = self.clone();
        let shared: Weak<TableShared> = Arc::downgrade(&shared);
        Indexed { def, table, codec, keys, feeder: shared }
    }

    /// The indexes of a table, by id. Which of them a snapshot may use [`Index::is_usable`] tells.
    pub fn indexes(&self) -> Arc<[IndexRef]> {
        self.shared.indexes.read().clone()
    }

    /// The column indexes of a table, by id. Which of them a snapshot may use
    /// [`ColumnIndex::is_usable`](crate::index::ColumnIndex::is_usable) tells.
    pub fn column_indexes(&self) -> Arc<[ColumnsRef]> {
        self.shared.columns.read().clone()
    }

    /// The tables with foreign keys to this one, itself perhaps among them; by id.
    pub(crate) fn referencing(&self) -> Arc<[TableId]> {
        self.shared.referencing.read().clone()
    }

    /// Whether tables have foreign keys to this one. Who holds the table's lock knows them all.
    pub(crate) fn is_referenced(&self) -> bool {
        self.shared.is_referenced.load(Ordering::Acquire)
    }

    /// From now on installations feed this index.
    pub(crate) fn add_index(&self, index: IndexRef) {
        let mut indexes = self.shared.indexes.write();
        assert!(indexes.iter().all(|known| known.id() != index.id()), "an index is listed once (index relation 1)");
        let mut all: Vec<IndexRef> = indexes.to_vec();
        all.push(index);
        all.sort_by_key(IndexRef::id);
        *indexes = all.into();
    }

    /// An index could not be opened: installations do not feed it, and nobody looks at it. Redo gives it, when it is
    /// there again, the entries of rows that the log has one by one, so until then no files are built of rows.
    pub(crate) fn leave_index_alone(&self, id: TableId) {
        self.shared.remove_index(id);
        self.shared.leaves_index_alone.store(true, Ordering::Release);
    }

    /// Whether rows may be built as files now, by a table that is able to: column indexes are fed rows.
    pub(crate) fn may_build_files(&self) -> bool {
        !self.shared.leaves_index_alone.load(Ordering::Acquire) && self.column_indexes().is_empty()
    }

    /// What a statement that writes some columns of a row must keep others from changing: of each unique index, index
    /// on an expression that may fail and foreign key over several columns that these belong to all columns, for it is
    /// tested for the row as it will be, whoever writes the others.
    pub fn columns_tested(&self, writes: ColumnSet) -> ColumnSet {
        let own = self.def.foreign_keys.iter().map(|foreign_key| &foreign_key.columns[..]);
        columns_beside(own, writes).union(self.columns_indexed_together(writes))
    }

    /// The part of [`TableRef::columns_tested`] that indexes ask for.
    pub(crate) fn columns_indexed_together(&self, writes: ColumnSet) -> ColumnSet {
        let indexes = self.indexes();
        let is_on_expression = |index: &Index| index.columns().contains(&Index::NO_COLUMN);
        let is_forgotten = |index: &Index| active(Fault::FORGET_EXPRESSION_COLUMNS) && is_on_expression(index);
        let is_tested = |index: &&Index| (index.is_unique() || index.can_fail()) && !is_forgotten(index);
        let tested = indexes.iter().map(|index| &*index.index).filter(is_tested);
        columns_beside(tested.map(Index::deciding), writes)
    }

    /// Reads some columns of a row visible at a timestamp; see [`Read::read`](weft_contract::Read::read).
    pub fn read(&self, key: &[u8], read_ts: Timestamp, columns: &[usize], values: &mut Vec<Value>) -> Result<bool> {
        self.table.read(&self.codec, key, read_ts, columns, values)
    }

    /// How the table builds files of many rows, or an error that says what to do without.
    pub(crate) fn bulk(&self) -> Result<&dyn Bulk> {
        self.table.bulk().ok_or_else(|| self.lacks("builds no files of many rows", "insert row by row"))
    }

    /// How the table replaces rows in bulk, or an error that says what to do without.
    pub(crate) fn bulk_replace(&self) -> Result<&dyn BulkReplace> {
        self.table.bulk_replace().ok_or_else(|| self.lacks("replaces no rows in bulk", "update row by row"))
    }

    fn lacks(&self, what: &str, hint: &str) -> Error {
        let message = format!("table {:?} is stored by method {:?}, which {what}", self.def.name, self.def.method);
        Error::new(Code::FeatureNotSupported, message).about(&self.def.name, None, None).hint(hint)
    }

    /// Takes back files that were built for the table and no commit record names.
    pub(crate) fn discard(&self, attachment: &Attachment) {
        let bulk = self.table.bulk().or_else(|| self.table.bulk_replace().map(|bulk| bulk as &dyn Bulk));
        bulk.expect("files were built, and abilities stay").discard(attachment);
    }

    /// The table's id.
    pub fn id(&self) -> TableId {
        self.def.id
    }

    /// When the table was dropped; [`Timestamp::MAX`] while it is alive.
    pub(crate) fn drop_ts(&self) -> Timestamp {
        self.shared.life.drop_ts()
    }

    pub(super) fn life(&self) -> &Life {
        &self.shared.life
    }

    /// Takes `count` hidden row ids; returns the first.
    pub(crate) fn take_row_ids(&self, count: u64) -> i64 {
        let count = i64::try_from(count).expect("fewer rows than i64::MAX are written at once");
        self.shared.next_row_id.fetch_add(count, Ordering::Relaxed)
    }

    /// Hands out no row id that another table has handed out, whose rows this one takes over.
    pub(crate) fn go_on_with_row_ids_of(&self, other: &TableRef) {
        let next = other.shared.next_row_id.load(Ordering::Relaxed);
        self.shared.next_row_id.fetch_max(next, Ordering::Relaxed);
    }

    /// Goes on behind the greatest row id that the table holds; called once, after redo.
    pub(crate) fn recover_row_ids(&self) -> Result<()> {
        if !self.def.schema.hidden_row_id {
            return Ok(());
        }
        if let Some(key) = self.table.greatest_key()?
            && let [Value::Int(last)] = self.keys.decode(&key)?[..]
        {
            self.shared.next_row_id.fetch_max(last.saturating_add(1), Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Of the lists of several columns that have one that is written, all columns.
fn columns_beside<'a>(lists: impl Iterator<Item = &'a [usize]>, writes: ColumnSet) -> ColumnSet {
    let several = lists.filter(|columns| columns.len() > 1);
    let sets = several.map(|columns| columns.iter().copied().collect::<ColumnSet>());
    sets.filter(|columns| columns.meets(writes)).fold(ColumnSet::NONE, ColumnSet::union)
}

impl TableShared {
    /// An index has another definition.
    pub(super) fn replace_index(&self, index: &IndexRef) {
        let mut indexes = self.indexes.write();
        *indexes = indexes.iter().map(|known| if known.id() == index.id() { index } else { known }.clone()).collect();
    }

    /// From now on installations feed this column index.
    pub(super) fn add_columns(&self, columns: ColumnsRef) {
        let mut listed = self.columns.write();
        let mut all = listed.to_vec();
        assert!(all.iter().all(|known| known.id() != columns.id()), "a column index is listed once");
        all.push(columns);
        all.sort_by_key(ColumnsRef::id);
        *listed = all.into();
    }

    /// A column index has another definition.
    pub(super) fn replace_columns(&self, columns: &ColumnsRef) {
        let mut all = self.columns.write();
        *all = all.iter().map(|known| if known.id() == columns.id() { columns } else { known }.clone()).collect();
    }

    /// Installations no longer feed this index, or this column index.
    pub(super) fn remove_index(&self, id: TableId) {
        let mut columns = self.columns.write();
        if columns.iter().any(|index| index.id() == id) {
            *columns = columns.iter().filter(|index| index.id() != id).cloned().collect();
        }
        drop(columns);
        let mut indexes = self.indexes.write();
        if indexes.iter().any(|index| index.id() == id) {
            *indexes = indexes.iter().filter(|index| index.id() != id).cloned().collect();
        }
    }

    /// A table has a foreign key to this one.
    pub(super) fn link(&self, child: TableId) {
        let mut referencing = self.referencing.write();
        if !referencing.contains(&child) {
            let mut all = referencing.to_vec();
            all.push(child);
            all.sort_unstable();
            *referencing = all.into();
            self.is_referenced.store(true, Ordering::Release);
        }
        self.check_links(&referencing);
    }

    /// And has none any more.
    pub(super) fn unlink(&self, child: TableId) {
        let mut referencing = self.referencing.write();
        if referencing.contains(&child) {
            *referencing = referencing.iter().filter(|&&other| other != child).copied().collect();
            self.is_referenced.store(!referencing.is_empty(), Ordering::Release);
        }
        self.check_links(&referencing);
    }

    /// The caller holds the lock of `referencing` for writing.
    fn check_links(&self, referencing: &[TableId]) {
        debug_assert!(referencing.is_sorted_by(|a, b| a < b), "a table that refers to this one is listed once");
        let is_told = self.is_referenced.load(Ordering::Relaxed) != referencing.is_empty();
        debug_assert!(is_told, "who stages a row looks for children where there are some");
    }
}

impl Feeder for TableShared {
    fn let_go(&self, index: TableId) {
        self.remove_index(index);
    }
}

impl std::fmt::Debug for TableRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableRef({} {})", self.def.id, self.def.name)
    }
}
