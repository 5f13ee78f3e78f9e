//! Casts: explicit ones, those of an assignment to a column, and those of a parameter handed in from outside.
//!
//! | from → to | |
//! |---|---|
//! | number → integer types | rounded (numeric half away from zero, floats half to even), 22003 when it does not fit |
//! | number → numeric(p,s) | rounded half away from zero, 22003 when it does not fit |
//! | float → numeric | through its 15 significant digits, as PostgreSQL |
//! | text → any | read as the type, 22P02 / 22007 / 22008 / 22003 |
//! | timestamptz ↔ date, time, timestamp | by the clocks of the session's zone |
//! | bits → bit(n), bit varying(n) | explicit: cut, bit(n) filled with 0; assignment: 22026, 22001 ([`bits`]) |
//! | any → varchar(n) | explicit: cut to n characters; assignment: 22001 unless only blanks are cut |

use weft_format::{ArrayValue, Code, DataType, Error, Interval, Result, Value, array, enums};

use crate::arithmetic::out_of_range;
use crate::bits;
use crate::json;
use crate::style::Local;
use crate::text::{self, decimal_overflow, fits_integer, parse_decimal, rescale, type_name};
use crate::types::{as_numeric, is_integer, is_number, literal_number_type};

const DAY_MICROS: i64 = 86_400_000_000;

/// Whether there is an explicit cast.
pub fn is_castable(from: DataType, to: DataType) -> bool {
    from.is_text()
        || to.is_text()
        || is_assignable(from, to)
        || matches!((from, to), (DataType::Boolean, DataType::Integer) | (DataType::Integer, DataType::Boolean))
        || (from == DataType::Jsonb && (is_number(to) || to == DataType::Boolean))
        || matches!(
            (from, to),
            (DataType::Integer | DataType::BigInt, DataType::Bit(_))
                | (DataType::Bit(_), DataType::Integer | DataType::BigInt)
        )
        || matches!((from.element(), to.element()), (Some(from), Some(to)) if is_castable(from, to))
}

fn is_assignable(from: DataType, to: DataType) -> bool {
    let is_oid = |a: DataType, b: DataType| a == DataType::Oid && is_integer(b);
    from == to
        || to.is_text()
        || (is_number(from) && is_number(to))
        || (is_datetime(from) && is_datetime(to))
        || (is_json(from) && is_json(to))
        || (from.is_bits() && to.is_bits())
        || is_oid(from, to)
        || is_oid(to, from)
        || matches!((from, to), (DataType::Time, DataType::Interval) | (DataType::Interval, DataType::Time))
        || (matches!(from, DataType::Timestamp | DataType::TimestampTz) && to == DataType::Time)
        || matches!((from.element(), to.element()), (Some(from), Some(to)) if is_assignable(from, to))
}

fn is_json(data_type: DataType) -> bool {
    matches!(data_type, DataType::Json | DataType::Jsonb)
}

fn is_datetime(data_type: DataType) -> bool {
    matches!(data_type, DataType::Date | DataType::Timestamp | DataType::TimestampTz)
}

/// An error when a column cannot be assigned a value of a type.
pub fn check_assignable(from: DataType, to: DataType, column: &str) -> Result<()> {
    if is_assignable(from, to) {
        return Ok(());
    }
    let (from, to) = (type_name(from), type_name(to));
    Err(Error::new(
        Code::DatatypeMismatch,
        format!("column \"{column}\" is of type {to} but expression is of type {from}"),
    )
    .hint("rewrite or cast the expression"))
}

