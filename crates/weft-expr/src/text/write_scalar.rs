//! Values that are no arrays to text.

use std::fmt::Write as _;

use weft_format::{DataType, ValueRef, enums};

use super::bytes::write_hex;
use super::datetime::{write_date, write_time, write_timestamp, write_timestamptz};
use super::float::{write_double, write_real};
use super::interval::write_interval;
use super::number::{NUMERIC_DEFAULT, pow10};
use super::uuid::uuid_text;
use crate::style::Style;

/// Appends the text of a value that is no array, in a session's style; NULL appends nothing.
pub(super) fn write_scalar(out: &mut String, value: ValueRef<'_>, data_type: DataType, style: &Style) {
    match (data_type, value) {
        (_, ValueRef::Null) => {}
        (_, ValueRef::Bool(v)) => out.push(if v { 't' } else { 'f' }),
        (DataType::Char(width), ValueRef::Text(v)) => {
            out.push_str(v);
            let blanks = (width as usize).saturating_sub(v.chars().count());
            out.extend(std::iter::repeat_n(' ', blanks));
        }
        (_, ValueRef::Text(v)) => out.push_str(v),
        (_, ValueRef::Bytes(v) | ValueRef::Array(v)) => {
            out.push_str("\\x");
            write_hex(out, v);
        }
        (_, ValueRef::Uuid(v)) => out.push_str(&uuid_text(v)),
        (_, ValueRef::Interval(v)) => write_interval(out, v, style.intervals),
        (DataType::Time, ValueRef::Int(v)) => write_time(out, v),
        (DataType::Date, ValueRef::Int(v)) => write_date(out, v, style),
        (DataType::Timestamp, ValueRef::Int(v)) => write_timestamp(out, v, style),
        (DataType::TimestampTz, ValueRef::Int(v)) => write_timestamptz(out, v, style),
        (DataType::Enum(id), ValueRef::Int(v)) => out.push_str(&enums::label_of(id, v)),
        (_, ValueRef::Int(v)) => push(out, format_args!("{v}")),
        (DataType::Real, ValueRef::Float(v)) => write_real(out, v as f32),
        (_, ValueRef::Float(v)) => write_double(out, v),
        (NUMERIC_DEFAULT, ValueRef::Decimal(v)) => write_plain(out, v),
        (DataType::Numeric { scale, .. }, ValueRef::Decimal(v)) => write_decimal(out, v, scale),
        (_, ValueRef::Decimal(v)) => push(out, format_args!("{v}")),
    }
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    out.write_fmt(arguments).expect("writing to a String cannot fail");
}

fn write_decimal(out: &mut String, value: i128, scale: u8) {
    if value < 0 {
        out.push('-');
    }
    let unit = pow10(scale).unsigned_abs();
    push(out, format_args!("{}", value.unsigned_abs() / unit));
    if scale > 0 {
        push(out, format_args!(".{:0width$}", value.unsigned_abs() % unit, width = usize::from(scale)));
    }
}

/// A numeric without a precision has no scale of its own to show: only digits that are not zero.
fn write_plain(out: &mut String, value: i128) {
    let DataType::Numeric { scale, .. } = NUMERIC_DEFAULT else { unreachable!("it is a numeric") };
    write_decimal(out, value, scale);
    out.truncate(out.trim_end_matches('0').trim_end_matches('.').len());
}
