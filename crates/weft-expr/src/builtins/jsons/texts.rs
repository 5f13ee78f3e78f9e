//! How the functions of JSON read arguments.

use weft_format::{DataType, Value};

use super::super::builtin::Call;

/// The texts of the array at a place.
pub(in super::super) fn texts(call: &Call<'_>, at: usize) -> Vec<Option<String>> {
    match &call.args[at] {
        Value::Array(array) => array.values(DataType::Text).into_iter().map(text).collect(),
        _ => Vec::new(),
    }
}

/// A text, if it is not NULL.
pub(super) fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.into_string()),
        _ => None,
    }
}
