//! The list of an index: columns, and expressions over the row.
//!
//! ```text
//!   ON t (a, lower(b) DESC, (a + 1))     column a, expression lower(b), expression (a + 1)     t_a_lower_expr_idx
//!   ON t (a + 1)                         42601: only a function call stands there without parentheses
//!   ON t ((now()), (b::date))            42P17: may give another value tomorrow, or under another setting
//!   ON t (sum(a)), ((SELECT 1)), ($1)    42803, 0A000, 42P02, as PostgreSQL
//! ```
//!
//! An expression is bound as the point engine binds those of statements, so that equal ones are found equal.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{CastKind, Expr as SqlExpr, Function, IndexColumn, Spanned, Value as SqlValue, ValueWithSpan};
use weft_expr::routines::gives_rows;
use weft_format::{Code, Error, Result};
use weft_kernel::index::IndexPart;
use weft_walk::visit_expressions;

use super::operator_class::check_class;
use super::pieces::{ordinal_of, place};
use crate::expr::{AGGREGATES, BindError, Binder};
use crate::parse::{fold, fold_all};
use crate::queries::names::column_name;
use crate::row::TableShape;

/// The names of functions that do not always give the same.
const VOLATILE: &[&str] = &[
    "clock_timestamp",
    "current_date",
    "current_time",
    "current_timestamp",
    "gen_random_uuid",
    "localtime",
    "localtimestamp",
    "nextval",
    "now",
    "random",
    "statement_timestamp",
    "timeofday",
    "to_char",
    "transaction_timestamp",
    "uuid",
];
/// The names of functions that give rows.
const ROW_SETS: &[&str] = &["generate_series", "unnest", "regexp_matches"];

/// What an item of an index's list names. ASC, DESC, NULLS and operator classes are taken and change nothing: an index
/// is read from either end, and texts are in the order of their bytes.
pub(super) fn part_of(column: &IndexColumn, shape: &TableShape, source: &str) -> Result<IndexPart> {
    let at = |error: Error| place(error, source, column.column.expr.span());
    let part = match &column.column.expr {
        SqlExpr::Identifier(ident) => ordinal_of(&shape.table, &fold(ident)).map(IndexPart::Column).map_err(at),
        expr if stands_alone(expr) => expression(expr, shape, source).map_err(at),
        expr => {
            let error = Error::new(Code::SyntaxError, format!("syntax error at or near \"{expr}\""));
            Err(at(error.hint("an index on an expression has it in parentheses: ((a + b))")))
        }
    }?;
    if let Some(class) = &column.operator_class {
        check_class(class, part.data_type(&shape.table.def.schema))?;
    }
    Ok(part)
}

/// Whether an expression may be an item of the list: in parentheses, or a function call, some of which the parser knows
/// by themselves.
fn stands_alone(expr: &SqlExpr) -> bool {
    matches!(
        expr,
        SqlExpr::Nested(_)
            | SqlExpr::Function(_)
            | SqlExpr::Cast { kind: CastKind::Cast, .. }
            | SqlExpr::Substring { .. }
            | SqlExpr::Trim { .. }
            | SqlExpr::Position { .. }
            | SqlExpr::Overlay { .. }
            | SqlExpr::Extract { .. }
            | SqlExpr::Ceil { .. }
            | SqlExpr::Floor { .. }
    )
}

/// Binds an expression. A column in parentheses is the column.
fn expression(expr: &SqlExpr, shape: &TableShape, source: &str) -> Result<IndexPart> {
    if let ControlFlow::Break(error) = visit_expressions(expr, |part| match forbidden(part, "index expression") {
        Some(error) => ControlFlow::Break(error),
        None => ControlFlow::Continue(()),
    }) {
        return Err(error);
    }
    let mut binder = Binder { is_alone: true, ..Binder::new(source) };
    let bound = match binder.bind(expr, &shape.scope(shape.name()), None) {
        Ok(bound) => bound,
        Err(BindError::Unsupported(what)) => {
            let message = format!("{what} is not supported in an index expression");
            let hint = "operators, casts, CASE, coalesce, nullif, greatest, least, abs, round, lower, upper, length \
                        and substr are";
            return Err(Error::new(Code::FeatureNotSupported, message).hint(hint));
        }
        Err(BindError::Wrong(error)) => return Err(error),
    };
    if let Some(ordinal) = bound.as_column() {
        return Ok(IndexPart::Column(ordinal));
    }
    if !bound.is_immutable() {
        return Err(not_immutable("index expression"));
    }
    Ok(IndexPart::Expression(Arc::new(bound)))
}

/// What PostgreSQL refuses in the expression of an index, or of a generated column.
pub(super) fn forbidden(expr: &SqlExpr, place: &str) -> Option<Error> {
    let refused = |code, what: &str| Some(Error::new(code, what));
    match expr {
        SqlExpr::Subquery(_) | SqlExpr::Exists { .. } | SqlExpr::InSubquery { .. } => {
            refused(Code::FeatureNotSupported, &format!("cannot use subquery in {place}"))
        }
        SqlExpr::Value(ValueWithSpan { value: SqlValue::Placeholder(name), .. }) => {
            refused(Code::UndefinedParameter, &format!("there is no parameter {name}"))
        }
        SqlExpr::Function(function) => forbidden_call(function, place),
        _ => None,
    }
}

fn forbidden_call(function: &Function, place: &str) -> Option<Error> {
    let name = fold_all(&function.name);
    let is_in = |names: &[&str]| names.contains(&name.as_str());
    let (code, message) = if function.over.is_some() {
        (Code::WindowingError, "window functions are not allowed in")
    } else if is_in(AGGREGATES) {
        (Code::GroupingError, "aggregate functions are not allowed in")
    } else if is_in(ROW_SETS) || gives_rows(&name) {
        (Code::FeatureNotSupported, "set-returning functions are not allowed in")
    } else if is_in(VOLATILE) {
        return Some(not_immutable(place));
    } else {
        return None;
    };
    Some(Error::new(code, format!("{message} {place}s")))
}

fn not_immutable(place: &str) -> Error {
    let message = match place {
        "index expression" => "functions in index expression must be marked IMMUTABLE",
        _ => "generation expression is not immutable",
    };
    Error::new(Code::InvalidObjectDefinition, message)
        .hint("its value must not depend on the clock, on settings or on chance")
}

/// What PostgreSQL calls the item in the name of the index.
pub(super) fn part_name(column: &IndexColumn) -> String {
    match column_name(&column.column.expr).as_str() {
        "?column?" => "expr".into(),
        name => name.into(),
    }
}
