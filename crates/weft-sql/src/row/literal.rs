//! Literals of an INSERT of many: from text to a value of the column, as binding and assigning them would.

use weft_expr::Local;
use weft_format::{Column, DataType, Result, Value};

use crate::expr::{assign, check_assignable, literal_number_type};
use crate::parse::LiteralKind;
use crate::text::{fits_integer, parse};

/// The value of a literal for a column; `at` is its kind, text and byte offset in `source`.
pub(super) fn literal_value(
    at: (LiteralKind, &str, usize),
    source: &str,
    column: &Column,
    local: &Local,
) -> Result<Value> {
    let (kind, text, offset) = at;
    let converted = match kind {
        LiteralKind::Null => Ok(Value::Null),
        LiteralKind::True => assign_literal(Value::Bool(true), DataType::Boolean, column, local),
        LiteralKind::False => assign_literal(Value::Bool(false), DataType::Boolean, column, local),
        LiteralKind::Number => number(text, column, local),
        LiteralKind::Text => string(text, column, local),
        LiteralKind::QuotedText => string(&text.replace("''", "'"), column, local),
    };
    let quote = usize::from(matches!(kind, LiteralKind::Text | LiteralKind::QuotedText));
    converted.map_err(|error| error.at(source[..offset - quote].chars().count() + 1))
}

fn number(text: &str, column: &Column, local: &Local) -> Result<Value> {
    if matches!(column.data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
        && let Ok(value) = text.parse::<i64>()
        && fits_integer(value, column.data_type)
    {
        return Ok(Value::Int(value));
    }
    let data_type = literal_number_type(text.trim_start_matches('-')).unwrap_or(DataType::DoublePrecision);
    assign_literal(parse(text, data_type, local)?, data_type, column, local)
}

fn string(text: &str, column: &Column, local: &Local) -> Result<Value> {
    match column.data_type {
        DataType::Text => Ok(Value::Text(text.into())),
        DataType::Varchar(_) | DataType::Char(_) => {
            assign(Value::Text(text.into()), DataType::Text, column.data_type, &column.name, local)
        }
        data_type if data_type.is_bits() => {
            let bits = parse(text, data_type, local)?;
            assign(bits, DataType::VarBit(0), data_type, &column.name, local)
        }
        data_type => parse(text, data_type, local),
    }
}

fn assign_literal(value: Value, from: DataType, column: &Column, local: &Local) -> Result<Value> {
    check_assignable(from, column.data_type, &column.name)?;
    assign(value, from, column.data_type, &column.name, local)
}
