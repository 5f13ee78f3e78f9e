//! The keys of the rows of Arrow columns, as bytes that compare with memcmp.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as ArrowType;
use weft_format::{DataType, Error, Result, Schema, ValueRef, key};

/// One key per row.
#[derive(Debug, Default)]
pub(crate) struct KeyRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyRows {
    /// Appends the keys of rows whose key columns are given in key order.
    pub(crate) fn push_columns(&mut self, schema: &Schema, columns: &[ArrayRef]) -> Result<()> {
        let types: Vec<DataType> = schema.key.iter().map(|&ordinal| schema.columns[ordinal].data_type).collect();
        let rows = columns.first().map_or(0, |column| column.len());
        for (column, &ordinal) in columns.iter().zip(&schema.key) {
            if column.null_count() > 0 {
                let name = &schema.columns[ordinal].name;
                return Err(Error::new(
                    weft_format::Code::NotNullViolation,
                    format!("key column \"{name}\" holds NULL"),
                ));
            }
        }
        self.ends.reserve(rows);
        if let ([column], [DataType::BigInt]) = (columns, types.as_slice())
            && let Some(ints) = column.as_primitive_opt::<Int64Type>()
        {
            self.bytes.reserve(rows * 8);
            for &value in ints.values() {
                self.bytes.extend_from_slice(&(value ^ i64::MIN).to_be_bytes());
                self.ends.push(self.bytes.len());
            }
            return Ok(());
        }
        for row in 0..rows {
            for (column, &data_type) in columns.iter().zip(&types) {
                key::put(&mut self.bytes, data_type, array_value(column, row)?);
            }
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The key of a row.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}

/// One value, not NULL, of a key column.
fn array_value(array: &ArrayRef, row: usize) -> Result<ValueRef<'_>> {
    Ok(match array.data_type() {
        ArrowType::Boolean => ValueRef::Bool(array.as_boolean().value(row)),
        ArrowType::Int16 => ValueRef::Int(array.as_primitive::<Int16Type>().value(row).into()),
        ArrowType::Int32 => ValueRef::Int(array.as_primitive::<Int32Type>().value(row).into()),
        ArrowType::Date32 => ValueRef::Int(array.as_primitive::<Date32Type>().value(row).into()),
        ArrowType::Int64 => ValueRef::Int(array.as_primitive::<Int64Type>().value(row)),
        ArrowType::Timestamp(..) => ValueRef::Int(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        ArrowType::Float32 => ValueRef::Float(array.as_primitive::<Float32Type>().value(row).into()),
        ArrowType::Float64 => ValueRef::Float(array.as_primitive::<Float64Type>().value(row)),
        ArrowType::Decimal128(..) => ValueRef::Decimal(array.as_primitive::<Decimal128Type>().value(row)),
        ArrowType::Utf8 => ValueRef::Text(array.as_string::<i32>().value(row)),
        ArrowType::LargeUtf8 => ValueRef::Text(array.as_string::<i64>().value(row)),
        ArrowType::Utf8View => ValueRef::Text(array.as_string_view().value(row)),
        other => return Err(Error::internal(format!("a key column arrived as Arrow type {other}"))),
    })
}
