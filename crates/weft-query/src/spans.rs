//! The lowest and the highest values of columns, as numbers: what estimates go by.
//!
//! ```text
//!   o_orderdate  1992-01-01 to 1998-08-02      2,406 values at most      below 1995-01-01: 0.46 of them
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use weft_format::{DataType, Value};

use super::types::value_of;

/// The lowest and the highest value of a column that is a number or a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    low: f64,
    high: f64,
    data_type: DataType,
}

impl Span {
    /// Of the lowest and highest value of a column.
    pub(super) fn of(low: &Value, high: &Value, data_type: DataType) -> Option<Span> {
        let (low, high) = (number(low)?, number(high)?);
        (low <= high).then_some(Span { low, high, data_type })
    }

    /// How many values there can be.
    pub(super) fn count(self) -> Option<f64> {
        let is_whole = matches!(self.data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
            || matches!(self.data_type, DataType::Date | DataType::Oid);
        is_whole.then_some(self.high - self.low + 1.0)
    }

    /// Which part of it lies below a constant.
    pub(super) fn below(self, constant: &ScalarValue) -> Option<f64> {
        let at = number(&value_of(constant, self.data_type)?)?;
        let width = self.high - self.low;
        Some(if width > 0.0 { ((at - self.low) / width).clamp(0.0, 1.0) } else { f64::from(u8::from(at >= self.low)) })
    }

    /// Whether a constant lies outside of it.
    pub(super) fn lacks(self, constant: &ScalarValue) -> bool {
        let at = value_of(constant, self.data_type).as_ref().and_then(number);
        at.is_some_and(|at| at < self.low || at > self.high)
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Decimal(number) => Some(*number as f64),
        Value::Float(number) if number.is_finite() => Some(*number),
        _ => None,
    }
}

/// Spans by the name of the column.
pub(super) type Spans = Arc<HashMap<String, Span>>;
