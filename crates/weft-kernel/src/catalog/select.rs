//! Scans that an index answers: few rows of many, found by their values.
//!
//! ```text
//!   WHERE a = 7 AND b IN (1, 2) AND c > 3     index (a, b)    stretches  (7, 1) (7, 2)     c > 3 is tested on the rows
//!   WHERE a >= 7 AND a < 9                    index (a, b)    stretch    [7 .. 9)
//! ```
//!
//! 1. Every row that the snapshot shows and that satisfies the predicates has an entry in the stretches; each candidate
//!    is read as of the snapshot and tested again, so outdated entries do no harm.
//! 2. Who finds more candidates than are worth reading one by one gives up, and the table is scanned.
//! 3. Of an index on an expression the stretches come from what the caller says that it tests itself; rows of the
//!    answer that are not in them it would have left out.
//! 4. A partial index is used when the predicates imply its own: then every row of the answer is in it.

use std::cmp::Reverse;
use std::ops::Bound;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::DataType as ArrowType;
use weft_contract::{
    ExprTest, FieldTest, LOCATION, Partition, Period, ScanField, ScanMetrics, ScanOutput, ScanRequest, Versions,
    scan_schema,
};
use weft_format::predicate::all_implied;
use weft_format::row_arrays::column_of_rows;
use weft_format::{Code, CompareOp, Error, Predicate, Result, Timestamp, Value};

use super::fields::{take_fields, with_documents};
use super::table_ref::TableRef;
use crate::index::{ColumnIndex, Direction, Index, IndexPart};

/// The most candidates that are read one by one, whatever the table's size.
const CANDIDATES_MAX: u64 = 2000;
/// At least so many are.
const CANDIDATES_MIN: u64 = 64;
/// One in so many rows of a table may be.
const ROWS_PER_CANDIDATE: u64 = 256;
/// More stretches are not looked up.
const STRETCHES_MAX: usize = 256;

/// A stretch of an index: prefixes of values.
type Stretch = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// How an index can serve some predicates.
struct Use {
    /// Columns that are equal to constants, then whether lists or ranges follow.
    score: (usize, usize, usize),
    stretches: Vec<Stretch>,
}

impl TableRef {
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

    /// As [`TableRef::scan_known`], with fields of documents behind the columns of the projection.
    pub fn scan_fields(&self, request: ScanRequest, fields: Vec<ScanField>, known: &[ExprTest]) -> Result<ScanOutput> {
        self.scan_fields_where(request, fields, Vec::new(), known)
    }

    /// As [`TableRef::scan_fields`], of which the caller wants only the rows whose fields satisfy `tests`. It tests
    /// them itself: the scan may return others.
    pub fn scan_fields_where(
        &self,
        request: ScanRequest,
        fields: Vec<ScanField>,
        tests: Vec<FieldTest>,
        known: &[ExprTest],
    ) -> Result<ScanOutput> {
        if let Some(reads) = &request.view.reads {
            let columns = fields.iter().map(|field| field.column);
            let read: Vec<usize> = request.projection.iter().copied().chain(columns).collect();
            reads.note_scan(self.def.id, &request.predicates, &read);
        }
        let with_documents = with_documents(&request, &fields);
        if let Some(output) = scan_by_index(self, &with_documents, known)? {
            return Ok(take_fields(output, &self.def.schema, &request.projection, fields));
        }
        match self.table.fields() {
            Some(able) => able.scan_fields(&self.def.schema, request, fields, tests),
            None => {
                let output = self.table.scan(&self.def.schema, with_documents)?;
                Ok(take_fields(output, &self.def.schema, &request.projection, fields))
            }
        }
    }

