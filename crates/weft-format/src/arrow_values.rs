//! Arrow arrays ↔ single values, in exactly the Arrow types of [`DataType::arrow`].
//!
//! ```text
//!   integer[]   '{7,NULL}'     value   Array(01 80000007 02 00)
//!                              logical ListArray [[7, NULL]]           what batches carry
//!                              stored  BinaryViewArray [0180000007..]  what blocks and rows are made of
//! ```
//!
//! Only arrays have a stored form of their own; what is made of text is stored as what its views show.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BinaryViewBuilder, BooleanBuilder, FixedSizeBinaryBuilder, LargeBinaryBuilder, LargeStringBuilder,
    PrimitiveBuilder, StringDictionaryBuilder, StringViewBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType, TimestampSecondType, UInt32Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray, ListArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType as ArrowType, Field, IntervalUnit};

use crate::array::ArrayValue;
use crate::enums::EnumId;
use crate::interval::Interval;
use crate::types::DataType;
use crate::value::{Value, ValueRef};

/// Borrows one value of an array that has the Arrow type of `data_type`; arrays must be in their stored form.
pub fn value_ref_at(array: &dyn Array, row: usize, data_type: DataType) -> ValueRef<'_> {
    if array.is_null(row) {
        return ValueRef::Null;
    }
    match data_type {
        DataType::Boolean => ValueRef::Bool(array.as_boolean().value(row)),
        DataType::SmallInt => ValueRef::Int(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Integer => ValueRef::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::BigInt => ValueRef::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Oid => ValueRef::Int(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::Real => ValueRef::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::DoublePrecision => ValueRef::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Numeric { .. } => ValueRef::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => ValueRef::Text(array.as_string_view().value(row)),
        DataType::Json => {
            let text = std::str::from_utf8(array.as_binary::<i64>().value(row));
            ValueRef::Text(text.expect("json arrays are made of texts"))
        }
        DataType::Jsonb => ValueRef::Text(array.as_string::<i64>().value(row)),
        DataType::JsonPath => text_of(array.as_dictionary(), row).map_or(ValueRef::Null, ValueRef::Text),
        DataType::Bit(_) | DataType::VarBit(_) => {
            let digits = std::str::from_utf8(array.as_binary::<i32>().value(row));
            ValueRef::Text(digits.expect("bits are digits"))
        }
        DataType::Bytea => ValueRef::Bytes(array.as_binary_view().value(row)),
        DataType::Array(_) => ValueRef::Array(array.as_binary_view().value(row)),
        DataType::Uuid => {
            ValueRef::Uuid(u128::from_be_bytes(crate::bytes::array(array.as_fixed_size_binary().value(row))))
        }
        DataType::Date => ValueRef::Int(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Time => ValueRef::Int(array.as_primitive::<Time64MicrosecondType>().value(row)),
        DataType::Timestamp | DataType::TimestampTz => {
            ValueRef::Int(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        DataType::Enum(_) => ValueRef::Int(array.as_primitive::<TimestampSecondType>().value(row)),
        DataType::Interval => {
            ValueRef::Interval(Interval::from_arrow(array.as_primitive::<IntervalMonthDayNanoType>().value(row)))
        }
    }
}

/// A row of a dictionary of texts.
pub(crate) fn text_of(array: &DictionaryArray<Int32Type>, row: usize) -> Option<&str> {
    let (key, texts) = (array.key(row)?, array.values().as_string::<i32>());
    texts.is_valid(key).then(|| texts.value(key))
}

/// Borrows one value of an array that may be stored, whatever type it is of: its Arrow type says which kind of value it
/// has. None for Arrow types that no column has.
pub fn stored_value_at(array: &dyn Array, row: usize) -> Option<ValueRef<'_>> {
    let data_type = match array.data_type() {
        ArrowType::Boolean => DataType::Boolean,
        ArrowType::Int16 => DataType::SmallInt,
        ArrowType::Int32 => DataType::Integer,
        ArrowType::Int64 => DataType::BigInt,
        ArrowType::UInt32 => DataType::Oid,
        ArrowType::Float32 => DataType::Real,
        ArrowType::Float64 => DataType::DoublePrecision,
        ArrowType::Decimal128(..) => DataType::Numeric { precision: 38, scale: 0 },
        ArrowType::Utf8View => DataType::Text,
        ArrowType::Utf8 => return Some(ValueRef::Text(array.as_string::<i32>().value(row))),
        ArrowType::LargeUtf8 => DataType::Jsonb,
        ArrowType::LargeBinary => DataType::Json,
        ArrowType::Dictionary(..) if *array.data_type() == DataType::JsonPath.arrow() => DataType::JsonPath,
        ArrowType::Binary => DataType::Bit(0),
        ArrowType::BinaryView => DataType::Bytea,
        ArrowType::FixedSizeBinary(16) => DataType::Uuid,
        ArrowType::Date32 => DataType::Date,
        ArrowType::Time64(_) => DataType::Time,
        arrow if EnumId::of_arrow(arrow).is_some() => {
            return Some(ValueRef::Int(array.as_primitive::<TimestampSecondType>().value(row)));
        }
        ArrowType::Timestamp(..) => DataType::Timestamp,
        ArrowType::Interval(IntervalUnit::MonthDayNano) => DataType::Interval,
        _ => return None,
    };
    Some(value_ref_at(array, row, data_type))
}

/// One value of an array that has the Arrow type of `data_type`.
pub fn value_at(array: &dyn Array, row: usize, data_type: DataType) -> Value {
    match (data_type.element(), array.data_type()) {
        (Some(_), _) if array.is_null(row) => Value::Null,
        (Some(element), ArrowType::List(_)) => Value::Array(list_value(&array.as_list::<i32>().value(row), element)),
        _ => value_ref_at(array, row, data_type).to_value(),
    }
}

fn list_value(items: &ArrayRef, element: DataType) -> ArrayValue {
    ArrayValue::new(element, (0..items.len()).map(|item| value_ref_at(items, item, element)))
}

/// The stored form of an array of a type: arrays as their bytes.
pub fn stored(array: &ArrayRef, data_type: DataType) -> ArrayRef {
    let (Some(element), ArrowType::List(_)) = (data_type.element(), array.data_type()) else {
        return Arc::clone(array);
    };
    let lists = array.as_list::<i32>();
    let mut builder = BinaryViewBuilder::with_capacity(lists.len());
    for row in 0..lists.len() {
        match lists.is_null(row) {
            true => builder.append_null(),
            false => builder.append_value(list_value(&lists.value(row), element).as_bytes()),
        }
    }
    Arc::new(builder.finish())
}

/// An array of a type from its texts as views, or its bytes as views.
pub(crate) fn logical(views: ArrayRef, data_type: DataType) -> ArrayRef {
    match data_type {
        DataType::Json => {
            let texts = views.as_string_view();
            let mut builder = LargeBinaryBuilder::with_capacity(texts.len(), texts.total_bytes_len());
            texts.iter().for_each(|text| builder.append_option(text.map(str::as_bytes)));
            Arc::new(builder.finish())
        }
        DataType::Jsonb => {
            let texts = views.as_string_view();
            let mut builder = LargeStringBuilder::with_capacity(texts.len(), texts.total_bytes_len());
            texts.iter().for_each(|text| builder.append_option(text));
            Arc::new(builder.finish())
        }
        DataType::JsonPath | DataType::Bit(_) | DataType::VarBit(_) => {
            let texts = views.as_string_view();
            let values: Vec<_> = texts.iter().map(|text| text.map_or(ValueRef::Null, ValueRef::Text)).collect();
            variable(data_type, values.into_iter())
        }
        DataType::Array(_) => {
            let bytes = views.as_binary_view();
            array_of(data_type, bytes.iter().map(|value| value.map_or(ValueRef::Null, ValueRef::Array)))
        }
        _ => views,
    }
}

/// An array of the Arrow type of `data_type`; the values are of that type already.
pub fn array_of<'a>(data_type: DataType, values: impl ExactSizeIterator<Item = ValueRef<'a>>) -> ArrayRef {
    let count = values.len();
    match data_type {
        DataType::Boolean => {
            let mut builder = BooleanBuilder::with_capacity(count);
            for value in values {
                builder.append_option(match value {
                    ValueRef::Bool(v) => Some(v),
                    other => null_or_panic(other, data_type),
                });
            }
            Arc::new(builder.finish())
        }
        DataType::SmallInt => integers::<Int16Type>(data_type, values, |v| v as i16),
        DataType::Integer => integers::<Int32Type>(data_type, values, |v| v as i32),
        DataType::Date => integers::<Date32Type>(data_type, values, |v| v as i32),
        DataType::Oid => integers::<UInt32Type>(data_type, values, |v| v as u32),
        DataType::BigInt => integers::<Int64Type>(data_type, values, |v| v),
        DataType::Time => integers::<Time64MicrosecondType>(data_type, values, |v| v),
        DataType::Timestamp | DataType::TimestampTz => integers::<TimestampMicrosecondType>(data_type, values, |v| v),
        DataType::Enum(_) => integers::<TimestampSecondType>(data_type, values, |v| v),
        DataType::Real => primitive::<Float32Type>(data_type, values, |value| match value {
            ValueRef::Float(v) => Some(v as f32),
            other => null_or_panic(other, data_type),
        }),
        DataType::DoublePrecision => primitive::<Float64Type>(data_type, values, |value| match value {
            ValueRef::Float(v) => Some(v),
            other => null_or_panic(other, data_type),
        }),
        DataType::Numeric { .. } => primitive::<Decimal128Type>(data_type, values, |value| match value {
            ValueRef::Decimal(v) => Some(v),
            other => null_or_panic(other, data_type),
        }),
        DataType::Interval => primitive::<IntervalMonthDayNanoType>(data_type, values, |value| match value {
            ValueRef::Interval(v) => Some(v.to_arrow()),
            other => null_or_panic(other, data_type),
        }),
        DataType::Array(element) => lists(element.data_type(), values),
        _ => variable(data_type, values),
    }
}

/// Texts, json, bytes and uuids.
fn variable<'a>(data_type: DataType, values: impl ExactSizeIterator<Item = ValueRef<'a>>) -> ArrayRef {
    let count = values.len();
    let text = |value: ValueRef<'a>| match value {
        ValueRef::Text(v) => Some(v),
        other => null_or_panic(other, data_type),
    };
    match data_type {
        DataType::Jsonb => {
            let mut builder = LargeStringBuilder::with_capacity(count, 0);
            values.for_each(|value| builder.append_option(text(value)));
            Arc::new(builder.finish())
        }
        DataType::Json => {
            let mut builder = LargeBinaryBuilder::with_capacity(count, 0);
            values.for_each(|value| builder.append_option(text(value).map(str::as_bytes)));
            Arc::new(builder.finish())
        }
        DataType::JsonPath => {
            let mut builder = StringDictionaryBuilder::<Int32Type>::new();
            values.for_each(|value| builder.append_option(text(value)));
            Arc::new(builder.finish())
        }
        DataType::Bit(_) | DataType::VarBit(_) => {
            let mut builder = BinaryBuilder::with_capacity(count, 0);
            values.for_each(|value| builder.append_option(text(value).map(str::as_bytes)));
            Arc::new(builder.finish())
        }
        DataType::Bytea => {
            let mut builder = BinaryViewBuilder::with_capacity(count);
            for value in values {
                builder.append_option(match value {
                    ValueRef::Bytes(v) => Some(v),
                    other => null_or_panic(other, data_type),
                });
            }
            Arc::new(builder.finish())
        }
        DataType::Uuid => {
            let mut builder = FixedSizeBinaryBuilder::with_capacity(count, 16);
            for value in values {
                match value {
                    ValueRef::Uuid(v) => builder.append_value(v.to_be_bytes()).expect("a uuid has 16 bytes"),
                    other => {
                        let _: Option<()> = null_or_panic(other, data_type);
                        builder.append_null();
                    }
                }
            }
            Arc::new(builder.finish())
        }
        _ => {
            let mut builder = StringViewBuilder::with_capacity(count);
            values.for_each(|value| builder.append_option(text(value)));
            Arc::new(builder.finish())
        }
    }
}

