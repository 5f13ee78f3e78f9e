//! What the values of a table's columns are like, whoever knows it: its files, those of a column index, or a look at
//! some of its rows.
//!
//! ```text
//!   table of method column    its files have summaries of 95 of 100 rows      they are taken
//!   the same, new             all rows are in memory                          some rows are looked at
//!   table of method row       column index of (k, b): its files               for k and b; some rows for the others
//!
//!   a query is planned        what is known now, be it old or nothing; the table is wanted when that is not enough
//!   a worker has time         it learns: files that are not told of, 16 each time; then some rows
//!   ANALYZE                   all files, or all rows, in the caller's thread; of more than 2 M rows 32,768
//!
//!   looked at with 10,000 rows; 2,001 were written since     the next who asks wants it looked at again
//! ```
//!
//! 1. Who plans reads nothing and waits for nobody ([`TableRef::known_columns`]).
//! 2. A look reads a bounded number of rows ([`LOOK_ROWS`]), stretches and bytes, from all over the table, as of a
//!    snapshot of its own. What was seen is kept until a fifth of the rows that there were has been written since.
//! 3. An estimate, never an answer: who cannot look, because files are damaged or another one looks, knows less.
//! 4. One looks at a table at a time, and asks before each batch whether to go on. Nobody is woken to look while a look
//!    rests.
//! 5. A look is charged for the values that it takes, not for the buffers that batches share.
//! 6. ANALYZE holds a snapshot for the rows of [`COUNT_ROWS_MAX`] at most, whatever the table has.
//! 7. After a panic nobody learns of the table again but ANALYZE.
//!
//! Concurrency: nobody waits for who looks, but ANALYZE.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::RecordBatch;
use weft_contract::{ReadView, Sample, ScanRequest, Summaries};
use weft_format::arrow_values::value_ref_at;
use weft_format::summary::{Counter, constant, summarize};
use weft_format::{Column, ColumnSummary, DataType, Result, Value, ValueRef};

use super::TableRef;
use super::looked::{Columns, Seen, WRITTEN_SHARE};
use crate::fault::{Fault, active};
use crate::timeline::Look;

/// Stretches of a table that is too large to be read.
const LOOK_STRETCHES: usize = 64;
/// Rows of a batch of a look; each stretch gives one before any gives two.
const LOOK_BATCH_ROWS: usize = 256;
/// Of a table of at most so many rows all are read.
const LOOK_ROWS: u64 = (LOOK_STRETCHES * LOOK_BATCH_ROWS) as u64;
/// Stretches of such a table.
const SMALL_STRETCHES: usize = 1_024;
/// A look ends when batches of so many bytes were read.
const LOOK_BYTES_MAX: usize = 32 << 20;
/// Of a table of more rows ANALYZE reads some (PostgreSQL reads 30,000).
const COUNT_ROWS_MAX: u64 = 2 << 20;
/// So many, unless they have more bytes than [`SAMPLE_BYTES_MAX`].
const SAMPLE_ROWS: u64 = 32_768;
/// Rows of a batch of them: each stretch gives one at least, so there are 1,024 stretches.
const SAMPLE_BATCH_ROWS: u64 = 32;
/// ANALYZE ends when values of so many bytes were read.
const SAMPLE_BYTES_MAX: usize = 64 << 20;
/// Rows of a batch of a count of all.
const COUNT_BATCH_ROWS: usize = 4_096;
/// How often files are taken in before others have their turn.
const STEPS: usize = 8;
/// How often who counts asks whether another one is done.
const WAIT: Duration = Duration::from_millis(2);

/// Asked now and then: an error ends what goes on.
type GoesOn<'a> = &'a mut dyn FnMut() -> Result<()>;

/// What is known of a table's columns.
#[derive(Clone, Default)]
pub struct KnownColumns {
    /// What its files say.
    files: Option<Told>,
    /// Of column indexes, with the table's ordinals of their columns.
    derived: Vec<(Told, Vec<usize>)>,
    looked: Option<Columns>,
    /// The share of rows that came since somebody looked.
    written_share: f64,
}

/// What files say.
#[derive(Clone)]
struct Told {
    columns: Arc<Vec<ColumnSummary>>,
    /// The share of rows that they do not have.
    unseen: f64,
}

impl KnownColumns {
    /// What the values of a column are like.
    pub fn column(&self, ordinal: usize) -> Option<&ColumnSummary> {
        self.found(ordinal).map(|(column, _)| column)
    }

