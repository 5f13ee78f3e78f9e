//! SELECT ... FOR UPDATE and FOR SHARE as a query of keys and results, whose rows are then locked.
//!
//! ```text
//!   SELECT job FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
//!   few    SELECT id AS k0, job ... ORDER BY id LIMIT 101      usually enough: locked until there is 1
//!   all    the same without LIMIT                              when the first 101 are locked by others
//! ```

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use sqlparser::ast::{Expr, LimitClause, Query, SetExpr, TableFactor, TableWithJoins, Value};
use weft_expr::Local;
use weft_format::{Error, Result};
use weft_kernel::Transaction;

use super::lock_joined::{self, check, has_aggregate, refused, shift_positions};
use super::syntax::{aliased, column, hidden, returning, target, target_relation, unsupported};
use super::write::{LockedTable, Locking, Parts, PreparedWrite, Write};
use crate::binding::Tables;
use crate::context::StatementContext;
use crate::locking::RowLocking;
use crate::queries::{Collected, PreparedQuery, QueryEngine};
use crate::values::value_ref_at;

/// Rows read beyond those asked for, in the hope that no more are locked.
const SPARE_ROWS: u64 = 100;

/// Plans a query with locking clauses.
pub(super) fn prepare(
    engine: &dyn QueryEngine,
    tables: &dyn Tables,
    query: &Query,
    text: &str,
    local: &Local,
) -> Result<PreparedWrite> {
    let mut query = query.clone();
    let clause = query.locks.first().map_or_else(|| "FOR UPDATE".into(), |lock| format!("FOR {}", lock.lock_type));
    let refused = |what: &str| refused(&clause, what);
    let SetExpr::Select(select) = &*query.body else { return Err(refused("UNION, INTERSECT, EXCEPT or VALUES")) };
    let one = match &select.from[..] {
        [only] if query.with.is_none() => target(only).ok().filter(|_| !select.from.iter().any(reads_subquery)),
        _ => None,
    };
    let Some((name, shown)) = one else {
        let (query, locked) = lock_joined::written_out(engine, tables, &query)?;
        let tables = lock_joined::Targets::new(tables, &locked);
        let plan = |query: &Query| engine.prepare_query(&tables, query, text, None, local);
        return planned(query, locked, plan);
    };
    check(select, &refused)?;
    if has_aggregate(engine, select) {
        return Err(refused("aggregate functions"));
    }
    let table = tables.table(&name)?;
    let schema = &table.def.schema;
    let shown_name = crate::parse::fold(&shown);
    let rows = RowLocking::of_query(&query, &table, &shown_name)?;
    let rows = rows.ok_or_else(|| Error::internal("a query without locking clauses is not planned here"))?;

    let SetExpr::Select(select) = &mut *query.body else { return Err(refused("a set operation")) };
    let mut items = Vec::with_capacity(schema.key.len() + select.projection.len());
    for &ordinal in &schema.key {
        items.push(aliased(column(&shown, &schema.columns[ordinal].name), &hidden('k', ordinal)));
    }
    items.extend(returning(&select.projection, schema, &shown));
    select.projection = items;
    select.from = vec![target_relation(select.from[0].clone(), &shown)];
    query.locks.clear();
    shift_positions(&mut query, schema.key.len() as u64);
    let plan = |query: &Query| engine.prepare_query(tables, query, text, Some(table.clone()), local);
    planned(query, vec![LockedTable { table: table.clone(), first: 0, rows }], plan)
}

/// The write of a query whose first columns are the keys of these tables.
fn planned(
    mut query: Query,
    locked: Vec<LockedTable>,
    plan: impl Fn(&Query) -> Result<PreparedQuery>,
) -> Result<PreparedWrite> {
    let mut window = None;
    if locked.iter().any(|locked| locked.rows.skips) && query.limit_clause.is_some() {
        let (offset, limit) = bounds(&query)?;
        let mut few = query.clone();
        let most = offset.saturating_add(limit).saturating_add(SPARE_ROWS);
        few.limit_clause =
            Some(LimitClause::LimitOffset { limit: Some(number(most)?), offset: None, limit_by: vec![] });
        query.limit_clause = None;
        window = Some((offset, limit, plan(&few)?));
    }
    let key_columns = locked.iter().map(|locked| locked.table.def.schema.key.len()).sum();
    let Some(first) = locked.first() else { return Err(refused("FOR UPDATE", "no table in FROM")) };
    Ok(PreparedWrite::new(Parts {
        query: plan(&query)?,
        table: first.table.clone(),
        write: Write::Lock(Box::new(Locking { tables: locked, window })),
        key_columns,
        row_columns: 0,
        returns: true,
        checks: Vec::new(),
    }))
}

