//! Columns of encoded rows as Arrow arrays.
//!
//! ```text
//!   rows (7, 'hi'), (8, NULL)    column 1    ▶    StringViewArray ["hi", NULL]
//! ```

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::row::RowCodec;
use crate::schema::Schema;
use crate::types::DataType;
use crate::value::ValueRef;
use arrow_array::builder::{BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, RecordBatch};

/// What rows have in a column that they do not have, `count` times.
pub fn missing_column(codec: &RowCodec, data_type: DataType, ordinal: usize, count: usize) -> ArrayRef {
    const NO_COLUMNS: &[u8] = &[0, 0];
    column_of_rows(codec, data_type, ordinal, std::iter::repeat_n(NO_COLUMNS, count))
}

/// One column of some rows, in the Arrow type of its logical type.
pub fn column_of_rows<'a>(
    codec: &RowCodec,
    data_type: DataType,
    ordinal: usize,
    rows: impl ExactSizeIterator<Item = &'a [u8]>,
) -> ArrayRef {
    let count = rows.len();
    let values = rows.map(|row| codec.get(row, ordinal));
    match data_type {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(count);
            for value in values {
                builder.append_option(match value {
                    ValueRef::Bool(v) => Some(v),
                    _ => None,
                });
            }
            Arc::new(builder.finish())
        }
        DataType::SmallInt => primitive::<Int16Type>(data_type, count, values.map(|v| int(v).map(|v| v as i16))),
        DataType::Integer => primitive::<Int32Type>(data_type, count, values.map(|v| int(v).map(|v| v as i32))),
        DataType::Date => primitive::<Date32Type>(data_type, count, values.map(|v| int(v).map(|v| v as i32))),
        DataType::BigInt => primitive::<Int64Type>(data_type, count, values.map(int)),
        DataType::Timestamp | DataType::TimestampTz => {
            primitive::<TimestampMicrosecondType>(data_type, count, values.map(int))
        }
        DataType::Real => primitive::<Float32Type>(data_type, count, values.map(|v| float(v).map(|v| v as f32))),
        DataType::DoublePrecision => primitive::<Float64Type>(data_type, count, values.map(float)),
        DataType::Numeric { .. } => {
            let decimals = values.map(|value| match value {
                ValueRef::Decimal(v) => Some(v),
                _ => None,
            });
            primitive::<Decimal128Type>(data_type, count, decimals)
        }
        DataType::Text | DataType::Varchar(_) => {
            let mut builder = StringViewBuilder::with_capacity(count);
            for value in values {
                match value {
                    ValueRef::Text(text) => builder.append_value(text),
                    _ => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(
    data_type: DataType,
    count: usize,
    values: impl Iterator<Item = Option<T::Native>>,
) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(count).with_data_type(data_type.arrow());
    for value in values {
        builder.append_option(value);
    }
    Arc::new(builder.finish())
}

fn int(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Int(v) => Some(v),
        _ => None,
    }
}

fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Float(v) => Some(v),
        _ => None,
    }
}

/// Encoded rows as a batch of all stored columns.
pub fn rows_to_batch<'a>(
    schema: &Schema,
    codec: &RowCodec,
    rows: impl ExactSizeIterator<Item = &'a [u8]> + Clone,
) -> Result<RecordBatch> {
    let ordinals: Vec<usize> = (0..schema.columns.len()).collect();
    let columns = ordinals
        .iter()
        .map(|&ordinal| column_of_rows(codec, schema.columns[ordinal].data_type, ordinal, rows.clone()))
        .collect();
    RecordBatch::try_new(schema.arrow(&ordinals), columns)
        .map_err(|error| Error::internal(format!("rows do not fit their schema: {error}")))
}
