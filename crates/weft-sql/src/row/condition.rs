//! Conditions that compare a column with constants: what a lookup by an index starts from.
//!
//! ```text
//!   a = $1          column a, Equal [$1]           b BETWEEN 1 AND 9     column b, Low 1 and High 9, both included
//!   7 > b           column b, High 7, excluded     c IN ('x', 'y')       column c, Equal ['x', 'y']
//! ```
//!
//! 1. A row for which the condition is true has, in the column, one of the values, or one within the bounds. The
//!    reverse need not hold: whoever looks rows up by these values tests the condition on them.

use sqlparser::ast::{BinaryOperator, Expr as SqlExpr};
use weft_format::DataType;

use super::TableShape;
use crate::expr::{BindResult, Binder, Expr, Scope};
use crate::parse::fold;

/// One column compared with constants.
pub(super) struct ColumnTest {
    /// Of a visible column.
    pub(super) ordinal: usize,
    pub(super) test: Test,
}

/// The constants, in types that [`key_value`](super::shape::key_value) brings to the column's.
pub(super) enum Test {
    /// One of these.
    Equal(Vec<Expr>),
    /// At least this; more when not included.
    Low(Expr, bool),
    /// At most this; less when not included.
    High(Expr, bool),
}

/// Splits a condition at its outer ANDs.
pub(super) fn split<'a>(expr: &'a SqlExpr, out: &mut Vec<&'a SqlExpr>) {
    match expr {
        SqlExpr::BinaryOp { left, op: BinaryOperator::And, right } => {
            split(left, out);
            split(right, out);
        }
        SqlExpr::Nested(inner) => split(inner, out),
        other => out.push(other),
    }
}

/// Reads the comparisons of one column that a condition is (BETWEEN is two); none when it is something else.
pub(super) fn column_tests(
    condition: &SqlExpr,
    shape: &TableShape,
    table: &str,
    binder: &mut Binder<'_>,
) -> BindResult<Vec<ColumnTest>> {
    let mut tests = Vec::new();
    match condition {
        SqlExpr::BinaryOp { left, op, right } => {
            for (column, constant, op) in [(left, right, Some(op.clone())), (right, left, flipped(op))] {
                if let (Some(op), Some(ordinal)) = (op, column_ordinal(column, shape, table))
                    && let Some(bound) = constant_for(constant, shape, ordinal, binder)?
                {
                    let test = match op {
                        BinaryOperator::Eq => Test::Equal(vec![bound]),
                        BinaryOperator::Gt => Test::Low(bound, false),
                        BinaryOperator::GtEq => Test::Low(bound, true),
                        BinaryOperator::Lt => Test::High(bound, false),
                        BinaryOperator::LtEq => Test::High(bound, true),
                        _ => return Ok(tests),
                    };
                    tests.push(ColumnTest { ordinal, test });
                    break;
                }
            }
        }
        SqlExpr::Between { expr, negated: false, low, high } => {
            if let Some(ordinal) = column_ordinal(expr, shape, table)
                && let Some(low) = constant_for(low, shape, ordinal, binder)?
                && let Some(high) = constant_for(high, shape, ordinal, binder)?
            {
                tests.push(ColumnTest { ordinal, test: Test::Low(low, true) });
                tests.push(ColumnTest { ordinal, test: Test::High(high, true) });
            }
        }
        SqlExpr::InList { expr, list, negated: false } => {
            let Some(ordinal) = column_ordinal(expr, shape, table) else { return Ok(tests) };
            let mut items = Vec::with_capacity(list.len());
            for item in list {
                let Some(bound) = constant_for(item, shape, ordinal, binder)? else { return Ok(tests) };
                items.push(bound);
            }
            tests.push(ColumnTest { ordinal, test: Test::Equal(items) });
        }
        _ => {}
    }
    Ok(tests)
}

/// The comparison with its sides swapped.
pub(super) fn flipped(op: &BinaryOperator) -> Option<BinaryOperator> {
    match op {
        BinaryOperator::Eq | BinaryOperator::NotEq => Some(op.clone()),
        BinaryOperator::Gt => Some(BinaryOperator::Lt),
        BinaryOperator::GtEq => Some(BinaryOperator::LtEq),
        BinaryOperator::Lt => Some(BinaryOperator::Gt),
        BinaryOperator::LtEq => Some(BinaryOperator::GtEq),
        _ => None,
    }
}

/// As [`exact_constant`], of a column that some key or index has.
fn constant_for(
    constant: &SqlExpr,
    shape: &TableShape,
    ordinal: usize,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    if is_of_use(shape, ordinal) { exact_constant(constant, shape, ordinal, binder) } else { Ok(None) }
}

/// The constant in a type that compares exactly with the column's; none when it has none, or is no constant.
pub(super) fn exact_constant(
    constant: &SqlExpr,
    shape: &TableShape,
    ordinal: usize,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    if !is_constant(constant) {
        return Ok(None);
    }
    let data_type = shape.columns()[ordinal].data_type;
    let open = if data_type.is_text() { DataType::Text } else { data_type };
    let bound = binder.bind(constant, &Scope::empty(), Some(open))?;
    if is_exact(bound.data_type, data_type) {
        return Ok(Some(bound));
    }
    Ok(compares_as(bound.data_type, data_type).then(|| bound.cast_to(data_type)))
}

/// Whether the column belongs to the primary key or an index.
fn is_of_use(shape: &TableShape, ordinal: usize) -> bool {
    let is_indexed = || shape.table.indexes().iter().any(|index| index.columns().contains(&ordinal));
    shape.table.def.schema.key.contains(&ordinal) || is_indexed()
}

/// The ordinal of the visible column that an expression is.
pub(super) fn column_ordinal(expr: &SqlExpr, shape: &TableShape, table: &str) -> Option<usize> {
    let name = match expr {
        SqlExpr::Identifier(ident) => fold(ident),
        SqlExpr::CompoundIdentifier(parts) => match parts.as_slice() {
            [qualifier, name] if fold(qualifier) == table => fold(name),
            _ => return None,
        },
        SqlExpr::Nested(inner) => return column_ordinal(inner, shape, table),
        _ => return None,
    };
    shape.columns().iter().position(|column| column.name == name)
}

/// Literals, parameters, and casts and signs of them.
fn is_constant(expr: &SqlExpr) -> bool {
    match expr {
        SqlExpr::Value(_) | SqlExpr::TypedString(_) => true,
        SqlExpr::Nested(inner) | SqlExpr::UnaryOp { expr: inner, .. } | SqlExpr::Cast { expr: inner, .. } => {
            is_constant(inner)
        }
        _ => false,
    }
}

/// Whether equality with a value of type `from` is equality with at most one value of the column's type.
fn is_exact(from: DataType, to: DataType) -> bool {
    let is_integer = |t| matches!(t, DataType::SmallInt | DataType::Integer | DataType::BigInt);
    from == to
        || (from.is_text() && to.is_text())
        || (is_integer(from) && is_integer(to))
        || (matches!(to, DataType::Numeric { .. }) && (is_integer(from) || matches!(from, DataType::Numeric { .. })))
}

/// Whether a comparison brings values of type `from` to the column's type, so that they can be brought there first.
fn compares_as(from: DataType, to: DataType) -> bool {
    match to {
        DataType::DoublePrecision => crate::expr::common_type(from, to) == Some(to) && from != DataType::Real,
        DataType::Timestamp => from == DataType::Date,
        _ => false,
    }
}
