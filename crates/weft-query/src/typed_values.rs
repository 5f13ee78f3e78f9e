//! Constants of VALUES in the types that their columns have.
//!
//! ```text
//!   VALUES (DATE '2024-01-01', 1), ('2024-02-01', 2)
//!     becomes VALUES (DATE '2024-01-01', 1::integer), ('2024-02-01'::date, 2::integer)
//! ```
//!
//! 1. A constant in quotes, a parameter or NULL takes the type of the first value of its column that is written with
//!    one, or is numeric if one is written with a point: the planner would give it that one's digits.
//! 2. Beside a float numbers are floats.
//! 3. An integer that fits integer is one: the planner takes every integer for a bigint.

use sqlparser::ast::{CastKind, DataType as SqlType, ExactNumberInfo, Expr, UnaryOperator, Value, Values};

/// Writes the types of constants.
pub(super) fn write_types(values: &mut Values) {
    let width = values.rows.iter().map(|row| row.content.len()).min().unwrap_or(0);
    for place in 0..width {
        let known = values.rows.iter().find_map(|row| type_of(&row.content[place]));
        let has_fraction = values.rows.iter().any(|row| is_fraction(&row.content[place]));
        let known = known.or_else(|| has_fraction.then_some(SqlType::Numeric(ExactNumberInfo::None)));
        for row in &mut values.rows {
            let value = &mut row.content[place];
            let to = match (&known, &*value) {
                (Some(known), open) if is_open(open) => known.clone(),
                (Some(float), number) if is_float(float) && (is_fraction(number) || is_integer(number)) => {
                    float.clone()
                }
                (_, number) if is_integer(number) => SqlType::Integer(None),
                _ => continue,
            };
            *value = cast(value.clone(), to);
        }
    }
}

/// An expression of a type.
pub(super) fn cast(expr: Expr, data_type: SqlType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// The type that a value is written with, but for texts.
fn type_of(value: &Expr) -> Option<SqlType> {
    let data_type = match value {
        Expr::Cast { data_type, .. } => data_type.clone(),
        Expr::TypedString(typed) => typed.data_type.clone(),
        Expr::Interval(_) => SqlType::Interval { fields: None, precision: None },
        Expr::Nested(inner) => return type_of(inner),
        _ => return None,
    };
    let is_text = matches!(
        data_type,
        SqlType::Text | SqlType::Varchar(_) | SqlType::CharacterVarying(_) | SqlType::Char(_) | SqlType::Character(_)
    );
    (!is_text).then_some(data_type)
}

fn is_float(data_type: &SqlType) -> bool {
    matches!(
        data_type,
        SqlType::DoublePrecision
            | SqlType::Double(_)
            | SqlType::Float8
            | SqlType::Float(_)
            | SqlType::Real
            | SqlType::Float4
    )
}

/// Whether a value has no type of its own.
fn is_open(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_) | Value::Placeholder(_) | Value::Null),
        Expr::Nested(inner) => is_open(inner),
        _ => false,
    }
}

/// Whether a value is a number with a point or an exponent.
fn is_fraction(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => matches!(&value.value, Value::Number(text, _) if text.contains(['.', 'e', 'E'])),
        Expr::UnaryOp { expr: inner, .. } | Expr::Nested(inner) => is_fraction(inner),
        _ => false,
    }
}

/// Whether a value is a number that fits integer.
pub(super) fn is_integer(value: &Expr) -> bool {
    match value {
        Expr::Value(value) => matches!(&value.value, Value::Number(text, _) if text.parse::<i32>().is_ok()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            matches!(&**expr, Expr::Value(value)
                if matches!(&value.value, Value::Number(text, _) if format!("-{text}").parse::<i32>().is_ok()))
        }
        Expr::Nested(inner) => is_integer(inner),
        _ => false,
    }
}