    /// The share of the table's rows that came since that was known, about.
    pub fn unseen_share(&self, ordinal: usize) -> f64 {
        self.found(ordinal).map_or(0.0, |(_, unseen)| unseen)
    }

    fn found(&self, ordinal: usize) -> Option<(&ColumnSummary, f64)> {
        let of = |told: &'_ Told, at: usize| -> Option<f64> { told.columns.get(at).map(|_| told.unseen) };
        let files = self.files.as_ref().and_then(|told| Some((told.columns.get(ordinal)?, of(told, ordinal)?)));
        let derived = || {
            self.derived.iter().find_map(|(told, ordinals)| {
                let at = ordinals.iter().position(|known| *known == ordinal)?;
                Some((told.columns.get(at)?, of(told, at)?))
            })
        };
        let looked = || Some((self.looked.as_ref()?.get(ordinal)?.as_ref()?, self.written_share));
        files.or_else(derived).or_else(looked).filter(|(column, _)| column.rows() > 0)
    }
}

/// What files say, when it is of most of the table's rows, and not mostly of rows that are gone.
fn told_of_most(files: &dyn Summaries, rows: u64) -> Option<Told> {
    let alive = files.alive_rows();
    let columns = files.summaries();
    let told = columns.first()?.rows();
    let known = told.min(alive);
    let is_of_most = known.saturating_mul(WRITTEN_SHARE) >= rows.saturating_mul(WRITTEN_SHARE - 1);
    let unseen = 1.0 - (known as f64 / rows.max(1) as f64).min(1.0);
    (is_of_most && told <= alive.saturating_mul(2)).then_some(Told { columns, unseen })
}

impl TableRef {
    /// What is known of its columns now. Reads nothing; what is missing is wanted for later.
    pub fn known_columns(&self) -> KnownColumns {
        if active(Fault::NONSENSE_COLUMNS) {
            return self.nonsense();
        }
        let rows = self.table.statistics().row_count;
        let mut is_wanted = self.each_files(|files| files.is_behind()).into_iter().any(|is_behind| is_behind);
        let files = self.table.summaries().and_then(|files| told_of_most(files, rows));
        let mut known = KnownColumns { files, ..KnownColumns::default() };
        if known.files.is_none() && rows > 0 {
            for index in self.column_indexes().iter().filter_map(|columns| columns.index.clone()) {
                if let Some(told) = index.stored().summaries().and_then(|files| told_of_most(files, rows)) {
                    known.derived.push((told, index.ordinals().to_vec()));
                }
            }
            let looked = &self.shared.looked;
            let rests = looked.rests() && !active(Fault::WAKE_WHILE_RESTING);
            is_wanted |= !rests && !looked.is_fresh(self.def.schema.columns.len());
            if let Some((seen, written)) = looked.seen() {
                known.written_share = (written as f64 / rows as f64).min(1.0);
                known.looked = Some(seen.columns);
            }
        }
        if is_wanted && !self.shared.looked.given_up.load(Ordering::Relaxed) {
            self.shared.looked.services.want_columns(self.id());
        }
        known
    }

    /// What nobody could have seen: no answer depends on it.
    fn nonsense(&self) -> KnownColumns {
        let column = |(ordinal, column): (usize, &Column)| {
            let value = match column.data_type {
                DataType::SmallInt | DataType::Integer | DataType::BigInt if ordinal % 2 == 1 => ValueRef::Int(-42),
                DataType::Text => ValueRef::Text("nonsense"),
                _ => ValueRef::Null,
            };
            Some(constant(value, column.data_type, [1, u64::MAX / 4, 1_000_000][ordinal % 3]))
        };
        let looked = self.def.schema.columns.iter().enumerate().map(column).collect();
        KnownColumns { looked: Some(Arc::new(looked)), written_share: 1.0, ..KnownColumns::default() }
    }

    /// A commit has written so many rows.
    pub(crate) fn note_written(&self, rows: u64) {
        self.shared.looked.written.fetch_add(rows, Ordering::Relaxed);
    }

    /// How often somebody has looked at its rows.
    pub fn look_count(&self) -> u64 {
        self.shared.looked.looks.load(Ordering::Relaxed)
    }

    /// Of its files and of those of its column indexes.
    fn each_files<R>(&self, mut of: impl FnMut(&dyn Summaries) -> R) -> Vec<R> {
        let mut results: Vec<R> = self.table.summaries().map(&mut of).into_iter().collect();
        for index in self.column_indexes().iter().filter_map(|columns| columns.index.as_ref()) {
            results.extend(index.stored().summaries().map(&mut of));
        }
        results
    }

