//! An index as the catalog holds it: a relation with an id, a name and a definition of its own, that belongs to a
//! table.
//!
//! ```text
//!   CREATE TABLE t (k bigint, a int, b text)            relation 5, method column
//!   CREATE UNIQUE INDEX t_a ON t (a)                    relation 6, method index { table 5, columns 1, unique }
//!   row (k 7, a 3, b 'x')                               entry (01 80 00 00 03, key of 7)
//!   row (k 8, a NULL, b 'y')                            entry (02, key of 8)             NULL comes last
//! ```
//!
//! What every relation has (creation and drop at a timestamp, log records, a cut, jobs, files, the manifest) an index
//! has the same way. Its entries are not logged: they follow from its table's changes.
//!
//! 1. Where a commit is applied to a table, it is fed to all its indexes, those under construction too, before it is
//!    published: by whoever applies it.
//! 2. At the end of redo an index gets what it could not be fed from the log: the entries of rows that its table has in
//!    files already, and of those that changed while it was made. Only versions that are alive matter then.
//! 3. A row's value follows from the row (parts 1); a row whose expression fails has no entry (parts 2).
//! 4. The rows of a partial index satisfy its predicate, a conjunction of conditions of the storage layer, which redo
//!    can test as well as a statement. Who changes a column of it may move a row in or out; an entry of a row that went
//!    is as outdated as that of another value.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use weft_contract::{
    Attachment, Base, Columns, Damage, Derived, FileSwitch, JobOffer, NewTable, RecoveredTable, TableDef, TableWrites,
    Upkeep,
};
use weft_env::sync::RwLock;
use weft_format::array::elements;
use weft_format::{Column, DataType, Error, FileId, Predicate, Result, Schema, TableId, Timestamp, Value};

use super::batch::Batch;
use super::build::BuiltFiles;
use super::indexed::{Feeder, Indexed};
use super::options::{IndexContext, IndexOptions};
use super::parts::{IndexPart, IndexedRows, put_part, read_parts, write_parts};
use super::store::IndexStore;
use super::{IndexStatistics, fold_payloads};
use crate::fault::{Fault, active};
use crate::method::TableContext;

/// Of a commit of more rows nobody counts the entries that it outdates: readers will.
const STALE_ROWS_MAX: usize = 1000;

/// So many bytes of a commit's entries are sorted at once.
const SORTED_BYTES_MAX: usize = 128 << 10;
/// What an entry has at least, about.
const ENTRY_BYTES: usize = 16;

/// What the catalog calls the method of an index.
pub const INDEX_METHOD: &str = "index";

/// An index to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewIndex {
    /// Name, folded to lower case unless it was quoted; of the same space as tables.
    pub name: String,
    /// Columns and expressions of the table, in order.
    pub parts: Vec<IndexPart>,
    /// Whether no two rows may have the same values; NULLs are different from everything.
    pub unique: bool,
    /// Made by a constraint of the table: goes only with it.
    pub constraint: bool,
    /// Ordinals of columns that readers want beside those of `parts`. They are known and shown; entries do not have
    /// them.
    pub include: Vec<usize>,
    /// Only rows that satisfy all of these are indexed, and unique among each other.
    pub predicate: Vec<Predicate>,
    /// The number of the index that it replaces; none: its id.
    pub oid: Option<u32>,
}

impl NewIndex {
    /// An index of all rows on columns, made by no constraint.
    pub fn new(name: impl Into<String>, columns: Vec<usize>, unique: bool) -> NewIndex {
        NewIndex::on(name, columns.into_iter().map(IndexPart::Column).collect(), unique)
    }

    /// An index of all rows on columns and expressions, made by no constraint.
    pub fn on(name: impl Into<String>, parts: Vec<IndexPart>, unique: bool) -> NewIndex {
        NewIndex {
            name: name.into(),
            parts,
            unique,
            constraint: false,
            include: Vec::new(),
            predicate: Vec::new(),
            oid: None,
        }
    }

    /// What it takes to make an index again for a table that is stored anew.
    pub fn of(def: &TableDef, index: &Index) -> NewIndex {
        NewIndex {
            name: def.name.clone(),
            parts: index.parts().to_vec(),
            unique: index.is_unique(),
            constraint: index.is_constraint(),
            include: index.included().to_vec(),
            predicate: index.predicate().to_vec(),
            oid: Some(def.oid),
        }
    }

