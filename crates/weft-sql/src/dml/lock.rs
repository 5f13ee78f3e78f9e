//! SELECT ... FOR UPDATE and FOR SHARE as a query of keys and results, whose rows are then locked.
//!
//! ```text
//!   SELECT job FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
//!   few    SELECT id AS k0, job ... ORDER BY id LIMIT 101      usually enough: locked until there is 1
//!   all    the same without LIMIT                              when the first 101 are locked by others
//!
//!   ... LIMIT $1 FOR UPDATE SKIP LOCKED
//!   few    SELECT id AS k0, NULL::bigint AS b0, $1::bigint AS b1, job ... LIMIT 200      the rows say how many
//! ```

use std::ops::ControlFlow;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use sqlparser::ast::{
    CastKind, DataType as SqlType, Expr, LimitClause, Query, SetExpr, TableFactor, TableWithJoins, Value,
};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};
use weft_kernel::Transaction;
use weft_walk::visit_expressions;

use super::lock_joined::{self, check, has_aggregate, refused, shift_positions};
use super::syntax::{aliased, column, hidden, returning, target, target_relation, unsupported};
use super::write::{LockBounds, LockWindow, LockedTable, Locking, Parts, PreparedWrite, Write};
use crate::binding::Tables;
use crate::context::StatementContext;
use crate::locking::RowLocking;
use crate::queries::{Collected, PreparedQuery, QueryEngine};
use crate::values::{value_at, value_ref_at};

/// Rows read beyond those asked for, in the hope that no more are locked.
const SPARE_ROWS: u64 = 100;

/// Rows that LIMIT and OFFSET are thought to ask for when they are not known yet.
const GUESSED_ROWS: u64 = 100;

const BIGINT: DataType = DataType::BigInt;

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
    let mut key_columns: usize = locked.iter().map(|locked| locked.table.def.schema.key.len()).sum();
    let mut window = None;
    if locked.iter().any(|locked| locked.rows.skips) && (query.limit_clause.is_some() || query.fetch.is_some()) {
        let given = take_bounds(&mut query)?;
        let (bounds, most) = match [plain(given[0].as_ref(), 0), plain(given[1].as_ref(), u64::MAX)] {
            [Some(offset), Some(limit)] => (LockBounds::Plain(offset, limit), offset.saturating_add(limit)),
            _ => {
                let place = key_columns;
                put_bounds(&mut query, place, given)?;
                key_columns += 2;
                (LockBounds::Columns(place), GUESSED_ROWS)
            }
        };
        let most = most.saturating_add(SPARE_ROWS);
        let mut few = query.clone();
        few.limit_clause =
            Some(LimitClause::LimitOffset { limit: Some(number(most)?), offset: None, limit_by: vec![] });
        window = Some(LockWindow { bounds, few: plan(&few)?, most });
    }
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

/// OFFSET and LIMIT of a query, which it has no more.
fn take_bounds(query: &mut Query) -> Result<[Option<Expr>; 2]> {
    let (mut offset, mut limit) = match query.limit_clause.take() {
        Some(LimitClause::LimitOffset { limit, offset, .. }) => (offset.map(|offset| offset.value), limit),
        Some(LimitClause::OffsetCommaLimit { .. }) => return Err(unsupported("LIMIT with a comma")),
        None => (None, None),
    };
    if let Some(fetch) = query.fetch.take() {
        if fetch.with_ties {
            let message = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(Error::new(Code::SyntaxError, message));
        }
        if fetch.percent {
            return Err(unsupported("SKIP LOCKED with FETCH ... PERCENT"));
        }
        limit = Some(fetch.quantity.map_or_else(|| number(1), Ok)?);
    }
    for bound in [&mut offset, &mut limit] {
        while let Some(Expr::Nested(inner)) = bound {
            *bound = Some((**inner).clone());
        }
    }
    Ok([offset, limit])
}

