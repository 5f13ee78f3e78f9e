//! Values of the rows of views, and the types of their columns.

use weft_format::{DataType, Value};

pub(super) const BIGINT: DataType = DataType::BigInt;
pub(super) const BOOLEAN: DataType = DataType::Boolean;
pub(super) const DOUBLE: DataType = DataType::DoublePrecision;
pub(super) const TEXT: DataType = DataType::Text;

/// Columns of a view.
pub(super) type Columns = &'static [(&'static str, DataType)];

pub(super) fn int(number: u64) -> Value {
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into().into())
}

/// NULL when there is nothing to say.
pub(super) fn some_text(words: String) -> Value {
    if words.is_empty() { Value::Null } else { text(words) }
}