/// Casts a value for an assignment to a column.
pub fn assign(value: Value, from: DataType, to: DataType, column: &str, local: &Local) -> Result<Value> {
    match (value, to) {
        (Value::Text(text), DataType::Varchar(limit)) if from.is_text() => {
            fit_varchar(text, limit, column).map(Value::Text)
        }
        (Value::Null, _) => Ok(Value::Null),
        (value, DataType::Varchar(limit)) => match cast(value, from, DataType::Text, local)? {
            Value::Text(text) => fit_varchar(text, limit, column).map(Value::Text),
            other => Ok(other),
        },
        (value, DataType::Char(limit)) => match cast(value, from, DataType::Text, local)? {
            Value::Text(text) => fit_char(&text, limit, column).map(Value::Text),
            other => Ok(other),
        },
        (Value::Text(digits), DataType::Bit(_) | DataType::VarBit(_)) if from.is_bits() => {
            bits::fit(&digits, to)?;
            Ok(Value::Text(digits))
        }
        (value, _) if from == to => Ok(value),
        (value, _) => {
            check_assignable(from, to, column)?;
            cast(value, from, to, local)
        }
    }
}

/// Cuts trailing blanks that do not fit; anything else that does not fit is an error.
fn fit_varchar(text: Box<str>, limit: u32, column: &str) -> Result<Box<str>> {
    if text.len() <= limit as usize {
        return Ok(text);
    }
    match text.char_indices().nth(limit as usize) {
        None => Ok(text),
        Some((end, _)) if text[end..].bytes().all(|byte| byte == b' ') => Ok(text[..end].into()),
        Some(_) => Err(Error::new(
            Code::StringTooLong,
            format!("value too long for type character varying({limit}) in column \"{column}\""),
        )),
    }
}

/// Without trailing blanks; what is longer then does not fit. A limit of 0 is none.
fn fit_char(text: &str, limit: u32, column: &str) -> Result<Box<str>> {
    let kept = text.trim_end_matches(' ');
    if limit == 0 || kept.len() <= limit as usize || kept.chars().count() <= limit as usize {
        return Ok(kept.into());
    }
    Err(Error::new(Code::StringTooLong, format!("value too long for type character({limit}) in column \"{column}\"")))
}

/// Casts a value explicitly, as a session means it. The types must be castable (binding has tested that).
pub fn cast(value: Value, from: DataType, to: DataType, local: &Local) -> Result<Value> {
    if from == to || value.is_null() {
        return Ok(value);
    }
    if let (Value::Text(_), true) = (&value, from.is_text()) {
        return cast_from_text(value, to, local);
    }
    match to {
        DataType::Text | DataType::Varchar(_) | DataType::Char(_) => cast_to_text(&value, from, to, local),
        _ if from == DataType::Jsonb && to != DataType::Json => cast_json(&value, to),
        DataType::Json | DataType::Jsonb => match value {
            Value::Text(text) if is_json(from) => text::parse(&text, to, local),
            _ => Err(no_cast(from, to)),
        },
        DataType::Oid => match value {
            Value::Int(v) if from == DataType::BigInt && u32::try_from(v).is_err() => {
                Err(Error::new(Code::NumericOutOfRange, "OID out of range"))
            }
            Value::Int(v) if is_integer(from) => Ok(Value::Int(i64::from(v as u32))),
            _ => Err(no_cast(from, to)),
        },
        DataType::Time => match (from, value) {
            (DataType::Timestamp, Value::Int(v)) => Ok(Value::Int(v.rem_euclid(DAY_MICROS))),
            (DataType::TimestampTz, Value::Int(v)) => {
                Ok(Value::Int(local.style.zone.wall_of(v).rem_euclid(DAY_MICROS)))
            }
            (_, Value::Interval(v)) => Ok(Value::Int(v.micros.rem_euclid(DAY_MICROS))),
            _ => Err(no_cast(from, to)),
        },
        DataType::Interval => match value {
            Value::Int(v) if from == DataType::Time => Ok(Value::Interval(Interval::new(0, 0, v))),
            _ => Err(no_cast(from, to)),
        },
        DataType::Bit(_) | DataType::VarBit(_) => {
            bits::convert(value, from, to).unwrap_or_else(|| Err(no_cast(from, to)))
        }
        DataType::Array(element) => match (value, from.element()) {
            (Value::Array(array), Some(from)) => {
                let to = element.data_type();
                let items = array
                    .values(from)
                    .into_iter()
                    .map(|item| cast(item, from, to, local))
                    .collect::<Result<Vec<_>>>()?;
                Ok(Value::Array(ArrayValue::new(to, items.iter().map(Value::as_ref))))
            }
            _ => Err(no_cast(from, to)),
        },
        DataType::Bytea | DataType::Uuid | DataType::JsonPath | DataType::Enum(_) => Err(no_cast(from, to)),
        DataType::Integer | DataType::BigInt if from.is_bits() => {
            bits::convert(value, from, to).unwrap_or_else(|| Err(no_cast(from, to)))
        }
        DataType::SmallInt | DataType::Integer | DataType::BigInt => cast_to_integer(&value, from, to),
        DataType::Real | DataType::DoublePrecision => cast_to_float(&value, from, to),
        DataType::Numeric { precision, scale } => cast_to_decimal(&value, from, precision, scale),
        DataType::Boolean => match value {
            Value::Int(v) => Ok(Value::Bool(v != 0)),
            _ => Err(no_cast(from, to)),
        },
        DataType::Date | DataType::Timestamp | DataType::TimestampTz => cast_to_datetime(&value, from, to, local),
    }
}