fn lists<'a>(element: DataType, values: impl ExactSizeIterator<Item = ValueRef<'a>>) -> ArrayRef {
    let mut nulls = NullBufferBuilder::new(values.len());
    let (mut lengths, mut items) = (Vec::with_capacity(values.len()), Vec::new());
    for value in values {
        let before = items.len();
        match value {
            ValueRef::Array(bytes) | ValueRef::Bytes(bytes) => {
                items.extend(ArrayValue::from_bytes(bytes).values(element));
                nulls.append_non_null();
            }
            other => {
                let _: Option<()> = null_or_panic(other, element);
                nulls.append_null();
            }
        }
        lengths.push(items.len() - before);
    }
    let items = array_of(element, items.iter().map(Value::as_ref));
    let field = Arc::new(Field::new_list_field(element.arrow(), true));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), items, nulls.finish()))
}

fn integers<'a, T: ArrowPrimitiveType>(
    data_type: DataType,
    values: impl ExactSizeIterator<Item = ValueRef<'a>>,
    convert: impl Fn(i64) -> T::Native,
) -> ArrayRef {
    primitive::<T>(data_type, values, |value| match value {
        ValueRef::Int(v) => Some(convert(v)),
        other => null_or_panic(other, data_type),
    })
}

fn primitive<'a, T: ArrowPrimitiveType>(
    data_type: DataType,
    values: impl ExactSizeIterator<Item = ValueRef<'a>>,
    convert: impl Fn(ValueRef<'a>) -> Option<T::Native>,
) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(values.len()).with_data_type(data_type.arrow());
    values.for_each(|value| builder.append_option(convert(value)));
    Arc::new(builder.finish())
}

fn null_or_panic<T>(value: ValueRef<'_>, data_type: DataType) -> Option<T> {
    assert!(value.is_null(), "value {value:?} was not cast to {data_type}");
    None
}
