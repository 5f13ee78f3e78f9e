//! Arrow batches ↔ rows in the row codec, for the column types of the workload.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Decimal128Builder, Float64Builder, Int32Builder, Int64Builder, StringViewBuilder,
    TimestampMicrosecondBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use weft_format::{DataType, Schema, Value, ValueRef};

/// One value of an array of a column of this type.
pub(crate) fn value_at(array: &dyn Array, row: usize, data_type: DataType) -> ValueRef<'_> {
    if array.is_null(row) {
        return ValueRef::Null;
    }
    match data_type {
        DataType::Boolean => ValueRef::Bool(array.as_boolean().value(row)),
        DataType::Integer => ValueRef::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::BigInt => ValueRef::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::DoublePrecision => ValueRef::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Numeric { .. } => ValueRef::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Text | DataType::Varchar(_) => ValueRef::Text(array.as_string_view().value(row)),
        DataType::Timestamp => ValueRef::Int(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        other => panic!("the workload has no column of type {other}"),
    }
}

/// A batch of all columns of a schema.
pub(crate) fn batch_of(schema: &Schema, rows: &[Vec<Value>]) -> RecordBatch {
    let all: Vec<usize> = (0..schema.columns.len()).collect();
    let columns =
        all.iter().map(|&column| array_of(rows.iter().map(|row| &row[column]), schema.columns[column].data_type));
    RecordBatch::try_new(schema.arrow(&all), columns.collect()).expect("the arrays have the schema's types")
}

macro_rules! build {
    ($builder:expr, $values:expr, $variant:ident, $convert:expr) => {{
        let mut builder = $builder;
        for value in $values {
            match value {
                Value::$variant(v) => builder.append_value($convert(v)),
                _ => builder.append_null(),
            }
        }
        Arc::new(builder.finish()) as ArrayRef
    }};
}

fn array_of<'a>(values: impl Iterator<Item = &'a Value>, data_type: DataType) -> ArrayRef {
    match data_type {
        DataType::Boolean => build!(BooleanBuilder::new(), values, Bool, |v: &bool| *v),
        DataType::Integer => build!(Int32Builder::new(), values, Int, |v: &i64| *v as i32),
        DataType::BigInt => build!(Int64Builder::new(), values, Int, |v: &i64| *v),
        DataType::DoublePrecision => build!(Float64Builder::new(), values, Float, |v: &f64| *v),
        DataType::Timestamp => build!(TimestampMicrosecondBuilder::new(), values, Int, |v: &i64| *v),
        DataType::Text | DataType::Varchar(_) => build!(StringViewBuilder::new(), values, Text, |v: &'a str| v),
        DataType::Numeric { .. } => {
            build!(Decimal128Builder::new().with_data_type(data_type.arrow()), values, Decimal, |v: &i128| *v)
        }
        other => panic!("the workload has no column of type {other}"),
    }
}
