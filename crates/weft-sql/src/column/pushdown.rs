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

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use weft_format::predicate::{CompareOp, Predicate};
use weft_format::{DataType, Schema, Value};

/// The conjunction that `expr` says about the columns of `schema`, or none when a scan cannot apply it.
pub(crate) fn predicates_of(expr: &Expr, schema: &Schema) -> Option<Vec<Predicate>> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut all = predicates_of(left, schema)?;
            all.extend(predicates_of(right, schema)?);
            Some(all)
        }
        Expr::Literal(ScalarValue::Boolean(Some(true)), _) => Some(Vec::new()),
        expr if is_never(expr) => Some(vec![NEVER]),
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => any_of(expr, schema).map(|p| vec![p]),
        Expr::Between(between) if !between.negated => {
            let column = ordinal(&between.expr, schema)?;
            let low = constant(&between.low, column, schema)?;
            let high = constant(&between.high, column, schema)?;
            Some(vec![
                Predicate::Compare { column, op: CompareOp::GtEq, value: low },
                Predicate::Compare { column, op: CompareOp::LtEq, value: high },
            ])
        }
        other => one(other, schema).map(|p| vec![p]),
    }
}

fn one(expr: &Expr, schema: &Schema) -> Option<Predicate> {
    match expr {
        Expr::Column(_) => Some(truth(ordinal(expr, schema)?, true)),
        Expr::Not(inner) => Some(truth(ordinal(inner, schema)?, false)),
        Expr::IsTrue(inner) => Some(truth(ordinal(inner, schema)?, true)),
        Expr::IsFalse(inner) => Some(truth(ordinal(inner, schema)?, false)),
        Expr::IsNull(inner) => Some(Predicate::IsNull { column: ordinal(inner, schema)? }),
        Expr::IsNotNull(inner) => Some(Predicate::IsNotNull { column: ordinal(inner, schema)? }),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let op = compare_op(*op)?;
            if let Some(column) = ordinal(left, schema) {
                return Some(Predicate::Compare { column, op, value: constant(right, column, schema)? });
            }
            let column = ordinal(right, schema)?;
            Some(Predicate::Compare { column, op: mirrored(op), value: constant(left, column, schema)? })
        }
        Expr::InList(list) if !list.negated => {
            let column = ordinal(&list.expr, schema)?;
            let values = list.list.iter().map(|item| constant(item, column, schema)).collect::<Option<Vec<_>>>()?;
            Some(Predicate::In { column, values })
        }
        _ => None,
    }
}

/// `a = 1 OR a = 2 OR a IN (3)` as a list.
fn any_of(expr: &Expr, schema: &Schema) -> Option<Predicate> {
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
        let (column, mut values) = match one(next, schema)? {
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

fn constant(expr: &Expr, column: usize, schema: &Schema) -> Option<Value> {
    let data_type = schema.columns[column].data_type;
    match expr {
        Expr::Literal(ScalarValue::Null, _) => Some(Value::Null),
        Expr::Literal(scalar, _) => super::types::value_of(scalar, data_type),
        _ => None,
    }
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
