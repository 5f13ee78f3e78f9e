//! Predicates of partial indexes as SQL.

use weft_format::{CompareOp, DataType, Predicate, Value};
use weft_kernel::TableRef;
use weft_pgcatalog::quoted;

use crate::text;

/// The predicates of an index as SQL: `urgent AND code > 7 AND "select" = 'now'`.
pub(crate) fn predicate_text(table: &TableRef, predicates: &[Predicate]) -> String {
    let one = |predicate: &Predicate| {
        let column = &table.def.schema.columns[predicate.column()];
        let name = quoted(&column.name);
        let constant = |value: &Value| constant_text(value, column.data_type);
        match predicate {
            Predicate::Compare { op: CompareOp::Eq, value: Value::Bool(true), .. } => name,
            Predicate::Compare { op: CompareOp::Eq, value: Value::Bool(false), .. } => format!("NOT {name}"),
            Predicate::Compare { op, value, .. } => format!("{name} {} {}", sign(*op), constant(value)),
            Predicate::In { values, .. } => {
                format!("{name} IN ({})", values.iter().map(constant).collect::<Vec<_>>().join(", "))
            }
            Predicate::IsNull { .. } => format!("{name} IS NULL"),
            Predicate::IsNotNull { .. } => format!("{name} IS NOT NULL"),
        }
    };
    predicates.iter().map(one).collect::<Vec<_>>().join(" AND ")
}

/// A constant as SQL: numbers bare, everything else in quotes.
fn constant_text(value: &Value, data_type: DataType) -> String {
    let text = text::print(value.as_ref(), data_type);
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(_) | Value::Decimal(_) if is_number(data_type) => text,
        Value::Float(value) if value.is_finite() => text,
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

fn is_number(data_type: DataType) -> bool {
    matches!(
        data_type,
        DataType::SmallInt | DataType::Integer | DataType::BigInt | DataType::Oid | DataType::Numeric { .. }
    )
}

fn sign(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => "=",
        CompareOp::NotEq => "<>",
        CompareOp::Lt => "<",
        CompareOp::LtEq => "<=",
        CompareOp::Gt => ">",
        CompareOp::GtEq => ">=",
    }
}
