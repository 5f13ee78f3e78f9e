//! A table's columns and key, as storage sees them.

use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};

use crate::types::DataType;

/// Name of the hidden key column (bigint, last) of a table that was declared without a primary key.
pub const ROW_ID_COLUMN: &str = "__rowid";

/// The key of a field's metadata that says how long a char(n) is: to Arrow its values are texts.
pub const CHAR_LENGTH: &str = "weft.char";

/// The Arrow field of a column of a type.
pub fn arrow_field(name: &str, data_type: DataType, nullable: bool) -> Field {
    let field = Field::new(name, data_type.arrow(), nullable);
    match data_type {
        DataType::Char(length) => field.with_metadata([(CHAR_LENGTH.into(), length.to_string())].into()),
        _ => field,
    }
}

/// One stored column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, unique in the table.
    pub name: String,
    /// Logical type.
    pub data_type: DataType,
    /// Whether NULL is refused. Key columns are never nullable.
    pub not_null: bool,
}

/// Columns in declaration order, and the ordinals of those that make the key.
///
/// Every table has a key: one declared without a primary key gets the hidden column [`ROW_ID_COLUMN`] as its last
/// column and key, filled from a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// All stored columns, a hidden row id last.
    pub columns: Vec<Column>,
    /// Ordinals of the key columns, in key order.
    pub key: Vec<usize>,
    /// Whether the last column is the hidden row id.
    pub hidden_row_id: bool,
    /// Counts the table's schema changes; written into its files and records.
    pub version: u32,
}

impl Schema {
    /// A schema at version 1; without key columns a hidden row id is added.
    pub fn new(mut columns: Vec<Column>, mut key: Vec<usize>) -> Schema {
        let hidden_row_id = key.is_empty();
        if hidden_row_id {
            key.push(columns.len());
            columns.push(Column { name: ROW_ID_COLUMN.into(), data_type: DataType::BigInt, not_null: true });
        }
        for &ordinal in &key {
            columns[ordinal].not_null = true;
        }
        Schema { columns, key, hidden_row_id, version: 1 }
    }

    /// The columns a user sees: all but a hidden row id.
    pub fn visible(&self) -> &[Column] {
        &self.columns[..self.columns.len() - usize::from(self.hidden_row_id)]
    }

    /// The ordinal of a column by exact name.
    pub fn ordinal(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Ordinals of the columns that are not part of the key.
    pub fn columns_beside_key(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|ordinal| !self.key.contains(ordinal)).collect()
    }

    /// The Arrow schema of the given columns, in the given order.
    pub fn arrow(&self, projection: &[usize]) -> SchemaRef {
        let field = |&ordinal: &usize| {
            let column = &self.columns[ordinal];
            arrow_field(&column.name, column.data_type, !column.not_null)
        };
        Arc::new(ArrowSchema::new(projection.iter().map(field).collect::<Vec<_>>()))
    }
}
