//! The versions of tables, by name and by id, and what a statement holds of a table.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use weft_env::sync::RwLock;
use weft_format::key::KeyCodec;
use weft_format::row::RowCodec;
use weft_format::{Result, TableId, Timestamp, Value};

use super::building::Buildings;
use super::codec::CatalogImage;
use super::def::TableDef;
use super::objects::{Object, Objects, SchemaId};
use super::sequence::Sequences;
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
    /// The version of the newest schema that is committed.
    schema_version: AtomicU32,
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
            schema_version: AtomicU32::new(def.schema.version),
        });
        TableRef { def, table, codec, keys, shared, as_index: None }
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
        self.shared.schema_version.load(Ordering::Acquire)
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
            None => self.table.scan(&self.def.schema, request),
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

    /// Reads some columns of a row visible at a timestamp; see [`Write::read`](crate::table::Write::read).
    pub fn read(&self, key: &[u8], read_ts: Timestamp, columns: &[usize], values: &mut Vec<Value>) -> Result<bool> {
        self.table.read(&self.codec, key, read_ts, columns, values)
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
    fn replace_index(&self, index: &TableRef) {
        let mut indexes = self.indexes.write();
        *indexes = indexes.iter().map(|known| if known.id() == index.id() { index } else { known }.clone()).collect();
    }

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

/// One definition of a table, since when it holds, and from when on another does.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) table: TableRef,
    pub(crate) create_ts: Timestamp,
    pub(crate) end_ts: Timestamp,
}

impl Entry {
    fn visible(&self, read_ts: Timestamp) -> bool {
        self.create_ts <= read_ts && read_ts < self.end_ts && read_ts < self.table.drop_ts()
    }

    fn is_alive(&self) -> bool {
        self.end_ts == Timestamp::MAX && self.table.drop_ts() == Timestamp::MAX
    }
}

/// All versions that some snapshot may still see.
#[derive(Default)]
pub(crate) struct Catalog {
    state: RwLock<State>,
    /// Timestamp of the last DDL installed.
    last_ddl: AtomicU64,
    /// Schemas, views, sequences and the like.
    pub(crate) objects: Objects,
    pub(crate) sequences: Sequences,
    /// Indexes that transactions are making.
    pub(crate) buildings: Buildings,
}

#[derive(Default)]
struct State {
    by_name: HashMap<SchemaId, HashMap<String, Vec<Entry>>>,
    /// The definitions of each table, oldest first.
    by_id: BTreeMap<TableId, Vec<Entry>>,
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
    pub(crate) fn find(&self, namespace: SchemaId, name: &str, read_ts: Timestamp) -> Option<TableRef> {
        let state = self.state.read();
        let versions = state.by_name.get(&namespace)?.get(name)?;
        versions.iter().rev().find(|entry| entry.visible(read_ts)).map(|entry| entry.table.clone())
    }

    /// The newest version of a name that is alive now.
    pub(crate) fn newest(&self, namespace: SchemaId, name: &str) -> Option<Entry> {
        let state = self.state.read();
        let newest = state.by_name.get(&namespace)?.get(name)?.last()?;
        newest.is_alive().then(|| newest.clone())
    }

    /// The table of an id under its newest definition, dropped or not, as long as something may still need it.
    pub(crate) fn by_id(&self, id: TableId) -> Option<Entry> {
        self.state.read().by_id.get(&id)?.last().cloned()
    }

    /// The table of an id as a snapshot sees it.
    pub(crate) fn by_id_at(&self, id: TableId, read_ts: Timestamp) -> Option<TableRef> {
        let state = self.state.read();
        let mut versions = state.by_id.get(&id)?.iter().rev();
        versions.find(|entry| entry.visible(read_ts)).map(|entry| entry.table.clone())
    }

    /// The tables visible at a timestamp, by id.
    pub(crate) fn visible(&self, read_ts: Timestamp) -> Vec<TableRef> {
        let state = self.state.read();
        let versions = state.by_id.values().flatten();
        versions.filter(|entry| entry.visible(read_ts)).map(|entry| entry.table.clone()).collect()
    }

    /// All tables that jobs, redo or readers may need, dropped ones too.
    pub(crate) fn all(&self) -> Vec<TableRef> {
        self.state.read().by_id.values().filter_map(|versions| Some(versions.last()?.table.clone())).collect()
    }

