//! Columns of versions: when they began and ended, by the clock and by commit.
//!
//! ```text
//!   a scan gives       41              NULL       the commits
//!   row_start_commit   41              row_end_commit   NULL: it has not ended
//!   row_start          10:00:01        row_end          NULL
//! ```
//!
//! 1. Of a commit that is not told apart any more the clock says that of the next one that is
//!    ([`weft_kernel::Engine::commit_time_about`]): later by less than a second, minute or hour, never earlier.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray};
use arrow::datatypes::{DataType as ArrowType, Field, Int64Type, Schema as ArrowSchema, SchemaRef};
use weft_format::{DataType, Error, Result, Schema, Timestamp};
use weft_kernel::table::{LOCATION, Partition, Period, SINCE, ScanOutput, ScanRequest, UNTIL, scan_schema};
use weft_kernel::{Engine, TableRef};
use weft_sql::PastTable;
use weft_sql::queries::PERIOD_COLUMNS;

/// Ordinals of the columns by the clock, which no table has; those by commit are SINCE and UNTIL.
const ROW_START: usize = usize::MAX - 16;
const ROW_END: usize = usize::MAX - 17;

/// In the order of [`PERIOD_COLUMNS`].
const ORDINALS: [usize; 4] = [ROW_START, ROW_END, SINCE, UNTIL];

/// The columns of versions that a table has beside its own: one of its own hides that of its name.
pub(super) fn columns_of(table: &TableRef) -> impl Iterator<Item = (&'static str, usize)> {
    let is_able = table.versions().is_ok();
    let schema = Arc::clone(&table.def.schema);
    let is_free = move |name: &str| schema.visible().all(|(_, column)| column.name != name);
    PERIOD_COLUMNS.into_iter().zip(ORDINALS).filter(move |(name, _)| is_able && is_free(name))
}

/// The name of a column of versions.
pub(super) fn name_of(ordinal: usize) -> Option<&'static str> {
    ORDINALS.iter().position(|&own| own == ordinal).map(|at| PERIOD_COLUMNS[at])
}

/// Whether columns are among some that only versions have.
pub(super) fn names_any(projection: &[usize]) -> bool {
    projection.iter().any(|&ordinal| name_of(ordinal).is_some())
}

/// The Arrow schema of columns, stored ones and those of versions.
pub(super) fn schema(stored: &Schema, ordinals: &[usize]) -> SchemaRef {
    if !names_any(ordinals) {
        return scan_schema(stored, ordinals);
    }
    let others: Vec<usize> = ordinals.iter().copied().filter(|&ordinal| name_of(ordinal).is_none()).collect();
    debug_assert!(!others.contains(&LOCATION), "who writes reads no versions");
    let arrow = scan_schema(stored, &others);
    let mut others = arrow.fields().iter().cloned();
    let field = |&ordinal: &usize| match name_of(ordinal) {
        Some(name) => Some(Arc::new(Field::new(name, type_of(ordinal), true))),
        None => others.next(),
    };
    Arc::new(ArrowSchema::new(ordinals.iter().filter_map(field).collect::<Vec<_>>()))
}

fn type_of(ordinal: usize) -> ArrowType {
    match ordinal {
        ROW_START | ROW_END => DataType::TimestampTz.arrow(),
        _ => ArrowType::Int64,
    }
}

/// Starts a scan of versions, whose projection may have columns by the clock.
pub(super) fn scan(past: &PastTable, mut request: ScanRequest, period: Period) -> Result<ScanOutput> {
    let wanted: Arc<[usize]> = request.projection.clone().into();
    for ordinal in &mut request.projection {
        *ordinal = match *ordinal {
            ROW_START => SINCE,
            ROW_END => UNTIL,
            other => other,
        };
    }
    let mut output = past.table.scan_versions(request, period)?;
    if names_any(&wanted) {
        let timed = |inner| {
            let (wanted, engine) = (Arc::clone(&wanted), Arc::clone(&past.engine));
            Box::new(Timed { inner, wanted, engine }) as Box<dyn Partition>
        };
        output.partitions = output.partitions.into_iter().map(timed).collect();
    }
    Ok(output)
}

/// A partition whose commits get names, or become moments.
struct Timed {
    inner: Box<dyn Partition>,
    wanted: Arc<[usize]>,
    engine: Arc<Engine>,
}

impl Partition for Timed {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.inner.next()? else { return Ok(None) };
        let stored = batch.schema();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for ((&ordinal, column), field) in self.wanted.iter().zip(batch.columns()).zip(stored.fields()) {
            fields.push(match name_of(ordinal) {
                Some(name) => Arc::new(Field::new(name, type_of(ordinal), true)),
                None => Arc::clone(field),
            });
            columns.push(match ordinal {
                ROW_START | ROW_END => self.moments(column),
                _ => Arc::clone(column),
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)
            .map(Some)
            .map_err(|error| Error::internal(format!("columns of versions do not fit their schema: {error}")))
    }
}

impl Timed {
    fn moments(&self, commits: &ArrayRef) -> ArrayRef {
        // Rows that one commit wrote lie side by side.
        let mut last: Option<(i64, Option<i64>)> = None;
        let mut moment = |commit: i64| match last {
            Some((known, micros)) if known == commit => micros,
            _ => {
                let micros = self.engine.commit_time_about(Timestamp(commit.cast_unsigned()));
                last = Some((commit, micros));
                micros
            }
        };
        let commits = commits.as_primitive::<Int64Type>();
        let micros = commits.iter().map(|commit| commit.and_then(&mut moment));
        Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
    }
}
