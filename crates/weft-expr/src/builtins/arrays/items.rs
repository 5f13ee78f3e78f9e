//! How the functions of arrays read arguments.

use weft_format::{DataType, Value};

use super::super::builtin::Call;

/// The elements of the array at a place, and their type; NULL has none.
pub(super) fn elements(call: &Call<'_>, at: usize) -> (Vec<Value>, DataType) {
    let element = call.types[at].element().expect("an argument that takes arrays was cast to one");
    match &call.args[at] {
        Value::Array(array) => (array.values(element), element),
        _ => (Vec::new(), element),
    }
}
