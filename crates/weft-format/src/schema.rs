//! A table's columns and key, as storage sees them, and how they came about.
//!
//! ```text
//!   CREATE TABLE t (a int PRIMARY KEY, b text)     columns a b           rows of 2 columns
//!   ALTER TABLE t ADD c int DEFAULT 7              columns a b c         rows of 2 columns have c = 7, new ones have 3
//!   ALTER TABLE t DROP b                           columns a ✝ c         b stays stored, nobody sees it
//! ```
//!
//! 1. A column's ordinal is its identity: columns are added at the end, one that is dropped keeps its place. So rows
//!    and files of an older version of the schema have the first columns of a newer one, and whoever knows an older
//!    version reads what newer ones wrote.
//! 2. [`Evolution::missing`] is a row with a value for every column: what rows have that were written before a column
//!    was there.

use std::sync::Arc;

use arrow_schema::{Field, Schema as ArrowSchema, SchemaRef};

use crate::types::DataType;

/// Name of the hidden key column (bigint, last) of a table that was declared without a primary key.
pub const ROW_ID_COLUMN: &str = "__rowid";

/// The key of a field's metadata that says how long a char(n) is: to Arrow its values are texts.
pub const CHAR_LENGTH: &str = "weft.char";

/// The key of a field's metadata that tells the types of bits apart: `bit 3`, `varbit 0` (0: of any length).
pub const BITS: &str = "weft.bits";

/// The type of bits that a field's metadata says; without it, bit of any length.
pub fn bits_type(field: &Field) -> DataType {
    let said = field.metadata().get(BITS).and_then(|said| said.split_once(' '));
    match said.and_then(|(name, length)| Some((name, length.parse().ok()?))) {
        Some(("varbit", length)) => DataType::VarBit(length),
        Some((_, length)) => DataType::Bit(length),
        None => DataType::Bit(0),
    }
}

/// The Arrow field of a column of a type.
pub fn arrow_field(name: &str, data_type: DataType, nullable: bool) -> Field {
    let field = Field::new(name, data_type.arrow(), nullable);
    match data_type {
        DataType::Char(length) => field.with_metadata([(CHAR_LENGTH.into(), length.to_string())].into()),
        DataType::Bit(length) => field.with_metadata([(BITS.into(), format!("bit {length}"))].into()),
        DataType::VarBit(length) => field.with_metadata([(BITS.into(), format!("varbit {length}"))].into()),
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
/// column and key, filled from a counter; columns that ALTER TABLE adds come behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    /// All stored columns, in the order in which they came; dropped ones and a hidden row id among them.
    pub columns: Vec<Column>,
    /// Ordinals of the key columns, in key order.
    pub key: Vec<usize>,
    /// Whether the key is a hidden row id.
    pub hidden_row_id: bool,
    /// Counts the table's schema changes; written into its files and records.
    pub version: u32,
    /// What has become of the columns since the table was made.
    pub evolution: Evolution,
}

/// What ALTER TABLE has made of the columns of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evolution {
    /// Ordinals of the columns that were dropped, ascending.
    pub dropped: Vec<usize>,
    /// How many columns the rows have that do not say it: those of logs from before rows said it. Zero: all.
    pub first_columns: usize,
    /// A row (row codec) of all columns that were there when the last one was added: the values of rows that are older
    /// than a column. None: NULL.
    pub missing: Option<Box<[u8]>>,
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
        Schema { columns, key, hidden_row_id, version: 1, evolution: Evolution::default() }
    }

    /// The columns a user sees, each with its ordinal: all but a hidden row id and dropped ones.
    pub fn visible(&self) -> impl DoubleEndedIterator<Item = (usize, &Column)> + Clone {
        self.columns.iter().enumerate().filter(|(ordinal, _)| self.is_visible(*ordinal))
    }

    /// Whether a user sees a column.
    pub fn is_visible(&self, ordinal: usize) -> bool {
        self.row_id() != Some(ordinal) && !self.is_dropped(ordinal)
    }

    /// Whether a column was dropped.
    pub fn is_dropped(&self, ordinal: usize) -> bool {
        self.evolution.dropped.binary_search(&ordinal).is_ok()
    }

    /// The ordinal of the hidden row id.
    pub fn row_id(&self) -> Option<usize> {
        self.hidden_row_id.then(|| self.key[0])
    }

    /// The ordinal of a column that a user sees, by exact name.
    pub fn visible_ordinal(&self, name: &str) -> Option<usize> {
        self.visible().find(|(_, column)| column.name == name).map(|(ordinal, _)| ordinal)
    }

    /// Takes a column from the sight of users; its place stays.
    pub fn drop_column(&mut self, ordinal: usize) {
        let column = &mut self.columns[ordinal];
        column.name = format!("........dropped.{}........", ordinal + 1);
        column.not_null = false;
        if let Err(at) = self.evolution.dropped.binary_search(&ordinal) {
            self.evolution.dropped.insert(at, ordinal);
        }
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
