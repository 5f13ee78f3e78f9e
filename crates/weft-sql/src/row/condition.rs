//! Conditions that compare a column, or an expression that is indexed, with constants: what a lookup by an index starts
//! from.
//!
//! ```text
//!   a = $1          column a, Equal [$1]           b BETWEEN 1 AND 9     column b, Low 1 and High 9, both included
//!   7 > b           column b, High 7, excluded     c IN ('x', 'y')       column c, Equal ['x', 'y']
//!   lower(c) = 'x'  expression lower(c), Equal ['x'], when the table has an index on it
//! ```
//!
//! 1. A row for which the condition is true has, in the part, one of the values, or one within the bounds. The
//!    reverse need not hold: whoever looks rows up by these values tests the condition on them.

use sqlparser::ast::{BinaryOperator, Expr as SqlExpr};
use weft_format::{DataType, Result, Value};
use weft_kernel::index::IndexPart;

use super::TableShape;
use super::shape::key_value;
use crate::expr::{BindResult, Binder, EvalContext, Expr, Scope, open};
use crate::parse::fold;

/// One column or indexed expression compared with constants.
pub(super) struct PartTest {
    /// A visible column, or an expression that some index has.
    pub(super) part: IndexPart,
    pub(super) test: Test,
}

/// The constants, in types that [`super::shape::key_value`] brings to the part's.
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

/// Reads the comparisons of one part that a condition is (BETWEEN is two); none when it is something else.
pub(super) fn part_tests(
    condition: &SqlExpr,
    shape: &TableShape,
    table: &str,
    binder: &mut Binder<'_>,
) -> BindResult<Vec<PartTest>> {
    let mut tests = Vec::new();
    match condition {
        SqlExpr::BinaryOp { left, op, right } => {
            for (part, constant, op) in [(left, right, Some(op.clone())), (right, left, flipped(op))] {
                if let (Some(op), Some(part)) = (op, part_of(part, shape, table, binder))
                    && let Some(bound) = constant_for(constant, shape, &part, binder)?
                {
                    let test = match op {
                        BinaryOperator::Eq => Test::Equal(vec![bound]),
                        BinaryOperator::Gt => Test::Low(bound, false),
                        BinaryOperator::GtEq => Test::Low(bound, true),
                        BinaryOperator::Lt => Test::High(bound, false),
                        BinaryOperator::LtEq => Test::High(bound, true),
                        _ => return Ok(tests),
                    };
                    tests.push(PartTest { part, test });
                    break;
                }
            }
        }
        SqlExpr::Between { expr, negated: false, low, high } => {
            if let Some(part) = part_of(expr, shape, table, binder)
                && let Some(low) = constant_for(low, shape, &part, binder)?
                && let Some(high) = constant_for(high, shape, &part, binder)?
            {
                tests.push(PartTest { part: part.clone(), test: Test::Low(low, true) });
                tests.push(PartTest { part, test: Test::High(high, true) });
            }
        }
        SqlExpr::InList { expr, list, negated: false } => {
            let Some(part) = part_of(expr, shape, table, binder) else { return Ok(tests) };
            let mut items = Vec::with_capacity(list.len());
            for item in list {
                let Some(bound) = constant_for(item, shape, &part, binder)? else { return Ok(tests) };
                items.push(bound);
            }
            tests.push(PartTest { part, test: Test::Equal(items) });
        }
        SqlExpr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if is_constant(right) => {
            if let Some(part) = part_of(left, shape, table, binder)
                && let Some(bound) = array_for(right, shape, &part, binder)?
            {
                tests.push(PartTest { part, test: Test::Equal(vec![bound]) });
            }
        }
        _ => {}
    }
    // An index on the condition itself.
    if tests.is_empty()
        && let Some(part @ IndexPart::Expression(_)) = part_of(condition, shape, table, binder)
    {
        tests.push(PartTest { part, test: Test::Equal(vec![Expr::literal(Value::Bool(true), DataType::Boolean)]) });
    }
    Ok(tests)
}

