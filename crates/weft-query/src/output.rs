//! Result batches in exactly the Arrow types of their columns.
//!
//! ```text
//!   plan ends in   UInt64   Utf8      Duration(86,400 s)       Timestamp(ns)
//!   batch has      Int64    Utf8View  Interval(1 day)          Timestamp(us)
//! ```

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, RecordBatch, RecordBatchOptions, StringViewBuilder,
    new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType as ArrowType, DurationMicrosecondType, IntervalDayTimeType, IntervalUnit, IntervalYearMonthType, Schema,
    SchemaRef, TimeUnit,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use weft_format::Interval;
use weft_format::interval::DAY_MICROS;
use weft_sql::OutputColumn;

use super::types::field_of;

/// Converts the batches of one plan.
pub(crate) struct Converter {
    schema: SchemaRef,
    exact: bool,
}

impl Converter {
    /// A converter from a plan's schema to the types of the columns.
    pub(crate) fn new(columns: &[OutputColumn], plan: &Schema) -> Converter {
        let fields = columns.iter().map(|column| field_of(&column.name, column.data_type));
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
        ArrowType::Interval(_) | ArrowType::Duration(_) if matches!(to, ArrowType::Interval(_)) => intervals(array),
        from if *to == ArrowType::Utf8View && !is_text(from) => display_text(array),
        _ => cast_with_options(array, to, &CastOptions { safe: false, format_options: FormatOptions::default() }),
    }
}

fn is_text(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => true,
        ArrowType::LargeBinary => true,
        ArrowType::Binary => true,
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

/// Intervals and durations in months, days and nanoseconds.
fn intervals(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let micros = match array.data_type() {
        ArrowType::Duration(_) => {
            let to = ArrowType::Duration(TimeUnit::Microsecond);
            Some(cast_with_options(array, &to, &CastOptions { safe: false, ..CastOptions::default() })?)
        }
        _ => None,
    };
    let one = |row: usize| match array.data_type() {
        _ if array.is_null(row) => None,
        ArrowType::Interval(IntervalUnit::YearMonth) => {
            Some(Interval::new(array.as_primitive::<IntervalYearMonthType>().value(row), 0, 0))
        }
        ArrowType::Interval(IntervalUnit::DayTime) => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            Some(Interval::new(0, value.days, i64::from(value.milliseconds) * 1000))
        }
        _ => {
            let all = micros.as_ref().map_or(0, |m| m.as_primitive::<DurationMicrosecondType>().value(row));
            Some(Interval::new(0, (all / DAY_MICROS) as i32, all % DAY_MICROS))
        }
    };
    let values: IntervalMonthDayNanoArray = (0..array.len()).map(|row| one(row).map(Interval::to_arrow)).collect();
    Ok(Arc::new(values))
}
