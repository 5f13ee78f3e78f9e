//! DISTINCT ON as the first row of each group of a window.
//!
//! ```text
//!   SELECT DISTINCT ON (2) a, b AS x ... ORDER BY x, c LIMIT 5
//!     becomes SELECT i0 AS a, i1 AS x FROM
//!       (SELECT *, row_number() OVER (PARTITION BY k0 ORDER BY s0, s1) AS n FROM
//!         (SELECT a AS i0, b AS i1, b AS k0, b AS s0, c AS s1 ...))
//!     WHERE n = 1 ORDER BY s0, s1 LIMIT 5
//! ```
//!
//! 1. A position or a result column's name is the expression behind it.
//! 2. The expressions of ON come first in ORDER BY, in any order, as far as ORDER BY goes; else 42P10.
//! 3. Each expression is computed once for a row.

use sqlparser::ast::{
    DataType as SqlType, Distinct, Expr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem, SetExpr, Value,
};
use weft_format::{Code, Error, Result};
use weft_sql::queries::names::{MARKER, column_name, folded};

use super::template::{parsed, put};
use super::typed_values::{cast, is_integer};

/// Writes out DISTINCT ON of a query's SELECT.
pub(super) fn write_out(query: &mut Query) -> Result<()> {
    let SetExpr::Select(select) = &mut *query.body else { return Ok(()) };
    let Some(Distinct::On(keys)) = &select.distinct else { return Ok(()) };
    let Some(names) = select.projection.iter().map(name_of).collect::<Option<Vec<String>>>() else {
        return Err(
            Error::new(Code::FeatureNotSupported, "SELECT DISTINCT ON of * is not supported").hint("name the columns")
        );
    };
    let keys: Vec<Expr> = keys.iter().map(|key| meant(key, select)).collect();
    let mut order = query.order_by.take();
    let mut sorts = Vec::new();
    if let Some(OrderBy { kind: OrderByKind::Expressions(exprs), .. }) = &mut order {
        for (place, sort) in exprs.iter_mut().enumerate() {
            sorts.push(meant(&sort.expr, select));
            sort.expr = Expr::Identifier(column("s", place));
        }
    }
    check_order(&keys, &sorts)?;

    let mut inner = select.as_ref().clone();
    inner.distinct = None;
    inner.projection.clear();
    let mut columns = Vec::new();
    let items = select.projection.iter().filter_map(expr_of).cloned().collect::<Vec<_>>();
    for (letter, exprs) in [("i", &items), ("k", &keys), ("s", &sorts)] {
        for (place, expr) in exprs.iter().enumerate() {
            columns.push(column(letter, place).to_string());
            inner.projection.push(SelectItem::ExprWithAlias { expr: expr.clone(), alias: column(letter, place) });
        }
    }
    let listed = |letter: &str, count: usize| {
        (0..count).map(|place| column(letter, place).to_string()).collect::<Vec<_>>().join(", ")
    };
    let by = order.as_ref().map_or(String::new(), |order| format!(" {order}"));
    let named = names.iter().enumerate().map(|(place, name)| {
        format!("{} AS {}", column("i", place), Ident::with_quote('"', name.replace('"', "\"\"")))
    });
    let number = format!("\"{MARKER}n\"");
    let sql = format!(
        "SELECT {} FROM (SELECT {columns}, row_number() OVER (PARTITION BY {}{by}) AS {number} \
         FROM (SELECT 1) AS \"{MARKER}rows\" ({columns})) AS \"{MARKER}firsts\" WHERE {number} = 1",
        named.collect::<Vec<_>>().join(", "),
        listed("k", keys.len()),
        columns = columns.join(", "),
    );
    let mut made = parsed(&sql)?;
    let mut rows = parsed("SELECT 1")?;
    *rows.body = SetExpr::Select(Box::new(inner));
    put(&mut made, &format!("{MARKER}rows"), rows)?;
    query.body = made.body;
    query.order_by = order;
    Ok(())
}

fn column(letter: &str, place: usize) -> Ident {
    Ident::with_quote('"', format!("{MARKER}{letter}{place}"))
}

fn name_of(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => Some(column_name(expr)),
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    }
}

fn expr_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Invariant 1.
fn meant(expr: &Expr, select: &Select) -> Expr {
    let item = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => {
                let place = text.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                place.and_then(|place| select.projection.get(place)).and_then(expr_of)
            }
            _ => None,
        },
        Expr::Identifier(name) => select.projection.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if folded(alias) == folded(name) => Some(expr),
            _ => None,
        }),
        _ => None,
    };
    match item {
        Some(item) if is_integer(item) => cast(item.clone(), SqlType::Integer(None)),
        Some(item) => item.clone(),
        None => expr.clone(),
    }
}

/// Invariant 2.
fn check_order(keys: &[Expr], sorts: &[Expr]) -> Result<()> {
    let first_other = sorts.iter().position(|sort| !keys.contains(sort)).unwrap_or(sorts.len());
    let has_come = |key: &Expr| sorts[..first_other].contains(key);
    if first_other == sorts.len() || keys.iter().all(has_come) {
        return Ok(());
    }
    let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
    Err(Error::new(Code::InvalidColumnReference, message).hint("let ORDER BY begin with the expressions of ON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str) -> String {
        let mut query = parsed(sql).unwrap();
        match write_out(&mut query) {
            Ok(()) => query.to_string().replace(MARKER, ""),
            Err(error) => error.sqlstate().into(),
        }
    }

    #[test]
    fn the_first_row_of_each_group() {
        let wanted = "SELECT \"i0\" AS \"a\", \"i1\" AS \"x\" FROM (SELECT \"i0\", \"i1\", \"k0\", \"s0\", \"s1\", \
                      row_number() OVER (PARTITION BY \"k0\" ORDER BY \"s0\", \"s1\" DESC) AS \"n\" FROM \
                      (SELECT a AS \"i0\", b AS \"i1\", b AS \"k0\", b AS \"s0\", c AS \"s1\" FROM t) AS \"rows\" \
                      (\"i0\", \"i1\", \"k0\", \"s0\", \"s1\")) AS \"firsts\" WHERE \"n\" = 1 \
                      ORDER BY \"s0\", \"s1\" DESC LIMIT 5";
        assert_eq!(written("SELECT DISTINCT ON (2) a, b AS x FROM t ORDER BY x, c DESC LIMIT 5"), wanted);
        assert_eq!(written("SELECT DISTINCT ON (a) a, b FROM t ORDER BY b"), "42P10");
        assert_eq!(written("SELECT DISTINCT ON (a, b) a, b FROM t ORDER BY b, c, a"), "42P10");
        assert!(written("SELECT DISTINCT ON (a, b) a, b FROM t ORDER BY b").starts_with("SELECT"));
        assert_eq!(written("SELECT DISTINCT a FROM t"), "SELECT DISTINCT a FROM t");
    }
}
