//! Rows that are columns of a query in FROM or WITH, or of a subquery that a function of JSON is given.
//!
//! ```text
//!   row_to_json(q) FROM (SELECT p.id, u AS author FROM p, u) q    author is weft_row_value(u), and then a json
//!   to_json((SELECT d FROM (SELECT 1 AS a) d))                    d is weft_row_value(d), and then a json
//! ```
//!
//! 1. Only functions of JSON take such a column: it is no text, which it would be shown as.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select, SelectItem, SetExpr, TableFactor,
    TableWithJoins,
};
use weft_expr::builtins::JSON_ROW;
use weft_sql::expr::call;
use weft_sql::queries::names::{column_name, folded};

use super::fields::Expander;
use super::present_rows::find;
use super::row_forms::{name_of, parts_of, rows_of};

/// A row where it is a json.
pub(super) const ROW_VALUE: &str = "weft_row_value";

/// Marks the rows among the columns of a query.
pub(super) fn mark_rows(expander: &mut Expander<'_>, body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => {
            let Select { projection, from, .. } = &mut **select;
            for item in projection {
                let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item else { continue };
                let mut written = expr.clone();
                if !mark_row(expander, from, &mut written) {
                    continue;
                }
                let alias = match item {
                    SelectItem::ExprWithAlias { alias, .. } => alias.clone(),
                    _ if parts_of(expr).is_some() => Ident::with_quote('"', "row"),
                    _ => Ident::with_quote('"', column_name(expr)),
                };
                *item = SelectItem::ExprWithAlias { expr: written, alias };
            }
        }
        SetExpr::Query(query) => mark_rows(expander, &mut query.body),
        SetExpr::SetOperation { left, right, .. } => {
            mark_rows(expander, left);
            mark_rows(expander, right);
        }
        _ => {}
    }
}

/// Marks what is a row in an expression, as far as it is handed on; whether there is one.
fn mark_row(expander: &mut Expander<'_>, from: &[TableWithJoins], expr: &mut Expr) -> bool {
    match expr {
        Expr::Nested(inner) => mark_row(expander, from, inner),
        Expr::Identifier(name) if is_row_of(expander, from, &folded(name)) => {
            *expr = call(ROW_VALUE, vec![expr.clone()]);
            true
        }
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter_mut().map(|branch| &mut branch.result).chain(else_result.as_deref_mut());
            let mut found = false;
            for result in results {
                found |= mark_row(expander, from, result);
            }
            found
        }
        Expr::Subquery(query) => {
            mark_rows(expander, &mut query.body);
            has_row(expr)
        }
        Expr::Function(function) => mark_call(expander, from, function),
        _ => {
            let is_row = parts_of(expr).is_some();
            if is_row {
                *expr = call(ROW_VALUE, vec![expr.clone()]);
            }
            is_row
        }
    }
}

fn mark_call(expander: &mut Expander<'_>, from: &[TableWithJoins], function: &mut Function) -> bool {
    let hands_on = hands_on(function);
    match &mut function.args {
        FunctionArguments::Subquery(query) => {
            mark_rows(expander, &mut query.body);
            body_has_row(&query.body)
        }
        FunctionArguments::List(list) if hands_on => list.args.iter_mut().fold(false, |found, arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => mark_row(expander, from, arg) || found,
            _ => found,
        }),
        _ => false,
    }
}

/// Marks the rows of subqueries that a function of JSON is given.
pub(super) fn mark_given(expander: &mut Expander<'_>, function: &mut Function) {
    let count = match &function.args {
        FunctionArguments::List(list) => list.args.len(),
        _ => return,
    };
    let Some(places) = rows_of(function, count) else { return };
    let FunctionArguments::List(list) = &mut function.args else { return };
    for place in places {
        if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))) = list.args.get_mut(place) {
            mark_in_subqueries(expander, arg);
        }
    }
}

fn mark_in_subqueries(expander: &mut Expander<'_>, expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => mark_in_subqueries(expander, inner),
        Expr::Subquery(query) => mark_rows(expander, &mut query.body),
        Expr::Function(function) => {
            if let FunctionArguments::Subquery(query) = &mut function.args {
                mark_rows(expander, &mut query.body);
            }
        }
        _ => {}
    }
}

/// Whether a name means a relation of FROM or of a query around, not a column.
fn is_row_of(expander: &mut Expander<'_>, from: &[TableWithJoins], name: &str) -> bool {
    let is_table =
        |factor: &TableFactor| matches!(factor, TableFactor::Table { args: None, .. } | TableFactor::Derived { .. });
    let around = expander.around.iter().rev().map(Vec::as_slice);
    let found = std::iter::once(from).chain(around).find_map(|from| find(from, name));
    if !found.is_some_and(|(factor, _)| is_table(factor)) {
        return false;
    }
    let around = expander.around.clone();
    let all = around.iter().flatten().chain(from);
    !all.into_iter().any(|table| {
        let fields = expander.fields_of(std::slice::from_ref(table));
        fields.is_some_and(|fields| fields.iter().any(|field| field.name == name))
    })
}

