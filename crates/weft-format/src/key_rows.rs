//! The keys of the rows of Arrow columns, as bytes that compare with memcmp.

use crate::arrow_values::{stored, stored_value_at};
use crate::{Code, DataType, Error, Result, Schema, key};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};

/// One key per row.
#[derive(Debug, Default)]
pub struct KeyRows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyRows {
    /// Appends the keys of rows whose key columns are given in key order.
    pub fn push_columns(&mut self, schema: &Schema, columns: &[ArrayRef]) -> Result<()> {
        let types: Vec<DataType> = schema.key.iter().map(|&ordinal| schema.columns[ordinal].data_type).collect();
        let rows = columns.first().map_or(0, |column| column.len());
        for (column, &ordinal) in columns.iter().zip(&schema.key) {
            if column.null_count() > 0 {
                let name = &schema.columns[ordinal].name;
                return Err(Error::new(Code::NotNullViolation, format!("key column \"{name}\" holds NULL")));
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
        let columns: Vec<ArrayRef> =
            columns.iter().zip(&types).map(|(column, &data_type)| stored(column, data_type)).collect();
        for row in 0..rows {
            for (column, &data_type) in columns.iter().zip(&types) {
                let value = stored_value_at(column, row).ok_or_else(|| {
                    Error::internal(format!("a key column arrived as Arrow type {}", column.data_type()))
                })?;
                key::put(&mut self.bytes, data_type, value);
            }
            self.ends.push(self.bytes.len());
        }
        Ok(())
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The key of a row.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}