/// The column that an expression is, or the expression when an index of the table has it.
pub(super) fn part_of(expr: &SqlExpr, shape: &TableShape, table: &str, binder: &Binder<'_>) -> Option<IndexPart> {
    if let Some(ordinal) = column_ordinal(expr, shape, table) {
        return Some(IndexPart::Column(ordinal));
    }
    let indexes = shape.table.indexes();
    let mut parts = indexes.iter().flat_map(|index| index.index.parts()).filter(|part| is_expression(part)).peekable();
    parts.peek()?;
    // Apart from the statement's binder: whether this is the expression of an index decides on no parameter's type.
    let bound = Binder::new(binder.source).bind(expr, &shape.scope(table), None).ok()?;
    parts.find(|part| matches!(part, IndexPart::Expression(known) if **known == bound)).cloned()
}

fn is_expression(part: &IndexPart) -> bool {
    matches!(part, IndexPart::Expression(_))
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

/// A constant array, any of whose elements the part may equal: an item that [`spread`] takes apart.
fn array_for(
    constant: &SqlExpr,
    shape: &TableShape,
    part: &IndexPart,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    let data_type = part.data_type(&shape.table.def.schema);
    let is_of_use = !matches!(part, IndexPart::Column(ordinal) if !is_of_use(shape, *ordinal));
    let Some(array) = open(data_type).array().filter(|_| is_of_use) else { return Ok(None) };
    let bound = binder.bind(constant, &Scope::empty(), Some(array))?;
    Ok(bound.data_type.element().is_some_and(|element| is_exact(element, data_type)).then_some(bound))
}

/// Whether a constant for a part of a type is an array of such constants.
pub(super) fn is_spread(constant: &Expr, data_type: DataType) -> bool {
    constant.data_type.element().is_some() && data_type.element().is_none()
}

/// The values of a constant for a part: of an array those of its elements; none that no row can have.
pub(super) fn spread(constant: &Expr, data_type: DataType, eval: &EvalContext<'_>) -> Result<Vec<Value>> {
    let value = constant.eval(&[], eval)?;
    Ok(match (value, constant.data_type.element()) {
        (Value::Array(array), Some(element)) if is_spread(constant, data_type) => {
            let values = array.values(element);
            values.iter().filter_map(|value| key_value(value.as_ref(), element, data_type)).collect()
        }
        (Value::Null, _) => Vec::new(),
        (value, _) => key_value(value.as_ref(), constant.data_type, data_type).into_iter().collect(),
    })
}

/// As [`exact_constant`], of a part that some key or index has.
fn constant_for(
    constant: &SqlExpr,
    shape: &TableShape,
    part: &IndexPart,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    let is_of_use = match part {
        IndexPart::Column(ordinal) => is_of_use(shape, *ordinal),
        IndexPart::Expression(_) => true,
    };
    let data_type = part.data_type(&shape.table.def.schema);
    if is_of_use { exact_constant(constant, data_type, binder) } else { Ok(None) }
}

/// The constant in a type that compares exactly with the other side's; none when it has none, or is no constant.
pub(super) fn exact_constant(
    constant: &SqlExpr,
    data_type: DataType,
    binder: &mut Binder<'_>,
) -> BindResult<Option<Expr>> {
    if !is_constant(constant) {
        return Ok(None);
    }
    let bound = binder.bind(constant, &Scope::empty(), Some(open(data_type)))?;
    if is_exact(bound.data_type, data_type) {
        return Ok(Some(bound));
    }
    Ok(compares_as(bound.data_type, data_type).then(|| bound.cast_to(data_type)))
}

/// Whether the column belongs to the primary key or an index.
fn is_of_use(shape: &TableShape, ordinal: usize) -> bool {
    let is_indexed = || shape.table.indexes().iter().any(|index| index.index.columns().contains(&ordinal));
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
    shape.find_ordinal(&name)
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