    fn is_told_of_most(&self) -> bool {
        let rows = self.table.statistics().row_count;
        self.table.summaries().is_some_and(|files| told_of_most(files, rows).is_some())
    }

    /// Learns what somebody wanted to know, for a bounded time. True: there is more to learn.
    pub(crate) fn learn(&self, goes_on: GoesOn<'_>) -> Result<bool> {
        let looked = &self.shared.looked;
        // Known 7.
        if looked.given_up.load(Ordering::Relaxed) {
            return Ok(false);
        }
        // Known 4.
        let Some(_looking) = looked.looking.try_lock() else { return Ok(false) };
        let taken_in = self.each_files(|files| {
            let mut steps = 0;
            while files.is_behind() && steps < STEPS {
                goes_on()?;
                files.catch_up();
                steps += 1;
            }
            Ok(files.is_behind())
        });
        if taken_in.into_iter().collect::<Result<Vec<bool>>>()?.contains(&true) {
            return Ok(true);
        }
        let is_known = self.is_told_of_most() || looked.is_fresh(self.def.schema.columns.len());
        if !is_known && !looked.rests() {
            let begun_nanos = looked.env.clock.monotonic_nanos();
            let seen = self.look(goes_on);
            looked.rest_after(begun_nanos);
            looked.keep(seen?);
        }
        Ok(false)
    }

    /// As if a look had ended now; for tests.
    pub fn rest_now(&self) {
        self.shared.looked.rest_after(self.shared.looked.env.clock.monotonic_nanos());
    }

    /// Learning of it has panicked.
    pub(crate) fn learn_no_more(&self) {
        self.shared.looked.given_up.store(true, Ordering::Relaxed);
    }

    /// Counts what the values of all columns are like, of files, or of all rows where files do not tell, of some when
    /// there are very many. Waits for who does the same.
    pub fn count_columns(&self, goes_on: GoesOn<'_>) -> Result<()> {
        self.count_columns_up_to(COUNT_ROWS_MAX, goes_on)
    }

    /// The same; says itself which number of rows is very many. Of a table of more it reads no more than that.
    pub fn count_columns_up_to(&self, rows_max: u64, goes_on: GoesOn<'_>) -> Result<()> {
        self.shared.looked.given_up.store(false, Ordering::Relaxed);
        self.each_files(|files| files.renew(goes_on)).into_iter().collect::<Result<()>>()?;
        if self.is_told_of_most() {
            return Ok(());
        }
        let looked = &self.shared.looked;
        let _looking = loop {
            if let Some(looking) = looked.looking.try_lock() {
                break looking;
            }
            goes_on()?;
            looked.env.clock.sleep(WAIT);
        };
        // Known 6.
        let is_counted = self.table.statistics().row_count <= rows_max;
        looked.keep(if is_counted { self.count(goes_on)? } else { self.sample(rows_max, goes_on)? });
        Ok(())
    }

    /// All rows. The caller holds `looking`.
    fn count(&self, goes_on: GoesOn<'_>) -> Result<Seen> {
        let looked = &self.shared.looked;
        let written = looked.written.load(Ordering::Relaxed);
        let (ordinals, types) = self.looked_columns();
        let (mut counter, mut rows) = (Counter::new(&types), 0);
        let look = self.horizon().look();
        let request = self.request(&look, &ordinals, (1, COUNT_BATCH_ROWS));
        for partition in &mut self.table.scan(&self.def.schema, request)?.partitions {
            while let Some(batch) = partition.next()? {
                goes_on()?;
                rows += batch.num_rows() as u64;
                for row in 0..batch.num_rows() {
                    counter.push(|column| value_in(&batch, column, row, types[column]));
                }
            }
        }
        Ok(Seen { columns: self.by_ordinal(&ordinals, counter.finish()), rows, written })
    }