/// A text, cut to a length or read as the type.
fn cast_from_text(value: Value, to: DataType, local: &Local) -> Result<Value> {
    let Value::Text(text) = &value else { return Ok(value) };
    match to {
        DataType::Text => Ok(value),
        DataType::Varchar(limit) => Ok(match text.char_indices().nth(limit as usize) {
            Some((end, _)) => Value::Text(text[..end].into()),
            None => value,
        }),
        DataType::Char(limit) => {
            let end = text.char_indices().nth(limit as usize).filter(|_| limit > 0);
            let cut = end.map_or(&**text, |(end, _)| &text[..end]);
            Ok(Value::Text(cut.trim_end_matches(' ').into()))
        }
        DataType::Bit(_) | DataType::VarBit(_) => {
            let bits = Value::Text(text::parse_bits(text)?.into());
            bits::convert(bits, DataType::VarBit(0), to).expect("bits are cast to types of bits")
        }
        _ => text::parse(text, to, local),
    }
}

/// A jsonb that is a number or a boolean.
fn cast_json(value: &Value, to: DataType) -> Result<Value> {
    let Value::Text(text) = value else { return Err(no_cast(DataType::Jsonb, to)) };
    match (json::kind(text), to) {
        ("boolean", DataType::Boolean) => text::parse(text, to, Local::fixed()),
        ("number", to) if is_number(to) => {
            let from = literal_number_type(text.trim_start_matches('-')).unwrap_or(DataType::DoublePrecision);
            cast(text::parse(text, from, Local::fixed())?, from, to, Local::fixed())
        }
        ("null", _) => Ok(Value::Null),
        (kind, to) => {
            let message = format!("cannot cast jsonb {kind} to type {}", type_name(to));
            Err(Error::new(Code::InvalidParameterValue, message))
        }
    }
}

fn cast_to_text(value: &Value, from: DataType, to: DataType, local: &Local) -> Result<Value> {
    let printed: Box<str> = match value {
        Value::Bool(v) => if *v { "true" } else { "false" }.into(),
        other => text::print_as(other.as_ref(), from, &local.style).into(),
    };
    cast(Value::Text(printed), DataType::Text, to, local)
}

