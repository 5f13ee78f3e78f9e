//! A number with any count of digits and a display scale of its own (PostgreSQL's `numeric`), as bytes: a key whose
//! order under memcmp is the order of the numbers, and behind it the scale.
//!
//! ```text
//!   1.50     97 02 33 00   00 02     0.01 50 * 100 ^ 1: head (exponent 1), the pairs each plus 1, the end; scale 2
//!   1.5      97 02 33 00   00 01     the same key, scale 1
//!   -1.5     68 fd cc ff   00 01     every byte of the key is the complement
//!   0.00     80            00 02
//!   NaN      ff            00 00     above all; -Infinity 01, Infinity fe
//! ```
//!
//! 1. A number is `0.p1 p2 p3 ... * 100 ^ exponent` with pairs of decimal digits; the first and the last are not 0, so
//!    equal numbers have equal keys. No key is a prefix of another: bytes compare as numbers, then by their scale.
//! 2. Exponents from -20 to 102 are in the head (82 to fc); those below follow the head 81 in two bytes, those above
//!    follow fd in three.
//! 3. At most [`WHOLE_MAX`] digits are before the point and [`SCALE_MAX`] behind it, and the scale is at least the
//!    count of digits behind the point.
//!
//! What computes with numbers takes them apart ([`NumberRef::read`]); what compares, sorts, groups and hashes them
//! takes the key ([`NumberRef::key`]).

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::error::{Error, Result};

/// Digits before the point, at most.
pub const WHOLE_MAX: usize = 131_072;
/// Digits behind the point, at most.
pub const SCALE_MAX: u16 = 16_383;

const SCALE_BYTES: usize = 2;
const END: u8 = 0;

const MINUS_INFINITY: u8 = 0x01;
const ZERO: u8 = 0x80;
const SMALL: u8 = 0x81;
const FIRST: u8 = 0x82;
const LAST: u8 = 0xfc;
const LARGE: u8 = 0xfd;
const INFINITY: u8 = 0xfe;
const NAN: u8 = 0xff;

/// The exponent that the head [`FIRST`] stands for, and the one of [`LAST`].
const EXPONENT_FIRST: i32 = -20;
const EXPONENT_LAST: i32 = EXPONENT_FIRST + (LAST - FIRST) as i32;
/// The exponents that there are: of 10 ^ -16383, and of a number with 131,072 digits.
const EXPONENT_MIN: i32 = -((SCALE_MAX / 2) as i32);
const EXPONENT_MAX: i32 = (WHOLE_MAX / 2) as i32;
/// Added to exponents below [`EXPONENT_FIRST`].
const EXPONENT_BIAS: i32 = 0x4000;

/// Digits of which an i128 holds any.
const SMALL_DIGITS: usize = 38;

/// An owned number.
#[derive(Clone)]
pub struct NumberValue(Arc<[u8]>);

/// The bytes of a number.
#[derive(Clone, Copy)]
pub struct NumberRef<'a>(&'a [u8]);

/// What a number is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parts {
    /// Not a number: equal to itself and above all others.
    NaN,
    /// Infinity, or -Infinity.
    Infinite {
        /// Whether it is -Infinity.
        negative: bool,
    },
    /// `0.p1 p2 p3 ... * 100 ^ exponent`.
    Finite {
        /// Whether it is below 0.
        negative: bool,
        /// The pairs of digits, each 0 to 99, none of them at either end 0; none for 0.
        pairs: Vec<u8>,
        /// The power of 100.
        exponent: i32,
        /// Digits that are shown behind the point.
        scale: u16,
    },
}

impl NumberValue {
    /// Not a number.
    pub fn nan() -> NumberValue {
        NumberValue::special(NAN)
    }

    /// Infinity or -Infinity.
    pub fn infinity(negative: bool) -> NumberValue {
        NumberValue::special(if negative { MINUS_INFINITY } else { INFINITY })
    }

    fn special(head: u8) -> NumberValue {
        NumberValue(Arc::new([head, 0, 0]))
    }

    /// `digits * 10 ^ -scale`.
    pub fn from_digits(digits: i128, scale: u16) -> NumberValue {
        let mut rest = digits.unsigned_abs();
        // 20 pairs are 40 digits: as many as a number of 39 has when the point lies within a pair.
        let (mut pairs, mut first) = ([0; 20], 20);
        let mut exponent = -i32::from(scale / 2);
        if scale % 2 == 1 {
            first -= 1;
            exponent -= 1;
            pairs[first] = (rest % 10 * 10) as u8;
            rest /= 10;
        }
        while rest > 0 {
            // Narrow divisions, which are many times faster.
            let (mut low, more) = match u64::try_from(rest) {
                Ok(low) => (low, 0),
                Err(_) => ((rest % LOW) as u64, rest / LOW),
            };
            let end = if more > 0 { first - LOW_PAIRS } else { 0 };
            while low > 0 || (more > 0 && first > end) {
                first -= 1;
                pairs[first] = (low % 100) as u8;
                low /= 100;
            }
            rest = more;
        }
        exponent += (20 - first) as i32;
        NumberValue::from_pairs(digits < 0, &pairs[first..], exponent, scale)
    }

