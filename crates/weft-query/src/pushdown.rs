//! Which conditions of WHERE a scan applies itself.
//!
//! ```text
//!   WHERE a >= 7 AND b IN ('x','y') AND lower(c) = 'z'
//!   scan: [a >= 7, b IN ('x','y')]        above the scan: lower(c) = 'z'   (told to the scan when it is indexed, see
//!                                                                            `indexed`)
//! ```
//!
//! 1. A condition is taken whole or not at all; what is taken is applied exactly, so nothing above repeats it.
//! 2. A constant is taken only in the column's own type; the optimizer has moved casts to the constant
//!    where that is sound.
//! 3. An open parameter in the column's own type is as good as a constant: what is taken does not depend on its value.

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::{Cast, Placeholder};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use weft_expr::is_integer;
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{DataType, Schema, Value};

use super::types::value_of;

/// The values of open parameters, `$1` first; none while planning, when each counts as NULL.
pub(crate) type Given<'a> = Option<&'a [ScalarValue]>;

/// The conjunction that `expr` says about the columns of `schema`, or none when a scan cannot apply it.
pub(crate) fn predicates_of(expr: &Expr, schema: &Schema, given: Given<'_>) -> Option<Vec<Predicate>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut all = predicates_of(left, schema, given)?;
            all.extend(predicates_of(right, schema, given)?);
            Some(all)
        }
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Some(Vec::new()),
        expr if is_never(expr) => Some(vec![NEVER]),
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => any_of(expr, schema, given).map(|p| vec![p]),
        Expr::Between(between) if !between.negated => {
            let column = ordinal(&between.expr, schema)?;
            let low = constant(&between.low, column, schema, given)?;
            let high = constant(&between.high, column, schema, given)?;
            Some(vec![
                Predicate::Compare { column, op: CompareOp::GtEq, value: low },
                Predicate::Compare { column, op: CompareOp::LtEq, value: high },
            ])
        }
        other => one(other, schema, given).map(|p| vec![p]),
    }
}

fn one(expr: &Expr, schema: &Schema, given: Given<'_>) -> Option<Predicate> {
    match expr {
        Expr::Column(_) => Some(truth(ordinal(expr, schema)?, true)),
        Expr::Not(inner) => Some(truth(ordinal(inner, schema)?, false)),
        Expr::IsTrue(inner) => Some(truth(ordinal(inner, schema)?, true)),
        Expr::IsFalse(inner) => Some(truth(ordinal(inner, schema)?, false)),
        Expr::IsNull(inner) => Some(Predicate::IsNull { column: ordinal(inner, schema)? }),
        Expr::IsNotNull(inner) => Some(Predicate::IsNotNull { column: ordinal(inner, schema)? }),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let op = compare_op(*op)?;
            if let Some(column) = widened(left, schema) {
                return narrowed(column, op, right, schema, given);
            }
            if let Some(column) = widened(right, schema) {
                return narrowed(column, mirrored(op), left, schema, given);
            }
            if let Some(column) = ordinal(left, schema) {
                return Some(Predicate::Compare { column, op, value: constant(right, column, schema, given)? });
            }
            let column = ordinal(right, schema)?;
            Some(Predicate::Compare { column, op: mirrored(op), value: constant(left, column, schema, given)? })
        }
        Expr::InList(list) if !list.negated => {
            let column = ordinal(&list.expr, schema)?;
            let values = list.list.iter().map(|item| constant(item, column, schema, given));
            let values = values.collect::<Option<Vec<_>>>()?;
            Some(Predicate::In { column, values })
        }
        _ => None,
    }
}

/// `a = 1 OR a = 2 OR a IN (3)` as a list.
fn any_of(expr: &Expr, schema: &Schema, given: Given<'_>) -> Option<Predicate> {
    let mut found: Option<(usize, Vec<Value>)> = None;
    let mut rest = vec![expr];
    while let Some(next) = rest.pop() {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = next {
            rest.push(right);
            rest.push(left);
            continue;
        }
        if is_never(next) {
            continue;
        }
        let (column, mut values) = match one(next, schema, given)? {
            Predicate::Compare { column, op: CompareOp::Eq, value } => (column, vec![value]),
            Predicate::In { column, values } => (column, values),
            _ => return None,
        };
        match &mut found {
            None => found = Some((column, values)),
            Some((first, all)) if *first == column => all.append(&mut values),
            Some(_) => return None,
        }
    }
    Some(found.map_or(NEVER, |(column, values)| Predicate::In { column, values }))
}

/// True of no row.
const NEVER: Predicate = Predicate::Compare { column: 0, op: CompareOp::Eq, value: Value::Null };

/// Whether a condition is the constant false or NULL, as is left of `a NOT IN (1, NULL)`.
fn is_never(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(None | Some(false)) | ScalarValue::Null, _))
}

fn truth(column: usize, value: bool) -> Predicate {
    Predicate::Compare { column, op: CompareOp::Eq, value: Value::Bool(value) }
}

fn ordinal(expr: &Expr, schema: &Schema) -> Option<usize> {
    match expr {
        Expr::Column(Column { name, .. }) => schema.ordinal(name),
        _ => None,
    }
}

/// An integer column that is compared as a wider integer.
fn widened(expr: &Expr, schema: &Schema) -> Option<usize> {
    let Expr::Cast(Cast { expr, field }) = expr else { return None };
    let column = ordinal(expr, schema)?;
    let (from, to) = (schema.columns[column].data_type, field.data_type());
    (is_integer(from) && to.is_signed_integer() && from.arrow().is_signed_integer()).then_some(column)
}

