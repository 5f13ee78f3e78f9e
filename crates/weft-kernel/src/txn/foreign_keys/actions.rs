//! CASCADE and SET NULL: what happens to the rows that refer to a row that is gone.

use std::collections::HashMap;

use weft_format::{Code, DataType, Error, Result, Value, ValueRef};

use super::super::transaction::Transaction;
use super::points::{Points, fits};
use super::statement::{Lost, Touched};
use crate::catalog::{FkAction, ForeignKey, TableRef};
use crate::lock::{ColumnSet, LockMode};

impl Transaction {
    /// Does what the foreign keys to a table ask for, and tests those that ask for a test at once (RESTRICT).
    pub(super) fn act(&mut self, touched: &Touched) -> Result<()> {
        for (child, foreign_key) in self.references_to(&touched.table) {
            if (foreign_key.on_delete, foreign_key.on_update) == (FkAction::NoAction, FkAction::NoAction) {
                continue;
            }
            let lost = self.lost(touched, &foreign_key)?;
            let (mut restricted, mut followed) = (Points::new(), HashMap::new());
            for lost in lost {
                match lost.action(&foreign_key) {
                    FkAction::NoAction => {}
                    FkAction::Restrict => drop(restricted.insert(lost.point, lost.values)),
                    FkAction::Cascade | FkAction::SetNull => drop(followed.insert(lost.point.clone(), lost)),
                }
            }
            self.test_unreferenced(&touched.table, &child, &foreign_key, &restricted)?;
            self.follow(&child, &foreign_key, &followed)?;
        }
        Ok(())
    }

    /// Deletes or changes the rows that have one of the values.
    fn follow(&mut self, child: &TableRef, foreign_key: &ForeignKey, lost: &HashMap<Vec<u8>, Lost>) -> Result<()> {
        let points: Points = lost.iter().map(|(point, lost)| (point.clone(), lost.values.clone())).collect();
        for (key, point) in self.children(child, foreign_key, &points, usize::MAX)? {
            let lost = &lost[&point];
            let values = match (lost.action(foreign_key), &lost.now) {
                (FkAction::Cascade, None) => None,
                (FkAction::Cascade, Some(now)) => Some(now.clone()),
                _ => Some(vec![Value::Null; foreign_key.columns.len()]),
            };
            match values {
                Some(values) => self.set_columns(child, foreign_key, &key, &values)?,
                None if self.delete(child, &key)? => {}
                None => return Err(unseen(child)),
            }
        }
        Ok(())
    }

    fn set_columns(&mut self, child: &TableRef, fk: &ForeignKey, key: &[u8], values: &[Value]) -> Result<()> {
        let schema = &child.def.schema;
        for (&column, value) in fk.columns.iter().zip(values) {
            let column = &schema.columns[column];
            if column.not_null && value.is_null() {
                let (name, table) = (&column.name, &child.def.name);
                let message =
                    format!("null value in column \"{name}\" of relation \"{table}\" violates not-null constraint");
                return Err(Error::new(Code::NotNullViolation, message).about(table, Some(name), None));
            }
            if !fits(column.data_type, value) {
                return Err(too_large(child, &column.name, column.data_type));
            }
        }
        let changes_key = fk.columns.iter().any(|column| schema.key.contains(column));
        let columns: ColumnSet = fk.columns.iter().copied().collect();
        let reads = columns.union(child.columns_tested(columns));
        let mode = if changes_key { LockMode::EXCLUSIVE } else { LockMode::columns(reads, columns) };
        let Some(row) = self.lock_row(child, key, mode, self.lock_wait())? else { return Err(unseen(child)) };
        let new = (0..schema.columns.len()).map(|column| match fk.columns.iter().position(|&own| own == column) {
            Some(at) => values[at].as_ref(),
            None => child.codec.get(&row, column),
        });
        let new = child.codec.encode(new.collect::<Vec<ValueRef<'_>>>());
        self.update_columns(child, key, &new, mode)
    }
}

/// The snapshot does not show a row that refers to one that goes (foreign keys 3).
fn unseen(child: &TableRef) -> Error {
    let message = format!("a row of table {:?} that a foreign key changes came after this snapshot", child.def.name);
    Error::new(Code::SerializationFailure, message)
        .about(&child.def.name, None, None)
        .hint("roll back and run the transaction again")
}

fn too_large(child: &TableRef, column: &str, data_type: DataType) -> Error {
    let code = if data_type.is_text() { Code::StringTooLong } else { Code::NumericOutOfRange };
    let message = format!("the new value is out of range for type {data_type} of column \"{column}\"");
    Error::new(code, message).about(&child.def.name, Some(column), None)
}