    /// `0.p1 p2 p3 ... * 100 ^ exponent`; zeros at the ends are dropped.
    ///
    /// # Panics
    ///
    /// When the number has more digits than a number may have, or more behind the point than its scale says.
    pub fn from_pairs(negative: bool, mut pairs: &[u8], mut exponent: i32, scale: u16) -> NumberValue {
        while let [0, rest @ ..] = pairs {
            (pairs, exponent) = (rest, exponent - 1);
        }
        while let [rest @ .., 0] = pairs {
            pairs = rest;
        }
        assert!(scale <= SCALE_MAX, "invariant 3: a scale of {scale}");
        let mut bytes = Vec::with_capacity(pairs.len() + 5 + SCALE_BYTES);
        if pairs.is_empty() {
            bytes.push(ZERO);
        } else {
            assert!(
                (EXPONENT_MIN..=EXPONENT_MAX).contains(&exponent) && digits_behind(pairs, exponent) <= i64::from(scale),
                "invariant 3: the exponent {exponent} of {} pairs with a scale of {scale}",
                pairs.len()
            );
            put_exponent(&mut bytes, exponent);
            bytes.extend(pairs.iter().map(|pair| pair + 1));
            bytes.push(END);
            if negative {
                bytes.iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        bytes.extend(scale.to_be_bytes());
        NumberValue(bytes.into())
    }

    /// A number of which these were the [`NumberRef::as_bytes`]; an error when they are no number's.
    pub fn from_bytes(bytes: &[u8]) -> Result<NumberValue> {
        let damaged = || Error::corrupt("a numeric is damaged");
        NumberRef(bytes).checked().ok_or_else(damaged)?;
        Ok(NumberValue(bytes.into()))
    }

    /// Borrows it.
    pub fn as_ref(&self) -> NumberRef<'_> {
        NumberRef(&self.0)
    }
}

/// The largest power of 100 that a u64 holds, and its pairs.
const LOW: u128 = 1_000_000_000_000_000_000;
const LOW_PAIRS: usize = 9;

/// How many decimal digits are behind the point; negative when the last are before it.
fn digits_behind(pairs: &[u8], exponent: i32) -> i64 {
    let pairs_behind = pairs.len() as i64 - i64::from(exponent);
    pairs_behind * 2 - i64::from(pairs.last().is_some_and(|last| last % 10 == 0))
}

fn put_exponent(bytes: &mut Vec<u8>, exponent: i32) {
    if exponent < EXPONENT_FIRST {
        bytes.push(SMALL);
        bytes.extend(((exponent + EXPONENT_BIAS) as u16).to_be_bytes());
    } else if exponent <= EXPONENT_LAST {
        bytes.push(FIRST + (exponent - EXPONENT_FIRST) as u8);
    } else {
        bytes.push(LARGE);
        bytes.extend(&exponent.to_be_bytes()[1..]);
    }
}

impl<'a> NumberRef<'a> {
    /// The bytes of a number, which were checked when they came in ([`NumberValue::from_bytes`]).
    pub fn new(bytes: &'a [u8]) -> NumberRef<'a> {
        NumberRef(bytes)
    }

    /// The bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// An owned copy.
    pub fn to_value(self) -> NumberValue {
        NumberValue(self.0.into())
    }

    /// What compares, and is the same for equal numbers.
    pub fn key(self) -> &'a [u8] {
        &self.0[..self.0.len().saturating_sub(SCALE_BYTES)]
    }

    /// Digits that are shown behind the point.
    pub fn scale(self) -> u16 {
        self.0.last_chunk().map_or(0, |bytes| u16::from_be_bytes(*bytes))
    }

    /// The bytes of the key at the front of these bytes; none when there is no key.
    pub fn key_at_front(bytes: &[u8]) -> Option<&[u8]> {
        let head = *bytes.first()?;
        if matches!(head, MINUS_INFINITY | ZERO | INFINITY | NAN) {
            return Some(&bytes[..1]);
        }
        let negative = head < ZERO;
        let end = if negative { !END } else { END };
        let skipped = match if negative { !head } else { head } {
            SMALL => 3,
            FIRST..=LAST => 1,
            LARGE => 4,
            _ => return None,
        };
        let length = bytes.get(skipped..)?.iter().position(|byte| *byte == end)?;
        Some(&bytes[..skipped + length + 1])
    }

    /// Whether it is a finite number below 0, or -Infinity.
    pub fn is_negative(self) -> bool {
        self.0.first().is_some_and(|head| *head < ZERO)
    }

