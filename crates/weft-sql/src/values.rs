//! Arrow arrays ↔ single values, in exactly the Arrow types of [`DataType::arrow`].

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBuilder, Decimal128Builder, PrimitiveBuilder, StringViewBuilder};
use arrow::datatypes::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use weft_format::{DataType, Value, ValueRef};

/// Borrows one value of an array that has the Arrow type of `data_type`.
pub fn value_ref_at(array: &dyn Array, row: usize, data_type: DataType) -> ValueRef<'_> {
    if array.is_null(row) {
        return ValueRef::Null;
    }
    match data_type {
        DataType::Boolean => ValueRef::Bool(array.as_boolean().value(row)),
        DataType::SmallInt => ValueRef::Int(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Integer => ValueRef::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::BigInt => ValueRef::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Real => ValueRef::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::DoublePrecision => ValueRef::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Numeric { .. } => ValueRef::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Text | DataType::Varchar(_) => ValueRef::Text(array.as_string_view().value(row)),
        DataType::Date => ValueRef::Int(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Timestamp | DataType::TimestampTz => {
            ValueRef::Int(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
    }
}

/// One value of an array that has the Arrow type of `data_type`.
pub fn value_at(array: &dyn Array, row: usize, data_type: DataType) -> Value {
    value_ref_at(array, row, data_type).to_value()
}

/// An array of the Arrow type of `data_type`; the values are of that type already.
pub fn array_of<'a>(values: impl ExactSizeIterator<Item = &'a Value>, data_type: DataType) -> ArrayRef {
    let count = values.len();
    match data_type {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(count);
            for value in values {
                builder.append_option(match value {
                    Value::Bool(v) => Some(*v),
                    other => null_or_panic(other, data_type),
                });
            }
            Arc::new(builder.finish())
        }
        DataType::Text | DataType::Varchar(_) => {
            let mut builder = StringViewBuilder::with_capacity(count);
            for value in values {
                builder.append_option(match value {
                    Value::Text(v) => Some(&**v),
                    other => null_or_panic(other, data_type),
                });
            }
            Arc::new(builder.finish())
        }
        DataType::SmallInt => integers::<Int16Type>(values, data_type, |v| v as i16),
        DataType::Integer => integers::<Int32Type>(values, data_type, |v| v as i32),
        DataType::Date => integers::<Date32Type>(values, data_type, |v| v as i32),
        DataType::BigInt => integers::<Int64Type>(values, data_type, |v| v),
        DataType::Timestamp | DataType::TimestampTz => integers::<TimestampMicrosecondType>(values, data_type, |v| v),
        DataType::Real => floats::<Float32Type>(values, data_type, |v| v as f32),
        DataType::DoublePrecision => floats::<Float64Type>(values, data_type, |v| v),
        DataType::Numeric { .. } => {
            let mut builder = Decimal128Builder::with_capacity(count).with_data_type(data_type.arrow());
            for value in values {
                builder.append_option(match value {
                    Value::Decimal(v) => Some(*v),
                    other => null_or_panic(other, data_type),
                });
            }
            Arc::new(builder.finish())
        }
    }
}

fn integers<'a, T: ArrowPrimitiveType>(
    values: impl ExactSizeIterator<Item = &'a Value>,
    data_type: DataType,
    convert: impl Fn(i64) -> T::Native,
) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(values.len()).with_data_type(data_type.arrow());
    for value in values {
        builder.append_option(match value {
            Value::Int(v) => Some(convert(*v)),
            other => null_or_panic(other, data_type),
        });
    }
    Arc::new(builder.finish())
}

fn floats<'a, T: ArrowPrimitiveType>(
    values: impl ExactSizeIterator<Item = &'a Value>,
    data_type: DataType,
    convert: impl Fn(f64) -> T::Native,
) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(values.len());
    for value in values {
        builder.append_option(match value {
            Value::Float(v) => Some(convert(*v)),
            other => null_or_panic(other, data_type),
        });
    }
    Arc::new(builder.finish())
}

fn null_or_panic<T>(value: &Value, data_type: DataType) -> Option<T> {
    assert!(value.is_null(), "value {value:?} was not cast to {data_type}");
    None
}
