//! Whole rows of relations, as what the planner has for them.
//!
//! ```text
//!   json_agg(t), SELECT t, t IS NULL        see `row_forms`
//!   (t).a                                   t.a
//!   t = u                                   (t.a, t.b) IS NOT DISTINCT FROM (u.a, u.b)
//!   FROM t, FROM t LEFT JOIN u              count(t.*)   becomes   count(*)
//!   FROM o LEFT JOIN t ON ...               count(t.*)   becomes   count(t."id"), the first column of t's primary key
//!   FROM o LEFT JOIN q ON ...               count(q.*)   becomes   count(q."there"), which q gets: true
//! ```
//!
//! 1. A name is that of a column, of the query or of one around it, before it is that of a relation.
//! 2. A relation on the side of an outer join whose rows may be missing gets a column that says that a row is there,
//!    unless it has a primary key. `*` does not show it.
//!
//! DISTINCT of whole rows is refused.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType as SqlType, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    VisitorMut,
};
use weft_expr::builtins::JSON_ROW;
use weft_format::schema::ROW_ID_COLUMN;
use weft_format::{Code, Error, Result};
use weft_sql::expr::call;
use weft_sql::parse::ALL_COLUMNS;
use weft_sql::queries::names::{MARKER, column_name, folded};
use weft_walk::VisitMut;

use super::fields::{Expander, Field, has_no_options, is_plain_wildcard};
use super::json_tables::columns_of_call;
use super::present_rows::{Known, find, is_there, mark, there};
use super::row_forms::{Row, boolean, name_of, parts_of, rows_of, where_there};
use super::row_sources::{ROW_VALUE, hands_on, names_one, row_columns};

/// Writes out whole rows in a SELECT.
pub(super) fn write_out(expander: &mut Expander<'_>, select: &mut Select, marked: Vec<String>) -> Result<()> {
    let from = select.from.clone();
    let columns = row_columns(expander, &from);
    let is_whole = expander.with.len() < 2;
    let mut rows = Rows { expander, from: &from, depth: 0, marked, columns, in_json: 0 };
    rows.check_stars(&select.projection, is_whole)?;
    rows.expand(&mut select.projection)?;
    for item in &mut select.projection {
        rows.item(item, is_whole)?;
    }
    let mut inside = std::mem::take(&mut select.from);
    let Select { distinct, selection, group_by, having, named_window, .. } = select;
    let told = flow(inside.visit(&mut rows))
        .and_then(|()| flow(distinct.visit(&mut rows)))
        .and_then(|()| flow(selection.visit(&mut rows)))
        .and_then(|()| flow(group_by.visit(&mut rows)))
        .and_then(|()| flow(having.visit(&mut rows)))
        .and_then(|()| flow(named_window.visit(&mut rows)));
    let marked = std::mem::take(&mut rows.marked);
    select.from = inside;
    told?;
    if !marked.is_empty() {
        without_stars(expander, select, &marked)?;
    }
    mark(&mut select.from, &marked)
}

/// The same in the ORDER BY of a query.
pub(super) fn write_order(expander: &mut Expander<'_>, query: &mut Query) -> Result<()> {
    let Query { body, order_by, .. } = query;
    let SetExpr::Select(select) = &mut **body else { return Ok(()) };
    if order_by.is_none() {
        return Ok(());
    }
    let from = select.from.clone();
    let columns = row_columns(expander, &from);
    let mut rows = Rows { expander, from: &from, depth: 0, marked: Vec::new(), columns, in_json: 0 };
    flow(order_by.visit(&mut rows))?;
    let marked = std::mem::take(&mut rows.marked);
    if !marked.is_empty() {
        without_stars(expander, select, &marked)?;
    }
    mark(&mut select.from, &marked)
}