    /// Tests that a table with this schema can have the index.
    pub(crate) fn check(&self, schema: &Schema) -> Result<()> {
        if self.parts.is_empty() || self.include.iter().any(|&column| column >= schema.columns.len()) {
            return Err(Error::internal(format!("index {:?} has no columns, or some that its table lacks", self.name)));
        }
        self.parts.iter().try_for_each(|part| part.check(schema))
    }

    /// The definition of the relation.
    pub(crate) fn relation(&self, table: TableId) -> NewTable {
        let entry = Column { name: "entry".into(), data_type: DataType::Text, not_null: true };
        let (columns, expressions) = write_parts(&self.parts);
        let mut options = BTreeMap::from([("table".into(), table.to_string()), ("columns".into(), columns)]);
        for (name, is_on) in [("unique", self.unique), ("constraint", self.constraint)] {
            if is_on {
                options.insert(name.into(), "true".into());
            }
        }
        if !self.include.is_empty() {
            let include: Vec<String> = self.include.iter().map(usize::to_string).collect();
            options.insert("include".into(), include.join(","));
        }
        let schema = Schema::new(vec![entry], vec![0]);
        let predicate = self.predicate.clone();
        NewTable { options, predicate, expressions, ..NewTable::new(self.name.clone(), schema, INDEX_METHOD) }
    }
}

/// The table that an index's definition names; none when the relation is no index.
pub(crate) fn table_of(def: &TableDef) -> Result<Option<TableId>> {
    if def.method != INDEX_METHOD {
        return Ok(None);
    }
    let id = def.options.get("table").and_then(|text| text.parse().ok());
    id.map(|id| Some(TableId(id))).ok_or_else(|| damaged(def))
}

/// The list of ordinals that an option of a definition is; empty when it is not there.
pub(super) fn ordinals(def: &TableDef, option: &str) -> Result<Vec<usize>> {
    let Some(list) = def.options.get(option) else { return Ok(Vec::new()) };
    let ordinals = list.split(',').map(str::parse);
    ordinals.collect::<std::result::Result<_, _>>().map_err(|_| damaged(def))
}

/// Whether a predicate's column is there and its constants are of the column's kind.
fn is_of_schema(predicate: &Predicate, schema: &Schema) -> bool {
    let Some(column) = schema.columns.get(predicate.column()) else { return false };
    let is_of_kind = |value: &Value| match value {
        Value::Null => true,
        Value::Bool(_) => column.data_type == DataType::Boolean,
        Value::Float(_) => matches!(column.data_type, DataType::Real | DataType::DoublePrecision),
        Value::Decimal(_) => matches!(column.data_type, DataType::Numeric { .. }),
        Value::Text(_) => column.data_type.is_utf8(),
        Value::Bytes(_) => column.data_type == DataType::Bytea,
        Value::Uuid(_) => column.data_type == DataType::Uuid,
        Value::Interval(_) => column.data_type == DataType::Interval,
        Value::Array(v) => column.data_type.element().is_some_and(|element| elements(v.as_bytes(), element).is_ok()),
        Value::Int(_) => matches!(
            column.data_type,
            DataType::SmallInt
                | DataType::Integer
                | DataType::BigInt
                | DataType::Oid
                | DataType::Date
                | DataType::Time
                | DataType::Timestamp
                | DataType::TimestampTz
                | DataType::Enum(_)
        ),
    };
    match predicate {
        Predicate::Compare { value, .. } => is_of_kind(value),
        Predicate::In { values, .. } => values.iter().all(is_of_kind),
        Predicate::IsNull { .. } | Predicate::IsNotNull { .. } => true,
    }
}

pub(super) fn damaged(def: &TableDef) -> Error {
    Error::corrupt(format!("the catalog's entry of index {:?} is damaged", def.name))
}

/// An index of a table.
pub struct Index {
    def: Arc<TableDef>,
    /// ALTER INDEX ... RENAME changes it.
    name: RwLock<Arc<str>>,
    table: TableId,
    table_name: String,
    parts: Vec<IndexPart>,
    /// The parts' columns; [`Index::NO_COLUMN`] for an expression.
    columns: Vec<usize>,
    include: Vec<usize>,
    /// The columns of the parts and those of the predicate.
    deciding: Vec<usize>,
    /// Whether there may be rows for which an expression fails.
    can_fail: bool,
    /// Whether such a row was installed.
    met_failure: AtomicBool,
    store: IndexStore,
    pub(super) rows: IndexedRows,
    /// Who feeds it.
    feeder: Weak<dyn Feeder>,
    /// Snapshots from here on may use it.
    ready_ts: AtomicU64,
}

