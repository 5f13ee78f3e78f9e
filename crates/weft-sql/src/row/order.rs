//! ORDER BY of a statement of the point engine: its few rows are sorted in memory.
//!
//! ```text
//!   SELECT a, b + 1 AS c FROM t WHERE ... ORDER BY c DESC, 1, lower(d)
//!     c         the result of that name, before any column of the table
//!     1         the first result
//!     lower(d)  over the table's columns
//! ```
//!
//! NULLs come last, with DESC first, unless NULLS FIRST or LAST says otherwise, as in PostgreSQL. Rows that are equal
//! in all expressions stay in key order.

use std::cmp::Ordering;
use std::sync::Arc;

use sqlparser::ast::{Expr as SqlExpr, OrderByKind, Query, Value as SqlValue};
use weft_format::{Result, Value};
use weft_kernel::index::IndexPart;

use super::Projection;
use super::access::Wish;
use crate::expr::{BindError, BindResult, Binder, EvalContext, Expr, Scope};
use crate::parse::fold;

/// What rows are sorted by.
pub(super) struct Order {
    items: Vec<Item>,
}

struct Item {
    expr: Expr,
    descending: bool,
    nulls_first: bool,
}

impl Order {
    /// Binds the ORDER BY of a query; none when it has none.
    pub(super) fn bind(
        query: &Query,
        projection: &Projection,
        scope: &Scope,
        binder: &mut Binder<'_>,
    ) -> BindResult<Option<Order>> {
        let Some(order) = &query.order_by else { return Ok(None) };
        let (OrderByKind::Expressions(list), None) = (&order.kind, &order.interpolate) else {
            return Err(BindError::Unsupported("this ORDER BY".into()));
        };
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            if item.with_fill.is_some() {
                return Err(BindError::Unsupported("ORDER BY ... WITH FILL".into()));
            }
            let expr = match output(&item.expr, projection)? {
                Some(expr) => expr,
                None => binder.bind(&item.expr, scope, None)?,
            };
            let descending = item.options.asc == Some(false);
            let nulls_first = item.options.nulls_first.unwrap_or(descending);
            items.push(Item { expr, descending, nulls_first });
        }
        Ok(Some(Order { items }))
    }

    /// What an index may order rows by, and the direction, when the order is all one way, NULLs where an index has
    /// them. Limited: only the first rows are wanted.
    pub(super) fn wish(&self, is_limited: bool) -> Option<Wish> {
        let descending = self.items.first().is_some_and(|item| item.descending);
        let is_plain = |item: &Item| item.descending == descending && item.nulls_first == descending;
        let part = |item: &Item| match item.expr.as_column() {
            Some(ordinal) => IndexPart::Column(ordinal),
            None => IndexPart::Expression(Arc::new(item.expr.clone())),
        };
        self.items.iter().all(is_plain).then(|| Wish {
            parts: self.items.iter().map(part).collect(),
            descending,
            is_limited,
        })
    }

    /// The expressions over the row.
    pub(super) fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.items.iter_mut().map(|item| &mut item.expr)
    }

    /// What a row is sorted by.
    pub(super) fn values(&self, row: &[Value], eval: &EvalContext<'_>) -> Result<Vec<Value>> {
        self.items.iter().map(|item| item.expr.eval(row, eval)).collect()
    }

    /// Compares what two rows are sorted by.
    pub(super) fn compare(&self, a: &[Value], b: &[Value]) -> Ordering {
        let mut pairs = self.items.iter().zip(a.iter().zip(b)).map(|(item, (a, b))| match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (a_null, b_null) if a_null || b_null => {
                if a_null == item.nulls_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            _ if item.descending => b.as_ref().compare(a.as_ref()),
            _ => a.as_ref().compare(b.as_ref()),
        });
        pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// The result that an expression of ORDER BY names; none when it is one over the table's columns.
fn output(expr: &SqlExpr, projection: &Projection) -> BindResult<Option<Expr>> {
    let not_here = || BindError::Unsupported(format!("ORDER BY {expr}"));
    match expr {
        SqlExpr::Value(value) => match &value.value {
            SqlValue::Number(digits, _) => {
                let position: usize = digits.parse().map_err(|_| not_here())?;
                let at = position.checked_sub(1).ok_or_else(not_here)?;
                projection.exprs.get(at).cloned().map(Some).ok_or_else(not_here)
            }
            SqlValue::Placeholder(_) => Ok(None),
            _ => Err(not_here()),
        },
        SqlExpr::Identifier(ident) => {
            let name = fold(ident);
            let mut named = projection.columns.iter().zip(&projection.exprs).filter(|(column, _)| column.name == name);
            match (named.next(), named.next()) {
                (Some((_, expr)), None) => Ok(Some(expr.clone())),
                (Some(_), Some(_)) => Err(not_here()),
                (None, _) => Ok(None),
            }
        }
        _ => Ok(None),
    }
}
