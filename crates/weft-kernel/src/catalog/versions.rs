//! The versions of tables, by name and by id, and what a statement holds of a table.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use weft_env::sync::RwLock;
use weft_format::key::KeyCodec;
use weft_format::row::RowCodec;
use weft_format::{Result, TableId, Timestamp, Value};

use super::codec::CatalogImage;
use super::def::TableDef;
use crate::fault::{Fault, active};
use crate::index::{Index, scan_by_index};
use crate::lock::ColumnSet;
use crate::table::{ExprTest, ScanOutput, ScanRequest, Table};

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
    pub(crate) shared: Arc<TableShared>,
    /// What the relation is when it is an index.
    pub(crate) as_index: Option<Arc<Index>>,
}

/// The mutable state of a table that the kernel keeps.
pub(crate) struct TableShared {
    /// The indexes that installations feed, those under construction too.
    indexes: RwLock<Arc<[TableRef]>>,
    /// The tables with foreign keys to this one, by id.
    referencing: RwLock<Arc<[TableId]>>,
    /// Whether there is one; looked at for each row that is staged.
    is_referenced: AtomicBool,
    /// The next hidden row id.
    next_row_id: AtomicI64,
    /// When the table was dropped; [`Timestamp::MAX`] while it is alive.
    drop_ts: AtomicU64,
}

impl TableRef {
    /// A reference to a table that is alive.
    pub(crate) fn new(def: Arc<TableDef>, table: Arc<dyn Table>) -> TableRef {
        let codec = Arc::new(RowCodec::new(&def.schema));
        let keys = Arc::new(KeyCodec::new(&def.schema));
        let shared = Arc::new(TableShared {
            indexes: RwLock::new(Arc::new([])),
            referencing: RwLock::new(Arc::new([])),
            is_referenced: AtomicBool::new(false),
            next_row_id: AtomicI64::new(1),
            drop_ts: AtomicU64::new(Timestamp::MAX.0),
        });
        TableRef { def, table, codec, keys, shared, as_index: None }
    }

    /// A reference to an index, a relation of its own.
    pub(crate) fn of_index(def: Arc<TableDef>, index: Arc<Index>) -> TableRef {
        TableRef { as_index: Some(index.clone()), ..TableRef::new(def, index) }
    }

    /// The indexes of a table, by id. Which of them a snapshot may use [`Index::is_usable`] tells.
    pub fn indexes(&self) -> Arc<[Arc<Index>]> {
        let relations = self.index_relations();
        relations.iter().filter_map(|relation| relation.as_index.clone()).collect()
    }

    /// The indexes of a table as relations.
    pub(crate) fn index_relations(&self) -> Arc<[TableRef]> {
        self.shared.indexes.read().clone()
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
    pub(crate) fn add_index(&self, index: TableRef) {
        let mut indexes = self.shared.indexes.write();
        let mut all: Vec<TableRef> = indexes.to_vec();
        all.push(index);
        all.sort_by_key(TableRef::id);
        *indexes = all.into();
    }

    /// Starts a scan, and notes it where the reader's transaction wants to know.
    pub fn scan(&self, request: ScanRequest) -> Result<ScanOutput> {
        self.scan_known(request, &[])
    }

    /// As [`TableRef::scan`], of which the caller wants only the rows for which these are true, too. It tests them
    /// itself: the scan may return others.
    pub fn scan_known(&self, request: ScanRequest, known: &[ExprTest]) -> Result<ScanOutput> {
        if let Some(reads) = &request.view.reads {
            reads.note_scan(self.def.id, &request.predicates, &request.projection);
        }
        match scan_by_index(self, &request, known)? {
            Some(output) => Ok(output),
            None => self.table.scan(request),
        }
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
        let relations = self.index_relations();
        let is_on_expression = |index: &Index| index.columns().contains(&Index::NO_COLUMN);
        let is_forgotten = |index: &Index| active(Fault::ForgetExpressionColumns) && is_on_expression(index);
        let is_tested = |index: &&Arc<Index>| (index.is_unique() || index.can_fail()) && !is_forgotten(index);
        let indexes = relations.iter().filter_map(|relation| relation.as_index.as_ref());
        columns_beside(indexes.filter(is_tested).map(|index| index.deciding()), writes)
    }

    /// The table's id.
    pub fn id(&self) -> TableId {
        self.def.id
    }

    /// When the table was dropped; [`Timestamp::MAX`] while it is alive.
    pub(crate) fn drop_ts(&self) -> Timestamp {
        Timestamp(self.shared.drop_ts.load(Ordering::Acquire))
    }

    /// Takes `count` hidden row ids; returns the first.
    pub(crate) fn take_row_ids(&self, count: u64) -> i64 {
        let count = i64::try_from(count).expect("fewer rows than i64::MAX are written at once");
        self.shared.next_row_id.fetch_add(count, Ordering::Relaxed)
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
    /// Installations no longer feed this index.
    pub(crate) fn remove_index(&self, id: TableId) {
        let mut indexes = self.indexes.write();
        if indexes.iter().any(|index| index.id() == id) {
            *indexes = indexes.iter().filter(|index| index.id() != id).cloned().collect();
        }
    }
}

impl TableShared {
    fn link(&self, child: TableId) {
        let mut referencing = self.referencing.write();
        if !referencing.contains(&child) {
            let mut all = referencing.to_vec();
            all.push(child);
            all.sort_unstable();
            *referencing = all.into();
            self.is_referenced.store(true, Ordering::Release);
        }
    }

    fn unlink(&self, child: TableId) {
        let mut referencing = self.referencing.write();
        if referencing.contains(&child) {
            *referencing = referencing.iter().filter(|&&other| other != child).copied().collect();
            self.is_referenced.store(!referencing.is_empty(), Ordering::Release);
        }
    }
}

impl std::fmt::Debug for TableRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableRef({} {})", self.def.id, self.def.name)
    }
}

