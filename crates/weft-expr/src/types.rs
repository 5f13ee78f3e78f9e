//! Types of literals, and the type two operands meet in.

use weft_format::DataType;

/// The type of a number as it stands in SQL text: integer, bigint, or numeric with the digits it has. None when it has
/// more digits than numeric can hold.
pub fn literal_number_type(text: &str) -> Option<DataType> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if text.parse::<i32>().is_ok() {
            return Some(DataType::Integer);
        }
        if text.parse::<i64>().is_ok() {
            return Some(DataType::BigInt);
        }
    }
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('0').len() as i64;
    let scale = (fraction.len() as i64 - exponent).max(0);
    let precision = ((whole + exponent).max(0) + scale).max(1);
    if precision > 38 {
        return None;
    }
    Some(DataType::Numeric { precision: precision as u8, scale: scale as u8 })
}

/// Digits of an integer type, as a numeric without scale.
pub fn as_numeric(data_type: DataType) -> Option<(u8, u8)> {
    match data_type {
        DataType::SmallInt => Some((5, 0)),
        DataType::Integer => Some((10, 0)),
        DataType::BigInt => Some((20, 0)),
        DataType::Numeric { precision, scale } => Some((precision, scale)),
        _ => None,
    }
}

/// Whether values are numbers.
pub fn is_number(data_type: DataType) -> bool {
    as_numeric(data_type).is_some() || is_float(data_type)
}

/// Whether values are smallint, integer or bigint.
pub fn is_integer(data_type: DataType) -> bool {
    matches!(data_type, DataType::SmallInt | DataType::Integer | DataType::BigInt)
}

fn is_float(data_type: DataType) -> bool {
    matches!(data_type, DataType::Real | DataType::DoublePrecision)
}

/// The type in which two types are compared or chosen between; none when they have nothing in common.
pub fn common_type(a: DataType, b: DataType) -> Option<DataType> {
    if a == b {
        return Some(a);
    }
    if a.is_text() && b.is_text() {
        let are_chars = matches!((a, b), (DataType::Char(_), DataType::Char(_)));
        return Some(if are_chars { DataType::Char(0) } else { DataType::Text });
    }
    if a.is_bits() && b.is_bits() {
        let are_fixed = matches!((a, b), (DataType::Bit(_), DataType::Bit(_)));
        return Some(if are_fixed { DataType::Bit(0) } else { DataType::VarBit(0) });
    }
    match (a, b) {
        (DataType::Oid, other) | (other, DataType::Oid) if is_integer(other) => return Some(DataType::BigInt),
        (DataType::Time, DataType::Interval) | (DataType::Interval, DataType::Time) => return Some(DataType::Interval),
        (DataType::Array(a), DataType::Array(b)) => return common_type(a.data_type(), b.data_type())?.array(),
        _ => {}
    }
    if is_integer(a) && is_integer(b) {
        return Some(if a.slot_bytes() >= b.slot_bytes() { a } else { b });
    }
    if is_number(a) && is_number(b) {
        if is_float(a) || is_float(b) {
            return Some(DataType::DoublePrecision);
        }
        let ((p1, s1), (p2, s2)) = (as_numeric(a)?, as_numeric(b)?);
        let scale = s1.max(s2);
        let precision = ((p1 - s1).max(p2 - s2) + scale).min(38);
        return Some(DataType::Numeric { precision, scale });
    }
    let rank = |data_type| match data_type {
        DataType::Date => 1,
        DataType::Timestamp => 2,
        DataType::TimestampTz => 3,
        _ => 0,
    };
    match (rank(a), rank(b)) {
        (0, _) | (_, 0) => None,
        (x, y) => Some(if x > y { a } else { b }),
    }
}