fn flow(told: ControlFlow<Error>) -> Result<()> {
    match told {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Invariant 2: writes out what would show the column.
fn without_stars(expander: &mut Expander<'_>, select: &mut Select, marked: &[String]) -> Result<()> {
    let of = |item: &SelectItem| match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
            if has_no_options(options) =>
        {
            name.0.last().and_then(|part| part.as_ident()).map(folded)
        }
        _ => None,
    };
    let shows = |item: &SelectItem| is_plain_wildcard(item) || of(item).is_some_and(|name| marked.contains(&name));
    if !select.projection.iter().any(shows) {
        return Ok(());
    }
    let Some(fields) = expander.fields_of(&select.from) else { return Err(refused(&marked.join(", "))) };
    let mut items = Vec::with_capacity(fields.len());
    for item in std::mem::take(&mut select.projection) {
        if !shows(&item) {
            items.push(item);
            continue;
        }
        let name = of(&item);
        let is_of = |field: &&Field| name.is_none() || field.table.as_ref().map(folded) == name;
        items.extend(fields.iter().filter(is_of).filter(|field| field.name != there()).map(Field::item));
    }
    select.projection = items;
    Ok(())
}

fn refused(relation: &str) -> Error {
    let message = format!("a whole row of {relation}, which may be missing, is not supported here");
    Error::new(Code::FeatureNotSupported, message).hint("name its columns")
}

/// The rows in the expressions of one SELECT.
struct Rows<'a, 'b> {
    expander: &'a mut Expander<'b>,
    from: &'a [sqlparser::ast::TableWithJoins],
    /// Queries inside have rows of their own.
    depth: usize,
    /// Relations that need a column which says that a row is there.
    marked: Vec<String>,
    /// Columns of FROM that are rows: their relations, their names.
    columns: Vec<(String, String)>,
    /// How many functions are around that take these.
    in_json: usize,
}

impl Rows<'_, '_> {
    /// Refuses stars that would show a row as a json.
    fn check_stars(&self, items: &[SelectItem], is_whole: bool) -> Result<()> {
        let is_star = |item: &&SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        match (self.columns.first(), items.iter().find(is_star)) {
            (Some((_, column)), Some(_)) if is_whole => Err(within(column)),
            _ => Ok(()),
        }
    }

    /// Writes out `(t).*`, and of a function that gives rows `(f(x)).*`.
    fn expand(&mut self, items: &mut Vec<SelectItem>) -> Result<()> {
        let is_row = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(Expr::CompoundFieldAccess { access_chain, .. }) => match &access_chain[..] {
                [AccessExpr::Dot(Expr::Identifier(column))] => column.value == ALL_COLUMNS,
                _ => false,
            },
            _ => false,
        };
        if !items.iter().any(is_row) {
            return Ok(());
        }
        for item in std::mem::take(items) {
            let SelectItem::UnnamedExpr(Expr::CompoundFieldAccess { root, .. }) = &item else {
                items.push(item);
                continue;
            };
            if !is_row(&item) {
                items.push(item);
                continue;
            }
            let columns = match self.row(root)? {
                Some(row) => Some(row.columns),
                None => columns_of_call(self.expander, root)?,
            };
            let Some(columns) = columns else {
                let message = format!("the columns of {root} are not known");
                return Err(Error::new(Code::FeatureNotSupported, message).hint("name them"));
            };
            items.extend(
                columns
                    .into_iter()
                    .map(|(name, expr)| SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) }),
            );
        }
        Ok(())
    }

    /// A result column: a row is shown as a text.
    fn item(&mut self, item: &mut SelectItem, is_whole: bool) -> Result<()> {
        let (expr, is_named) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, false),
            SelectItem::ExprWithAlias { expr, .. } => (expr, true),
            _ => return Ok(()),
        };
        let name = column_name(expr);
        let name = if parts_of(expr).is_some() { "row".to_owned() } else { name };
        if let Some(row) = self.row(expr)? {
            *expr = row.into_text();
        }
        if is_whole || !names_one(expr, &self.columns) {
            flow(expr.visit(self))?;
        }
        if !is_named && column_name(expr) != name {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias: Ident::with_quote('"', name) };
        }
        Ok(())
    }

    /// The row that an expression is.
    fn row(&mut self, expr: &Expr) -> Result<Option<Row>> {
        match expr {
            Expr::Nested(inner) => self.row(inner),
            Expr::Identifier(name) => self.relation(name, false),
            Expr::QualifiedWildcard(name, _) => match &name.0[..] {
                [only] => match only.as_ident() {
                    Some(name) => self.relation(name, true),
                    None => Ok(None),
                },
                _ => Ok(None),
            },
            _ => match parts_of(expr) {
                Some(parts) => self.constructed(&parts).map(Some),
                None => Ok(None),
            },
        }
    }

    fn row_of_arg(&mut self, arg: &FunctionArgExpr) -> Result<Option<Row>> {
        match arg {
            FunctionArgExpr::Expr(expr) => self.row(expr),
            FunctionArgExpr::QualifiedWildcard(name) => match name.0.last().and_then(|part| part.as_ident()) {
                Some(name) if name_is_single(arg) => self.relation(&name.clone(), true),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    /// `ROW(a, b)`: columns f1, f2; the row within it is one column, `t.*` within it are t's columns.
    fn constructed(&mut self, parts: &[FunctionArgExpr]) -> Result<Row> {
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            match (part, self.row_of_arg(part)?) {
                (FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::Expr(Expr::QualifiedWildcard(..)), row) => {
                    let Some(row) = row else { return Err(undefined(part)) };
                    values.extend(row.columns.into_iter().map(|(_, value)| value));
                }
                (_, Some(row)) => values.push(row.into_json(boolean(false))),
                (FunctionArgExpr::Expr(value), None) => values.push(value.clone()),
                (other, None) => return Err(undefined(other)),
            }
        }
        let named = |(place, value)| (format!("f{}", place + 1), value);
        Ok(Row { columns: values.into_iter().enumerate().map(named).collect(), is_there: None })
    }

    /// The row of a relation of a name, unless a column has it (invariant 1).
    fn relation(&mut self, name: &Ident, is_relation: bool) -> Result<Option<Row>> {
        let wanted = folded(name);
        let depth = self.expander.around.len();
        let own = find(self.from, &wanted).map(|(factor, may_miss)| (depth, factor.clone(), may_miss));
        let found = own.or_else(|| {
            (0..depth).rev().find_map(|at| {
                let (factor, may_miss) = find(&self.expander.around[at], &wanted)?;
                Some((at, factor.clone(), may_miss))
            })
        });
        let Some((at, factor, may_miss)) = found else { return Ok(None) };
        if !is_relation && self.is_column(&wanted) {
            return Ok(None);
        }
        let Some(fields) = self.expander.factor_fields(&factor) else { return Ok(None) };
        // Of a statement that writes, what it needs beside the row's columns.
        let is_hidden = |name: &str| name.starts_with(MARKER) || name == ROW_ID_COLUMN;
        let fields: Vec<String> =
            fields.into_iter().map(|field| field.name).filter(|name| *name != there() && !is_hidden(name)).collect();
        if fields.is_empty() {
            return Ok(None);
        }
        let of = |column: &str| Expr::CompoundIdentifier(vec![name.clone(), Ident::with_quote('"', column)]);
        let is_there = match may_miss.then(|| is_there(self.expander, &factor)) {
            None => None,
            Some(Known::Key(key)) => Some(Expr::IsNotNull(Box::new(of(&key)))),
            Some(Known::Marked) => {
                let marked = if at == depth { &mut self.marked } else { &mut self.expander.marked[at] };
                if !marked.contains(&wanted) {
                    marked.push(wanted);
                }
                Some(Expr::IsNotNull(Box::new(of(&there()))))
            }
            Some(Known::Nothing) => return Err(refused(&wanted)),
        };
        let columns = fields.into_iter().map(|field| (field.clone(), of(&field))).collect();
        Ok(Some(Row { columns, is_there }))
    }

    fn is_column(&mut self, name: &str) -> bool {
        let mut levels: Vec<Vec<_>> = self.expander.around.clone();
        levels.push(self.from.to_vec());
        levels.iter().flatten().any(|table| {
            let fields = self.expander.fields_of(std::slice::from_ref(table));
            fields.is_some_and(|fields| fields.iter().any(|field| field.name == name))
        })
    }

    /// What a function of JSON takes in place of a row; none when it is given none.
    fn as_json(&mut self, arg: &FunctionArgExpr, is_pretty: &Expr) -> Result<Option<Expr>> {
        if let Some(row) = self.row_of_arg(arg)? {
            return Ok(Some(row.into_json(is_pretty.clone())));
        }
        let FunctionArgExpr::Expr(expr) = arg else { return Ok(None) };
        let mut written = expr.clone();
        let mut is_written = false;
        match &mut written {
            Expr::Case { conditions, else_result, .. } => {
                let results = conditions.iter_mut().map(|branch| &mut branch.result);
                for result in results.chain(else_result.as_deref_mut()) {
                    if let Some(json) = self.as_json(&FunctionArgExpr::Expr(result.clone()), is_pretty)? {
                        *result = json;
                        is_written = true;
                    }
                }
            }
            Expr::Function(function) if hands_on(function) => {
                let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
                for arg in &mut list.args {
                    let FunctionArg::Unnamed(arg) = arg else { continue };
                    if let Some(json) = self.as_json(arg, is_pretty)? {
                        *arg = FunctionArgExpr::Expr(json);
                        is_written = true;
                    }
                }
            }
            _ => {}
        }
        Ok(is_written.then_some(written))
    }

    fn function(&mut self, function: &mut Function) -> Result<Option<Expr>> {
        let name = name_of(function);
        let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
        if name.as_deref() == Some("count") {
            return self.counted(function).map(|()| None);
        }
        let count = list.args.len();
        if name.as_deref() == Some(ROW_VALUE) {
            return self.value(function);
        }
        let Some(places) = rows_of(function, count) else { return Ok(None) };
        let FunctionArguments::List(list) = &mut function.args else { return Ok(None) };
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let is_row_to_json = name.as_deref() == Some("row_to_json");
        let is_pretty = match list.args.get(1) {
            Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(pretty))) if is_row_to_json => pretty.clone(),
            _ => boolean(false),
        };
        let mut is_written = false;
        for place in places {
            let Some(FunctionArg::Unnamed(arg)) = list.args.get_mut(place) else { continue };
            let Some(json) = self.as_json(arg, &is_pretty)? else { continue };
            if is_distinct {
                let message = format!("an aggregate of DISTINCT whole rows ({arg}) is not supported");
                return Err(Error::new(Code::FeatureNotSupported, message)
                    .hint("aggregate the rows of a SELECT DISTINCT in FROM"));
            }
            *arg = FunctionArgExpr::Expr(json);
            is_written = true;
        }
        let is_whole = is_row_to_json && is_written;
        Ok(match (is_whole, list.args.first()) {
            (true, Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(row)))) => Some(call("to_json", vec![row.clone()])),
            _ => None,
        })
    }

    /// A row where it is a json ([`ROW_VALUE`]).
    fn value(&mut self, function: &Function) -> Result<Option<Expr>> {
        let FunctionArguments::List(list) = &function.args else { return Ok(None) };
        let Some(FunctionArg::Unnamed(arg)) = list.args.first() else { return Ok(None) };
        Ok(match (self.as_json(arg, &boolean(false))?, arg) {
            (Some(json), _) => Some(json),
            (None, FunctionArgExpr::Expr(value)) => Some(value.clone()),
            (None, _) => None,
        })
    }

    /// `count(t.*)`, `count(t)`
    fn counted(&mut self, function: &mut Function) -> Result<()> {
        let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
        let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let [FunctionArg::Unnamed(arg)] = &mut list.args[..] else { return Ok(()) };
        if !matches!(arg, FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::Expr(Expr::Identifier(_))) {
            return Ok(());
        }
        let row = self.row_of_arg(arg)?;
        let is_star = matches!(arg, FunctionArgExpr::QualifiedWildcard(_));
        if is_distinct && (is_star || row.is_some()) {
            let message = format!("count(DISTINCT {arg}) is not supported");
            return Err(Error::new(Code::FeatureNotSupported, message).hint("count the rows of a SELECT DISTINCT"));
        }
        match row {
            Some(Row { is_there: Some(Expr::IsNotNull(key)), .. }) => *arg = FunctionArgExpr::Expr(*key),
            Some(_) => *arg = FunctionArgExpr::Wildcard,
            None if is_star => *arg = FunctionArgExpr::Wildcard,
            None => {}
        }
        Ok(())
    }

    /// A comparison of two whole rows: NULL equals NULL in them.
    fn compared(&mut self, left: &Expr, right: &Expr) -> Result<Option<(Expr, Option<Expr>)>> {
        if !is_name(left) || !is_name(right) {
            return Ok(None);
        }
        let (Some(left), Some(right)) = (self.row(left)?, self.row(right)?) else { return Ok(None) };
        let same = Expr::IsNotDistinctFrom(Box::new(left.as_tuple()), Box::new(right.as_tuple()));
        let both = match (left.is_there, right.is_there) {
            (Some(left), Some(right)) => {
                Some(Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) })
            }
            (left, right) => left.or(right),
        };
        Ok(Some((Expr::Nested(Box::new(same)), both)))
    }

    fn expr(&mut self, expr: &mut Expr) -> Result<()> {
        let written = match &mut *expr {
            Expr::Function(function) => self.function(function)?,
            Expr::IsNull(of) | Expr::IsNotNull(of) if is_name(of) => {
                if let Some(row) = self.row(of)? {
                    **of = row.as_tuple();
                }
                None
            }
            Expr::Cast { expr: of, data_type, .. } if is_text(data_type) => {
                if let Some(row) = self.row(of)? {
                    **of = row.into_text();
                }
                None
            }
            Expr::BinaryOp { left, op: op @ (BinaryOperator::Eq | BinaryOperator::NotEq), right } => {
                let is_equal = *op == BinaryOperator::Eq;
                self.compared(left, right)?.map(|(same, both)| match is_equal {
                    true => where_there(both, same),
                    false => where_there(both, negated(same)),
                })
            }
            Expr::CompoundFieldAccess { root, access_chain } => match (&**root, &access_chain[..]) {
                (Expr::Nested(of), [AccessExpr::Dot(Expr::Identifier(column))]) => match &**of {
                    Expr::Identifier(name) if self.relation(name, false)?.is_some() => {
                        Some(Expr::CompoundIdentifier(vec![name.clone(), column.clone()]))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        if let Some(written) = written {
            *expr = written;
        }
        Ok(())
    }
}

fn negated(expr: Expr) -> Expr {
    Expr::UnaryOp { op: sqlparser::ast::UnaryOperator::Not, expr: Box::new(expr) }
}

/// Whether an expression may name a relation.
fn is_name(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_name(inner),
        other => matches!(other, Expr::Identifier(_) | Expr::QualifiedWildcard(..)),
    }
}

fn name_is_single(arg: &FunctionArgExpr) -> bool {
    matches!(arg, FunctionArgExpr::QualifiedWildcard(ObjectName(parts)) if parts.len() == 1)
}

fn is_text(data_type: &SqlType) -> bool {
    matches!(data_type, SqlType::Text | SqlType::Varchar(None) | SqlType::CharacterVarying(None))
}

/// A column that is a row is a json: only functions of JSON take it.
fn within(column: &str) -> Error {
    let message = format!("a row that is a column of a query in FROM or WITH (\"{column}\") is not supported here");
    Error::new(Code::FeatureNotSupported, message).hint("name the row's columns there")
}

/// Whether an expression is a call of a function that takes rows as JSON.
fn takes_rows(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else { return false };
    let count = match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        _ => 0,
    };
    rows_of(function, count).is_some() || name_of(function).is_some_and(|name| name == JSON_ROW)
}

fn undefined(part: &FunctionArgExpr) -> Error {
    Error::new(Code::UndefinedTable, format!("{part} is no row")).hint("name a relation of FROM")
}

impl VisitorMut for Rows<'_, '_> {
    type Break = Error;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        if let Err(error) = self.expr(expr) {
            return ControlFlow::Break(error);
        }
        self.in_json += usize::from(!self.columns.is_empty() && takes_rows(expr));
        if self.in_json == 0 && names_one(expr, &self.columns) {
            return ControlFlow::Break(within(&column_name(expr)));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if self.depth == 0 {
            self.in_json -= usize::from(!self.columns.is_empty() && takes_rows(expr));
        }
        ControlFlow::Continue(())
    }
}