/// One table and when it was created.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) table: TableRef,
    pub(crate) create_ts: Timestamp,
}

impl Entry {
    fn visible(&self, read_ts: Timestamp) -> bool {
        self.create_ts <= read_ts && read_ts < self.table.drop_ts()
    }
}

/// All versions that some snapshot may still see.
#[derive(Default)]
pub(crate) struct Catalog {
    state: RwLock<State>,
    /// Timestamp of the last DDL installed.
    last_ddl: AtomicU64,
}

#[derive(Default)]
struct State {
    by_name: HashMap<String, Vec<Entry>>,
    by_id: BTreeMap<TableId, Entry>,
    /// Timestamps of DDL commits, ascending.
    ddl: Vec<Timestamp>,
    next_id: u32,
    /// The cut of the last catalog edit in the manifest.
    durable_cut: Timestamp,
}

impl Catalog {
    /// An empty catalog; the first table gets id 1.
    pub(crate) fn new() -> Catalog {
        let catalog = Catalog::default();
        catalog.state.write().next_id = 1;
        catalog
    }

    /// The table of a name at a timestamp.
    pub(crate) fn find(&self, name: &str, read_ts: Timestamp) -> Option<TableRef> {
        let state = self.state.read();
        let versions = state.by_name.get(name)?;
        versions.iter().rev().find(|entry| entry.visible(read_ts)).map(|entry| entry.table.clone())
    }

    /// The newest version of a name that is alive now.
    pub(crate) fn newest(&self, name: &str) -> Option<Entry> {
        let state = self.state.read();
        let newest = state.by_name.get(name)?.last()?;
        (newest.table.drop_ts() == Timestamp::MAX).then(|| newest.clone())
    }

    /// The table of an id, dropped or not, as long as something may still need it.
    pub(crate) fn by_id(&self, id: TableId) -> Option<Entry> {
        self.state.read().by_id.get(&id).cloned()
    }

    /// The tables visible at a timestamp, by id.
    pub(crate) fn visible(&self, read_ts: Timestamp) -> Vec<TableRef> {
        let state = self.state.read();
        state.by_id.values().filter(|entry| entry.visible(read_ts)).map(|entry| entry.table.clone()).collect()
    }

    /// All tables that jobs, redo or readers may need, dropped ones too.
    pub(crate) fn all(&self) -> Vec<TableRef> {
        self.state.read().by_id.values().map(|entry| entry.table.clone()).collect()
    }

    /// The dropped tables that no snapshot at or above `horizon` sees.
    pub(crate) fn unseen(&self, horizon: Timestamp) -> Vec<TableRef> {
        let state = self.state.read();
        state.by_id.values().filter(|entry| entry.table.drop_ts() <= horizon).map(|e| e.table.clone()).collect()
    }

    /// An id that was never used.
    pub(crate) fn allocate_id(&self) -> TableId {
        let mut state = self.state.write();
        let id = state.next_id;
        state.next_id = id.checked_add(1).expect("four billion tables were never created");
        TableId(id)
    }

