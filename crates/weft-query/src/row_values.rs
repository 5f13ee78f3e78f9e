//! Comparisons of rows, written out column by column.
//!
//! ```text
//!   (a, b) = (c, d)            a = c AND b = d
//!   (a, b) < (c, d)            a < c OR a = c AND b < d
//!   (a, b) IS [NOT] NULL       a IS [NOT] NULL AND b IS [NOT] NULL
//!   (a, b) IN ((1, 2), (3, 4)) a = 1 AND b = 2 OR a = 3 AND b = 4
//!   (a, b) IN (SELECT ...)     EXISTS (SELECT 1 FROM (SELECT ...) AS m (c0, c1) WHERE a = c0 AND b = c1)
//!   (a, b) NOT IN (SELECT ...) NOT EXISTS (... WHERE (a = c0 AND b = c1) IS NOT FALSE)
//!     elsewhere                true = ANY (SELECT a = c0 AND b = c1 FROM (SELECT ...) AS m (c0, c1))
//!   (a, b) = (SELECT ...)      (SELECT a = c0 AND b = c1 FROM (SELECT ...) AS m (c0, c1))
//! ```
//!
//! The query engine compares rows as records, in which NULL is a value like others; in SQL it is unknown.
//!
//! 1. Membership in a subquery is EXISTS where it is a condition of WHERE, joined to the others by AND: there only rows
//!    count for which it is true. Elsewhere it may be unknown. NOT IN compares each row with each, for a NULL in any of
//!    them counts.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SelectItem, SetExpr,
    UnaryOperator, Value, Visitor,
};
use weft_format::{Code, Error, Result};
use weft_sql::expr::{call, compare_op, pattern_call};
use weft_sql::queries::names::MARKER;
use weft_walk::Visit;

use super::dependent::is_aggregate;
use super::row_forms::where_there;
use super::template::{parsed, put};

/// The comparison of rows that an expression is, written out; none when it is none.
pub(super) fn written_out(expr: &Expr, made: &mut usize) -> Result<Option<Expr>> {
    Ok(match expr {
        Expr::BinaryOp { left, op, right } => match (row_of(left), row_of(right), bare(right)) {
            (Some(left), Some(right), _) => Some(compared(&left, op, &right)?),
            (Some(left), None, Expr::Subquery(query)) => {
                Some(Expr::Subquery(Box::new(told(&left, op, (**query).clone(), made)?)))
            }
            _ => None,
        },
        Expr::IsDistinctFrom(left, right) => match (row_of(left), row_of(right)) {
            (Some(left), Some(right)) => Some(distinct(&left, &right)?),
            _ => None,
        },
        Expr::IsNotDistinctFrom(left, right) => match (row_of(left), row_of(right)) {
            (Some(left), Some(right)) => Some(negated(distinct(&left, &right)?)),
            _ => None,
        },
        Expr::IsNull(row) => row_of(row).and_then(|columns| each_one(columns, Expr::IsNull)),
        Expr::IsNotNull(row) => row_of(row).and_then(|columns| each_one(columns, Expr::IsNotNull)),
        Expr::InList { expr, list, negated: is_negated } => {
            let Some(row) = row_of(expr) else { return Ok(None) };
            let items = list.iter().map(row_of).collect::<Option<Vec<_>>>();
            let Some(items) = items else { return Err(unequal()) };
            let any = items.iter().map(|item| compared(&row, &BinaryOperator::Eq, item)).collect::<Result<Vec<_>>>()?;
            let any = joined(any, &BinaryOperator::Or).ok_or_else(unequal)?;
            Some(if *is_negated { negated(any) } else { any })
        }
        Expr::InSubquery { expr, subquery, negated: is_negated } => match row_of(expr) {
            Some(row) => {
                let any = any(&row, &BinaryOperator::Eq, (**subquery).clone(), made)?;
                Some(if *is_negated { negated(any) } else { any })
            }
            None => None,
        },
        Expr::AnyOp { left, compare_op, right, .. } => match of_rows(left, compare_op, right, true)? {
            Some((row, query)) => Some(unless_null(right, any(&row, compare_op, query, made)?)),
            None => None,
        },
        Expr::AllOp { left, compare_op, right } => match of_rows(left, compare_op, right, false)? {
            Some((row, query)) => {
                let compared = told(&row, compare_op, query, made)?;
                let compared = Box::new(Expr::Subquery(Box::new(compared)));
                let all = Expr::AllOp { left: Box::new(truth()), compare_op: BinaryOperator::Eq, right: compared };
                Some(unless_null(right, all))
            }
            None => None,
        },
        _ => None,
    })
}

