//! Numbers by a template: the digits of the number go to the places that the template has for them.
//!
//! ```text
//!   1234.5 by 'S9G990D00'    digits 1234.50, sign +    +1,234.50
//!   1234.5 by '999'          too many digits            ###
//!   0.5 by '9.9'             no zero before the point   '  .5'
//! ```
//!
//! Floats have as many digits as their type can tell: 15, real 6; what lies behind them is not written.

use weft_format::{Code, Error, Result, Value};

use super::moments::ordinal;
use super::number_pattern::{Anchor, Piece, Wanted, with_pieces};
use super::pattern::Case;
use super::roman;
use crate::builtins::builtin::Call;
use crate::text::{rescale, shorten};

/// Digits that a real and a double precision can tell.
const REAL_DIGITS: usize = 6;
const DOUBLE_DIGITS: usize = 15;
/// Floats are written with so many places behind the point, and zeros after them.
const PLACES_MAX: usize = 350;

/// A number without its sign, `12.50`, and whether it is below zero.
struct Number {
    digits: String,
    is_negative: bool,
}

pub(super) fn integer(call: &Call<'_>) -> Result<Value> {
    let value = call.int(0);
    to_char(call.text(1), |wanted| {
        if wanted.is_roman {
            return Ok(Form::Roman(value));
        }
        if wanted.has_exponent {
            return Ok(Form::Ready(float_exponent(value as f64, wanted.fraction)));
        }
        let mut shifted = value as i32;
        if wanted.is_shifted {
            let scale = 10_f64.powf(wanted.shift as f64);
            // PostgreSQL counts on in 32 bits, and takes what is too large for the smallest number.
            shifted = shifted.wrapping_mul(if scale > f64::from(i32::MAX) { i32::MIN } else { scale as i32 });
        }
        Ok(Form::Number(fixed(shifted.into(), 0, wanted.fraction)))
    })
}

pub(super) fn bigint(call: &Call<'_>) -> Result<Value> {
    let value = call.int(0);
    to_char(call.text(1), |wanted| {
        if wanted.is_roman {
            return roman_of(value.into());
        }
        if wanted.has_exponent {
            return Ok(Form::Ready(decimal_exponent(value.into(), 0, wanted.fraction)));
        }
        let mut shifted = value;
        if wanted.is_shifted {
            let scale = u32::try_from(wanted.shift).ok().and_then(|shift| 10_i64.checked_pow(shift));
            shifted = scale.and_then(|scale| value.checked_mul(scale)).ok_or_else(|| out_of_range("bigint"))?;
        }
        Ok(Form::Number(fixed(shifted.into(), 0, wanted.fraction)))
    })
}

pub(super) fn numeric(call: &Call<'_>) -> Result<Value> {
    let (value, scale) = call.decimal(0);
    to_char(call.text(1), |wanted| {
        if wanted.is_roman {
            return roman_of(rescale(value, scale, 0).unwrap_or(i128::MAX));
        }
        if wanted.has_exponent {
            return Ok(Form::Ready(decimal_exponent(value, scale, wanted.fraction)));
        }
        let scale = i64::from(scale) - if wanted.is_shifted { wanted.shift as i64 } else { 0 };
        Ok(Form::Number(fixed(value, scale, wanted.fraction)))
    })
}

pub(super) fn real(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0) as f32;
    to_char(call.text(1), |wanted| {
        let mut shifted = value;
        if wanted.is_shifted {
            shifted *= 10_f64.powf(wanted.shift as f64) as f32;
        }
        Ok(float(value.into(), shifted.into(), REAL_DIGITS, wanted))
    })
}

pub(super) fn double(call: &Call<'_>) -> Result<Value> {
    let value = call.float(0);
    to_char(call.text(1), |wanted| {
        let shifted = if wanted.is_shifted { value * 10_f64.powf(wanted.shift as f64) } else { value };
        Ok(float(value, shifted, DOUBLE_DIGITS, wanted))
    })
}

fn out_of_range(name: &str) -> Error {
    Error::new(Code::NumericOutOfRange, format!("{name} out of range"))
}

fn roman_of(value: i128) -> Result<Form> {
    i32::try_from(value).map(|value| Form::Roman(value.into())).map_err(|_| out_of_range("integer"))
}