    /// The dropped tables that no snapshot at or above `horizon` sees.
    pub(crate) fn unseen(&self, horizon: Timestamp) -> Vec<TableRef> {
        self.all().into_iter().filter(|table| table.drop_ts() <= horizon).collect()
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
        let entry = Entry { table, create_ts: ts, end_ts: Timestamp::MAX };
        let mut state = self.state.write();
        state.add_name(ts, &entry);
        state.next_id = state.next_id.max(entry.table.def.id.0 + 1);
        let def = entry.table.def.clone();
        state.by_id.insert(def.id, vec![entry]);
        state.each_parent(&def, |parent| parent.shared.link(def.id));
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// All definitions of a table are those of another storage from now on; at recovery.
    pub(crate) fn replace_table(&self, id: TableId, table: &Arc<impl Table + 'static>) {
        let mut state = self.state.write();
        let State { by_id, by_name, .. } = &mut *state;
        let by_id = by_id.values_mut().flatten();
        let all = by_id.chain(by_name.values_mut().flat_map(HashMap::values_mut).flatten());
        for entry in all.filter(|entry| entry.table.def.id == id) {
            entry.table.table = table.clone();
        }
    }

    /// Tells all tables who refers to them: an image lists tables by id, and a foreign key may refer to a younger one.
    pub(crate) fn link_all(&self) {
        let state = self.state.write();
        for entry in state.by_id.values().filter_map(|versions| versions.last()) {
            let def = &entry.table.def;
            state.each_parent(def, |parent| parent.shared.link(def.id));
        }
    }

    /// A table has another definition for snapshots from `ts` on (catalog 5).
    pub(crate) fn install_alter(&self, ts: Timestamp, table: TableRef) {
        let def = table.def.clone();
        let mut state = self.state.write();
        let before = state.end_definition(ts, def.id);
        if let Some(index) = &table.as_index
            && let Some(owner) = state.newest_of(index.table())
        {
            owner.table.shared.replace_index(&table);
        }
        table.shared.schema_version.store(def.schema.version, Ordering::Release);
        let entry = Entry { table, create_ts: ts, end_ts: Timestamp::MAX };
        state.add_name(ts, &entry);
        state.by_id.entry(def.id).or_default().push(entry);
        state.each_parent(&before, |parent| parent.shared.unlink(def.id));
        state.each_parent(&def, |parent| parent.shared.link(def.id));
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// An object is there, or is another, from `ts` on.
    pub(crate) fn install_object(&self, ts: Timestamp, object: Arc<Object>) {
        let mut state = self.state.write();
        state.next_id = state.next_id.max(object.id + 1);
        self.objects.install(ts, object);
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
    }

    /// An object is gone from `ts` on; false when it is not there.
    pub(crate) fn install_object_drop(&self, ts: Timestamp, id: u32) -> bool {
        let mut state = self.state.write();
        let was_there = self.objects.install_drop(ts, id);
        state.note_ddl(ts);
        self.last_ddl.fetch_max(ts.0, Ordering::AcqRel);
        was_there
    }

    /// A table is invisible to snapshots from `ts` on.
    pub(crate) fn install_drop(&self, ts: Timestamp, id: TableId) {
        let mut state = self.state.write();
        let entry = state.newest_of(id).expect("a table that is dropped was created");
        assert_eq!(entry.table.drop_ts(), Timestamp::MAX, "table {id} is dropped twice (catalog 1)");
        entry.table.shared.drop_ts.store(ts.0, Ordering::Release);
        if let Some(index) = &entry.table.as_index
            && let Some(owner) = state.newest_of(index.table())
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
        for entry in state.by_id.remove(&id).unwrap_or_default() {
            assert_ne!(entry.table.drop_ts(), Timestamp::MAX, "table {id} is alive");
            state.retain_name(&entry, |version| version.table.def.id != id);
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
        let is_gone = |entry: &Entry| entry.end_ts <= horizon;
        let gone: Vec<Entry> = state.by_id.values().flatten().filter(|entry| is_gone(entry)).cloned().collect();
        for entry in gone {
            if let Some(versions) = state.by_id.get_mut(&entry.table.def.id) {
                versions.retain(|version| !is_gone(version));
            }
            state.retain_name(&entry, |version| !is_gone(version));
        }
        drop(state);
        self.objects.prune(horizon);
    }

    /// What the manifest stores: the tables alive at `cut` (catalog 3).
    pub(crate) fn image(&self, cut: Timestamp) -> CatalogImage {
        let sequences = self.sequences.image();
        let state = self.state.read();
        let mut tables: Vec<&Entry> = state.by_id.values().flatten().filter(|entry| entry.visible(cut)).collect();
        // An index comes behind its table, which may have been stored anew since.
        tables.sort_by_key(|entry| (entry.table.as_index.is_some(), entry.table.def.id));
        CatalogImage {
            next_id: state.next_id,
            tables: tables.into_iter().map(|entry| (entry.create_ts, entry.table.def.clone())).collect(),
            objects: self.objects.image(cut),
            sequences,
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
    fn newest_of(&self, id: TableId) -> Option<&Entry> {
        self.by_id.get(&id)?.last()
    }

    /// A definition's name is taken from `ts` on.
    fn add_name(&mut self, ts: Timestamp, entry: &Entry) {
        let def = &entry.table.def;
        let versions = self.by_name.entry(def.namespace).or_default().entry(def.name.clone()).or_default();
        let is_free = versions.last().is_none_or(|last| last.table.drop_ts().min(last.end_ts) <= ts);
        assert!(is_free, "two tables {} at {ts} (catalog 1)", def.name);
        versions.push(entry.clone());
    }

    /// The newest definition of a table ends at `ts`; returns it.
    fn end_definition(&mut self, ts: Timestamp, id: TableId) -> Arc<TableDef> {
        let versions = self.by_id.get_mut(&id).expect("a table that is altered was created");
        let last = versions.last_mut().expect("a table has a definition");
        last.end_ts = ts;
        let def = last.table.def.clone();
        // Altered twice by one transaction.
        versions.retain(|version| version.create_ts < version.end_ts);
        if let Some(versions) = self.by_name.get_mut(&def.namespace).and_then(|names| names.get_mut(&def.name)) {
            for version in versions.iter_mut().filter(|version| version.table.def.id == id) {
                version.end_ts = version.end_ts.min(ts);
            }
            versions.retain(|version| version.create_ts < version.end_ts);
        }
        def
    }

    /// Keeps those of the versions under the name of a definition.
    fn retain_name(&mut self, entry: &Entry, keep: impl FnMut(&Entry) -> bool) {
        let def = &entry.table.def;
        let Some(names) = self.by_name.get_mut(&def.namespace) else { return };
        if let Some(versions) = names.get_mut(&def.name) {
            versions.retain(keep);
            if versions.is_empty() {
                names.remove(&def.name);
            }
        }
    }

    /// The tables that a definition's foreign keys refer to.
    fn each_parent(&self, def: &TableDef, visit: impl Fn(&TableRef)) {
        for foreign_key in &def.foreign_keys {
            if let Some(parent) = self.newest_of(foreign_key.parent) {
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
