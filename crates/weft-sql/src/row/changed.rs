//! Rows that the actions of foreign keys change: their defaults, generated columns and CHECK constraints.

use weft_expr::Local;
use weft_format::{Result, Value};
use weft_kernel::{ChangedRows, ColumnSet, LockMode, TableRef, Transaction};

use super::ShapeCache;
use crate::expr::EvalContext;

/// What the rows of tables are made with.
pub(crate) struct ShapedRows<'a> {
    pub(crate) shapes: &'a ShapeCache,
    pub(crate) local: &'a Local,
    pub(crate) rng: &'a dyn weft_env::Rng,
}

impl ShapedRows<'_> {
    fn eval(&self) -> EvalContext<'_> {
        EvalContext { params: &[], local: self.local, rng: Some(self.rng) }
    }
}

impl ChangedRows for ShapedRows<'_> {
    fn default_of(&self, txn: &Transaction, table: &TableRef, column: usize) -> Result<Value> {
        self.shapes.shape(table)?.default_value(txn, column, &self.eval())
    }

    fn lock_mode(&self, table: &TableRef, columns: ColumnSet) -> Result<LockMode> {
        Ok(self.shapes.shape(table)?.write_mode(ColumnSet::NONE, columns))
    }

    fn changed(&self, table: &TableRef, row: &[u8], values: &[(usize, Value)]) -> Result<Vec<u8>> {
        let shape = self.shapes.shape(table)?;
        let mut new = Vec::with_capacity(shape.columns().len());
        shape.decode(row, &mut new);
        for (column, value) in values {
            new[*column] = value.clone();
        }
        shape.generate(&mut new, &self.eval())?;
        shape.complete_update(row, &new, &self.eval())
    }
}
