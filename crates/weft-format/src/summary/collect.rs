//! Makes summaries: of the columns of a file while its rows go by, or of rows that are there.
//!
//! ```text
//!   a block full   which of its rows are in the sample?                             one hash per row
//!                  a copy of their values; the hash of every value into its sketch  column by column, beside encoding
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
use crate::summary::sample::Sample;
use crate::summary::sampling::{SAMPLE_ROWS_MAX, Sampling, Taken};
use crate::summary::sketch::Sketch;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

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
        let counted =
            |&data_type: &DataType| Counted { collected: Collected::of(data_type), stats: ColumnStats::empty() };
        Counter { sampling: Sampling::new(COUNTER_ROWS_MAX), columns: types.iter().map(counted).collect() }
    }

    /// The next row, whose value of a column the function tells.
    pub fn push<'a>(&mut self, value: impl Fn(usize) -> ValueRef<'a>) {
        let Taken { stays, rows } = self.sampling.next(1);
        for (ordinal, Counted { collected, stats }) in self.columns.iter_mut().enumerate() {
            let value = value(ordinal);
            stats.row_count += 1;
            collected.bytes += width_of(value, collected.data_type);
            if value.is_null() {
                stats.null_count += 1;
            } else if !is_document(collected.data_type) {
                collected.sketch.insert(hash_value(value));
            }
            if let Some(stays) = &stays {
                collected.sample.thin(stays);
            }
            if !rows.is_empty() {
                collected.sample.push(value);
            }
            if collected.sample.is_ordered() && !value.is_null() {
                if stats.min.is_null() || value.compare(stats.min.as_ref()).is_lt() {
                    stats.min = cut(value);
                }
                if stats.max.is_null() || value.compare(stats.max.as_ref()).is_gt() {
                    stats.max = cut(value);
                }
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
    /// Of the rows that wait.
    taken: Taken,
    columns: Vec<Collected>,
}

struct Collected {
    data_type: DataType,
    sample: Sample,
    sketch: Sketch,
    bytes: u64,
}

impl Collector {
    /// Of the stored columns of a schema.
    pub fn new(schema: &Schema) -> Collector {
        let columns = schema.columns.iter().map(|column| Collected::of(column.data_type)).collect();
        Collector { sampling: Sampling::new(SAMPLE_ROWS_MAX), taken: Taken::default(), columns }
    }

    /// Rows that wait in builders, so many: each column is told of by [`Collector::block`] next.
    pub(crate) fn rows(&mut self, count: usize) {
        self.taken = self.sampling.next(count);
    }

    /// A block of a column, before it is encoded.
    pub(crate) fn block(&mut self, ordinal: usize, block: &BlockBuilder) {
        let column = &mut self.columns[ordinal];
        if let Some(stays) = &self.taken.stays {
            column.sample.thin(stays);
        }
        if column.sample.is_ordered() {
            block.each_of(&self.taken.rows, |value| column.sample.push(value));
        }
        column.bytes += block.value_bytes();
        if !is_document(column.data_type) {
            column.sketch.insert_all(block);
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
    fn of(data_type: DataType) -> Collected {
        Collected { data_type, sample: Sample::of(data_type), sketch: Sketch::default(), bytes: 0 }
    }

    fn finish(self, stats: &ColumnStats, max: usize) -> ColumnSummary {
        let (rows, nulls) = (stats.row_count, stats.null_count);
        let is_ordered = self.sample.is_ordered();
        let sample = self.sample.sorted();
        let ends = (is_ordered && nulls < rows).then(|| {
            // A text without an upper bound: the greatest that was seen.
            let high = if stats.max.is_null() { sample.last() } else { Some(&stats.max) };
            Some((cut(stats.min.as_ref()), cut(high?.as_ref())))
        });
        let distinct = if is_document(self.data_type) { f64::INFINITY } else { self.sketch.count() };
        let common = of_sample(&sample, rows - nulls, distinct, max);
        let histogram = Histogram::of_sample(&sample, ends.flatten(), max);
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
    let mut collected = Collected::of(data_type);
    if !value.is_null() {
        collected.sketch.insert(hash_value(value));
    }
    collected.sample.push(value);
    let nulls = if value.is_null() { rows } else { 0 };
    let stats =
        ColumnStats { min: cut(value), max: cut(value), null_count: nulls, row_count: rows, ..ColumnStats::empty() };
    collected.bytes = width_of(value, data_type).saturating_mul(rows);
    collected.finish(&stats, UNION_MAX)
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
    if Sample::of(data_type).is_ordered() {
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
