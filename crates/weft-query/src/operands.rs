//! The types of operands, as PostgreSQL takes them before types are coerced: constants and parameters among them.

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{Expr, ExprSchemable};
use weft_format::DataType;

use super::types::{field_of, field_type, output_type};

/// The type of an operand; none for a literal or parameter that takes the type of its place.
pub(super) fn operand_type(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Null, _) => None,
        Expr::Literal(ScalarValue::Int64(Some(value)), _) if i32::try_from(*value).is_ok() => Some(DataType::Integer),
        Expr::Placeholder(placeholder) => placeholder.field.as_ref().map(|field| field_type(field)),
        Expr::Alias(alias) => operand_type(&alias.expr, schema),
        Expr::Negative(inner) if matches!(**inner, Expr::Literal(..)) => operand_type(inner, schema),
        // Its field has a name, which is as long as the whole expression; its type is enough.
        Expr::BinaryExpr(_) => expr.get_type(schema).ok().map(|data_type| output_type(&data_type)),
        other => other.to_field(schema).ok().map(|(_, field)| field_type(&field)),
    }
}

/// An integer constant that fits integer as one: the planner takes every integer for a bigint.
pub(super) fn narrowed(expr: Expr) -> Expr {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), metadata) => match i32::try_from(value) {
            Ok(narrow) => Expr::Literal(ScalarValue::Int32(Some(narrow)), metadata),
            Err(_) => Expr::Literal(ScalarValue::Int64(Some(value)), metadata),
        },
        Expr::Negative(inner) if matches!(*inner, Expr::Literal(..)) => Expr::Negative(Box::new(narrowed(*inner))),
        other => other,
    }
}

/// A parameter without a type takes this one.
pub(super) fn with_type(expr: Expr, data_type: DataType) -> Expr {
    match expr {
        Expr::Placeholder(Placeholder { id, field: None }) => {
            Expr::Placeholder(Placeholder { id, field: Some(field_of("", data_type).into()) })
        }
        other => other,
    }
}

/// What the query engine has no values for, or computes otherwise.
pub(super) fn is_special(data_type: DataType) -> bool {
    matches!(
        data_type,
        DataType::Uuid
            | DataType::Bytea
            | DataType::Time
            | DataType::Interval
            | DataType::Json
            | DataType::Jsonb
            | DataType::JsonPath
            | DataType::Bit(_)
            | DataType::VarBit(_)
            | DataType::Char(_)
            | DataType::Oid
            | DataType::Enum(_)
            | DataType::Array(_)
    )
}
