//! What the values of a table's columns are like, whoever knows it: its files, those of a column index, or a look at
//! some of its rows.
//!
//! ```text
//!   table of method column    its files have summaries of 95 of 100 rows      they are taken
//!   the same, new             all rows are in memory                          some rows are looked at
//!   table of method row       column index of (k, b): its files               for k and b; some rows for the others
//!
//!   looked at with 10,000 rows; 2,001 were written since                      the next who asks looks again
//! ```
//!
//! 1. A look reads a bounded number of rows ([`LOOK_ROWS`]), from all over the table, as of a snapshot of its own.
//! 2. What was seen is kept until a fifth of the rows that there were has been written since.
//! 3. An estimate, never an answer: who cannot look, because files are damaged or another one looks, knows less.
//!
//! Concurrency: one looks at a time, and nobody waits for it but ANALYZE.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use weft_contract::{ReadView, ScanRequest, Summaries};
use weft_format::arrow_values::value_ref_at;
use weft_format::summary::{Counter, summarize};
use weft_format::{ColumnSummary, DataType, Result, Value, ValueRef};

use super::TableRef;
use super::looked::{Columns, Seen};

/// Partitions of a table that is too large to be read.
const LOOK_PARTITIONS: usize = 64;
/// Rows of a batch of a look; each partition gives one.
const LOOK_BATCH_ROWS: usize = 256;
/// Of a table of at most so many rows all are read.
const LOOK_ROWS: u64 = (LOOK_PARTITIONS * LOOK_BATCH_ROWS) as u64;
/// A look ends when batches of so many bytes were read.
const LOOK_BYTES_MAX: usize = 32 << 20;
/// One of so many rows may have been written since a look.
const WRITTEN_SHARE: u64 = 5;
/// Rows of a batch of a count of all.
const COUNT_BATCH_ROWS: usize = 4_096;

/// What is known of a table's columns.
#[derive(Clone, Default)]
pub struct KnownColumns {
    files: Option<Arc<Vec<ColumnSummary>>>,
    /// Of column indexes, with the table's ordinals of their columns.
    derived: Vec<(Arc<Vec<ColumnSummary>>, Vec<usize>)>,
    looked: Option<Columns>,
}

impl KnownColumns {
    /// What the values of a column are like.
    pub fn column(&self, ordinal: usize) -> Option<&ColumnSummary> {
        let derived = self
            .derived
            .iter()
            .find_map(|(columns, ordinals)| columns.get(ordinals.iter().position(|known| *known == ordinal)?));
        let files = self.files.as_ref().and_then(|columns| columns.get(ordinal));
        let looked = || self.looked.as_ref().and_then(|columns| columns.get(ordinal)?.as_ref());
        files.or(derived).or_else(looked).filter(|column| column.rows() > 0)
    }
}

/// What files say, when it is of most of the table's rows, and not mostly of rows that are gone.
fn told_of_most(files: &dyn Summaries, rows: u64) -> Option<Arc<Vec<ColumnSummary>>> {
    let alive = files.alive_rows();
    let columns = files.summaries();
    let told = columns.first()?.rows();
    let is_of_most = told.min(alive) * WRITTEN_SHARE >= rows * (WRITTEN_SHARE - 1);
    (is_of_most && told <= alive.saturating_mul(2)).then_some(columns)
}

impl TableRef {
    /// What the values of its columns are like.
    pub fn known_columns(&self) -> KnownColumns {
        let rows = self.table.statistics().row_count;
        let files = self.table.summaries().and_then(|files| told_of_most(files, rows));
        let mut known = KnownColumns { files, ..KnownColumns::default() };
        if known.files.is_some() || rows == 0 {
            return known;
        }
        for index in self.column_indexes().iter().filter_map(|columns| columns.index.clone()) {
            if let Some(columns) = index.stored().summaries().and_then(|files| told_of_most(files, rows)) {
                known.derived.push((columns, index.ordinals().to_vec()));
            }
        }
        known.looked = self.looked(rows);
        known
    }

    /// A commit has written so many rows.
    pub(crate) fn note_written(&self, rows: u64) {
        self.shared.looked.written.fetch_add(rows, Ordering::Relaxed);
    }

    /// Counts what the values of all columns are like, and waits for it: of files, or of all rows where files do not
    /// tell.
    pub fn count_columns(&self) -> Result<()> {
        let indexes = self.column_indexes();
        let derived = indexes.iter().filter_map(|columns| columns.index.as_ref()?.stored().summaries());
        derived.chain(self.table.summaries()).for_each(Summaries::renew);
        let rows = self.table.statistics().row_count;
        if self.table.summaries().is_some_and(|files| told_of_most(files, rows).is_some()) {
            return Ok(());
        }
        let looked = &self.shared.looked;
        let _looking = looked.looking.lock();
        let written = looked.written.load(Ordering::Relaxed);
        let (ordinals, types) = self.looked_columns();
        let mut counter = Counter::new(&types);
        let mut rows = 0;
        self.each_batch(&ordinals, 1, COUNT_BATCH_ROWS, usize::MAX, |batch| {
            rows += batch.num_rows() as u64;
            for row in 0..batch.num_rows() {
                counter.push(|column| value_in(batch, column, row, types[column]));
            }
        })?;
        let columns = self.by_ordinal(&ordinals, counter.finish());
        looked.keep(Seen { columns, rows, written });
        Ok(())
    }

