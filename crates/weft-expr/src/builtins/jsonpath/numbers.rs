//! Arithmetic on the canonical texts of JSON numbers, with all their digits.
//!
//! ```text
//!   1.50 + 2        3.50     as many digits behind the point as either has
//!   1.5 * 1.50      2.250    the sum of the digits
//!   1 / 3           0.33333333333333333333     16 digits that count, in PostgreSQL's groups of four
//!   -7.5 % 2        -1.5     the sign of the dividend
//! ```
//!
//! 1. A number is a sign and decimal digits, of which `scale` stand behind the point; zero has no sign.
//!
//! Source: PostgreSQL's numeric type (precision of quotients: `select_div_scale`).

use std::cmp::Ordering;

use weft_format::{Code, Error, Result};

/// Digits before and behind the point of PostgreSQL's numeric.
const WHOLE_DIGITS_MAX: usize = 131_072;
const SCALE_MAX: usize = 16_383;
/// The most digits behind the point of a quotient.
const QUOTIENT_SCALE_MAX: i64 = 1000;
/// The most products of two digits that one operator computes.
const WORK_MAX: usize = 1 << 26;

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Number {
    is_negative: bool,
    /// The first is no zero, unless there are no others before the point; `scale` at least.
    digits: Vec<u8>,
    scale: usize,
}

impl Number {
    /// A number of its canonical text.
    pub(super) fn of(text: &str) -> Number {
        let unsigned = text.strip_prefix('-');
        let digits = unsigned.unwrap_or(text);
        let scale = digits.find('.').map_or(0, |point| digits.len() - point - 1);
        let digits = digits.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0').collect();
        Number { is_negative: unsigned.is_some(), digits, scale }.settled()
    }