/// The row and the query whose rows it is compared with: of a single value only where its operator is no comparison,
/// for which the planner has a way.
fn of_rows(left: &Expr, op: &BinaryOperator, right: &Expr, any: bool) -> Result<Option<(Vec<Expr>, Query)>> {
    let is_comparison = compare_op(op).is_some();
    let row = match row_of(left) {
        Some(row) => row,
        None if is_comparison => return Ok(None),
        None => vec![left.clone()],
    };
    match right {
        Expr::Subquery(query) => Ok(Some((row, (**query).clone()))),
        array if !is_comparison && pattern_call(left, op, array, any).is_none() => {
            let mut query = parsed("SELECT unnest(NULL)")?;
            if let SetExpr::Select(select) = &mut *query.body {
                select.projection = vec![SelectItem::UnnamedExpr(call("unnest", vec![array.clone()]))];
            }
            Ok(Some((row, query)))
        }
        _ => Ok(None),
    }
}

/// What is said of the elements of an array; of a subquery's rows it is what it is.
fn unless_null(array: &Expr, said: Expr) -> Expr {
    if matches!(array, Expr::Subquery(_)) {
        return said;
    }
    where_there(Some(Expr::IsNotNull(Box::new(array.clone()))), said)
}

/// Refuses rows with aggregates or windows: in a subquery they would be of that.
fn check_row(row: &[Expr]) -> Result<()> {
    struct Found;
    impl Visitor for Found {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_one = is_aggregate(expr) || matches!(expr, Expr::Function(Function { over: Some(_), .. }));
            if is_one { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    if row.iter().any(|column| Visit::visit(column, &mut Found).is_break()) {
        let message =
            "a row with an aggregate or a window function, compared with those of a subquery, is not supported";
        return Err(Error::new(Code::FeatureNotSupported, message)
            .hint("compute the aggregate in a subquery of FROM, and compare its column"));
    }
    Ok(())
}

/// Whether a row compares so with some row of a query: whether it is true of some that it does.
fn any(row: &[Expr], op: &BinaryOperator, query: Query, made: &mut usize) -> Result<Expr> {
    let right = Box::new(Expr::Subquery(Box::new(told(row, op, query, made)?)));
    Ok(Expr::AnyOp { left: Box::new(truth()), compare_op: BinaryOperator::Eq, right, is_some: false })
}

fn truth() -> Expr {
    Expr::value(Value::Boolean(true))
}

/// What the comparison of a row with each row of a query says.
fn told(row: &[Expr], op: &BinaryOperator, query: Query, made: &mut usize) -> Result<Query> {
    check_row(row)?;
    let (mut query, columns) = members(row, query, made)?;
    let compared = compared(row, op, &columns)?;
    if let SetExpr::Select(select) = &mut *query.body {
        select.projection = vec![SelectItem::UnnamedExpr(compared)];
    }
    Ok(query)
}

/// Invariant 1, of the conditions of a WHERE; `made` numbers the names.
pub(super) fn as_members(condition: &mut Expr, made: &mut usize) -> Result<()> {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            as_members(left, made)?;
            as_members(right, made)
        }
        Expr::Nested(inner) => as_members(inner, made),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            if let Expr::InSubquery { expr, subquery, negated } = bare(expr)
                && let Some(row) = row_of(expr)
            {
                *condition = exists(&row, (**subquery).clone(), !negated, made)?;
            }
            Ok(())
        }
        Expr::InSubquery { expr, subquery, negated } => {
            if let Some(row) = row_of(expr) {
                *condition = exists(&row, (**subquery).clone(), *negated, made)?;
            }
            Ok(())
        }
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
            if let (Some(row), Expr::Subquery(subquery)) = (row_of(left), &**right) {
                *condition = exists(&row, (**subquery).clone(), false, made)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn bare(mut expr: &Expr) -> &Expr {
    while let Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}

fn exists(row: &[Expr], subquery: Query, negated: bool, made: &mut usize) -> Result<Expr> {
    let (mut query, columns) = members(row, subquery, made)?;
    let same = compared(row, &BinaryOperator::Eq, &columns)?;
    let wanted = if negated { Expr::IsNotFalse(Box::new(same)) } else { same };
    if let SetExpr::Select(select) = &mut *query.body {
        select.selection = Some(wanted);
    }
    Ok(Expr::Exists { subquery: Box::new(query), negated })
}

/// `SELECT 1 FROM (query)`, and the names of the query's columns in it, as many as the row has.
fn members(row: &[Expr], subquery: Query, made: &mut usize) -> Result<(Query, Vec<Expr>)> {
    *made += 1;
    if row.is_empty() {
        return Err(unequal());
    }
    if let SetExpr::Select(select) = &*subquery.body {
        let is_column =
            |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
        if select.projection.iter().all(is_column) && select.projection.len() != row.len() {
            return Err(unequal());
        }
    }
    let name = format!("{MARKER}member{made}");
    let columns: Vec<Ident> = (0..row.len()).map(|place| Ident::with_quote('"', format!("{name}c{place}"))).collect();
    let named: Vec<String> = columns.iter().map(Ident::to_string).collect();
    let mut query = parsed(&format!("SELECT 1 FROM (SELECT 1) AS \"{name}\" ({})", named.join(", ")))?;
    put(&mut query, &name, subquery)?;
    Ok((query, columns.into_iter().map(Expr::Identifier).collect()))
}

fn unequal() -> Error {
    Error::new(Code::SyntaxError, "unequal number of entries in row expressions")
}

/// The columns of `(a, b)` or `ROW(a, b)`.
fn row_of(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Tuple(columns) => Some(columns.clone()),
        Expr::Nested(inner) => row_of(inner),
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.to_string().eq_ignore_ascii_case("row") =>
        {
            let column = |arg: &FunctionArg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
                _ => None,
            };
            list.args.iter().map(column).collect()
        }
        _ => None,
    }
}