    fn looked(&self, rows: u64) -> Option<Columns> {
        let looked = &self.shared.looked;
        let seen = looked.seen.lock().clone();
        let written = looked.written.load(Ordering::Relaxed);
        let is_fresh = |seen: &Seen| (written - seen.written) * WRITTEN_SHARE <= seen.rows.max(WRITTEN_SHARE - 1);
        if let Some(seen) = seen.as_ref().filter(|seen| is_fresh(seen)) {
            return Some(seen.columns.clone());
        }
        let before = seen.map(|seen| seen.columns);
        // Known 3.
        let Some(_looking) = looked.looking.try_lock() else { return before };
        let Ok(columns) = self.look(rows) else { return before };
        looked.keep(Seen { columns: columns.clone(), rows, written });
        Some(columns)
    }

    fn look(&self, rows: u64) -> Result<Columns> {
        let (ordinals, types) = self.looked_columns();
        let mut values: Vec<Vec<Value>> = types.iter().map(|_| Vec::new()).collect();
        let mut seen = 0;
        let (partitions, batches) = if rows <= LOOK_ROWS { (1, usize::MAX) } else { (LOOK_PARTITIONS, 1) };
        self.each_batch(&ordinals, partitions, LOOK_BATCH_ROWS, batches, |batch| {
            seen += batch.num_rows() as u64;
            assert!(partitions == 1 || seen <= LOOK_ROWS, "a look at a large table is bounded (known 1)");
            for (column, values) in values.iter_mut().enumerate() {
                let value = |row| value_in(batch, column, row, types[column]).to_value();
                values.extend((0..batch.num_rows()).map(value));
            }
        })?;
        // Of a small table all rows were seen, whatever it thinks that it has.
        let rows = if partitions == 1 { seen } else { rows };
        let columns = values.into_iter().zip(&types).map(|(values, data_type)| summarize(values, *data_type, rows));
        Ok(self.by_ordinal(&ordinals, columns.collect()))
    }

    /// Columns that are looked at: documents are not.
    fn looked_columns(&self) -> (Vec<usize>, Vec<DataType>) {
        let schema = &self.def.schema;
        let is_looked_at = |ordinal: &usize| {
            let data_type = schema.columns[*ordinal].data_type;
            let is_document = matches!(data_type, DataType::Json | DataType::Jsonb | DataType::JsonPath);
            !schema.is_dropped(*ordinal) && !is_document && data_type.element().is_none()
        };
        let ordinals: Vec<usize> = (0..schema.columns.len()).filter(is_looked_at).collect();
        let types = ordinals.iter().map(|&ordinal| schema.columns[ordinal].data_type).collect();
        (ordinals, types)
    }

    fn by_ordinal(&self, ordinals: &[usize], columns: Vec<ColumnSummary>) -> Columns {
        assert_eq!(ordinals.len(), columns.len(), "each column that was looked at has a summary");
        let mut all: Vec<Option<ColumnSummary>> = self.def.schema.columns.iter().map(|_| None).collect();
        ordinals.iter().zip(columns).for_each(|(&ordinal, column)| all[ordinal] = Some(column));
        Arc::new(all)
    }

    /// Calls `visit` with at most so many batches of each partition, as of a snapshot of its own.
    fn each_batch(
        &self,
        ordinals: &[usize],
        partitions: usize,
        batch_rows: usize,
        batches: usize,
        mut visit: impl FnMut(&RecordBatch),
    ) -> Result<()> {
        let look = self.horizon().look();
        let request = ScanRequest {
            view: ReadView { read_ts: look.read_ts, own: None, reads: None },
            projection: ordinals.to_vec(),
            predicates: Vec::new(),
            partition_count: partitions,
            batch_rows,
        };
        let is_whole = batches == usize::MAX && batch_rows == COUNT_BATCH_ROWS;
        let mut bytes = 0;
        for partition in &mut self.table.scan(&self.def.schema, request)?.partitions {
            let mut left = batches;
            while left > 0
                && (is_whole || bytes < LOOK_BYTES_MAX)
                && let Some(batch) = partition.next()?
            {
                bytes += batch.get_array_memory_size();
                assert_eq!(batch.num_columns(), ordinals.len(), "a scan gives the columns that were asked for");
                visit(&batch);
                left -= 1;
            }
        }
        Ok(())
    }
}

fn value_in(batch: &RecordBatch, column: usize, row: usize, data_type: DataType) -> ValueRef<'_> {
    let array = batch.column(column);
    if array.is_null(row) { ValueRef::Null } else { value_ref_at(array, row, data_type) }
}
