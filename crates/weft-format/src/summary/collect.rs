//! Makes summaries: of the columns of a file while its rows go by, or of rows that are there.
//!
//! ```text
//!   push a row     is it in the sample? then a copy of each column's value          one hash per row
//!   a block full   the hash of every value into the column's sketch                 beside its encoding
//!   finish         sample sorted: common values, histogram; with the exact counts of the blocks
//! ```
//!
//! Json, jsonb and jsonpath have NULLs and widths alone; arrays a number of values, too.

use crate::bloom::hash_value;
use crate::encoding::BlockBuilder;
use crate::schema::Schema;
use crate::stats::ColumnStats;
use crate::summary::UNION_MAX;
use crate::summary::column::{ColumnSummary, Distinct};
use crate::summary::frequent::{compare, of_sample, runs};
use crate::summary::histogram::{Histogram, cut};
use crate::summary::sampling::{SAMPLE_ROWS_MAX, Sampling};
use crate::summary::sketch::Sketch;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

/// Whether values of a type have an order that people ask for, and may be common.
fn is_ordered(data_type: DataType) -> bool {
    !is_document(data_type) && !matches!(data_type, DataType::Array(_))
}

fn is_document(data_type: DataType) -> bool {
    matches!(data_type, DataType::Json | DataType::Jsonb | DataType::JsonPath)
}

/// Counts rows that are read, all of a table.
pub struct Counter {
    sampling: Sampling,
    columns: Vec<Counted>,
}

struct Counted {
    collected: Collected,
    stats: ColumnStats,
}

/// Rows at which half of those go that a counter has kept.
const COUNTER_ROWS_MAX: usize = 16_384;

impl Counter {
    /// Of columns of these types.
    pub fn new(types: &[DataType]) -> Counter {
        let counted = |&data_type: &DataType| Counted {
            collected: Collected { data_type, sample: Vec::new(), sketch: Sketch::default(), bytes: 0 },
            stats: ColumnStats::empty(),
        };
        Counter { sampling: Sampling::new(COUNTER_ROWS_MAX), columns: types.iter().map(counted).collect() }
    }

    /// The next row, whose value of a column the function tells.
    pub fn push<'a>(&mut self, value: impl Fn(usize) -> ValueRef<'a>) {
        let is_taken = self.sampling.take_next();
        for (ordinal, Counted { collected, stats }) in self.columns.iter_mut().enumerate() {
            let value = value(ordinal);
            stats.row_count += 1;
            collected.bytes += width_of(value, collected.data_type);
            if value.is_null() {
                stats.null_count += 1;
            } else if !is_document(collected.data_type) {
                collected.sketch.insert(hash_value(value));
            }
            if !is_ordered(collected.data_type) {
                continue;
            }
            if is_taken {
                collected.sample.push(cut(value));
            }
            if !value.is_null() {
                if stats.min.is_null() || value.compare(stats.min.as_ref()).is_lt() {
                    stats.min = cut(value);
                }
                if stats.max.is_null() || value.compare(stats.max.as_ref()).is_gt() {
                    stats.max = cut(value);
                }
            }
        }
        if let Some(stays) = self.sampling.thinned() {
            for column in self.columns.iter_mut().filter(|column| is_ordered(column.collected.data_type)) {
                let mut stays = stays.iter();
                column.collected.sample.retain(|_| *stays.next().unwrap_or(&true));
            }
        }
    }

    /// The summaries.
    pub fn finish(self) -> Vec<ColumnSummary> {
        let finished = |Counted { collected, stats }: Counted| collected.finish(&stats, UNION_MAX);
        self.columns.into_iter().map(finished).collect()
    }
}

/// Collects the rows of one file.
pub struct Collector {
    sampling: Sampling,
    columns: Vec<Collected>,
}

struct Collected {
    data_type: DataType,
    sample: Vec<Value>,
    sketch: Sketch,
    bytes: u64,
}

impl Collector {
    /// Of the stored columns of a schema.
    pub fn new(schema: &Schema) -> Collector {
        let collected = |column: &crate::schema::Column| Collected {
            data_type: column.data_type,
            sample: Vec::new(),
            sketch: Sketch::default(),
            bytes: 0,
        };
        Collector { sampling: Sampling::new(SAMPLE_ROWS_MAX), columns: schema.columns.iter().map(collected).collect() }
    }

    /// The next row, whose value of a column the function tells.
    #[inline]
    pub fn push<'a>(&mut self, value: impl Fn(usize) -> ValueRef<'a>) {
        if self.sampling.take_next() {
            self.keep(value);
        }
    }

    fn keep<'a>(&mut self, value: impl Fn(usize) -> ValueRef<'a>) {
        for (ordinal, column) in self.columns.iter_mut().enumerate().filter(|(_, column)| is_ordered(column.data_type))
        {
            column.sample.push(cut(value(ordinal)));
        }
        if let Some(stays) = self.sampling.thinned() {
            for column in self.columns.iter_mut().filter(|column| is_ordered(column.data_type)) {
                let mut stays = stays.iter();
                column.sample.retain(|_| *stays.next().unwrap_or(&true));
            }
        }
    }

    /// A block of a column, before it is encoded.
    pub(crate) fn block(&mut self, ordinal: usize, block: &BlockBuilder) {
        let column = &mut self.columns[ordinal];
        column.bytes += block.value_bytes();
        if !is_document(column.data_type) {
            block.each_hash(|hash| column.sketch.insert(hash));
        }
    }

    /// The summaries, given the statistics of each column over all rows.
    pub(crate) fn finish<'a>(self, stats: impl Iterator<Item = &'a ColumnStats>) -> Vec<ColumnSummary> {
        self.columns
            .into_iter()
            .zip(stats)
            .map(|(column, stats)| column.finish(stats, ColumnSummary::size_for(stats.row_count)))
            .collect()
    }
}

