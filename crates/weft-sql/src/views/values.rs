//! Values of the rows of views.

use weft_format::Value;

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