/// What is written of a number.
enum Form {
    Number(Number),
    Roman(i64),
    /// With an exponent: all of the result.
    Ready(String),
}

fn to_char(pattern: &str, form: impl FnOnce(&mut Wanted) -> Result<Form>) -> Result<Value> {
    if pattern.is_empty() {
        return Ok(Value::Text("".into()));
    }
    with_pieces(pattern, |pieces, mut wanted| {
        let text = match form(&mut wanted)? {
            Form::Ready(text) => text,
            Form::Roman(value) => {
                let is_bare = wanted.is_bare;
                wanted = Wanted { is_bare, is_roman: true, ..Wanted::default() };
                Writer::new(roman::numeral(value), 0, wanted, 0).write(pieces)?
            }
            Form::Number(number) => {
                if wanted.is_shifted {
                    wanted.whole += wanted.shift;
                }
                let sign = if number.is_negative { b'-' } else { b'+' };
                let whole = number.digits.find('.').unwrap_or(number.digits.len());
                let digits = if whole <= wanted.whole {
                    number.digits
                } else {
                    format!("{}.{}", "#".repeat(wanted.whole), "#".repeat(wanted.fraction))
                };
                Writer::new(digits, sign, wanted, wanted.whole.saturating_sub(whole)).write(pieces)?
            }
        };
        Ok(Value::Text(text.into()))
    })
}

/// A decimal with so many places behind the point, rounded half away from zero; a scale below zero are zeros.
fn fixed(value: i128, scale: i64, places: usize) -> Number {
    let mut value = value;
    let mut behind = usize::try_from(scale).unwrap_or(0);
    if behind > places {
        value = rescale(value, behind as u8, places as u8).unwrap_or(value);
        behind = places;
    }
    let mut digits = value.unsigned_abs().to_string();
    if value != 0 {
        digits.extend(std::iter::repeat_n('0', usize::try_from(-scale).unwrap_or(0)));
    }
    if digits.len() <= behind {
        digits.insert_str(0, &"0".repeat(behind + 1 - digits.len()));
    }
    if places > 0 {
        digits.insert(digits.len() - behind, '.');
        digits.extend(std::iter::repeat_n('0', places - behind));
    }
    Number { digits, is_negative: value < 0 }
}

/// `1.25e+03`: a digit before the point, so many behind it. Rounding up may leave two before it, as in PostgreSQL.
fn decimal_exponent(value: i128, scale: u8, places: usize) -> String {
    let mut digits = value.unsigned_abs().to_string();
    let exponent = if value == 0 { 0 } else { digits.len() as i64 - 1 - i64::from(scale) };
    if digits.len() > places + 1 {
        let dropped = (digits.len() - places - 1) as u8;
        digits = rescale(value, dropped, 0).unwrap_or(value).unsigned_abs().to_string();
    } else {
        digits.extend(std::iter::repeat_n('0', places + 1 - digits.len()));
    }
    if places > 0 {
        digits.insert(digits.len() - places, '.');
    }
    format!("{}{digits}{}", if value < 0 { '-' } else { ' ' }, exponent_text(exponent))
}

fn exponent_text(exponent: i64) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn float_exponent(value: f64, places: usize) -> String {
    let kept = places.min(PLACES_MAX);
    let text = format!("{:.kept$e}", value.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let zeros = "0".repeat(places - kept);
    let sign = if value.is_sign_negative() { '-' } else { ' ' };
    format!("{sign}{digits}{zeros}{}", exponent_text(exponent.parse().unwrap_or(0)))
}

/// A float; `shifted` is by how much V multiplies it.
fn float(value: f64, shifted: f64, digits_max: usize, wanted: &mut Wanted) -> Form {
    if wanted.is_roman {
        return Form::Roman(value.round_ties_even() as i64);
    }
    if wanted.has_exponent && value.is_finite() {
        return Form::Ready(float_exponent(value, wanted.fraction));
    }
    if wanted.has_exponent {
        return Form::Ready(format!(" {}.{}", "#".repeat(wanted.whole), "#".repeat(wanted.fraction + 4)));
    }
    let whole = float_digits(shifted, 0).len();
    wanted.fraction = wanted.fraction.min(digits_max.saturating_sub(whole));
    let is_negative = shifted.is_sign_negative() && !shifted.is_nan();
    Form::Number(Number { digits: float_digits(shifted, wanted.fraction), is_negative })
}

/// The digits of a float without its sign.
fn float_digits(value: f64, places: usize) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        "Infinity".to_owned()
    } else {
        format!("{:.places$}", value.abs())
    }
}