    /// Whether it is NaN.
    pub fn is_nan(self) -> bool {
        self.0.first() == Some(&NAN)
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(self) -> bool {
        self.0.first().is_some_and(|head| !matches!(*head, MINUS_INFINITY | INFINITY | NAN))
    }

    /// The exponent and the pairs as they are stored, of a finite number that is not 0.
    fn fields(self) -> Option<(bool, i32, &'a [u8])> {
        let negative = self.is_negative();
        let flip = if negative { !0 } else { 0 };
        let (head, rest) = self.key().split_first()?;
        let (exponent, pairs) = match head ^ flip {
            SMALL => {
                let (bytes, pairs) = rest.split_first_chunk()?;
                (i32::from(u16::from_be_bytes(bytes.map(|byte: u8| byte ^ flip))) - EXPONENT_BIAS, pairs)
            }
            head @ FIRST..=LAST => (i32::from(head - FIRST) + EXPONENT_FIRST, rest),
            LARGE => {
                let ([a, b, c], pairs) = rest.split_first_chunk()?;
                (i32::from_be_bytes([0, a ^ flip, b ^ flip, c ^ flip]), pairs)
            }
            _ => return None,
        };
        let (_, pairs) = pairs.split_last()?;
        Some((negative, exponent, pairs))
    }

    /// The digits as an integer, and the scale: `150, 2` for 1.50. None if there are more digits than an i128 holds, if
    /// zeros at the end are counted, or if the number is not finite.
    #[inline]
    pub fn small(self) -> Option<(i128, u16)> {
        let scale = self.scale();
        let Some((negative, exponent, pairs)) = self.fields() else {
            return (self.key() == [ZERO]).then_some((0, scale));
        };
        // Digits of the integer: those before the point, and as many behind it as the scale says.
        let digits = usize::try_from(2 * exponent + i32::from(scale)).ok()?;
        if digits > SMALL_DIGITS || pairs.len() > SMALL_DIGITS / 2 + 1 {
            return None;
        }
        let flip = if negative { !0 } else { 0 };
        let (high, low) = pairs.split_at(pairs.len().min(LOW_PAIRS));
        let value = |pairs: &[u8]| pairs.iter().fold(0, |value, pair| value * 100 + u64::from((pair ^ flip) - 1));
        let (low, more) = low.split_at(low.len().min(LOW_PAIRS));
        let mut number = u128::from(value(high));
        for part in [low, more] {
            number = number * 100_u128.pow(part.len() as u32) + u128::from(value(part));
        }
        let missing = digits as i32 - 2 * pairs.len() as i32;
        let number = if missing >= 0 { number * 10_u128.pow(missing as u32) } else { number / 10 };
        let number = i128::try_from(number).expect("38 digits fit");
        Some((if negative { -number } else { number }, scale))
    }

    /// Takes it apart.
    pub fn read(self) -> Parts {
        match self.0.first() {
            Some(&NAN) | None => Parts::NaN,
            Some(&(INFINITY | MINUS_INFINITY)) => Parts::Infinite { negative: self.is_negative() },
            _ => {
                let (negative, exponent, pairs) = self.fields().unwrap_or((false, 0, &[]));
                let flip = if negative { !0 } else { 0 };
                let pairs = pairs.iter().map(|pair| (pair ^ flip).wrapping_sub(1)).collect();
                Parts::Finite { negative, pairs, exponent, scale: self.scale() }
            }
        }
    }

    /// The number itself if its bytes are those that this module writes.
    fn checked(self) -> Option<NumberRef<'a>> {
        if self.0.len() <= SCALE_BYTES || NumberRef::key_at_front(self.0)? != self.key() {
            return None;
        }
        let Some((negative, exponent, stored)) = self.fields() else {
            let may_have_scale = self.key() == [ZERO] && self.scale() <= SCALE_MAX;
            return (may_have_scale || self.scale() == 0).then_some(self);
        };
        let flip = if negative { !0 } else { 0 };
        let pair_of = |byte: u8| (byte ^ flip).wrapping_sub(1);
        let is_pair = |byte: &u8| pair_of(*byte) < 100;
        let (first, last) = (pair_of(*stored.first()?), pair_of(*stored.last()?));
        let mut head = Vec::new();
        put_exponent(&mut head, exponent);
        let is_spelled_so = head.iter().zip(self.0).all(|(a, b)| a ^ flip == *b);
        let is_good = is_spelled_so
            && first != 0
            && last != 0
            && stored.iter().all(is_pair)
            && (EXPONENT_MIN..=EXPONENT_MAX).contains(&exponent)
            && self.scale() <= SCALE_MAX
            && digits_behind(&[last], exponent - stored.len() as i32 + 1) <= i64::from(self.scale());
        is_good.then_some(self)
    }
}

impl PartialEq for NumberRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for NumberRef<'_> {}

impl PartialOrd for NumberRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NumberRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(other.key())
    }
}

impl Hash for NumberRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialEq for NumberValue {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for NumberValue {}

impl PartialOrd for NumberValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NumberValue {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl Hash for NumberValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl fmt::Debug for NumberRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.small() {
            Some((digits, scale)) => write!(f, "{digits}e-{scale}"),
            None => self.read().fmt(f),
        }
    }
}

impl fmt::Debug for NumberValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

#[cfg(test)]
mod tests;
