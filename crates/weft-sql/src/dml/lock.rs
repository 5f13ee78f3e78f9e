//! SELECT ... FOR UPDATE and FOR SHARE as a query of keys and results, whose rows are then locked.
//!
//! ```text
//!   SELECT job FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
//!   few    SELECT id AS k0, job ... ORDER BY id LIMIT 101      usually enough: locked until there is 1
//!   all    the same without LIMIT                              when the first 101 are locked by others
//! ```

use std::ops::ControlFlow;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use sqlparser::ast::{Expr, LimitClause, OrderByKind, Query, Select, SetExpr, Value};
use weft_expr::Local;
use weft_format::{Code, DataType, Error, Result};

use super::syntax::{aliased, column, hidden, returning, target, target_relation, unsupported};
use super::write::{Locking, Parts, PreparedWrite, Write};
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
    let refused = |what: &str| {
        Error::new(Code::FeatureNotSupported, format!("{clause} is not allowed with {what}"))
            .hint("lock the rows of one table by a query of that table alone")
    };
    let SetExpr::Select(select) = &*query.body else { return Err(refused("UNION, INTERSECT, EXCEPT or VALUES")) };
    if query.with.is_some() {
        return Err(refused("WITH"));
    }
    check(select, &refused)?;
    if has_aggregate(engine, select) {
        return Err(refused("aggregate functions"));
    }
    let [only] = &select.from[..] else { return Err(refused("several tables")) };
    let (name, shown) = target(only).map_err(|_| refused("anything but one table in FROM"))?;
    let table = tables.table(&name)?;
    let schema = &table.def.schema;
    let shown_name = crate::parse::fold(&shown);
    let rows = RowLocking::of_query(&query, &table.def, &shown_name)?;
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
    let mut window = None;
    if rows.skips && query.limit_clause.is_some() {
        let (offset, limit) = bounds(&query)?;
        let mut few = query.clone();
        let most = offset.saturating_add(limit).saturating_add(SPARE_ROWS);
        few.limit_clause =
            Some(LimitClause::LimitOffset { limit: Some(number(most)?), offset: None, limit_by: vec![] });
        query.limit_clause = None;
        window = Some((offset, limit, plan(&few)?));
    }
    Ok(PreparedWrite::new(Parts {
        query: plan(&query)?,
        write: Write::Lock(Box::new(Locking { rows, window })),
        key_columns: schema.key.len(),
        row_columns: 0,
        returns: true,
        checks: Vec::new(),
        table,
    }))
}

fn check(select: &Select, refused: &impl Fn(&str) -> Error) -> Result<()> {
    use sqlparser::ast::GroupByExpr;
    let groups = match &select.group_by {
        GroupByExpr::Expressions(exprs, modifiers) => !exprs.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    if groups || select.having.is_some() {
        return Err(refused("GROUP BY or HAVING"));
    }
    if select.distinct.is_some() {
        return Err(refused("DISTINCT"));
    }
    if !select.named_window.is_empty() {
        return Err(refused("window functions"));
    }
    Ok(())
}

fn has_aggregate(engine: &dyn QueryEngine, select: &Select) -> bool {
    let found = sqlparser::ast::visit_expressions(&select.projection, |expr| match expr {
        Expr::Function(function) if engine.is_aggregate(&function.name.to_string()) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// `ORDER BY 1` counts the columns that are shown; the keys come before them.
fn shift_positions(query: &mut Query, by: u64) {
    let Some(order) = &mut query.order_by else { return };
    let OrderByKind::Expressions(exprs) = &mut order.kind else { return };
    for item in exprs {
        if let Expr::Value(value) = &mut item.expr
            && let Value::Number(digits, _) = &mut value.value
            && let Ok(position) = digits.parse::<u64>()
        {
            *digits = (position + by).to_string();
        }
    }
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
        let schema = &self.table.def.schema;
        let types: Vec<DataType> = schema.key.iter().map(|&ordinal| schema.columns[ordinal].data_type).collect();
        let (mut count, mut read) = (0, 0);
        for batch in &mut collected.batches {
            let mut keep = vec![false; batch.num_rows()];
            for (row, keep) in keep.iter_mut().enumerate() {
                if count == limit {
                    break;
                }
                context.cancel.check()?;
                let key = batch.columns()[..types.len()].iter().zip(&types);
                let key = self.table.keys.encode(key.map(|(array, data_type)| value_ref_at(array, row, *data_type)));
                if !locking.rows.lock(context.txn, &self.table, &key)? {
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
