//! The functions that expressions know.

use weft_format::{Code, DataType, Error, Result, Value};

use crate::arithmetic::{negate, out_of_range};
use crate::text::rescale;
use crate::types::{as_numeric, is_integer};

/// A function, after binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The first argument that is not NULL.
    Coalesce,
    /// The first argument; NULL when it equals the second.
    NullIf,
    /// The greatest argument; NULLs do not count.
    Greatest,
    /// The least argument; NULLs do not count.
    Least,
    /// Without the sign.
    Abs,
    /// To a whole number.
    Round,
    /// In lower case.
    Lower,
    /// In upper case.
    Upper,
    /// In characters.
    Length,
    /// From a character (counted from 1) on, perhaps at most so many.
    Substring,
}

impl Function {
    /// By name, folded.
    pub fn by_name(name: &str) -> Option<Function> {
        Some(match name {
            "coalesce" => Function::Coalesce,
            "nullif" => Function::NullIf,
            "greatest" => Function::Greatest,
            "least" => Function::Least,
            "abs" => Function::Abs,
            "round" => Function::Round,
            "lower" => Function::Lower,
            "upper" => Function::Upper,
            "length" | "char_length" | "character_length" => Function::Length,
            "substr" | "substring" => Function::Substring,
            _ => return None,
        })
    }

    /// Whether all arguments and the result have one common type.
    pub fn is_choice(self) -> bool {
        matches!(self, Function::Coalesce | Function::NullIf | Function::Greatest | Function::Least)
    }
}

/// Computes a function that is NULL when an argument is NULL; no argument is NULL.
pub(crate) fn call(function: Function, args: &[Value], data_type: DataType) -> Result<Value> {
    Ok(match (function, args) {
        (Function::Abs, [Value::Float(v)]) => Value::Float(v.abs()),
        (Function::Abs, [Value::Int(v)]) if *v < 0 => negate(Value::Int(*v), data_type)?,
        (Function::Abs, [Value::Decimal(v)]) => Value::Decimal(v.abs()),
        (Function::Abs, [value]) => value.clone(),
        (Function::Round, [Value::Float(v)]) => Value::Float(v.round_ties_even()),
        (Function::Round, [Value::Int(v)]) if is_integer(data_type) => Value::Int(*v),
        (Function::Lower, [Value::Text(text)]) => Value::Text(text.to_lowercase().into()),
        (Function::Upper, [Value::Text(text)]) => Value::Text(text.to_uppercase().into()),
        (Function::Length, [Value::Text(text)]) => {
            Value::Int(i64::from(i32::try_from(text.chars().count()).map_err(|_| out_of_range(data_type))?))
        }
        (Function::Substring, [Value::Text(text), Value::Int(start)]) => Value::Text(substring(text, *start, None)?),
        (Function::Substring, [Value::Text(text), Value::Int(start), Value::Int(length)]) => {
            Value::Text(substring(text, *start, Some(*length))?)
        }
        (function, args) => unreachable!("{function:?} was bound to its types, not {args:?}"),
    })
}

/// `round(numeric)`: to scale 0.
pub(crate) fn round_decimal(value: i128, from: DataType) -> i128 {
    let (_, scale) = as_numeric(from).expect("a numeric has a scale");
    rescale(value, scale, 0).expect("rounding makes a number smaller")
}

/// Characters from `start` (counted from 1; may lie before the text, as in PostgreSQL) on.
fn substring(text: &str, start: i64, length: Option<i64>) -> Result<Box<str>> {
    let end = match length {
        Some(length) if length < 0 => {
            return Err(Error::new(Code::InvalidParameterValue, "negative substring length not allowed"));
        }
        Some(length) => start.saturating_add(length),
        None => i64::MAX,
    };
    let skip = (start - 1).max(0);
    let take = (end - 1 - skip).max(0);
    Ok(text.chars().skip(skip as usize).take(usize::try_from(take).unwrap_or(usize::MAX)).collect::<String>().into())
}