/// Writes the digits of a number to their places.
struct Writer {
    /// Digits, `12.50`; or `#`; or a Roman numeral.
    number: Vec<u8>,
    /// How many of them are written.
    at: usize,
    /// `+` or `-`; 0 with Roman numerals.
    sign: u8,
    is_sign_written: bool,
    wanted: Wanted,
    /// Places before the number.
    blanks: usize,
    /// The place in the template, of those for digits and the point; and the last one.
    place: usize,
    last_place: i64,
    /// Whether the last place had a digit.
    is_inside: bool,
    /// With FM the last digit behind the point that is no zero, or the point.
    last_relevant: Option<usize>,
    out: String,
    /// Where the result ends, since the number has no digit for a place.
    end: Option<usize>,
}

impl Writer {
    fn new(number: String, sign: u8, mut wanted: Wanted, blanks: usize) -> Writer {
        let is_sign_written = if wanted.has_plus || wanted.has_minus {
            // MI and SG write it where they stand.
            wanted.has_minus
        } else {
            if sign != b'-' && wanted.is_bare {
                wanted.has_brackets = false;
            }
            if wanted.sign == Some(Anchor::Before) && wanted.whole == wanted.whole_before_sign {
                wanted.sign = Some(Anchor::Behind);
            }
            sign == b'+' && wanted.is_bare && wanted.sign.is_none()
        };
        let number = number.into_bytes();
        let last_relevant =
            if wanted.is_bare && wanted.has_point { last_relevant(&number, &wanted, blanks) } else { None };
        let more = i64::from(!is_sign_written && blanks == 0);
        let last_place = (wanted.whole + wanted.fraction) as i64 - 1 + more;
        let out = String::with_capacity(wanted.whole + wanted.fraction + 8);
        Writer {
            number,
            at: 0,
            sign,
            is_sign_written,
            wanted,
            blanks,
            place: 0,
            last_place,
            is_inside: false,
            last_relevant,
            out,
            end: None,
        }
    }

    fn write(mut self, pieces: &[Piece]) -> Result<String> {
        for piece in pieces {
            self.piece(*piece)?;
            if let Some(end) = self.end {
                self.out.truncate(end);
                break;
            }
        }
        Ok(self.out)
    }

    fn piece(&mut self, piece: Piece) -> Result<()> {
        let is_bare = self.wanted.is_bare;
        let sign = self.sign;
        match piece {
            Piece::Nine | Piece::Zero | Piece::Point | Piece::LocalPoint => self.digit(piece),
            Piece::Comma | Piece::Group if self.is_inside => self.out.push(','),
            Piece::Comma | Piece::Group if is_bare => {}
            Piece::Comma | Piece::Group | Piece::Currency => self.out.push(' '),
            Piece::Roman(case) => self.roman(case),
            Piece::Ordinal(case) => self.ordinal(case)?,
            Piece::Minus if sign == b'-' => self.out.push('-'),
            Piece::Plus if sign == b'+' => self.out.push('+'),
            Piece::Minus | Piece::Plus if is_bare => {}
            Piece::Minus | Piece::Plus => self.out.push(' '),
            Piece::PlusOrMinus if sign == 0 => self.end = Some(self.out.len()),
            Piece::PlusOrMinus => self.out.push(sign.into()),
            Piece::Text(letter) => self.out.push(letter),
            Piece::Nothing | Piece::Exponent | Piece::Bare | Piece::Brackets | Piece::Sign | Piece::Shift => {}
        }
        Ok(())
    }

    fn roman(&mut self, case: Case) {
        if !self.wanted.is_bare {
            self.out.extend(std::iter::repeat_n(' ', roman::CHARS_MAX.saturating_sub(self.number.len())));
        }
        let letter = |byte: &u8| if case == Case::Lower { byte.to_ascii_lowercase() } else { *byte };
        self.out.extend(self.number.iter().map(|byte| char::from(letter(byte))));
    }