/// That something is so of each column.
fn each_one(columns: Vec<Expr>, test: fn(Box<Expr>) -> Expr) -> Option<Expr> {
    let one = |column: Expr| match row_of(&column) {
        // A row within a row is a value that is there.
        Some(_) => Expr::value(Value::Boolean(matches!(test(Box::new(column)), Expr::IsNotNull(_)))),
        None => test(Box::new(Expr::Nested(Box::new(column)))),
    };
    let all = columns.into_iter().map(one).collect();
    joined(all, &BinaryOperator::And)
}

fn compared(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Expr> {
    use BinaryOperator as B;
    if left.len() != right.len() || left.is_empty() {
        return Err(unequal());
    }
    let each = |op: &BinaryOperator| left.iter().zip(right).map(|(a, b)| binary(a, op, b)).collect::<Vec<_>>();
    match op {
        _ if left.len() == 1 => Ok(matching(&left[0], op, &right[0])),
        B::Eq => joined(each(op), &B::And).ok_or_else(unequal),
        B::NotEq => joined(each(op), &B::Or).ok_or_else(unequal),
        B::Lt | B::LtEq | B::Gt | B::GtEq => {
            let strict = if matches!(op, B::Lt | B::LtEq) { B::Lt } else { B::Gt };
            let last = left.len() - 1;
            let mut whole = binary(&left[last], op, &right[last]);
            for (a, b) in left[..last].iter().zip(&right[..last]).rev() {
                let rest = nested(binary_of(binary(a, &B::Eq, b), &B::And, whole));
                whole = nested(binary_of(binary(a, &strict, b), &B::Or, rest));
            }
            Ok(whole)
        }
        other => Err(Error::new(Code::FeatureNotSupported, format!("the operator {other} of rows is not supported"))
            .hint("write it for each column")),
    }
}

/// A comparison of two values; LIKE has words.
fn matching(left: &Expr, op: &BinaryOperator, right: &Expr) -> Expr {
    use BinaryOperator as B;
    let (expr, pattern) = (Box::new(nested(left.clone())), Box::new(right.clone()));
    let negated = matches!(op, B::PGNotLikeMatch | B::PGNotILikeMatch);
    match op {
        B::PGLikeMatch | B::PGNotLikeMatch => Expr::Like { negated, any: false, expr, pattern, escape_char: None },
        B::PGILikeMatch | B::PGNotILikeMatch => Expr::ILike { negated, any: false, expr, pattern, escape_char: None },
        _ => binary(left, op, right),
    }
}

fn distinct(left: &[Expr], right: &[Expr]) -> Result<Expr> {
    if left.len() != right.len() {
        return Err(unequal());
    }
    let each =
        |(a, b): (&Expr, &Expr)| nested(Expr::IsDistinctFrom(Box::new(nested(a.clone())), Box::new(nested(b.clone()))));
    joined(left.iter().zip(right).map(each).collect(), &BinaryOperator::Or).ok_or_else(unequal)
}

fn negated(expr: Expr) -> Expr {
    nested(Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) })
}

