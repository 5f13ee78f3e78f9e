//! Values to text.

use weft_format::{ArrayValue, DataType, ValueRef};

use super::array::write_array;
use super::write_scalar::write_scalar;
use crate::style::{Local, Style};

/// The engine's own text of a value; NULL is the empty string (callers that tell NULL apart look at the value first).
pub fn print(value: ValueRef<'_>, data_type: DataType) -> String {
    print_as(value, data_type, &Local::fixed().style)
}

/// The text of a value in a session's style.
pub fn print_as(value: ValueRef<'_>, data_type: DataType, style: &Style) -> String {
    let mut out = String::new();
    write_as(&mut out, value, data_type, style);
    out
}

/// Appends the engine's own text of a value; NULL appends nothing.
pub fn write(out: &mut String, value: ValueRef<'_>, data_type: DataType) {
    write_as(out, value, data_type, &Local::fixed().style);
}

/// Appends the text of a value in a session's style; NULL appends nothing.
pub fn write_as(out: &mut String, value: ValueRef<'_>, data_type: DataType, style: &Style) {
    match (data_type, value) {
        (DataType::Array(element), ValueRef::Array(v) | ValueRef::Bytes(v)) => {
            let element = element.data_type();
            write_array(out, &ArrayValue::from_bytes(v).values(element), element, style);
        }
        (scalar, value) => write_scalar(out, value, scalar, style),
    }
}