    /// As [`TableRef::scan_fields`], by a column index that has all that is asked for: none where there is none, where
    /// the snapshot may not use it, and where the transaction has written to the table. The same rows, in another
    /// order.
    pub fn scan_columns(&self, request: &ScanRequest, fields: &[ScanField]) -> Result<Option<ScanOutput>> {
        let view = &request.view;
        if view.own.as_ref().is_some_and(|own| !own.is_empty()) {
            return Ok(None);
        }
        let Some(index) = self.covering_columns(view.read_ts, request, fields) else { return Ok(None) };
        if let Some(reads) = &view.reads {
            let columns = fields.iter().map(|field| field.column);
            let read: Vec<usize> = request.projection.iter().copied().chain(columns).collect();
            reads.note_scan(self.def.id, &request.predicates, &read);
        }
        let mut request = request.clone();
        request.view.own = None;
        match index.scan(&self.def.schema, request, fields.to_vec()) {
            Ok(output) => Ok(Some(output)),
            // It was given up meanwhile, or a follower's files have gone on: the table tells.
            Err(_) if !index.is_usable(view.read_ts) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The column index that a snapshot may use and that has all that is asked for, with the fewest columns.
    pub fn covering_columns(
        &self,
        read_ts: Timestamp,
        request: &ScanRequest,
        fields: &[ScanField],
    ) -> Option<Arc<ColumnIndex>> {
        let all = self.column_indexes();
        let indexes = all.iter().filter_map(|columns| columns.index.as_ref());
        let covers = |index: &&Arc<ColumnIndex>| index.covers(&request.projection, fields, &request.predicates);
        let usable = indexes.filter(covers).filter(|index| index.is_usable(read_ts));
        usable.min_by_key(|index| (index.columns().len(), index.id())).cloned()
    }

    /// The ability to give out versions.
    ///
    /// # Errors
    /// [`Code::FeatureNotSupported`] of a method that has it not.
    pub fn versions(&self) -> Result<&dyn Versions> {
        self.table.versions().ok_or_else(|| {
            let (name, method) = (&self.def.name, &self.def.method);
            let message = format!("table \"{name}\" keeps no versions of its rows: its method is {method}");
            let hint = "make the table USING lineage; AS OF reads what is kept of others";
            Error::new(Code::FeatureNotSupported, message).hint(hint)
        })
    }

    /// Starts a scan of versions ([`Versions::scan_versions`]), and notes it as one of all rows: each change of one
    /// ends a version.
    pub fn scan_versions(&self, request: ScanRequest, period: Period) -> Result<ScanOutput> {
        let versions = self.versions()?;
        if let Some(reads) = &request.view.reads {
            let all: Vec<usize> = (0..self.def.schema.columns.len()).collect();
            reads.note_scan(self.def.id, &[], &all);
        }
        versions.scan_versions(&self.def.schema, request, period)
    }
}

/// Answers a scan by an index; none when no index helps.
pub(super) fn scan_by_index(t: &TableRef, request: &ScanRequest, known: &[ExprTest]) -> Result<Option<ScanOutput>> {
    let view = &request.view;
    if (request.predicates.is_empty() && known.is_empty())
        || view.own.as_ref().is_some_and(|own| !own.attachments.is_empty())
    {
        return Ok(None);
    }
    let indexes = t.indexes();
    let usable = indexes.iter().map(|index| &*index.index).filter(|index| index.is_usable(view.read_ts));
    let best = usable.filter_map(|index| Some((index, plan(index, &request.predicates, known)?)));
    let Some((index, plan)) = best.max_by_key(|(index, plan)| (plan.score, Reverse(index.id()))) else {
        return Ok(None);
    };
    let row_count = t.table.statistics().row_count;
    let limit = (row_count / ROWS_PER_CANDIDATE).clamp(CANDIDATES_MIN, CANDIDATES_MAX) as usize;
    let Some(mut keys) = candidates(index, &plan.stretches, limit)? else { return Ok(None) };
    if !index.store().shows(view.read_ts) {
        return Ok(None);
    }
    keys.sort_unstable();
    keys.dedup();
    let matches = |row: &[u8]| request.predicates.iter().all(|p| p.matches(t.codec.get(row, p.column())));
    let mut rows: Vec<Arc<[u8]>> = Vec::with_capacity(keys.len());
    for key in keys {
        if view.own.as_ref().is_some_and(|own| own.rows.contains_key(&key[..])) {
            continue;
        }
        rows.extend(t.table.read_row(&key, view.read_ts)?.filter(|row| matches(row)));
    }
    if let Some(own) = &view.own {
        rows.extend(own.rows.values().filter_map(|staged| staged.row.clone()).filter(|row| matches(row)));
    }
    output(t, request, &rows, &index.name()).map(Some)
}

/// The keys of the entries in some stretches; none when there are more than `limit`.
fn candidates(index: &Index, stretches: &[Stretch], limit: usize) -> Result<Option<Vec<Vec<u8>>>> {
    let mut keys = Vec::new();
    for (low, high) in stretches {
        let mut cursor = index.store().scan(
            low.as_ref().map(Vec::as_slice),
            high.as_ref().map(Vec::as_slice),
            Direction::Forward,
        )?;
        while let Some(entry) = cursor.next()? {
            if keys.len() == limit {
                return Ok(None);
            }
            keys.push(entry.key.to_vec());
        }
    }
    Ok(Some(keys))
}

/// How an index serves predicates; none when its first column is not among them (of a partial index all entries are of
/// use), or when they do not say that it has all the rows (select 4).
fn plan(index: &Index, predicates: &[Predicate], known: &[ExprTest]) -> Option<Use> {
    if !all_implied(predicates, index.predicate()) {
        return None;
    }
    let mut prefix: Vec<Value> = Vec::new();
    for part in index.parts() {
        let of_column = || {
            let own = predicates.iter().filter(move |predicate| *part == IndexPart::Column(predicate.column()));
            let is_of = move |test: &&ExprTest| matches!(part, IndexPart::Expression(expr) if **expr == test.expr);
            own.chain(known.iter().filter(is_of).map(|test| &test.predicate))
        };
        let equal = of_column().find_map(|predicate| match predicate {
            Predicate::Compare { op: CompareOp::Eq, value, .. } => Some(value.clone()),
            Predicate::IsNull { .. } => Some(Value::Null),
            _ => None,
        });
        if let Some(value) = equal {
            prefix.push(value);
            continue;
        }
        let list = of_column().find_map(|predicate| match predicate {
            Predicate::In { values, .. } if values.len() <= STRETCHES_MAX => Some(values),
            _ => None,
        });
        if let Some(values) = list {
            let values = values.iter().filter(|value| !value.is_null());
            let stretch = |value: &Value| point(index, &[&prefix[..], std::slice::from_ref(value)].concat());
            return Some(Use { score: (prefix.len(), 1, 0), stretches: values.map(stretch).collect::<Option<_>>()? });
        }
        let (low, high) = range(index, &prefix, of_column())?;
        if low.is_some() || high.is_some() {
            let (whole_low, whole_high) = not_null(index, &prefix)?;
            let stretches = vec![(low.unwrap_or(whole_low), high.unwrap_or(whole_high))];
            return Some(Use { score: (prefix.len(), 0, 1), stretches });
        }
        break;
    }
    let score = (prefix.len(), 0, usize::from(index.is_unique() && prefix.len() == index.columns().len()));
    match (prefix.is_empty(), index.is_partial()) {
        (true, false) => None,
        (true, true) => Some(Use { score, stretches: vec![(Bound::Unbounded, Bound::Unbounded)] }),
        (false, _) => Some(Use { score, stretches: vec![point(index, &prefix)?] }),
    }
}

fn point(index: &Index, prefix: &[Value]) -> Option<Stretch> {
    let bytes = index.prefix(prefix)?;
    Some((Bound::Included(bytes.clone()), Bound::Included(bytes)))
}

/// All values that begin with the prefix and go on with something that is not NULL.
fn not_null(index: &Index, prefix: &[Value]) -> Option<Stretch> {
    let prefix = index.prefix(prefix)?;
    let bytes = |tag| [&prefix[..], &[tag]].concat();
    Some((Bound::Included(bytes(1)), Bound::Excluded(bytes(2))))
}

/// Bounds of bytes below and above; none where nothing bounds.
type Limits = (Option<Bound<Vec<u8>>>, Option<Bound<Vec<u8>>>);

/// The bounds that comparisons of one column put behind a prefix; the narrowest of each side.
fn range<'a>(index: &Index, prefix: &[Value], predicates: impl Iterator<Item = &'a Predicate>) -> Option<Limits> {
    let (mut low, mut high): Limits = (None, None);
    for predicate in predicates {
        let Predicate::Compare { op, value, .. } = predicate else { continue };
        if value.is_null() {
            continue;
        }
        let bytes = index.prefix(&[prefix, std::slice::from_ref(value)].concat())?;
        match op {
            CompareOp::Gt | CompareOp::GtEq => {
                let bound = if *op == CompareOp::Gt { Bound::Excluded(bytes) } else { Bound::Included(bytes) };
                if low.as_ref().is_none_or(|present| bytes_of(present) < bytes_of(&bound)) {
                    low = Some(bound);
                }
            }
            CompareOp::Lt | CompareOp::LtEq => {
                let bound = if *op == CompareOp::Lt { Bound::Excluded(bytes) } else { Bound::Included(bytes) };
                if high.as_ref().is_none_or(|present| bytes_of(present) > bytes_of(&bound)) {
                    high = Some(bound);
                }
            }
            CompareOp::Eq | CompareOp::NotEq => {}
        }
    }
    Some((low, high))
}

fn bytes_of(bound: &Bound<Vec<u8>>) -> &[u8] {
    match bound {
        Bound::Included(bytes) | Bound::Excluded(bytes) => bytes,
        Bound::Unbounded => &[],
    }
}

/// Rows as the partitions of a scan, all in the first.
fn output(t: &TableRef, request: &ScanRequest, rows: &[Arc<[u8]>], name: &str) -> Result<ScanOutput> {
    let schema = scan_schema(&t.def.schema, &request.projection);
    let mut batches = Vec::new();
    for rows in rows.chunks(request.batch_rows.max(1)) {
        let columns: Vec<ArrayRef> = request
            .projection
            .iter()
            .map(|&ordinal| {
                if ordinal == LOCATION {
                    return new_null_array(&ArrowType::Int64, rows.len());
                }
                let data_type = t.def.schema.columns[ordinal].data_type;
                column_of_rows(&t.codec, data_type, ordinal, rows.iter().map(|row| &row[..]))
            })
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(schema.clone(), columns, &options);
        batches.push(batch.map_err(|error| Error::internal(format!("rows found by index {name:?}: {error}")))?);
    }
    let metrics = Arc::new(ScanMetrics::default());
    metrics.rows.store(rows.len() as u64, std::sync::atomic::Ordering::Relaxed);
    *metrics.index.lock() = Some(name.to_owned());
    let mut partitions: Vec<Box<dyn Partition>> = vec![Box::new(Batches(batches.into_iter()))];
    partitions.resize_with(request.partition_count.max(1), || Box::new(Batches(Vec::new().into_iter())));
    Ok(ScanOutput { partitions, metrics })
}

struct Batches(std::vec::IntoIter<RecordBatch>);

impl Partition for Batches {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        Ok(self.0.next())
    }
}
