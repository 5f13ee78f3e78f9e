//! Functions of numbers as whole ones: divisors and multiples, factorials, buckets.

use num_integer::Integer as _;
use weft_format::{Code, DataType, Error, Result};

use super::arithmetic::quotient_scale;
use super::decimal::Decimal;
use super::integer::Integer;
use super::value::{Kind, Number, overflow};
use crate::arithmetic::out_of_range;

/// The largest number whose factorial has no more digits than there may be.
const FACTORIAL_MAX: i64 = 32_177;

impl Number {
    /// The greatest common divisor, in the larger scale.
    pub fn common_divisor(&self, other: &Number) -> Result<Number> {
        match (&self.0, &other.0) {
            (Kind::Finite(a), Kind::Finite(b)) => Number::checked(common_divisor(a, b)),
            _ => Ok(Number::nan()),
        }
    }

    /// The least common multiple, in the larger scale.
    pub fn common_multiple(&self, other: &Number) -> Result<Number> {
        let (Kind::Finite(a), Kind::Finite(b)) = (&self.0, &other.0) else { return Ok(Number::nan()) };
        if a.is_zero() || b.is_zero() {
            return Number::checked(Decimal::zero(a.scale.max(b.scale)));
        }
        let divisor = common_divisor(a, b);
        let parts = a.whole_quotient(&divisor);
        Number::checked(Decimal { digits: parts.digits.times(&b.digits_at(divisor.scale)).absolute(), ..divisor })
    }

    /// `number!`
    pub fn factorial(number: i64) -> Result<Number> {
        if number < 0 {
            return Err(Error::new(Code::NumericOutOfRange, "factorial of a negative number is undefined"));
        }
        if number > FACTORIAL_MAX {
            return Err(overflow());
        }
        Number::checked(Decimal { digits: product(1, number as u64), scale: 0 })
    }

    /// In which of so many buckets of one width between two bounds a number lies: 0 before the first, one more than
    /// their count behind the last.
    pub fn bucket(&self, low: &Number, high: &Number, count: i64) -> Result<i64> {
        let wrong = |what: &str| Err(Error::new(Code::WidthBucketArgument, what));
        if count <= 0 {
            return wrong("count must be greater than zero");
        }
        if self.is_nan() || low.is_nan() || high.is_nan() {
            return wrong("operand, lower bound, and upper bound cannot be NaN");
        }
        let (Some(bottom), Some(top)) = (low.finite(), high.finite()) else {
            return wrong("lower and upper bounds must be finite");
        };
        let order = bottom.compare(top);
        if order.is_eq() {
            return wrong("lower bound cannot equal upper bound");
        }
        let is_below = if order.is_lt() { self < low } else { self > low };
        let is_inside = if order.is_lt() { self < high } else { self > high };
        let bucket = match self.finite() {
            _ if is_below => 0,
            Some(operand) if is_inside => bucket_of(operand, bottom, top, count),
            _ => i128::from(count) + 1,
        };
        i32::try_from(bucket).map(i64::from).map_err(|_| out_of_range(DataType::Integer))
    }
}

/// As PostgreSQL rounds the quotient: just before the end of a bucket a number may be in the next.
fn bucket_of(operand: &Decimal, low: &Decimal, high: &Decimal, count: i64) -> i128 {
    let part = operand.minus(low).absolute().times(&Decimal::new(i128::from(count), 0));
    let all = high.minus(low).absolute();
    let quotient = part.quotient(&all, quotient_scale(&part, &all)).floor();
    let Integer::Small(below) = quotient.digits else { unreachable!("the quotient is not above {count}") };
    below + 1
}

fn common_divisor(a: &Decimal, b: &Decimal) -> Decimal {
    let scale = a.scale.max(b.scale);
    let digits = match (a.digits_at(scale), b.digits_at(scale)) {
        (Integer::Small(a), Integer::Small(b)) => a.gcd(&b).into(),
        (a, b) => a.big().gcd(&b.big()).into(),
    };
    Decimal { digits, scale }
}

/// The product of the numbers from one to another, multiplied in halves of one length.
fn product(from: u64, to: u64) -> Integer {
    match to.saturating_sub(from) {
        _ if to < from => Integer::ONE,
        0..8 => (from..=to).fold(Integer::ONE, |product, factor| product.times(&Integer::Small(factor.into()))),
        span => product(from, from + span / 2).times(&product(from + span / 2 + 1, to)),
    }
}
