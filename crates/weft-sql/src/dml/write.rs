//! A planned statement that writes: its reading part, and what happens to each row.

use std::sync::Arc;

use arrow::array::RecordBatch;
use sqlparser::ast::SelectItem;
use weft_format::{Code, DataType, Error, Result, Value};
use weft_kernel::{ColumnSet, TableRef};

use super::merge_plan::MergePlan;
use crate::locking::RowLocking;
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::queries::{Collected, PreparedQuery};
use crate::row::violates;
use crate::values::value_at;

/// How rows are locked and counted.
pub(super) struct Locking {
    /// The tables, where their keys are among the columns, and how they are locked.
    pub(super) tables: Vec<LockedTable>,
    /// With SKIP LOCKED and LIMIT or OFFSET.
    pub(super) window: Option<LockWindow>,
}

/// OFFSET and LIMIT, which count locked rows only.
pub(super) struct LockWindow {
    pub(super) bounds: LockBounds,
    /// The query of the first rows.
    pub(super) few: PreparedQuery,
    /// How many rows it gives at most.
    pub(super) most: u64,
}

/// How many rows are left out, and how many are returned.
pub(super) enum LockBounds {
    Plain(u64, u64),
    /// OFFSET and LIMIT are this column and the next one.
    Columns(usize),
}

/// A table of which rows are locked.
pub(super) struct LockedTable {
    pub(super) table: TableRef,
    pub(super) first: usize,
    pub(super) rows: RowLocking,
}

/// What happens to each row that was read.
pub(super) enum Write {
    Insert {
        /// Columns that take numbers from sequences.
        numbered: Vec<usize>,
    },
    Update {
        changes_key: bool,
        may_repeat: bool,
        /// Columns that decide which rows are changed and to what, and the columns that are set.
        reads: ColumnSet,
        writes: ColumnSet,
        /// The columns that are set, when the query says behind the new rows where the old ones lie.
        placed: Option<Vec<usize>>,
    },
    Delete {
        may_repeat: bool,
    },
    /// What the action says whose number is behind the new row.
    Merge(Box<MergePlan>),
    /// The row is locked.
    Lock(Box<Locking>),
}

/// An UPDATE, DELETE or INSERT whose reading part is planned. Good for any snapshot of the same catalog version.
///
/// The columns of the reading part, in this order: the old key (UPDATE, DELETE), the new row (INSERT, UPDATE: all
/// stored columns but a hidden row id of INSERT), whether it meets the conditions of views, what RETURNING gives or
/// where the row lies (UPDATE).
pub(crate) struct PreparedWrite {
    pub(super) query: PreparedQuery,
    pub(super) table: TableRef,
    pub(super) write: Write,
    pub(super) key_columns: usize,
    pub(super) row_columns: usize,
    pub(super) returns: bool,
    /// The views whose conditions new rows must meet; the query says of each whether they do.
    pub(super) checks: Vec<String>,
    columns: Arc<[OutputColumn]>,
    types: Arc<[DataType]>,
}

/// What [`PreparedWrite::new`] puts together.
pub(super) struct Parts {
    pub(super) query: PreparedQuery,
    pub(super) table: TableRef,
    pub(super) write: Write,
    pub(super) key_columns: usize,
    pub(super) row_columns: usize,
    pub(super) returns: bool,
    pub(super) checks: Vec<String>,
}

impl PreparedWrite {
    pub(super) fn new(parts: Parts) -> PreparedWrite {
        let Parts { query, table, write, key_columns, row_columns, returns, checks } = parts;
        let shown = shown_of(&query, &write, key_columns + row_columns + checks.len());
        let shown = shown.into_iter().map(|place| query.columns()[place].clone()).collect::<Vec<_>>();
        let columns: Arc<[OutputColumn]> = if returns { shown.into() } else { Arc::new([]) };
        let types = columns.iter().map(|column| column.data_type).collect();
        PreparedWrite { query, table, write, key_columns, row_columns, returns, checks, columns, types }
    }

    /// The columns of RETURNING.
    pub(crate) fn columns(&self) -> &Arc<[OutputColumn]> {
        &self.columns
    }

    /// The types of `$1`, `$2`, ...
    pub(crate) fn param_types(&self) -> &[Option<DataType>] {
        self.query.param_types()
    }

    /// The table that it writes.
    pub(crate) fn table(&self) -> &TableRef {
        &self.table
    }

    /// The reading part.
    pub(crate) fn query(&self) -> &PreparedQuery {
        &self.query
    }

    /// The place of the first column behind the rows and what views say of them.
    pub(super) fn behind_checks(&self) -> usize {
        self.key_columns + self.row_columns + self.checks.len()
    }

    /// Tests what views say of new rows.
    pub(super) fn check_views(&self, batch: &RecordBatch) -> Result<()> {
        let from = self.key_columns + self.row_columns;
        for row in 0..batch.num_rows() {
            for (at, view) in self.checks.iter().enumerate() {
                if value_at(batch.column(from + at), row, DataType::Boolean) != Value::Bool(true) {
                    return Err(violates(view));
                }
            }
        }
        Ok(())
    }

    pub(super) fn too_large(&self, row_memory_bytes: u64, query_memory_bytes: u64) -> Error {
        let (what, remedy) = match self.write {
            Write::Insert { .. } => ("inserts", "insert"),
            Write::Delete { .. } => ("deletes", "delete"),
            _ => ("changes", "change"),
        };
        let (of, bytes) = if matches!(self.write, Write::Insert { .. }) || query_memory_bytes < row_memory_bytes {
            ("the memory of queries", query_memory_bytes)
        } else {
            ("row memory", row_memory_bytes)
        };
        let message = format!("the statement {what} more rows than {of} holds ({bytes} bytes)");
        Error::new(Code::OutOfMemory, message).hint(format!("{remedy} fewer rows at a time, or raise memory_limit"))
    }

    /// The outcome with what RETURNING or the SELECT list shows of the rows that were read.
    pub(super) fn shown(&self, tag: Tag, mut rows: Collected) -> Result<Outcome> {
        let shown = shown_of(&self.query, &self.write, self.behind_checks());
        for batch in &mut rows.batches {
            let projected = batch.project(&shown);
            *batch = projected.map_err(|error| Error::new(Code::Internal, format!("RETURNING: {error}")))?;
        }
        let rows = Rows::from_collected(Arc::clone(&self.types), rows);
        Ok(Outcome { tag, columns: Arc::clone(&self.columns), rows })
    }
}

/// The columns that are shown, from a place on: keys of joined tables that are locked have no name.
fn shown_of(query: &PreparedQuery, write: &Write, from: usize) -> Vec<usize> {
    let is_hidden = |place: &usize| matches!(write, Write::Lock(_)) && query.columns()[*place].name.is_empty();
    (from..query.columns().len()).filter(|place| !is_hidden(place)).collect()
}

/// Whether a RETURNING clause is there.
pub(super) fn returns(items: Option<&Vec<SelectItem>>) -> bool {
    items.is_some_and(|items| !items.is_empty())
}