impl Index {
    /// Stands among [`Index::columns`] for an expression: no table has a column of this ordinal.
    pub const NO_COLUMN: usize = usize::MAX;

    /// Opens an index of a table; `recovered` is empty for a new one.
    pub(crate) fn open(context: TableContext, recovered: &RecoveredTable, t: &Indexed) -> Result<Arc<Index>> {
        let def = context.def;
        let schema = &t.def.schema;
        let parts = read_parts(&def, schema).ok_or_else(|| damaged(&def))?;
        let include = ordinals(&def, "include")?;
        if include.iter().any(|&column| column >= schema.columns.len()) {
            return Err(damaged(&def));
        }
        if !def.predicate.iter().all(|predicate| is_of_schema(predicate, schema)) {
            return Err(damaged(&def));
        }
        let column = |part: &IndexPart| match part {
            IndexPart::Column(ordinal) => *ordinal,
            IndexPart::Expression(_) => Index::NO_COLUMN,
        };
        let mut deciding: Vec<usize> = parts.iter().flat_map(IndexPart::reads).collect();
        deciding.extend(def.predicate.iter().map(Predicate::column));
        deciding.sort_unstable();
        deciding.dedup();
        let rows = IndexedRows::new(t, &parts, &def.predicate, &context.horizon);
        let memory_bytes = IndexOptions::default().memory_bytes.min(context.services.options().row_table_bytes.max(1));
        let store = IndexStore::open(
            IndexContext {
                id: def.id,
                name: def.name.clone(),
                env: context.env,
                services: context.services,
                horizon: context.horizon,
                options: IndexOptions { memory_bytes, ..IndexOptions::default() },
                keep: Arc::new(rows.clone()),
            },
            recovered,
        )?;
        Ok(Arc::new(Index {
            table: t.def.id,
            table_name: t.def.name.clone(),
            name: RwLock::new(def.name.as_str().into()),
            def,
            columns: parts.iter().map(column).collect(),
            can_fail: parts.iter().any(|part| matches!(part, IndexPart::Expression(expr) if expr.can_fail())),
            parts,
            include,
            deciding,
            met_failure: AtomicBool::new(false),
            store,
            rows,
            feeder: t.feeder.clone(),
            ready_ts: AtomicU64::new(Timestamp::MAX.0),
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

    /// The name of the table it belongs to.
    pub fn table_name(&self) -> &str {
        &self.table_name
    }

    /// What it orders rows by, in order.
    pub fn parts(&self) -> &[IndexPart] {
        &self.parts
    }

    /// Ordinals of the columns, in order, with [`Index::NO_COLUMN`] in the place of an expression.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether there may be rows that it cannot have, because an expression of theirs fails.
    pub fn can_fail(&self) -> bool {
        self.can_fail
    }

    /// Whether such a row was installed: only while the index was made, or after it was dropped (parts 2).
    pub(crate) fn met_failure(&self) -> bool {
        self.met_failure.load(Ordering::Acquire)
    }

    /// Ordinals of the columns that INCLUDE names.
    pub fn included(&self) -> &[usize] {
        &self.include
    }

    /// What the rows satisfy that the index has; nothing when it has all.
    pub fn predicate(&self) -> &[Predicate] {
        &self.def.predicate
    }

    /// Whether the index has only some rows.
    pub fn is_partial(&self) -> bool {
        !self.def.predicate.is_empty()
    }

    /// Ordinals of the columns that decide on a row's entry, those of the predicate too; ascending.
    pub fn deciding(&self) -> &[usize] {
        &self.deciding
    }

    /// Whether the index has a row (row codec of its table).
    pub fn has_row(&self, row: &[u8]) -> bool {
        self.rows.has(row)
    }

    /// Whether no two rows that the index has may have the same values.
    pub fn is_unique(&self) -> bool {
        self.def.options.contains_key("unique")
    }

    /// Whether a constraint of the table made it.
    pub fn is_constraint(&self) -> bool {
        self.def.options.contains_key("constraint")
    }

    /// Counts and sizes.
    pub fn statistics(&self) -> IndexStatistics {
        self.store.statistics()
    }

    /// Whether a snapshot finds all its rows through the index.
    pub fn is_usable(&self, read_ts: Timestamp) -> bool {
        self.ready_ts.load(Ordering::Acquire) <= read_ts.0 && self.store.shows(read_ts)
    }

    pub(crate) fn set_ready(&self, ts: Timestamp) {
        let before = self.ready_ts.swap(ts.0, Ordering::AcqRel);
        assert_eq!(before, Timestamp::MAX.0, "one commit makes an index usable");
    }

    pub(crate) fn store(&self) -> &IndexStore {
        &self.store
    }

    /// The value of a row, in `value` (cleared first); true when a part of it is NULL: such rows are never the same as
    /// others. An error when an expression fails.
    pub(crate) fn put_row(&self, row: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.rows.put(row, value)
    }

    /// Whether the index has a row, by this value. `buffer` is used again and again.
    pub(crate) fn has_row_by(&self, row: &[u8], value: &[u8], buffer: &mut Vec<u8>) -> bool {
        self.rows.has_by(row, value, buffer)
    }

    /// Whether the parts of a row have these values, none of which is NULL.
    pub fn row_has(&self, row: &[u8], values: &[Value]) -> bool {
        let same = |found: &Value, value: &Value| !found.is_null() && found.as_ref().compare(value.as_ref()).is_eq();
        self.row_values(row).is_ok_and(|found| found.iter().zip(values).all(|(found, value)| same(found, value)))
    }

    /// The values of the parts of a row.
    pub(crate) fn row_values(&self, row: &[u8]) -> Result<Vec<Value>> {
        self.rows.values(row)
    }

    /// A bound of first columns as one of values' beginnings; none when a column cannot hold its value.
    pub(crate) fn prefix_bound(&self, bound: Bound<&[Value]>) -> Option<Bound<Vec<u8>>> {
        match bound {
            Bound::Included(values) => self.prefix(values).map(Bound::Included),
            Bound::Excluded(values) => self.prefix(values).map(Bound::Excluded),
            Bound::Unbounded => Some(Bound::Unbounded),
        }
    }

    /// The beginning of values whose first columns are these; none when a column cannot hold its value.
    pub(crate) fn prefix(&self, values: &[Value]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for (value, &data_type) in values.iter().zip(&self.rows.types) {
            let fits = match (data_type, value) {
                (_, Value::Null) | (DataType::Boolean, Value::Bool(_)) => true,
                (DataType::SmallInt, Value::Int(v)) => i16::try_from(*v).is_ok(),
                (DataType::Integer | DataType::Date, Value::Int(v)) => i32::try_from(*v).is_ok(),
                (DataType::BigInt | DataType::Timestamp | DataType::TimestampTz, Value::Int(_)) => true,
                (DataType::Oid, Value::Int(v)) => u32::try_from(*v).is_ok(),
                (DataType::Time | DataType::Enum(_), Value::Int(_)) => true,
                (DataType::Bytea, Value::Bytes(_)) | (DataType::Uuid, Value::Uuid(_)) => true,
                (DataType::Interval, Value::Interval(_)) | (DataType::Array(_), Value::Array(_)) => true,
                (DataType::Real | DataType::DoublePrecision, Value::Float(_)) => true,
                (DataType::Numeric { .. }, Value::Decimal(_)) => true,
                (data_type, Value::Text(_)) => data_type.is_utf8(),
                _ => false,
            };
            if !fits {
                return None;
            }
            put_part(&mut bytes, data_type, value.as_ref());
        }
        Some(bytes)
    }

    /// Whether a change of these columns moves the row in the index, into it or out of it.
    pub(crate) fn is_touched(&self, columns: &[usize]) -> bool {
        let deciding = if active(Fault::FORGET_PREDICATE_COLUMNS) { &self.columns } else { &self.deciding };
        columns.iter().any(|column| deciding.contains(column))
    }

    /// Adds the entry of a row, when the index has it (relation 4).
    pub(crate) fn add_row(&self, key: &[u8], row: &[u8], ts: Timestamp, value: &mut Vec<u8>) {
        if self.put_new(row, value) {
            self.store.add(value, key, ts);
        }
    }

    /// Puts the value of a row that is added; false when the index does not have it, or an expression fails (parts 2):
    /// who makes the index will know; one that is made never meets such a row that stays alive.
    fn put_new(&self, row: &[u8], value: &mut Vec<u8>) -> bool {
        let found = self.has_row(row).then(|| self.put_row(row, value));
        if let Some(Err(_)) = found {
            self.met_failure.store(true, Ordering::Release);
        }
        matches!(found, Some(Ok(_)))
    }

    fn add_sorted(&self, mut entries: Batch, ts: Timestamp) {
        entries.sort();
        self.store.add_sorted(entries, ts);
    }

    /// The entry of the version that ends at `ts` is outdated from then on. When it cannot be read, a reader finds out.
    fn note_stale(&self, key: &[u8], ts: Timestamp, value: &mut Vec<u8>) {
        let before = self.rows.table.upgrade().map(|table| table.read_row(key, Timestamp(ts.0 - 1)));
        if let Some(Ok(Some(row))) = before
            && self.has_row(&row)
            && self.put_row(&row, value).is_ok()
        {
            self.store.note_stale(value);
        }
    }
}

/// Folds the payloads of an index's manifest edits.
pub(crate) fn fold(payloads: &[Vec<u8>]) -> Result<Vec<u8>> {
    fold_payloads(payloads)
}

impl Upkeep for Index {
    fn jobs(&self) -> Vec<JobOffer> {
        self.store.jobs()
    }

    fn run(&self, offer: &JobOffer) -> Result<()> {
        self.store.run(offer)
    }

    fn freeze(&self) {
        self.store.freeze();
    }

    fn durable_cut(&self) -> Timestamp {
        self.store.durable_cut()
    }

    /// What an index has of its definition does not change but for its name, which the catalog knows.
    fn evolve(&self, def: &Arc<TableDef>) {
        *self.name.write() = def.name.as_str().into();
    }

    fn drop_files(&self) {
        if let Some(feeder) = self.feeder.upgrade() {
            feeder.let_go(self.id());
        }
        self.store.drop_files();
    }

    fn check(&self) -> Result<Vec<String>> {
        let mut wrong = self.store.check()?;
        wrong.extend(self.check_rows()?);
        Ok(wrong)
    }

    fn damage(&self) -> Vec<Damage> {
        self.store.damage()
    }

    fn unavailable(&self) -> Option<&Error> {
        None
    }

    fn follow(&self, switch: &FileSwitch) -> Result<()> {
        self.store.follow(switch)
    }
}

impl Derived for Index {
    /// Entries are sorted, a large commit's piece by piece (relation 1).
    fn feed(&self, ts: Timestamp, writes: &TableWrites) {
        if ts <= self.store.cut() {
            return;
        }
        let mut value = Vec::new();
        let mut entries = Batch::default();
        let row_count = writes.rows.len();
        let notes_stale = row_count <= STALE_ROWS_MAX;
        for (key, staged) in &writes.rows {
            let is_known = matches!(staged.base, Base::Version(..));
            let moves = !staged.is_partial() || self.is_touched(&staged.columns);
            if moves && is_known && notes_stale {
                self.note_stale(key, ts, &mut value);
            }
            let is_forgotten = is_known && active(Fault::FORGET_ENTRY);
            let Some(row) = staged.row.as_ref().filter(|_| moves && !is_forgotten) else { continue };
            if !self.put_new(row, &mut value) {
                continue;
            }
            if row_count == 1 {
                return self.store.add(&value, key, ts);
            }
            if entries.len() == 0 {
                let count = row_count.min(SORTED_BYTES_MAX / ENTRY_BYTES);
                entries = Batch::with_capacity(count, count * (value.len() + key.len()));
            }
            entries.push(&value, key, ts);
            if entries.byte_count() >= SORTED_BYTES_MAX {
                self.add_sorted(std::mem::take(&mut entries), ts);
            }
        }
        if entries.len() > 0 {
            self.add_sorted(entries, ts);
        }
    }

    fn attach(&self, ts: Timestamp, files: &[FileId]) -> Result<()> {
        self.store.attach(files, ts)
    }

    fn discard(&self, attachment: &Attachment) {
        self.store.discard(&BuiltFiles { files: attachment.files.clone(), entries: attachment.rows });
    }

    /// Entries are no rows.
    fn columns(&self) -> Option<&dyn Columns> {
        None
    }
}

/// What [`IndexStore`] made, as a transaction stages it.
pub(crate) fn attachment(built: BuiltFiles) -> Attachment {
    let files: Vec<FileId> = built.files;
    Attachment { files, rows: built.entries, payload: Vec::new(), replaced: None }
}