/// Whether a function hands on rows that it is given.
pub(super) fn hands_on(function: &Function) -> bool {
    name_of(function).is_some_and(|name| matches!(name.as_str(), "array_agg" | "coalesce"))
}

/// Whether an expression is a row, or an array of rows, that is a json.
pub(super) fn has_row(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => has_row(inner),
        Expr::Subquery(query) => body_has_row(&query.body),
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter().any(|branch| has_row(&branch.result)) || else_result.as_deref().is_some_and(has_row)
        }
        Expr::Function(function) => match &function.args {
            FunctionArguments::Subquery(query) => body_has_row(&query.body),
            FunctionArguments::List(list) if hands_on(function) => list.args.iter().any(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => has_row(arg),
                _ => false,
            }),
            _ => name_of(function).is_some_and(|name| name == JSON_ROW || name == ROW_VALUE),
        },
        _ => false,
    }
}

fn body_has_row(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => match &select.projection[..] {
            [SelectItem::UnnamedExpr(only) | SelectItem::ExprWithAlias { expr: only, .. }] => has_row(only),
            _ => false,
        },
        SetExpr::Query(query) => body_has_row(&query.body),
        _ => false,
    }
}

/// The columns of relations of FROM that are rows, with the relations' names.
pub(super) fn row_columns(expander: &Expander<'_>, from: &[TableWithJoins]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    from.iter().for_each(|table| of_joined(expander, table, 0, &mut found));
    found
}

fn of_joined(expander: &Expander<'_>, table: &TableWithJoins, depth: usize, into: &mut Vec<(String, String)>) {
    of_factor(expander, &table.relation, depth, into);
    table.joins.iter().for_each(|join| of_factor(expander, &join.relation, depth, into));
}

fn of_factor(expander: &Expander<'_>, factor: &TableFactor, depth: usize, into: &mut Vec<(String, String)>) {
    let (alias, body) = match factor {
        TableFactor::NestedJoin { table_with_joins, .. } => return of_joined(expander, table_with_joins, depth, into),
        TableFactor::Derived { alias: Some(alias), subquery, .. } => (alias.clone(), &subquery.body),
        TableFactor::Table { name, alias, args: None, .. } => {
            let Some(own) = name.0.last().and_then(|part| part.as_ident()).filter(|_| name.0.len() == 1) else {
                return;
            };
            let mut parts = expander.with.iter().rev().flatten().flat_map(|with| &with.cte_tables);
            let Some(part) = parts.find(|part| folded(&part.alias.name) == folded(own)) else { return };
            let named = alias.clone().unwrap_or_else(|| part.alias.clone());
            let columns = if named.columns.is_empty() { part.alias.columns.clone() } else { named.columns.clone() };
            (sqlparser::ast::TableAlias { columns, ..named }, &part.query.body)
        }
        _ => return,
    };
    for (place, name) in of_body(expander, body, depth) {
        let name = alias.columns.get(place).map_or(name, |column| folded(&column.name));
        into.push((folded(&alias.name), name));
    }
}

/// The places and names of the columns of a query that are rows.
fn of_body(expander: &Expander<'_>, body: &SetExpr, depth: usize) -> Vec<(usize, String)> {
    const DEPTH_MAX: usize = 16;
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return of_body(expander, &query.body, depth),
        SetExpr::SetOperation { left, .. } => return of_body(expander, left, depth),
        _ => return Vec::new(),
    };
    let mut inside = Vec::new();
    if depth < DEPTH_MAX {
        select.from.iter().for_each(|table| of_joined(expander, table, depth + 1, &mut inside));
    }
    let mut found = Vec::new();
    for (place, item) in select.projection.iter().enumerate() {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                if has_row(expr) || names_one(expr, &inside) {
                    let name = match item {
                        SelectItem::ExprWithAlias { alias, .. } => folded(alias),
                        _ => column_name(expr),
                    };
                    found.push((place, name));
                }
            }
            // Behind a star places are not known.
            _ => found.extend(inside.iter().map(|(_, column)| (usize::MAX, column.clone()))),
        }
    }
    found
}

/// Whether an expression is the name of one of such columns.
pub(super) fn names_one(expr: &Expr, columns: &[(String, String)]) -> bool {
    match expr {
        Expr::Nested(inner) => names_one(inner, columns),
        Expr::Identifier(name) => columns.iter().any(|(_, column)| *column == folded(name)),
        Expr::CompoundIdentifier(parts) => match &parts[..] {
            [of, name] => columns.iter().any(|(relation, column)| *relation == folded(of) && *column == folded(name)),
            _ => false,
        },
        _ => false,
    }
}
