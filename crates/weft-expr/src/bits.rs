//! Strings of bits: their lengths, and casts from and to integers.
//!
//! ```text
//!   bit(3)            bit varying(3)
//!   B'10'  ::  100    B'10'  ::  10       explicit casts fill with 0 and cut, on the right
//!   B'10'  =   22026  B'1001' = 22001     assignments do neither
//!   -1::bit(3)  111   B'101'::integer  5  integers are filled and cut on the left
//! ```

use weft_format::{Code, DataType, Error, Result, Value};

use crate::arithmetic::out_of_range;

/// Tests the length that a type says of a value that is assigned to it.
pub fn fit(digits: &str, to: DataType) -> Result<()> {
    let count = digits.len();
    match to {
        DataType::Bit(length) if length > 0 && count != length as usize => Err(Error::new(
            Code::BitLengthMismatch,
            format!("bit string length {count} does not match type bit({length})"),
        )),
        DataType::VarBit(length) if length > 0 && count > length as usize => {
            Err(Error::new(Code::StringTooLong, format!("bit string too long for type bit varying({length})")))
        }
        _ => Ok(()),
    }
}

/// Casts explicitly; none where there is no cast between such types.
pub(crate) fn convert(value: Value, from: DataType, to: DataType) -> Option<Result<Value>> {
    Some(Ok(match (&value, to) {
        (Value::Text(digits), DataType::Integer | DataType::BigInt) => return Some(integer(digits, to)),
        (Value::Text(digits), DataType::Bit(length)) if from.is_bits() => match length as usize {
            0 => value,
            length if length == digits.len() => value,
            length => Value::Text(format!("{:0<length$}", &digits[..length.min(digits.len())]).into()),
        },
        (Value::Text(digits), DataType::VarBit(length)) if from.is_bits() => {
            let is_short = length == 0 || digits.len() <= length as usize;
            if is_short { value } else { Value::Text(digits[..length as usize].into()) }
        }
        (Value::Int(number), DataType::Bit(length)) => {
            // PostgreSQL gives one bit where the type says no length.
            let length = length.max(1) as usize;
            let (sign, all) = (if *number < 0 { "1" } else { "0" }, format!("{number:064b}"));
            let missing = length.saturating_sub(all.len());
            let kept = &all[all.len() - (length - missing)..];
            Value::Text((sign.repeat(missing) + kept).into())
        }
        _ => return None,
    }))
}

/// The integer of so many bits, of the last of which the sign is.
fn integer(digits: &str, to: DataType) -> Result<Value> {
    let most = if to == DataType::Integer { 32 } else { 64 };
    if digits.len() > most {
        return Err(out_of_range(to));
    }
    let number = digits.bytes().fold(0u64, |number, digit| number << 1 | u64::from(digit == b'1'));
    Ok(Value::Int(if most == 32 { i64::from(number as u32 as i32) } else { number as i64 }))
}
