//! The three shapes of this method's data files, all in the format of column tables (docs/format/column-table.md).
//!
//! ```text
//!   pages      slot | changed, is_alive | some columns of the table         of one segment, by slot, one row each
//!   keys       the key's columns | row id                                   by key
//!   history    row id, until | since, was_alive, replaced | all columns     what each change replaced
//! ```
//!
//! The schema version in a file's header says which it is.

use std::sync::Arc;

use weft_format::{Column, DataType, Schema};

/// In files of pages: when the row was changed last.
pub(super) const CHANGED: usize = 1;
/// In files of pages: whether there is a row.
pub(super) const IS_ALIVE: usize = 2;
/// In files of pages: the first column of the table.
pub(super) const FIRST_PAGE: usize = 3;
/// In files of history: the row.
pub(super) const ROW_ID: usize = 0;
/// In files of history: the commit that replaced.
pub(super) const UNTIL: usize = 1;
/// In files of history: the commit since which it was so.
pub(super) const SINCE: usize = 2;
/// In files of history: whether there was a row.
pub(super) const WAS_ALIVE: usize = 3;
/// In files of history: a bit for each column whose old value is here.
pub(super) const REPLACED: usize = 4;
/// In files of history: the first column of the table.
pub(super) const FIRST_OLD: usize = 5;

/// The shape of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Pages,
    Keys,
    History,
}

impl Shape {
    /// All of them.
    pub(super) const ALL: [Shape; 3] = [Shape::Pages, Shape::Keys, Shape::History];

    /// The number in the header of its files.
    pub(super) fn version(self) -> u32 {
        match self {
            Shape::Pages => 1,
            Shape::Keys => 2,
            Shape::History => 3,
        }
    }
}

fn column(name: &str, data_type: DataType) -> Column {
    Column { name: name.into(), data_type, not_null: false }
}

/// A column of the table, in a file: nothing is said of NULLs, and nobody asks for its name.
fn stored(schema: &Schema, ordinal: usize) -> Column {
    column("", schema.columns[ordinal].data_type)
}

fn schema_of(shape: Shape, columns: Vec<Column>, key: Vec<usize>) -> Arc<Schema> {
    let mut schema = Schema::new(columns, key);
    schema.version = shape.version();
    Arc::new(schema)
}

/// Pages of some columns.
pub(super) fn pages(schema: &Schema, ordinals: &[usize]) -> Arc<Schema> {
    let own = [("slot", DataType::BigInt), ("changed", DataType::BigInt), ("is_alive", DataType::Boolean)];
    let own = own.into_iter().map(|(name, data_type)| column(name, data_type));
    schema_of(Shape::Pages, own.chain(ordinals.iter().map(|&ordinal| stored(schema, ordinal))).collect(), vec![0])
}

/// Keys and their row ids.
pub(super) fn keys(schema: &Schema) -> Arc<Schema> {
    let mut columns: Vec<Column> = schema.key.iter().map(|&ordinal| stored(schema, ordinal)).collect();
    columns.push(column("row_id", DataType::BigInt));
    schema_of(Shape::Keys, columns, (0..schema.key.len()).collect())
}

/// Old values of the first so many columns.
pub(super) fn history(schema: &Schema, column_count: usize) -> Arc<Schema> {
    let own = [
        ("row_id", DataType::BigInt),
        ("until", DataType::BigInt),
        ("since", DataType::BigInt),
        ("was_alive", DataType::Boolean),
        ("replaced", DataType::Bytea),
    ];
    let own = own.into_iter().map(|(name, data_type)| column(name, data_type));
    let columns = own.chain((0..column_count).map(|ordinal| stored(schema, ordinal))).collect();
    schema_of(Shape::History, columns, vec![ROW_ID, UNTIL])
}

/// A shape's key alone: enough to read a file's checksums.
pub(super) fn key_alone(shape: Shape, schema: &Schema) -> Arc<Schema> {
    match shape {
        Shape::Pages => schema_of(shape, vec![column("slot", DataType::BigInt)], vec![0]),
        Shape::Keys => keys(schema),
        Shape::History => {
            let own = [column("row_id", DataType::BigInt), column("until", DataType::BigInt)];
            schema_of(shape, own.into(), vec![ROW_ID, UNTIL])
        }
    }
}

/// The bits of the columns whose old values a row of history has.
pub(super) fn bits(columns: impl Iterator<Item = usize>) -> Vec<u8> {
    let mut bits = Vec::new();
    for column in columns {
        if bits.len() <= column / 8 {
            bits.resize(column / 8 + 1, 0);
        }
        bits[column / 8] |= 1 << (column % 8);
    }
    bits
}

/// Whether a column is among them.
pub(super) fn has_bit(bits: &[u8], column: usize) -> bool {
    bits.get(column / 8).is_some_and(|byte| byte >> (column % 8) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_say_which_columns_there_are() {
        let some = bits([3, 0, 17].into_iter());
        let found: Vec<usize> = (0..40).filter(|&column| has_bit(&some, column)).collect();
        assert_eq!(found, [0, 3, 17]);
        assert_eq!(bits(std::iter::empty()), Vec::<u8>::new());
    }
}
