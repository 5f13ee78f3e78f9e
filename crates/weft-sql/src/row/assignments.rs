//! `SET a = ..., b = DEFAULT`: bound, and applied to a row.

use sqlparser::ast::{AssignmentTarget, Expr as SqlExpr};
use weft_format::{Code, Error, Result, Value};

use super::generated::check_not_set;
use super::planner::RowContext;
use super::shape::TableShape;
use crate::expr::{BindError, BindResult, Binder, Expr, Scope};
use crate::parse::fold;

/// Sets columns of a row: evaluates all on the old values, then replaces.
pub(super) fn apply_assignments(
    assignments: &[(usize, Option<Expr>)],
    values: &[Value],
    width: usize,
    shape: &TableShape,
    context: &RowContext<'_>,
) -> Result<Vec<Value>> {
    let mut new = values[..width].to_vec();
    for (ordinal, expr) in assignments {
        new[*ordinal] = match expr {
            Some(expr) => expr.eval(values, &context.eval)?,
            None => shape.update_default(context.txn, *ordinal, &context.eval)?,
        };
    }
    shape.generate(&mut new, &context.eval)?;
    Ok(new)
}

/// Binds SET lists of single columns.
pub(super) fn bind_assignments(
    list: &[sqlparser::ast::Assignment],
    shape: &TableShape,
    scope: &Scope,
    binder: &mut Binder<'_>,
) -> BindResult<Vec<(usize, Option<Expr>)>> {
    let mut assignments: Vec<(usize, Option<Expr>)> = Vec::with_capacity(list.len());
    for assignment in list {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(BindError::Unsupported("SET of several columns at once".into()));
        };
        let [part] = name.0.as_slice() else {
            let message = format!("SET {name}: a column in SET stands without its table");
            return Err(Error::new(Code::SyntaxError, message).into());
        };
        let ident =
            part.as_ident().ok_or_else(|| Error::new(Code::SyntaxError, format!("\"{name}\" is not a column")))?;
        let ordinal = shape.ordinal(&fold(ident))?;
        if assignments.iter().any(|(known, _)| *known == ordinal) {
            let message = format!("multiple assignments to same column \"{}\"", shape.columns()[ordinal].name);
            return Err(Error::new(Code::SyntaxError, message).into());
        }
        let old = Expr::column(ordinal, shape.columns()[ordinal].data_type);
        let value = bind_value(&assignment.value, (shape, ordinal, old), scope, binder)?;
        if value.is_some() {
            check_not_set(&shape.table.def, ordinal)?;
        }
        assignments.push((ordinal, value));
    }
    Ok(assignments)
}

/// Binds a value for a column, which has `old`; DEFAULT is none.
pub(super) fn bind_value(
    expr: &SqlExpr,
    (shape, ordinal, old): (&TableShape, usize, Expr),
    scope: &Scope,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    if let SqlExpr::Identifier(ident) = expr
        && ident.quote_style.is_none()
        && ident.value.eq_ignore_ascii_case("default")
    {
        return Ok(None);
    }
    let column = &shape.columns()[ordinal];
    binder.bind_assigned(expr, scope, old, (column.data_type, &column.name)).map(Some)
}