fn cast_to_integer(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    let number = match value {
        Value::Int(v) if is_integer(from) || from == DataType::Oid => i128::from(*v),
        Value::Bool(v) => i128::from(*v),
        Value::Decimal(v) => {
            let (_, scale) = as_numeric(from).ok_or_else(|| no_cast(from, to))?;
            rescale(*v, scale, 0).expect("rounding makes a number smaller")
        }
        // Every float below 2^63 in magnitude is exact as i128; NaN and infinities fail the comparison.
        Value::Float(v) if v.abs() <= 9.3e18 => v.round_ties_even() as i128,
        Value::Float(_) => return Err(out_of_range(to)),
        _ => return Err(no_cast(from, to)),
    };
    match i64::try_from(number) {
        Ok(v) if fits_integer(v, to) => Ok(Value::Int(v)),
        _ => Err(out_of_range(to)),
    }
}

fn cast_to_float(value: &Value, from: DataType, to: DataType) -> Result<Value> {
    let number = match value {
        Value::Int(v) if is_integer(from) => *v as f64,
        Value::Float(v) => *v,
        Value::Decimal(_) => text::print(value.as_ref(), from).parse().expect("a decimal's text is a float's text"),
        _ => return Err(no_cast(from, to)),
    };
    if to == DataType::DoublePrecision {
        return Ok(Value::Float(number));
    }
    let rounded = f64::from(number as f32);
    if rounded.is_infinite() && number.is_finite() {
        return Err(out_of_range(to));
    }
    if rounded == 0.0 && number != 0.0 {
        return Err(Error::new(Code::NumericOutOfRange, "value out of range: underflow"));
    }
    Ok(Value::Float(rounded))
}

fn cast_to_decimal(value: &Value, from: DataType, precision: u8, scale: u8) -> Result<Value> {
    let overflow = || decimal_overflow(precision, scale);
    let number = match value {
        Value::Int(v) if is_integer(from) => rescale(i128::from(*v), 0, scale).ok_or_else(overflow)?,
        Value::Decimal(v) => {
            let (_, from_scale) =
                as_numeric(from).ok_or_else(|| no_cast(from, DataType::Numeric { precision, scale }))?;
            rescale(*v, from_scale, scale).ok_or_else(overflow)?
        }
        Value::Float(v) if v.is_finite() => {
            let digits = if from == DataType::Real { 5 } else { 14 };
            return parse_decimal(&format!("{v:.digits$e}"), precision, scale).map(Value::Decimal);
        }
        Value::Float(v) => {
            let name = text::print(Value::Float(*v).as_ref(), DataType::DoublePrecision);
            let error = Error::new(Code::FeatureNotSupported, format!("numeric cannot hold \"{name}\""));
            return Err(error.hint("keep it as double precision"));
        }
        _ => return Err(no_cast(from, DataType::Numeric { precision, scale })),
    };
    if number.unsigned_abs() >= text::pow10(precision).unsigned_abs() {
        return Err(overflow());
    }
    Ok(Value::Decimal(number))
}

fn cast_to_datetime(value: &Value, from: DataType, to: DataType, local: &Local) -> Result<Value> {
    use DataType::{Date, Timestamp, TimestampTz};
    let Value::Int(v) = value else { return Err(no_cast(from, to)) };
    let zone = &local.style.zone;
    let midnight = || {
        v.checked_mul(DAY_MICROS).ok_or_else(|| {
            Error::new(Code::DatetimeOverflow, "date out of range for timestamp")
                .hint("dates lie in the years 0001 to 9999")
        })
    };
    let moment = |wall_micros| {
        zone.moment_of(wall_micros).ok_or_else(|| Error::new(Code::DatetimeOverflow, "timestamp out of range"))
    };
    Ok(Value::Int(match (from, to) {
        (Timestamp, Date) => v.div_euclid(DAY_MICROS),
        (TimestampTz, Date) => zone.wall_of(*v).div_euclid(DAY_MICROS),
        (Date, Timestamp) => midnight()?,
        (Date, TimestampTz) => moment(midnight()?)?,
        (Timestamp, TimestampTz) => moment(*v)?,
        (TimestampTz, Timestamp) => zone.wall_of(*v),
        _ => return Err(no_cast(from, to)),
    }))
}