    /// Without zeros at the start, and without the sign of a zero.
    fn settled(mut self) -> Number {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros.min(self.digits.len().saturating_sub(self.scale)));
        self.is_negative = self.is_negative && !self.is_zero();
        self
    }

    fn is_zero(&self) -> bool {
        self.digits.iter().all(|digit| *digit == 0)
    }

    /// The canonical text.
    pub(super) fn text(&self) -> String {
        let whole = self.digits.len().saturating_sub(self.scale);
        let mut text = String::with_capacity(self.digits.len() + 3);
        if self.is_negative {
            text.push('-');
        }
        if whole == 0 {
            text.push('0');
        }
        for (at, digit) in self.digits.iter().enumerate() {
            if at == whole {
                text.push('.');
            }
            text.push(char::from(b'0' + digit));
        }
        text
    }

    /// Digits without a point, with so many behind it.
    fn scaled(&self, scale: usize) -> Vec<u8> {
        let mut digits = self.digits.clone();
        digits.resize(self.digits.len() + scale - self.scale, 0);
        digits
    }

    pub(super) fn negated(self) -> Number {
        Number { is_negative: !self.is_negative, ..self }.settled()
    }

    pub(super) fn absolute(self) -> Number {
        Number { is_negative: false, ..self }
    }

    /// Without what is behind the point.
    pub(super) fn truncated(&self) -> Number {
        let digits = self.digits[..self.digits.len() - self.scale].to_vec();
        Number { is_negative: self.is_negative, digits, scale: 0 }.settled()
    }

    /// The next whole number that is not above it, or with `up` not below it.
    pub(super) fn rounded(&self, up: bool) -> Number {
        let whole = self.truncated();
        let has_fraction = self.digits[self.digits.len() - self.scale..].iter().any(|digit| *digit != 0);
        if !has_fraction || self.is_negative == up {
            return whole;
        }
        let digits = added(&whole.digits, &[1]);
        Number { is_negative: self.is_negative, digits, scale: 0 }.settled()
    }

    /// As a whole number, if it has no fraction and fits.
    pub(super) fn integer(&self) -> Option<i32> {
        if self.scale == 0 { self.text().parse().ok() } else { None }
    }

    pub(super) fn plus(&self, other: &Number) -> Result<Number> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.scaled(scale), other.scaled(scale));
        let (is_negative, digits) = if self.is_negative == other.is_negative {
            (self.is_negative, added(&a, &b))
        } else {
            match compared(&a, &b) {
                Ordering::Less => (other.is_negative, subtracted(&b, &a)),
                _ => (self.is_negative, subtracted(&a, &b)),
            }
        };
        Number { is_negative, digits, scale }.padded().checked()
    }

    pub(super) fn times(&self, other: &Number) -> Result<Number> {
        check_work(self.digits.len(), other.digits.len())?;
        let mut sums = vec![0_u64; self.digits.len() + other.digits.len()];
        for (i, a) in self.digits.iter().rev().enumerate() {
            for (j, b) in other.digits.iter().rev().enumerate() {
                sums[i + j] += u64::from(*a) * u64::from(*b);
            }
        }
        let mut carry = 0;
        let mut digits: Vec<u8> = sums
            .into_iter()
            .map(|sum| {
                let sum = sum + carry;
                carry = sum / 10;
                (sum % 10) as u8
            })
            .collect();
        digits.reverse();
        let product =
            Number { is_negative: self.is_negative != other.is_negative, digits, scale: self.scale + other.scale };
        product.padded().at_most(SCALE_MAX).checked()
    }

    pub(super) fn over(&self, other: &Number) -> Result<Number> {
        let scale = quotient_scale(self, other)?;
        let mut quotient = self.quotient(other, scale + 1)?;
        let last = quotient.digits.pop().unwrap_or(0);
        quotient.scale = scale;
        if last >= 5 {
            quotient.digits = added(&quotient.digits, &[1]);
        }
        quotient.padded().checked()
    }

    pub(super) fn remainder(&self, other: &Number) -> Result<Number> {
        let whole = self.quotient(other, 0)?.padded();
        self.plus(&whole.times(other)?.negated())
    }

    /// The quotient with so many digits behind the point, the rest cut off.
    fn quotient(&self, other: &Number, scale: usize) -> Result<Number> {
        if other.is_zero() {
            return Err(Error::new(Code::DivisionByZero, "division by zero"));
        }
        let divisor = &other.digits[other.digits.iter().take_while(|digit| **digit == 0).count()..];
        let mut dividend = self.digits.clone();
        let wanted = scale + other.scale;
        if wanted >= self.scale {
            dividend.resize(dividend.len() + wanted - self.scale, 0);
        } else {
            dividend.truncate(dividend.len().saturating_sub(self.scale - wanted));
        }
        check_work(dividend.len(), divisor.len())?;
        let mut digits = Vec::with_capacity(dividend.len());
        let mut rest: Vec<u8> = Vec::new();
        for digit in dividend {
            rest.push(digit);
            let zeros = rest.iter().take_while(|digit| **digit == 0).count();
            rest.drain(..zeros);
            let mut times = 0;
            while compared(&rest, divisor) != Ordering::Less {
                rest = subtracted(&rest, divisor);
                let zeros = rest.iter().take_while(|digit| **digit == 0).count();
                rest.drain(..zeros);
                times += 1;
            }
            digits.push(times);
        }
        Ok(Number { is_negative: self.is_negative != other.is_negative, digits, scale })
    }

    /// With as many digits as its scale at least.
    fn padded(mut self) -> Number {
        let missing = self.scale.saturating_sub(self.digits.len());
        self.digits.splice(0..0, std::iter::repeat_n(0, missing));
        self.settled()
    }

    /// Rounded to so many digits behind the point.
    fn at_most(mut self, scale: usize) -> Number {
        if self.scale <= scale {
            return self;
        }
        let kept = self.digits.len() - (self.scale - scale);
        let goes_up = self.digits[kept] >= 5;
        self.digits.truncate(kept);
        if goes_up {
            self.digits = added(&self.digits, &[1]);
        }
        self.scale = scale;
        self.padded()
    }

    fn checked(self) -> Result<Number> {
        if self.digits.len() - self.scale > WHOLE_DIGITS_MAX {
            return Err(Error::new(Code::NumericOutOfRange, "value overflows numeric format"));
        }
        Ok(self)
    }

    /// The first group of four digits that is no zero, and its place before (0 and up) or behind the point.
    fn first_group(&self) -> (u32, i64) {
        let whole = self.digits.len() as i64 - self.scale as i64;
        let Some(first) = self.digits.iter().position(|digit| *digit != 0) else { return (0, 0) };
        let power = whole - 1 - first as i64;
        let group = power.div_euclid(4);
        let digits = (0..=power.rem_euclid(4)).map(|at| self.digits.get(first + at as usize).copied().unwrap_or(0));
        (digits.fold(0, |value, digit| value * 10 + u32::from(digit)), group)
    }
}

