//! A planned statement that writes.

use std::sync::Arc;

use sqlparser::ast::{SelectItem, Statement};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::{ColumnSet, TableRef};

use super::lock::{self, Locking};
use super::stage::{Stage, numbered};
use super::{delete, insert, update};
use crate::binding::Tables;
use crate::context::StatementContext;
use crate::expr::EvalContext;
use crate::outcome::{Outcome, OutputColumn, Rows, Tag};
use crate::queries::{Collected, PreparedQuery, Purpose, QueryEngine};
use crate::row::Load;

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
    /// The row is locked.
    Lock(Box<Locking>),
}

/// An UPDATE, DELETE or INSERT whose reading part is planned. Good for any snapshot of the same catalog version.
///
/// The columns of the reading part, in this order: the old key (UPDATE, DELETE), the new row (INSERT, UPDATE: all
/// stored columns but a hidden row id of INSERT), what RETURNING gives or where the row lies (UPDATE).
pub(crate) struct PreparedWrite {
    pub(super) query: PreparedQuery,
    pub(super) table: TableRef,
    pub(super) write: Write,
    pub(super) key_columns: usize,
    pub(super) row_columns: usize,
    pub(super) returns: bool,
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
}

impl PreparedWrite {
    /// Plans an UPDATE, a DELETE, or an INSERT that the row engine does not run.
    pub(crate) fn prepare(
        engine: &dyn QueryEngine,
        tables: &dyn Tables,
        statement: &Statement,
        text: &str,
        local: &Local,
    ) -> Result<PreparedWrite> {
        match statement {
            Statement::Update(update) => update::prepare(engine, tables, update, text, local),
            Statement::Delete(delete) => delete::prepare(engine, tables, delete, text, local),
            Statement::Insert(insert) => insert::prepare(engine, tables, insert, text, local),
            Statement::Query(query) if !query.locks.is_empty() => lock::prepare(engine, tables, query, text, local),
            _ => Err(Error::internal("only UPDATE, DELETE and INSERT are planned as writes")),
        }
    }

    pub(super) fn new(parts: Parts) -> PreparedWrite {
        let Parts { query, table, write, key_columns, row_columns, returns } = parts;
        let shown = query.columns()[key_columns + row_columns..].to_vec();
        let columns: Arc<[OutputColumn]> = if returns { shown.into() } else { Arc::new([]) };
        let types = columns.iter().map(|column| column.data_type).collect();
        PreparedWrite { query, table, write, key_columns, row_columns, returns, columns, types }
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

    /// Reads, then stages. A failing row leaves earlier ones staged: the caller rolls back to its mark.
    pub(crate) fn execute(&self, context: &mut StatementContext<'_>) -> Result<Outcome> {
        if let Write::Lock(locking) = &self.write {
            let rows = self.lock(locking, context)?;
            let count = rows.batches.iter().map(|batch| batch.num_rows() as u64).sum();
            return self.shown(Tag::Select(count), rows);
        }
        if matches!(self.write, Write::Insert { .. }) && !self.returns && context.txn.can_build_in_parts(&self.table) {
            return self.load(context);
        }
        if let Write::Update { placed: Some(columns), .. } = &self.write {
            return self.update(columns, context);
        }
        // New rows may go to files of their own; changed ones are staged in memory.
        let row_memory_bytes = context.txn.engine().status().row_memory_limit_bytes;
        let bytes_max = if matches!(self.write, Write::Insert { .. }) { u64::MAX } else { row_memory_bytes };
        let binding = || context.binding(self.query.tables());
        let read = context.engine.collect_within(&self.query, Purpose::Written, bytes_max, binding)?;
        let mut rows = read.ok_or_else(|| self.too_large(row_memory_bytes, context.engine.memory_bytes() as u64))?;
        context.txn.end_query();
        let stage = Stage::new(self, context);
        let (count, kept) = stage.run(&rows.batches)?;
        let tag = match self.write {
            Write::Insert { .. } => Tag::Insert(count),
            Write::Update { .. } => Tag::Update(count),
            Write::Delete { .. } => Tag::Delete(count),
            Write::Lock(_) => unreachable!("returned above"),
        };
        if !self.returns {
            return Ok(Outcome::done(tag));
        }
        rows.batches = kept.unwrap_or(rows.batches);
        self.shown(tag, rows)
    }

    /// New rows go to their table while the query still runs; one that runs out of memory begins again (dml 1).
    fn load(&self, context: &mut StatementContext<'_>) -> Result<Outcome> {
        let shape = context.shape(&self.table.def.name)?;
        let rng = Arc::clone(&context.txn.engine().env().rng);
        let eval = EvalContext { params: context.params, local: context.local, rng: Some(&*rng) };
        loop {
            let mark = context.txn.mark();
            context.txn.admit_query()?;
            let mut rows = context.engine.execute(&self.query, context.binding(self.query.tables()))?;
            let mut load = Load::new(&shape, context.engine, context.txn, context.cancel);
            let error = loop {
                match rows.next_batch() {
                    Ok(Some(batch)) => {
                        let batch = numbered(&self.write, batch, &shape, context.txn, &eval)?;
                        shape.check_batch(&batch, &eval)?;
                        if let Err(error) = load.push(context.txn, batch) {
                            break error;
                        }
                    }
                    Ok(None) => {
                        drop(rows);
                        context.txn.end_query();
                        return Ok(Outcome::done(Tag::Insert(load.finish(context.txn)?)));
                    }
                    Err(error) => break error,
                }
            };
            drop((rows, load));
            if !context.engine.spares_after(&error, &self.query) {
                return Err(error);
            }
            context.txn.rollback_to(mark);
        }
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
    fn shown(&self, tag: Tag, mut rows: Collected) -> Result<Outcome> {
        let from = self.key_columns + self.row_columns;
        let shown: Vec<usize> = (from..self.query.columns().len()).collect();
        for batch in &mut rows.batches {
            let projected = batch.project(&shown);
            *batch = projected.map_err(|error| Error::new(Code::Internal, format!("RETURNING: {error}")))?;
        }
        let rows = Rows::from_collected(Arc::clone(&self.types), rows);
        Ok(Outcome { tag, columns: Arc::clone(&self.columns), rows })
    }
}

/// Whether a RETURNING clause is there.
pub(super) fn returns(items: Option<&Vec<SelectItem>>) -> bool {
    items.is_some_and(|items| !items.is_empty())
}
