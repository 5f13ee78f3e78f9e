//! numeric as bytes: digits to the base of 10,000.
//!
//! ```text
//!   12345.678    4 digits   1 2345 6780       weight 1 (10,000 ^ 1), dscale 3
//! ```

use weft_format::{Code, Error, Result};

use super::fields::Fields;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;

/// Appends a number that is an integer of 10 ^ -scale.
pub(super) fn write(out: &mut Vec<u8>, value: i128, scale: u8) {
    // Filled up to whole digits behind the point, so that the point lies between two of them.
    let padding = (4 - u32::from(scale) % 4) % 4;
    let behind = (u32::from(scale) + padding) / 4;
    let mut rest = value.unsigned_abs();
    let mut digits: Vec<u16> = Vec::with_capacity(12);
    if padding > 0 {
        let part = 10u128.pow(4 - padding);
        digits.push((rest % part) as u16 * 10u16.pow(padding));
        rest /= part;
    }
    while rest > 0 {
        digits.push((rest % 10_000) as u16);
        rest /= 10_000;
    }
    let mut weight = digits.len() as i32 - 1 - behind as i32;
    let trailing = digits.iter().take_while(|&&digit| digit == 0).count();
    digits.drain(..trailing);
    while digits.last() == Some(&0) {
        digits.pop();
        weight -= 1;
    }
    if digits.is_empty() {
        weight = 0;
    }
    let sign = if value < 0 { NEGATIVE } else { 0 };
    out.extend_from_slice(&(digits.len() as u16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&u16::from(scale).to_be_bytes());
    digits.iter().rev().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// Reads a number as its text.
pub fn read(bytes: &[u8]) -> Result<String> {
    let mut fields = Fields::new(bytes);
    let count = usize::from(fields.u16()?);
    let weight = i32::from(fields.i16()?);
    let sign = fields.u16()?;
    let scale = usize::from(fields.u16()?);
    let wrong = || Error::new(Code::InvalidBinary, "invalid external numeric value in a parameter");
    let mut digits = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        digits.push(fields.u16().ok().filter(|&digit| digit < 10_000).ok_or_else(wrong)?);
    }
    fields.end().map_err(|_| wrong())?;
    match sign {
        0 | NEGATIVE => {}
        NAN => return Ok("NaN".into()),
        _ => return Err(wrong()),
    }
    // More is more than any column holds; what is asked for must not decide how much memory is taken.
    if weight.unsigned_abs() > 40 || scale > 200 {
        return Err(Error::new(Code::NumericOutOfRange, "numeric field overflow: a number has at most 38 digits"));
    }
    let digit = |at: i32| usize::try_from(weight - at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(0);
    let mut text = String::from(if sign == NEGATIVE { "-" } else { "" });
    text.push('0');
    for at in (0..=weight).rev() {
        text.push_str(&format!("{:04}", digit(at)));
    }
    if scale > 0 {
        text.push('.');
        let start = text.len();
        for at in 1..=scale.div_ceil(4) as i32 {
            text.push_str(&format!("{:04}", digit(-at)));
        }
        text.truncate(start + scale);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_postgresqls() {
        let written = |value, scale| {
            let mut out = Vec::new();
            write(&mut out, value, scale);
            out.chunks(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]])).collect::<Vec<_>>()
        };
        assert_eq!(written(12_345_678, 3), [3, 1, 0, 3, 1, 2345, 6780]);
        assert_eq!(written(0, 2), [0, 0, 0, 2]);
        assert_eq!(written(-5, 0), [1, 0, 0x4000, 0, 5]);
        assert_eq!(written(10_000, 0), [1, 1, 0, 0, 1]);
        assert_eq!(written(1, 6), [1, -2, 0, 6, 100]);
        assert_eq!(written(1250, 2), [2, 0, 0, 2, 12, 5000]);
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut state = 88_172_645_463_325_252_u64;
        for _ in 0..20_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let scale = (state % 39) as u8;
            let value = (i128::from(state as i64) * i128::from(state >> 40)) >> (state % 90);
            let mut out = Vec::new();
            write(&mut out, value, scale);
            let text = read(&out).unwrap();
            let read = crate::text::parse_decimal(&text, 38, scale).unwrap();
            assert_eq!(read, value, "{text} with {scale}");
        }
    }

    #[test]
    fn wrong_bytes_are_refused() {
        for bytes in [&[0u8, 1][..], &[0, 1, 0, 0, 0, 0, 0, 0], &[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff], &[0; 9]] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        assert!(read(&[0, 0, 0x7f, 0xff, 0, 0, 0, 0]).is_err());
        assert!(read(&[0, 0, 0, 0, 0, 0, 0xff, 0xff]).is_err());
    }
}
