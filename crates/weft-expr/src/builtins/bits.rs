//! Functions and operators of strings of bits (PostgreSQL's documentation, 9.6), whose values are their digits.
//!
//! ```text
//!   B'10001' & B'01101'     00001     of the same length, or 22026
//!   B'10001' << 3           01000     the length stays
//!   get_bit(B'101000', 2)   1         the first bit is 0
//! ```

use weft_format::{Code, DataType, Error, Result, Value};

use super::builtin::{Arg, Builtin, Call, builtin};
use super::internal::FIRST;

const BIT: Arg = Arg::Of(DataType::Bit(0));
const VARBIT: Arg = Arg::Of(DataType::VarBit(0));
const INT: Arg = Arg::Of(DataType::Integer);
const BITS: DataType = DataType::Bit(0);

/// `length(bit)`: of texts, which an untyped literal is, it is no function of the table.
pub(crate) const BITS_LENGTH: &str = "weft_bits_length";
/// `substring(bit, ...)`
pub(crate) const BITS_SUBSTRING: &str = "weft_bits_substring";
/// `~ value`, of integers and bits.
pub const FLIPPED: &str = "weft_flipped";

pub(super) static ROWS: &[Builtin] = &[
    builtin(1673, "bitand", &[BIT, BIT], BITS, |call| joined(call, "AND", |a, b| a & b)),
    builtin(1674, "bitor", &[BIT, BIT], BITS, |call| joined(call, "OR", |a, b| a | b)),
    builtin(1675, "bitxor", &[BIT, BIT], BITS, |call| joined(call, "XOR", |a, b| a ^ b)),
    builtin(1676, "bitnot", &[BIT], BITS, flipped),
    builtin(1677, "bitshiftleft", &[BIT, INT], BITS, |call| Ok(shifted(call.text(0), call.int(1)))),
    builtin(1678, "bitshiftright", &[BIT, INT], BITS, |call| Ok(shifted(call.text(0), -call.int(1)))),
    builtin(1679, "bitcat", &[VARBIT, VARBIT], DataType::VarBit(0), |call| {
        Ok(text([call.text(0), call.text(1)].concat()))
    }),
    builtin(1682, "octet_length", &[BIT], DataType::Integer, |call| count(call.text(0).len().div_ceil(8))),
    builtin(1812, "bit_length", &[BIT], DataType::Integer, |call| count(call.text(0).len())),
    builtin(1698, "position", &[BIT, BIT], DataType::Integer, position),
    builtin(3030, "overlay", &[BIT, BIT, INT, INT], BITS, overlay),
    builtin(3031, "overlay", &[BIT, BIT, INT], BITS, overlay),
    builtin(3032, "get_bit", &[BIT, INT], DataType::Integer, get_bit),
    builtin(3033, "set_bit", &[BIT, INT, INT], BITS, set_bit),
    builtin(6162, "bit_count", &[BIT], DataType::BigInt, |call| {
        count(call.text(0).bytes().filter(|digit| *digit == b'1').count())
    }),
    builtin(FIRST + 910, BITS_LENGTH, &[BIT], DataType::Integer, |call| count(call.text(0).len())),
    builtin(FIRST + 911, BITS_SUBSTRING, &[BIT, INT], BITS, substring),
    builtin(FIRST + 912, BITS_SUBSTRING, &[BIT, INT, INT], BITS, substring),
    builtin(FIRST + 913, FLIPPED, &[BIT], BITS, flipped),
    builtin(FIRST + 914, FLIPPED, &[Arg::Of(DataType::SmallInt)], DataType::SmallInt, |call| {
        Ok(Value::Int(!call.int(0)))
    }),
    builtin(FIRST + 915, FLIPPED, &[INT], DataType::Integer, |call| Ok(Value::Int(!call.int(0)))),
    builtin(FIRST + 916, FLIPPED, &[Arg::Of(DataType::BigInt)], DataType::BigInt, |call| Ok(Value::Int(!call.int(0)))),
];

fn text(digits: String) -> Value {
    Value::Text(digits.into())
}

fn count(count: usize) -> Result<Value> {
    Ok(Value::Int(count as i64))
}

fn joined(call: &Call<'_>, name: &str, join: fn(bool, bool) -> bool) -> Result<Value> {
    let (a, b) = (call.text(0), call.text(1));
    if a.len() != b.len() {
        let message = format!("cannot {name} bit strings of different sizes");
        return Err(Error::new(Code::BitLengthMismatch, message));
    }
    let digits = a.bytes().zip(b.bytes()).map(|(a, b)| if join(a == b'1', b == b'1') { '1' } else { '0' });
    Ok(text(digits.collect()))
}

fn flipped(call: &Call<'_>) -> Result<Value> {
    Ok(text(call.text(0).chars().map(|digit| if digit == '1' { '0' } else { '1' }).collect()))
}

/// So far to the left, or to the right if that is less than zero.
fn shifted(digits: &str, by: i64) -> Value {
    let lost = digits.len().min(usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX));
    let zeros = "0".repeat(lost);
    text(if by >= 0 { digits[lost..].to_owned() + &zeros } else { zeros + &digits[..digits.len() - lost] })
}

fn negative_length() -> Error {
    Error::new(Code::Substring, "negative substring length not allowed")
}

/// The digits from a place on, counted from 1; without a length all that follow.
fn part(digits: &str, start: i64, length: Option<i64>) -> Result<&str> {
    let end = match length {
        Some(length) if length < 0 => return Err(negative_length()),
        Some(length) => start + length - 1,
        None => i64::MAX,
    };
    let from = (start.max(1) - 1).min(digits.len() as i64);
    let to = end.clamp(from, digits.len() as i64);
    Ok(&digits[from as usize..to as usize])
}

fn substring(call: &Call<'_>) -> Result<Value> {
    let length = (call.count() > 2).then(|| call.int(2));
    Ok(text(part(call.text(0), call.int(1), length)?.to_owned()))
}

fn position(call: &Call<'_>) -> Result<Value> {
    let (of, wanted) = (call.text(0), call.text(1));
    let found = if of.is_empty() { None } else { of.find(wanted) };
    count(found.map_or(0, |at| at + 1))
}

fn overlay(call: &Call<'_>) -> Result<Value> {
    let (of, by, start) = (call.text(0), call.text(1), call.int(2));
    let length = if call.count() > 3 { call.int(3) } else { by.len() as i64 };
    if start <= 0 {
        return Err(negative_length());
    }
    Ok(text([part(of, 1, Some(start - 1))?, by, part(of, start + length, None)?].concat()))
}

fn place(at: i64, digits: &str) -> Result<usize> {
    usize::try_from(at).ok().filter(|at| *at < digits.len()).ok_or_else(|| {
        let last = digits.len() as i64 - 1;
        Error::new(Code::ArraySubscript, format!("bit index {at} out of valid range (0..{last})"))
    })
}

fn get_bit(call: &Call<'_>) -> Result<Value> {
    let of = call.text(0);
    Ok(Value::Int((of.as_bytes()[place(call.int(1), of)?] == b'1').into()))
}

fn set_bit(call: &Call<'_>) -> Result<Value> {
    let of = call.text(0);
    let at = place(call.int(1), of)?;
    match call.int(2) {
        bit @ (0 | 1) => Ok(text(format!("{}{bit}{}", &of[..at], &of[at + 1..]))),
        _ => Err(Error::new(Code::InvalidParameterValue, "new bit must be 0 or 1")),
    }
}

#[cfg(test)]
mod tests;
