//! Names of result columns stand alone in GROUP BY and ORDER BY, and nowhere else.
//!
//! ```text
//!   SELECT a % 2 AS x ... GROUP BY x                          the result column
//!   SELECT a % 2 AS x ... GROUP BY x + 1, HAVING x > 0        42703 unless FROM has a column x, which is meant then
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, GroupByExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, Visitor, VisitorMut};
use weft_format::{Code, Error, Result};
use weft_walk::{Visit, VisitMut};

use weft_sql::queries::names::folded;

/// The names that a SELECT gives to its result columns.
pub(super) fn given(select: &Select) -> Vec<String> {
    let alias = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    };
    select.projection.iter().filter_map(alias).collect()
}

/// The first of the names that is used inside an expression of GROUP BY or HAVING.
pub(super) fn misused(select: &Select, names: &[String]) -> Option<String> {
    let grouped: &[Expr] = match &select.group_by {
        GroupByExpr::Expressions(exprs, _) => exprs,
        GroupByExpr::All(_) => &[],
    };
    let grouped = grouped.iter().find_map(|expr| in_group(expr, names));
    grouped.or_else(|| select.having.as_ref().and_then(|having| inside(having, names)))
}

/// The same for the ORDER BY of a query.
pub(super) fn misused_in_order(query: &Query, names: &[String]) -> Option<String> {
    let Some(OrderBy { kind: OrderByKind::Expressions(exprs), .. }) = &query.order_by else { return None };
    exprs.iter().find_map(|by| beyond_a_name(&by.expr, names))
}

/// Has a name inside an expression of ORDER BY mean the column of a relation.
pub(super) fn qualify_in_order(query: &mut Query, name: &str, table: &Ident) {
    let Some(OrderBy { kind: OrderByKind::Expressions(exprs), .. }) = &mut query.order_by else { return };
    for by in exprs.iter_mut().filter(|by| beyond_a_name(&by.expr, &[name.to_owned()]).is_some()) {
        let _ = VisitMut::visit(&mut by.expr, &mut Qualifier { name, table, depth: 0 });
    }
}

struct Qualifier<'a> {
    name: &'a str,
    table: &'a Ident,
    depth: usize,
}

impl VisitorMut for Qualifier<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(ident) = expr
            && self.depth == 0
            && folded(ident) == self.name
        {
            *expr = Expr::CompoundIdentifier(vec![self.table.clone(), ident.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// `GROUP BY ()` is the grouping set without columns, `GROUP BY (a, b)` is `GROUP BY a, b`.
pub(super) fn write_plain_keys(select: &mut Select) {
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else { return };
    if !keys.iter().any(|key| matches!(key, Expr::Tuple(_))) {
        return;
    }
    for key in std::mem::take(keys) {
        match key {
            Expr::Tuple(columns) if columns.is_empty() => keys.push(Expr::GroupingSets(vec![Vec::new()])),
            Expr::Tuple(columns) => keys.extend(columns),
            other => keys.push(other),
        }
    }
}

/// That no FROM has the column.
pub(super) fn undefined(name: &str) -> Result<()> {
    let error = Error::new(Code::UndefinedColumn, format!("column \"{name}\" does not exist"));
    Err(error.hint("a result column's name stands alone in GROUP BY and ORDER BY; repeat its expression"))
}

fn in_group(expr: &Expr, names: &[String]) -> Option<String> {
    match expr {
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
            sets.iter().flatten().find_map(|expr| in_group(expr, names))
        }
        Expr::Tuple(exprs) => exprs.iter().find_map(|expr| in_group(expr, names)),
        other => beyond_a_name(other, names),
    }
}

fn beyond_a_name(expr: &Expr, names: &[String]) -> Option<String> {
    match expr {
        Expr::Identifier(_) => None,
        Expr::Nested(inner) => beyond_a_name(inner, names),
        other => inside(other, names),
    }
}

fn inside(expr: &Expr, names: &[String]) -> Option<String> {
    match Visit::visit(expr, &mut Finder { names, depth: 0 }) {
        ControlFlow::Break(name) => Some(name),
        ControlFlow::Continue(()) => None,
    }
}

struct Finder<'a> {
    names: &'a [String],
    /// Queries inside have names of their own.
    depth: usize,
}

impl Visitor for Finder<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<String> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        match expr {
            Expr::Identifier(ident) if self.depth == 0 && self.names.contains(&folded(ident)) => {
                ControlFlow::Break(folded(ident))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