impl Collected {
    fn finish(mut self, stats: &ColumnStats, max: usize) -> ColumnSummary {
        let (rows, nulls) = (stats.row_count, stats.null_count);
        self.sample.retain(|value| !value.is_null());
        self.sample.sort_by(compare);
        let ends = (is_ordered(self.data_type) && nulls < rows).then(|| {
            // A text without an upper bound: the greatest that was seen.
            let high = if stats.max.is_null() { self.sample.last() } else { Some(&stats.max) };
            Some((cut(stats.min.as_ref()), cut(high?.as_ref())))
        });
        let distinct = if is_document(self.data_type) { f64::INFINITY } else { self.sketch.count() };
        let common = of_sample(&self.sample, rows - nulls, distinct, max);
        let histogram = Histogram::of_sample(&self.sample, ends.flatten(), max);
        let is_known = !is_document(self.data_type);
        let distinct = if is_known { Distinct::Sketched(self.sketch) } else { Distinct::Unknown };
        let mut summary = ColumnSummary { rows, nulls, bytes: self.bytes, distinct, common, histogram };
        summary.limit_common();
        summary
    }
}

/// The summary of rows that all have one value.
pub fn constant(value: ValueRef<'_>, data_type: DataType, rows: u64) -> ColumnSummary {
    assert!(rows > 0, "a summary of no rows says nothing");
    let mut sketch = Sketch::default();
    if !value.is_null() {
        sketch.insert(hash_value(value));
    }
    let sample = if is_ordered(data_type) { vec![cut(value)] } else { Vec::new() };
    let nulls = if value.is_null() { rows } else { 0 };
    let stats =
        ColumnStats { min: cut(value), max: cut(value), null_count: nulls, row_count: rows, ..ColumnStats::empty() };
    let bytes = width_of(value, data_type).saturating_mul(rows);
    Collected { data_type, sample, sketch, bytes }.finish(&stats, UNION_MAX)
}

/// The summary of a column of `rows` rows, some of which are given: all of them, or a sample.
pub fn summarize(values: Vec<Value>, data_type: DataType, rows: u64) -> ColumnSummary {
    let seen = values.len() as u64;
    let rows = rows.max(seen);
    let times = rows as f64 / seen.max(1) as f64;
    let scaled = |count: u64| ((count as f64 * times) as u64).min(rows);
    let width = |value: &Value| width_of(value.as_ref(), data_type);
    let bytes = scaled_sum(values.iter().map(width).sum(), times);
    let nulls = scaled(values.iter().filter(|value| value.is_null()).count() as u64);
    let present = rows - nulls;
    let is_known = !is_document(data_type);
    let mut sample: Vec<Value> = values.into_iter().filter(|value| is_known && !value.is_null()).collect();
    sample.sort_by(compare);
    let lengths: Vec<usize> = runs(&sample).map(|(_, len)| len).collect();
    let distinct = match is_known {
        true => Distinct::About(distinct_of(&lengths, sample.len() as f64, present as f64)),
        false => Distinct::Unknown,
    };
    let mut summary =
        ColumnSummary { rows, nulls, bytes, distinct, common: Vec::new(), histogram: Histogram::default() };
    if is_ordered(data_type) {
        let max = UNION_MAX;
        let sample: Vec<Value> = sample.iter().map(|value| cut(value.as_ref())).collect();
        summary.common = of_sample(&sample, present, summary.distinct().unwrap_or(f64::INFINITY), max);
        summary.histogram = Histogram::of_sample(&sample, None, max);
        summary.limit_common();
    }
    summary
}

fn scaled_sum(sum: u64, times: f64) -> u64 {
    (sum as f64 * times) as u64
}

/// The bytes of a value, a text's length byte included; NULL has none.
fn width_of(value: ValueRef<'_>, data_type: DataType) -> u64 {
    match (value, value.as_bytes()) {
        (ValueRef::Null, _) => 0,
        (_, Some(bytes)) => bytes.len() as u64 + 1,
        _ => crate::encoding::Kind::of(data_type).width().max(1) as u64,
    }
}

/// How many values all rows have, of which a sample has runs of these lengths (Haas and Stokes' `Duj1`, as PostgreSQL
/// has it).
fn distinct_of(lengths: &[usize], sampled: f64, rows: f64) -> f64 {
    let found = lengths.len() as f64;
    if sampled == 0.0 || sampled >= rows {
        return found;
    }
    let once = lengths.iter().filter(|&&len| len == 1).count() as f64;
    (sampled * found / (sampled - once + once * sampled / rows)).clamp(found, rows)
}
