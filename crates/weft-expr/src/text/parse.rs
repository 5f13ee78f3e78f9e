//! Text to values.

use weft_format::{DataType, Result, Value};

use super::array::parse_array;
use super::datetime::is_absolute;
use super::read_scalar::read_scalar;
use crate::style::Local;

/// Reads a value of a type, as a session means it. Lengths of varchar and char are not tested here: that is the
/// assignment's business.
pub fn parse(text: &str, data_type: DataType, local: &Local) -> Result<Value> {
    match data_type {
        DataType::Array(element) => parse_array(text, element.data_type(), local).map(Value::Array),
        scalar => read_scalar(text, scalar, local),
    }
}

/// Whether a text means another value of a type in another session, or at another time.
pub fn depends_on_session(text: &str, data_type: DataType) -> bool {
    match data_type {
        DataType::Array(element) => matches!(
            element.data_type(),
            DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz | DataType::Interval
        ),
        DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz => !is_absolute(text, data_type),
        // The sign before an interval's first field may be that of all.
        DataType::Interval => text.trim_start().starts_with('-'),
        _ => false,
    }
}
