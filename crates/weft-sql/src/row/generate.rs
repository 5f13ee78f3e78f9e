//! Generated columns: values that a row's other columns give.
//!
//! ```text
//!   t (a int, b int, c int GENERATED ALWAYS AS (a + b) STORED)     property generated.2 = a + b
//!     INSERT (a, b) VALUES (1, 2)     1, 2, NULL ─▶ 1, 2, 3
//!     UPDATE SET a = 5                5, 2, 3    ─▶ 5, 2, 7        locked as one that reads a, b and writes a, c
//! ```
//!
//! 1. Every row that a statement writes, or an action of a foreign key, has gone through [`TableShape::generate`] or
//!    [`TableShape::generate_batch`], or its query has computed the same expressions. ALTER TABLE changes rows beside
//!    them, but no column that an expression reads: that is refused.
//! 2. An expression is immutable and reads no generated column, so the order does not matter.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema as ArrowSchema;
use weft_format::{Error, Result, Schema, Value};

use super::TableShape;
use super::generated::bind_generated;
use super::shape::table_scope;
use crate::expr::{EvalContext, Scope};
use crate::values::{array_of, value_at};

impl TableShape {
    /// Computes the generated columns of a row.
    pub(crate) fn generate(&self, values: &mut [Value], eval: &EvalContext<'_>) -> Result<()> {
        for (ordinal, expr) in &self.generated {
            values[*ordinal] = expr.eval(values, eval)?;
        }
        Ok(())
    }

    /// Computes the generated columns of a batch of rows' values in their storage types.
    pub(crate) fn generate_batch(&self, batch: RecordBatch, eval: &EvalContext<'_>) -> Result<RecordBatch> {
        if self.generated.is_empty() {
            return Ok(batch);
        }
        let mut arrays = batch.columns().to_vec();
        let mut row = vec![Value::Null; self.columns().len()];
        for (ordinal, expr) in &self.generated {
            let used = expr.columns();
            let mut values = Vec::with_capacity(batch.num_rows());
            for index in 0..batch.num_rows() {
                for &column in &used {
                    row[column] = value_at(batch.column(column), index, self.columns()[column].data_type);
                }
                values.push(expr.eval(&row, eval)?);
            }
            arrays[*ordinal] = array_of(values.iter(), self.columns()[*ordinal].data_type);
        }
        let fields = batch.schema();
        let fields = fields.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = ArrowSchema::new(fields.collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), arrays)
            .map_err(|error| Error::internal(format!("generated columns of \"{}\": {error}", self.name())))
    }
}

/// The columns that a generated column of a table is computed from.
pub(crate) fn generation_reads(table: &str, schema: &Schema, ordinal: usize, text: &str) -> Result<Vec<usize>> {
    let scope = table_scope(table, schema, Scope::empty());
    Ok(bind_generated(text, &scope, &schema.columns[ordinal])?.columns())
}