    /// Many stretches, one after another, so that only one is open. The caller holds `looking`.
    fn sample(&self, rows_max: u64, goes_on: GoesOn<'_>) -> Result<Seen> {
        let rows = self.table.statistics().row_count;
        let written = self.shared.looked.written.load(Ordering::Relaxed);
        let mut taken = Taken::new(self.looked_columns());
        let look = self.horizon().look();
        let most = SAMPLE_ROWS.min(rows_max);
        let stretches = (most / SAMPLE_BATCH_ROWS).max(1) as usize;
        let request = self.request(&look, &taken.ordinals, (stretches, SAMPLE_BATCH_ROWS as usize));
        let Sample { output, mut is_whole } = self.table.sample(&self.def.schema, request, stretches)?;
        let share = most.div_ceil(output.partitions.len().max(1) as u64);
        for mut partition in output.partitions {
            let end = taken.rows + share;
            loop {
                if taken.rows >= end || taken.bytes >= SAMPLE_BYTES_MAX {
                    is_whole = false;
                    break;
                }
                goes_on()?;
                let Some(batch) = partition.next()? else { break };
                taken.push(&batch);
            }
        }
        let rows = if is_whole { taken.rows } else { rows };
        let columns = self.by_ordinal(&taken.ordinals.clone(), taken.finish(rows));
        Ok(Seen { columns, rows, written })
    }

    /// Known 2. The caller holds `looking`.
    fn look(&self, goes_on: GoesOn<'_>) -> Result<Seen> {
        assert!(!active(Fault::PANIC_IN_LOOK), "planted");
        let rows = self.table.statistics().row_count;
        let written = self.shared.looked.written.load(Ordering::Relaxed);
        let mut taken = Taken::new(self.looked_columns());
        let (partitions, stretches, rows_max) = match rows <= LOOK_ROWS {
            true => (1, SMALL_STRETCHES, 2 * LOOK_ROWS),
            false => (LOOK_STRETCHES, LOOK_STRETCHES, LOOK_ROWS),
        };
        let look = self.horizon().look();
        let request = self.request(&look, &taken.ordinals, (partitions, LOOK_BATCH_ROWS));
        let Sample { output, mut is_whole } = self.table.sample(&self.def.schema, request, stretches)?;
        // A batch of each stretch, then a second one, so that no stretch stands for others.
        let mut partitions = VecDeque::from(output.partitions);
        while let Some(mut partition) = partitions.pop_front() {
            if taken.rows >= rows_max || taken.bytes >= LOOK_BYTES_MAX {
                is_whole = false;
                break;
            }
            goes_on()?;
            let Some(batch) = partition.next()? else { continue };
            taken.push(&batch);
            partitions.push_back(partition);
        }
        // Of a table that was read to its end all rows were seen, whatever it thinks that it has.
        let rows = if is_whole { taken.rows } else { rows };
        let columns = self.by_ordinal(&taken.ordinals.clone(), taken.finish(rows));
        Ok(Seen { columns, rows, written })
    }

    fn request(&self, look: &Look, ordinals: &[usize], (partition_count, batch_rows): (usize, usize)) -> ScanRequest {
        let view = ReadView { read_ts: look.read_ts, own: None, reads: None };
        ScanRequest { view, projection: ordinals.to_vec(), predicates: Vec::new(), partition_count, batch_rows }
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
}

/// Values that a look has taken.
struct Taken {
    ordinals: Vec<usize>,
    types: Vec<DataType>,
    values: Vec<Vec<Value>>,
    rows: u64,
    /// About what they hold (known 5).
    bytes: usize,
}

impl Taken {
    fn new((ordinals, types): (Vec<usize>, Vec<DataType>)) -> Taken {
        let values = types.iter().map(|_| Vec::new()).collect();
        Taken { ordinals, types, values, rows: 0, bytes: 0 }
    }

    fn push(&mut self, batch: &RecordBatch) {
        assert_eq!(batch.num_columns(), self.types.len(), "a scan gives the columns that were asked for");
        self.rows += batch.num_rows() as u64;
        let columns = self.values.iter_mut().zip(&self.types).enumerate();
        for (column, (values, data_type)) in columns {
            for row in 0..batch.num_rows() {
                let value = value_in(batch, column, row, *data_type);
                self.bytes += size_of::<Value>() + value.as_bytes().map_or(0, <[u8]>::len);
                values.push(value.to_value());
            }
        }
        if active(Fault::CHARGE_SHARED_BUFFERS) {
            self.bytes += batch.get_array_memory_size();
        }
    }

    /// The summaries, of so many rows.
    fn finish(self, rows: u64) -> Vec<ColumnSummary> {
        let columns = self.values.into_iter().zip(&self.types);
        columns.map(|(values, data_type)| summarize(values, *data_type, rows)).collect()
    }
}

fn value_in(batch: &RecordBatch, column: usize, row: usize, data_type: DataType) -> ValueRef<'_> {
    let array = batch.column(column);
    if array.is_null(row) { ValueRef::Null } else { value_ref_at(array, row, data_type) }
}