/// How many digits behind the point a quotient has.
fn quotient_scale(a: &Number, b: &Number) -> Result<usize> {
    let ((first_a, weight_a), (first_b, weight_b)) = (a.first_group(), b.first_group());
    let weight = weight_a - weight_b - i64::from(first_a <= first_b);
    let scale = (16 - weight * 4).max(a.scale as i64).max(b.scale as i64).clamp(0, QUOTIENT_SCALE_MAX);
    Ok(scale as usize)
}

fn check_work(a: usize, b: usize) -> Result<()> {
    if a.saturating_mul(b) <= WORK_MAX {
        return Ok(());
    }
    Err(Error::new(Code::ProgramLimit, "numbers of a jsonpath have too many digits")
        .hint("multiply and divide shorter numbers"))
}

/// The order of two numbers by their canonical texts.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let positive = |text: &str| !text.starts_with('-');
    match (positive(a), positive(b)) {
        (true, true) => magnitudes(a, b),
        (false, false) => magnitudes(&b[1..], &a[1..]),
        (a_positive, _) => {
            if a_positive {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}

fn magnitudes(a: &str, b: &str) -> Ordering {
    let ((whole_a, fraction_a), (whole_b, fraction_b)) =
        (a.split_once('.').unwrap_or((a, "")), b.split_once('.').unwrap_or((b, "")));
    let trimmed = |fraction: &'_ str| fraction.trim_end_matches('0').len();
    let fractions = || fraction_a[..trimmed(fraction_a)].cmp(&fraction_b[..trimmed(fraction_b)]);
    whole_a.len().cmp(&whole_b.len()).then_with(|| whole_a.cmp(whole_b)).then_with(fractions)
}

/// The order of whole numbers by their digits, zeros at their start or not.
fn compared(a: &[u8], b: &[u8]) -> Ordering {
    let significant = |digits: &[u8]| digits.iter().take_while(|digit| **digit == 0).count();
    let (a, b) = (&a[significant(a)..], &b[significant(b)..]);
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn added(a: &[u8], b: &[u8]) -> Vec<u8> {
    let digit = |digits: &[u8], at: usize| digits.len().checked_sub(at + 1).map_or(0, |at| digits[at]);
    let mut carry = 0;
    let mut sum: Vec<u8> = Vec::with_capacity(a.len().max(b.len()) + 1);
    for at in 0..a.len().max(b.len()) {
        let next = digit(a, at) + digit(b, at) + carry;
        carry = next / 10;
        sum.push(next % 10);
    }
    sum.push(carry);
    sum.reverse();
    sum
}

/// The difference of whole numbers; the second is not above the first.
fn subtracted(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut difference = a.to_vec();
    let mut borrowed = 0;
    for at in 0..a.len() {
        let place = a.len() - 1 - at;
        let taken = b.len().checked_sub(at + 1).map_or(0, |at| b[at]) + borrowed;
        borrowed = u8::from(difference[place] < taken);
        difference[place] = difference[place] + borrowed * 10 - taken;
    }
    debug_assert_eq!(borrowed, 0, "the second number is not above the first");
    difference
}
