//! Numbers as PostgreSQL sends and receives them: digits to the base of 10,000, each number big-endian with 16 bits.
//!
//! ```text
//!   12345.678    0003 0001 0000 0003   0001 0929 1a7c      3 digits, the first times 10,000 ^ 1, positive, scale 3
//! ```

use weft_format::number::{Parts, SCALE_MAX, WHOLE_MAX};
use weft_format::{Code, Error, NumberRef, NumberValue, Result};

use super::value::overflow;

const POSITIVE: u16 = 0;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const MINUS_INFINITY: u16 = 0xf000;
/// What PostgreSQL has in the place of an infinity's scale.
const SCALE_OF_INFINITY: u16 = 32;

/// Appends a number as `numeric_send` writes it.
pub fn write_wire(out: &mut Vec<u8>, number: NumberRef<'_>) {
    let mut put = |value: u16| out.extend(value.to_be_bytes());
    let (sign, pairs, exponent, scale) = match number.read() {
        Parts::Finite { negative, pairs, exponent, scale } => {
            (if negative { NEGATIVE } else { POSITIVE }, pairs, exponent, scale)
        }
        special => {
            let (sign, scale) = match special {
                Parts::Infinite { negative: true } => (MINUS_INFINITY, SCALE_OF_INFINITY),
                Parts::Infinite { negative: false } => (INFINITY, SCALE_OF_INFINITY),
                _ => (NAN, 0),
            };
            return [0, 0, sign, scale].into_iter().for_each(put);
        }
    };
    // The point lies between two digits, so of an odd count of pairs before it the first is a digit of its own.
    let alone = exponent.rem_euclid(2) as usize & usize::from(!pairs.is_empty());
    let (first, rest) = pairs.split_at(alone);
    let count = first.len() + rest.len().div_ceil(2);
    let weight = if pairs.is_empty() { 0 } else { exponent.div_euclid(2) + alone as i32 - 1 };
    [count as u16, weight as i16 as u16, sign, scale].into_iter().for_each(&mut put);
    first.iter().for_each(|pair| put(u16::from(*pair)));
    rest.chunks(2).for_each(|two| put(u16::from(two[0]) * 100 + u16::from(two.get(1).copied().unwrap_or(0))));
}

/// Reads a number as `numeric_recv` does: digits behind its scale are cut off.
pub fn read_wire(bytes: &[u8]) -> Result<NumberValue> {
    let wrong = |what: &str| Error::new(Code::InvalidBinary, format!("invalid {what} in external \"numeric\" value"));
    let words: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|two| u16::from_be_bytes(*two)).collect();
    let [count, weight, sign, scale, digits @ ..] = words.as_slice() else {
        return Err(Error::new(Code::ProtocolViolation, "insufficient data left in message"));
    };
    match *sign {
        POSITIVE | NEGATIVE => {}
        NAN => return Ok(NumberValue::nan()),
        INFINITY | MINUS_INFINITY => return Ok(NumberValue::infinity(*sign == MINUS_INFINITY)),
        _ => return Err(wrong("sign")),
    }
    if *scale > SCALE_MAX {
        return Err(wrong("scale"));
    }
    if digits.len() != usize::from(*count) || !bytes.len().is_multiple_of(2) {
        let is_short = bytes.len() < 8 + 2 * usize::from(*count);
        let message = if is_short { "insufficient data left in message" } else { "incorrect binary data format" };
        let code = if is_short { Code::ProtocolViolation } else { Code::InvalidBinary };
        return Err(Error::new(code, message));
    }
    if digits.iter().any(|digit| *digit >= 10_000) {
        return Err(wrong("digit"));
    }
    let exponent = 2 * (i32::from(weight.cast_signed()) + 1);
    let mut pairs: Vec<u8> = digits.iter().flat_map(|digit| [(digit / 100) as u8, (digit % 100) as u8]).collect();
    // Pairs that the scale keeps, of the last one of them maybe one digit.
    let kept = exponent + i32::from(scale.div_ceil(2));
    pairs.truncate(kept.max(0) as usize);
    if scale % 2 == 1
        && let Some(last) = pairs.get_mut((kept - 1).max(0) as usize)
    {
        *last -= *last % 10;
    }
    let zeros = pairs.iter().take_while(|pair| **pair == 0).count();
    if zeros == pairs.len() {
        return Ok(NumberValue::from_pairs(false, &[], 0, *scale));
    }
    if (exponent - zeros as i32) * 2 > WHOLE_MAX as i32 {
        return Err(overflow());
    }
    Ok(NumberValue::from_pairs(*sign == NEGATIVE, &pairs, exponent, *scale))
}
