//! The rows that actions of foreign keys change: what only the layer above knows of a table's expressions.
//!
//! ```text
//!   c (k, p DEFAULT 0 → p.id ON DELETE SET DEFAULT, twice GENERATED AS (p * 2), CHECK (p >= 0))
//!     DELETE FROM p WHERE id = 1     (10, 1, 2): the layer above says p = 0, twice = 0, and tests the CHECK
//! ```

use weft_format::{Code, DataType, Error, Result, Value, ValueRef};

use super::points::fits;
use crate::catalog::TableRef;
use crate::lock::{ColumnSet, LockMode};
use crate::txn::Transaction;

/// Makes the rows that the actions of foreign keys change.
pub trait ChangedRows {
    /// What DEFAULT gives to a column, evaluated for one row.
    fn default_of(&self, txn: &Transaction, table: &TableRef, column: usize) -> Result<Value>;

    /// What is locked of a row of which some columns are set.
    fn lock_mode(&self, table: &TableRef, columns: ColumnSet) -> Result<LockMode>;

    /// The row with other values in some columns: generated columns are computed, NOT NULL and CHECK are tested.
    fn changed(&self, table: &TableRef, row: &[u8], values: &[(usize, Value)]) -> Result<Vec<u8>>;
}

/// Rows of tables without expressions.
pub(super) struct PlainRows;

impl ChangedRows for PlainRows {
    fn default_of(&self, _: &Transaction, table: &TableRef, column: usize) -> Result<Value> {
        match table.def.defaults.get(column) {
            Some(Some(_)) => Err(Error::internal(format!("nobody evaluates the defaults of table {}", table.def.name))),
            _ => Ok(Value::Null),
        }
    }

    fn lock_mode(&self, table: &TableRef, columns: ColumnSet) -> Result<LockMode> {
        if table.def.schema.key.iter().any(|&column| columns.contains(column)) {
            return Ok(LockMode::EXCLUSIVE);
        }
        Ok(LockMode::columns(columns.union(table.columns_tested(columns)), columns))
    }

    fn changed(&self, table: &TableRef, row: &[u8], values: &[(usize, Value)]) -> Result<Vec<u8>> {
        let (schema, name) = (&table.def.schema, &table.def.name);
        let is_missing = |(column, value): &&(usize, Value)| schema.columns[*column].not_null && value.is_null();
        if let Some((column, _)) = values.iter().find(is_missing) {
            let column = &schema.columns[*column].name;
            let message =
                format!("null value in column \"{column}\" of relation \"{name}\" violates not-null constraint");
            return Err(Error::new(Code::NotNullViolation, message).about(name, Some(column), None));
        }
        let value = |column: usize| match values.iter().find(|(set, _)| *set == column) {
            Some((_, value)) => value.as_ref(),
            None => table.codec.get(row, column),
        };
        Ok(table.codec.encode((0..schema.columns.len()).map(value).collect::<Vec<ValueRef<'_>>>()))
    }
}

/// Fails when a column cannot hold a value of the column that it refers to.
pub(super) fn check_fits(table: &TableRef, column: usize, value: &Value) -> Result<()> {
    let column = &table.def.schema.columns[column];
    if fits(column.data_type, value) {
        return Ok(());
    }
    let (name, data_type): (&str, DataType) = (&column.name, column.data_type);
    let code = if data_type.is_text() { Code::StringTooLong } else { Code::NumericOutOfRange };
    let message = format!("the new value is out of range for type {data_type} of column \"{name}\"");
    Err(Error::new(code, message).about(&table.def.name, Some(name), None))
}