fn joined(parts: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    parts.into_iter().reduce(|all, part| binary_of(all, op, part)).map(nested)
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Expr {
    nested(binary_of(nested(left.clone()), op, nested(right.clone())))
}

fn binary_of(left: Expr, op: &BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op: op.clone(), right: Box::new(right) }
}

fn nested(expr: Expr) -> Expr {
    match expr {
        Expr::Nested(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => expr,
        other => Expr::Nested(Box::new(other)),
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn shown(sql: &str) -> String {
        let expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap();
        match written_out(&expr, &mut 0) {
            Ok(Some(expr)) => expr.to_string().replace(&format!("{MARKER}member1"), "m"),
            Ok(None) => "as it is".into(),
            Err(error) => error.sqlstate().into(),
        }
    }

    #[test]
    fn rows_are_compared_column_by_column() {
        let cases = [
            ("(a, b) = (c, d)", "((a = c) AND (b = d))"),
            ("(a, b) <> ROW(c, d)", "((a <> c) OR (b <> d))"),
            ("(a, b) <= (c, d)", "((a < c) OR ((a = c) AND (b <= d)))"),
            ("(a, b, c) > (1, 2, 3)", "((a > 1) OR ((a = 1) AND ((b > 2) OR ((b = 2) AND (c > 3)))))"),
            ("(a, b) NOT IN ((1, 2))", "(NOT ((a = 1) AND (b = 2)))"),
            ("(a, b) IS DISTINCT FROM (c, 1)", "((a IS DISTINCT FROM c) OR (b IS DISTINCT FROM 1))"),
            ("(a, b) = (c, d, e)", "42601"),
            (
                "(a, b) IN (SELECT x, y FROM t)",
                "true = ANY(SELECT ((a = \"mc0\") AND (b = \"mc1\")) \
                 FROM (SELECT x, y FROM t) AS \"m\" (\"mc0\", \"mc1\"))",
            ),
            (
                "(a, b) = (SELECT x, y FROM t)",
                "(SELECT ((a = \"mc0\") AND (b = \"mc1\")) FROM (SELECT x, y FROM t) AS \"m\" (\"mc0\", \"mc1\"))",
            ),
            ("(a, b) IN (SELECT 1)", "42601"),
            ("a = b", "as it is"),
            ("a IN (1, 2)", "as it is"),
        ];
        for (sql, wanted) in cases {
            assert_eq!(shown(sql), wanted, "{sql}");
        }
    }
}
