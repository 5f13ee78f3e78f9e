//! What a scan is asked and what it gives.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, SchemaRef};
use weft_env::sync::Mutex;
use weft_expr::Expr;
use weft_format::document::FieldPath;
use weft_format::predicate::Predicate;
use weft_format::{Result, Schema, TableId, Timestamp, Value};

use crate::write_set::TableWrites;

/// What a statement sees of one table: everything committed up to `read_ts`, changed by its transaction's own writes.
#[derive(Clone)]
pub struct ReadView {
    /// Versions with insert timestamp ≤ `read_ts` < delete timestamp are visible. Registered by the owner of the view
    /// for as long as the view lives (invariant 1 of DESIGN section 5).
    pub read_ts: Timestamp,
    /// The transaction's own staged writes to this table, as of the start of the statement; they hide the committed
    /// versions of their keys.
    pub own: Option<Arc<TableWrites>>,
    /// Where a serializable transaction notes what it reads: who starts a scan tells it; a method does not look.
    pub reads: Option<Arc<dyn NoteReads>>,
}

/// Remembers what was read of tables.
pub trait NoteReads: Send + Sync {
    /// A scan is started, of the rows that satisfy these and of these columns; told before its result is seen.
    fn note_scan(&self, table: TableId, predicates: &[Predicate], projection: &[usize]);
}

/// In a projection: where each row lies, as a number for [`Location::of_number`](crate::Location::of_number), or NULL
/// when only the key finds it again. No ordinal of a column.
pub const LOCATION: usize = usize::MAX;

/// The name of that column, which no column of a table has.
pub const LOCATION_NAME: &str = "\u{1}location";

/// In a projection of versions: the commit that each began with, as a number. No ordinal of a column.
pub const SINCE: usize = usize::MAX - 1;

/// In a projection of versions: the commit that each ended with, as a number, or NULL when it has not ended.
pub const UNTIL: usize = usize::MAX - 2;

/// The name of the column of an ordinal that is none of a stored column.
fn name_beside(ordinal: usize) -> Option<&'static str> {
    match ordinal {
        LOCATION => Some(LOCATION_NAME),
        SINCE => Some("\u{1}since"),
        UNTIL => Some("\u{1}until"),
        _ => None,
    }
}

/// The Arrow schema of what a scan returns.
pub fn scan_schema(schema: &Schema, projection: &[usize]) -> SchemaRef {
    if projection.iter().all(|&ordinal| name_beside(ordinal).is_none()) {
        return schema.arrow(projection);
    }
    let columns: Vec<usize> = projection.iter().copied().filter(|&ordinal| name_beside(ordinal).is_none()).collect();
    let arrow = schema.arrow(&columns);
    let mut stored = arrow.fields().iter().cloned();
    let field = |&ordinal: &usize| match name_beside(ordinal) {
        Some(name) => Some(Arc::new(Field::new(name, DataType::Int64, true))),
        None => stored.next(),
    };
    Arc::new(arrow_schema::Schema::new(projection.iter().filter_map(field).collect::<Vec<_>>()))
}

/// A value within the documents of a column (jsonb), wanted by itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScanField {
    /// The ordinal of the column.
    pub column: usize,
    /// Where in its documents, and as what.
    pub path: FieldPath,
}

/// A condition on a field that the rows wanted satisfy. A scan does not apply it: whoever asks for the scan does, on
/// what it returns. It may help to skip rows.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldTest {
    /// The field, in the type in which it is compared.
    pub field: ScanField,
    /// What is said of its value; the predicate's column means nothing.
    pub predicate: Predicate,
    /// The type of integers that its text is cast to where it is tested: rows for which that is an error are wanted,
    /// too.
    pub cast: Option<weft_format::DataType>,
}

/// The Arrow schema of a scan that returns fields behind the columns of its projection.
pub fn scan_schema_with(schema: &Schema, projection: &[usize], fields: &[ScanField]) -> SchemaRef {
    let columns = scan_schema(schema, projection);
    if fields.is_empty() {
        return columns;
    }
    let field = |(number, field): (usize, &ScanField)| {
        Arc::new(Field::new(format!("\u{1}field {number}"), field.path.arrow(), true))
    };
    let fields = fields.iter().enumerate().map(field);
    Arc::new(arrow_schema::Schema::new(columns.fields().iter().cloned().chain(fields).collect::<Vec<_>>()))
}