    /// A table becomes visible to snapshots from `ts` on.
    pub(crate) fn install_create(&self, ts: Timestamp, table: TableRef) {
        if let Some(index) = &table.as_index {
            index.set_ready(ts);
        }
        let entry = Entry { table, create_ts: ts };
        let mut state = self.state.write();
        let name = entry.table.def.name.clone();
        let versions = state.by_name.entry(name.clone()).or_default();
        assert!(versions.last().is_none_or(|last| last.table.drop_ts() <= ts), "two tables {name} at {ts} (catalog 1)");
        versions.push(entry.clone());
        state.next_id = state.next_id.max(entry.table.def.id.0 + 1);
        let def = entry.table.def.clone();
        state.by_id.insert(def.id, entry);
        state.each_parent(&def, |parent| parent.shared.link(def.id));
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// A table is invisible to snapshots from `ts` on.
    pub(crate) fn install_drop(&self, ts: Timestamp, id: TableId) {
        let mut state = self.state.write();
        let entry = state.by_id.get(&id).expect("a table that is dropped was created");
        assert_eq!(entry.table.drop_ts(), Timestamp::MAX, "table {id} is dropped twice (catalog 1)");
        entry.table.shared.drop_ts.store(ts.0, Ordering::Release);
        if let Some(index) = &entry.table.as_index
            && let Some(owner) = state.by_id.get(&index.table())
        {
            owner.table.shared.remove_index(id);
        }
        let def = entry.table.def.clone();
        state.each_parent(&def, |parent| parent.shared.unlink(id));
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// Lets go of a dropped table.
    pub(crate) fn remove(&self, id: TableId) {
        let mut state = self.state.write();
        let Some(entry) = state.by_id.remove(&id) else { return };
        assert_ne!(entry.table.drop_ts(), Timestamp::MAX, "table {id} is alive");
        let name = &entry.table.def.name;
        if let Some(versions) = state.by_name.get_mut(name) {
            versions.retain(|version| version.table.def.id != id);
            if versions.is_empty() {
                state.by_name.remove(name);
            }
        }
    }

    /// Timestamp of the last DDL, the catalog's version.
    pub(crate) fn last_ddl(&self) -> Timestamp {
        Timestamp(self.last_ddl.load(Ordering::Acquire))
    }

    /// Timestamp of the last DDL at or before `read_ts`.
    pub(crate) fn version_at(&self, read_ts: Timestamp) -> Timestamp {
        let last = self.last_ddl();
        if last <= read_ts {
            return last;
        }
        let state = self.state.read();
        let count = state.ddl.partition_point(|&ts| ts <= read_ts);
        count.checked_sub(1).map_or(Timestamp(0), |index| state.ddl[index])
    }

    /// Forgets which DDL happened when, below the oldest snapshot.
    pub(crate) fn prune_versions(&self, horizon: Timestamp) {
        let mut state = self.state.write();
        let keep_from = state.ddl.partition_point(|&ts| ts <= horizon).saturating_sub(1);
        state.ddl.drain(..keep_from);
    }

    /// What the manifest stores: the tables alive at `cut` (catalog 3).
    pub(crate) fn image(&self, cut: Timestamp) -> CatalogImage {
        let state = self.state.read();
        let tables = state.by_id.values().filter(|entry| entry.visible(cut));
        CatalogImage {
            next_id: state.next_id,
            tables: tables.map(|entry| (entry.create_ts, entry.table.def.clone())).collect(),
        }
    }

    /// The id below which every id may have been used.
    pub(crate) fn raise_next_id(&self, next_id: u32) {
        let mut state = self.state.write();
        state.next_id = state.next_id.max(next_id);
    }

    /// The cut of the last catalog edit in the manifest.
    pub(crate) fn durable_cut(&self) -> Timestamp {
        self.state.read().durable_cut
    }

    /// A catalog edit with this cut is durable.
    pub(crate) fn set_durable_cut(&self, cut: Timestamp) {
        let mut state = self.state.write();
        assert!(cut >= state.durable_cut, "catalog cuts do not go back");
        state.durable_cut = cut;
    }
}

impl State {
    /// The tables that a definition's foreign keys refer to.
    fn each_parent(&self, def: &TableDef, visit: impl Fn(&TableRef)) {
        for foreign_key in &def.foreign_keys {
            if let Some(parent) = self.by_id.get(&foreign_key.parent) {
                visit(&parent.table);
            }
        }
    }

    fn note_ddl(&mut self, ts: Timestamp) {
        if self.ddl.last() != Some(&ts) {
            // Two transactions with DDL on different names may install in any order before both are published.
            let at = self.ddl.partition_point(|&earlier| earlier < ts);
            if self.ddl.get(at) != Some(&ts) {
                self.ddl.insert(at, ts);
            }
        }
    }
}
