//! The rows of a table that is altered: looked at, and stored anew.
//!
//! ```text
//!   t (a, b, __rowid)   ADD PRIMARY KEY (a)     rows as Arrow columns ─ changed ─▶ t (a, b, ✝), sorted by a: files
//! ```

use arrow::array::{ArrayRef, RecordBatch};
use weft_format::{Code, Error, Predicate, Result, Value};
use weft_kernel::index::{NewColumnIndex, NewIndex};
use weft_kernel::table::ScanRequest;
use weft_kernel::{NewTable, TableRef, Transaction};

use crate::values::value_at;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// From so many rows on they become files at once.
const BUILD_ROWS: usize = 20_000;

/// Calls `visit` with some columns of the rows that satisfy predicates, whatever the snapshot shows; the table's lock
/// is held alone.
pub(super) fn each_batch(
    txn: &Transaction,
    table: &TableRef,
    projection: &[usize],
    predicates: Vec<Predicate>,
    mut visit: impl FnMut(RecordBatch) -> Result<bool>,
) -> Result<()> {
    let view = txn.newest_view(table)?;
    let (projection, partition_count, batch_rows) = (projection.to_vec(), 1, BATCH_ROWS);
    let request = ScanRequest { view, projection, predicates, partition_count, batch_rows };
    for partition in &mut table.scan(request)?.partitions {
        while let Some(batch) = partition.next()? {
            txn.check_goes_on()?;
            if !visit(batch)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Whether some row satisfies predicates.
pub(super) fn has_row(txn: &Transaction, table: &TableRef, predicates: Vec<Predicate>) -> Result<bool> {
    let mut found = false;
    each_batch(txn, table, &[], predicates, |batch| {
        found |= batch.num_rows() > 0;
        Ok(!found)
    })?;
    Ok(found)
}

/// Whether a table has rows.
pub(crate) fn has_rows(txn: &Transaction, table: &TableRef) -> Result<bool> {
    has_row(txn, table, Vec::new())
}

/// Calls `visit` with the values of each row, one per stored column.
pub(super) fn each_row(
    txn: &Transaction,
    table: &TableRef,
    mut visit: impl FnMut(Vec<Value>) -> Result<()>,
) -> Result<()> {
    let columns = &table.def.schema.columns;
    let all: Vec<usize> = (0..columns.len()).collect();
    each_batch(txn, table, &all, Vec::new(), |batch| {
        for row in 0..batch.num_rows() {
            let value = |at: usize| value_at(batch.column(at), row, columns[at].data_type);
            visit(all.iter().map(|&at| value(at)).collect())?;
        }
        Ok(true)
    })
}

/// Stores a table anew under another definition; `change` makes the columns of a batch those of the new table. Indexes
/// are made again.
pub(crate) fn rewrite(
    txn: &mut Transaction,
    table: &TableRef,
    new: NewTable,
    mut change: impl FnMut(&mut Transaction, &RecordBatch) -> Result<Vec<ArrayRef>>,
) -> Result<TableRef> {
    txn.lock_definition(table)?;
    let all: Vec<usize> = (0..table.def.schema.columns.len()).collect();
    let mut old: Vec<RecordBatch> = Vec::new();
    each_batch(txn, table, &all, Vec::new(), |batch| {
        old.push(batch);
        Ok(true)
    })?;
    let columns: Vec<usize> = (0..new.schema.columns.len()).collect();
    let arrow = new.schema.arrow(&columns);
    let mut batches = Vec::with_capacity(old.len());
    for batch in old {
        txn.check_goes_on()?;
        let arrays = change(txn, &batch)?;
        let changed = RecordBatch::try_new(arrow.clone(), arrays);
        batches.push(changed.map_err(|error| Error::internal(format!("rows stored anew: {error}")))?);
    }
    let made = replace(txn, table, new)?;
    let count: usize = batches.iter().map(RecordBatch::num_rows).sum();
    if count >= BUILD_ROWS && txn.can_build(&made) {
        txn.build(&made, &batches)?;
    } else {
        batches.iter().try_for_each(|batch| txn.insert_batch(&made, batch.columns()))?;
    }
    Ok(made)
}

/// A new table in the place of another, without rows, with the same indexes.
fn replace(txn: &mut Transaction, table: &TableRef, new: NewTable) -> Result<TableRef> {
    let indexes = txn.indexes_of(table);
    let indexes: Vec<NewIndex> = indexes.iter().map(|index| NewIndex::of(&index.def, &index.index)).collect();
    let columns = txn.column_indexes_of(table);
    let columns = columns.iter().map(|columns| NewColumnIndex::again(&columns.def)).collect::<Result<Vec<_>>>()?;
    let made = txn.replace_table(table, new)?;
    indexes.into_iter().try_for_each(|index| txn.create_index(&made, index))?;
    columns.into_iter().try_for_each(|columns| txn.create_column_index(&made, columns).map(drop))?;
    Ok(made)
}

/// Takes all rows out of a table.
pub(crate) fn truncate(txn: &mut Transaction, table: &TableRef) -> Result<TableRef> {
    emptied(txn, table, |_| ())
}

/// A table without rows in the place of another, with something changed in its definition.
pub(crate) fn emptied(txn: &mut Transaction, table: &TableRef, change: impl FnOnce(&mut NewTable)) -> Result<TableRef> {
    let mut new = NewTable::of(&table.def);
    new.schema.evolution.missing = None;
    new.schema.evolution.first_columns = 0;
    change(&mut new);
    replace(txn, table, new)
}

/// The error of a column that has NULL where it must not.
pub(super) fn contains_nulls(table: &TableRef, column: &str) -> Error {
    let name = &table.def.name;
    let message = format!("column \"{column}\" of relation \"{name}\" contains null values");
    Error::new(Code::NotNullViolation, message).about(name, Some(column), None)
}
