//! Joins with USING and NATURAL as joins with ON, their columns as what PostgreSQL takes for them.
//!
//! ```text
//!   a JOIN b USING (k)         a JOIN b ON a.k = b.k         k is a.k
//!   a RIGHT JOIN b USING (k)   a RIGHT JOIN b ON ...         k is b.k
//!   a FULL JOIN b USING (k)    a FULL JOIN b ON ...          k is coalesce(a.k, b.k)
//!   a JOIN b USING (k) AS j    the first again               j.k is a.k, and j.* too
//! ```
//!
//! 1. A plain name is a joined column where no other column of FROM has it; in a query inside, where that has no such
//!    column either. Where this is not known, the name stays as it is: the planner calls it ambiguous.
//! 2. A plain name in ORDER BY is that of a result column first.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, VisitorMut,
};
use weft_format::{Code, Error, Result};
use weft_sql::parse::joined_names;
use weft_sql::queries::names::{column_name, folded};
use weft_walk::VisitMut;

use super::aliases;
use super::fields::{Expander, Field, constraint, is_plain_wildcard, joined, only};

/// Writes out the joins of a SELECT and the names of their columns, of which FROM has these.
pub(super) fn write_out(expander: &mut Expander<'_>, select: &mut Select, fields: &[Field]) -> Result<()> {
    let mut whole = Vec::new();
    for table in &mut select.from {
        joins(expander, table, &mut whole).ok_or_else(|| Error::internal("columns of FROM are known twice"))?;
    }
    let is_taken = |name: &str| fields.iter().any(|field| field.table.as_ref().is_some_and(|of| folded(of) == name));
    if let Some((name, _)) = whole.iter().find(|(name, _)| is_taken(name)) {
        return Err(Error::new(Code::DuplicateAlias, format!("table name \"{name}\" specified more than once")));
    }
    let merged = visible(fields);
    let from = std::mem::take(&mut select.from);
    let mut items = Vec::with_capacity(select.projection.len());
    for mut item in std::mem::take(&mut select.projection) {
        if let Some(name) = starred(&item)
            && whole.iter().any(|(join, _)| *join == name)
        {
            items.extend(whole.iter().filter(|(join, _)| *join == name).map(|(_, field)| field.item()));
            continue;
        }
        named(&mut item, &merged, &whole);
        items.push(item);
    }
    select.projection = items;
    let _ = VisitMut::visit(select, &mut Names { expander, merged: &merged, whole: &whole, hidden: Vec::new() });
    select.from = from;
    Ok(())
}

/// Writes out plain names that mean these columns of relations before, in a part of FROM that sees them.
pub(super) fn qualify(expander: &mut Expander<'_>, factor: &mut TableFactor, seen: &[Field]) {
    let _ = VisitMut::visit(factor, &mut Names { expander, merged: seen, whole: &[], hidden: Vec::new() });
}

/// The joined columns of joins that have a name, with it.
type Whole = Vec<(String, Field)>;

/// The relation whose columns a result column stands for.
fn starred(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => match &name.0[..] {
            [only] => only.as_ident().map(folded),
            _ => None,
        },
        _ => None,
    }
}

fn whole_names(expander: &mut Expander<'_>, from: &[TableWithJoins]) -> Whole {
    let mut whole = Vec::new();
    let has_name = |join: &Join| {
        matches!(constraint(join), Some(JoinConstraint::Using(names))
        if joined_names(names).1.is_some())
    };
    for table in from.iter().filter(|table| table.joins.iter().any(has_name)) {
        let _ = joins(expander, &mut table.clone(), &mut whole);
    }
    whole
}

/// Writes out the names of joined columns in ORDER BY, where they are not those of result columns.
pub(super) fn order_by(expander: &mut Expander<'_>, query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = &*query.body else { return Ok(()) };
    let Some(OrderBy { kind: OrderByKind::Expressions(by), .. }) = &mut query.order_by else { return Ok(()) };
    let Some(fields) = expander.fields_of(&select.from) else { return Ok(()) };
    let merged = visible(&fields);
    let whole = whole_names(expander, &select.from);
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
        let _ =
            VisitMut::visit(&mut by.expr, &mut Names { expander, merged: &merged, whole: &whole, hidden: Vec::new() });
    }
    Ok(())
}

/// Joined columns that a plain name means.
fn visible(fields: &[Field]) -> Vec<Field> {
    fields.iter().filter(|field| field.is_merged && only(fields, &field.name).is_some()).cloned().collect()
}

/// A result column keeps its name when it is no column of a relation.
fn named(item: &mut SelectItem, merged: &[Field], whole: &Whole) {
    let SelectItem::UnnamedExpr(expr) = item else { return };
    let field = match &*expr {
        Expr::Identifier(ident) => merged.iter().find(|field| field.name == folded(ident)),
        other => of_join(other, whole),
    };
    if let Some(field) = field {
        *item = field.item();
    }
}

/// The column that `join.name` is.
fn of_join<'a>(expr: &Expr, whole: &'a [(String, Field)]) -> Option<&'a Field> {
    let Expr::CompoundIdentifier(parts) = expr else { return None };
    let [join, name] = &parts[..] else { return None };
    let is_it = |(known, field): &&(String, Field)| *known == folded(join) && field.name == folded(name);
    whole.iter().find(is_it).map(|(_, field)| field)
}

/// Writes out the joins of a part of FROM; the columns it has then.
fn joins(expander: &mut Expander<'_>, table: &mut TableWithJoins, whole: &mut Whole) -> Option<Vec<Field>> {
    let mut left = factor(expander, &mut table.relation, whole)?;
    for join in &mut table.joins {
        let right = factor(expander, &mut join.relation, whole)?;
        let merged = visible(&left);
        if let Some(JoinConstraint::On(condition)) = constraint_mut(join) {
            let merged: Vec<Field> = merged.into_iter().filter(|field| only(&right, &field.name).is_none()).collect();
            let mut names = Names { expander, merged: &merged, whole, hidden: Vec::new() };
            let _ = VisitMut::visit(condition, &mut names);
        }
        let (fields, condition) = joined(join, left, right)?;
        if let Some(JoinConstraint::Using(names)) = constraint(join)
            && let (columns, Some(name)) = joined_names(names)
        {
            whole.extend(fields.iter().take(columns.len()).map(|field| (folded(name), field.clone())));
        }
        if let (Some(condition), Some(constraint)) = (condition, constraint_mut(join)) {
            *constraint = JoinConstraint::On(condition);
        }
        left = fields;
    }
    Some(left)
}

fn factor(expander: &mut Expander<'_>, factor: &mut TableFactor, whole: &mut Whole) -> Option<Vec<Field>> {
    match factor {
        TableFactor::NestedJoin { table_with_joins, alias: None } => joins(expander, table_with_joins, whole),
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
    /// What has the name of a join.
    whole: &'n [(String, Field)],
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
        if let Some(field) = of_join(expr, self.whole) {
            *expr = field.expr();
            return ControlFlow::Continue(());
        }
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
