//! Fields of a file, gathered into arrays of the table's types.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Builder, Int32Builder, Int64Builder, StringViewBuilder};
use weft_expr::Local;
use weft_format::{DataType, Result, Value};

use crate::text;
use crate::values::array_of;

/// One column under construction. Common types are read without an intermediate value.
pub(super) struct ColumnBuilder {
    data_type: DataType,
    kind: Kind,
}

enum Kind {
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    Text(StringViewBuilder),
    Other(Vec<Value>),
}

impl ColumnBuilder {
    /// A column without rows.
    pub(super) fn new(data_type: DataType) -> ColumnBuilder {
        let kind = match data_type {
            DataType::Integer => Kind::Int32(Int32Builder::new()),
            DataType::BigInt => Kind::Int64(Int64Builder::new()),
            DataType::DoublePrecision => Kind::Float64(Float64Builder::new()),
            DataType::Text | DataType::Varchar(_) => Kind::Text(StringViewBuilder::new()),
            _ => Kind::Other(Vec::new()),
        };
        ColumnBuilder { data_type, kind }
    }

    /// Appends what a field says to a session.
    pub(super) fn read(&mut self, field: &str, local: &Local) -> Result<()> {
        match &mut self.kind {
            Kind::Text(builder) => {
                builder.append_value(field);
                return Ok(());
            }
            Kind::Int32(builder) => {
                if let Some(value) = digits(field).and_then(|value| i32::try_from(value).ok()) {
                    builder.append_value(value);
                    return Ok(());
                }
            }
            Kind::Int64(builder) => {
                if let Some(value) = digits(field) {
                    builder.append_value(value);
                    return Ok(());
                }
            }
            Kind::Float64(_) | Kind::Other(_) => {}
        }
        let value = text::parse(field, self.data_type, local)?;
        self.append(value);
        Ok(())
    }

    /// Appends a value of the column's type.
    pub(super) fn append(&mut self, value: Value) {
        match (&mut self.kind, value) {
            (Kind::Int32(builder), Value::Int(v)) => {
                builder.append_value(i32::try_from(v).expect("an integer column's values were range-checked"));
            }
            (Kind::Int64(builder), Value::Int(v)) => builder.append_value(v),
            (Kind::Float64(builder), Value::Float(v)) => builder.append_value(v),
            (Kind::Text(builder), Value::Text(v)) => builder.append_value(&*v),
            (Kind::Other(values), value) => values.push(value),
            (Kind::Int32(builder), _) => builder.append_null(),
            (Kind::Int64(builder), _) => builder.append_null(),
            (Kind::Float64(builder), _) => builder.append_null(),
            (Kind::Text(builder), _) => builder.append_null(),
        }
    }

    /// The array; the builder is empty again.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match &mut self.kind {
            Kind::Int32(builder) => Arc::new(builder.finish()),
            Kind::Int64(builder) => Arc::new(builder.finish()),
            Kind::Float64(builder) => Arc::new(builder.finish()),
            Kind::Text(builder) => Arc::new(builder.finish()),
            Kind::Other(values) => array_of(std::mem::take(values).iter(), self.data_type),
        }
    }
}

/// Plain digits with at most a minus sign, short enough not to overflow.
fn digits(field: &str) -> Option<i64> {
    let bytes = field.as_bytes();
    let (negative, digits) = match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, bytes),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}
