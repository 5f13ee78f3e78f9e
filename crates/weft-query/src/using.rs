//! Joins with USING and NATURAL as joins with ON, their columns as what PostgreSQL takes for them.
//!
//! ```text
//!   a JOIN b USING (k)         a JOIN b ON a.k = b.k         k is a.k
//!   a RIGHT JOIN b USING (k)   a RIGHT JOIN b ON ...         k is b.k
//!   a FULL JOIN b USING (k)    a FULL JOIN b ON ...          k is coalesce(a.k, b.k)
//! ```
//!
//! 1. A plain name is a joined column where no other column of FROM has it; in a query inside, where that has no such
//!    column either. Where this is not known, the name stays as it is: the planner calls it ambiguous.
//! 2. A plain name in ORDER BY is that of a result column first.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor,
    TableWithJoins, VisitMut, VisitorMut,
};
use weft_format::{Error, Result};
use weft_sql::queries::names::{column_name, folded};

use super::aliases;
use super::fields::{Expander, Field, is_plain_wildcard, joined, only};

/// Writes out the joins of a SELECT and the names of their columns, of which FROM has these.
pub(super) fn write_out(expander: &mut Expander<'_>, select: &mut Select, fields: &[Field]) -> Result<()> {
    for table in &mut select.from {
        joins(expander, table).ok_or_else(|| Error::internal("columns of FROM are known twice"))?;
    }
    let merged = visible(fields);
    let from = std::mem::take(&mut select.from);
    for item in &mut select.projection {
        named(item, &merged);
    }
    let _ = VisitMut::visit(select, &mut Names { expander, merged: &merged, hidden: Vec::new() });
    select.from = from;
    Ok(())
}

/// Writes out the names of joined columns in ORDER BY, where they are not those of result columns.
pub(super) fn order_by(expander: &mut Expander<'_>, query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = &*query.body else { return Ok(()) };
    let Some(OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by else { return Ok(()) };
    let Some(fields) = expander.fields_of(&select.from) else { return Ok(()) };
    let merged = visible(&fields);
    let is_shown = |name: &str| {
        select.projection.iter().any(|item| match item {
            SelectItem::UnnamedExpr(expr) => column_name(expr) == name,
            SelectItem::ExprWithAlias { alias, .. } => folded(alias) == name,
            wildcard => is_plain_wildcard(wildcard) && fields.iter().any(|field| field.name == name),
        })
    };
    for by in by {
        if matches!(&by.expr, Expr::Identifier(name) if is_shown(&folded(name))) {
            continue;
        }
        let _ = VisitMut::visit(&mut by.expr, &mut Names { expander, merged: &merged, hidden: Vec::new() });
    }
    Ok(())
}

/// Joined columns that a plain name means.
fn visible(fields: &[Field]) -> Vec<Field> {
    fields.iter().filter(|field| field.is_merged && only(fields, &field.name).is_some()).cloned().collect()
}

/// A result column keeps its name when it is no column of a relation.
fn named(item: &mut SelectItem, merged: &[Field]) {
    if let SelectItem::UnnamedExpr(Expr::Identifier(ident)) = item
        && let Some(field) = merged.iter().find(|field| field.name == folded(ident))
    {
        *item = field.item();
    }
}

/// Writes out the joins of a part of FROM; the columns it has then.
fn joins(expander: &mut Expander<'_>, table: &mut TableWithJoins) -> Option<Vec<Field>> {
    let mut left = factor(expander, &mut table.relation)?;
    for join in &mut table.joins {
        let right = factor(expander, &mut join.relation)?;
        let merged = visible(&left);
        if let Some(JoinConstraint::On(condition)) = constraint_mut(join) {
            let merged: Vec<Field> = merged.into_iter().filter(|field| only(&right, &field.name).is_none()).collect();
            let _ = VisitMut::visit(condition, &mut Names { expander, merged: &merged, hidden: Vec::new() });
        }
        let (fields, condition) = joined(join, left, right)?;
        if let (Some(condition), Some(constraint)) = (condition, constraint_mut(join)) {
            *constraint = JoinConstraint::On(condition);
        }
        left = fields;
    }
    Some(left)
}

fn factor(expander: &mut Expander<'_>, factor: &mut TableFactor) -> Option<Vec<Field>> {
    match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => joins(expander, table_with_joins),
        other => expander.factor_fields(other),
    }
}

fn constraint_mut(join: &mut Join) -> Option<&mut JoinConstraint> {
    use JoinOperator::{CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    match &mut join.join_operator {
        Join(of) | Inner(of) | Left(of) | LeftOuter(of) | Right(of) | RightOuter(of) | FullOuter(of)
        | CrossJoin(of) => Some(of),
        _ => None,
    }
}

/// What a query inside has of its own.
enum Hidden {
    /// Columns of these names.
    Names(Vec<String>),
    /// Nobody knows.
    All,
}

/// Replaces plain names (1).
struct Names<'n, 'a> {
    expander: &'n mut Expander<'a>,
    merged: &'n [Field],
    hidden: Vec<Hidden>,
}

impl Names<'_, '_> {
    fn own(&mut self, body: &SetExpr) -> Hidden {
        match body {
            SetExpr::Select(select) => match self.expander.fields_of(&select.from) {
                Some(fields) => {
                    let mut names = aliases::given(select);
                    names.extend(fields.into_iter().map(|field| field.name));
                    Hidden::Names(names)
                }
                None => Hidden::All,
            },
            SetExpr::SetOperation { left, right, .. } => match (self.own(left), self.own(right)) {
                (Hidden::Names(mut left), Hidden::Names(right)) => {
                    left.extend(right);
                    Hidden::Names(left)
                }
                _ => Hidden::All,
            },
            SetExpr::Values(_) => Hidden::Names(Vec::new()),
            _ => Hidden::All,
        }
    }
}

impl VisitorMut for Names<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.expander.with.push(query.with.clone());
        let own = self.own(&query.body);
        self.hidden.push(own);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.hidden.pop();
        self.expander.with.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Identifier(ident) = expr else { return ControlFlow::Continue(()) };
        let name = folded(ident);
        let is_hidden = |hidden: &Hidden| match hidden {
            Hidden::Names(names) => names.contains(&name),
            Hidden::All => true,
        };
        if let Some(field) = self.merged.iter().find(|field| field.name == name)
            && !self.hidden.iter().any(is_hidden)
        {
            *expr = field.expr();
        }
        ControlFlow::Continue(())
    }
}
