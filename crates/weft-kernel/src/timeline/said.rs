//! A moment in an error's text.

use weft_expr::text::print;
use weft_format::{DataType, ValueRef};

/// A moment, microseconds since 1970-01-01 UTC, as PostgreSQL shows it in UTC.
pub(crate) fn said(micros: i64) -> String {
    print(ValueRef::Int(micros), DataType::TimestampTz)
}
