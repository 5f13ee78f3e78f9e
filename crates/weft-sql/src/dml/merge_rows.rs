//! The rows of a MERGE, written.
//!
//! ```text
//!   k 7, row (7, 12), action 2        update of key 7; deletes come first, then updates, then inserts
//!   k 7, ...          action 1        a second one of key 7: 21000
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::{ColumnSet, LockMode};

use super::merge_plan::{Kind, MergePlan};
use super::write::PreparedWrite;
use crate::context::StatementContext;
use crate::expr::EvalContext;
use crate::outcome::{Outcome, Tag};
use crate::queries::Purpose;
use crate::row::TableShape;
use crate::values::{stored_columns, value_at, value_ref_at};

/// Rows between two looks at the cancel token.
const CANCEL_ROWS: usize = 1024;

/// What is to be written.
#[derive(Default)]
struct Changes {
    deletes: Vec<Vec<u8>>,
    updates: Vec<(Vec<u8>, Vec<Value>, usize)>,
    inserts: Vec<Vec<Value>>,
}

/// The values as an assignment to their columns makes them: as long as varchar(n), char(n) and bits let them be.
fn fitting(mut values: Vec<Value>, shape: &TableShape, eval: &EvalContext<'_>) -> Result<Vec<Value>> {
    for (value, column) in values.iter_mut().zip(shape.columns()) {
        if let DataType::Varchar(limit) | DataType::Char(limit) = column.data_type
            && limit > 0
        {
            let given = std::mem::replace(value, Value::Null);
            *value = weft_expr::assign(given, DataType::Text, column.data_type, &column.name, eval.local)?;
        }
        if let (Value::Text(digits), true) = (&*value, column.data_type.is_bits()) {
            weft_expr::fit_bits(digits, column.data_type)?;
        }
    }
    Ok(values)
}

impl PreparedWrite {
    /// Reads, then writes.
    pub(super) fn merge(&self, plan: &MergePlan, context: &mut StatementContext<'_>) -> Result<Outcome> {
        let row_memory_bytes = context.txn.engine().status().row_memory_limit_bytes;
        let binding = || context.binding(&self.query);
        let read = context.engine.collect_within(&self.query, Purpose::Written, row_memory_bytes, binding)?;
        let rows = read.ok_or_else(|| self.too_large(row_memory_bytes, context.engine.memory_bytes() as u64))?;
        context.txn.end_query();
        let shape = context.shapes.shape(&self.table)?;
        let rng = Arc::clone(&context.txn.engine().env().rng);
        let eval = EvalContext { params: context.params, local: context.local, rng: Some(&*rng) };
        let changes = self.changes(plan, &rows.batches, &shape, context, &eval)?;
        let count = changes.deletes.len() + changes.updates.len() + changes.inserts.len();
        self.write_changes(plan, changes, &shape, context, &eval)?;
        Ok(Outcome::done(Tag::Merge(count as u64)))
    }

    fn changes(
        &self,
        plan: &MergePlan,
        batches: &[RecordBatch],
        shape: &TableShape,
        context: &StatementContext<'_>,
        eval: &EvalContext<'_>,
    ) -> Result<Changes> {
        let schema = &self.table.def.schema;
        let (keys, columns) = (self.key_columns, self.row_columns);
        let key_types = || schema.key.iter().map(|&ordinal| schema.columns[ordinal].data_type);
        let types: Vec<_> = key_types().chain(shape.columns().iter().map(|column| column.data_type)).collect();
        let mut changes = Changes::default();
        let mut touched: HashSet<Vec<u8>> = HashSet::new();
        for batch in batches {
            let stored = stored_columns(batch, types.iter().copied());
            let numbers = batch.column(keys + columns);
            for row in 0..batch.num_rows() {
                if row.is_multiple_of(CANCEL_ROWS) {
                    context.cancel.check()?;
                }
                let Value::Int(number) = value_at(numbers, row, DataType::BigInt) else { continue };
                let at = usize::try_from(number - 1).map_err(|_| Error::internal("actions are counted from 1"))?;
                let kind = plan.kinds.get(at).ok_or_else(|| Error::internal("a row has an action of its MERGE"))?;
                let values = || {
                    let value = |ordinal: usize| value_at(&stored[keys + ordinal], row, types[keys + ordinal]);
                    (0..columns).map(value).collect::<Vec<Value>>()
                };
                if let Kind::Nothing = kind {
                    continue;
                }
                if let Kind::Insert { numbered } = kind {
                    let mut values = fitting(values(), shape, eval)?;
                    for &ordinal in numbered {
                        values[ordinal] = shape.default_value(context.txn, ordinal, eval)?;
                    }
                    changes.inserts.push(values);
                    continue;
                }
                let key = stored[..keys].iter().zip(key_types());
                let key = self.table.keys.encode(key.map(|(array, data_type)| value_ref_at(array, row, data_type)));
                if !touched.insert(key.clone()) {
                    let message = "MERGE command cannot affect row a second time";
                    let error = Error::new(Code::CardinalityViolation, message);
                    return Err(error.hint("Ensure that not more than one source row matches any one target row."));
                }
                match kind {
                    Kind::Delete => changes.deletes.push(key),
                    _ => changes.updates.push((key, fitting(values(), shape, eval)?, at)),
                }
            }
        }
        Ok(changes)
    }

    fn write_changes(
        &self,
        plan: &MergePlan,
        changes: Changes,
        shape: &TableShape,
        context: &mut StatementContext<'_>,
        eval: &EvalContext<'_>,
    ) -> Result<()> {
        let table = &self.table;
        for key in &changes.deletes {
            if !context.txn.delete(table, key)? {
                return Err(self.gone());
            }
        }
        // Rows that move are put under their new keys when all have left the old ones: these are free for others.
        let mut moved = Vec::new();
        for (key, mut values, at) in changes.updates {
            context.cancel.check()?;
            shape.generate(&mut values, eval)?;
            let mode = self.mode(shape, plan.writes[at]);
            let wait = context.txn.lock_wait();
            let Some(old) = context.txn.lock_row(table, &key, mode, wait)? else { return Err(self.gone()) };
            let row = shape.complete_update(&old, &values, eval)?;
            let new_key = table.keys.of_row(&table.codec, &row);
            if new_key == key {
                context.txn.update_columns(table, &key, &row, mode)?;
                continue;
            }
            if !context.txn.delete(table, &key)? {
                return Err(self.gone());
            }
            moved.push((key, new_key, row));
        }
        for (key, new_key, row) in moved {
            context.txn.insert(table, &row)?;
            context.txn.note_moved(table, &key, &new_key);
        }
        let mut row = Vec::new();
        for mut values in changes.inserts {
            context.cancel.check()?;
            shape.generate(&mut values, eval)?;
            shape.complete(context.txn, &values, eval, &mut row)?;
            context.txn.insert(table, &row)?;
        }
        Ok(())
    }

    /// Conditions may read any column.
    fn mode(&self, shape: &TableShape, writes: ColumnSet) -> LockMode {
        shape.write_mode(ColumnSet::ALL, writes)
    }

    fn gone(&self) -> Error {
        let message = format!("a row of \"{}\" that this statement read is gone", self.table.def.name);
        Error::new(Code::SerializationFailure, message).hint("run the transaction again")
    }
}