    fn ordinal(&mut self, case: Case) -> Result<()> {
        if self.wanted.is_roman || self.sign == b'-' || self.wanted.has_point || self.number.first() == Some(&b'#') {
            return Ok(());
        }
        if !self.number.last().is_some_and(u8::is_ascii_digit) {
            let number = String::from_utf8_lossy(&self.number);
            return Err(Error::new(Code::InvalidText, format!("\"{}\" is not a number", shorten(&number))));
        }
        self.out.push_str(ordinal(&self.number, case));
        Ok(())
    }

    /// Whether the next digit is a zero before the point that is not written: `.5`.
    fn is_hidden_zero(&self) -> bool {
        let is_zero = self.at == 0 && self.number.first() == Some(&b'0');
        is_zero && self.wanted.first_zero.is_none() && self.wanted.fraction != 0
    }

    /// Whether no digit behind the point is relevant.
    fn ends_with_point(&self) -> bool {
        self.last_relevant.is_some_and(|at| self.number[at] == b'.')
    }

    fn sign_symbol(&self) -> char {
        if self.sign == b'-' { '-' } else { '+' }
    }

    /// The sign before the number.
    fn write_sign(&mut self) {
        let is_plus = self.sign == b'+';
        match self.wanted.sign {
            Some(Anchor::Behind) => return,
            Some(Anchor::Before) => self.out.push(self.sign_symbol()),
            None if self.wanted.has_brackets => self.out.push(if is_plus { ' ' } else { '<' }),
            None if !is_plus => self.out.push('-'),
            None if !self.wanted.is_bare => self.out.push(' '),
            None => {}
        }
        self.is_sign_written = true;
    }

    /// A place for a digit or the point.
    fn digit(&mut self, piece: Piece) {
        if self.wanted.is_roman {
            return;
        }
        self.is_inside = false;
        let begins = self.place >= self.blanks || self.wanted.first_zero == Some(self.place);
        if !self.is_sign_written && begins && (!self.is_hidden_zero() || self.ends_with_point()) {
            self.write_sign();
        }
        if self.place >= self.blanks {
            self.next_digit(piece);
        } else if self.wanted.first_zero.is_some_and(|first| first <= self.place) {
            self.out.push('0');
            self.is_inside = true;
        } else if !self.wanted.is_bare {
            self.out.push(' ');
        }
        let mut last = self.last_place + i64::from(self.blanks > 0) + i64::from(self.wanted.has_point);
        if self.last_relevant == Some(self.at) {
            last = self.place as i64;
        }
        if self.place as i64 + 1 == last {
            if self.is_sign_written && self.wanted.has_brackets {
                self.out.push(if self.sign == b'+' { ' ' } else { '>' });
            } else if self.wanted.sign == Some(Anchor::Behind) {
                self.out.push(self.sign_symbol());
            }
        }
        self.place += 1;
    }

    fn next_digit(&mut self, piece: Piece) {
        // FM leaves zeros at the end away.
        let is_relevant = piece == Piece::Zero || self.last_relevant.is_none_or(|last| self.at <= last);
        let Some(digit) = self.number.get(self.at).copied() else {
            if is_relevant {
                self.end.get_or_insert(self.out.len());
            }
            return;
        };
        if digit == b'.' {
            self.out.push('.');
        } else if !is_relevant {
            // Nothing is written.
        } else if self.is_hidden_zero() {
            if !self.wanted.is_bare {
                self.out.push(' ');
            } else if self.ends_with_point() {
                self.out.push('0');
            }
        } else {
            self.out.push(digit.into());
            self.is_inside = true;
        }
        self.at += 1;
    }
}

/// The last digit behind the point that FM does not leave away; digits up to the last 0 of the template stay.
fn last_relevant(number: &[u8], wanted: &Wanted, blanks: usize) -> Option<usize> {
    let point = number.iter().position(|byte| *byte == b'.')?;
    let last = number.iter().rposition(|byte| *byte != b'0').map_or(point, |last| last.max(point));
    if wanted.zeros_end <= blanks {
        return Some(last);
    }
    Some(last.max((wanted.zeros_end - blanks).min(number.len() - 1)))
}