/// An error for two types between which there is no cast.
pub fn no_cast(from: DataType, to: DataType) -> Error {
    Error::new(Code::CannotCoerce, format!("cannot cast type {} to {}", type_name(from), type_name(to)))
}

/// Brings a parameter from outside to the type that the statement gives it. Numbers of a smaller kind are widened and
/// text is read as the type; a `Decimal` is taken as scaled by the parameter's scale.
pub fn coerce_param(value: &Value, to: DataType, index: usize, local: &Local) -> Result<Value> {
    let mismatch = || {
        Error::new(Code::DatatypeMismatch, format!("parameter ${} is of type {to} but was given {value:?}", index + 1))
            .hint("give a value of the type, or its text")
    };
    match (value, to) {
        (Value::Text(text), _) if text.contains('\0') => {
            let message = format!("parameter ${}: invalid byte sequence for encoding \"UTF8\": 0x00", index + 1);
            Err(Error::new(Code::CharacterNotInRepertoire, message).hint("take the NUL out of the text"))
        }
        (Value::Null, _) | (Value::Bool(_), DataType::Boolean) => Ok(value.clone()),
        (Value::Int(v), DataType::SmallInt | DataType::Integer | DataType::BigInt) => {
            if fits_integer(*v, to) {
                Ok(Value::Int(*v))
            } else {
                Err(out_of_range(to))
            }
        }
        (Value::Int(v), DataType::Date) if i32::try_from(*v).is_ok() => Ok(Value::Int(*v)),
        (Value::Int(v), DataType::Timestamp | DataType::TimestampTz) => Ok(Value::Int(*v)),
        (Value::Int(_), DataType::Numeric { .. } | DataType::Real | DataType::DoublePrecision) => {
            cast(value.clone(), DataType::BigInt, to, local)
        }
        (Value::Float(_), DataType::Real | DataType::Numeric { .. }) => {
            cast(value.clone(), DataType::DoublePrecision, to, local)
        }
        (Value::Float(_), DataType::DoublePrecision) => Ok(value.clone()),
        (Value::Decimal(v), DataType::Numeric { precision, scale }) => {
            if v.unsigned_abs() < text::pow10(precision).unsigned_abs() {
                Ok(Value::Decimal(*v))
            } else {
                Err(decimal_overflow(precision, scale))
            }
        }
        (Value::Text(_), DataType::Text | DataType::Varchar(_)) => Ok(value.clone()),
        (Value::Int(v), DataType::Oid) if u32::try_from(*v).is_ok() => Ok(Value::Int(*v)),
        (Value::Int(v), DataType::Time) if (0..=DAY_MICROS).contains(v) => Ok(Value::Int(*v)),
        (Value::Bytes(_), DataType::Bytea) | (Value::Uuid(_), DataType::Uuid) => Ok(value.clone()),
        (Value::Interval(_), DataType::Interval) => Ok(value.clone()),
        (Value::Array(array), DataType::Array(element))
            if array::elements(array.as_bytes(), element.data_type()).is_ok() =>
        {
            Ok(value.clone())
        }
        (Value::Int(code), DataType::Enum(id)) if enums::known(id).is_some_and(|all| all.label(*code).is_some()) => {
            Ok(value.clone())
        }
        (Value::Text(text), _) => text::parse(text, to, local),
        _ => Err(mismatch()),
    }
}

/// Whether PostgreSQL calls a cast immutable.
pub(crate) fn is_immutable_cast(from: DataType, to: DataType) -> bool {
    let is_datetime = |t| {
        matches!(t, DataType::Date | DataType::Time | DataType::Timestamp | DataType::TimestampTz | DataType::Interval)
            || matches!(t, DataType::Array(_) | DataType::Enum(_))
    };
    let crosses = |a: DataType, b: DataType| is_datetime(a) && (b.is_text() || (b != a && a == DataType::TimestampTz));
    !crosses(from, to) && !crosses(to, from)
}