/// A comparison of a column with an open parameter of a wider type. (Of a constant the optimizer has moved the cast.)
///
/// ```text
///   a::bigint < $1, a an integer     $1 = 7: a < 7   $1 = 3,000,000,000: a IS NOT NULL     $1 = -3,000,000,000: never
/// ```
fn narrowed(column: usize, op: CompareOp, expr: &Expr, schema: &Schema, given: Given<'_>) -> Option<Predicate> {
    let Expr::Placeholder(placeholder) = expr else { return None };
    let wide = placeholder.field.as_ref()?.data_type().clone();
    let data_type =
        [DataType::SmallInt, DataType::Integer, DataType::BigInt].into_iter().find(|t| t.arrow() == wide)?;
    let value = constant_of(expr, data_type, given)?;
    let Value::Int(number) = value else { return Some(Predicate::Compare { column, op, value: Value::Null }) };
    if fits(number, schema.columns[column].data_type) {
        return Some(Predicate::Compare { column, op, value });
    }
    let is_always = match op {
        CompareOp::Eq => false,
        CompareOp::NotEq => true,
        CompareOp::Lt | CompareOp::LtEq => number > 0,
        CompareOp::Gt | CompareOp::GtEq => number < 0,
    };
    Some(if is_always {
        Predicate::IsNotNull { column }
    } else {
        Predicate::Compare { column, op: CompareOp::Eq, value: Value::Null }
    })
}

fn fits(number: i64, data_type: DataType) -> bool {
    match data_type {
        DataType::SmallInt => i16::try_from(number).is_ok(),
        DataType::Integer => i32::try_from(number).is_ok(),
        _ => true,
    }
}

fn constant(expr: &Expr, column: usize, schema: &Schema, given: Given<'_>) -> Option<Value> {
    match expr {
        Expr::Literal(ScalarValue::Null, _) => Some(Value::Null),
        other => constant_of(other, schema.columns[column].data_type, given),
    }
}

/// A constant or an open parameter in a type.
pub(super) fn constant_of(expr: &Expr, data_type: DataType, given: Given<'_>) -> Option<Value> {
    match expr {
        Expr::Literal(scalar, _) => value_of(scalar, data_type),
        Expr::Placeholder(placeholder) => {
            placeholder.field.as_ref().filter(|field| *field.data_type() == data_type.arrow())?;
            match given {
                Some(values) => value_of(values.get(number_of(placeholder)? - 1)?, data_type),
                None => Some(Value::Null),
            }
        }
        // A narrower integer.
        Expr::Cast(Cast { expr, field }) if *field.data_type() == data_type.arrow() && is_integer(data_type) => {
            let Expr::Placeholder(placeholder) = &**expr else { return None };
            let narrow = placeholder.field.as_ref()?.data_type();
            let known = [DataType::SmallInt, DataType::Integer].into_iter().find(|known| known.arrow() == *narrow)?;
            (known.slot_bytes() <= data_type.slot_bytes()).then(|| constant_of(expr, known, given))?
        }
        _ => None,
    }
}

/// The number of a parameter: 1 of `$1`.
pub(super) fn number_of(placeholder: &Placeholder) -> Option<usize> {
    placeholder.id.trim_start_matches('$').parse().ok().filter(|number| (1..=65_535).contains(number))
}

pub(super) fn compare_op(op: Operator) -> Option<CompareOp> {
    Some(match op {
        Operator::Eq => CompareOp::Eq,
        Operator::NotEq => CompareOp::NotEq,
        Operator::Lt => CompareOp::Lt,
        Operator::LtEq => CompareOp::LtEq,
        Operator::Gt => CompareOp::Gt,
        Operator::GtEq => CompareOp::GtEq,
        _ => return None,
    })
}

/// `7 < a` is `a > 7`.
pub(super) fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::LtEq => CompareOp::GtEq,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::GtEq => CompareOp::LtEq,
        same => same,
    }
}

/// A predicate as people write it.
pub(crate) fn describe(predicate: &Predicate, schema: &Schema) -> String {
    let column = &schema.columns[predicate.column()];
    describe_about(predicate, &column.name, column.data_type)
}

/// A predicate about something of a name and a type.
pub(crate) fn describe_about(predicate: &Predicate, name: &str, data_type: DataType) -> String {
    match predicate {
        Predicate::IsNull { .. } => format!("{name} IS NULL"),
        Predicate::IsNotNull { .. } => format!("{name} IS NOT NULL"),
        Predicate::Compare { op, value, .. } => {
            let sign = match op {
                CompareOp::Eq => "=",
                CompareOp::NotEq => "<>",
                CompareOp::Lt => "<",
                CompareOp::LtEq => "<=",
                CompareOp::Gt => ">",
                CompareOp::GtEq => ">=",
            };
            format!("{name} {sign} {}", literal(value, data_type))
        }
        Predicate::In { values, .. } => {
            let shown: Vec<String> = values.iter().take(8).map(|value| literal(value, data_type)).collect();
            let more = if values.len() > 8 { format!(", ... {} in all", values.len()) } else { String::new() };
            format!("{name} IN ({}{more})", shown.join(", "))
        }
    }
}

fn literal(value: &Value, data_type: DataType) -> String {
    match super::types::scalar_of(value, data_type) {
        Ok(scalar) if matches!(value, Value::Text(_)) => format!("'{scalar}'"),
        Ok(scalar) => scalar.to_string(),
        Err(_) => format!("{value:?}"),
    }
}