fn reads_subquery(table: &TableWithJoins) -> bool {
    !matches!(table.relation, TableFactor::Table { .. })
}

/// OFFSET and LIMIT as plain numbers.
fn bounds(query: &Query) -> Result<(u64, u64)> {
    let plain = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            Value::Null => Some(u64::MAX),
            _ => None,
        },
        _ => None,
    };
    let wrong = || unsupported("SKIP LOCKED with a LIMIT or OFFSET that is not a plain number");
    match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => Ok((
            offset.as_ref().map_or(Some(0), |offset| plain(&offset.value)).ok_or_else(wrong)?,
            limit.as_ref().map_or(Some(u64::MAX), plain).ok_or_else(wrong)?,
        )),
        _ => Err(wrong()),
    }
}

fn number(value: u64) -> Result<Expr> {
    super::syntax::stored_expression(&value.min(i64::MAX as u64).to_string())
}

impl PreparedWrite {
    /// Reads, locks, and returns the rows that were locked, with their keys in front.
    pub(super) fn lock(&self, locking: &Locking, context: &mut StatementContext<'_>) -> Result<Collected> {
        let Some((offset, limit, few)) = &locking.window else {
            return Ok(self.lock_rows(&self.query, locking, (0, u64::MAX), context)?.0);
        };
        let (kept, read) = self.lock_rows(few, locking, (*offset, *limit), context)?;
        let found: u64 = kept.batches.iter().map(|batch| batch.num_rows() as u64).sum();
        if found == *limit || read < offset.saturating_add(*limit).saturating_add(SPARE_ROWS) {
            return Ok(kept);
        }
        // Rows that were locked just now are locked again at no cost.
        Ok(self.lock_rows(&self.query, locking, (*offset, *limit), context)?.0)
    }

    /// The locked rows of a query, and how many were read.
    fn lock_rows(
        &self,
        query: &PreparedQuery,
        locking: &Locking,
        (mut skip, limit): (u64, u64),
        context: &mut StatementContext<'_>,
    ) -> Result<(Collected, u64)> {
        context.txn.admit_query()?;
        let mut collected = context.engine.collect(query, || context.binding(query))?;
        context.txn.end_query();
        let (mut count, mut read) = (0, 0);
        for batch in &mut collected.batches {
            let mut keep = vec![false; batch.num_rows()];
            for (row, keep) in keep.iter_mut().enumerate() {
                if count == limit {
                    break;
                }
                context.cancel.check()?;
                let is_locked = |locked: &LockedTable| locked.lock(context.txn, batch, row);
                if !all(&locking.tables, is_locked)? {
                    continue;
                }
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                *keep = true;
                count += 1;
            }
            read += batch.num_rows() as u64;
            let rows = filter_record_batch(batch, &BooleanArray::from(keep));
            *batch = rows.map_err(|error| Error::internal(error.to_string()))?;
        }
        Ok((collected, read))
    }
}

/// Whether all are; those behind the first that is not are not asked.
fn all(tables: &[LockedTable], mut is_locked: impl FnMut(&LockedTable) -> Result<bool>) -> Result<bool> {
    for table in tables {
        if !is_locked(table)? {
            return Ok(false);
        }
    }
    Ok(true)
}

impl LockedTable {
    /// Locks the table's row that a row of the query has the key of; false when it is left out.
    fn lock(&self, txn: &mut Transaction, batch: &RecordBatch, row: usize) -> Result<bool> {
        let schema = &self.table.def.schema;
        // The side of an outer join that has no row here: nothing to lock.
        if batch.columns()[self.first].is_null(row) {
            return Ok(true);
        }
        let key = schema.key.iter().enumerate().map(|(place, &ordinal)| {
            let array = &batch.columns()[self.first + place];
            value_ref_at(array, row, schema.columns[ordinal].data_type)
        });
        let key = self.table.keys.encode(key);
        self.rows.lock(txn, &self.table, &key)
    }
}