/// Which versions are wanted.
///
/// ```text
///   FROM commit 40 TO 50       after 40, to 49      begun at or before 49, and not ended at or before 40
///   AS OF 40                   after 40, to 40      what a snapshot of 40 sees
///   the same, not at 50        after 40, to 40, except 50      what went, or was replaced, from 41 to 50
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Those that ended at or before it are not.
    pub after: Timestamp,
    /// Those that began later are not.
    pub to: Timestamp,
    /// Those that a snapshot of it sees are not.
    pub except: Option<Timestamp>,
}

impl Period {
    /// Whether it has a version that began and ended then; [`Timestamp::MAX`]: it has not ended.
    pub fn has(&self, since: Timestamp, until: Timestamp) -> bool {
        let is_seen = |at: Timestamp| since <= at && until > at;
        since <= self.to && until > self.after && !self.except.is_some_and(is_seen)
    }
}

/// One scan of one table.
#[derive(Clone)]
pub struct ScanRequest {
    /// What is visible.
    pub view: ReadView,
    /// Ordinals of the columns to return, in this order, and [`LOCATION`]; may be empty (then batches carry only a row
    /// count).
    pub projection: Vec<usize>,
    /// A conjunction; the scan applies it exactly: rows that do not satisfy it are not returned.
    pub predicates: Vec<Predicate>,
    /// How many partitions the caller can read in parallel; the scan returns exactly this many (some may be empty).
    pub partition_count: usize,
    /// The most rows a batch may have.
    pub batch_rows: usize,
}

/// A condition on an expression that the rows wanted satisfy. A scan does not apply it: whoever asks for the scan does,
/// on what it returns. It may help to find the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ExprTest {
    /// Over the stored columns of the table.
    pub expr: Expr,
    /// What is said of its value; the predicate's column means nothing.
    pub predicate: Predicate,
}

/// A scan under way: it holds the layout version it reads.
pub struct ScanOutput {
    /// To be read independently, each by one thread at a time; every visible row is in exactly one of them.
    pub partitions: Vec<Box<dyn Partition>>,
    /// What was read and pruned; grows while the partitions are read.
    pub metrics: Arc<ScanMetrics>,
}

/// A scan of some rows.
pub struct Sample {
    /// The scan.
    pub output: ScanOutput,
    /// It is of all rows.
    pub is_whole: bool,
}

/// One part of a scan's result.
pub trait Partition: Send {
    /// The next batch (never empty), or the end.
    fn next(&mut self) -> Result<Option<RecordBatch>>;
}

/// Counters of one scan.
#[derive(Debug, Default)]
pub struct ScanMetrics {
    /// Parts (row tables and column tables) of the layout.
    pub parts: AtomicU64,
    /// Parts skipped by statistics or Bloom filter.
    pub parts_pruned: AtomicU64,
    /// The same by layer, newest data first; empty where a table has none, or an index found the rows.
    pub layers: Mutex<Vec<LayerScan>>,
    /// Blocks of rows looked at.
    pub blocks: AtomicU64,
    /// Blocks skipped by their statistics.
    pub blocks_pruned: AtomicU64,
    /// Fields of blocks that were read from their own columns.
    pub field_columns: AtomicU64,
    /// Fields of blocks that were looked for in the texts of documents.
    pub field_texts: AtomicU64,
    /// Rows returned.
    pub rows: AtomicU64,
    /// The index that found them, if one did.
    pub index: Mutex<Option<String>>,
}

/// The parts of one layer in a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerScan {
    /// Its name, as the view of layers has it.
    pub layer: &'static str,
    /// Parts whose rows are read.
    pub read: u64,
    /// Parts left out: by statistics or Bloom filters, or because they are newer than the snapshot.
    pub pruned: u64,
}

impl LayerScan {
    /// A layer of which nothing was looked at yet.
    pub fn new(layer: &'static str) -> LayerScan {
        LayerScan { layer, read: 0, pruned: 0 }
    }

    /// Counts a part.
    pub fn add(&mut self, is_read: bool) {
        if is_read {
            self.read += 1;
        } else {
            self.pruned += 1;
        }
    }
}

/// Estimates for the planner; never exact, never an answer.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// Rows alive, about.
    pub row_count: u64,
    /// Bytes of the table, about.
    pub bytes: u64,
    /// Per column: lowest and highest value known, if any.
    pub ranges: Vec<Option<(Value, Value)>>,
}
