//! Result batches in exactly the Arrow types of their columns.
//!
//! ```text
//!   plan ends in   UInt64   Utf8      Interval(1 mon 2 days)   Timestamp(ns)
//!   batch has      Int64    Utf8View  '1 mon 2 days'           Timestamp(us)
//! ```

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewBuilder, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType as ArrowType, DurationMicrosecondType, Field, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit,
    IntervalYearMonthType, Schema, SchemaRef, TimeUnit,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::outcome::OutputColumn;

/// Converts the batches of one plan.
pub(crate) struct Converter {
    schema: SchemaRef,
    exact: bool,
}

impl Converter {
    /// A converter from a plan's schema to the types of the columns.
    pub(crate) fn new(columns: &[OutputColumn], plan: &Schema) -> Converter {
        let fields = columns.iter().map(|column| Field::new(&column.name, column.data_type.arrow(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let exact = plan.fields().iter().zip(schema.fields()).all(|(from, to)| from.data_type() == to.data_type());
        Converter { schema: Arc::new(schema), exact }
    }

    /// The schema of converted batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// One batch.
    pub(crate) fn convert(&self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = if self.exact {
            batch.columns().to_vec()
        } else {
            let pairs = batch.columns().iter().zip(self.schema.fields());
            pairs.map(|(array, field)| convert_array(array, field.data_type())).collect::<Result<_, _>>()?
        };
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

/// Casts an array, failing where a value does not fit.
pub(crate) fn convert_array(array: &ArrayRef, to: &ArrowType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    match array.data_type() {
        ArrowType::Null => Ok(new_null_array(to, array.len())),
        ArrowType::Interval(_) | ArrowType::Duration(_) if *to == ArrowType::Utf8View => interval_text(array),
        from if *to == ArrowType::Utf8View && !is_text(from) => display_text(array),
        _ => cast_with_options(array, to, &CastOptions { safe: false, format_options: FormatOptions::default() }),
    }
}

fn is_text(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => true,
        ArrowType::Dictionary(_, value) => is_text(value),
        _ => false,
    }
}

fn display_text(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let mut builder = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        match array.is_null(row) {
            true => builder.append_null(),
            false => builder.append_value(formatter.value(row).try_to_string()?),
        }
    }
    Ok(Arc::new(builder.finish()))
}

fn interval_text(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let micros = match array.data_type() {
        ArrowType::Duration(_) => {
            let to = ArrowType::Duration(TimeUnit::Microsecond);
            Some(cast_with_options(array, &to, &CastOptions { safe: false, ..CastOptions::default() })?)
        }
        _ => None,
    };
    let mut builder = StringViewBuilder::with_capacity(array.len());
    for row in 0..array.len() {
        if array.is_null(row) {
            builder.append_null();
            continue;
        }
        let (months, days, micros) = match array.data_type() {
            ArrowType::Interval(IntervalUnit::YearMonth) => {
                (array.as_primitive::<IntervalYearMonthType>().value(row), 0, 0)
            }
            ArrowType::Interval(IntervalUnit::DayTime) => {
                let value = array.as_primitive::<IntervalDayTimeType>().value(row);
                (0, value.days, i64::from(value.milliseconds) * 1000)
            }
            ArrowType::Interval(IntervalUnit::MonthDayNano) => {
                let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
                (value.months, value.days, value.nanoseconds / 1000)
            }
            _ => {
                let all = micros.as_ref().map_or(0, |m| m.as_primitive::<DurationMicrosecondType>().value(row));
                (0, (all / 86_400_000_000) as i32, all % 86_400_000_000)
            }
        };
        builder.append_value(interval(months, days, micros));
    }
    Ok(Arc::new(builder.finish()))
}

/// PostgreSQL's output of an interval: `1 year 2 mons 3 days 04:05:06.5`.
pub(crate) fn interval(months: i32, days: i32, micros: i64) -> String {
    let mut out = String::new();
    let mut part = |count: i32, unit: &str| {
        if count != 0 {
            let space = if out.is_empty() { "" } else { " " };
            let plural = if count == 1 { "" } else { "s" };
            let _ = write!(out, "{space}{count} {unit}{plural}");
        }
    };
    part(months / 12, "year");
    part(months % 12, "mon");
    part(days, "day");
    if micros != 0 || out.is_empty() {
        let space = if out.is_empty() { "" } else { " " };
        let sign = if micros < 0 { "-" } else { "" };
        let all = micros.unsigned_abs();
        let seconds = all / 1_000_000;
        let (h, m, s, fraction) = (seconds / 3600, seconds / 60 % 60, seconds % 60, all % 1_000_000);
        let _ = write!(out, "{space}{sign}{h:02}:{m:02}:{s:02}");
        if fraction != 0 {
            let digits = format!("{fraction:06}");
            let _ = write!(out, ".{}", digits.trim_end_matches('0'));
        }
    }
    out
}