/// A bound that is a plain number, or is not there.
fn plain(bound: Option<&Expr>, missing: u64) -> Option<u64> {
    match bound {
        None => Some(missing),
        Some(Expr::Value(value)) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            Value::Null => Some(missing),
            _ => None,
        },
        Some(_) => None,
    }
}

/// Puts OFFSET and LIMIT among the columns of a query.
fn put_bounds(query: &mut Query, place: usize, bounds: [Option<Expr>; 2]) -> Result<()> {
    let SetExpr::Select(select) = &mut *query.body else { return Err(Error::internal("a locked query is a SELECT")) };
    let null = || Expr::Value(Value::Null.into());
    for (at, bound) in bounds.into_iter().enumerate() {
        let expr = Box::new(bound.unwrap_or_else(null));
        let names = |part: &Expr| match part {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        if visit_expressions(&*expr, names).is_break() {
            return Err(unsupported("SKIP LOCKED with a LIMIT or OFFSET of columns or subqueries"));
        }
        let data_type = SqlType::BigInt(None);
        let cast = Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None, array: false };
        select.projection.insert(place + at, aliased(cast, &hidden('b', at)));
    }
    shift_positions(query, 2);
    Ok(())
}

fn number(value: u64) -> Result<Expr> {
    super::syntax::stored_expression(&value.min(i64::MAX as u64).to_string())
}

impl PreparedWrite {
    /// Reads, locks, and returns the rows that were locked, with their keys in front.
    pub(super) fn lock(&self, locking: &Locking, context: &mut StatementContext<'_>) -> Result<Collected> {
        let Some(window) = &locking.window else {
            return Ok(self.lock_rows(&self.query, locking, &LockBounds::Plain(0, u64::MAX), context)?.rows);
        };
        let first = self.lock_rows(&window.few, locking, &window.bounds, context)?;
        if first.is_enough || first.read < window.most {
            return Ok(first.rows);
        }
        // Rows that were locked just now are locked again at no cost.
        Ok(self.lock_rows(&self.query, locking, &window.bounds, context)?.rows)
    }

    /// The locked rows of a query.
    fn lock_rows(
        &self,
        query: &PreparedQuery,
        locking: &Locking,
        bounds: &LockBounds,
        context: &mut StatementContext<'_>,
    ) -> Result<LockedRows> {
        context.txn.admit_query()?;
        let mut rows = context.engine.collect(query, || context.binding(query))?;
        context.txn.end_query();
        let (mut skip, limit) = bounds.of(&rows.batches)?;
        let (mut count, mut read) = (0, 0);
        for batch in &mut rows.batches {
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
            let kept = filter_record_batch(batch, &BooleanArray::from(keep));
            *batch = kept.map_err(|error| Error::internal(error.to_string()))?;
        }
        Ok(LockedRows { rows, read, is_enough: count == limit })
    }
}

/// Rows that were locked.
struct LockedRows {
    rows: Collected,
    /// How many rows there were.
    read: u64,
    /// Whether they are as many as LIMIT says.
    is_enough: bool,
}

impl LockBounds {
    /// OFFSET and LIMIT, which each row says.
    fn of(&self, rows: &[RecordBatch]) -> Result<(u64, u64)> {
        let place = match self {
            LockBounds::Plain(offset, limit) => return Ok((*offset, *limit)),
            LockBounds::Columns(place) => *place,
        };
        let Some(first) = rows.iter().find(|batch| batch.num_rows() > 0) else { return Ok((0, u64::MAX)) };
        let bound =
            |at: usize, missing: u64, code: Code, word: &str| match value_at(first.column(place + at), 0, BIGINT) {
                weft_format::Value::Int(number) => {
                    u64::try_from(number).map_err(|_| Error::new(code, format!("{word} must not be negative")))
                }
                _ => Ok(missing),
            };
        let limit = bound(1, u64::MAX, Code::InvalidRowCount, "LIMIT")?;
        Ok((bound(0, 0, Code::InvalidRowOffset, "OFFSET")?, limit))
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
