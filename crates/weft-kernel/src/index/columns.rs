//! A column index: some columns of each row of a table, stored as columns and scanned instead of the table.
//!
//! ```text
//!   CREATE TABLE t (k bigint PRIMARY KEY, a int, b text, c int) USING row       relation 5, method row
//!   CREATE INDEX t_cols ON t USING columns (a, c)                               relation 6 { table 5, columns 1,3 }
//!
//!   ordinal in t_cols    0   1   2          commit 44 sets b of k7          nothing: t_cols has no b
//!   ordinal in t         k0  a1  c3         commit 45 sets c of k7          fed @45  { k7: (k 7, a 3, c 9) }
//! ```
//!
//! It is a relation as an index is ([`Index`](super::Index)): an id, a name, a creation and a drop at a timestamp, a
//! cut, jobs, files and manifest edits. How its rows are stored a method knows, which derives it ([`Columns`]); here
//! stands what is the same for every method: which columns, which rows of a commit concern it, what scans it serves.
//!
//! 1. Its columns are the key of the table and those that were named, in the order of the table. Keys are the same
//!    bytes in both; a row is projected by the codec of the table, which reads rows of every version of the schema.
//! 2. It is fed what commits beyond the one that made it. That one found no other writer, and has the rows of the
//!    snapshot before it in files: so there is nothing between the two.
//! 3. A row of which no column of the index was set, and whose key stays, is not fed: the index has what it had.
//! 4. Scans of snapshots from its commit on may go to it, of those without own writes in the table.
//!
//! Source: PolarDB-IMCI, section 4; what is different here, and why, says docs/decisions.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arrow_array::RecordBatch;
use weft_contract::{
    Amendments, Attachment, Columns, Damage, Derived, FileSwitch, JobOffer, NewTable, RecoveredTable, Staged, Table,
    TableDef, TableWrites, Upkeep,
};
use weft_env::sync::RwLock;
use weft_format::{Column, Error, FileId, Result, RowCodec, Schema, TableId, Timestamp};

use super::indexed::{Feeder, Indexed};
use super::relation::{damaged, ordinals};
use crate::fault::{Fault, active};
use crate::method::{Method, TableContext};

/// What the catalog calls the method of a column index.
pub const COLUMNS_METHOD: &str = "columns";

/// The method that stores column indexes, among those that an engine is opened with.
pub const STORED_BY: &str = "column";

/// Options of a column index's definition that are the kernel's.
const TABLE_OPTION: &str = "table";
const COLUMNS_OPTION: &str = "columns";

/// A column index to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewColumnIndex {
    /// Name, folded to lower case unless it was quoted; of the same space as tables.
    pub name: String,
    /// Ordinals of columns of the table, as they were named.
    pub columns: Vec<usize>,
    /// Options of the method that stores it.
    pub options: BTreeMap<String, String>,
    /// The number of the index that it replaces; none: its id.
    pub oid: Option<u32>,
}

impl NewColumnIndex {
    /// One of some columns.
    pub fn new(name: impl Into<String>, columns: Vec<usize>) -> NewColumnIndex {
        NewColumnIndex { name: name.into(), columns, options: BTreeMap::new(), oid: None }
    }

    /// What it takes to make a column index again, also for a table that is stored anew.
    pub fn again(def: &TableDef) -> Result<NewColumnIndex> {
        let (columns, options) = (ordinals(def, COLUMNS_OPTION)?, stored_options(def));
        Ok(NewColumnIndex { name: def.name.clone(), columns, options, oid: Some(def.oid) })
    }

    /// Tests that a table with this schema can have it.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        let is_there = |&column: &usize| column < schema.columns.len() && !schema.is_dropped(column);
        if self.columns.is_empty() || !self.columns.iter().all(is_there) {
            let name = &self.name;
            return Err(Error::internal(format!("column index {name:?} has no columns, or some that its table lacks")));
        }
        Ok(())
    }

    /// The definition of the relation.
    pub(crate) fn relation(&self, table: &TableDef) -> NewTable {
        let schema = schema_of(&table.schema, &all_columns(&table.schema, &self.columns), 1);
        let named: Vec<String> = self.columns.iter().map(usize::to_string).collect();
        let own = [(TABLE_OPTION, table.id.to_string()), (COLUMNS_OPTION, named.join(","))];
        let mut options = self.options.clone();
        options.extend(own.map(|(name, value)| (name.to_owned(), value)));
        NewTable { options, ..NewTable::new(self.name.clone(), schema, COLUMNS_METHOD) }
    }
}

