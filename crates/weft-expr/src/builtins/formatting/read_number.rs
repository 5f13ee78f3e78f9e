//! Texts of numbers by a template.
//!
//! ```text
//!   '-$1,234.50' by 'SL9G999D99'    sign -, digits 1234.50    -1234.50
//! ```
//!
//! The result has ten digits behind the point, as every numeric without a precision has here.

use weft_format::{Code, Error, Result, Value};

use super::number_pattern::{Piece, Wanted, with_pieces};
use crate::builtins::builtin::Call;
use crate::text::parse_decimal;

/// Digits of the result, and those behind its point: [`NUMERIC_DEFAULT`](crate::text::NUMERIC_DEFAULT).
const PRECISION: u8 = 38;
const SCALE: u8 = 10;

pub(super) fn to_number(call: &Call<'_>) -> Result<Value> {
    let (text, pattern) = (call.text(0).as_bytes(), call.text(1));
    if pattern.is_empty() {
        return Ok(Value::Null);
    }
    with_pieces(pattern, |pieces, wanted| {
        for (is_there, name) in [(wanted.has_exponent, "EEEE"), (wanted.is_roman, "RN")] {
            if is_there {
                return Err(Error::new(Code::FeatureNotSupported, format!("\"{name}\" not supported for input")));
            }
        }
        let mut reader =
            Reader { text, at: 0, wanted, sign: b' ', digits: String::new(), whole: 0, fraction: 0, has_point: false };
        for piece in pieces {
            if reader.is_over() {
                break;
            }
            reader.piece(*piece);
        }
        reader.finish()
    })
}

struct Reader<'a> {
    text: &'a [u8],
    /// Bytes that are read.
    at: usize,
    wanted: Wanted,
    /// A blank before one was read.
    sign: u8,
    digits: String,
    /// Digits before and behind the point that were read.
    whole: usize,
    fraction: usize,
    has_point: bool,
}

impl Reader<'_> {
    fn is_over(&self) -> bool {
        self.at >= self.text.len()
    }

    fn byte(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Nine | Piece::Zero | Piece::Point | Piece::LocalPoint => {
                self.digit(matches!(piece, Piece::Nine | Piece::Zero));
                self.at += 1;
            }
            Piece::Comma | Piece::Group => self.at += usize::from(!self.wanted.is_bare && self.byte() == b','),
            Piece::Currency => self.skip(1),
            Piece::Ordinal(_) if !self.wanted.has_point => self.skip(2),
            Piece::Minus | Piece::Plus | Piece::PlusOrMinus => {
                let byte = self.byte();
                let is_sign = match piece {
                    Piece::Minus => byte == b'-',
                    Piece::Plus => byte == b'+',
                    _ => matches!(byte, b'-' | b'+'),
                };
                if is_sign {
                    self.sign = byte;
                    self.at += 1;
                } else {
                    self.skip(1);
                }
            }
            Piece::Text(_) => self.skip_letter(),
            _ => {}
        }
    }

    fn skip_letter(&mut self) {
        self.at += match self.byte() {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        };
    }

    /// Skips so many letters that belong to no number.
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            if self.is_over() || b"0123456789.,+-".contains(&self.byte()) {
                return;
            }
            self.skip_letter();
        }
    }

    /// A place for a digit or the point: what the text has here is taken if it belongs to a number.
    fn digit(&mut self, is_digit: bool) {
        self.at += usize::from(self.byte() == b' ');
        if self.is_over() {
            return;
        }
        if self.sign == b' ' && is_digit && self.whole + self.fraction == 0 {
            self.sign_before();
        }
        if self.is_over() {
            return;
        }
        let byte = self.byte();
        let mut is_taken = false;
        if byte.is_ascii_digit() {
            if self.has_point && self.fraction == self.wanted.fraction {
                return;
            }
            self.digits.push(byte.into());
            *(if self.has_point { &mut self.fraction } else { &mut self.whole }) += 1;
            is_taken = true;
        } else if self.wanted.has_point && !self.has_point && byte == b'.' {
            self.digits.push('.');
            self.has_point = true;
            is_taken = true;
        }
        if self.sign == b' ' && self.whole + self.fraction > 0 {
            self.sign_behind(is_taken);
        }
    }

    fn sign_before(&mut self) {
        let byte = self.byte();
        let is_minus = byte == b'-' || (byte == b'<' && self.wanted.has_brackets);
        if is_minus || byte == b'+' {
            self.sign = if is_minus { b'-' } else { b'+' };
            self.at += 1;
        }
    }

    /// A sign right behind the last digit; where only MI, PL or SG may stand, at its place.
    fn sign_behind(&mut self, is_taken: bool) {
        if self.wanted.sign.is_some() && is_taken {
            let next = self.text.get(self.at + 1).copied();
            if let Some(sign @ (b'+' | b'-')) = next {
                self.sign = sign;
                self.at += 1;
            }
        } else if !is_taken && self.wanted.sign.is_none() && (self.wanted.has_plus || self.wanted.has_minus) {
            let byte = self.byte();
            if matches!(byte, b'+' | b'-') {
                self.sign = byte;
            }
        }
    }

    fn finish(&self) -> Result<Value> {
        let digits = self.digits.strip_suffix('.').unwrap_or(&self.digits);
        let mut text = String::with_capacity(digits.len() + 16);
        text.push(self.sign.into());
        text.push_str(digits);
        let whole_max = self.wanted.whole + self.wanted.shift;
        let whole = digits.split('.').next().unwrap_or_default().trim_start_matches('0').len();
        if whole > whole_max {
            let (precision, scale) = (whole_max + self.fraction, self.fraction);
            let limit = if whole_max == 0 { "1".to_owned() } else { format!("10^{whole_max}") };
            let detail = format!(
                "A field with precision {precision}, scale {scale} must round to an absolute value less than {limit}."
            );
            return Err(Error::new(Code::NumericOutOfRange, "numeric field overflow").detail(detail));
        }
        if self.wanted.is_shifted && !digits.is_empty() {
            text.push_str(&format!("e-{}", self.wanted.shift));
        }
        parse_decimal(&text, PRECISION, SCALE).map(Value::Decimal)
    }
}