/// The columns of an index, and its ordinals: those of the key too (columns 1).
fn all_columns(schema: &Schema, named: &[usize]) -> Vec<usize> {
    let mut all: Vec<usize> = schema.key.iter().chain(named).copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The schema of these columns of a table.
pub(super) fn schema_of(table: &Schema, ordinals: &[usize], version: u32) -> Schema {
    let place = |column: &usize| ordinals.binary_search(column).expect("an index has the key's columns (columns 1)");
    let columns: Vec<Column> = ordinals.iter().map(|&ordinal| table.columns[ordinal].clone()).collect();
    Schema { version, ..Schema::new(columns, table.key.iter().map(place).collect()) }
}

/// The options of a definition that are the storing method's.
fn stored_options(def: &TableDef) -> BTreeMap<String, String> {
    let mut options = def.options.clone();
    options.retain(|name, _| name != TABLE_OPTION && name != COLUMNS_OPTION);
    options
}

/// The table that a column index's definition names; none when the relation is none.
pub(crate) fn columns_table_of(def: &TableDef) -> Result<Option<TableId>> {
    if def.method != COLUMNS_METHOD {
        return Ok(None);
    }
    let id = def.options.get(TABLE_OPTION).and_then(|text| text.parse().ok());
    id.map(|id| Some(TableId(id))).ok_or_else(|| damaged(def))
}

/// A column index of a table.
pub struct ColumnIndex {
    def: Arc<TableDef>,
    /// ALTER INDEX ... RENAME changes it.
    name: RwLock<Arc<str>>,
    table: TableId,
    pub(super) table_name: String,
    /// The columns that were named, in that order.
    named: Vec<usize>,
    /// By ordinal of the index: that of the table.
    pub(super) ordinals: Vec<usize>,
    /// Rows of the table.
    pub(super) table_codec: Arc<RowCodec>,
    /// Rows of the index.
    pub(super) codec: RowCodec,
    pub(super) rows: Weak<dyn Table>,
    pub(super) table_schema: Arc<Schema>,
    pub(super) context: TableContext,
    /// What the method has made.
    stored: Arc<dyn Derived>,
    /// Who feeds it.
    feeder: Weak<dyn Feeder>,
    /// The commit that made it; MAX before.
    ready_ts: AtomicU64,
}

impl ColumnIndex {
    /// Opens a column index of a table, stored by a method; `recovered` is empty for a new one.
    pub(crate) fn open(
        context: TableContext,
        method: &dyn Method,
        recovered: RecoveredTable,
        t: &Indexed,
    ) -> Result<Arc<ColumnIndex>> {
        let def = context.def.clone();
        let named = ordinals(&def, COLUMNS_OPTION)?;
        if named.is_empty() || named.iter().any(|&column| column >= t.def.schema.columns.len()) {
            return Err(damaged(&def));
        }
        let ordinals = all_columns(&t.def.schema, &named);
        debug_assert!(ordinals.is_sorted_by(|a, b| a < b), "columns are found by search (columns 1)");
        if ordinals.len() != def.schema.columns.len() {
            return Err(damaged(&def));
        }
        let stored_def = TableDef { method: method.name().into(), options: stored_options(&def), ..(*def).clone() };
        let stored = method.derive(TableContext { def: Arc::new(stored_def), ..context.clone() }, recovered)?;
        if stored.columns().is_none() {
            return Err(Error::internal(format!("method {} derives no columns", method.name())));
        }
        Ok(Arc::new(ColumnIndex {
            name: RwLock::new(def.name.as_str().into()),
            table: t.def.id,
            table_name: t.def.name.clone(),
            named,
            ordinals,
            table_codec: t.codec.clone(),
            codec: RowCodec::new(&def.schema),
            rows: Arc::downgrade(&t.table),
            table_schema: t.def.schema.clone(),
            stored,
            feeder: t.feeder.clone(),
            ready_ts: AtomicU64::new(Timestamp::MAX.0),
            context,
            def,
        }))
    }

    /// Its id.
    pub fn id(&self) -> TableId {
        self.def.id
    }

    /// Its name.
    pub fn name(&self) -> Arc<str> {
        self.name.read().clone()
    }

    /// The table it belongs to.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Ordinals, in the table, of the columns that were named, in that order.
    pub fn columns(&self) -> &[usize] {
        &self.named
    }

    /// By ordinal of the index: that of the table.
    pub fn ordinals(&self) -> &[usize] {
        &self.ordinals
    }

    /// Whether it has a column of the table: a named one, or one of the key.
    pub fn has_column(&self, ordinal: usize) -> bool {
        self.ordinals.binary_search(&ordinal).is_ok()
    }

    /// What the method has made: layers, parts, estimates.
    pub fn stored(&self) -> &dyn Columns {
        self.stored.columns().expect("abilities stay, and it was asked for at the opening (traits 2)")
    }

    /// The commit that made it; [`Timestamp::MAX`] before.
    pub(crate) fn ready_ts(&self) -> Timestamp {
        Timestamp(self.ready_ts.load(Ordering::Acquire))
    }

    pub(crate) fn set_ready(&self, ts: Timestamp) {
        let before = self.ready_ts.swap(ts.0, Ordering::AcqRel);
        assert_eq!(before, Timestamp::MAX.0, "one commit makes a column index");
    }

    /// Whether a registered snapshot may scan it (columns 4).
    pub fn is_usable(&self, read_ts: Timestamp) -> bool {
        self.ready_ts() <= read_ts && read_ts <= self.context.services.published() && self.stored().shows(read_ts)
    }

    /// Whether it lacks in its files what a commit of `ts` did to the table.
    pub(crate) fn lacks(&self, ts: Timestamp) -> bool {
        self.ready_ts() <= ts && self.stored().cut() < ts
    }

    /// A row of the table as the index has it.
    pub(crate) fn project(&self, row: &[u8]) -> Arc<[u8]> {
        self.codec.encode(self.ordinals.iter().map(|&ordinal| self.table_codec.get(row, ordinal))).into()
    }

    /// Builds files of rows of the table: batches of all its columns, in order.
    pub(crate) fn build(&self, batches: &[RecordBatch]) -> Result<Attachment> {
        let project = |batch: &RecordBatch| {
            let projected = batch.project(&self.ordinals);
            projected.map_err(|error| Error::internal(format!("rows of column index {:?}: {error}", self.def.name)))
        };
        let projected = batches.iter().map(project).collect::<Result<Vec<_>>>()?;
        self.stored().build(&projected)
    }

    /// See [`Columns::amend`]: of these changes, those that it lacks. `read` gives the rows of the table now.
    pub(crate) fn amend<'a>(
        &self,
        changed: impl Iterator<Item = (&'a [u8], Timestamp)>,
        read: impl Fn(&[u8]) -> Result<Option<Arc<[u8]>>>,
    ) -> Result<()> {
        assert!(self.ready_ts() < Timestamp::MAX, "what lacks something was made (columns 2)");
        let mut changes = Amendments::new();
        for (key, ts) in changed.filter(|(_, ts)| self.lacks(*ts)) {
            changes.insert(key.into(), (ts, read(key)?.map(|row| self.project(&row))));
        }
        self.stored().amend(&changes);
        Ok(())
    }

    /// See [`Columns::lacks_up_to`]: of these changes a follower's index has not all.
    pub(crate) fn note_lacking(&self, changes: impl Iterator<Item = Timestamp>) {
        match changes.filter(|ts| self.lacks(*ts)).max() {
            Some(last) => self.stored().lacks_up_to(last),
            None => self.stored().amend(&Amendments::new()),
        }
    }

    /// From `ts` on it is not what the table is; see [`Columns::give_up`].
    pub(crate) fn give_up(&self, ts: Timestamp, error: &Error) {
        self.stored().give_up(ts, error);
    }

    /// What of a commit concerns it (columns 3).
    fn concerning(&self, writes: &TableWrites) -> TableWrites {
        let touches = |staged: &Staged| staged.columns.iter().any(|&column| self.has_column(column));
        let mut concerning = TableWrites::default();
        for (key, staged) in &writes.rows {
            let is_skipped = staged.is_partial() && (!touches(staged) || active(Fault::COLUMNS_MISS_UPDATE));
            let is_missed = staged.row.is_none() && active(Fault::COLUMNS_MISS_DELETE);
            if !is_skipped && !is_missed {
                let row = staged.row.as_ref().map(|row| self.project(row));
                concerning.rows.insert(key.clone(), Staged { base: staged.base, row, columns: Vec::new() });
            }
        }
        concerning
    }
}

impl Upkeep for ColumnIndex {
    fn jobs(&self) -> Vec<JobOffer> {
        self.stored.jobs()
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        self.stored.run(offer)
    }

    fn freeze(&self) {
        self.stored.freeze();
    }

    fn durable_cut(&self) -> Timestamp {
        self.stored.durable_cut()
    }

    /// What it has of its definition does not change but for its name, which the catalog knows.
    fn evolve(&self, def: &Arc<TableDef>) {
        *self.name.write() = def.name.as_str().into();
    }

    fn drop_files(&self) {
        if let Some(feeder) = self.feeder.upgrade() {
            feeder.let_go(self.id());
        }
        self.stored.drop_files();
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut wrong = self.stored.check()?;
        if self.unavailable().is_none() {
            wrong.extend(self.check_rows()?);
        }
        Ok(wrong)
    }

    fn damage(&self) -> Vec<Damage> {
        self.stored.damage()
    }

    fn unavailable(&self) -> Option<&Error> {
        self.stored.unavailable()
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.stored.follow(switch)
    }
}

impl Derived for ColumnIndex {
    fn feed(&self, ts: Timestamp, writes: &TableWrites) {
        // Columns 2.
        let is_forgotten = || active(Fault::COLUMNS_FORGET_REDO) && ts <= self.context.services.published();
        if ts < self.ready_ts() || is_forgotten() {
            return;
        }
        assert!(writes.attachments.is_empty(), "a table with a column index builds no files");
        let concerning = self.concerning(writes);
        if !concerning.rows.is_empty() {
            self.stored.feed(ts, &concerning);
        }
    }

    fn attach(&self, ts: Timestamp, files: &[FileId]) -> Result<()> {
        self.stored.attach(ts, files)
    }

    fn discard(&self, attachment: &Attachment) {
        self.stored.discard(attachment);
    }

    fn columns(&self) -> Option<&dyn Columns> {
        self.stored.columns()
    }
}
